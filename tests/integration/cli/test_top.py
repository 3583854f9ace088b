"""`millstream top`: printed, as JSON, and on a terminal of its own."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator

import pytest

from millstream.clients import OffsetAndMetadata, blocking
from millstream.model import TopicPartition
from tests.integration.cli.conftest import MILLSTREAM, Run
from tests.patience import LONG_ENOUGH_S

OTHER_SCREEN, FIRST_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.fixture
def group(run: Run, topic: str, bootstrap: str) -> str:
    """A group that has read one of three records."""
    run("produce", topic, given="1\n2\n3\n")
    name = f"readers-of-{topic}"
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        committed = {TopicPartition(topic, 0): OffsetAndMetadata(1)}
        admin.alter_consumer_group_offsets(name, committed).raise_errors()
    return name


def test_programs_get_an_object_for_each_round(run: Run, topic: str, group: str) -> None:
    done = run("top", "--output", "jsonl", "-n", "2", "--interval", "0.2", "-t", topic, "-G", group)
    assert done.returncode == 0, done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    for each in (first, second):
        (row,) = each["groups"]
        assert (row["group"], row["lag"], row["slowest"], row["slowest_lag"]) == (group, 2, f"{topic}-0", 2)  # fmt: skip
        assert each["topics"] == [{"topic": topic, "partitions": 1, "records_s": 0}]
        assert [broker["leads"] for broker in each["brokers"]] == [1]


def test_without_a_terminal_it_prints_once(run: Run, topic: str, group: str) -> None:
    done = run("top", "--interval", "0.2", "-t", topic, "-G", group)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("0 records written in ")
    assert lines[2:4] == ["groups (1)", lines[3]]
    assert lines[4].split()[:1] == [group]
    assert "\x1b" not in done.stdout


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)


@pytest.mark.parametrize(("ends", "code"), [("q", 0), ("Ctrl-C", 130)])
def test_a_terminal_is_given_back_as_it_was(
    terminal: tuple[int, int], environment: dict[str, str], group: str, ends: str, code: int
) -> None:
    ours, theirs = terminal
    command = [*MILLSTREAM, "top", "--interval", "0.2", "-G", group]
    screen = environment | {"COLUMNS": "150", "LINES": "40", "TERM": "xterm"}
    with subprocess.Popen(command, env=screen, stdin=theirs, stdout=theirs, stderr=theirs) as verb:
        os.close(theirs)
        told = b""
        while group.encode() not in told:
            told += os.read(ours, 65_536)
        if ends == "q":
            os.write(ours, b"q")
        else:
            verb.send_signal(signal.SIGINT)
        while FIRST_SCREEN not in told:
            told += os.read(ours, 65_536)
        verb.wait(LONG_ENOUGH_S)
    assert verb.returncode == code
    assert told.startswith(OTHER_SCREEN)
    assert b"Traceback" not in told
