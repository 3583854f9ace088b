"""From the columns of a batch to the bytes of a record batch, and back where a batch must be cut in two."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final, cast

from millstream.clients.core.values import Headers
from millstream.clients.producer.core.producer_batch import BatchColumns, ProducerBatch
from millstream.records.batch import BATCH_HEADER_BYTES, patch_producer, read_header
from millstream.records.builder import BatchOptions, RecordsSummary, finish_batch
from millstream.records.record import iterate_records
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from millstream.records import writer
else:
    writer = load_leaf("millstream.records.writer")

_UNBOUNDED: Final = 2**31 - 1


def encode_batch(batch: ProducerBatch, options: BatchOptions) -> bytearray:
    """Returns the batch under its current producer numbers; the bytes are kept for the next attempt."""
    if batch.encoded is None:
        batch.encoded = _encode(batch, options)
    elif batch.base_sequence >= 0:
        patch_producer(
            memoryview(batch.encoded), batch.producer_id, batch.producer_epoch, batch.base_sequence
        )
    return batch.encoded


def columns_of(batch: ProducerBatch) -> BatchColumns:
    """Returns the records of a batch, decoded again if it came encoded."""
    if batch.columns is not None:
        return batch.columns
    assert batch.encoded is not None, "a batch has columns or bytes"
    columns = BatchColumns()
    for index, record in enumerate(iterate_records(read_header(batch.encoded), batch.encoded)):
        columns.timestamps.append(record.timestamp)
        columns.keys.append(record.key)
        columns.values.append(record.value)
        if record.headers:
            columns.headers[index] = record.headers
    return columns


def _encode(batch: ProducerBatch, options: BatchOptions) -> bytearray:
    """Whole columns go to the compiled writer; nothing is done per record in Python but taking lengths."""
    columns = batch.columns
    assert columns is not None, "a batch has columns or bytes"
    rows = batch.record_count
    source = writer.RecordWriter(
        _binary_source(columns.keys),
        _binary_source(columns.values),
        memoryview(array("q", columns.timestamps)),
        _header_source(columns.headers, rows) if columns.headers else None,
    )
    last, size, max_timestamp = source.fit(0, _UNBOUNDED)
    assert last == rows, "the accumulator bounds batches, nobody else"
    out = bytearray(BATCH_HEADER_BYTES + size)
    source.write(out, BATCH_HEADER_BYTES, 0, rows)
    return finish_batch(
        out,
        RecordsSummary(rows, rows - 1, columns.timestamps[0], max_timestamp),
        replace(
            options,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
        ),
    )


def _binary_source(items: Sequence[bytes | None]) -> writer.BinarySource:
    """The items as Arrow lays out a binary column: offsets, a bitmap of those that are not null, bytes."""
    validity = b""
    present = items
    if None in items:
        bitmap = bytearray((len(items) + 7) // 8)
        if items.count(None) < len(items):
            for index, item in enumerate(items):
                if item is not None:
                    bitmap[index >> 3] |= 1 << (index & 7)
        validity = bytes(bitmap)
        present = [item or b"" for item in items]
    contents = cast("Sequence[bytes]", present)
    offsets = array("i", accumulate(map(len, contents), initial=0))
    return writer.BinarySource(
        memoryview(offsets), memoryview(validity), 0, memoryview(b"".join(contents))
    )


def _header_source(headers: dict[int, Headers], rows: int) -> writer.HeaderSource:
    counts = (len(headers.get(row, ())) for row in range(rows))
    flat = [header for row in sorted(headers) for header in headers[row]]
    return writer.HeaderSource(
        memoryview(array("i", accumulate(counts, initial=0))),
        _binary_source([name.encode() for name, _ in flat]),
        _binary_source([content for _, content in flat]),
    )
