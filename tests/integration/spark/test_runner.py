"""Topologies on Spark: the demo's against its expectation, restarts, lost stores, failing functions, killed workers."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream.cli.demo import topology as flights
from millstream.cli.demo.data import load_flights, load_side_table
from millstream.cli.demo.verification import compare, expected
from millstream.spark import MicroBatchRunner, PipelineFailed, Progress, RunnerOptions
from millstream.streams import JoinWindows, OffsetReset, StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import long, string
from millstream.streams.topology import Topology
from millstream.testing.broker import Broker
from tests.support.late_workers import started

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1000)]


class Application:
    """A topology that is run again and again on the same directory."""

    def __init__(self, spark: Any, topics: Any, topology: Topology, directory: Path) -> None:
        self.spark, self.topics, self.topology, self.directory = spark, topics, topology, directory
        self.name = f"app-{directory.parent.name}"

    def runner(self, limit: int | None = None) -> MicroBatchRunner:
        return MicroBatchRunner(
            self.topology,
            StreamsConfig(application_id=self.name),
            self.spark,
            RunnerOptions(
                bootstrap_servers=self.topics.bootstrap_servers,
                directory=str(self.directory),
                records_per_trigger_max=limit,
            ),
        )

    def run(self, limit: int | None = None) -> list[tuple[int, int]]:
        """Sub-topology and number of records of each micro-batch that had any."""
        seen: list[Progress] = []
        with self.runner(limit) as runner:
            runner.run_available(seen.append)
        return [(p.sub_topology, p.input_records) for p in seen if p.input_records]


def word_count(source: str, out: str, *, check: Callable[[str], str] = str) -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream(source, key=string(), value=string())
        .map_values(check)
        .group_by(lambda _, word: word, key=string(), value=string())
        .count()
        .to_stream()
        .to(out, value=long())
    )
    return builder.build()


@pytest.fixture
def counting(spark: Any, topics: Any, tmp_path: Path) -> Application:
    topology = word_count(topics.new("words", 2), topics.new("counts", 2))
    return Application(spark, topics, topology, tmp_path / "application")


def put_words(application: Application, *words: str) -> None:
    source = application.topology.topics_of(application.topology.sub_topologies[0], "x").sources[0]
    application.topics.put(
        source, [{"value": w.encode(), "partition": i % 2} for i, w in enumerate(words)]
    )


def counts(application: Application) -> dict[str, int]:
    out = application.topology.topics_of(application.topology.sub_topologies[1], "x").sinks[0]
    records = application.topics.get(out)
    return {r["key"].decode(): int.from_bytes(r["value"], "big") for r in records}


def test_state_goes_on_over_micro_batches_restarts_and_a_lost_directory(
    counting: Application,
) -> None:
    put_words(counting, *"abcabca")
    first = counting.run(limit=4)
    assert [n for sub, n in first if sub == 0] == [4, 3]
    assert counts(counting) == {"a": 3, "b": 2, "c": 2}

    assert counting.run() == [], "nothing is processed twice"

    shutil.rmtree(counting.directory / "state")
    put_words(counting, *"ad")
    counting.run()
    assert counts(counting) == {"a": 4, "b": 2, "c": 2, "d": 1}

    shutil.rmtree(counting.directory)
    put_words(counting, "d")
    counting.run()
    assert counts(counting)["d"] == 2


def test_a_first_run_begins_where_reset_says(spark: Any, topics: Any, tmp_path: Path) -> None:
    late, hour, out = topics.new("late"), topics.new("hour"), topics.new("out")
    builder = StreamsBuilder()
    for topic, reset in ((late, OffsetReset.LATEST), (hour, timedelta(hours=1))):
        builder.stream(topic, key=string(), value=string(), reset=reset).to(out)
    now_ms = int(time.time() * 1000)
    topics.put(late, [{"value": b"late before"}])
    old, young = now_ms - 7_200_000, now_ms
    topics.put(
        hour,
        [
            {"value": b"two hours ago", "timestamp_ms": old},
            {"value": b"now", "timestamp_ms": young},
        ],
    )
    application = Application(spark, topics, builder.build(), tmp_path / "application")
    application.run()
    assert [r["value"] for r in topics.get(out)] == [b"now"]
    topics.put(late, [{"value": b"late after"}])
    application.run()
    assert [r["value"] for r in topics.get(out)] == [b"now", b"late after"]


def test_a_windowed_join_over_a_backlog_finds_every_pair(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    dense, sparse, out = topics.new("dense"), topics.new("sparse"), topics.new("out")
    builder = StreamsBuilder()
    windows = JoinWindows.of(timedelta(milliseconds=10))
    left = builder.stream(dense, key=string(), value=string())
    right = builder.stream(sparse, key=string(), value=string())
    pairs = left.join(right, lambda a, b: f"{a} {b}", windows=windows)
    pairs.to(out, key=string(), value=string())
    times = range(10_000, 70_000, 100)
    topics.put(dense, [{"key": b"k", "value": b"%d" % t, "timestamp_ms": t} for t in times])
    rare = times[::10]
    topics.put(sparse, [{"key": b"k", "value": b"%d" % t, "timestamp_ms": t} for t in rare])
    application = Application(spark, topics, builder.build(), tmp_path / "application")
    batches = application.run(limit=150)
    assert len(batches) > 3
    assert [r["value"].decode() for r in topics.get(out)] == [f"{t} {t}" for t in rare]


def test_executors_with_disks_of_their_own_count_on_for_each_other(counting: Application) -> None:
    """The stores of another executor are a directory that was put aside, and comes back when the task does."""
    state, elsewhere = counting.directory / "state", counting.directory / "elsewhere"
    for times in range(1, 5):
        put_words(counting, *"abca")
        counting.run()
        assert counts(counting) == {"a": 2 * times, "b": times, "c": times}
        if elsewhere.exists():
            state.rename(counting.directory / "third")
            elsewhere.rename(state)
            (counting.directory / "third").rename(elsewhere)
        else:
            state.rename(elsewhere)


def test_the_demo_equals_its_expectation_and_nothing_is_done_twice(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    from millstream.cli.demo.pipeline import _create_topics, _produce
    from millstream.cli.demo.results import read_results

    table, airlines = load_flights(20_000), load_side_table("airlines")
    with Broker(in_process=False) as broker:
        asyncio.run(_create_topics(broker.bootstrap_servers))
        asyncio.run(_produce(broker.bootstrap_servers, table, lambda _: None))
        application = Application(
            spark, topics.of(broker), flights.flights_topology(), tmp_path / "application"
        )
        application.run(limit=8_000)
        results = asyncio.run(read_results(broker.bootstrap_servers))
        assert compare(expected(table, airlines), results).differences == []
        assert application.run() == []
        assert asyncio.run(read_results(broker.bootstrap_servers)) == results


def test_a_failing_function_is_told_with_node_topic_and_offset(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    def check(word: str) -> str:
        if word == "bad":
            raise ValueError("no such word")
        return word

    source = topics.new("words")
    topology = word_count(source, topics.new("counts"), check=check)
    topics.put(source, [{"value": b"good"}, {"value": b"bad"}])
    with pytest.raises(PipelineFailed) as failed:
        Application(spark, topics, topology, tmp_path / "application").run()
    said = str(failed.value)
    assert "KSTREAM-MAPVALUES-0000000001" in said
    assert f"{source}-0" in said
    assert "no such word" in said
    assert "\n" not in said, "one sentence, no traceback"


def test_the_task_of_a_killed_host_is_done_once_by_the_next(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    marker = str(tmp_path / "killed")

    def check(word: str) -> str:
        if word == "kill" and not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return word

    source, out = topics.new("words"), topics.new("counts")
    application = Application(
        spark, topics, word_count(source, out, check=check), tmp_path / "application"
    )
    topics.put(source, [{"value": word} for word in (b"a", b"kill", b"a")])
    application.run(limit=2)
    assert counts(application) == {"a": 2, "kill": 1}


def test_one_failing_query_stops_the_others(spark: Any, topics: Any, tmp_path: Path) -> None:
    def check(word: str) -> str:
        raise ValueError(word)

    source = topics.new("words")
    topology = word_count(source, topics.new("counts"), check=check)
    runner = Application(spark, topics, topology, tmp_path / "application").runner()
    states: list[str] = []

    def close_after_an_error(state: str, _before: str) -> None:
        states.append(str(state))
        if state == "ERROR":
            runner.close()

    runner.on_state_change(close_after_an_error)
    runner.start()
    assert runner.await_termination(0.1) is False
    topics.put(source, [{"value": b"bad"}])
    with pytest.raises(PipelineFailed, match="sub-topology 0 failed"):
        runner.await_termination(200)
    runner.close()
    assert states == ["RUNNING", "PENDING_ERROR", "ERROR", "PENDING_SHUTDOWN", "NOT_RUNNING"]


def test_an_application_may_be_closed_by_its_own_observer(counting: Application) -> None:
    put_words(counting, *"ab")
    runner = counting.runner()
    runner.on_progress(lambda _: runner.close())
    runner.start()
    assert runner.await_termination(200)
    assert runner.state == "NOT_RUNNING"


def test_a_paused_application_processes_nothing_until_it_is_resumed(
    counting: Application,
) -> None:
    runner = counting.runner()
    runner.pause()
    runner.start()
    assert (runner.state, runner.is_paused) == ("RUNNING", True)
    put_words(counting, *"ab")
    assert runner.await_termination(2) is False
    assert dict(runner.last_progress) == {}
    runner.resume()
    wait_until(lambda: counts(counting) == {"a": 1, "b": 1}, runner)
    runner.close()
    assert (runner.state, runner.await_termination(0)) == ("NOT_RUNNING", True)


def test_a_broker_may_restart_under_a_running_query(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    with Broker(in_process=False) as broker:
        topics = topics.of(broker)
        topology = word_count(topics.new("words", 2), topics.new("counts", 2))
        application = Application(spark, topics, topology, tmp_path / "application")
        runner = application.runner()
        put_words(application, *"ab")

        def start() -> None:
            runner.start()
            wait_until(lambda: counts(application) == {"a": 1, "b": 1}, runner)

        started(start)
        broker.restart()
        put_words(application, *"ac")
        wait_until(lambda: counts(application) == {"a": 2, "b": 1, "c": 1}, runner)
        assert runner.await_termination(0.1) is False, "it still runs"
        runner.stop()


def wait_until(done: Callable[[], bool], runner: MicroBatchRunner) -> None:
    for _ in range(800):
        if done():
            return
        assert runner.await_termination(0.5) is False
    raise AssertionError("the query did not get that far")


def test_a_missing_source_topic_is_named(spark: Any, topics: Any, tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="source topic no-such does not exist: create it"):
        Application(spark, topics, word_count("no-such", "out"), tmp_path / "application").runner()
