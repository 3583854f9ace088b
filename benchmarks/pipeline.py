"""Topic to topic on Apache Spark (local[2]): copied, counted, counted by window; records a second over a broker of ours.

`MILLSTREAM_BENCHMARK_RECORDS` (default 1,000,000) records of 100 B in two partitions. Each pipeline runs twice in one
session and the second run counts: the first one starts Python workers. The peer is Spark's own Kafka connector, for the
copy, when `MILLSTREAM_SPARK_KAFKA_JARS` names its four jars (comma separated); the wheel of PySpark holds none of them.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.clients import Admin, NewTopic, Producer
from millstream.spark import MicroBatchRunner, RunnerOptions, SparkOptions, configure
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import bytes_, long, string
from millstream.streams.topology import Topology
from millstream.streams.windows import TimeWindows
from millstream.testing.broker import Broker

RECORDS = int(os.environ.get("MILLSTREAM_BENCHMARK_RECORDS", "1000000"))
JARS = os.environ.get("MILLSTREAM_SPARK_KAFKA_JARS", "")
PARTITIONS = 2
KEYS = 1_000
SLICE = 50_000
SOURCE = "records"
START_MS = 1_700_000_000_000

Pipeline = Callable[[str, str], None]
"""Takes the output topic and a directory of its own."""


def copied(out: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(SOURCE, key=bytes_(), value=bytes_()).to(out)
    return builder.build()


def counted(out: str) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream(SOURCE, key=string(), value=bytes_())
    stream.group_by_key(key=string(), value=bytes_()).count().to_stream().to(out, value=long())
    return builder.build()


def counted_by_window(out: str) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream(SOURCE, key=string(), value=bytes_())
    windows = TimeWindows.tumbling(timedelta(seconds=10), grace=timedelta(days=1))
    grouped = stream.group_by_key(key=string(), value=bytes_())
    grouped.windowed_by(windows).count().to_stream().to(out, value=long())
    return builder.build()


async def fill(bootstrap: str) -> None:
    """Keys in turn, one millisecond apart."""
    async with Producer(bootstrap_servers=bootstrap, linger_ms=5) as producer:
        for first in range(0, RECORDS, SLICE):
            numbers = np.arange(first, min(first + SLICE, RECORDS))
            rows = pa.RecordBatch.from_pydict(
                {
                    "key": pa.array([b"key-%04d" % (n % KEYS) for n in numbers], pa.binary()),
                    "value": pa.array([b"%092d" % n for n in numbers], pa.binary()),
                    "timestamp": pa.array(START_MS + numbers),
                }
            )
            await producer.send_batch(SOURCE, rows)


async def create(bootstrap: str, *names: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        wanted = [NewTopic(name, PARTITIONS, configs={"retention.ms": "-1"}) for name in names]
        (await admin.create_topics(wanted)).raise_errors()


def on_runner(session: Any, bootstrap: str, build: Callable[[str], Topology]) -> Pipeline:
    def run(out: str, directory: str) -> None:
        options = RunnerOptions(bootstrap_servers=bootstrap, directory=directory)
        config = StreamsConfig(application_id=f"app-{out}")
        MicroBatchRunner(build(out), config, session, options).run_available()

    return run


def on_format(session: Any, format_: str, bootstrap: str) -> Pipeline:
    """Spark's DataFrame from our source to our sink, or the same through Spark's Kafka connector."""
    name = "kafka.bootstrap.servers"

    def run(out: str, directory: str) -> None:
        limit = "maxOffsetsPerTrigger"  # the name both understand
        source = session.readStream.format(format_).option(name, bootstrap)
        source = source.option("subscribe", SOURCE).option("startingOffsets", "earliest")
        rows = source.option(limit, "200000").load().selectExpr("key", "value")
        sink = rows.writeStream.format(format_).option(name, bootstrap).option("topic", out)
        sink = sink.option("checkpointLocation", f"{directory}/checkpoint")
        sink.trigger(availableNow=True).start().awaitTermination()

    return run


def measure(name: str, bootstrap: str, pipeline: Pipeline) -> float:
    rates = []
    for attempt in (1, 2):
        out = f"{name.replace(' ', '-').replace(',', '')}-{attempt}"
        asyncio.run(create(bootstrap, out))
        with tempfile.TemporaryDirectory() as directory:
            start = time.perf_counter()
            pipeline(out, directory)
            rates.append(RECORDS / (time.perf_counter() - start))
    print(f"  {name:<36} {rates[1]:>10,.0f} records/s   (first run {rates[0]:,.0f})", flush=True)
    return rates[1]


def main() -> None:
    with tempfile.TemporaryDirectory() as data, Broker(in_process=False, data=Path(data)) as broker:
        bootstrap = broker.bootstrap_servers
        asyncio.run(create(bootstrap, SOURCE))
        asyncio.run(fill(bootstrap))
        extra = {"spark.jars": JARS} if JARS else {}
        session = configure(SparkOptions(master="local[2]"), **extra)
        session.sparkContext.setLogLevel("FATAL")
        print(f"  {RECORDS:,} records of 100 B, {PARTITIONS} partitions, local[2]")
        for name, build in (
            ("topology, copied", copied),
            ("topology, counted", counted),
            ("topology, counted by window", counted_by_window),
        ):
            measure(name, bootstrap, on_runner(session, bootstrap, build))
        ours = measure("format, copied", bootstrap, on_format(session, "millstream", bootstrap))
        if JARS:
            theirs = measure(
                "Spark's connector, copied", bootstrap, on_format(session, "kafka", bootstrap)
            )
            print(f"  ours / Spark's connector: {ours / theirs:.2f}")
        else:
            print("  no peer: MILLSTREAM_SPARK_KAFKA_JARS names no jars of Spark's Kafka connector")
        session.stop()


if __name__ == "__main__":
    main()
