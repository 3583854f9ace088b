"""Recorded cases of Kafka Streams as instances that come and go: a sample of what `make oracle-applications` runs."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

sys.path.insert(0, str(Path(__file__).parents[4] / "oracle"))

from live_cases.cluster import Cluster
from live_cases.conversion import Mode
from live_cases.on_threads import ThreadsDriver
from live_cases.running import BROKER_SETTINGS, Counts, Runner, all_cases, kind_of

from millstream.testing.broker import Broker

SEED: Final = 15
OF_EACH_KIND: Final = 2
PORTIONS_MAX: Final = 8
CASES: Final = 150
"""So many are looked at: reading a case takes longer than running one."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_live_applications_give_what_kafka_streams_gives(tmp_path: Path) -> None:
    with (
        Broker(in_process=False, settings=BROKER_SETTINGS) as broker,
        Cluster(broker.bootstrap_servers) as cluster,
        ThreadsDriver() as driver,
    ):
        runner = Runner(cluster, driver, tmp_path, SEED)
        of_kind: Counter[str] = Counter()
        picked = []
        for case in random.Random(SEED).sample(all_cases(), CASES):
            for live, way in runner.chosen(case, list(Mode)):
                kind = kind_of(live, way)
                if len(way.portions) <= PORTIONS_MAX and of_kind[kind] < OF_EACH_KIND:
                    of_kind[kind] += 1
                    picked.append((live, way))
        runner.counts = Counts()
        for live, way in picked:
            runner.run_way(live, way)
    sys.stdout.write("\n".join(runner.counts.lines()))  # shown where the test fails
    assert runner.counts.different == []
    assert {way.mode for _, way in picked} == {Mode.RECORDED, Mode.TASKS}
