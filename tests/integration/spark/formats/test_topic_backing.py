"""States in a topic: what is written is found by the next process, whole, and the one before is shut out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from millstream.clients import Producer, TransactionFailed
from millstream.clients.blocking import Admin
from millstream.errors import ConfigError, ProducerFenced
from millstream.spark.states.states import OpaqueState, TransactionalState
from millstream.spark.states.topic_backing import TopicBacking

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]


class Backings:
    """Processes that have the states of one topic, one after another."""

    def __init__(self, topics: Any) -> None:
        self.topics, self.topic = topics, topics.new(partitions=2, cleanup_policy="compact")
        self._open: list[TopicBacking] = []

    def new(self) -> TopicBacking:
        settings = {"bootstrap.servers": self.topics.bootstrap_servers}
        self._open.append(TopicBacking(self.topic, settings))
        return self._open[-1]

    def close(self) -> None:
        for each in self._open:
            each.close()


@pytest.fixture
def backings(topics: Any) -> Iterator[Backings]:
    made = Backings(topics)
    yield made
    made.close()


def test_the_next_process_finds_what_was_written_last(backings: Backings) -> None:
    first = backings.new()
    first.multi_put({"a": b"1", "b": b"2"})
    first.multi_put({"a": b"3"})
    assert backings.new().multi_get(["a", "b", "c"]) == [b"3", b"2", None]


def test_a_process_that_was_followed_by_another_writes_no_more(backings: Backings) -> None:
    first, second = backings.new(), backings.new()
    first.multi_put({"a": b"1"})
    assert second.multi_get(["a"]) == [b"1"]
    with pytest.raises((ProducerFenced, TransactionFailed)):
        first.multi_put({"a": b"late"})
    assert backings.new().multi_get(["a"]) == [b"1"]


def test_a_write_that_ends_half_way_leaves_nothing(
    backings: Backings, monkeypatch: pytest.MonkeyPatch
) -> None:
    backing = backings.new()
    backing.multi_put({"a": b"1", "b": b"1"})

    with monkeypatch.context() as patched:
        patched.setattr("millstream.spark.states.topic_backing._write", _sent_and_killed)
        with pytest.raises(SystemExit):
            backing.multi_put({"a": b"2", "b": b"2"})
    assert backing.multi_get(["a", "b"]) == [b"1", b"1"]
    assert backings.new().multi_get(["a", "b"]) == [b"1", b"1"]


async def _sent_and_killed(
    producer: Producer, topic: str, values: dict[str, bytes], _: dict[str, int]
) -> None:
    await producer.begin_transaction()
    for key, value in values.items():
        await producer.send(topic, value, key=key.encode())
    await producer.flush()
    raise SystemExit


def test_keys_stay_where_they_are_when_partitions_are_added(backings: Backings) -> None:
    """Otherwise a key stood in two partitions, and the one that is read last won, the older one, too."""
    first = backings.new()
    before = {f"key-{number}": b"before" for number in range(20)}
    first.multi_put(before)
    with Admin(bootstrap_servers=backings.topics.bootstrap_servers) as admin:
        admin.create_partitions({backings.topic: 5}).raise_errors()
    second = backings.new()
    assert second.multi_get(["key-0"]) == [b"before"]
    after = {f"key-{number}": b"after" for number in range(30)}
    second.multi_put(after)
    second.multi_put(after)
    assert backings.new().multi_get(list(after)) == [b"after"] * 30


def test_a_state_in_a_topic_outlives_its_process(backings: Backings) -> None:
    OpaqueState[int](backings.new()).update(0, {"a": lambda old: (old or 0) + 1})
    later = OpaqueState[int](backings.new())
    later.update(1, {"a": lambda old: (old or 0) + 10, "b": lambda _: 5})
    again = OpaqueState[int](backings.new())
    assert again.update(1, {"a": lambda old: (old or 0) + 2}) == {"a": 3}
    assert again.get("ab") == {"a": 3}


def test_a_topic_that_is_not_compacted_is_refused(topics: Any) -> None:
    backing = TopicBacking(topics.new(), {"bootstrap.servers": topics.bootstrap_servers})
    with pytest.raises(ConfigError, match=r"cleanup\.policy=delete"):
        backing.multi_get(["a"])
    backing.close()


@pytest.mark.slow
def test_a_state_knows_the_query_whose_function_changes_it(
    spark: Any, backings: Backings, tmp_path: Path
) -> None:
    state = TransactionalState[int](backings.new())

    def run(checkpoint: str) -> None:
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        query = (
            rows.writeStream.foreachBatch(
                lambda _, batch: state.update(batch, {"batches": lambda old: (old or 0) + 1})
            )
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(100)

    run("first")
    found = state.get(["batches"])
    assert found["batches"] > 0
    with pytest.raises(StreamingQueryException, match="the state belongs to query"):
        run("second")
    assert TransactionalState[int](backings.new()).get(["batches"]) == found
