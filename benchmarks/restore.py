"""Stores restored from their changelogs, as a task does that has lost them: records of 100 bytes per second, over a broker of ours.

`MILLSTREAM_BENCHMARK_RECORDS` (default 1,000,000) records of 1,000 keys, and of as many keys as records. In memory: read and put into the
store by the kernel alone. RocksDB: the start of a task with an empty directory, from the fence to stores that are caught up; and of two
tasks, each with so many records, in two processes, as two task hosts do. The bar is 1,000,000 a second where keys repeat and of
two tasks together; the better of two runs counts.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from millstream.clients import Admin, NewTopic, OffsetAndMetadata, Producer, RangeReader
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.kernel import StreamTask
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.columns import raw_batch
from millstream.streams.runtime.process import prepare
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.serdes import bytes_
from millstream.streams.state import in_memory_stores
from millstream.streams.topology import Topology
from millstream.testing.broker import Broker

RECORDS = int(os.environ.get("MILLSTREAM_BENCHMARK_RECORDS", "1000000"))
SLICE: Final = 50_000
ROUNDS: Final = 2
PARTITIONS: Final = 2
PATIENCE_S: Final = 300
"""A process that has failed is not waited for any longer."""
BAR: Final = 1_000_000
START_MS: Final = 1_700_000_000_000


class Rate(NamedTuple):
    """Of one restore."""

    per_second: float
    cpu_s_per_million: float


class Clients(NamedTuple):
    """Those of the benchmark."""

    admin: Admin
    reader: RangeReader
    producer: Producer
    servers: str


def latest() -> Topology:
    """Keeps the last value of each key."""
    builder = StreamsBuilder()
    builder.stream("in", key=bytes_(), value=bytes_()).group_by_key().reduce(lambda _, value: value)
    return builder.build()


async def fill(clients: Clients, topic: str, keys: int, partition: int) -> None:
    """Keys in no order."""
    numbers = np.random.default_rng(1).permutation(RECORDS)
    for first in range(0, RECORDS, SLICE):
        some = numbers[first : first + SLICE]
        rows = pa.RecordBatch.from_pydict(
            {
                "key": pa.array([b"key-%012d" % (n % keys) for n in some], pa.binary()),
                "value": pa.array([b"%084d" % n for n in some], pa.binary()),
                "timestamp": pa.array(START_MS + some),
            }
        )
        await clients.producer.send_batch(topic, rows, partition=partition)
    await clients.producer.flush()


async def in_memory(clients: Clients, topology: Topology, application: str) -> Rate:
    task = StreamTask(topology, 0, 0, in_memory_stores(), StreamsConfig(application))
    (topic,) = task.state.changelogs.values()
    started, cpu = time.perf_counter(), time.process_time()
    async for rows in clients.reader.read(topic, 0, 0, RECORDS, columns=("headers",)):
        task.state.restore(topic, raw_batch(rows))
    rate = rated(started, cpu)
    task.close()
    return rate


async def in_rocksdb(
    clients: Clients, topology: Topology, application: str, partition: int = 0
) -> Rate:
    tasks = TaskClients(
        clients.reader, clients.admin, lambda _: Producer(bootstrap_servers=clients.servers)
    )
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(1) as kernel:
        spec = TaskSpec(
            topology=topology,
            sub_topology=0,
            config=StreamsConfig(application),
            state_directory=directory,
        )
        started, cpu = time.perf_counter(), time.process_time()
        task = await TaskStart(
            spec, partition, TaskEnvironment(tasks, SystemClock(), kernel)
        ).start()
        rate = rated(started, cpu)
        report = await task.run({})
        assert report.restored == RECORDS, report
        await task.close()
    return rate


def restore_partition(servers: str, application: str, partition: int, together: Barrier) -> None:
    """The program of one process. All of them restore between the first and the second time that they meet."""
    prepare()

    async def restore() -> None:
        async with connected(servers) as clients:
            together.wait()
            await in_rocksdb(clients, latest(), application, partition)
            together.wait()

    asyncio.run(restore())


def in_processes(servers: str, application: str) -> float:
    """Returns the records a second of all of them."""
    context = get_context("spawn")
    together = context.Barrier(PARTITIONS + 1, timeout=PATIENCE_S)
    processes = [
        context.Process(target=restore_partition, args=(servers, application, number, together))
        for number in range(PARTITIONS)
    ]
    for process in processes:
        process.start()
    together.wait()
    started = time.perf_counter()
    together.wait()
    elapsed = time.perf_counter() - started
    for process in processes:
        process.join()
    return PARTITIONS * RECORDS / elapsed


def rated(started: float, cpu: float) -> Rate:
    elapsed, used = time.perf_counter() - started, time.process_time() - cpu
    return Rate(RECORDS / elapsed, used / RECORDS * 1e6)


async def measure(clients: Clients, keys: int) -> None:
    application, topology = f"restore-{keys}", latest()
    (changelog,) = topology.topics_of(topology.sub_topologies[0], application).changelogs
    (await clients.admin.create_topics([NewTopic(changelog, PARTITIONS)])).raise_errors()
    for partition in range(PARTITIONS):
        await fill(clients, changelog, keys, partition)
    done = {TopicPartition("in", number): OffsetAndMetadata(0) for number in range(PARTITIONS)}
    (await clients.admin.alter_consumer_group_offsets(application, done)).raise_errors()
    for where, restore in (("memory", in_memory), ("RocksDB", in_rocksdb)):
        rates = [await restore(clients, topology, application) for _ in range(ROUNDS)]
        rate = max(rates)
        missed = "  MISSED" if keys < RECORDS and rate.per_second < BAR else ""
        print(
            f"restored, {keys:9,} keys  {where:8} {rate.per_second / 1000:6.0f} k/s "
            f"{rate.cpu_s_per_million:5.2f} CPU s per million{missed}"
        )


@asynccontextmanager
async def connected(servers: str) -> AsyncIterator[Clients]:
    async with (
        Admin(bootstrap_servers=servers) as admin,
        RangeReader(bootstrap_servers=servers, isolation_level="read_committed") as reader,
        Producer(bootstrap_servers=servers, linger_ms=5) as producer,
    ):
        yield Clients(admin, reader, producer, servers)


async def run(servers: str) -> None:
    async with connected(servers) as clients:
        (await clients.admin.create_topics([NewTopic("in", PARTITIONS)])).raise_errors()
        for keys in (1_000, RECORDS):
            await measure(clients, keys)


def main() -> None:
    prepare()  # as task hosts and processes of stream threads are
    with Broker(in_process=False) as broker:
        asyncio.run(run(broker.bootstrap_servers))
        for keys in (1_000, RECORDS):
            rate = max(
                in_processes(broker.bootstrap_servers, f"restore-{keys}") for _ in range(ROUNDS)
            )
            missed = "  MISSED" if rate < BAR else ""
            print(
                f"restored, {keys:9,} keys  RocksDB, {PARTITIONS} tasks in {PARTITIONS} processes "
                f"{rate / 1000:6.0f} k/s{missed}"
            )


if __name__ == "__main__":
    main()
