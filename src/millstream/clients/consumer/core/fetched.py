"""The batches that a fetch brought for one partition, and which of its batches a reader may see.

Control batches are never shown. At read_committed batches of aborted transactions are not either: the broker names
them with the answer, and their end is the abort marker in the data (KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

from millstream.clients.consumer.core.errors import CorruptBatch
from millstream.clients.core.values import ConsumerRecord, TimestampType
from millstream.errors import CorruptMessage, KafkaError, error_for
from millstream.model import NO_LEADER_EPOCH, TopicPartition
from millstream.records.batch import BatchHeader, iterate_batches, validate_batch
from millstream.records.control import AbortedTransactionFilter
from millstream.records.record import read_headers, records_section
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from millstream.clients.consumer.core import consumer_record
    from millstream.records import walker
else:
    consumer_record = load_leaf("millstream.clients.consumer.core.consumer_record")
    walker = load_leaf("millstream.records.walker")


class BatchSummary(NamedTuple):
    """The facts that the header of a batch gives.

    `timestamp_max` is that of its records, None where a reader sees none of them.
    """

    first_offset: int
    last_offset: int
    size_bytes: int
    timestamp_max: int | None


@dataclass(slots=True, eq=False)
class FetchedChunk:
    """Whole batches of one answer. `next_offset` is where the fetch after it starts."""

    records: memoryview
    next_offset: int
    aborted: list[tuple[int, int]] = field(default_factory=list)
    """(first offset, producer id), in order of offset; empty at read_uncommitted."""
    leader_epoch: int = NO_LEADER_EPOCH
    """Of the last batch."""
    batches: Iterator[tuple[BatchHeader, memoryview]] | None = None
    """Those that are not read yet, once reading has begun."""

    @classmethod
    def fetched(
        cls, records: memoryview, fetch_offset: int, aborted: list[tuple[int, int]]
    ) -> FetchedChunk:
        """Returns the whole batches in front: what a fetch at `fetch_offset` brought may end in a part of one.

        Raises the error of the first batch, and CorruptMessage when there is none that leads beyond `fetch_offset`.
        """
        next_offset, leader_epoch, size = fetch_offset, int(NO_LEADER_EPOCH), 0
        try:
            for header, view in iterate_batches(records):
                next_offset = max(next_offset, header.next_offset)
                leader_epoch = header.partition_leader_epoch
                size += len(view)
        except KafkaError:
            if not size:
                raise  # otherwise the next fetch starts with it
        if next_offset == fetch_offset:
            raise CorruptMessage("the broker's answer does not lead beyond the offset asked for")
        return cls(records[:size], next_offset, aborted, leader_epoch)


def next_offset_of(records: memoryview, fetch_offset: int) -> int:
    """Returns the offset behind the last whole batch; `fetch_offset` when there is none."""
    last = fetch_offset
    for header, _ in iterate_batches(records):
        last = header.next_offset
    return max(last, fetch_offset)


def batch_summaries(chunk: FetchedChunk, from_offset: int) -> Iterator[BatchSummary]:
    """Yields a summary of each batch that has offsets from `from_offset` on."""
    accept = AbortedTransactionFilter((producer, first) for first, producer in chunk.aborted)
    for header, view in iterate_batches(chunk.records):
        is_visible = accept(header, view) and not header.is_control
        if header.last_offset < from_offset:
            continue
        has_time = is_visible and header.record_count > 0 and header.max_timestamp >= 0
        yield BatchSummary(
            header.base_offset,
            header.last_offset,
            header.size_bytes,
            header.max_timestamp if has_time else None,
        )


def visible_batches(
    chunk: FetchedChunk, topic_partition: TopicPartition, *, check_crcs: bool
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yields batches with records for the reader. Raises CorruptBatch naming the offset to seek past."""
    accept = AbortedTransactionFilter((producer, first) for first, producer in chunk.aborted)
    for header, view in iterate_batches(chunk.records):
        if check_crcs:
            _check(header, view, topic_partition)
        if accept(header, view) and not header.is_control:
            yield header, view


class DecodedBatch:
    """The records of one batch that are wanted, made only when they are asked for, a poll's worth at a time.

    Making them just before they are used is three times as fast as making a whole batch: they are still in the
    processor's cache when the reader gets them, and are gone before the collector looks.
    """

    __slots__ = ("_content", "_header_counts", "_headers_at", "_offsets", "_source", "count")

    def __init__(
        self,
        topic_partition: TopicPartition,
        header: BatchHeader,
        view: memoryview,
        from_offset: int,
    ) -> None:
        """Begins at `from_offset`: a fetch starts with the whole batch that holds its offset. Raises InvalidRecord."""
        section = records_section(header, view)
        capacity = header.record_count
        self._offsets = memoryview(bytearray(8 * capacity)).cast("q")
        timestamps = memoryview(bytearray(8 * capacity)).cast("q")
        places = memoryview(bytearray(4 * walker.PLACE_COLUMNS * capacity)).cast("i")
        columns = walker.RecordColumns(self._offsets, timestamps, places)
        self.count: int = columns.walk(section, header, from_offset)
        self._content = bytes(section) if columns.header_totals()[0] else None
        self._headers_at = places[4 * capacity : 5 * capacity]
        self._header_counts = places[5 * capacity :]
        kind = TimestampType(int(header.is_log_append_time))
        common = (*topic_partition, kind, header.partition_leader_epoch)
        self._source = consumer_record.RecordSource(
            section, self._offsets, timestamps, places, common
        )

    def offset_of(self, row: int) -> int:
        return self._offsets[row]

    def records(self, start: int, stop: int) -> list[ConsumerRecord]:
        made = self._source.records(start, stop, self._headers(start, stop))
        return cast("list[ConsumerRecord]", made)

    def _headers(self, start: int, stop: int) -> list[tuple[tuple[str, bytes | None], ...]] | None:
        content = self._content
        if content is None:
            return None
        return [
            tuple(read_headers(content, at, count)) if count else ()
            for at, count in zip(
                self._headers_at[start:stop], self._header_counts[start:stop], strict=True
            )
        ]


def decode_batch(
    topic_partition: TopicPartition, header: BatchHeader, view: memoryview, from_offset: int
) -> DecodedBatch:
    """Decodes a batch. Raises CorruptBatch."""
    try:
        return DecodedBatch(topic_partition, header, view, from_offset)
    except KafkaError as error:
        raise _broken(topic_partition, header, error) from error


def readable_front(
    chunk: FetchedChunk, topic_partition: TopicPartition, *, check_crcs: bool
) -> tuple[FetchedChunk, CorruptBatch | None]:
    """Returns the batches before the first that cannot be read, and what is wrong with that one."""
    size, leader_epoch = 0, int(NO_LEADER_EPOCH)
    for header, view in iterate_batches(chunk.records):
        try:
            if check_crcs:
                _check(header, view, topic_partition)
            decode_batch(topic_partition, header, view, header.base_offset)
        except CorruptBatch as broken:
            front = chunk.records[:size]
            return FetchedChunk(front, header.base_offset, chunk.aborted, leader_epoch), broken
        size += len(view)
        leader_epoch = header.partition_leader_epoch
    return chunk, None


def _check(header: BatchHeader, view: memoryview, topic_partition: TopicPartition) -> None:
    try:
        validate_batch(header, view)
    except KafkaError as error:
        raise _broken(topic_partition, header, error) from error


def _broken(
    topic_partition: TopicPartition, header: BatchHeader, error: KafkaError
) -> CorruptBatch:
    return CorruptBatch(topic_partition, header.base_offset, header.next_offset, str(error))


def partition_error(code: int, topic_partition: TopicPartition) -> KafkaError:
    error = error_for(code)
    return error_for(code, f"{topic_partition}: {error}")
