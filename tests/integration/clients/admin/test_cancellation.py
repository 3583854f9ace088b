"""Calls of the admin client, cancelled at each of their suspensions: it works on, and nothing is left running."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from millstream.clients import Admin, NewTopic, OffsetAndMetadata, TopicPartition
from millstream.clients.admin import EARLIEST_TIMESTAMP, ConfigResource, ConfigResourceType
from tests.integration.clients.suspensions import (
    MOMENTS,
    Moment,
    cancelled_at,
    check_at_each_step,
    create,
)

NewName = Callable[[], str]

ADMIN_CALLS: dict[str, Callable[[Admin, TopicPartition], Awaitable[object]]] = {
    "list_topics": lambda a, _: a.list_topics(),
    "describe_topics": lambda a, tp: a.describe_topics([tp.topic]),
    "create_topics": lambda a, tp: a.create_topics([NewTopic(tp.topic, 1)]),
    "delete_records": lambda a, tp: a.delete_records({tp: 0}),
    "list_offsets": lambda a, tp: a.list_offsets({tp: EARLIEST_TIMESTAMP}),
    "describe_configs": lambda a, tp: a.describe_configs([topic_resource(tp)]),
    "describe_cluster": lambda a, _: a.describe_cluster(),
    "describe_api_versions": lambda a, _: a.describe_api_versions(),
    "describe_features": lambda a, _: a.describe_features(),
    "list_groups": lambda a, _: a.list_groups(),
    "describe_groups": lambda a, tp: a.describe_groups([f"g-{tp.topic}"]),
    "delete_groups": lambda a, tp: a.delete_groups([f"g-{tp.topic}"]),
    "alter_consumer_group_offsets": lambda a, tp: a.alter_consumer_group_offsets(
        f"g-{tp.topic}", {tp: OffsetAndMetadata(0)}
    ),
    "list_consumer_group_offsets": lambda a, tp: a.list_consumer_group_offsets([f"g-{tp.topic}"]),
    "list_transactions": lambda a, _: a.list_transactions(),
    "describe_producers": lambda a, tp: a.describe_producers([tp]),
    "fence_producers": lambda a, tp: a.fence_producers([tp.topic]),
    "close": lambda a, _: a.close(),
}
"""Each way that the driver of admin calls goes: to any broker, all of them, the controller, leaders, coordinators."""


def topic_resource(partition: TopicPartition) -> ConfigResource:
    return ConfigResource(ConfigResourceType.TOPIC, partition.topic)


@MOMENTS
@pytest.mark.parametrize("name", ADMIN_CALLS)
async def test_an_admin_client_works_on_after_a_cancelled_call(
    bootstrap: str, new_topic: NewName, moment: Moment, name: str
) -> None:
    partition = await create(bootstrap, new_topic())

    async def attempt(step: int) -> bool:
        async with Admin(bootstrap_servers=bootstrap) as admin:
            reached = await cancelled_at(ADMIN_CALLS[name](admin, partition), step, moment)
            if name != "close":
                assert (await admin.describe_cluster()).nodes
        return reached

    await check_at_each_step(moment, attempt)
