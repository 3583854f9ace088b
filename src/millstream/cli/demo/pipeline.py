"""The demo from start to end: broker, topics, data in, Spark, results out, the same numbers again, a picture."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.cli.demo import topology as topics
from millstream.cli.demo.broker_process import BrokerProcess
from millstream.cli.demo.data import SIDE_TABLES, as_records, load_flights, load_side_table
from millstream.cli.demo.display import DemoStep, Display
from millstream.cli.demo.picture import draw
from millstream.cli.demo.results import read_results
from millstream.cli.demo.verification import Comparison, TopologyResults, compare, expected
from millstream.clients import Producer
from millstream.clients.admin import Admin, NewTopic
from millstream.spark import Progress, RunnerOptions, SparkStreams
from millstream.spark.session import SparkOptions, configure
from millstream.streams.config import StreamsConfig

if TYPE_CHECKING:
    import pyarrow as pa

PARTITIONS: Final = 2
RECORDS_PER_TRIGGER: Final = 120_000
"""Three micro-batches of all flights: enough to see progress."""
_SLICE_ROWS: Final = 20_000
"""Flights that are written at a time, so that a bar can move."""
CACHE_BYTES: Final = 10 * 1024 * 1024
"""Kafka's default of statestore.cache.max.bytes: what goes out are the results of a micro-batch, not of every
flight."""
STARTING: Final = "start the tasks"
RUNNING: Final = "run the topology on Spark"


@dataclass(slots=True)
class DemoOutcome:
    """The result of the demo. `sub_topology_records`: records that each sub-topology has read."""

    flights: int
    results: TopologyResults
    comparison: Comparison
    picture: str
    sub_topology_records: dict[int, int] = field(default_factory=dict)


def run_demo(rows: int | None, picture: Path, display: Display) -> DemoOutcome:
    """Runs everything in a temporary directory that is gone afterwards; only the picture stays."""
    with tempfile.TemporaryDirectory(prefix="millstream-demo-") as directory:
        return _run(rows, picture, Path(directory), display)


def _run(rows: int | None, picture: Path, directory: Path, display: Display) -> DemoOutcome:
    with display.step("read the flights from their file"):
        flights = load_flights(rows)
        airlines = load_side_table("airlines")
    with display.step("start a broker"):
        broker = BrokerProcess(directory / "broker")
    with broker:
        with display.step("create topics"):
            asyncio.run(_create_topics(broker.bootstrap_servers))
        with display.step(
            "produce the flights and their side tables", _input_records(flights)
        ) as step:
            asyncio.run(_produce(broker.bootstrap_servers, flights, step.advance))
        records = _run_on_spark(
            broker.bootstrap_servers, directory / "spark", flights.num_rows, display
        )
        with display.step("read the results back"):
            results = asyncio.run(read_results(broker.bootstrap_servers))
    with display.step("compute the same from the files"):
        comparison = compare(expected(flights, airlines), results)
    with display.step("draw the picture"):
        picture.parent.mkdir(parents=True, exist_ok=True)
        draw(results.windows, str(picture))
    return DemoOutcome(flights.num_rows, results, comparison, str(picture), records)


def _input_records(flights: pa.Table) -> int:
    return int(flights.num_rows + sum(load_side_table(name).num_rows for name in SIDE_TABLES))


async def _create_topics(bootstrap_servers: str) -> None:
    """Old records in topics with default retention would be deleted within minutes: retention looks at record time."""
    names = [
        topics.FLIGHTS,
        topics.SET_ASIDE,
        topics.BY_ORIGIN_AND_DAY,
        topics.BY_AIRLINE,
        *SIDE_TABLES,
    ]
    async with Admin(bootstrap_servers=bootstrap_servers) as admin:
        wanted = [NewTopic(name, PARTITIONS, configs={"retention.ms": "-1"}) for name in names]
        (await admin.create_topics(wanted)).raise_errors()


async def _produce(
    bootstrap_servers: str, flights: pa.Table, advance: Callable[[int], None]
) -> None:
    """Tables first, then flights keyed by airline, so that a flight and its airline meet in one partition."""
    async with Producer(
        bootstrap_servers=bootstrap_servers, compression_type="lz4", linger_ms=5
    ) as producer:
        for name, key in SIDE_TABLES.items():
            await _send(producer, name, as_records(load_side_table(name), key), advance)
        for start in range(0, flights.num_rows, _SLICE_ROWS):
            await _send(
                producer,
                topics.FLIGHTS,
                as_records(flights.slice(start, _SLICE_ROWS), "carrier"),
                advance,
            )
        await producer.flush()


async def _send(
    producer: Producer, topic: str, records: pa.Table, advance: Callable[[int], None]
) -> None:
    for batch in records.to_batches():
        await producer.send_batch(topic, batch)
        advance(batch.num_rows)


def _run_on_spark(
    bootstrap_servers: str, directory: Path, flights: int, display: Display
) -> dict[int, int]:
    with display.step("start Apache Spark"):
        session = configure(
            SparkOptions(app_name="millstream flights", stream_tasks=PARTITIONS, short_lived=True)
        )
        session.sparkContext.setLogLevel("FATAL")
    try:
        runner = SparkStreams(
            topics.flights_topology(),
            StreamsConfig(application_id=topics.APPLICATION_ID, cache_max_bytes=CACHE_BYTES),
            session,
            RunnerOptions(
                bootstrap_servers=bootstrap_servers,
                directory=str(directory),
                show_progress=False,
                records_per_trigger_max=RECORDS_PER_TRIGGER,
            ),
        )
        records: dict[int, int] = {}
        with _shown(display, flights, records) as observe:
            runner.run_available(observe)
        return records
    finally:
        session.stop()


@contextmanager
def _shown(
    display: Display, flights: int, records: dict[int, int]
) -> Iterator[Callable[[Progress], None]]:
    """Shows two steps: the first micro-batch, in which Spark starts its workers and they their hosts, and all others.

    The bar, and the rate, count what the first sub-topology reads in the second step: every flight once.
    """
    with ExitStack() as under_way:
        under_way.enter_context(display.step(STARTING))
        running: DemoStep | None = None

        def observe(progress: Progress) -> None:
            nonlocal running
            number = progress.sub_topology
            records[number] = records.get(number, 0) + progress.input_records
            if running is None:
                under_way.close()
                running = under_way.enter_context(display.step(RUNNING, flights))
            elif number == 0:
                running.advance(progress.input_records)

        yield observe
