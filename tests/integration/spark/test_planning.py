"""The internal topics of an application, where a broker hears of them late."""

from __future__ import annotations

from typing import Any

from millstream.clients import Admin, NewTopic
from millstream.spark.pipeline.planning import create


async def test_an_internal_topic_that_has_come_since_the_look_is_no_failure(topics: Any) -> None:
    wanted = [NewTopic("planned-changelog", 1, configs={"cleanup.policy": "compact"})]
    async with Admin(bootstrap_servers=topics.bootstrap_servers) as admin:
        for _ in range(2):
            await create(admin, wanted)
        assert "planned-changelog" in await admin.list_topics()
