"""SIGKILL of the whole application, driver, JVM and Python workers, again and again: state counts once, outputs at least once."""

from __future__ import annotations

import asyncio
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from millstream.cli.demo.data import load_flights, load_side_table
from millstream.cli.demo.pipeline import _create_topics, _produce
from millstream.cli.demo.results import read_results
from millstream.cli.demo.topology import BY_AIRLINE, BY_ORIGIN_AND_DAY
from millstream.cli.demo.verification import expected
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1000)]

FLIGHTS = 6_000
LIMIT = 600
SEED = int(os.environ.get("MILLSTREAM_KILL_SEED", "2013"))
KILLS = int(os.environ.get("MILLSTREAM_KILLS", "3"))

_APPLICATION = """
import sys
from millstream.cli.demo.topology import APPLICATION_ID, flights_topology
from millstream.spark import MicroBatchRunner, RunnerOptions, SparkOptions, configure
from millstream.streams.config import StreamsConfig
bootstrap, directory, limit = sys.argv[1:]
session = configure(SparkOptions(master="local[2]", short_lived=True))
session.sparkContext.setLogLevel("OFF")
runner = MicroBatchRunner(
    flights_topology(), StreamsConfig(application_id=APPLICATION_ID), session,
    RunnerOptions(bootstrap_servers=bootstrap, directory=directory, records_per_trigger_max=int(limit)),
)
runner.run_available(lambda progress: print("batch", progress.sub_topology, progress.batch_id, flush=True))
print("done", flush=True)
session.stop()
"""


class Run:
    """The application in a session of its own, so that everything it starts can be found."""

    def __init__(self, broker: Broker, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _APPLICATION, broker.bootstrap_servers, str(directory), str(LIMIT)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
            start_new_session=True,
        )  # fmt: skip

    def micro_batches(self, wanted: int, then_s: float) -> bool:
        """Lets it do so many micro-batches, and a little more. False when it came to its end."""
        assert self.process.stdout is not None
        for _ in range(wanted):
            if self.process.stdout.readline().strip() in {"done", ""}:
                return False
        deadline = time.monotonic() + then_s
        while (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([self.process.stdout], [], [], left)
            if ready and self.process.stdout.readline().strip() in {"done", ""}:
                return False
        return True

    def finish(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.read().rstrip().endswith("done")
        assert self.process.wait(LONG_ENOUGH_S) == 0
        self.process.stdout.close()

    def kill(self) -> None:
        """Everything at once; Spark's worker daemon has a process group of its own, but the same session."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it ended between listing and killing
        self.process.wait(LONG_ENOUGH_S)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def processes(self) -> list[int]:
        return [
            pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._is_ours(pid)
        ]

    def _is_ours(self, pid: int) -> bool:
        try:
            state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return state != "Z" and int(fields[2]) == self.process.pid

    def wait_for_orphans(self) -> list[int]:
        """What is left of it ten seconds later."""
        deadline = time.monotonic() + LONG_ENOUGH_S
        while (left := self.processes()) and time.monotonic() < deadline:
            select.select([], [], [], 0.1)
        return left


def test_an_application_killed_again_and_again_counts_each_flight_once(
    topics: Any, tmp_path: Path
) -> None:
    chance = random.Random(SEED)
    table = load_flights(FLIGHTS)
    with Broker(in_process=False) as broker:
        asyncio.run(_create_topics(broker.bootstrap_servers))
        asyncio.run(_produce(broker.bootstrap_servers, table, lambda _: None))
        kills = 0
        for _ in range(KILLS):
            run = Run(broker, tmp_path)
            unfinished = run.micro_batches(chance.randrange(1, 6), chance.random())
            run.kill()
            assert run.wait_for_orphans() == []
            kills += unfinished
        last = Run(broker, tmp_path)
        last.finish()
        assert last.wait_for_orphans() == []
        assert kills, "at least one kill came in the middle of work"

        wanted = expected(table, load_side_table("airlines"))
        results = asyncio.run(read_results(broker.bootstrap_servers))
        place = f"seed {SEED}, {kills} kills"
        assert results.windows == wanted.windows, place
        assert results.airlines == wanted.airlines, place
        assert results.set_aside >= wanted.set_aside, place
        check_every_update_is_there(topics.of(broker), wanted, place)


def check_every_update_is_there(topics: Any, wanted: Any, place: str) -> None:
    """A key's n-th update says n flights, so that one to n must all be found, duplicates or not."""
    import orjson

    for topic, finals in (
        (BY_AIRLINE, {key.encode(): value.flights for key, value in wanted.airlines.items()}),
        (BY_ORIGIN_AND_DAY, None),
    ):
        seen: dict[bytes, set[int]] = {}
        for record in topics.get(topic):
            seen.setdefault(record["key"], set()).add(orjson.loads(record["value"])["flights"])
        assert all(numbers == set(range(1, max(numbers) + 1)) for numbers in seen.values()), place
        if finals is not None:
            assert {key: max(numbers) for key, numbers in seen.items()} == finals, place
