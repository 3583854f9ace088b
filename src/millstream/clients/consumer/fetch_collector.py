"""Takes what was fetched, in the form that the application wants it, and keeps what could not be given out.

Records pass deserializers, then interceptors. A call that is cancelled here gives its records to the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Generic, NamedTuple

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.consumer.core.interceptors import ConsumerInterceptors
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.consumer.core.undelivered import Undelivered
from millstream.clients.consumer.fetcher import Fetcher
from millstream.clients.core.deserialization import (
    RecordReader,
    is_same_record,
    look_up_failed,
)
from millstream.clients.core.serialization import LookupNeeded
from millstream.clients.core.values import ConsumerRecord, Key, Value
from millstream.clients.look_up import LookUp
from millstream.net.client.tasks import TaskScope

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowRecords(NamedTuple):
    """Records of one partition as columns: key, value (binary), offset (int64), timestamp (ms), headers.

    As `ConsumerRecords.nextOffsets` of the Java client (KIP-1094) it tells of progress that no record shows.
    """

    topic: str
    partition: int
    records: pa.RecordBatch
    next_offset: int
    """Where reading goes on; may lie beyond the last record, of which there may be none: markers
    and what was aborted are passed over."""


class FetchCollector(Generic[Key, Value]):
    def __init__(
        self,
        cluster: Cluster,
        fetcher: Fetcher,
        subscription: SubscriptionState,
        scope: TaskScope,
        *,
        interceptors: ConsumerInterceptors[Key, Value],
        reader: RecordReader[Key, Value] | None,
    ) -> None:
        self._fetcher = fetcher
        self._subscription = subscription
        self._interceptors = interceptors
        self._reader = reader
        self._look_up = LookUp(scope, cluster.now_ms)
        self.undelivered: Undelivered[Key, Value] = Undelivered(subscription)

    async def take(self, count_max: int, deadline_ms: int) -> list[ConsumerRecord[Key, Value]]:
        """Takes the records that are there, without waiting for more; waits until the deadline for what a
        deserializer must look up.
        """
        while not self.undelivered:
            try:
                records = self._fetcher.records.take(count_max, self._reader)
            except LookupNeeded as needed:
                if not await self._has_looked_up(needed, deadline_ms):
                    return []
            else:
                if not records:
                    return []
                self._fetcher.counters.records_consumed += len(records)
                records = self._interceptors.on_consume(records)
                try:
                    await self._fetcher.send_next()
                except asyncio.CancelledError:
                    self.undelivered.add(records)
                    raise
                return records
        return self.undelivered.take(count_max)

    async def take_arrow(
        self, *, check_crcs: bool, headers: bool, whole_batches_of: Collection[str]
    ) -> list[ArrowRecords]:
        """Returns all chunks that are there.

        What cannot be read ends it, and is raised when nothing stands before it.
        """
        self.undelivered.give_back(self._subscription.partitions)
        partitions = self._subscription.partitions.values()
        before = [(state, state.position, state.leader_epoch) for state in partitions]
        batches = self._arrow_batches(
            check_crcs=check_crcs, headers=headers, whole_batches_of=whole_batches_of
        )
        if batches:
            try:
                await self._fetcher.send_next()
            except asyncio.CancelledError:
                for state, position, leader_epoch in before:
                    if position is not None and position != state.position:
                        state.seek(position, leader_epoch)
                raise
        return batches

    def _arrow_batches(
        self, *, check_crcs: bool, headers: bool, whole_batches_of: Collection[str]
    ) -> list[ArrowRecords]:
        from millstream.clients.core.arrow_batches import readable_rows, rows_from

        batches: list[ArrowRecords] = []
        fetched = self._fetcher.records
        while (item := fetched.next_chunk()) is not None:
            state, start, chunk = item
            rows, broken = readable_rows(
                chunk,
                state.topic_partition,
                start,
                check_crcs=check_crcs,
                headers=headers,
                batch_columns=state.topic_partition.topic in whole_batches_of,
                whole_batches=state.topic_partition.topic in whole_batches_of,
            )
            if broken is not None and not rows.num_rows and not batches:
                raise broken
            next_offset = chunk.next_offset if broken is None else max(start, broken.offset)
            self._fetcher.counters.records_consumed += rows_from(rows, start)
            if next_offset > start:
                batches.append(ArrowRecords(*state.topic_partition, rows, next_offset))
            if broken is not None:
                state.position = next_offset  # the rest is met again by the next call
                break
            fetched.finish_chunk(state)
        return batches

    async def _has_looked_up(self, needed: LookupNeeded, deadline_ms: int) -> bool:
        """Looks up what a deserializer must first learn. Raises that the record cannot be read without."""
        assert self._reader is not None, "deserializers ask for look-ups"
        record = self._reader.asked_about
        ended = await self._look_up.wait(needed, record, deadline_ms)
        if ended is None:
            return False
        try:
            ended.result()
        except Exception as error:
            if record is not None and is_same_record(record, self._look_up.record):
                raise look_up_failed(record, error) from error
        return True
