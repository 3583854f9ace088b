"""Applications on stream threads: one thread, two threads of one process, and two processes, in turns over a broker of ours.

`MILLSTREAM_BENCHMARK_RECORDS` (default 2,000,000) records of 100 B in four partitions. The clock starts when a fifth of them is committed, since a
process imports with its first records what others have imported before, and stops when all are. The broker runs on the same cores, so its share of processor time is printed, too: it is what two threads cannot have.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Final

import psutil

from benchmarks.pipeline import CACHE_BYTES, KEYS, SOURCE, counted, fill
from millstream.clients import Admin, NewTopic
from millstream.streams import KafkaStreams, StreamsBuilder, StreamsConfig, Topology
from millstream.streams.application.states import ApplicationState
from millstream.streams.serdes import bytes_, long, string
from millstream.testing.broker import Broker

RECORDS: Final = int(os.environ.get("MILLSTREAM_BENCHMARK_RECORDS", "2000000"))
PARTITIONS: Final = 4
ROUNDS: Final = 2
LOOK_S: Final = 0.005
_NUMBERS = count()


def mapped(out: str) -> Topology:
    """A Python function for each record, and each record written."""
    builder = StreamsBuilder()
    stream = builder.stream(SOURCE, key=bytes_(), value=string())
    stream.map_values(lambda value: value.upper().strip()).to(out, value=string())
    return builder.build()


def aggregated(out: str) -> Topology:
    """A Python function for each record, over a table."""

    def checked_sum(_key: str, value: str, total: int) -> int:
        return total + sum(map(int, value[-16:]))

    builder = StreamsBuilder()
    stream = builder.stream(SOURCE, key=string(), value=string())
    grouped = stream.group_by_key(key=string(), value=string())
    grouped.aggregate(lambda: 0, checked_sum, value=long()).to_stream().to(out, value=long())
    return builder.build()


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    topology: Callable[[str], Topology]
    cache_max_bytes: int


@dataclass(frozen=True, slots=True)
class Threads:
    name: str
    count: int
    use_processes: bool


SHAPES: Final = (
    Shape("map", mapped, 0),
    Shape("count, cached", counted, CACHE_BYTES),
    Shape("aggregate, cached", aggregated, CACHE_BYTES),
)
THREADS: Final = (
    Threads("1 thread", 1, use_processes=False),
    Threads("2 threads", 2, use_processes=False),
    Threads("2 processes", 2, use_processes=True),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: records a second, and the cores that the broker kept busy."""

    rate: float
    broker_cores: float


async def measured(shape: Shape, threads: Threads, broker: Broker) -> Measured:
    out = f"out-{next(_NUMBERS)}"
    servers = broker.bootstrap_servers
    async with Admin(bootstrap_servers=servers) as admin:
        (await admin.create_topics([NewTopic(out, PARTITIONS)])).raise_errors()
    with tempfile.TemporaryDirectory() as directory:
        config = StreamsConfig(
            application_id=f"application-{out}",
            processing_guarantee="exactly_once_v2",
            state_dir=directory,
            num_stream_threads=threads.count,
            use_processes=threads.use_processes,
            cache_max_bytes=shape.cache_max_bytes,
            poll_ms=10,
        )
        async with KafkaStreams(
            shape.topology(out), config, {"bootstrap.servers": servers}
        ) as application:
            application.pause()
            await _until(lambda: _is_ready(application, threads.count))
            application.resume()
            await _until(lambda: _committed(application) >= RECORDS // 5)
            used, started, before = _cpu_s(broker), time.perf_counter(), _committed(application)
            await _until(lambda: _committed(application) >= RECORDS)
            took_s = time.perf_counter() - started
            return Measured((RECORDS - before) / took_s, (_cpu_s(broker) - used) / took_s)


async def _until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110  # an application says nothing of each commit
        await asyncio.sleep(LOOK_S)


def _is_ready(application: KafkaStreams, threads: int) -> bool:
    shares = [len(tasks) for tasks in application.tasks.values()]
    is_running = application.state is ApplicationState.RUNNING
    return is_running and shares == [PARTITIONS // threads] * threads


def _committed(application: KafkaStreams) -> int:
    return sum(report.position.get(SOURCE, 0) for report in application.reports.values())


def _cpu_s(broker: Broker) -> float:
    times = psutil.Process(broker.pid).cpu_times()
    return float(times.user + times.system)


async def run() -> None:
    with Broker(in_process=False) as broker:
        async with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            (await admin.create_topics([NewTopic(SOURCE, PARTITIONS)])).raise_errors()
        await fill(broker.bootstrap_servers, RECORDS)
        print(f"{RECORDS:,} records, {KEYS:,} keys, {PARTITIONS} tasks, exactly once")
        for shape in SHAPES:
            best: dict[Threads, Measured] = {}
            for _ in range(ROUNDS):
                for threads in THREADS:
                    result = await measured(shape, threads, broker)
                    if threads not in best or result.rate > best[threads].rate:
                        best[threads] = result
            alone = best[THREADS[0]].rate
            for threads in THREADS:
                each = best[threads]
                print(
                    f"{shape.name:18} {threads.name:12} {each.rate:10,.0f} records/s  "
                    f"{each.rate / alone:5.2f} of one thread  broker {each.broker_cores:.2f} cores",
                    flush=True,
                )


if __name__ == "__main__":
    asyncio.run(run())
