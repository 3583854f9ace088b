"""Topic to topic on Apache Spark (local[2]): copied, counted, counted by window; a second, and processor time, over a broker of ours.

`MILLSTREAM_BENCHMARK_RECORDS` (default 1,000,000) records of 100 B in two partitions, exactly once on our side. Every pipeline runs once to
warm up and then in turns, ours and the peer's, A B A B; the better of two runs counts. Processor time is that of everything but the broker:
driver, JVM, Python workers, task hosts. The peer is Spark's own Kafka connector, at least once, when `MILLSTREAM_SPARK_KAFKA_JARS` names its
four jars (comma separated); the wheel of PySpark holds none of them.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.clients import Admin, NewTopic, Producer
from millstream.spark import RunnerOptions, SparkOptions, SparkStreams, configure
from millstream.streams import StreamsBuilder
from millstream.streams.config import ProcessingGuarantee, StreamsConfig
from millstream.streams.serdes import bytes_, long, string
from millstream.streams.topology import Topology
from millstream.streams.windows import TimeWindows
from millstream.testing.broker import Broker

RECORDS = int(os.environ.get("MILLSTREAM_BENCHMARK_RECORDS", "1000000"))
JARS = os.environ.get("MILLSTREAM_SPARK_KAFKA_JARS", "")
PARTITIONS = 2
KEYS = 1_000
SLICE = 50_000
PER_BATCH = 200_000
CACHE_BYTES = 10 * 1024 * 1024
SOURCE = "records"
START_MS = 1_700_000_000_000
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_NUMBERS = count()

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


async def fill(bootstrap: str, records: int = RECORDS) -> None:
    """Keys in turn, one millisecond apart."""
    async with Producer(bootstrap_servers=bootstrap, linger_ms=5) as producer:
        for first in range(0, records, SLICE):
            numbers = np.arange(first, min(first + SLICE, records))
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


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a pipeline."""

    records_per_s: float
    cpu_s_per_million: float


def on_topology(
    session: Any,
    bootstrap: str,
    build: Callable[[str], Topology],
    guarantee: ProcessingGuarantee = ProcessingGuarantee.EXACTLY_ONCE_V2,
) -> Pipeline:
    def run(out: str, directory: str) -> None:
        options = RunnerOptions(
            bootstrap_servers=bootstrap, directory=directory, records_per_trigger_max=PER_BATCH
        )
        config = StreamsConfig(
            application_id=f"app-{out}",
            cache_max_bytes=CACHE_BYTES,
            processing_guarantee=guarantee,
        )
        with SparkStreams(build(out), config, session, options) as application:
            application.run_available()

    return run


def on_format(session: Any, format_: str, bootstrap: str, shape: str = "copied") -> Pipeline:
    """Spark's DataFrame from a source to a sink: our format, or Spark's Kafka connector."""
    name = "kafka.bootstrap.servers"

    def run(out: str, directory: str) -> None:
        from pyspark.sql.functions import col, window

        limit = "maxOffsetsPerTrigger"  # the name both understand
        source = session.readStream.format(format_).option(name, bootstrap)
        source = source.option("subscribe", SOURCE).option("startingOffsets", "earliest")
        rows = source.option(limit, str(PER_BATCH)).load()
        if shape == "copied":
            rows = rows.selectExpr("key", "value")
        else:
            by = (
                [col("key")]
                if shape == "counted"
                else [col("key"), window("timestamp", "10 seconds")]
            )
            rows = rows.groupBy(*by).count().selectExpr("key", "cast(count as string) as value")
        sink = rows.writeStream.format(format_).option(name, bootstrap).option("topic", out)
        sink = sink.option("checkpointLocation", f"{directory}/checkpoint")
        if shape != "copied":
            sink = sink.outputMode("update")
        sink.trigger(availableNow=True).start().awaitTermination()

    return run


def run_once(name: str, bootstrap: str, broker_pid: int, pipeline: Pipeline) -> Run:
    out = f"{''.join(c if c.isalnum() else '-' for c in name)}-{next(_NUMBERS)}"
    asyncio.run(create(bootstrap, out))
    with tempfile.TemporaryDirectory() as directory:
        start, cpu = time.perf_counter(), cpu_seconds(broker_pid)
        pipeline(out, directory)
        took = time.perf_counter() - start
    return Run(RECORDS / took, (cpu_seconds(broker_pid) - cpu) * 1_000_000 / RECORDS)


def cpu_seconds(broker_pid: int) -> float:
    """Of all processes of this session but the broker, and of their children that have ended."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == os.getsid(0) and int(pid) != broker_pid:
            ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS_A_SECOND


def compare(names: dict[str, Pipeline], bootstrap: str, broker_pid: int) -> dict[str, Run]:
    """Runs the pipelines in turns, the first time to warm up, and prints the better of the two runs that count."""
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for _ in range(3):
        for name, pipeline in names.items():
            runs[name].append(run_once(name, bootstrap, broker_pid, pipeline))
    best = {}
    for name, each in runs.items():
        rate = max(run.records_per_s for run in each[1:])
        best[name] = Run(rate, statistics.fmean(run.cpu_s_per_million for run in each[1:]))
        print(
            f"  {name:<40} {rate:>10,.0f} records/s {best[name].cpu_s_per_million:>6.2f} CPU s/M"
            f"   (first {each[0].records_per_s:,.0f})",
            flush=True,
        )
    return best


def main() -> None:
    if os.getsid(0) != os.getpid() and os.getpgrp() != os.getpid():
        os.setsid()  # whatever is started belongs to it
    with tempfile.TemporaryDirectory() as data, Broker(in_process=False, data=Path(data)) as broker:
        bootstrap, pid = broker.bootstrap_servers, broker.pid or 0
        asyncio.run(create(bootstrap, SOURCE))
        asyncio.run(fill(bootstrap))
        extra = {"spark.jars": JARS} if JARS else {}
        session = configure(SparkOptions(master="local[2]"), **extra)
        session.sparkContext.setLogLevel("FATAL")
        print(f"  {RECORDS:,} records of 100 B, {PARTITIONS} partitions, local[2]")
        for shape, build in (
            ("copied", copied),
            ("counted", counted),
            ("counted by window", counted_by_window),
        ):
            ours = f"topology, {shape}"
            pipelines = {ours: on_topology(session, bootstrap, build)}
            if JARS:
                theirs = f"Spark's connector, {shape}"
                pipelines[theirs] = on_format(session, "kafka", bootstrap, shape)
            if shape == "copied":
                at_least_once = ProcessingGuarantee.AT_LEAST_ONCE
                pipelines["topology at least once, copied"] = on_topology(
                    session, bootstrap, build, at_least_once
                )
                pipelines["format, copied"] = on_format(session, "millstream", bootstrap)
            best = compare(pipelines, bootstrap, pid)
            if JARS:
                faster = best[ours].records_per_s / best[theirs].records_per_s
                cpu = best[ours].cpu_s_per_million / best[theirs].cpu_s_per_million
                print(f"  {shape}: ours / Spark's connector {faster:.2f}, processor time {cpu:.2f}")
        if not JARS:
            print("  no peer: MILLSTREAM_SPARK_KAFKA_JARS names no jars of Spark's Kafka connector")
        session.stop()


if __name__ == "__main__":
    main()
