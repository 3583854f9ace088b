"""The positions of a consumer in the partitions that are assigned to it: moved, waited for, and
compared with the ends of logs.

Records that were fetched and have not reached the application count as not read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Generic

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.consumer.core.offset_reset import AutoOffsetResetStrategy
from millstream.clients.consumer.core.partition_state import PartitionState
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.consumer.core.undelivered import Undelivered
from millstream.clients.consumer.fetcher import Fetcher
from millstream.clients.core.values import Key, OffsetAndMetadata, Value
from millstream.errors import RequestTimedOut
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope


class AssignedPositions(Generic[Key, Value]):
    """The positions of one consumer.

    Methods that are given partitions raise IllegalState for one that is not assigned.
    """

    def __init__(
        self,
        cluster: Cluster,
        subscription: SubscriptionState,
        fetcher: Fetcher,
        undelivered: Undelivered[Key, Value],
        scope: TaskScope,
    ) -> None:
        self._cluster = cluster
        self._subscription = subscription
        self._fetcher = fetcher
        self._undelivered = undelivered
        self._scope = scope

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Has nothing of these partitions returned, nor asked for."""
        states = self._states(partitions)
        self._undelivered.give_back(partitions)
        for state in states:
            state.paused = True

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        """Has these partitions read again."""
        for state in self._states(partitions):
            state.paused = False
        self._fetcher.wake()

    @property
    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return {tp for tp, state in self._subscription.partitions.items() if state.paused}

    def seek(self, partition: TopicPartition, target: OffsetAndMetadata) -> None:
        """Moves a position to an offset."""
        state = self._subscription.state(partition)
        self._undelivered.give_back((partition,))
        state.seek(target.offset, target.leader_epoch)
        # Else `resume` does: who moves thousands of partitions has each planned for once.
        if not state.paused:
            self._fetcher.wake()

    def seek_to(
        self, partitions: Collection[TopicPartition], reset: AutoOffsetResetStrategy
    ) -> None:
        """Moves positions to where `reset` says, those of all partitions when none is named."""
        chosen = partitions or tuple(self._subscription.partitions)
        states = self._states(chosen)
        self._undelivered.give_back(chosen)
        for state in states:
            state.seek_to_reset(reset)
        self._fetcher.wake()

    def known(self, partition: TopicPartition) -> int | None:
        """Returns the offset of the next record where there is one that has not reached the application."""
        self._subscription.state(partition)
        return self._undelivered.first_offsets().get(partition)

    async def wait_for(self, partition: TopicPartition, deadline_ms: int) -> int:
        """Returns the position. Raises RequestTimedOut, and the error that keeps it from being known."""
        state = self._subscription.state(partition)
        if state.position is None:
            self._fetcher.wake()
        while state.position is None:
            if state.error is not None:
                error, state.error = state.error, None
                raise error
            remaining_ms = deadline_ms - self._cluster.now_ms()
            if remaining_ms <= 0:
                raise RequestTimedOut(
                    f"the position of {partition} could not be determined in time"
                )
            await self._fetcher.wait_for_news(remaining_ms)
            self._scope.check()
        return state.position

    def returned(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Returns the positions behind everything that has reached the application."""
        undelivered = self._undelivered.first_offsets()
        positions = {}
        for partition, state in self._subscription.partitions.items():
            offset = undelivered.get(partition, state.position)
            if offset is not None:
                positions[partition] = OffsetAndMetadata(offset, "", state.leader_epoch)
        return positions

    def high_watermark(self, partition: TopicPartition) -> int | None:
        """Returns the high watermark as of the last fetch; None before the first."""
        value = self._subscription.state(partition).high_watermark
        return None if value < 0 else value

    def lag(self, partition: TopicPartition) -> int | None:
        """Returns the number of records between the position and the end, as of the last fetch;
        None before the first.
        """
        state = self._subscription.state(partition)
        undelivered = self._undelivered.first_offsets()
        return self._lag(state, undelivered.get(partition, state.position))

    def lags(self) -> dict[TopicPartition, int]:
        """Returns the lags of all partitions, as far as they are known."""
        undelivered = self._undelivered.first_offsets()
        lags = {
            partition: self._lag(state, undelivered.get(partition, state.position))
            for partition, state in self._subscription.partitions.items()
        }
        return {partition: lag for partition, lag in lags.items() if lag is not None}

    def _lag(self, state: PartitionState, position: int | None) -> int | None:
        end = state.last_stable_offset if self._fetcher.read_committed else state.high_watermark
        return None if end < 0 or position is None else max(0, end - position)

    def _states(self, partitions: Collection[TopicPartition]) -> Sequence[PartitionState]:
        return [self._subscription.state(partition) for partition in partitions]
