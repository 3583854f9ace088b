"""The records of one partition that a share fetch acquired, and the acknowledgements of the
rest, which are sent at once.

The answer holds whole record batches; only the acquired ranges in them are ours, with a delivery count each. Acquired
offsets that hold no record (compacted, control) are acknowledged as gaps, those of a broken batch are rejected, and a
record that cannot be deserialized is released; the application hears of the last two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, cast

from millstream.clients.consumer.core.fetched import DecodedBatch
from millstream.clients.core.serialization import LookupNeeded, RecordDeserializationError
from millstream.clients.core.values import ConsumerRecord, Key, Value
from millstream.clients.share.core.values import Acknowledgements, TopicIdPartition
from millstream.errors import CorruptMessage, KafkaError, MillstreamError
from millstream.protocol.enums import ACKNOWLEDGE_GAP, AcknowledgeType
from millstream.records.batch import BatchHeader, iterate_batches, validate_batch

Deserialize = Callable[[ConsumerRecord], ConsumerRecord[Key, Value]]
"""Raises RecordDeserializationError, or LookupNeeded."""


class AcquiredRange(NamedTuple):
    first: int
    last: int
    delivery_count: int


class Failure(NamedTuple):
    """An error for the application, and what is said of the offsets it is about."""

    error: MillstreamError
    acknowledgements: Acknowledgements


@dataclass(slots=True)
class Taken(Generic[Key, Value]):
    """The records that one poll takes out of a fetch. A failure comes without records, a look-up behind them."""

    records: list[ConsumerRecord[Key, Value]] = field(default_factory=list)
    gaps: Acknowledgements = field(default_factory=dict)
    failure: Failure | None = None
    lookup: LookupNeeded | None = None
    """To be awaited before the next record can be had."""


class ShareFetched:
    def __init__(
        self,
        node_id: int,
        partition: TopicIdPartition,
        records: memoryview,
        acquired: list[AcquiredRange],
        *,
        lock_timeout_ms: int | None = None,
        check_crcs: bool = True,
    ) -> None:
        self.node_id = node_id
        self.partition = partition
        self.lock_timeout_ms = lock_timeout_ms
        self._check_crcs = check_crcs
        self._acquired = deque(acquired)
        """What no batch was looked at for yet."""
        self._batches: Iterator[tuple[BatchHeader, memoryview]] = iterate_batches(records)
        self._decoded: deque[ConsumerRecord] = deque()
        self._failure: Failure | None = None

    @property
    def is_used_up(self) -> bool:
        return not self._acquired and not self._decoded and self._failure is None

    def take(
        self,
        count_max: int,
        deserialize: Deserialize[Key, Value] | None = None,
        *,
        may_fail: bool = True,
    ) -> Taken[Key, Value]:
        """Takes records up to the end of the record batch in which `count_max` is reached,
        or up to what cannot be read.

        `may_fail`: nothing stands before a failure that comes first.
        """
        taken: Taken[Key, Value] = Taken()
        while self._failure is None and taken.lookup is None and len(taken.records) < count_max:
            if not self._decoded and not self._open_batch(taken):
                break
            self._take_decoded(taken, deserialize)
        if may_fail and not taken.records:
            taken.failure, self._failure = self._failure, None
        return taken

    def _take_decoded(
        self, taken: Taken[Key, Value], deserialize: Deserialize[Key, Value] | None
    ) -> None:
        if deserialize is None:
            # Without a deserializer key and value are bytes, and the consumer's type says so.
            taken.records += cast("deque[ConsumerRecord[Key, Value]]", self._decoded)
            self._decoded.clear()
            return
        while self._decoded:
            record = self._decoded[0]
            try:
                taken.records.append(deserialize(record))
            except LookupNeeded as lookup:
                taken.lookup = lookup
                return
            except RecordDeserializationError as error:
                self._decoded.popleft()
                released: Acknowledgements = {record.offset: AcknowledgeType.RELEASE}
                self._failure = Failure(_unreadable(error), released)
                return
            self._decoded.popleft()

    def _open_batch(self, taken: Taken[Key, Value]) -> bool:
        """Decode the next batch that has records for us. False when there is none, or when it cannot be read."""
        while self._acquired and (item := next(self._batches, None)) is not None:
            header, view = item
            ranges = self._cut(header.last_offset)
            if not ranges:
                continue
            try:
                records = self._decode(header, view, ranges)
            except KafkaError as error:
                self._fail_batch(header, error, ranges, taken)
                return False
            if len(records) < sum(last - first + 1 for first, last, _ in ranges):
                missing = set(_offsets(ranges)).difference(record.offset for record in records)
                taken.gaps.update(dict.fromkeys(missing, ACKNOWLEDGE_GAP))
            if records:
                self._decoded.extend(records)
                return True
        taken.gaps.update((offset, ACKNOWLEDGE_GAP) for offset in _offsets(self._acquired))
        self._acquired.clear()
        return False

    def _decode(
        self, header: BatchHeader, view: memoryview, ranges: list[AcquiredRange]
    ) -> list[ConsumerRecord]:
        if self._check_crcs:
            validate_batch(header, view)
        if header.is_control:
            return []
        batch = DecodedBatch(self.partition.topic_partition, header, view, ranges[0].first)
        rows = range(batch.count)
        records: list[ConsumerRecord] = []
        for first, last, delivery_count in ranges:
            start = bisect_left(rows, first, key=batch.offset_of)
            stop = bisect_left(rows, last + 1, key=batch.offset_of)
            records += [
                record.with_delivery_count(delivery_count) for record in batch.records(start, stop)
            ]
        return records

    def _fail_batch(
        self,
        header: BatchHeader,
        error: KafkaError,
        ranges: list[AcquiredRange],
        taken: Taken[Key, Value],
    ) -> None:
        """Fails a batch. What lies before it is a gap all the same."""
        rejected: Acknowledgements = {}
        for offset in _offsets(ranges):
            if offset < header.base_offset:
                taken.gaps[offset] = ACKNOWLEDGE_GAP
            else:
                rejected[offset] = AcknowledgeType.REJECT
        what = CorruptMessage(
            f"{self.partition}: the batch at offset {header.base_offset} is broken ({error}); its records were rejected"
        )
        what.__cause__ = error
        self._failure = Failure(what, rejected)

    def _cut(self, last_offset: int) -> list[AcquiredRange]:
        """Takes what was acquired up to `last_offset`; the rest stays."""
        ranges: list[AcquiredRange] = []
        while self._acquired and self._acquired[0].first <= last_offset:
            acquired = self._acquired.popleft()
            if acquired.last > last_offset:
                self._acquired.appendleft(acquired._replace(first=last_offset + 1))
                acquired = acquired._replace(last=last_offset)
            ranges.append(acquired)
        return ranges


def _offsets(ranges: list[AcquiredRange] | deque[AcquiredRange]) -> Iterator[int]:
    return (offset for first, last, _ in ranges for offset in range(first, last + 1))


def _unreadable(error: RecordDeserializationError) -> RecordDeserializationError:
    """The same, with what a share consumer can do about it."""
    said = RecordDeserializationError(
        error.topic_partition,
        error.offset,
        f"the {error.part or 'record'} cannot be deserialized ({error.__cause__!r}); the record was released: somebody"
        " gets it again, unless it is acknowledged as REJECT",
        record=error.record,
        part=error.part,
    )
    said.__cause__ = error.__cause__
    return said
