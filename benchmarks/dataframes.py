"""DataFrames from a topic, and into one, on Apache Spark (local[2]): our format beside Spark's own Kafka connector, over a broker of ours.

`MILLSTREAM_BENCHMARK_RECORDS` (default 1,000,000) records of 100 B in two partitions, read by Spark alone and copied, at least once and exactly
once (ours alone has that); then the latency of one record, the processor time of a query that has nothing to do, and the time to plan
1,000 partitions. Runs are in turns as in benchmarks/pipeline.py; `MILLSTREAM_SPARK_KAFKA_JARS` names the peer's four jars (comma separated).
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.pipeline import (
    JARS,
    PARTITIONS,
    PER_BATCH,
    RECORDS,
    SOURCE,
    Pipeline,
    compare,
    cpu_seconds,
    create,
    fill,
)
from benchmarks.pipeline_latency import PAUSE_S, WARM_UP, Ends
from millstream.clients import Admin, NewTopic, Producer
from millstream.spark import SparkOptions, configure
from millstream.spark.connections import close_connections
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.stream_reader import StreamReader
from millstream.testing.broker import Broker

BROKERS: Final = "kafka.bootstrap.servers"
OURS, THEIRS = "millstream", "kafka"
FORMATS: Final = (OURS, THEIRS) if JARS else (OURS,)
LATENCY_RECORDS: Final = 200
IDLE_S: Final = 20
MANY_PARTITIONS: Final = 1_000
PLANNED: Final = 20


def source(session: Any, format_: str, bootstrap: str, topic: str) -> Any:
    rows = session.readStream.format(format_).option(BROKERS, bootstrap).option("subscribe", topic)
    return rows.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", str(PER_BATCH))


def sink(rows: Any, format_: str, bootstrap: str, out: str, guarantee: str) -> Any:
    writer = rows.writeStream.format(format_).option(BROKERS, bootstrap).option("topic", out)
    return writer if format_ == THEIRS else writer.option("deliveryGuarantee", guarantee)


def read_alone(session: Any, format_: str, bootstrap: str) -> Pipeline:
    def run(_out: str, directory: str) -> None:
        rows = source(session, format_, bootstrap, SOURCE).load()
        writer = rows.writeStream.format("noop").option("checkpointLocation", f"{directory}/c")
        writer.trigger(availableNow=True).start().awaitTermination()

    return run


def copied(
    session: Any, format_: str, bootstrap: str, guarantee: str = "at-least-once"
) -> Pipeline:
    def run(out: str, directory: str) -> None:
        rows = source(session, format_, bootstrap, SOURCE).load().selectExpr("key", "value")
        writer = sink(rows, format_, bootstrap, out, guarantee)
        writer = writer.option("checkpointLocation", f"{directory}/c")
        writer.trigger(availableNow=True).start().awaitTermination()

    return run


@contextmanager
def running(session: Any, format_: str, bootstrap: str, guarantee: str) -> Iterator[Ends]:
    """A query that copies one partition, as soon as something is there."""
    number = threading.get_native_id() + time.monotonic_ns()
    topic, out = f"in-{number}", f"out-{number}"
    asyncio.run(create_with(bootstrap, 1, topic, out))
    with tempfile.TemporaryDirectory() as directory:
        rows = source(session, format_, bootstrap, topic).load().selectExpr("key", "value")
        writer = sink(rows, format_, bootstrap, out, guarantee)
        query = writer.option("checkpointLocation", f"{directory}/c").start()
        ends = Ends(bootstrap, topic, out, 1)
        try:
            ends.once()
            yield ends
        finally:
            ends.close()
            query.stop()


async def create_with(bootstrap: str, partitions: int, *names: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(name, partitions) for name in names])).raise_errors()


def latency(session: Any, format_: str, bootstrap: str, guarantee: str) -> None:
    with running(session, format_, bootstrap, guarantee) as ends:
        times = []
        for _ in range(WARM_UP + LATENCY_RECORDS):
            times.append(ends.once())
            time.sleep(PAUSE_S)
    times = sorted(times[WARM_UP:])
    print(
        f"  one record, {format_}, {guarantee:<16} p50 {1000 * statistics.median(times):6.1f} ms"
        f"   p99 {1000 * times[len(times) * 99 // 100]:6.1f} ms",
        flush=True,
    )


def idle(session: Any, format_: str, bootstrap: str, broker_pid: int) -> None:
    """Processor time of a query without records, that of the waiting clients around it included."""
    with running(session, format_, bootstrap, "at-least-once"):
        time.sleep(2)
        before = cpu_seconds(broker_pid)
        time.sleep(IDLE_S)
        used = cpu_seconds(broker_pid) - before
    print(f"  nothing to do, {format_:<24} {100 * used / IDLE_S:5.1f} % of a processor", flush=True)


async def fill_all(bootstrap: str, topic: str) -> None:
    async with Producer(bootstrap_servers=bootstrap, linger_ms=5) as producer:
        for number in range(MANY_PARTITIONS):
            await producer.send(topic, b"x", partition=number)


def planned(bootstrap: str) -> None:
    """Every partition has one record, read and unread in turn."""
    asyncio.run(create_with(bootstrap, MANY_PARTITIONS, "many"))
    asyncio.run(fill_all(bootstrap, "many"))
    reader = StreamReader(
        parse_source_options(
            {BROKERS: bootstrap, "subscribe": "many", "startingOffsets": "earliest"}
        )
    )
    begin = reader.initialOffset()
    times = []
    for _ in range(PLANNED):
        started = time.perf_counter()
        end = reader.latestOffset(begin, reader.getDefaultReadLimit())
        assert len(reader.partitions(begin, end)) == MANY_PARTITIONS
        times.append(time.perf_counter() - started)
    close_connections()
    print(
        f"  {MANY_PARTITIONS:,} partitions planned in {1000 * statistics.median(times):.0f} ms",
        flush=True,
    )


def throughput(session: Any, bootstrap: str, broker_pid: int) -> None:
    jobs: tuple[tuple[str, Callable[[str], Pipeline]], ...] = (
        ("read alone", lambda format_: read_alone(session, format_, bootstrap)),
        ("copied", lambda format_: copied(session, format_, bootstrap)),
    )
    for job, pipeline in jobs:
        names = {f"{format_}, {job}": pipeline(format_) for format_ in FORMATS}
        exactly_once = f"{OURS}, {job} exactly once"
        if job == "copied":
            names[exactly_once] = copied(session, OURS, bootstrap, "exactly-once")
        best = compare(names, bootstrap, broker_pid)
        for ours in (name for name in names if name.startswith(OURS) and JARS):
            ratio = best[ours].records_per_s / best[f"{THEIRS}, {job}"].records_per_s
            print(f"  {ours}: {ratio:.2f} x Spark's connector", flush=True)


def main() -> None:
    if os.getsid(0) != os.getpid() and os.getpgrp() != os.getpid():
        os.setsid()  # whatever is started belongs to it
    with tempfile.TemporaryDirectory() as data, Broker(in_process=False, data=Path(data)) as broker:
        bootstrap, pid = broker.bootstrap_servers, broker.pid or 0
        asyncio.run(create(bootstrap, SOURCE))
        asyncio.run(fill(bootstrap))
        planned(bootstrap)
        extra = {"spark.jars": JARS} if JARS else {}
        session = configure(SparkOptions(master="local[2]"), **extra)
        session.sparkContext.setLogLevel("FATAL")
        print(f"  {RECORDS:,} records of 100 B, {PARTITIONS} partitions, local[2]")
        throughput(session, bootstrap, pid)
        latency(session, OURS, bootstrap, "at-least-once")
        latency(session, OURS, bootstrap, "exactly-once")
        if JARS:
            latency(session, THEIRS, bootstrap, "at-least-once")
        for format_ in FORMATS:
            idle(session, format_, bootstrap, pid)
        if not JARS:
            print("  no peer: MILLSTREAM_SPARK_KAFKA_JARS names no jars of Spark's Kafka connector")
        session.stop()


if __name__ == "__main__":
    main()
