"""The time a micro-batch takes on Apache Spark (local[2]): from a record to the topic behind a topology, and by the number of tasks.

Latency: one record a time is produced to a pass-through topology that runs; the time until a consumer with read_committed has what
comes out. Tasks: every partition of the source has a record in each micro-batch. The peer is Spark's own Kafka connector with a trigger
as soon as possible, at least once, when `MILLSTREAM_SPARK_KAFKA_JARS` names its four jars (comma separated).

    python -m benchmarks.pipeline_latency [--records 200] [--rounds 20]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from millstream.clients import Admin, NewTopic, blocking
from millstream.model import TopicPartition
from millstream.spark import RunnerOptions, SparkOptions, SparkStreams, configure
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import bytes_
from millstream.streams.topology import Topology
from millstream.testing.broker import Broker

JARS: Final = os.environ.get("MILLSTREAM_SPARK_KAFKA_JARS", "")
PARTITIONS: Final = (1, 10, 100)
WARM_UP: Final = 20
VALUE: Final = b"x" * 100
PAUSE_S: Final = 0.02
"""Between an answer and the next record, so that a micro-batch does not begin with the record there already."""
LIMIT_S: Final = 30


def copied(source: str, out: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(source, key=bytes_(), value=bytes_()).to(out)
    return builder.build()


@contextmanager
def on_topology(session: Any, servers: str, source: str, out: str) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as directory:
        options = RunnerOptions(bootstrap_servers=servers, directory=directory)
        config = StreamsConfig(application_id=f"app-{out}")
        with SparkStreams(copied(source, out), config, session, options) as application:
            application.start()
            yield


@contextmanager
def on_connector(session: Any, servers: str, source: str, out: str) -> Iterator[None]:
    name = "kafka.bootstrap.servers"
    with tempfile.TemporaryDirectory() as directory:
        rows = session.readStream.format("kafka").option(name, servers).option("subscribe", source)
        rows = rows.option("startingOffsets", "earliest").load().selectExpr("key", "value")
        sink = rows.writeStream.format("kafka").option(name, servers).option("topic", out)
        query = sink.option("checkpointLocation", f"{directory}/checkpoint").start()
        try:
            yield
        finally:
            query.stop()


PIPELINES: Final = {"topology, exactly once": on_topology} | (
    {"Spark's connector, at least once": on_connector} if JARS else {}
)


class Ends:
    """Produces to every partition of a topic and waits until as many records have come out of another."""

    def __init__(self, servers: str, source: str, out: str, partitions: int) -> None:
        self._source = source
        self._partitions = partitions
        self._producer = blocking.Producer(bootstrap_servers=servers, linger_ms=0)
        self._consumer = blocking.Consumer(
            bootstrap_servers=servers,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        )
        self._consumer.assign([TopicPartition(out, number) for number in range(partitions)])

    def once(self) -> float:
        """Returns the seconds from the first record to the last that comes out."""
        start = time.perf_counter()
        for number in range(self._partitions):
            self._producer.send(self._source, VALUE, partition=number)
        left = self._partitions
        while left > 0:
            left -= len(self._consumer.poll(timeout_ms=1_000))
            if time.perf_counter() - start > LIMIT_S:
                raise TimeoutError(f"{left} records have not come out in {LIMIT_S} s")
        return time.perf_counter() - start

    def close(self) -> None:
        self._producer.close()
        self._consumer.close()


def measured(session: Any, servers: str, name: str, partitions: int, records: int) -> list[float]:
    """Returns the seconds of each round, sorted."""
    number = threading.get_native_id() + time.monotonic_ns()
    source, out = f"in-{number}", f"out-{number}"
    asyncio.run(create(servers, partitions, source, out))
    with PIPELINES[name](session, servers, source, out):
        ends = Ends(servers, source, out, partitions)
        try:
            times = []
            for _ in range(WARM_UP + records):
                times.append(ends.once())
                time.sleep(PAUSE_S)
        finally:
            ends.close()
    return sorted(times[WARM_UP:])


async def create(servers: str, partitions: int, *names: str) -> None:
    async with Admin(bootstrap_servers=servers) as admin:
        (await admin.create_topics([NewTopic(name, partitions) for name in names])).raise_errors()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    with Broker(in_process=False) as broker:
        servers = broker.bootstrap_servers
        session = configure(
            SparkOptions(master="local[2]"), **({"spark.jars": JARS} if JARS else {})
        )
        session.sparkContext.setLogLevel("FATAL")
        print("  one record at a time, two rounds in turns (ms)")
        for _ in range(2):
            for name in PIPELINES:
                times = measured(session, servers, name, 1, arguments.records)
                print(
                    f"    {name:<34} p50 {1000 * statistics.median(times):6.1f}"
                    f"   p90 {1000 * times[len(times) * 9 // 10]:6.1f}"
                    f"   p99 {1000 * times[len(times) * 99 // 100]:6.1f}",
                    flush=True,
                )
        print("  a record in each partition at a time, median (ms)")
        for name in PIPELINES:
            medians = {
                count: 1000
                * statistics.median(measured(session, servers, name, count, arguments.rounds))
                for count in PARTITIONS
            }
            more = (medians[PARTITIONS[-1]] - medians[1]) / (PARTITIONS[-1] - 1)
            row = ", ".join(f"{count}: {each:.0f}" for count, each in medians.items())
            print(f"    {name:<34} {row}; {more:.1f} for each task more", flush=True)
        if not JARS:
            print("  no peer: MILLSTREAM_SPARK_KAFKA_JARS names no jars of Spark's Kafka connector")
        session.stop()


if __name__ == "__main__":
    main()
