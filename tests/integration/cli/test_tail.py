"""`millstream tail` over partitions that were written to in turn."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from tests.integration.cli.conftest import MILLSTREAM, Run
from tests.patience import LONG_ENOUGH_S

RECORDS = [
    {"partition": number % 2, "timestamp": 1_000 + number, "value": str(number)}
    for number in range(8)
]


@pytest.fixture
def written(run: Run, topic: str) -> str:
    """Eight records, the newest of which are in both partitions."""
    run("topics", "create", topic, "--partitions", "2")
    lines = "".join(f"{json.dumps(each)}\n" for each in RECORDS)
    done = run("produce", topic, "--input", "jsonl", "--keep-partitions", given=lines)
    assert done.returncode == 0, done.stderr
    return topic


@pytest.mark.parametrize(
    ("count", "values"),
    [("3", ["5", "6", "7"]), ("20", list("01234567")), ("0", [])],
)
def test_the_newest_records_of_all_partitions_are_printed(
    run: Run, written: str, count: str, values: list[str]
) -> None:
    done = run("tail", written, "-n", count, "--output", "raw")
    assert (done.returncode, done.stderr, done.stdout.split()) == (0, "", values)


def test_a_table_is_what_people_get(run: Run, written: str) -> None:
    head, row = run("tail", written, "-n", "1").stdout.splitlines()
    assert head.split() == ["PARTITION", "OFFSET", "TIME", "KEY", "VALUE"]
    assert row.split() == ["1", "3", "1970-01-01T00:00:01.007Z", "-", "7"]


def test_what_cannot_be_read_is_shown_as_it_is(run: Run, written: str) -> None:
    run("produce", written, "-p", "0", given="no number\n")
    done = run("tail", written, "-n", "2", "--value-format", "json", "--output", "jsonl")
    assert [json.loads(line)["value"] for line in done.stdout.splitlines()] == [7, "no number"]
    assert done.stderr.startswith(f"warning: {written}-0 offset 4: ")


def test_it_follows_until_it_is_told_to_end(
    run: Run, written: str, environment: dict[str, str]
) -> None:
    arguments = ("tail", written, "-n", "1", "-f", "--output", "raw")
    with subprocess.Popen(
        [*MILLSTREAM, *arguments], env=environment, text=True, stdout=subprocess.PIPE
    ) as verb:
        assert verb.stdout is not None
        assert verb.stdout.readline() == "7\n"
        run("produce", written, given="new\n")
        assert verb.stdout.readline() == "new\n"
        os.kill(verb.pid, signal.SIGINT)
        verb.wait(LONG_ENOUGH_S)
    assert verb.returncode == 130
