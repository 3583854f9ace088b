"""`millstream dump` prints what Kafka's dump-log tool prints of files that Apache Kafka 4.3.1 wrote, byte for byte."""

from __future__ import annotations

import errno
import json
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main
from millstream.runtime.system import SystemFileSystem

FIXTURE = Path(__file__).parents[3] / "fixtures" / "kafka-4.3.1-dumps.tar.gz"
LOG = "00000000000000000000.log"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def dump(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["dump", *arguments], catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["log", "--records", f"codecs-0/{LOG}"], "codecs-records.txt"),
        (["log", "--records", "--skip-record-metadata", f"codecs-0/{LOG}"], "codecs-bare.txt"),
        (["log", "--offsets-decoder", f"offsets-28/{LOG}", f"offsets-36/{LOG}"], "offsets.txt"),
        (["log", "--transaction-log-decoder", f"state-44/{LOG}"], "state.txt"),
        (["log", "--share-group-state-decoder", f"share-8/{LOG}"], "share.txt"),
        (["metadata", "voters-0/00000000000000000000-0000000000.checkpoint"], "voters.txt"),
        (
            ["metadata", "metadata-0/00000000000000000000-0000000000.checkpoint", f"metadata-0/{LOG}"],
            "metadata.txt",
        ),
    ],
)  # fmt: skip
def test_logs_and_what_their_records_mean(arguments: list[str], expected: str) -> None:
    result = dump(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == Path(expected).read_text()


@pytest.mark.parametrize("directory", ["codecs", "transactions"])
def test_all_files_of_a_partition(directory: str) -> None:
    dumped = ""
    for file in sorted(Path(f"{directory}-0").iterdir()):
        verb = {".log": "log", ".snapshot": "snapshot"}.get(file.suffix, "index")
        deep = ["--deep-iteration"] if (verb, directory) == ("log", "transactions") else []
        dumped += dump(verb, *deep, str(file)).stdout
    assert dumped == Path(f"{directory}.txt").read_text()


def test_damage_is_said_with_its_position_and_what_is_sound_is_printed() -> None:
    """Kafka's tool says the same of the batch, counts the bytes at the end, and exits with 0."""
    result = dump("log", f"damaged-0/{LOG}")
    told_by_kafka = Path("damaged.txt").read_text().split("Found 106 invalid bytes")[0]
    assert result.stdout == told_by_kafka
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"error: damaged-0/{LOG}: position 184: the checksum of the batch is 0x87e50b6f, its header says 0x5a251e44",
        f"error: damaged-0/{LOG}: position 1251: the last 106 bytes are no whole batch",
    ]


def test_an_index_that_disagrees_with_its_log_is_told_entry_by_entry() -> None:
    """The two mismatches of offsets and the one of times that Kafka's tool finds."""
    result = dump("index", "damaged-0/00000000000000000000.index", "damaged-0/00000000000000000000.timeindex")  # fmt: skip
    assert result.exit_code == 1
    errors = result.stderr.splitlines()
    assert len(errors) == 3
    assert "position 0: index offset 9, log offset 8" in errors[0]
    assert "position 8: index offset 15, log offset 14" in errors[1]
    assert "index timestamp 1700000000001, log timestamp 1700000000002" in errors[2]


def test_json_has_every_batch_with_its_records() -> None:
    batches = json.loads(dump("log", "--records", "--output", "json", f"codecs-0/{LOG}").stdout)
    records = [record for batch in batches for record in batch["records"]]
    assert [record["offset"] for record in records] == list(range(30))
    assert records[1]["key"] == "k1"
    assert records[1]["header_keys"] == ["h", "n"]
    assert records[2]["value"] is None
    assert {batch["codec"] for batch in batches} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert {batch["file"] for batch in batches} == {f"codecs-0/{LOG}"}


def test_json_of_a_decoded_log_has_objects_not_text() -> None:
    dumped = dump("log", "--offsets-decoder", "--output", "jsonl", f"offsets-28/{LOG}").stdout
    rows = [json.loads(line) for line in dumped.splitlines()]
    assert rows[1]["records"][0]["value"]["data"]["members"][0]["subscription"]["topics"] == ["codecs"]  # fmt: skip


def test_damage_for_programs_is_an_object_on_standard_error() -> None:
    result = dump("log", "--output", "jsonl", f"damaged-0/{LOG}")
    assert json.loads(result.stderr.splitlines()[0])["position"] == 184


def test_a_file_without_batches_is_an_empty_array(files: Path) -> None:
    (files / LOG).touch()
    assert dump("log", "--output", "json", LOG).stdout == "[]\n"


def test_a_foreign_file_is_one_sentence(files: Path) -> None:
    (files / LOG).write_bytes(b"#!/bin/sh\n" * 20)
    result = dump("log", LOG)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {LOG}: position 0: ")
    assert len(result.stderr.splitlines()) == 1


def test_space_that_was_made_in_advance_is_told_from_damage(files: Path) -> None:
    log = files / "codecs-0" / LOG
    log.write_bytes(log.read_bytes() + bytes(4096))
    result = dump("log", f"codecs-0/{LOG}")
    assert "position 1377: holds nothing but zeros from here on" in result.stderr


def test_a_file_of_another_kind_is_told_its_verb() -> None:
    result = dump("log", "codecs-0/00000000000000000000.index")
    assert result.exit_code == 2
    assert "millstream dump index codecs-0/00000000000000000000.index" in result.stderr


def test_a_damaged_snapshot_of_producers_is_said(files: Path) -> None:
    path = files / "codecs-0" / "00000000000000000030.snapshot"
    path.write_bytes(path.read_bytes()[:-1])
    result = dump("snapshot", "codecs-0/00000000000000000030.snapshot")
    assert result.exit_code == 1
    assert "checksum" in result.stderr


def test_no_more_than_was_asked_for_is_read() -> None:
    """The batch that 200 bytes cut is not told as damage."""
    result = dump("log", "--max-bytes", "200", f"codecs-0/{LOG}")
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == 4


def test_every_turned_byte_is_noticed_or_harmless_and_never_a_traceback(files: Path) -> None:
    """Of every ninth of 200 bytes; base offset, leader epoch and the length lie outside of the checksum."""
    log = files / "codecs-0" / LOG
    sound = log.read_bytes()
    for at in range(184, 384, 9):
        damaged = bytearray(sound)
        damaged[at] ^= 0xFF
        log.write_bytes(damaged)
        result = dump("log", "--records", f"codecs-0/{LOG}")
        is_checked = (at - 184) % 140 >= 17 or at >= 324 + 17
        assert result.exit_code == 1 or not is_checked


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("log", LOG),
        ("index", "00000000000000000000.index"),
        ("snapshot", "00000000000000000001.snapshot"),
    ],
)
def test_a_file_that_cannot_be_read_does_not_end_the_others(
    files: Path, monkeypatch: pytest.MonkeyPatch, verb: str, name: str
) -> None:
    (kept,) = list(files.glob(f"codecs-0/*{Path(name).suffix}"))[:1]
    refused = files / "refused" / kept.name
    refused.parent.mkdir()
    refused.write_bytes(kept.read_bytes())

    def refuse(path: object) -> None:
        if str(path) == str(refused):
            raise OSError(errno.EIO, "Input/output error")

    for owner, method in ((SystemFileSystem, "open_read_only"), (SystemFileSystem, "read")):
        real = getattr(owner, method)
        monkeypatch.setattr(owner, method, lambda self, path, real=real: refuse(path) or real(self, path))  # fmt: skip
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: refuse(self) or read_bytes(self))
    alone = json.loads(dump(verb, str(kept), "--output", "json").stdout)
    result = dump(verb, str(refused), str(kept), "--output", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == alone
    assert json.loads(result.stderr) == {
        "error": "unreadable", "file": str(refused), "position": None, "message": "cannot be read: Input/output error",
    }  # fmt: skip
