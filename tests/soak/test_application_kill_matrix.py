"""Every part of an application on stream threads, killed at every step of its tasks, and its broker: exactly once.

A row of the matrix is a shape of topology with a kind of stores and of stream threads; its seed says the rest: group protocol, threads and
copies. In each row every victim is killed at every moment. With one node the broker is the coordinator, too.

`make soak` kills `KILLS`, 500 unless it says otherwise, which takes a quarter of an hour on two cores that have nothing else to do, and begins with the seed
MILLSTREAM_KILL_SEED: 52 of them go through all rows. A failure says the line that repeats it. `make soak NODES=3` does it on three
nodes of ours, whose coordinator is killed, too, and `make soak KAFKA=1` on Apache Kafka, out of MILLSTREAM_KAFKA_CLASSPATH, with one node and with three.
`make soak SECURE=1` does it on a node with TLS, logins and access rules, where the application may do what docs/guide/rights.md says.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from tests.oracle.clients.kafka_cluster import CLASSPATH_VARIABLE, is_available
from tests.support.kills.killed_instances import killed
from tests.support.kills.orders import Moment, Victim
from tests.support.kills.watched_broker import Brokers
from tests.support.kills.ways import Way, orders

KILLS = int(os.environ.get("MILLSTREAM_SOAK_KILLS", "0"))
FIRST_SEED = int(os.environ.get("MILLSTREAM_KILL_SEED", "0"))
BROKERS = Brokers.of(os.environ)
S_A_KILL = 20
MANY = 400
"""By then everything must have come that is ordered in any row: in one there may be nothing to restore, for example."""

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(600 + S_A_KILL * KILLS),
    pytest.mark.skipif(not KILLS, reason="make soak; test_kills_at_steps.py is the short one"),
]


async def test_what_is_killed_at_any_step_is_exactly_once() -> None:
    assert is_available() or BROKERS is not Brokers.KAFKA, (
        f"KAFKA=1 needs Java and {CLASSPATH_VARIABLE}"
    )
    kills: Counter[tuple[Victim, Moment]] = Counter()
    ordered: set[tuple[Victim, Moment]] = set()
    for seed in count(FIRST_SEED):
        way = Way.of_seed(seed, BROKERS)
        say(f"{way}; again:\n{again(seed)}")
        wanted = orders(way, seed)
        directory = Path(tempfile.mkdtemp(prefix=f"kills-{seed}-"))  # stays where the test fails
        done = await killed(way, wanted, seed, directory)
        shutil.rmtree(directory)
        assert done, "nothing was killed"
        kills.update((order.victim, order.moment) for order in done)
        ordered.update((order.victim, order.moment) for order in wanted)
        say(f"{len(done)} of {len(wanted)} kills, {kills.total()} so far")
        if kills.total() >= KILLS:
            break
    for (victim, moment), times in sorted(kills.items()):
        say(f"{times:4} {victim} at {moment}")
    if kills.total() >= MANY:
        assert ordered == kills.keys()


def again(seed: int) -> str:
    settings = f"MILLSTREAM_KILL_SEED={seed} MILLSTREAM_SOAK_KILLS=1 {BROKERS.variables}"
    return f"{settings}.venv/bin/python -m pytest -n 0 {__file__}"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
