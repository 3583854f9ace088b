"""`millstream verify` over a data directory that Apache Kafka 4.3.1 left at a stop in order, whole and damaged in one place."""

from __future__ import annotations

import errno
import json
import tarfile
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result
from crc32c import crc32c

from millstream.cli.main import main
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.directory.segment_checkpoint import LogMark, SegmentCheckpoint, encode_segments
from millstream.log.directory.text_checkpoints import decode_clean_shutdown
from millstream.log.header_scan import scan_headers
from millstream.log.segments.index_file import NOTHING_ABORTED, IndexMark, SegmentMark
from millstream.metadata.topic_config import LogConfig
from millstream.model import ZERO_UUID, TopicPartition
from millstream.runtime import File
from millstream.runtime.system import SystemClock, SystemFile, SystemFileSystem, SystemRandom

FIXTURES = Path(__file__).parents[3] / "fixtures"
CODECS, TRANSACTIONS = "codecs-0", "transactions-0"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with tarfile.open(FIXTURES / "kafka-4.3.1-data.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data"


def verify(*arguments: object) -> Result:
    result = CliRunner().invoke(main, ["verify", *map(str, arguments)], catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


def findings(*arguments: object) -> list[dict[str, Any]]:
    result = verify(*arguments, "--output", "json")
    found = [finding for row in json.loads(result.stdout) for finding in row["findings"]]
    assert result.exit_code == any(not each["is_expected"] for each in found)
    return found


def turn(path: Path, at: int, bit: int = 1) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= bit
    path.write_bytes(content)


def segments(data: Path, partition: str, suffix: str) -> list[Path]:
    return sorted((data / partition).glob(f"*{suffix}"))


def test_what_kafka_left_is_sound(data: Path) -> None:
    result = verify(data)
    assert (result.exit_code, result.stderr) == (0, "")
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}
    assert rows[CODECS] == ["3", "201", "2432303", "1000", "ok"]
    assert rows[TRANSACTIONS][-1] == rows["__cluster_metadata-0"][-1] == "ok"
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    verify(data)
    assert before == {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}


def test_a_compacted_log_is_sound(tmp_path: Path) -> None:
    """Offsets and transactions that compaction took are no faults; the indexes are not in the fixture."""
    with tarfile.open(FIXTURES / "kafka-4.3.1-compaction.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    for directory in ("plain-0", "gzip-0"):
        found = findings(tmp_path / "after" / directory)
        assert all(each["is_expected"] and "is missing" in each["reason"] for each in found)
        assert all(each["file"].endswith("index") for each in found)


def test_a_turned_byte_of_a_record_is_found_with_its_place(data: Path) -> None:
    path = segments(data, CODECS, ".log")[1]
    turn(path, 5000)
    (found,) = findings(data)
    assert found["file"] == str(path)
    assert "the checksum is" in found["reason"]
    assert 0 <= found["position"] <= 5000
    result = verify(data)
    assert result.exit_code == 1
    assert "to do (1 fault): move the directory of the partition away" in result.stderr


def start(data: Path, partition: str, saved: SavedState) -> int:
    """Opens and closes the log as a node does, and returns where it ends."""
    now = SystemClock().now()
    environment = LogEnvironment(SystemFileSystem(), SystemRandom())
    topic, _, number = partition.rpartition("-")
    log = PartitionLog.open(
        TopicPartition(topic, int(number)), str(data / partition), environment, LogConfig(), saved=saved, now=now,
    )  # fmt: skip
    log.close(now)
    return log.log_end_offset


def test_what_is_said_to_be_done_about_a_damaged_log_helps(data: Path) -> None:
    """Without clean shutdown and recovery point a log is read from its beginning, and keeps what lies before the damage."""
    turn(segments(data, CODECS, ".log")[1], 5000)
    assert 0 < start(data, CODECS, SavedState()) < 1000
    assert findings(data / CODECS) == []


@pytest.mark.parametrize(
    ("partition", "removed"),
    [
        (CODECS, [".index"]),
        (CODECS, [".timeindex"]),
        (TRANSACTIONS, [".snapshot"]),
        (CODECS, ["leader-epoch-checkpoint"]),
    ],
)
def test_what_is_said_to_be_removed_is_made_anew(
    data: Path, partition: str, removed: list[str]
) -> None:
    """After a stop in order, by the start or when it is read."""
    for suffix in removed:
        for path in segments(data, partition, suffix):
            path.unlink()
    start(data, partition, SavedState(was_clean=True, recovery_point=10**6))
    assert all(each["is_expected"] for each in findings(data / partition))
    assert (data / partition / "leader-epoch-checkpoint").exists()


def test_what_is_said_to_be_done_about_a_transaction_index_helps(data: Path) -> None:
    for path in segments(data, TRANSACTIONS, ".txnindex"):
        path.unlink()
    (found,) = findings(data / TRANSACTIONS)
    assert "makes its indexes anew" in found["remedy"]
    start(data, TRANSACTIONS, SavedState())
    assert findings(data / TRANSACTIONS) == []


@pytest.mark.parametrize(
    ("suffix", "at", "reason"),
    [
        (".index", 11, "index offset "),
        (".timeindex", 7, "index timestamp "),
        (".index", 16, "not in ascending order"),
    ],
)
def test_an_index_that_disagrees_with_its_log(
    data: Path, suffix: str, at: int, reason: str
) -> None:
    path = segments(data, CODECS, suffix)[0]
    turn(path, at)
    (found,) = findings(data)
    assert found["file"] == str(path)
    assert reason in found["reason"]
    assert found["remedy"].startswith("remove the file")


def test_a_removed_index_is_no_fault(data: Path) -> None:
    segments(data, CODECS, ".index")[0].unlink()
    (found,) = findings(data)
    assert found["is_expected"]
    assert "is missing, and made anew" in found["reason"]
    assert verify(data).exit_code == 0


def test_a_transaction_index_without_an_aborted_transaction(data: Path) -> None:
    """Readers at read_committed would be given its records."""
    (path,) = (path for path in segments(data, TRANSACTIONS, ".txnindex") if path.stat().st_size)
    path.write_bytes(b"")
    (found,) = findings(data)
    assert "does not name the transaction of producer" in found["reason"]


def test_a_transaction_index_that_names_what_was_not_aborted(data: Path) -> None:
    (path,) = (path for path in segments(data, TRANSACTIONS, ".txnindex") if path.stat().st_size)
    turn(path, 9)  # the last byte of the producer id
    reasons = [each["reason"] for each in findings(data)]
    assert len(reasons) == 2
    assert "and the log does not" in reasons[0]


def test_a_segment_in_the_middle_that_is_missing(data: Path) -> None:
    """A log without gaps has lost records; the checkpoints know no size of Kafka's segments, the snapshots know the offsets."""
    for suffix in (".log", ".index", ".timeindex"):
        segments(data, TRANSACTIONS, suffix)[-1].unlink()
    reasons = [each["reason"] for each in findings(data)]
    assert any("were on the disk" in reason for reason in reasons)


def test_leader_epochs_that_are_not_those_of_the_batches(data: Path) -> None:
    (data / CODECS / "leader-epoch-checkpoint").write_text("0\n1\n7 0\n")
    (found,) = findings(data)
    assert "says epoch 7 at offset 0, the batch there has 0" in found["reason"]


def test_a_snapshot_of_another_log(data: Path) -> None:
    """Producers of `transactions` never wrote to `codecs`."""
    foreign = segments(data, TRANSACTIONS, ".snapshot")[-1]
    own = segments(data, CODECS, ".snapshot")[-1]
    own.write_bytes(foreign.read_bytes())
    (found,) = findings(data)
    assert found["file"] == str(own)
    assert "wrote offset" in found["reason"]


def test_a_damaged_snapshot_and_a_damaged_checkpoint(data: Path) -> None:
    turn(segments(data, TRANSACTIONS, ".snapshot")[-1], 12)
    (data / "recovery-point-offset-checkpoint").write_text("0\n9\n")
    reasons = [each["reason"] for each in findings(data)]
    assert len(reasons) == 2
    assert any("checksum" in reason for reason in reasons)


def test_after_a_crash_a_torn_end_is_told_and_is_no_fault(data: Path) -> None:
    """Beyond the recovery point the next start reads the log again; before it a torn batch is damage."""
    (data / ".kafka_cleanshutdown").unlink()
    path = segments(data, CODECS, ".log")[-1]
    path.write_bytes(path.read_bytes()[:-3])
    (data / "recovery-point-offset-checkpoint").write_text("0\n1\ncodecs 0 990\n")
    (data / "replication-offset-checkpoint").write_text("0\n1\ncodecs 0 990\n")
    (found,) = findings(data, "--topic", "codecs")
    assert found["is_expected"]
    result = verify(data, "--topic", "codecs")
    assert result.exit_code == 0
    assert "was not stopped in order" in result.stderr


def crashed(data: Path, recovery_point: int, high_watermark: int) -> None:
    """What a node leaves that was killed: `codecs` ends at 1000, its segments begin at 0, 405 and 810."""
    (data / ".kafka_cleanshutdown").unlink()
    (data / "recovery-point-offset-checkpoint").write_text(f"0\n1\ncodecs 0 {recovery_point}\n")
    (data / "replication-offset-checkpoint").write_text(f"0\n1\ncodecs 0 {high_watermark}\n")


@pytest.mark.parametrize(
    ("recovery_point", "high_watermark", "is_expected"),
    [(900, 0, False), (0, 900, False), (500, 900, False), (811, 811, False), (810, 810, True)],
)
def test_damage_before_recovery_point_or_high_watermark_is_a_fault_in_any_segment(
    data: Path, recovery_point: int, high_watermark: int, *, is_expected: bool
) -> None:
    """The first batch of the last segment, which reaches beyond the recovery point."""
    crashed(data, recovery_point, high_watermark)
    turn(segments(data, CODECS, ".log")[-1], 100)
    (found,) = findings(data, "--topic", "codecs")
    assert found["is_expected"] is is_expected
    assert found["remedy"].startswith("start the node" if is_expected else "move the directory")


def test_a_log_that_is_cut_at_damage_ends_there(data: Path) -> None:
    """The next start drops the segments behind it, however sound they are."""
    crashed(data, 0, 0)
    turn(segments(data, CODECS, ".log")[1], 100)
    (row,) = json.loads(verify(data, "--topic", "codecs", "--output", "json").stdout)
    assert (row["end_offset"], [each["is_expected"] for each in row["findings"]]) == (405, [True])


def test_a_log_that_ends_before_its_high_watermark_has_lost_records(data: Path) -> None:
    """Batches are missing whole: every checksum is right."""
    crashed(data, 0, 1001)
    (found,) = findings(data, "--topic", "codecs")
    assert "ends at offset 1000, consumers may have read up to 1001" in found["reason"]


def test_beyond_a_cut_no_checkpoint_counts(data: Path) -> None:
    """A follower that was cut back to 1000 and crashed before its checkpoints were written anew."""
    crashed(data, 1200, 1100)
    assert len(findings(data, "--topic", "codecs")) == 1
    (data / CODECS / f"{1000:020d}-0.cut").touch()
    assert findings(data, "--topic", "codecs") == []


METADATA = "__cluster_metadata-0"


def test_only_the_end_of_the_metadata_log_may_be_torn(data: Path) -> None:
    """Nothing notes how much of it was on the disk, nor do controllers of Kafka note that they stopped in order."""
    crashed(data, 1000, 1000)
    (path,) = segments(data, METADATA, ".log")
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    assert [each["is_expected"] for each in findings(data, "--topic", "__cluster_metadata")] == [True]  # fmt: skip
    path.write_bytes(whole)
    turn(path, 100)
    (found,) = findings(data, "--topic", "__cluster_metadata")
    assert not found["is_expected"]
    path.write_bytes(whole[:-3])
    (data / METADATA / "00000000000000009999.log").touch()
    assert not findings(data, "--topic", "__cluster_metadata")[0]["is_expected"]


def test_a_node_that_runs_is_not_looked_at(data: Path) -> None:
    (data / ".lock").touch()
    lock = SystemFileSystem().lock(str(data / ".lock"))
    result = verify(data)
    lock.close()
    assert result.exit_code == 2
    assert "stop it first" in result.stderr


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_who_may_only_read_shares_the_lock(
    data: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (data / ".lock").touch()
    held = SystemFileSystem().lock(str(data / ".lock"))

    def refuse(_: SystemFileSystem, path: str) -> NoReturn:
        raise OSError(number, "no right to write", path)

    monkeypatch.setattr(SystemFileSystem, "lock", refuse)
    result = verify(data)
    assert result.exit_code == 2
    assert "stop it first" in result.stderr
    held.close()
    result = verify(data)
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_lock_of_another_user_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data / ".lock").touch()
    refusing(monkeypatch, ".lock")
    monkeypatch.setattr(SystemFileSystem, "lock", SystemFileSystem.open_read_only)
    result = verify(data)
    assert result.exit_code == 0
    assert "whether a node of another user runs with it is not known" in result.stderr


def refusing(monkeypatch: pytest.MonkeyPatch, *ends: str) -> None:
    """Has files with these ends refuse to be opened, as those of another user."""
    opened, read = SystemFileSystem.open_read_only, SystemFileSystem.read

    def refuse(path: str) -> None:
        if path.endswith(ends):
            raise PermissionError(errno.EACCES, "Permission denied", path)

    def open_read_only(self: SystemFileSystem, path: str) -> File:
        refuse(path)
        return opened(self, path)

    def read_whole(self: SystemFileSystem, path: str) -> bytes:
        refuse(path)
        return read(self, path)

    monkeypatch.setattr(SystemFileSystem, "open_read_only", open_read_only)
    monkeypatch.setattr(SystemFileSystem, "read", read_whole)


@pytest.mark.parametrize(
    "end",
    [
        "codecs-0/00000000000000000405.log",
        "codecs-0/00000000000000000405.index",
        "codecs-0/00000000000000000405.snapshot",
        "codecs-0/leader-epoch-checkpoint",
        "transactions-0/00000000000000000010.txnindex",
        "data/recovery-point-offset-checkpoint",
        "data/meta.properties",
    ],
)
def test_a_file_that_cannot_be_read_hides_no_other_fault(
    data: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    turn(segments(data, "__consumer_offsets-0", ".log")[0], 100)
    refusing(monkeypatch, end)
    found = findings(data)
    (unread,) = (each for each in found if each["file"].endswith(end))
    assert unread["reason"] == "cannot be read: Permission denied"
    assert "this user may read the file" in unread["remedy"]
    assert any("__consumer_offsets-0" in each["file"] for each in found)
    assert len(found) == 2


def test_a_disk_that_fails_under_a_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no error names the file."""
    at = SystemFile.read_at

    def fail(self: SystemFile, position: int, length: int) -> bytes:
        if self.size == (data / CODECS / "00000000000000000405.log").stat().st_size:
            raise OSError(errno.EIO, "Input/output error")
        return at(self, position, length)

    monkeypatch.setattr(SystemFile, "read_at", fail)
    (found,) = findings(data)
    assert found["file"].endswith("codecs-0/00000000000000000405.log")
    assert "Input/output error" in found["reason"]


def test_a_replica_on_its_way_to_another_directory(data: Path) -> None:
    name = f"{CODECS}.{'0' * 31}f-future"
    (data / CODECS).rename(data / name)
    (data / "recovery-point-offset-checkpoint").unlink()
    assert findings(data, "--topic", "codecs") == []
    turn(segments(data, name, ".log")[1], 5000)
    (found,) = findings(data, "--topic", "codecs")
    assert name in found["file"]
    assert found["remedy"].startswith("remove the directory: the replica is still where it was")


def test_a_segment_checkpoint_that_is_none(data: Path) -> None:
    (data / "segment-checkpoint").write_text("0\n12\nrunning\n")
    (found,) = findings(data)
    assert (found["file"], found["is_expected"]) == (str(data / "segment-checkpoint"), False)
    assert found["remedy"].startswith("start the node")


def test_a_transaction_index_that_is_not_what_was_noted(data: Path) -> None:
    """An entry too many, of which nothing but the note knows: it names the same marker twice."""
    (path,) = (path for path in segments(data, TRANSACTIONS, ".txnindex") if path.stat().st_size)
    content = path.read_bytes()
    marks = [
        SegmentMark(int(log.stem), log.stat().st_size, 0, IndexMark(len(content), crc32c(content)) if log.stem == path.stem else NOTHING_ABORTED)
        for log in segments(data, TRANSACTIONS, ".log")
    ]  # fmt: skip
    clean = data / ".kafka_cleanshutdown"
    epoch = decode_clean_shutdown(clean.read_bytes())
    noted = SegmentCheckpoint({TopicPartition("transactions", 0): LogMark(ZERO_UUID, 0, 0, tuple(marks))}, epoch)  # fmt: skip
    (data / "segment-checkpoint").write_bytes(encode_segments(noted))
    assert findings(data) == []
    path.write_bytes(content + content)
    (found,) = findings(data)
    assert "is not what it was when the node stopped" in found["reason"]


def test_a_snapshot_of_the_metadata_log_without_its_footer(data: Path, tmp_path: Path) -> None:
    with tarfile.open(FIXTURES / "kafka-4.3.1-dumps.tar.gz") as archive:
        archive.extractall(tmp_path / "dumps", filter="data")
    for directory in ("metadata-0", "voters-0"):
        (snapshot,) = (tmp_path / "dumps" / directory).glob("*.checkpoint")
        path = data / METADATA / snapshot.name
        path.write_bytes(snapshot.read_bytes())
        assert findings(data) == []
    *_, (last, _) = scan_headers(SystemFileSystem().open_read_only(str(path)), 0, path.stat().st_size)  # fmt: skip
    path.write_bytes(path.read_bytes()[:last])
    (found,) = findings(data)
    assert "does not end with the footer" in found["reason"]


def test_what_is_no_data_directory_and_what_is_not_here(data: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "is no data directory" in verify(empty).stderr
    assert "did you mean codecs?" in verify(data, "--topic", "codec").stderr
