"""`millstream transactions find-hanging`, `abort-hanging` and `producers`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from millstream.clients import blocking
from tests.integration.cli.conftest import Run
from tests.support.clients.hanging_transaction import leave_hanging

HOUR_MS = 3_600_000
UNVERIFIED = "transaction.partition.verification.enable"


@pytest.fixture
def hanging(run: Run, topic: str, bootstrap: str) -> Iterator[int]:
    """The producer id of a transaction that has hung for an hour, behind a record that is whole."""
    run("topics", "create", topic, "--partitions", "2")
    run("produce", topic, "-p", "0", given="before\n")
    assert run("configs", "set", "broker", f"{UNVERIFIED}=false").returncode == 0
    try:
        yield leave_hanging(bootstrap, topic, f"{topic}-id", age_ms=HOUR_MS)
    finally:
        run("configs", "unset", "broker", UNVERIFIED)


def readable(run: Run, topic: str) -> list[str]:
    done = run("consume", topic, "-o", "beginning", "-e", "-q", "--isolation-level", "read_committed")  # fmt: skip
    return done.stdout.splitlines()


def test_what_hangs_is_found_and_ended(run: Run, topic: str, hanging: int) -> None:
    run("produce", topic, "-p", "0", given="behind\n")
    assert readable(run, topic) == ["before"]
    found = run("transactions", "find-hanging", topic, "--output", "json")
    (row,) = json.loads(found.stdout)
    assert (row["topic"], row["partition"], row["producer_id"], row["start_offset"]) == (topic, 0, hanging, 1)  # fmt: skip
    assert HOUR_MS <= row["open_ms"] < 2 * HOUR_MS
    everywhere = run("transactions", "find-hanging", "--output", "json").stdout
    assert row["producer_id"] in {each["producer_id"] for each in json.loads(everywhere)}
    elsewhere = run("transactions", "find-hanging", f"{topic}:1")
    assert (elsewhere.stdout, elsewhere.stderr) == ("", "no transaction hangs\n")
    tried = run("transactions", "abort-hanging", f"{topic}:0", "--dry-run", "--output", "json")
    assert json.loads(tried.stdout)[0]["result"] == "would be aborted"
    assert readable(run, topic) == ["before"]
    done = run("transactions", "abort-hanging", topic, "--yes")
    assert done.stdout.splitlines()[1].split() == [topic, "0", str(hanging), "1", "aborted"]
    assert readable(run, topic) == ["before", "behind"]
    again = run("transactions", "abort-hanging", topic, "--yes")
    assert (again.returncode, again.stderr) == (0, "no transaction hangs there\n")


@pytest.mark.usefixtures("hanging")
def test_what_is_young_is_left_to_its_coordinator(run: Run, topic: str) -> None:
    found = run("transactions", "find-hanging", topic, "--max-transaction-timeout", "2h")
    assert found.stderr == "no transaction hangs\n"


def test_one_is_named_by_where_it_began(run: Run, topic: str, hanging: int) -> None:
    wrong = run("transactions", "abort-hanging", f"{topic}:0", "--start-offset", "7", "--yes")
    assert (wrong.returncode, "those that are open began at: 1" in wrong.stderr) == (1, True)
    several = run("transactions", "abort-hanging", topic, "--start-offset", "1", "--yes")
    assert (several.returncode, "write TOPIC:P" in several.stderr) == (2, True)
    shown = run("transactions", "producers", topic, "--output", "json")
    assert [(row["producer_id"], row["start_offset"], row["coordinator_epoch"]) for row in json.loads(shown.stdout) if row["start_offset"] is not None] == [(hanging, 1, None)]  # fmt: skip
    done = run("transactions", "abort-hanging", f"{topic}:0", "--start-offset", "1", "--yes")
    assert done.returncode == 0
    shown = run("transactions", "producers", f"{topic}:0", "--output", "json")
    assert {row["start_offset"] for row in json.loads(shown.stdout)} == {None}


def test_what_its_coordinator_knows_does_not_hang(run: Run, topic: str, bootstrap: str) -> None:
    with blocking.Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"x", timestamp_ms=1_000).result()
        found = run("transactions", "find-hanging", topic, "--max-transaction-timeout", "0s")
        assert (found.returncode, found.stdout) == (0, "")
        producer.abort_transaction()


def test_mistakes_are_named(run: Run, topic: str) -> None:
    run("topics", "create", topic)
    near = run("transactions", "find-hanging", f"{topic}x")
    assert (near.returncode, f"did you mean {topic}?" in near.stderr) == (3, True)
    assert run("transactions", "abort-hanging").returncode == 2
    wrong = run("transactions", "find-hanging", "--max-transaction-timeout", "long")
    assert (wrong.returncode, "write 10m, 2h, 1d or PT10M" in wrong.stderr) == (2, True)
