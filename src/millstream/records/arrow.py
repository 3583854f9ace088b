"""Record batches to and from Arrow, without a Python object per record.

`to_arrow` gives these columns; `from_arrow` takes the same, in any order, of which only `value` must be there:

    key        binary, null where the record has none
    value      binary, null for a tombstone
    offset     int64                                          (ignored by from_arrow)
    timestamp  int64, ms since 1970-01-01 UTC, -1 for none    (from_arrow also takes timestamps of any unit)
    headers    list<struct<key: string, value: binary>>       (only when asked for)
    timestampType  int32, 0 create time, 1 log append time    (only when asked for, ignored by from_arrow)
    leaderEpoch    int32, null where the batch has none       (the same)
    baseOffset     int64, the first offset of the batch       (the same, for whole batches)

Timestamps stay int64 because Kafka's -1 is no point in time. The work per record is done by the leaves `walker` and
`writer`; this module owns the buffers, their sizes and what is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from millstream.errors import InvalidRecord, InvalidTimestamp, RecordListTooLarge
from millstream.records.batch import (
    BATCH_HEADER_BYTES,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    SEQUENCE_MAX,
    BatchHeader,
    iterate_batches,
    validate_batch,
)
from millstream.records.builder import PLAIN, BatchOptions, RecordsSummary, finish_batch
from millstream.records.compression import DECOMPRESSED_BYTES_MAX, BytesLike
from millstream.records.record import records_section
from millstream.runtime.native import load_leaf, warn_where_interpreted

if TYPE_CHECKING:
    from millstream.records import walker, writer
    from millstream.records.record import Header
else:
    walker = load_leaf("millstream.records.walker")
    writer = load_leaf("millstream.records.writer")

warn_where_interpreted("reading and writing Arrow batches")  # imported at their first use, so once

HEADER_FIELDS: Final = [
    pa.field("key", pa.string(), nullable=False),
    pa.field("value", pa.binary()),
]
HEADERS_TYPE: Final = pa.list_(pa.struct(HEADER_FIELDS))
SCHEMA: Final = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
    ]
)
_HEADERS_FIELD: Final = pa.field("headers", HEADERS_TYPE, nullable=False)
SCHEMA_WITH_HEADERS: Final = SCHEMA.append(_HEADERS_FIELD)
_BATCH_FIELDS: Final = (
    pa.field("timestampType", pa.int32(), nullable=False),
    pa.field("leaderEpoch", pa.int32()),
)
_BASE_OFFSET_FIELD: Final = pa.field("baseOffset", pa.int64(), nullable=False)

ARROW_BYTES_MAX: Final = 2**31 - 1
"""What int32 offsets of one binary column can reach."""
BATCH_BYTES_MAX: Final = 16384
"""Default limit of one written batch (`batch.size`)."""

NumberFormat = Literal["B", "i", "q"]

BatchFilter = Callable[[BatchHeader, memoryview], bool]
"""Sees every batch in order, control batches too, and says whether its records count. For read_committed see
`transactions.AbortedTransactionFilter`."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of `to_arrow`.

    `decompressed_bytes_max` bounds each batch; `batch_columns` are those that say how a batch was written.

    `whole_batches`: those before the start offset too that share a batch with it, each with the
    base offset of its batch.
    """

    headers: bool = False
    batch_columns: bool = False
    whole_batches: bool = False
    check_crcs: bool = True
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
    accept: BatchFilter | None = None


DEFAULT_READ: Final = ReadOptions()


def to_arrow(
    view: BytesLike, start_offset: int = 0, options: ReadOptions = DEFAULT_READ
) -> pa.RecordBatch:
    """Returns all records from `start_offset` on in the batches of `view`, as SCHEMA or SCHEMA_WITH_HEADERS
    says, and `batch_columns`.

    Control batches, batches that `options.accept` refuses and a batch at the end that is not whole are left out.
    Raises CorruptMessage, InvalidRecord, MessageTooLarge, UnsupportedCompressionType, and RecordListTooLarge when a
    column would exceed 2 GiB.
    """
    sections = _wanted_sections(memoryview(view).cast("B"), start_offset, options)
    capacity = sum(header.record_count for header, _ in sections)
    offsets, timestamps = pa.allocate_buffer(8 * capacity), pa.allocate_buffer(8 * capacity)
    places = pa.allocate_buffer(4 * walker.PLACE_COLUMNS * capacity)
    columns = walker.RecordColumns(_view(offsets, "q"), _view(timestamps, "q"), _view(places, "i"))
    spans = []
    for header, section in sections:
        first = columns.rows()
        begin = header.base_offset if options.whole_batches else start_offset
        spans.append((section, first, first + columns.walk(section, header, begin)))
    rows = columns.rows()
    arrays = [
        *_gather(columns, spans, rows),
        pa.Array.from_buffers(pa.int64(), rows, [None, offsets]),
        pa.Array.from_buffers(pa.int64(), rows, [None, timestamps]),
    ]
    fields = list(SCHEMA)
    if options.headers:
        arrays.append(_gather_headers(columns, spans, rows))
        fields.append(_HEADERS_FIELD)
    batches = [header for header, _ in sections]
    rows_of_batches = [last - first for _, first, last in spans]
    if options.batch_columns:
        arrays += _batch_columns(batches, rows_of_batches)
        fields += _BATCH_FIELDS
    if options.whole_batches:
        bases = [header.base_offset for header in batches]
        arrays.append(_of_batches(bases, rows_of_batches, pa.int64()))
        fields.append(_BASE_OFFSET_FIELD)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def from_arrow(
    table: pa.RecordBatch | pa.Table,
    options: BatchOptions = PLAIN,
    *,
    batch_bytes_max: int = BATCH_BYTES_MAX,
    default_timestamp_ms: int = -1,
    batch_headers: Sequence[Header] = (),
) -> list[bytearray]:
    """Returns batches of at most `batch_bytes_max` bytes before compression, in the order of the rows.

    A record that is larger than that gets a batch for itself. Base offset and base sequence count on from batch to
    batch. `default_timestamp_ms` stands where there is no timestamp. The first record of each batch has `batch_headers`
    before its own. Raises InvalidRecord for columns of other types
    or a header without a key, InvalidTimestamp for times before 1970.
    """
    assert options.delete_horizon_ms is None, "only the cleaner sets a delete horizon"
    batches: list[bytearray] = []
    rows = 0
    for part in table.to_batches() if isinstance(table, pa.Table) else [table]:
        if part.num_rows:
            source = _record_writer(part, default_timestamp_ms, batch_headers)
            batches += _write(source, part.num_rows, _advance(options, rows), batch_bytes_max)
            rows += part.num_rows
    return batches


def _wanted_sections(
    view: memoryview, start_offset: int, options: ReadOptions
) -> list[tuple[BatchHeader, memoryview]]:
    sections = []
    for header, batch in iterate_batches(view):
        if options.check_crcs:
            validate_batch(header, batch)
        accepted = options.accept is None or options.accept(header, batch)
        if accepted and not header.is_control and header.last_offset >= start_offset:
            section = records_section(header, batch, options.decompressed_bytes_max)
            sections.append((header, section))
    return sections


def _view(buffer: pa.Buffer, format_: NumberFormat) -> memoryview:
    """Arrow hands out signed chars, and a cast has to pass through bytes."""
    return memoryview(buffer).cast("B").cast(format_)


@dataclass(slots=True)
class _ColumnBuffers:
    """An Arrow binary column while it is written."""

    validity: bytearray
    offsets: pa.Buffer
    data: pa.Buffer
    column: walker.BinaryColumn

    @classmethod
    def allocate(cls, rows: int, data_bytes: int) -> _ColumnBuffers:
        if data_bytes > ARROW_BYTES_MAX:
            raise RecordListTooLarge(
                f"{data_bytes} bytes in one Arrow column; read fewer batches at a time"
            )
        validity = bytearray((rows + 7) // 8)
        offsets, data = pa.allocate_buffer(4 * (rows + 1)), pa.allocate_buffer(data_bytes)
        column = walker.BinaryColumn(_view(offsets, "i"), memoryview(validity), _view(data, "B"))
        return cls(validity, offsets, data, column)

    def array(self, type_: pa.DataType) -> pa.Array:
        rows, nulls, _ = self.column.counts()
        validity = pa.py_buffer(self.validity) if nulls else None
        return pa.Array.from_buffers(type_, rows, [validity, self.offsets, self.data], nulls)


_Spans = list[tuple[memoryview, int, int]]
"""A decompressed section, and the first and last row that came from it."""


def _gather(columns: walker.RecordColumns, spans: _Spans, rows: int) -> list[pa.Array]:
    key_bytes, value_bytes = columns.totals()
    keys = _ColumnBuffers.allocate(rows, key_bytes)
    values = _ColumnBuffers.allocate(rows, value_bytes)
    for section, first, last in spans:
        columns.gather(section, first, last, keys.column, values.column)
    return [keys.array(pa.binary()), values.array(pa.binary())]


def _gather_headers(columns: walker.RecordColumns, spans: _Spans, rows: int) -> pa.Array:
    count, key_bytes, value_bytes = columns.header_totals()
    keys = _ColumnBuffers.allocate(count, key_bytes)
    values = _ColumnBuffers.allocate(count, value_bytes)
    list_offsets = pa.allocate_buffer(4 * (rows + 1))
    column = walker.HeadersColumn(_view(list_offsets, "i"), keys.column, values.column)
    for section, first, last in spans:
        columns.gather_headers(section, first, last, column)
    headers = pa.StructArray.from_arrays(
        [_text(keys), values.array(pa.binary())], fields=HEADER_FIELDS
    )
    return pa.Array.from_buffers(HEADERS_TYPE, rows, [None, list_offsets], 0, children=[headers])


def _batch_columns(headers: list[BatchHeader], rows: list[int]) -> list[pa.Array]:
    epochs = _of_batches([header.partition_leader_epoch for header in headers], rows, pa.int32())
    if any(header.partition_leader_epoch < 0 for header in headers):
        epochs = pc.if_else(pc.less(epochs, 0), None, epochs)
    types = [header.is_log_append_time for header in headers]
    return [_of_batches(types, rows, pa.int32()), epochs]


def _of_batches(values: list[int] | list[bool], rows: list[int], type_: pa.DataType) -> pa.Array:
    """Returns a column that has one value for all rows of a batch. `rows`: how many each batch has."""
    import numpy as np

    return pa.array(np.repeat(np.array(values, type_.to_pandas_dtype()), rows))


def _text(keys: _ColumnBuffers) -> pa.Array:
    """Header keys as strings. Bytes that are not UTF-8 become U+FFFD, as in Java."""
    text = keys.array(pa.string())
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        raw = keys.array(pa.binary()).to_pylist()
        return pa.array([key.decode("utf-8", "replace") for key in raw], pa.string())
    return text


def _write(
    source: writer.RecordWriter, rows: int, options: BatchOptions, batch_bytes_max: int
) -> list[bytearray]:
    batches = []
    first = 0
    while first < rows:
        last, size, max_timestamp = source.fit(first, batch_bytes_max - BATCH_HEADER_BYTES)
        out = bytearray(BATCH_HEADER_BYTES + size)
        end = source.write(out, BATCH_HEADER_BYTES, first, last)
        assert end == len(out), "a batch is written to the size it was measured to have"
        summary = RecordsSummary(
            last - first, last - first - 1, source.timestamp(first), max_timestamp
        )
        batches.append(finish_batch(out, summary, _advance(options, first)))
        first = last
    return batches


def _advance(options: BatchOptions, rows: int) -> BatchOptions:
    sequence = options.base_sequence
    if sequence != NO_SEQUENCE:
        sequence = (sequence + rows) & SEQUENCE_MAX
    return replace(options, base_offset=options.base_offset + rows, base_sequence=sequence)


def _record_writer(
    part: pa.RecordBatch, default_timestamp_ms: int, batch_headers: Sequence[Header]
) -> writer.RecordWriter:
    names = part.schema.names
    if "value" not in names:
        raise InvalidRecord(f"a column named value is needed; there are {names}")
    nulls = pa.nulls(part.num_rows, pa.binary())
    key = part.column("key") if "key" in names else nulls
    timestamps = _timestamps(part, default_timestamp_ms)
    headers = _header_source(part.column("headers")) if "headers" in names else None
    return writer.RecordWriter(
        _binary_source(key, "key"), _binary_source(part.column("value"), "value"),
        _fixed_width(timestamps, "q"), headers, batch_headers,
    )  # fmt: skip


def _binary_source(array: pa.Array, name: str) -> writer.BinarySource:
    """Strings and every kind of binary are read as binary."""
    try:
        array = array.cast(pa.binary())
    except pa.ArrowException as error:
        raise InvalidRecord(
            f"column {name} is {array.type}; cast it to binary or string"
        ) from error
    validity, offsets, data = array.buffers()
    return writer.BinarySource(
        _offsets(offsets, array), _bitmap(validity, array), array.offset, _bytes(data)
    )


def _header_source(array: pa.Array) -> writer.HeaderSource:
    try:
        array = array.cast(HEADERS_TYPE)
        if array.null_count:
            array = array.fill_null([])
    except pa.ArrowException as error:
        raise InvalidRecord(
            f"column headers is {array.type}; it must be list<struct<key: string, value: binary>>"
        ) from error
    names, values = array.values.flatten()
    return writer.HeaderSource(
        _offsets(array.buffers()[1], array),
        _binary_source(names, "key"),
        _binary_source(values, "value"),
    )


def _timestamps(part: pa.RecordBatch, default_timestamp_ms: int) -> pa.Array:
    """int64 ms without nulls, none of them below -1."""
    if "timestamp" not in part.schema.names:
        return pa.repeat(pa.scalar(default_timestamp_ms, pa.int64()), part.num_rows)
    array = part.column("timestamp")
    try:
        if pa.types.is_timestamp(array.type):
            array = array.cast(pa.timestamp("ms", array.type.tz), safe=False)
        array = array.cast(pa.int64())
        if (
            array.null_count
        ):  # else nothing is filled, and a scalar has pyarrow import pandas: 0.3 s
            array = array.fill_null(default_timestamp_ms)
    except pa.ArrowException as error:
        raise InvalidRecord(
            f"column timestamp is {array.type}; cast it to int64 (ms) or to a timestamp"
        ) from error
    lowest = pc.min(array).as_py()
    if lowest < NO_TIMESTAMP:
        raise InvalidTimestamp(f"timestamp {lowest} is before 1970; use -1 for none")
    return array


def _offsets(buffer: pa.Buffer, array: pa.Array) -> memoryview:
    return _bytes(buffer).cast("i")[array.offset : array.offset + len(array) + 1]


def _fixed_width(array: pa.Array, format_: NumberFormat) -> memoryview:
    return _bytes(array.buffers()[1]).cast(format_)[array.offset : array.offset + len(array)]


def _bitmap(buffer: pa.Buffer | None, array: pa.Array) -> memoryview:
    return _bytes(buffer if array.null_count else None)


def _bytes(buffer: pa.Buffer | None) -> memoryview:
    return memoryview(b"") if buffer is None else memoryview(buffer).cast("B")
