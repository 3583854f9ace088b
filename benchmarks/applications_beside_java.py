"""Applications on one stream thread, ours and Kafka Streams' in Java, in turns over one broker of ours.

    python -m benchmarks.applications_beside_java [--only rates|latency|rebalances|quixstreams] [--rounds 2]

`MILLSTREAM_BENCHMARK_RECORDS` (default 1,000,000) records of 100 B, 1,000 keys, in one partition. Java runs when
MILLSTREAM_KAFKA_CLASSPATH names the jars of Kafka Streams with its dependencies; its heap is 1 GiB. Both sides have the same
topologies (beside_java/), serdes, stores (RocksDB), settings (commit.interval.ms=100, but 1,000 where 100 tasks move, a record cache of 10 MB unless a row says otherwise) and the
streams protocol, and are watched from outside in the same way. A B A B; the better of two counts. A few minutes.
quixstreams, of build/peers (scripts/setup-peers), runs what it has of these topologies on a fifth of the records.
Rows are those of docs/benchmarks.md; a ratio below its bar is in bold.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa

from benchmarks.beside_java import latency, rates, rebalances
from benchmarks.beside_java.instances import (
    COMMIT_INTERVAL_MS,
    OURS,
    Cluster,
    Side,
    java_side,
    quixstreams_side,
)
from benchmarks.beside_java.rates import KEEPS_ALL, Rate
from benchmarks.pipeline import KEYS, SOURCE, START_MS, fill
from millstream.clients import NewTopic, Producer, blocking
from millstream.testing.broker import Broker

RECORDS: Final = int(os.environ.get("MILLSTREAM_BENCHMARK_RECORDS", "1000000"))
LATENCY_S: Final = 5.0
HEARTBEAT_INTERVAL_MS: Final = 500
BROKER_SETTINGS: Final = {
    "group.streams.min.heartbeat.interval.ms": "200",
    "group.streams.heartbeat.interval.ms": str(HEARTBEAT_INTERVAL_MS),
    "group.streams.initial.rebalance.delay.ms": "0",
}
PARTS: Final = ("rates", "latency", "rebalances", "quixstreams")
M = TypeVar("M")


async def fill_table(servers: str) -> None:
    """A value for each key, older than all records of the stream."""
    async with Producer(bootstrap_servers=servers) as producer:
        rows = pa.RecordBatch.from_pydict(
            {
                "key": pa.array([b"key-%04d" % n for n in range(KEYS)], pa.binary()),
                "value": pa.array([b"%092d" % n for n in range(KEYS)], pa.binary()),
                "timestamp": pa.array(START_MS - KEYS + np.arange(KEYS)),
            }
        )
        await producer.send_batch(f"{SOURCE}-table", rows)


def in_turns(sides: list[Side], rounds: int, measure: Callable[[Side], M]) -> list[list[M]]:
    """Returns what was measured of each side."""
    measured: list[list[M]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, each in zip(sides, measured, strict=True):
            each.append(measure(side))
    return measured


def row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def headed(*cells: str) -> None:
    print()
    row(*cells)
    print("|---" * len(cells) + "|")


def marked(text: str, *, is_met: bool) -> str:
    return text if is_met else f"**{text}**"


def show_rates(
    sides: list[Side], rounds: int, cluster: Cluster, cases: tuple[rates.Case, ...], records: int
) -> None:
    """The peer is the last of the sides."""
    name = sides[-1].name if len(sides) > 1 else ""
    headed(f"{records:,} records", "ours", name, "ratio", "bar", "CPU s a million: ours, peer")

    for case in cases:

        def measure(side: Side, case: rates.Case = case) -> Rate:
            return rates.measured(side, case, SOURCE, records, cluster)

        measured = in_turns(sides, rounds, measure)
        best = [max(each, key=lambda rate: rate.records_per_s) for each in measured]
        speeds = [f"{each.records_per_s / 1_000:,.0f} k/s" for each in best]
        cpu = ", ".join(f"{each.cpu_s_per_million:.2f}" for each in best)
        ratio = ""
        if len(best) == 2:
            speed_ratio = best[0].records_per_s / best[1].records_per_s
            ratio = marked(f"{speed_ratio:.2f}", is_met=speed_ratio >= case.bar)
        row(case.name, speeds[0], *(speeds[1:] or [""]), ratio, f"{case.bar:g}", cpu)


def show_latency(sides: list[Side], rounds: int, cluster: Cluster) -> None:
    headed(
        f"{latency.RECORDS_PER_S:,} records/s, p50, p99 in ms; commit interval {COMMIT_INTERVAL_MS} ms",
        "ours",
        "Java",
        "bar for p50",
    )
    for guarantee in latency.ISOLATION_LEVELS:

        def measure(side: Side, guarantee: str = guarantee) -> latency.Latency:
            return latency.measured(side, guarantee, LATENCY_S, cluster)

        best = [min(each) for each in in_turns(sides, rounds, measure)]
        cells = [f"{each.p50_ms:.1f}, {each.p99_ms:.1f}" for each in best]
        cells[0] = marked(cells[0], is_met=best[0].p50_ms <= best[-1].p50_ms)
        row(guarantee, cells[0], *(cells[1:] or [""]), "Java's")


def show_rebalances(sides: list[Side], rounds: int, cluster: Cluster) -> None:
    headed(
        f"the longest wait of a record, {rebalances.TASKS} tasks, heartbeats every {HEARTBEAT_INTERVAL_MS} ms, commits every {rebalances.COMMIT_INTERVAL_MS:,} ms",
        "ours",
        "Java",
        "bar",
    )
    for name, topology in (("without stores", "pass_through"), ("with a RocksDB each", "latest")):

        def measure(side: Side, topology: str = topology) -> rebalances.Rebalance:
            return rebalances.measured(side, topology, cluster)

        measured = in_turns(sides, rounds, measure)
        for event, waits_s in (
            (
                f"one of {rebalances.INSTANCES} instances leaves",
                [min(m.leaves_s for m in each) for each in measured],
            ),
            ("one comes", [min(m.comes_s for m in each) for each in measured]),
        ):
            cells = [f"{wait_s:.2f} s" for wait_s in waits_s]
            cells[0] = marked(cells[0], is_met=waits_s[0] <= rebalances.BAR_S)
            row(f"{event}, tasks {name}", cells[0], *(cells[1:] or [""]), f"{rebalances.BAR_S} s")


@contextmanager
def cluster_with(records: int) -> Iterator[Cluster]:
    """A broker with a topic of so many records, and a table for them to be joined with."""
    with (
        Broker(in_process=False, settings=BROKER_SETTINGS) as broker,
        blocking.Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
    ):
        if records:
            servers = broker.bootstrap_servers
            topics = [NewTopic(name, 1, configs=KEEPS_ALL) for name in (SOURCE, f"{SOURCE}-table")]
            admin.create_topics(topics).raise_errors()
            asyncio.run(fill_table(servers))
            asyncio.run(fill(servers, records))
        yield Cluster(broker.bootstrap_servers, admin)


def run(parts: list[str], rounds: int, sides: list[Side]) -> None:
    with cluster_with(RECORDS if "rates" in parts else 0) as cluster:
        if "rates" in parts:
            show_rates(sides, rounds, cluster, rates.BESIDE_JAVA, RECORDS)
        if "latency" in parts:
            show_latency(sides, rounds, cluster)
        if "rebalances" in parts:
            show_rebalances(sides, rounds, cluster)
    quixstreams = quixstreams_side() if "quixstreams" in parts else None
    if quixstreams is not None:
        records = RECORDS // 5
        with cluster_with(records) as cluster:
            beside = [OURS, quixstreams]
            show_rates(beside, rounds, cluster, rates.BESIDE_QUIXSTREAMS, records)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as classes:
        java = java_side(Path(classes))
        run(options.only or list(PARTS), options.rounds, [OURS, *([java] if java else [])])


if __name__ == "__main__":
    main()
