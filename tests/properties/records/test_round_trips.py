"""Whatever can be written is read back equal, by us and by the readers of other clients."""

from __future__ import annotations

import io
import warnings

import pyarrow as pa
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.records.arrow import ReadOptions, from_arrow, to_arrow
from millstream.records.batch import (
    iterate_batches,
    read_header,
    validate_batch,
    validate_produced_batch,
)
from millstream.records.builder import BatchBuilder, BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.record import Record, iterate_records

with warnings.catch_warnings():  # kafka-python loads its schemas through a deprecated function
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.memory_records import MemoryRecords

BYTES = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=20)), max_size=4)
RECORDS = st.lists(
    st.builds(Record, timestamp=st.integers(0, 2**45), key=BYTES, value=BYTES, headers=HEADERS),
    min_size=1,
    max_size=30,
)
CODECS = st.sampled_from(list(Codec))
KAFKA_PYTHON_CODECS = st.sampled_from(
    [Codec.NONE, Codec.GZIP]
)  # the others need packages it does not bring

Plain = tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def numbered(records: list[Record], base_offset: int = 0) -> list[Record]:
    return [
        Record(base_offset + i, r.timestamp, r.key, r.value, r.headers)
        for i, r in enumerate(records)
    ]


def plain(records: list[Record]) -> list[Plain]:
    return [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in records]


def read_all(log: bytes) -> list[Record]:
    return [
        r
        for header, view in iterate_batches(log, strict=True)
        for r in iterate_records(header, view)
    ]


@settings(deadline=None)
@given(RECORDS, CODECS, st.integers(0, 2**50), st.integers(-1, 2**31 - 1))
def test_built_batch_is_valid_and_gives_its_records(
    records: list[Record], codec: Codec, base_offset: int, epoch: int
) -> None:
    batch = build_batch(
        records, BatchOptions(codec=codec, base_offset=base_offset, leader_epoch=epoch)
    )
    header = read_header(batch)
    validate_batch(header, batch)
    validate_produced_batch(header)
    assert header.partition_leader_epoch == epoch
    assert read_all(batch) == numbered(records, base_offset)


@settings(deadline=None)
@given(RECORDS, CODECS, st.integers(61, 3000))
def test_arrow_and_back_is_the_same(records: list[Record], codec: Codec, bytes_max: int) -> None:
    table = to_arrow(build_batch(records), 0, ReadOptions(headers=True))
    table.validate(full=True)
    batches = from_arrow(table, BatchOptions(codec=codec), batch_bytes_max=bytes_max)
    for batch in batches:
        header = read_header(batch)
        validate_batch(header, batch)
        assert header.record_count == 1 or codec is not Codec.NONE or len(batch) <= bytes_max
    log = b"".join(batches)
    assert read_all(log) == numbered(records)
    assert to_arrow(log, 0, ReadOptions(headers=True)).equals(table)


@settings(deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=4), st.integers(0, 100))
def test_start_offset_leaves_out_what_lies_below(
    groups: list[list[Record]], start_offset: int
) -> None:
    log = b""
    expected: list[Record] = []
    for records in groups:
        log += build_batch(records, BatchOptions(base_offset=len(expected)))
        expected += numbered(records, len(expected))
    table = to_arrow(log, start_offset)
    assert table.column("value").to_pylist() == [r.value for r in expected[start_offset:]]
    assert table.column("offset").to_pylist() == [r.offset for r in expected[start_offset:]]


@settings(deadline=None)
@given(RECORDS, CODECS)
def test_aiokafka_reads_what_we_write(records: list[Record], codec: Codec) -> None:
    batch = build_batch(records, BatchOptions(codec=codec))
    theirs = DefaultRecordBatch(bytes(batch))
    assert theirs.validate_crc()
    found = [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in theirs]
    assert found == plain(numbered(records))


@settings(deadline=None)
@given(RECORDS, CODECS)
def test_we_read_what_aiokafka_writes(records: list[Record], codec: Codec) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=codec, is_transactional=0, producer_id=-1, producer_epoch=-1,
        base_sequence=-1, batch_size=1 << 30,
    )  # fmt: skip
    for offset, record in enumerate(records):
        builder.append(offset, record.timestamp, record.key, record.value, record.headers)
    batch = bytes(builder.build())
    validate_batch(read_header(batch), batch)
    assert read_all(batch) == numbered(records)


@settings(deadline=None)
@given(RECORDS, KAFKA_PYTHON_CODECS)
def test_kafka_python_reads_what_we_write(records: list[Record], codec: Codec) -> None:
    batch = build_batch(records, BatchOptions(codec=codec))
    theirs = MemoryRecords(bytes(batch)).next_batch()
    assert theirs.validate_crc()
    found = [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in theirs]
    assert found == plain(numbered(records))


@settings(deadline=None)
@given(RECORDS, st.integers(61, 2000))
def test_builder_never_exceeds_its_limit_with_more_than_one_record(
    records: list[Record], bytes_max: int
) -> None:
    builder = BatchBuilder(BatchOptions(), bytes_max)
    taken = 0
    for record in records:
        if not builder.append(record.timestamp, record.key, record.value, record.headers):
            break
        taken += 1
    batch = builder.build()
    assert taken == 1 or len(batch) <= bytes_max
    assert builder.estimated_size_bytes == len(batch)
    assert read_all(batch) == numbered(records[:taken])


@settings(max_examples=30, deadline=None)
@given(RECORDS, st.integers(0, 40), st.integers(0, 40))
def test_any_slice_of_a_table_is_written(records: list[Record], offset: int, length: int) -> None:
    table = to_arrow(build_batch(records), 0, ReadOptions(headers=True))
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as sink:
        sink.write_batch(table.slice(offset, length))
    for part in (table.slice(offset, length), pa.ipc.open_stream(stream.getvalue()).read_all()):
        log = b"".join(from_arrow(part))
        assert read_all(log) == numbered(records[offset : offset + length])
