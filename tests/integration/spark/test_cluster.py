"""A topology on executors that are processes of their own: where its tasks go, and what happens when executors come and go.

`make test` runs the one within a process; `make cluster` all.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from millstream.clients import RangeReader
from millstream.testing.broker import Broker
from tests.integration.spark.cluster_application import OUT, SOURCE
from tests.integration.spark.standalone_cluster import (
    SMALL_EXECUTOR,
    StandaloneCluster,
    executors_among,
    linked_spark_home,
    processes_of,
    standalone_cluster,
)
from tests.patience import LONG_ENOUGH_S, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

PATIENCE_S = 2 * LONG_ENOUGH_S


class Driver:
    """The application in a process and session of its own, and what it has said."""

    def __init__(
        self,
        master: str,
        broker: Broker,
        log: Path,
        environment: Mapping[str, str],
        **settings: Any,
    ) -> None:
        settings = {"spark": dict(SMALL_EXECUTOR), **settings}
        self._log = log
        self._out = log.with_suffix(".out")
        with log.open("ab") as errors, self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.spark.cluster_application",
                 master, broker.bootstrap_servers, json.dumps(settings)],
                env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=out, stderr=errors,
                start_new_session=True,
            )  # fmt: skip

    def said(self) -> list[dict[str, Any]]:
        lines = self._out.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def progress(self) -> list[dict[str, Any]]:
        return [each for each in self.said() if "records" in each]

    def wait_for(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert self.process.poll() is None, self._log.read_text()[-3000:]
            assert time.monotonic() < deadline, self._log.read_text()[-3000:]
            time.sleep(0.2)

    def close(self) -> None:
        """Has it end in order."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(LONG_ENOUGH_S)
        assert code == 0, self._log.read_text()[-3000:]
        assert self.said()[-1] == {"closed": True}

    def kill(self) -> None:
        """Kills driver and JVM at once."""
        for pid in processes_of(self.process.pid):
            with suppress(ProcessLookupError):  # it has ended by itself meanwhile
                os.kill(pid, signal.SIGKILL)
        self.process.wait(LONG_ENOUGH_S)
        assert self.process.stdin is not None
        self.process.stdin.close()

    def executors(self) -> dict[str, int]:
        """Those of a local-cluster, which the driver has started."""
        return executors_among(processes_of(self.process.pid))

    def places(self) -> dict[str, str]:
        return self.progress()[-1]["places"] if self.progress() else {}


@contextmanager
def driver(*given: Any, **settings: Any) -> Iterator[Driver]:
    running = Driver(*given, **settings)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()
    wait_until(lambda: processes_of(running.process.pid) == [])


class Words:
    """What was written to the source, and what came out of it for readers that see what is committed."""

    def __init__(self, topics: Any) -> None:
        self._topics = topics
        self.written: Counter[str] = Counter()
        topics.create(SOURCE, 2)
        topics.create(OUT, 2)

    def write(self, count: int) -> None:
        words = [f"word-{n % 7}" for n in range(count)]
        self.written.update(words)
        records = [{"value": w.encode(), "partition": n % 2} for n, w in enumerate(words)]
        self._topics.put(SOURCE, records)

    def read(self) -> list[tuple[str, int]]:
        async def read() -> list[tuple[str, int]]:
            found = []
            async with RangeReader(
                bootstrap_servers=self._topics.bootstrap_servers, isolation_level="read_committed"
            ) as reader:
                for partition, end in (await reader.offsets(OUT, -1)).items():
                    async for batch in reader.read(OUT, partition, 0, end):
                        found += [
                            (row["key"].decode(), int.from_bytes(row["value"], "big"))
                            for row in batch.to_pylist()
                        ]
            return found

        return asyncio.run(read())

    def are_counted(self) -> bool:
        return len(self.read()) >= self.written.total()

    def every_update(self) -> list[tuple[str, int]]:
        """A word's n-th occurrence says n, once."""
        return sorted(
            (word, n) for word, total in self.written.items() for n in range(1, total + 1)
        )


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    with Broker(in_process=False) as running:
        yield running


@pytest.fixture
def words(own_broker: Broker, topics: Any) -> Words:
    return Words(topics.of(own_broker))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.mark.cluster
def test_executors_are_killed_and_added_under_a_running_application(
    cluster: StandaloneCluster, own_broker: Broker, words: Words, tmp_path: Path
) -> None:
    given = cluster.url, own_broker, tmp_path / "driver.log", cluster.environment
    shared = {"application_id": "count", "directory": str(tmp_path / "shared"), "records_max": 100}
    with driver(*given, **shared) as running:
        running.wait_for(lambda: len(cluster.executors()) == 2)
        words.write(400)
        running.wait_for(words.are_counted)
        assert sorted(words.read()) == words.every_update()
        check_that_tasks_stay(running)

        words.write(400)
        gone = kill_an_executor_at_work(running, cluster)
        running.wait_for(words.are_counted)
        assert sorted(words.read()) == words.every_update()
        assert gone not in running.places().values()

        running.wait_for(lambda: len(cluster.executors()) == 2)
        cluster.add_worker()

        def is_shared_by_three() -> bool:
            words.write(10)
            running.wait_for(words.are_counted)
            return len(set(running.places().values())) == 3

        running.wait_for(is_shared_by_three)
        assert sorted(words.read()) == words.every_update()
        running.close()


def test_a_cluster_within_one_process_has_executors_with_disks_of_their_own(
    own_broker: Broker, words: Words, tmp_path: Path
) -> None:
    environment = {"SPARK_HOME": str(linked_spark_home(tmp_path / "spark"))}
    given = "local-cluster[2,1,1024]", own_broker, tmp_path / "driver.log", environment
    own = {"application_id": "count", "directory": str(tmp_path / "{executor}"), "records_max": 50}
    with driver(*given, **own) as running:
        words.write(200)
        running.wait_for(words.are_counted)
        check_that_tasks_stay(running)
        words.write(200)
        kill_an_executor_at_work(running, running)
        running.wait_for(words.are_counted)
        assert sorted(words.read()) == words.every_update()
        assert sum(each["restored"] for each in running.progress()) > 0

        def is_on_three_disks() -> bool:
            """Two executors have had tasks, and the one that replaced one of them, once it is there."""
            words.write(10)
            running.wait_for(words.are_counted)
            return (
                len({path.parts[-4] for path in tmp_path.glob("*/state/count/*-repartition_*")})
                == 3
            )

        running.wait_for(is_on_three_disks)
        assert sorted(words.read()) == words.every_update()
        running.close()


@pytest.mark.cluster
def test_a_task_goes_to_its_standby_when_its_executor_is_killed(
    own_broker: Broker, words: Words, tmp_path: Path
) -> None:
    environment = {"SPARK_HOME": str(linked_spark_home(tmp_path / "spark"))}
    given = "local-cluster[2,1,1024]", own_broker, tmp_path / "driver.log", environment
    own = {"application_id": "count", "directory": str(tmp_path / "{executor}"), "standbys": 1}
    with driver(*given, **own) as running:
        words.write(300)
        running.wait_for(words.are_counted)

        def standbys() -> dict[str, str]:
            words.write(2)
            running.wait_for(words.are_counted)
            found: dict[str, str] = running.progress()[-1]["standbys"]
            return found

        running.wait_for(lambda: standbys().keys() == {"1_0", "1_1"})
        kept, before, progress = standbys(), running.places(), len(running.progress())
        assert all(kept[task] != before[task] for task in kept)

        os.kill(running.executors()[before["1_0"]], signal.SIGKILL)
        words.write(30)
        running.wait_for(words.are_counted)
        assert sorted(words.read()) == words.every_update()
        assert running.places()["1_0"] == kept["1_0"]
        assert sum(each["restored"] for each in running.progress()[progress:]) <= 30
        running.close()


@pytest.mark.cluster
def test_the_next_driver_goes_on_and_executors_that_idle_away_take_nothing_with_them(
    cluster: StandaloneCluster, own_broker: Broker, words: Words, tmp_path: Path
) -> None:
    dynamic = SMALL_EXECUTOR | {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
    }
    given = cluster.url, own_broker, tmp_path / "driver.log", cluster.environment
    own = {"application_id": "count", "directory": str(tmp_path / "{executor}"), "records_max": 50}
    with driver(*given, **own, spark=dynamic) as first:
        words.write(200)
        before = len(first.progress())
        first.wait_for(lambda: len(first.progress()) > before)
        first.kill()
    with driver(*given, **own, spark=dynamic) as second:
        second.wait_for(words.are_counted)
        assert sorted(words.read()) == words.every_update()
        second.wait_for(lambda: cluster.executors() == {})
        words.write(50)
        second.wait_for(words.are_counted)
        assert sorted(words.read()) == words.every_update()
        second.close()


def kill_an_executor_at_work(running: Driver, executors: StandaloneCluster | Driver) -> str:
    before = len(running.progress())
    running.wait_for(lambda: len(running.progress()) > before)
    number = running.places()["1_0"]
    os.kill(executors.executors()[number], signal.SIGKILL)
    return number


def check_that_tasks_stay(running: Driver) -> None:
    last = running.places()
    assert len(set(last.values())) == 2, "both executors have tasks"
    latest = [each["places"] for each in running.progress()[-4:]]
    assert all(last.items() >= each.items() for each in latest)
