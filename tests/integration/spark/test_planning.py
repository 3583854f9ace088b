"""The internal topics of an application, where a broker hears of them late."""

from __future__ import annotations

from typing import Any

from millstream.clients import Admin
from millstream.spark.pipeline.plan import InternalTopic
from millstream.spark.pipeline.planning import _create_internal_topics


async def test_an_internal_topic_that_has_come_since_the_look_is_no_failure(topics: Any) -> None:
    wanted = [InternalTopic("planned-changelog", 1, {"cleanup.policy": "compact"})]
    async with Admin(bootstrap_servers=topics.bootstrap_servers) as admin:
        for _ in range(2):
            await _create_internal_topics(admin, wanted, existing={})
        assert "planned-changelog" in await admin.list_topics()
