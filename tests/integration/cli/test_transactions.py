"""`millstream transactions`: what is open is found, described and aborted."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from millstream.clients.blocking import Producer
from millstream.errors import ProducerFenced
from tests.integration.cli.conftest import Run


@pytest.fixture
def opened(bootstrap: str, topic: str) -> Iterator[Producer]:
    """A producer with an open transaction, whose id is the name of the topic."""
    with Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"x").result()
        yield producer


@pytest.mark.usefixtures("opened")
def test_open_transactions_are_listed(run: Run, topic: str) -> None:
    done = run("transactions", "list", "--prefix", topic, "--state", "Ongoing", "--output", "json")
    (row,) = json.loads(done.stdout)
    assert (row["transactional_id"], row["state"]) == (topic, "Ongoing")
    young = run("transactions", "list", "--prefix", topic, "--open-for-ms", "3600000")
    assert (young.returncode, young.stdout) == (0, "")


@pytest.mark.usefixtures("opened")
def test_a_transaction_is_described(run: Run, topic: str) -> None:
    done = run("transactions", "describe", topic, "--output", "json")
    (row,) = json.loads(done.stdout)
    assert (row["state"], row["partitions"]) == ("Ongoing", [f"{topic}-0"])
    assert row["open_ms"] >= 0
    missing = run("transactions", "describe", f"{topic}-of-nobody")
    assert missing.returncode == 3
    assert f"{topic}-of-nobody" in missing.stderr


def test_what_is_open_is_aborted_and_its_producer_fenced(
    run: Run, topic: str, opened: Producer
) -> None:
    tried = run("transactions", "abort", "--prefix", topic, "--dry-run", "--output", "json")
    assert json.loads(tried.stdout) == [{"transactional_id": topic, "result": "would be aborted"}]
    near = run("transactions", "abort", f"{topic}x", "--yes")
    assert (near.returncode, f"; did you mean {topic}?" in near.stderr) == (3, True)
    done = run("transactions", "abort", "--prefix", topic, "--yes")
    assert (done.returncode, done.stdout.splitlines()[1].split()) == (0, [topic, "aborted"])
    again = run("transactions", "abort", "--prefix", topic, "--yes")
    assert (again.returncode, "has an open transaction" in again.stderr) == (0, True)
    with pytest.raises(ProducerFenced, match="has taken over"):
        opened.commit_transaction()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("abort",), "name transactional ids, or give --prefix"),
        (("abort", "x", "--prefix", "y"), "name transactional ids, or give --prefix"),
        (("describe",), "name one transactional id or more"),
        (("list", "--state", "Lost"), "no transaction state Lost"),
        (("abort", "an id of nobody", "--yes"), "an id of nobody"),
    ],
)
def test_mistakes_are_named(run: Run, arguments: tuple[str, ...], says: str) -> None:
    done = run("transactions", *arguments)
    assert done.returncode in {1, 2, 3}
    assert says in done.stderr
    assert "Traceback" not in done.stderr
