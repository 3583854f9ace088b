"""Between Arrow and the clients: rows to partitions and encoded batches, fetched chunks to rows.

The only module of the clients that knows pyarrow, which takes long to import; importers do so when they need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.clients.consumer.core.errors import CorruptBatch
from millstream.clients.consumer.core.fetched import FetchedChunk, readable_front
from millstream.errors import InvalidRecord, KafkaError
from millstream.model import TopicPartition
from millstream.records.arrow import ReadOptions, from_arrow, to_arrow
from millstream.records.batch import patch_offset_and_epoch
from millstream.records.builder import BatchOptions
from millstream.records.control import AbortedTransactionFilter
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from millstream.clients.producer.core import murmur2
    from millstream.records.record import Header
else:
    murmur2 = load_leaf("millstream.clients.producer.core.murmur2")

_RECORD_COUNT: Final = Struct(">i")
_RECORD_COUNT_AT: Final = 57
_SLICE_BYTES: Final = 4 * 1024 * 1024
"""Rows are encoded this much at a time, so that memory is taken as it is granted."""


def rows_by_partition(
    records: pa.RecordBatch, partition: int | None, partition_count: int, without_key: int
) -> list[tuple[int, pa.RecordBatch]]:
    """Returns the rows grouped by where they go, in order. `without_key` is the partition of rows whose key is null."""
    if partition is not None:
        return [(partition, records)]
    if "key" not in records.schema.names or partition_count == 1:
        return [(without_key, records)]
    targets = partitions_of(records.column("key"), partition_count, without_key)
    counts = sorted((c["values"], c["counts"]) for c in pc.value_counts(targets).to_pylist())
    if len(counts) == 1:  # as from a task whose keys stay as they are
        return [(counts[0][0], records)]
    order = pc.sort_indices(targets)  # stable: rows of one partition keep their order
    ordered = records.take(order)
    groups = []
    start = 0
    for target, count in counts:
        groups.append((target, ordered.slice(start, count)))
        start += count
    return groups


def encode_rows(
    rows: pa.RecordBatch,
    options: BatchOptions,
    batch_bytes_max: int,
    now_ms: int,
    batch_headers: Sequence[Header] = (),
) -> Iterator[tuple[bytearray, int]]:
    """Record batches of the rows with their record counts, encoded as they are asked for."""
    step = max(1, rows.num_rows * _SLICE_BYTES // max(rows.nbytes, 1))
    for start in range(0, rows.num_rows, step):
        for encoded in from_arrow(
            rows.slice(start, step),
            options,
            batch_bytes_max=batch_bytes_max,
            default_timestamp_ms=now_ms,
            batch_headers=batch_headers,
        ):
            patch_offset_and_epoch(memoryview(encoded), 0, -1)  # brokers insist on offset 0
            yield encoded, _RECORD_COUNT.unpack_from(encoded, _RECORD_COUNT_AT)[0]


def chunk_to_arrow(
    chunk: FetchedChunk,
    start_offset: int,
    *,
    check_crcs: bool,
    headers: bool = False,
    batch_columns: bool = False,
    whole_batches: bool = False,
) -> pa.RecordBatch:
    """Returns the visible records of a fetched chunk from `start_offset` on; `whole_batches` as in `ReadOptions`."""
    accept = None
    if chunk.aborted:
        accept = AbortedTransactionFilter((producer, first) for first, producer in chunk.aborted)
    options = ReadOptions(
        headers, batch_columns, whole_batches, check_crcs=check_crcs, accept=accept
    )
    return to_arrow(chunk.records, start_offset, options)


def readable_rows(
    chunk: FetchedChunk,
    topic_partition: TopicPartition,
    start_offset: int,
    *,
    check_crcs: bool,
    headers: bool = False,
    batch_columns: bool = False,
    whole_batches: bool = False,
) -> tuple[pa.RecordBatch, CorruptBatch | None]:
    """Returns rows as `chunk_to_arrow`, up to the first batch that cannot be read, and what is wrong with that one."""
    to_rows = partial(
        chunk_to_arrow,
        check_crcs=check_crcs,
        headers=headers,
        batch_columns=batch_columns,
        whole_batches=whole_batches,
    )
    try:
        rows = to_rows(chunk, start_offset)
    except KafkaError:
        front, broken = readable_front(chunk, topic_partition, check_crcs=check_crcs)
        if broken is None:
            raise
        return to_rows(front, start_offset), broken
    return rows, None


def rows_from(records: pa.RecordBatch, start_offset: int) -> int:
    """Returns how many rows have this offset or a larger one: of whole batches some may stand before it."""
    count: int = records.num_rows
    if not count or records.column("offset")[0].as_py() >= start_offset:
        return count
    return count - int(records.column("offset").to_numpy().searchsorted(start_offset))


def rows_before(records: pa.RecordBatch, end_offset: int) -> pa.RecordBatch:
    """Returns the rows with an offset below `end_offset`. Offsets rise, so these come first."""
    count = records.num_rows
    if not count or records.column("offset")[count - 1].as_py() < end_offset:
        return records
    return records.slice(0, pc.sum(pc.less(records.column("offset"), end_offset)).as_py())


def partitions_of(keys: pa.Array, partition_count: int, without_key: int) -> pa.Array:
    """Returns the partition of each key; `without_key` is that of a null."""
    try:
        keys = keys.cast(pa.binary())
    except pa.ArrowException as error:
        raise InvalidRecord(f"column key is {keys.type}; cast it to binary or string") from error
    _, offsets, data = keys.buffers()
    out = pa.allocate_buffer(4 * len(keys))
    murmur2.partitions_for_keys(
        memoryview(offsets).cast("B").cast("i")[keys.offset : keys.offset + len(keys) + 1],
        memoryview(b"" if data is None else data).cast("B"),
        partition_count,
        memoryview(out).cast("B").cast("i"),
    )
    targets = pa.Array.from_buffers(pa.int32(), len(keys), [None, out])
    if keys.null_count:
        targets = pc.if_else(keys.is_valid(), targets, pa.scalar(without_key, pa.int32()))
    return targets
