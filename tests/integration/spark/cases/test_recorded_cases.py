"""Recorded cases of Kafka Streams as live applications on Spark: a sample of what `make oracle-spark` runs.

Whether a case can be run at all, in which way, and why not in others, is counted over all of them.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "oracle"))

from live_cases.cluster import Cluster
from live_cases.conversion import LiveCase, Mode, Way
from live_cases.on_spark import SparkDriver
from live_cases.running import BROKER_SETTINGS, Counts, Runner, all_cases, carry_functions, kind_of

from millstream.testing.broker import Broker

SEED: Final = 13
OF_EACH_KIND: Final = 1
PORTIONS_MAX: Final = 8
ALWAYS: Final = ("fk_join/1-1",)
LEFT_OUT: Final = {
    "no record is piped in": 540,  # topologies that are described
    "the topology is refused when it is built": 26,
    "the application is refused when it starts": 5,
    "a topic has reset=none: the application must not start without offsets": 3,
    "processors punctuate by the wall clock, which the driver moves": 20,
    "outputs show the wall clock": 5,
    "outputs show offsets, which the driver counts for all topics of a pattern together": 3,
    "outputs go to topics whose names no broker takes": 2,
    "the driver refuses a record of a topic that nothing reads": 1,
    "sub-topologies share a small record cache, as tasks of the driver alone do": 20,
    "a buffer counts the bytes of topic names, and in those the application's id": 1,
}
RUN: Final = 960


def chosen(runner: Runner) -> list[tuple[LiveCase, Way]]:
    return [each for case in all_cases() for each in runner.chosen(case, list(Mode))]


def test_every_case_is_run_or_left_out_for_a_reason(tmp_path: Path) -> None:
    cluster: Any = None
    runner = Runner(cluster, SparkDriver(None), tmp_path, SEED)
    found = chosen(runner)
    live = {id(live) for live, _ in found}
    assert runner.counts.left_out == LEFT_OUT
    assert len(live) == RUN == len(all_cases()) - sum(LEFT_OUT.values())


@pytest.fixture
def session(request: pytest.FixtureRequest) -> Any:
    carry_functions()
    return request.getfixturevalue("spark")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with (
        Broker(in_process=False, settings=BROKER_SETTINGS) as broker,
        Cluster(broker.bootstrap_servers) as cluster,
    ):
        yield cluster


def sample(runner: Runner) -> list[tuple[LiveCase, Way]]:
    """Some of each kind, and those of `ALWAYS`."""
    found = [each for each in chosen(runner) if len(each[1].portions) <= PORTIONS_MAX]
    random.Random(SEED).shuffle(found)
    of_kind: Counter[str] = Counter()
    picked = []
    for live, way in sorted(found, key=lambda each: each[0].id not in ALWAYS):
        kind = kind_of(live, way)
        if live.id in ALWAYS or of_kind[kind] < OF_EACH_KIND:
            of_kind[kind] += 1
            picked.append((live, way))
    return picked


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_live_applications_give_what_kafka_streams_gives(
    session: Any, cluster: Cluster, tmp_path: Path
) -> None:
    runner = Runner(cluster, SparkDriver(session), tmp_path, SEED)
    picked = sample(runner)
    runner.counts = Counts()
    for live, way in picked:
        runner.run_way(live, way)
    sys.stdout.write("\n".join(runner.counts.lines()))  # shown where the test fails
    assert runner.counts.different == []
    assert {way.mode for _, way in picked} == set(Mode)
