"""Share state on its way to a coordinator that is not ready yet."""

from __future__ import annotations

from typing import Any

from millstream.broker.share.persister import SharePersister
from millstream.coordinator.share.context import WriteState
from millstream.coordinator.share.state import SharePartitionKey, StateChange
from millstream.errors import CoordinatorLoadInProgress
from millstream.model import ZERO_UUID

KEY = SharePartitionKey("workers", ZERO_UUID, 0)


class Channel:
    """To a coordinator that is loading when it is asked first."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def ask(self, _key: SharePartitionKey, request: WriteState, _expected: type) -> None:
        self.asked.append(request.change.start_offset)
        if len(self.asked) == 1:
            raise CoordinatorLoadInProgress


async def ready() -> None:
    pass


async def test_a_write_that_is_tried_again_does_not_take_back_what_a_later_one_has_stored() -> None:
    channel: Any = Channel()
    starts = iter([5, 10])

    def change() -> StateChange:
        return StateChange(1, next(starts), 0, ())

    await SharePersister(channel, ready).write(KEY, 0, change)
    assert channel.asked == [5, 10]
