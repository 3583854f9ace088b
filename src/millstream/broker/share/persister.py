"""Stores share state, for leaders of partitions and the group coordinator, with the share
coordinator of each share partition.

Makes `__share_group_state` when it is
needed for the first time, and asks again while the coordinator is not ready.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from millstream.broker.share.state_channel import ShareStateChannel
from millstream.coordinator.share.context import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    WriteState,
)
from millstream.coordinator.share.state import SharePartitionKey, ShareState, StateChange
from millstream.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedLeaderEpoch,
    FencedStateEpoch,
    GroupIdNotFound,
    KafkaError,
    NotCoordinator,
    NotLeaderOrFollower,
    UnknownServerError,
    UnknownTopicOrPartition,
)

_LOGGER = logging.getLogger(__name__)
_ATTEMPTS: Final = 6
"""Ours: with pauses that double, 0.6 s in all."""
_FIRST_PAUSE_S: Final = 0.02
"""Ours: the topic of the coordinator takes about as long."""
_NOT_READY: Final = (CoordinatorNotAvailable, CoordinatorLoadInProgress, NotCoordinator)

AnswerT = TypeVar("AnswerT")


class SharePersister:
    def __init__(
        self, channel: ShareStateChannel, ensure_topic: Callable[[], Awaitable[object]]
    ) -> None:
        """`ensure_topic` raises a KafkaError when the internal topic cannot be made."""
        self._channel = channel
        self._ensure_topic = ensure_topic

    async def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
        request = InitializeState(key, state_epoch, start_offset)
        await self._insist(lambda: self._channel.ask(key, request, type(None)))

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        request = ReadState(key, leader_epoch)
        return await self._insist(lambda: self._channel.ask(key, request, ShareState))

    async def write(
        self, key: SharePartitionKey, state_epoch: int, change: Callable[[], StateChange]
    ) -> None:
        """`change` is asked at each attempt: while this one waits for the coordinator, a later write of the same share
        partition may be stored with a later start offset, which this one must not take back.
        """
        await self._insist(
            lambda: self._channel.ask(key, WriteState(key, state_epoch, change()), type(None))
        )

    async def delete(self, key: SharePartitionKey) -> None:
        request = DeleteState(key)
        await self._insist(lambda: self._channel.ask(key, request, type(None)))

    async def read_summary(self, key: SharePartitionKey) -> ShareState:
        request = ReadStateSummary(key, -1)
        return await self._insist(lambda: self._channel.ask(key, request, ShareState))

    async def _insist(self, ask: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Asks again while the coordinator is not ready: it may have been created, or begun to lead, a moment ago."""
        await self._ensure_topic()
        pause_s = _FIRST_PAUSE_S
        for _ in range(_ATTEMPTS - 1):
            try:
                return await ask()
            except _NOT_READY:
                await asyncio.sleep(pause_s)
                pause_s *= 2
        return await ask()


def as_told_to_consumers(error: KafkaError) -> KafkaError:
    """Returns the error for a share consumer when share state cannot be read or written: it knows
    partitions and their leaders only.

    The error of share state is its cause where that is another one.
    """
    told: KafkaError
    match error:
        case GroupIdNotFound() | UnknownTopicOrPartition():
            return error
        case CoordinatorNotAvailable() | CoordinatorLoadInProgress() | NotCoordinator():
            told = CoordinatorNotAvailable(str(error))
        case FencedLeaderEpoch() | FencedStateEpoch():
            told = NotLeaderOrFollower(str(error))
        case _:
            _LOGGER.warning("share state: %s", error)
            told = UnknownServerError()
    told.__cause__ = error
    return told
