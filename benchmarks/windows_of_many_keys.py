"""A count by windows of 10 s over 10,000 keys in random order, as an application: hardly two records of a batch have one row.

    python -m benchmarks.windows_of_many_keys [--records N] [--rounds N] [--at-least-once] [--two-processes]

100 B and 1 ms a record, four partitions, RocksDB, a changelog, a cache of 10 MB. Processor time is that of the application
with its clients, and with `--two-processes` that of its processes; the broker has its own. The clock runs from a fifth of the records on.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from datetime import timedelta
from typing import Final

import numpy as np
import psutil
import pyarrow as pa

from millstream.clients import Admin, NewTopic, Producer
from millstream.streams import KafkaStreams, StreamsBuilder, StreamsConfig, Topology
from millstream.streams.application.states import ApplicationState
from millstream.streams.serdes import bytes_, long, string
from millstream.streams.windows import TimeWindows
from millstream.testing.broker import Broker

PARTITIONS: Final = 4
KEYS: Final = 10_000
CACHE_BYTES: Final = 10 * 1024 * 1024
SLICE: Final = 50_000
START_MS: Final = 1_700_000_000_000
SOURCE: Final = "records"
LOOK_S: Final = 0.02


def counted(out: str) -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream(SOURCE, key=string(), value=bytes_()).group_by_key(
        key=string(), value=bytes_()
    )
    windows = TimeWindows.tumbling(timedelta(seconds=10), grace=timedelta(minutes=1))
    grouped.windowed_by(windows).count().to_stream().to(out, value=long())
    return builder.build()


async def fill(servers: str, records: int) -> None:
    random = np.random.default_rng(1)
    async with Producer(bootstrap_servers=servers, linger_ms=5) as producer:
        for first in range(0, records, SLICE):
            numbers = np.arange(first, min(first + SLICE, records))
            keys = random.integers(0, KEYS, len(numbers))
            rows = pa.RecordBatch.from_pydict(
                {
                    "key": pa.array([b"key-%05d" % n for n in keys], pa.binary()),
                    "value": pa.array([b"%091d" % n for n in numbers], pa.binary()),
                    "timestamp": pa.array(START_MS + numbers),
                }
            )
            await producer.send_batch(SOURCE, rows)


async def measure(servers: str, out: str, options: argparse.Namespace) -> tuple[float, float]:
    """Returns records a second, and seconds of processor time a million records."""
    async with Admin(bootstrap_servers=servers) as admin:
        (await admin.create_topics([NewTopic(out, PARTITIONS)])).raise_errors()
    with tempfile.TemporaryDirectory() as directory:
        config = StreamsConfig(
            application_id=f"application-{out}",
            processing_guarantee=("at_least_once" if options.at_least_once else "exactly_once_v2"),
            state_dir=directory,
            num_stream_threads=2 if options.two_processes else 1,
            use_processes=options.two_processes,
            cache_max_bytes=CACHE_BYTES,
        )
        async with KafkaStreams(counted(out), config, {"bootstrap.servers": servers}) as running:
            await _until(running, options.records // 5)
            before, used, started = _done(running), _cpu_s(options), time.perf_counter()
            await _until(running, options.records)
            records, took_s = _done(running) - before, time.perf_counter() - started
            return records / took_s, (_cpu_s(options) - used) / records * 1e6


async def _until(running: KafkaStreams, records: int) -> None:
    while _done(running) < records:
        if running.state in {ApplicationState.ERROR, ApplicationState.PENDING_ERROR}:
            raise SystemExit("the application has failed")
        await asyncio.sleep(LOOK_S)


def _done(running: KafkaStreams) -> int:
    return sum(report.position.get(SOURCE, 0) for report in running.reports.values())


def _cpu_s(options: argparse.Namespace) -> float:
    """Of this process, and of those that it has started but for the broker."""
    if not options.two_processes:
        return time.process_time()
    ours = [psutil.Process(), *psutil.Process().children(recursive=True)]
    times = [each.cpu_times() for each in ours if each.pid != options.broker]
    return sum(each.user + each.system for each in times)


async def run(servers: str, options: argparse.Namespace) -> None:
    async with Admin(bootstrap_servers=servers) as admin:
        (await admin.create_topics([NewTopic(SOURCE, PARTITIONS)])).raise_errors()
    await fill(servers, options.records)
    for number in range(options.rounds):
        rate, cpu_s = await measure(servers, f"out-{number}", options)
        print(f"{rate / 1000:6.0f} k/s  {cpu_s:5.2f} CPU s per million records", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-least-once", action="store_true")
    parser.add_argument("--two-processes", action="store_true")
    options = parser.parse_args()
    with Broker(in_process=False) as broker:
        options.broker = broker.pid
        asyncio.run(run(broker.bootstrap_servers, options))


if __name__ == "__main__":
    main()
