"""Bytes that Apache Kafka 4.3.1 wrote (see README.md beside this file) are read as Kafka reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.records.arrow import ReadOptions, to_arrow
from millstream.records.batch import (
    BatchHeader,
    iterate_batches,
    validate_batch,
    validate_produced_batch,
)
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.control import (
    AbortedTransactionFilter,
    ControlType,
    build_control_batch,
    build_end_transaction_marker,
    read_control_type,
    read_coordinator_epoch,
)
from millstream.records.record import Record, iterate_records

DATA = Path(__file__).parent / "data"
CODECS = {
    "none": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


def read(name: str) -> bytes:
    return (DATA / name).read_bytes()


def batches(name: str) -> list[tuple[BatchHeader, memoryview]]:
    found = list(iterate_batches(read(name), strict=True))
    for header, view in found:
        validate_batch(header, view)
    return found


def records(name: str) -> list[Record]:
    return [record for header, view in batches(name) for record in iterate_records(header, view)]


@pytest.mark.parametrize("name", CODECS)
def test_batch_of_the_java_producer_is_read_in_every_codec(name: str) -> None:
    [(header, view)] = batches(f"{name}.log")
    validate_produced_batch(header)
    assert header.codec is CODECS[name]
    assert (header.producer_epoch, header.base_sequence, header.last_sequence) == (0, 0, 9)
    found = list(iterate_records(header, view))
    assert [record.offset for record in found] == list(range(10))
    assert [record.key for record in found] == [
        None if i == 7 else b"key-%d" % i for i in range(10)
    ]
    assert [record.value for record in found] == [b"value-%d-" % i + b"x" * 40 for i in range(10)]
    assert [record.headers for record in found] == [
        [("h1", b"v%d" % i), ("h2", b"")] for i in range(10)
    ]
    assert (found[0].timestamp, max(r.timestamp for r in found)) == (
        header.base_timestamp,
        header.max_timestamp,
    )


@pytest.mark.parametrize("name", CODECS)
def test_arrow_holds_what_record_iteration_gives(name: str) -> None:
    table = to_arrow(read(f"{name}.log"), 0, ReadOptions(headers=True))
    table.validate(full=True)
    rows = [
        Record(row["offset"], row["timestamp"], row["key"], row["value"],
               [(header["key"], header["value"]) for header in row["headers"]])
        for row in table.to_pylist()
    ]  # fmt: skip
    assert rows == records(f"{name}.log")


def test_our_batch_of_the_same_records_has_the_same_bytes() -> None:
    [(header, view)] = batches("none.log")
    options = BatchOptions(
        leader_epoch=0, producer_id=header.producer_id, producer_epoch=0, base_sequence=0
    )
    assert bytes(build_batch(records("none.log"), options)) == bytes(view)


def test_snappy_and_lz4_begin_with_the_frame_header_that_java_writes() -> None:
    for codec, end in ((Codec.SNAPPY, 61 + 16), (Codec.LZ4, 61 + 7)):
        name = f"{codec.name.lower()}.log"
        [(_, view)] = batches(name)
        ours = build_batch(records(name), BatchOptions(codec=codec))
        assert ours[61:end] == bytes(view[61:end])


def test_log_append_time_takes_the_place_of_the_create_time() -> None:
    [(header, _)] = batches("append-time.log")
    assert header.is_log_append_time
    assert header.base_timestamp == 1000
    assert [record.timestamp for record in records("append-time.log")] == [header.max_timestamp]


def test_tombstone_that_survived_compaction_keeps_its_timestamp_next_to_the_horizon() -> None:
    """KIP-534: the base timestamp becomes the horizon and the deltas refer to it."""
    horizons = {
        header.base_offset: header.delete_horizon_ms for header, _ in batches("compacted.log")
    }
    assert horizons == {3: None, 4: 1795358065627, 5: None, 6: None}
    tombstone = records("compacted.log")[1]
    assert tombstone == Record(offset=4, timestamp=1700000000002, key=b"gone", value=None)
    ours = build_batch(
        [tombstone],
        BatchOptions(base_offset=4, leader_epoch=0, delete_horizon_ms=1795358065627),
    )
    assert bytes(ours) == bytes(batches("compacted.log")[1][1])


def test_transaction_markers_are_written_as_kafka_writes_them() -> None:
    _, (commit, commit_bytes), _, (abort, abort_bytes) = batches("transactions.log")
    for kind, header, view in (
        (ControlType.COMMIT, commit, commit_bytes),
        (ControlType.ABORT, abort, abort_bytes),
    ):
        [marker] = iterate_records(header, view)
        assert read_control_type(marker.key) is kind
        assert read_coordinator_epoch(marker.value) == 0
        options = BatchOptions(
            base_offset=header.base_offset, leader_epoch=0, producer_id=0, producer_epoch=0
        )
        assert bytes(build_end_transaction_marker(kind, 0, marker.timestamp, options)) == bytes(
            view
        )


def test_reader_at_read_committed_sees_the_committed_record_only() -> None:
    committed = to_arrow(
        read("transactions.log"), 0, ReadOptions(accept=AbortedTransactionFilter([(0, 2)]))
    )
    assert committed.column("key").to_pylist() == [b"committed"]
    uncommitted = to_arrow(read("transactions.log"))
    assert uncommitted.column("key").to_pylist() == [b"committed", b"aborted"]


def test_kraft_control_batches_are_written_as_kafka_writes_them() -> None:
    leader_change = batches("leader-change.log")[0]
    header, _, footer = batches("bootstrap.checkpoint")
    expected = [
        (leader_change, ControlType.LEADER_CHANGE, 1),
        (header, ControlType.SNAPSHOT_HEADER, 0),
        (footer, ControlType.SNAPSHOT_FOOTER, 0),
    ]
    for (batch, view), kind, epoch in expected:
        [record] = iterate_records(batch, view)
        assert batch.is_control
        assert read_control_type(record.key) is kind
        assert record.value is not None
        options = BatchOptions(base_offset=batch.base_offset, leader_epoch=epoch)
        assert bytes(
            build_control_batch([(kind, record.value)], record.timestamp, options)
        ) == bytes(view)


def test_metadata_records_of_the_bootstrap_checkpoint_are_counted() -> None:
    assert to_arrow(read("bootstrap.checkpoint")).num_rows == 6
