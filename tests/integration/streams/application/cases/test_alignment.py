"""A backlog gives what the judge says, however many threads there are: a sample of what `make oracle-alignment` runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

sys.path.insert(0, str(Path(__file__).parents[4] / "oracle"))

from alignment.case import made_case, random_case
from alignment.on_killed import KilledRunner, KilledWay
from alignment.on_threads import ThreadsRunner, ThreadsWay
from alignment.orders import INTERVAL_MS, counted, orders_case
from alignment.running import Comparison
from live_cases.cluster import Cluster
from live_cases.conversion import Input
from live_cases.running import BROKER_SETTINGS

from millstream.streams.config import GroupProtocol, ProcessingGuarantee
from millstream.testing.broker import Broker

ORDERS: Final = 4_000
BACKLOG: Final = 1_500
LIVE: Final = 40
"""They come when all of the backlog have been counted."""
SEED: Final = 100
JOINS: Final = ((13, 2), (58, 4))
"""Cases that join two repartition topics, and the numbers of threads."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with (
        Broker(in_process=False, settings=BROKER_SETTINGS) as broker,
        Cluster(broker.bootstrap_servers) as cluster,
    ):
        yield cluster


WAY: Final = ThreadsWay(
    threads=1,
    guarantee=ProcessingGuarantee.EXACTLY_ONCE_V2,
    uses_processes=False,
    comes_and_goes=False,
    crashes=False,
    protocol=GroupProtocol.STREAMS,
    chance="orders",
)


@pytest.mark.parametrize("threads", [1, 2])
def test_every_order_of_a_backlog_is_counted_record_by_record_as_the_judge_does(
    threads: int, cluster: Cluster, tmp_path: Path
) -> None:
    runner = ThreadsRunner(replace(WAY, threads=threads))
    comparison = Comparison(cluster, runner, tmp_path)
    assert comparison.run(orders_case(ORDERS), "orders") == []
    assert counted(comparison.found) == ORDERS


@pytest.mark.parametrize(("number", "threads"), JOINS)
def test_instances_that_come_and_go_give_what_the_judge_says(
    number: int, threads: int, cluster: Cluster, tmp_path: Path
) -> None:
    chance = f"{SEED}/{number}/way"
    runner = ThreadsRunner(replace(WAY, threads=threads, comes_and_goes=True, chance=chance))
    comparison = Comparison(cluster, runner, tmp_path)
    assert comparison.run(random_case(SEED, number), "") == []


def test_processes_at_least_once_go_on_by_what_others_commit_for_them_over_a_backlog_and_live(
    cluster: Cluster, tmp_path: Path
) -> None:
    """A commit that nobody waits for is an hour away, and so is the end of patience with a task that does not move."""
    way = KilledWay(2, 1, GroupProtocol.STREAMS, "orders", is_killed=False)
    case = orders_case(BACKLOG + LIVE)
    backlog = [each for each in case.inputs if each.timestamp < BACKLOG * INTERVAL_MS]
    live = [each for each in case.inputs if each.timestamp >= BACKLOG * INTERVAL_MS]
    comparison = Comparison(cluster, KilledRunner(way), tmp_path)
    assert comparison.run(replace(case, portions=(tuple(backlog), tuple(live))), "orders") == []
    assert counted(comparison.found) == BACKLOG + LIVE


def test_tasks_are_as_many_as_the_coordinator_has_made_partitions(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Where one repartition topic has a fixed count, Kafka's coordinator gives that to joined ones, too: they have 1 partition, not 2."""
    text = {"key": "string", "value": "string"}
    spec = {
        "name": "joined",
        "topics": {"in": {**text, "in": {}}, "out": text},
        "ops": [
            {"op": "stream", "id": "in", "topic": "in"},
            {"op": "select_key", "id": "left", "from": "in", "fn": "value_str"},
            {"op": "select_key", "id": "right", "from": "in", "fn": "value_str"},
            {"op": "join", "id": "both", "from": "left", "other": "right", "windows": {"diff": 5}, "fn": "pair"},
            {"op": "repartition", "id": "behind", "from": "both", "repartitioned": {"partitions": 1}},
            {"op": "to", "from": "behind", "topic": "out"},
        ],
    }  # fmt: skip
    rows = [Input("in", number % 2, b"k", b"%d" % number, number, ()) for number in range(6)]
    case = made_case("joined", spec, {"in": 2, "out": 1}, [rows])
    comparison = Comparison(cluster, ThreadsRunner(WAY), tmp_path)
    assert comparison.run(case, "joined") == []
    assert [r.value for r in comparison.found["out", 0]] == [b"%d|%d" % (n, n) for n in range(6)]
