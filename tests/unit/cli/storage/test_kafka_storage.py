"""`millstream storage` says and leaves what `kafka-storage` of 4.3.1 says and leaves, in every case that was recorded of it."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from millstream.broker.storage.bootstrap_checkpoint import BOOTSTRAP_SNAPSHOT
from millstream.cli.storage.command import storage
from millstream.model import uuid_from_text
from millstream.properties_text import parse_properties
from millstream.raft.snapshot import decode_snapshot
from millstream.records.batch import iterate_batches

RECORDED: Final[dict[str, dict[str, Any]]] = json.loads(
    (Path(__file__).parents[3] / "golden" / "kafka_4_3_1_storage.json").read_text()
)
UNEXPECTED: Final = 'Exception in thread "main" '
"""Begins the trace with which Kafka ends where it did not foresee the mistake."""
USED_WRONGLY: Final = 2
GIVEN: Final = "JEXY6aqzQY-32P5TStzaFg"
"""The directory id that is on command lines and in files; others are made at random."""
SETTINGS: Final = "ConfigException|requirement failed|NoSuchFileException"
"""In what it says of the file with the settings."""
NO_OPTIONS_HERE: Final = {
    "initial controllers, negative id",
    "initial controllers, nothing before @",
}
"""Values that Kafka takes for an option or a file of options, for they begin with - or @."""

FINE_HERE: Final = {
    "no node id": "node.id is 1 by default",
    "standalone, IPv6": "Kafka forgets the brackets",
    "standalone, lower case": "names of listeners are written in upper case for whom they are not",
    "no quorum": "a node alone needs no address of itself",
}
REFUSED_HERE: Final = {
    "cluster id empty": "'' is no cluster id",
    "initial controllers, reserved directory": "has a reserved id",
    "a has no directory.id: info": "directory.id is missing",
    "a has no directory.id: format -g": "directory.id is missing",
    "a has no version: format -g": "version is missing",
    "a is of Zookeeper: format -g": "version is '0', only 1 is known",
    "a is cut off: format -g": "version is missing",
    "a is empty: format -g": "version is missing",
}
"""What a node could not start with, or not without harm."""
OTHER_WORDS: Final = re.compile(
    r"a (has no|has a version|is of Zookeeper|is cut off|is empty|is a file).*"
    r"|.*: info"  # a problem is told in our words
)


@pytest.mark.parametrize("name", RECORDED)
def test_the_same_is_said_and_left_as_by_kafka(name: str, tmp_path: Path) -> None:
    case = RECORDED[name]
    prepare(case, tmp_path)
    for run in case["runs"]:
        result = CliRunner().invoke(
            storage, [each.replace("{dir}", str(tmp_path)) for each in run["arguments"]]
        )
        assert result.exception is None or isinstance(result.exception, SystemExit), result
        if name in FINE_HERE:
            assert result.exit_code == 0, result.stderr
            return
        if name in REFUSED_HERE:
            assert result.exit_code == 1
            assert REFUSED_HERE[name] in result.output
            return
        compare(name, run, result, str(tmp_path))
    kafkas = {file: content_of(file, text) for file, text in case["left"].items()}
    assert comparable_files(files_below(tmp_path)) == comparable_files(kafkas)


def prepare(case: dict[str, Any], directory: Path) -> None:
    for file, text in case["before"].items():
        path = directory / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    lines = [f"{key}={value}" for key, value in case["settings"].items()]
    (directory / "node.properties").write_text("\n".join(lines).replace("{dir}", str(directory)))


def compare(name: str, run: dict[str, Any], result: Result, directory: str) -> None:
    ours = result.stdout.replace(directory, "{dir}").splitlines()
    if run["exit"] == 0:
        assert result.exit_code == 0, result.stderr
        assert comparable(ours) == comparable(run["out"])
        return
    refusal = "\n".join(run["error"])
    if refusal.startswith("usage:"):
        assert result.exit_code == (1 if name in NO_OPTIONS_HERE else USED_WRONGLY)
    elif UNEXPECTED in refusal:
        assert result.exit_code == (USED_WRONGLY if re.search(SETTINGS, refusal) else 1), result.output  # fmt: skip
        assert result.stderr.count("\n") == 1 or "Usage:" in result.stderr
    else:
        assert result.exit_code == 1
        if not OTHER_WORDS.fullmatch(name):
            assert comparable(ours) == comparable(run["out"])
            told = result.stderr.replace(directory, "{dir}").splitlines()
            assert told == [f"error: {line}".rstrip() for line in run["error"]]


def comparable(lines: list[str]) -> list[str]:
    """Without ids that are made at random; Kafka formats directories in no order, and prints what verifies passwords."""
    text = "\n".join(sorted(lines))
    text = re.sub(r"directory\.id=[\w-]{22}", "directory.id=...", text)
    text = re.sub(r"salt=\[[^\]]*\], storedKey=\[[^\]]*\], serverKey=\[[^\]]*\], ", "", text)
    return text.splitlines()


def files_below(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != "node.properties"
    }


def content_of(file: str, recorded: str) -> bytes:
    return recorded.encode() if file.endswith("meta.properties") else bytes.fromhex(recorded)


def comparable_files(files: dict[str, bytes]) -> dict[str, object]:
    """Without times, and without ids that are made at random: what is left must be equal byte for byte."""
    found: dict[str, object] = {}
    for file, content in files.items():
        beside = f"{file.partition('/')[0]}/meta.properties"
        meta = parse_properties(files.get(beside, b"").decode())
        random_id = meta.get("directory.id", GIVEN) != GIVEN
        if file.endswith("meta.properties"):
            found[file] = {**meta, "directory.id": "..."} if random_id else meta
        elif content == b"x":
            continue  # what was left there before, and is read by nobody: Kafka keeps it
        elif file.endswith(".checkpoint"):
            timeless = without_times(content)
            own = uuid_from_text(meta["directory.id"])
            found[file] = timeless.replace(own, b"own") if random_id else timeless
        else:
            found[file] = content
    return found


def without_times(snapshot: bytes) -> bytes:
    """Timestamps and checksums of batches, and the time of the last record in the header of the snapshot."""
    last_ms = decode_snapshot(BOOTSTRAP_SNAPSHOT, snapshot).last_contained_log_timestamp_ms
    out = bytearray()
    for _, batch in iterate_batches(snapshot, strict=True):
        masked = bytearray(batch)
        masked[17:21] = bytes(4)
        masked[27:43] = bytes(16)
        out += masked
    return bytes(out).replace(struct.pack(">q", last_ms), bytes(8))
