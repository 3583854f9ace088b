from __future__ import annotations

import pytest

from millstream.errors import InvalidRecord
from millstream.records.batch import read_header, validate_batch, validate_produced_batch
from millstream.records.builder import BatchBuilder, BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.record import Record, iterate_records

pytestmark = pytest.mark.usefixtures("twin")


def test_batch_without_records_is_refused() -> None:
    with pytest.raises(InvalidRecord, match="at least one"):
        build_batch([])


def test_records_are_numbered_from_the_base_offset() -> None:
    batch = build_batch([Record(offset=99), Record(offset=5)], BatchOptions(base_offset=7))
    assert [r.offset for r in iterate_records(read_header(batch), batch)] == [7, 8]


def test_offsets_are_kept_on_request() -> None:
    """As compaction leaves them."""
    records = [Record(offset=8), Record(offset=12)]
    batch = build_batch(records, BatchOptions(base_offset=7), keep_offsets=True)
    header = read_header(batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (7, 12, 2)
    assert [r.offset for r in iterate_records(header, batch)] == [8, 12]


@pytest.mark.parametrize("offsets", [(8, 8), (8, 7), (6, 7)])
def test_kept_offsets_must_rise_from_the_base_offset(offsets: tuple[int, int]) -> None:
    with pytest.raises(InvalidRecord, match="does not rise"):
        build_batch(
            [Record(offset=o) for o in offsets], BatchOptions(base_offset=7), keep_offsets=True
        )


@pytest.mark.parametrize("codec", list(Codec))
def test_builder_builds_the_batch_that_build_batch_builds(codec: Codec) -> None:
    options = BatchOptions(codec=codec, producer_id=1, producer_epoch=2, base_sequence=3)
    builder = BatchBuilder(options, 10_000)
    records = [
        Record(i, 1000 - i, b"k", None if i == 3 else b"v" * i * 50, [("h", None)] * i)
        for i in range(9)
    ]
    for record in records:
        assert builder.append(record.timestamp, record.key, record.value, record.headers)
    batch = builder.build()
    header = read_header(batch)
    validate_batch(header, batch)
    validate_produced_batch(header)
    assert batch == build_batch(records, options)
    assert list(iterate_records(header, batch)) == records


def test_builder_is_full_before_its_limit_is_exceeded() -> None:
    builder = BatchBuilder(BatchOptions(), 61 + 2 * 17)  # a record of ten bytes takes 17
    taken = [builder.append(0, None, b"x" * 10) for _ in range(3)]
    assert taken == [True, True, False]
    assert (builder.record_count, builder.estimated_size_bytes, len(builder.build())) == (2, 95, 95)


def test_first_record_always_fits() -> None:
    builder = BatchBuilder(BatchOptions(), 100)
    assert builder.append(0, None, b"x" * 1000)
    assert not builder.append(0, None, b"")


def test_producer_state_may_come_when_the_batch_is_sent() -> None:
    builder = BatchBuilder(BatchOptions(), 1000)
    builder.append(0, None, b"x")
    options = BatchOptions(producer_id=5, producer_epoch=1, base_sequence=9, is_transactional=True)
    header = read_header(builder.build(options))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 1, 9)
    assert header.is_transactional
    assert read_header(builder.build()).producer_id == -1


@pytest.mark.parametrize("number", [0, 63, 64, 2047, 2048, 8191, 8192, 2**20, 2**31])
def test_timestamp_deltas_of_every_size_come_back(number: int) -> None:
    records = [Record(0, 5), Record(1, 5 + number), Record(2, 5 - number)]
    batch = build_batch(records)
    assert list(iterate_records(read_header(batch), batch)) == records
