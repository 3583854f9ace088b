"""A data directory written by Apache Kafka 4.3.1 is opened, served, continued, and written the same way by us."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.directory.formatting import read_meta_properties
from millstream.log.directory.log_directory import LogDirectory
from millstream.log.segments.transaction_index import AbortedTransaction
from millstream.log.timestamp_lookup import BatchSearch, TimestampedOffset
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition, uuid_text
from millstream.records.batch import iterate_batches
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record, iterate_records
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

CONFIG = LogConfig(segment_bytes=1_048_576, retention_ms=-1)
CODECS = TopicPartition("codecs", 0)
TRANSACTIONS = TopicPartition("transactions", 0)
ENVIRONMENT = LogEnvironment(SystemFileSystem(), SystemRandom())
NOW = SystemClock().now()


@pytest.fixture
def directory(kafka_data):
    directory = LogDirectory.open(kafka_data.path, ENVIRONMENT)
    yield directory
    directory.abandon()


def served(log: PartitionLog, bytes_max: int = 50_000) -> list[list[object]]:
    """Every record a consumer sees, in the form of the fixture's expected.json."""
    offset, rows = log.log_start_offset, []
    while offset < log.log_end_offset:
        records = log.read(offset, bytes_max, log.log_end_offset).records
        for header, view in iterate_batches(
            records if isinstance(records, bytes) else records.read(), strict=True
        ):
            offset = header.next_offset
            if not header.is_control:
                rows += [
                    [r.offset, r.timestamp, (r.key or b"").decode(), (r.value or b"").decode()[:40]]
                    for r in iterate_records(header, view)
                ]
    return rows


def partition_files(path: str, partition: TopicPartition) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(path, str(partition)).iterdir()}


def test_the_directory_says_whose_it_is(kafka_data):
    meta = read_meta_properties(SystemFileSystem(), kafka_data.path)
    assert (meta.cluster_id, meta.node_id) == ("AAAAAAAAAAAAAAAAAAAAAw", 1)
    assert len(uuid_text(meta.directory_id)) == 22


def test_the_logs_and_checkpoints_are_found(directory):
    assert directory.was_clean
    assert directory.previous_broker_epoch > 0
    assert {str(found.partition) for found in directory.find_logs()} == {
        "__consumer_offsets-0",
        "__transaction_state-0",
        "codecs-0",
        "transactions-0",
    }
    assert directory.saved_high_watermarks[CODECS] == 1000


@pytest.mark.parametrize("partition", [CODECS, TRANSACTIONS])
@pytest.mark.parametrize("was_clean", [True, False])
def test_every_record_is_served_after_clean_and_unclean_stops(kafka_data, partition, was_clean):
    if not was_clean:
        Path(kafka_data.path, ".kafka_cleanshutdown").unlink()
        Path(kafka_data.path, "recovery-point-offset-checkpoint").write_text("0\n0\n")
    directory = LogDirectory.open(kafka_data.path, ENVIRONMENT)
    log = directory.open_log(partition, CONFIG, NOW)
    assert served(log) == kafka_data.expected[partition.topic]["read_uncommitted"]
    assert served(log, bytes_max=1) == kafka_data.expected[partition.topic]["read_uncommitted"]
    directory.abandon()


@pytest.mark.parametrize("partition", [CODECS, TRANSACTIONS])
def test_recovery_builds_the_same_files_that_kafka_wrote(kafka_data, partition):
    before = partition_files(kafka_data.path, partition)
    Path(kafka_data.path, ".kafka_cleanshutdown").unlink()
    Path(kafka_data.path, "recovery-point-offset-checkpoint").write_text("0\n0\n")
    directory = LogDirectory.open(kafka_data.path, ENVIRONMENT)
    directory.open_log(partition, CONFIG, NOW)
    directory.close({}, broker_epoch=1, now=NOW)
    assert partition_files(kafka_data.path, partition) == before


@pytest.mark.parametrize("partition", [CODECS, TRANSACTIONS])
def test_replicating_kafkas_batches_writes_kafkas_files(kafka_data, partition, tmp_path):
    """Segments, both indexes, the transaction index, producer snapshots and leader epochs, byte for byte."""
    source = LogDirectory.open(kafka_data.path, ENVIRONMENT)
    original = source.open_log(partition, CONFIG, NOW)
    copy = PartitionLog.open(
        partition, str(tmp_path / "copy-0"), ENVIRONMENT, CONFIG, saved=SavedState(), now=NOW
    )
    while copy.log_end_offset < original.log_end_offset:
        records = original.read(copy.log_end_offset, 1, original.log_end_offset).records
        data = records if isinstance(records, bytes) else records.read()
        copy.append_as_follower(memoryview(bytearray(data)), NOW)
    copy.close(NOW)
    source.abandon()
    expected = partition_files(kafka_data.path, partition)
    del expected["partition.metadata"]
    assert partition_files(str(tmp_path), TopicPartition("copy", 0)) == expected


def test_aborted_transactions_are_known_and_nothing_is_open(directory, kafka_data):
    log = directory.open_log(TRANSACTIONS, CONFIG, NOW)
    assert log.last_stable_offset(log.log_end_offset) == log.log_end_offset
    aborted = log.aborted_transactions(0, log.log_end_offset)
    assert aborted == [
        AbortedTransaction(producer_id=1, first_offset=11, last_offset=14, last_stable_offset=15)
    ]
    everything = kafka_data.expected["transactions"]["read_uncommitted"]
    hidden = [row for row in everything if 11 <= row[0] <= 14]
    assert [row for row in everything if row not in hidden] == kafka_data.expected["transactions"][
        "read_committed"
    ]


def test_kafkas_producers_are_remembered(directory):
    log = directory.open_log(TRANSACTIONS, CONFIG, NOW)
    assert {entry.producer_id: entry.last_sequence for entry in log.producers.entries()} == {
        0: 6,
        1: 8,
    }


def test_a_retry_of_a_batch_kafka_took_is_a_duplicate(directory):
    log = directory.open_log(TRANSACTIONS, CONFIG, NOW)
    options = BatchOptions(producer_id=0, producer_epoch=0, base_sequence=6)
    retry = memoryview(build_batch([Record(timestamp=1, value=b"idempotent 6")], options))
    appended = log.append_as_leader(retry, 1, NOW)
    assert (appended.first_offset, appended.is_duplicate) == (6, True)


def first_found(searches: Iterator[BatchSearch]) -> TimestampedOffset | None:
    return next((found for search in searches if (found := search.run()) is not None), None)


def test_offsets_are_found_by_time(directory):
    log = directory.open_log(CODECS, CONFIG, NOW)
    assert first_found(log.timestamp_searches(0)).offset == 0
    found = first_found(log.timestamp_searches(1_700_000_005_000))
    assert (found.offset, found.timestamp_ms) == (500, 1_700_000_005_000)
    assert first_found(log.max_timestamp_searches()).timestamp_ms == 1_700_000_009_019
    assert first_found(log.timestamp_searches(1_700_000_009_020)) is None


def test_kafkas_directory_is_continued_and_closed_as_kafka_would(kafka_data):
    directory = LogDirectory.open(kafka_data.path, ENVIRONMENT)
    log = directory.open_log(CODECS, CONFIG, NOW)
    batch = memoryview(
        build_batch([Record(timestamp=1_700_000_010_000, value=b"ours")], BatchOptions())
    )
    assert log.append_as_leader(batch, 0, NOW).first_offset == 1000
    directory.close({CODECS: 1001}, broker_epoch=77, now=NOW)
    root = Path(kafka_data.path)
    assert (root / ".kafka_cleanshutdown").read_bytes() == b'{"version":0,"brokerEpoch":77}'
    assert "codecs 0 1001\n" in (root / "recovery-point-offset-checkpoint").read_text()
    assert "transactions 0 19\n" in (root / "recovery-point-offset-checkpoint").read_text()
    assert (root / "codecs-0" / "00000000000000001001.snapshot").stat().st_size == 10
