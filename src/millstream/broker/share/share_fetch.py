"""One share fetch: reads what members may acquire, acquires it, and waits while there is nothing.

Owns the order in which partitions are read, the limits of one answer, and the wait. Sessions and
acknowledgements are elsewhere. Between reading a partition and acquiring what was read nothing waits, so no
other request takes it. Thousands of partitions are counted and read in turns with other work; each is watched
before it is counted, so no progress is missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from millstream.broker.long_work import LongWork
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.purgatory import DelayedOperation, Purgatory
from millstream.broker.share.group_settings import ShareGroupValues
from millstream.broker.share.share_partitions import LoadedSharePartition, SharePartitions
from millstream.coordinator.share_partition.acquisition import (
    AcquiredRecords,
    AcquireRequest,
    Fetched,
    InclusiveRange,
)
from millstream.errors import KafkaError, OffsetOutOfRange
from millstream.log.file_range import FileRange
from millstream.log.header_scan import scan_headers
from millstream.model import TopicPartition
from millstream.records.batch import BatchHeader, iterate_batches
from millstream.records.control import AbortedTransactionFilter
from millstream.replication.fetch_position import FetchPosition, FetchRead
from millstream.runtime import Clock


@dataclass(frozen=True, slots=True)
class ShareFetchLimits:
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    records_max: int
    batch_size: int
    is_record_limit: bool


class Acquired(NamedTuple):
    """The records of one partition that a member has acquired."""

    records: FileRange | bytes
    ranges: Sequence[AcquiredRecords]


Answer = Acquired | KafkaError


class _Batch(NamedTuple):
    start: int
    """Where it begins in what was read."""
    header: BatchHeader


class ShareFetch:
    """A share fetch that is being answered. `loaded`: the partitions to read, in this order."""

    def __init__(
        self,
        member_id: str,
        loaded: Sequence[LoadedSharePartition],
        limits: ShareFetchLimits,
        settings: ShareGroupValues,
        partitions: SharePartitions,
        *,
        long_work: LongWork,
        failures: FailureLog,
    ) -> None:
        self._member_id = member_id
        self._loaded = loaded
        self._limits = limits
        self._settings = settings
        self._partitions = partitions
        self._long_work = long_work
        self._failures = failures
        self._by_name = {each.log.topic_partition: each for each in loaded}
        self._readable: dict[TopicPartition, int] = {}
        """Bytes that could be read of partitions of which this member may acquire records, as far as they were
        counted."""
        self._total = 0
        self._has_moved = False
        """Whether something was read that no member can acquire, so that more may be read behind it."""

    async def run(self, purgatory: Purgatory, clock: Clock) -> dict[LoadedSharePartition, Answer]:
        """Answers when something was acquired or failed, or `max_wait_ms` has passed."""
        deadline_ms = clock.now().monotonic_ms + self._limits.max_wait_ms
        while True:
            now_ms = clock.now().monotonic_ms
            if now_ms >= deadline_ms:
                return await self._read_all(now_ms)
            self._has_moved = False
            operation = purgatory.watch((), deadline_ms - now_ms, self._is_satisfied)
            try:
                if await self._count_all(purgatory, operation):
                    answers = await self._read_all(now_ms)
                    if answers or self._limits.min_bytes <= 0:
                        return answers
                if self._has_moved:
                    await self._long_work.next_turn()
                elif not await operation.wait():
                    deadline_ms = 0
            finally:
                purgatory.forget(operation)

    async def _count_all(self, purgatory: Purgatory, operation: DelayedOperation) -> bool:
        """Whether enough could be read now. Every partition is watched then."""
        is_enough = False
        async for name, loaded in self._long_work.in_turns(self._by_name.items()):
            purgatory.watch_also(operation, (name,))
            is_enough = self._count(name, loaded) or is_enough
        return is_enough

    def _is_satisfied(self, progressed: TopicPartition) -> bool:
        return self._count(progressed, self._by_name[progressed])

    def _count(self, name: TopicPartition, loaded: LoadedSharePartition) -> bool:
        """Enough bytes could be read now, or the partition has to say that it failed. Cheap, does not raise."""
        self._total -= self._readable.pop(name, 0)
        loaded.state.move_log_start(loaded.log.log_start_offset)
        if loaded.state.can_acquire(self._settings.limits):
            position = self._position(loaded, self._limits.max_bytes)
            try:
                self._readable[name] = loaded.log.readable_bytes(position)
            except OffsetOutOfRange:
                self._readable[name] = 0
            except Exception:  # noqa: BLE001 - it comes again when the partition is read
                return True
            self._total += self._readable[name]
        return bool(self._readable) and self._total >= self._limits.min_bytes

    # --- reading

    async def _read_all(self, now_ms: int) -> dict[LoadedSharePartition, Answer]:
        """Partitions with nothing for this member are absent."""
        answers: dict[LoadedSharePartition, Answer] = {}
        room = self._limits.records_max
        acquirable = [
            each async for each in self._long_work.in_turns(self._loaded) if self._may_acquire(each)
        ]
        async for loaded in self._long_work.in_turns(acquirable):
            if room <= 0:
                break
            if not self._may_acquire(loaded):  # any more
                continue
            try:
                acquired = self._read(loaded, room, len(acquirable), not answers, now_ms)
            except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
                answers[loaded] = self._failures.of(str(loaded.log.topic_partition), error)
                continue
            if acquired.ranges:
                answers[loaded] = acquired
                room -= sum(last - first + 1 for first, last, _ in acquired.ranges)
        return answers

    def _may_acquire(self, loaded: LoadedSharePartition) -> bool:
        before = loaded.state.next_fetch_offset
        loaded.state.move_log_start(loaded.log.log_start_offset)
        self._has_moved |= loaded.state.next_fetch_offset != before
        return loaded.state.can_acquire(self._settings.limits)

    def _read(
        self, loaded: LoadedSharePartition, room: int, sharers: int, is_first: bool, now_ms: int
    ) -> Acquired:
        """Raises NotLeaderOrFollower and errors of the disk."""
        position = self._position(loaded, self._limits.max_bytes // sharers)
        try:
            read = loaded.log.read(position, min_one_batch=is_first)
        except OffsetOutOfRange:
            return Acquired(b"", ())  # the log was cut below what the group has seen
        batches = list(_batches(read.records))
        fetched = Fetched(
            position.offset,
            [InclusiveRange(header.base_offset, header.last_offset) for _, header in batches],
            _aborted(read),
        )
        ranges = loaded.state.acquire(self._acquire_request(room), fetched, now_ms)
        self._has_moved |= loaded.state.next_fetch_offset != position.offset
        self._partitions.note_deadline(loaded)
        return Acquired(_slice(read.records, batches, ranges), ranges)

    def _position(self, loaded: LoadedSharePartition, bytes_max: int) -> FetchPosition:
        return FetchPosition(
            loaded.state.next_fetch_offset,
            bytes_max,
            self._settings.is_read_committed,
            loaded.state.leader_epoch,
        )

    def _acquire_request(self, room: int) -> AcquireRequest:
        return AcquireRequest(
            self._member_id,
            room,
            self._limits.batch_size,
            self._limits.is_record_limit,
            self._settings.limits,
        )


_NO_RECORDS: Final = b""


def _batches(records: FileRange | bytes) -> Iterator[_Batch]:
    """Headers only, wherever the records are."""
    if isinstance(records, FileRange):
        end = records.position + records.length
        for position, header in scan_headers(records.file, records.position, end):
            yield _Batch(position - records.position, header)
        return
    start = 0
    for header, _ in iterate_batches(memoryview(records)):
        yield _Batch(start, header)
        start += header.size_bytes


def _aborted(read: FetchRead) -> list[InclusiveRange]:
    """The batches of aborted transactions. Only where there are any is anything read besides headers."""
    if not read.aborted_transactions:
        return []
    is_committed = AbortedTransactionFilter(
        (aborted.producer_id, aborted.first_offset) for aborted in read.aborted_transactions
    )
    data = read.records.read() if isinstance(read.records, FileRange) else read.records
    return [
        InclusiveRange(header.base_offset, header.last_offset)
        for header, batch in iterate_batches(memoryview(data))
        if not is_committed(header, batch)
    ]


def _slice(
    records: FileRange | bytes, batches: Sequence[_Batch], ranges: Sequence[AcquiredRecords]
) -> FileRange | bytes:
    """Whole record batches, from the one with the first acquired record to the one with the last."""
    if not ranges:
        return _NO_RECORDS
    first_offset, last_offset = ranges[0].first_offset, ranges[-1].last_offset
    wanted = [
        batch
        for batch in batches
        if batch.header.last_offset >= first_offset and batch.header.base_offset <= last_offset
    ]
    if not wanted:
        return _NO_RECORDS
    start = wanted[0].start
    length = wanted[-1].start + wanted[-1].header.size_bytes - start
    if isinstance(records, FileRange):
        return FileRange(records.file, records.position + start, length)
    return records[start : start + length]
