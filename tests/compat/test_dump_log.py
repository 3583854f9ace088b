"""Kafka's own dump-log tool reads what we write: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set (see CONTRIBUTING).

What it would say of the same bytes without Kafka is held by tests/integration/log/test_kafka_directory.py: there our files
are equal, byte for byte, to those a real broker wrote.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from millstream.log import AppendOrigin, LogEnvironment, PartitionLog, SavedState
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.control import ControlType, build_end_transaction_marker
from millstream.records.record import Record
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
NOW = SystemClock().now()

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


def dump(directory: Path, *flags: str) -> str:
    suffixes = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    files = ",".join(str(path) for path in sorted(directory.iterdir()) if path.suffix in suffixes)
    done = subprocess.run(
        ["java", "-cp", CLASSPATH, "org.apache.kafka.tools.DumpLogSegments", *flags, "--files", files],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def batch(number: int, **options) -> memoryview:
    records = [
        Record(
            offset=i,
            timestamp=NOW.wall_ms + number,
            key=b"k%d" % i,
            value=b"v" * 700,
            headers=[("h", None)],
        )
        for i in range(3)
    ]
    return memoryview(build_batch(records, BatchOptions(**options)))


@pytest.fixture
def written(tmp_path) -> Path:
    """Four segments: every codec, an idempotent producer, a transaction aborted and one committed."""
    directory = tmp_path / "t-0"
    environment = LogEnvironment(SystemFileSystem(), SystemRandom())
    log = PartitionLog.open(
        TopicPartition("t", 0), str(directory), environment, LogConfig(segment_bytes=20_000),
        saved=SavedState(), now=NOW,
    )  # fmt: skip
    for number in range(100):
        idempotent = {"producer_id": 4, "producer_epoch": 0, "base_sequence": 3 * number}
        log.append_as_leader(batch(number, codec=Codec(number % 5), **idempotent), 1, NOW)
    for number, kind in enumerate((ControlType.ABORT, ControlType.COMMIT)):
        producer = {"producer_id": 9, "producer_epoch": 0}
        log.append_as_leader(
            batch(0, base_sequence=3 * number, is_transactional=True, **producer), 2, NOW
        )
        marker = build_end_transaction_marker(kind, 0, NOW.wall_ms, BatchOptions(**producer))
        log.append_as_leader(memoryview(marker), 2, NOW, AppendOrigin.COORDINATOR)
    assert len(log.segments) == 4
    log.close(NOW)
    return directory


def test_kafkas_dump_log_finds_our_files_sound(written):
    out = dump(written, "--deep-iteration", "--index-sanity-check")
    indexes = [path.name for path in written.iterdir() if path.suffix in (".index", ".timeindex")]
    assert len(re.findall(r"passed sanity check\.|is empty\.", out)) == len(indexes)
    assert "Found timestamp mismatch" not in out
    assert "Mismatches" not in out
    records = re.findall(r"^\| offset: (\d+) ", out, re.MULTILINE)
    assert sorted(map(int, records)) == list(range(308))
    assert "producerId: 9 firstOffset: 300 lastOffset: 303 lastStableOffset: 304" in out
    assert len(re.findall(r"isvalid: true", out)) == 104


def test_kafkas_dump_log_agrees_with_our_indexes_entry_by_entry(written):
    out = dump(written, "--deep-iteration", "--verify-index-only")
    assert "Mismatches" not in out
    assert "Found out of order" not in out


def test_kafkas_dump_log_reads_our_producer_snapshot(written):
    out = dump(written)
    last = written / "00000000000000000308.snapshot"
    section = out[out.index(f"Dumping {last}") :]
    assert "producerId: 4 producerEpoch: 0" in section
    assert "firstSequence: 297 lastSequence: 299 lastOffset: 299 offsetDelta: 2" in section
    assert (
        "producerId: 9 producerEpoch: 0 coordinatorEpoch: 0 currentTxnFirstOffset: OptionalLong.empty"
        in section
    )
