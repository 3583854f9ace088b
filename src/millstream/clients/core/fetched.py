"""What a fetch brought for one partition, and which of its batches a reader may see.

Control batches are never shown. At read_committed batches of aborted transactions are not either: the broker names
them with the answer, and their end is the abort marker in the data (KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.clients.core.values import ConsumerRecord
from millstream.errors import CorruptMessage, KafkaError, error_for
from millstream.model import TopicPartition
from millstream.records.batch import BatchHeader, iterate_batches, validate_batch
from millstream.records.record import iterate_records, records_section
from millstream.records.transactions import AbortedTransactionFilter
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from millstream.records import walker
else:
    walker = load_leaf("millstream.records.walker")


@dataclass(slots=True, eq=False)
class FetchedChunk:
    """The batches of one answer. `next_offset` is where the fetch after it starts; `at` is how far it was read."""

    records: memoryview
    next_offset: int
    aborted: list[tuple[int, int]] = field(default_factory=list)
    """(first offset, producer id), in order of offset; empty at read_uncommitted."""
    batches: Iterator[tuple[BatchHeader, memoryview]] | None = None


def next_offset_of(records: memoryview, fetch_offset: int) -> int:
    """The offset behind the last whole batch; `fetch_offset` when there is none."""
    last = fetch_offset
    for header, _ in iterate_batches(records):
        last = header.next_offset
    return max(last, fetch_offset)


def visible_batches(
    chunk: FetchedChunk, topic_partition: TopicPartition, *, check_crcs: bool
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Batches with records for the reader. Raises CorruptMessage naming the offset to seek past."""
    accept = AbortedTransactionFilter((producer, first) for first, producer in chunk.aborted)
    for header, view in iterate_batches(chunk.records):
        if check_crcs:
            _check(header, view, topic_partition)
        if accept(header, view) and not header.is_control:
            yield header, view


def decode_records(
    topic_partition: TopicPartition, header: BatchHeader, view: memoryview, from_offset: int
) -> list[ConsumerRecord]:
    """The records of a batch from `from_offset` on. A fetch starts with the whole batch that holds its offset."""
    section = records_section(header, view)
    count = header.record_count
    offsets = memoryview(bytearray(8 * count)).cast("q")
    timestamps = memoryview(bytearray(8 * count)).cast("q")
    places = memoryview(bytearray(4 * walker.PLACE_COLUMNS * count)).cast("i")
    columns = walker.RecordColumns(offsets, timestamps, places)
    rows = columns.walk(section, header, from_offset)
    if columns.header_totals()[0]:
        return _decode_one_by_one(topic_partition, header, view, from_offset)
    topic, partition = topic_partition
    data = bytes(section)
    key_at, key_length, value_at, value_length = (
        places[column * count : column * count + rows].tolist() for column in range(4)
    )
    return [
        ConsumerRecord(
            topic,
            partition,
            offset,
            timestamp,
            None if kl < 0 else data[ka : ka + kl],
            None if vl < 0 else data[va : va + vl],
            [],
        )
        for offset, timestamp, ka, kl, va, vl in zip(
            offsets[:rows].tolist(),
            timestamps[:rows].tolist(),
            key_at,
            key_length,
            value_at,
            value_length,
            strict=True,
        )
    ]


def _decode_one_by_one(
    topic_partition: TopicPartition, header: BatchHeader, view: memoryview, from_offset: int
) -> list[ConsumerRecord]:
    """Batches with headers."""
    topic, partition = topic_partition
    return [
        ConsumerRecord(
            topic,
            partition,
            record.offset,
            record.timestamp,
            record.key,
            record.value,
            record.headers,
        )
        for record in iterate_records(header, view)
        if record.offset >= from_offset
    ]


def _check(header: BatchHeader, view: memoryview, topic_partition: TopicPartition) -> None:
    try:
        validate_batch(header, view)
    except KafkaError as error:
        raise CorruptMessage(
            f"{topic_partition}: the batch at offset {header.base_offset} is broken ({error}); "
            f"seek to {header.next_offset} to go on behind it"
        ) from error


def partition_error(code: int, topic_partition: TopicPartition) -> KafkaError:
    error = error_for(code)
    return error_for(code, f"{topic_partition}: {error}")
