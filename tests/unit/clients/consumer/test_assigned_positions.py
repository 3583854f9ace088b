"""When a change of positions has the fetcher plan anew, which it does for all partitions at once."""

from __future__ import annotations

from typing import Any

from millstream.clients.consumer.assigned_positions import AssignedPositions
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.consumer.core.undelivered import Undelivered
from millstream.clients.core.values import OffsetAndMetadata
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class CountingFetcher:
    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        self.woken += 1


def positions_of(
    *partitions: TopicPartition,
) -> tuple[AssignedPositions[Any, Any], CountingFetcher]:
    subscription = SubscriptionState()
    subscription.assign(partitions)
    fetcher = CountingFetcher()
    parts: Any = (None, subscription, fetcher, Undelivered(subscription), TaskScope("test"))
    return AssignedPositions(*parts), fetcher


async def test_what_is_paused_is_planned_for_once_when_it_is_resumed() -> None:
    """Else moving n partitions costs n times n."""
    positions, fetcher = positions_of(FIRST, SECOND)
    positions.pause((FIRST, SECOND))
    for partition in (FIRST, SECOND):
        positions.seek(partition, OffsetAndMetadata(5))
        assert await positions.wait_for(partition, 0) == 5
    assert fetcher.woken == 0
    positions.resume((FIRST, SECOND))
    assert fetcher.woken == 1


def test_a_seek_of_what_is_read_is_planned_for_at_once() -> None:
    positions, fetcher = positions_of(FIRST)
    positions.seek(FIRST, OffsetAndMetadata(5))
    assert fetcher.woken == 1
