"""Our cleaner and Kafka's, on the same log: one cleaning of segments that Kafka 4.3.1 wrote, before and after it cleaned them.

How the logs were made: tests/fixtures/README.md. One difference is meant: the last batch of a segment stays here, if only as its
header, so that recovery can tell a segment that was lost from records that were compacted away; Kafka keeps that of the last
segment only.
"""

from __future__ import annotations

import tarfile
from dataclasses import asdict
from pathlib import Path

import pytest

from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.compaction.compaction import Compaction
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.batch import iterate_batches
from millstream.records.record import iterate_records
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "kafka-4.3.1-compaction.tar.gz"
CONFIG = LogConfig(
    cleanup_policy=frozenset({"compact"}), segment_bytes=3_000, index_interval_bytes=300
)
NOT_COMPARED = {"crc", "size_bytes", "partition_leader_epoch"}


def batches(directory: Path) -> dict[int, tuple[dict[str, object], list[object]]]:
    """Base offset to header and records; a delete horizon is when the cleaning was, so only that there is one counts."""
    found = {}
    for path in sorted(directory.glob("*.log")):
        for header, view in iterate_batches(path.read_bytes(), strict=True):
            told = {k: v for k, v in asdict(header).items() if k not in NOT_COMPARED}
            if header.delete_horizon_ms is not None:
                told["base_timestamp"] = "delete horizon"
            records = [
                (r.offset, r.timestamp, r.key, r.value, r.headers)
                for r in iterate_records(header, view)
            ]
            found[header.base_offset] = (told, records)
    return found


@pytest.mark.parametrize("topic", ["plain", "gzip"])
def test_a_cleaning_leaves_what_kafka_leaves(topic: str, tmp_path: Path) -> None:
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path, filter="data")
    before = tmp_path / "before" / f"{topic}-0"
    clock = SystemClock()
    end = max(int(path.stem) for path in before.glob("*.snapshot"))
    log = PartitionLog.open(
        TopicPartition(topic, 0),
        str(before),
        LogEnvironment(SystemFileSystem(), SystemRandom()),
        CONFIG,
        saved=SavedState(recovery_point=end, was_clean=True),
        now=clock.now(),
    )
    log.remove_expired_producers(
        clock.now()
    )  # as Kafka did when it opened the log, days after its records' timestamps
    plan = log.plan_compaction(log.log_end_offset, clock.now())
    compaction = Compaction(plan, map_bytes_max=1 << 20, now_ms=clock.now().wall_ms)
    for step in compaction.steps():
        if step.finished is not None:
            assert log.replace_segments(step.finished, clock.now())
    ends = {segment.base_offset - 1 for segment in log.segments[1:]}
    ours = {
        base: told
        for base, told in batches(before).items()
        if told[1] or told[0]["base_offset"] + told[0]["last_offset_delta"] not in ends
    }
    theirs = {
        base: told
        for base, told in batches(tmp_path / "after" / f"{topic}-0").items()
        if told[1] or told[0]["base_offset"] + told[0]["last_offset_delta"] not in ends
    }
    assert ours == theirs
    for path in (tmp_path / "after" / f"{topic}-0").glob("*.txnindex"):
        assert (before / path.name).read_bytes() == path.read_bytes()
    log.close(clock.now())
