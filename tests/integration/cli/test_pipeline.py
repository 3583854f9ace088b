"""`millstream pipeline` over an application that has committed something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from millstream.clients import OffsetAndMetadata, blocking
from millstream.clients.admin import NewTopic
from millstream.model import TopicPartition
from tests.integration.cli.conftest import Run

APPLICATION = "word-count"
INTERNAL = f"{APPLICATION}-counts-changelog"


@pytest.fixture
def admin(bootstrap: str) -> Iterator[blocking.Admin]:
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic("words", 1), NewTopic(INTERNAL, 1)]).raise_errors()
        with blocking.Producer(bootstrap_servers=bootstrap) as producer:
            for _ in range(5):
                producer.send("words", b"a")
        words = TopicPartition("words", 0)
        admin.alter_consumer_group_offsets(
            APPLICATION, {words: OffsetAndMetadata(2)}
        ).raise_errors()
        yield admin
        admin.delete_topics([name for name in ("words", INTERNAL) if name in admin.list_topics()])


def test_the_lag_of_each_task_is_shown_and_a_reset_leaves_nothing(
    run: Run, admin: blocking.Admin
) -> None:
    done = run("pipeline", "status", APPLICATION, "--output", "json")
    expected = {"topic": "words", "partition": 0, "committed": 2, "readable": 5, "lag": 3}
    assert json.loads(done.stdout) == [expected | {"dropped": None}]

    done = run("streams", "reset", APPLICATION, "--yes", "--output", "json")
    assert [(row["kind"], row["name"]) for row in json.loads(done.stdout)] == [
        ("group", APPLICATION),
        ("topic", INTERNAL),
    ]
    assert INTERNAL not in admin.list_topics()
    assert run("pipeline", "status", APPLICATION).stdout == ""

    again = run("pipeline", "reset", APPLICATION, "--yes")
    assert again.returncode == 3
    assert f"there is nothing of an application {APPLICATION}" in again.stderr


def test_an_application_that_runs_is_not_reset(
    run: Run, admin: blocking.Admin, bootstrap: str
) -> None:
    with blocking.Consumer(bootstrap_servers=bootstrap, group_id=APPLICATION) as member:
        member.subscribe(["words"])
        member.poll()
        done = run("streams", "reset", APPLICATION, "--yes")
    assert done.returncode == 1
    assert f"application {APPLICATION} runs: end its instances first" in done.stderr
    assert INTERNAL in admin.list_topics()


def test_an_application_is_paused_and_resumed_by_a_topic_that_status_tells_of(
    run: Run, admin: blocking.Admin
) -> None:
    marker = f"{APPLICATION}-millstream-paused"
    tried = run("pipeline", "pause", APPLICATION, "--dry-run", "--output", "json")
    assert json.loads(tried.stdout) == [{"application": APPLICATION, "state": "would be paused"}]
    assert marker not in admin.list_topics()
    for _ in range(2):
        done = run("pipeline", "pause", APPLICATION, "--output", "json")
        assert json.loads(done.stdout) == [{"application": APPLICATION, "state": "paused"}]
        assert marker in admin.list_topics()
    assert (
        f"paused: millstream pipeline resume {APPLICATION}"
        in run("pipeline", "status", APPLICATION).stderr
    )
    tried = run("pipeline", "resume", APPLICATION, "--dry-run", "--output", "json")
    assert json.loads(tried.stdout) == [{"application": APPLICATION, "state": "would be resumed"}]
    assert marker in admin.list_topics()
    for _ in range(2):
        done = run("pipeline", "resume", APPLICATION, "--output", "json")
        assert json.loads(done.stdout) == [{"application": APPLICATION, "state": "resumed"}]
        assert marker not in admin.list_topics()
    assert "paused" not in run("pipeline", "status", APPLICATION).stderr


def test_an_application_that_nobody_knows_is_not_paused(run: Run, admin: blocking.Admin) -> None:
    done = run("pipeline", "pause", "wordcount")
    assert done.returncode == 3
    assert "there is nothing of an application wordcount" in done.stderr
    assert "wordcount-millstream-paused" not in admin.list_topics()


def test_open_transactions_are_those_of_the_application_alone(
    run: Run, admin: blocking.Admin, bootstrap: str
) -> None:
    """An application whose id goes on after this one's has its own."""
    ids = [f"{APPLICATION}@words_0", f"{APPLICATION}-eu@words_0"]
    with ExitStack() as open_:
        for each in ids:
            producer = open_.enter_context(
                blocking.Producer(bootstrap_servers=bootstrap, transactional_id=each)
            )
            producer.init_transactions()
            producer.begin_transaction()
            producer.send("words", b"b").result()
        told = run("pipeline", "status", APPLICATION).stderr
        assert f"open transactions: {ids[0]}\n" in told


def test_the_last_metrics_of_each_query_are_shown(run: Run, bootstrap: str) -> None:
    def document(query: str, lag: int) -> bytes:
        known = {"latestCompletedOffset": 10, "latestTimeOffset": 10 + lag, "spoutLag": lag}
        partitions = {"0": known, "1": {"latestCompletedOffset": 3}}
        source = {"commitsFailed": 2, "topics": {"orders": {"partitions": partitions}}}
        return json.dumps(
            {
                "queryId": query,
                "name": "billing",
                "timestamp": "2027-01-15T08:00:00Z",
                "sources": [source],
            }
        ).encode()

    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic("query-metrics", 2)]).raise_errors()
        assert "no query has written" in run("pipeline", "queries", "query-metrics").stderr
        with blocking.Producer(bootstrap_servers=bootstrap) as producer:
            producer.send("query-metrics", b"not json", partition=1)
            for lag in (9, 7):
                producer.send("query-metrics", document("q", lag), key=b"q", partition=0)
        done = run("pipeline", "queries", "query-metrics", "--output", "json")
        admin.delete_topics(["query-metrics"]).raise_errors()
    shown = {
        "query": "billing",
        "topic": "orders",
        "failed_commits": 2,
        "time": "2027-01-15T08:00:00Z",
        "committed": None,
    }
    assert json.loads(done.stdout) == [
        shown | {"partition": 0, "completed": 10, "end": 17, "lag": 7},
        shown | {"partition": 1, "completed": 3, "end": None, "lag": None},
    ]
    gone = run("pipeline", "queries", "query-metrics")
    assert gone.returncode != 0
    assert "query-metrics" in gone.stderr
