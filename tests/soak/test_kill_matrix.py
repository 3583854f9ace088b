"""Every part of an application on Spark, killed with SIGKILL while it plans and at every step of its tasks: exactly once.

All shapes come in turn, each in one JVM or on two executors with disks of their own, as its seed says.

`make soak` goes on for as long as MILLSTREAM_SOAK_SECONDS says and begins with the seed MILLSTREAM_KILL_SEED; more than five hundred
kills take about an hour. A failure says the seed that repeats it. `make soak NODES=3` does it on three nodes of ours, one of which is killed, and
`make soak KAFKA=1` on three of Apache Kafka, out of MILLSTREAM_KAFKA_CLASSPATH. `make soak SECURE=1` does it on a node with TLS, logins and access
rules, where the application may do what docs/guide/rights.md says.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, product
from pathlib import Path

import pytest

from millstream.streams.runtime.steps import Step
from tests.oracle.clients.kafka_cluster import CLASSPATH_VARIABLE, is_available
from tests.support.kills.driven import APPLICATION_ID
from tests.support.kills.orders import PLANNED, Order, Orders, Victim
from tests.support.kills.run import Run
from tests.support.kills.secured import allow
from tests.support.kills.shapes import SHAPES, check_nothing_is_open
from tests.support.kills.watched_broker import Brokers, watched_brokers

SOAK_SECONDS = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "0"))
FIRST_SEED = int(os.environ.get("MILLSTREAM_KILL_SEED", "1"))
ORDERS = 30
SESSIONS_MAX = 40
BROKERS = Brokers.of(os.environ)
STARTING = (Step.STARTING, Step.FENCED, Step.RESTORED)
PASSING = (Victim.WORKER, Victim.BROKER)
"""Tasks go on when one of these is killed."""
OFTEN = {
    Victim.HOST: 8,
    Victim.WORKER: 4,
    Victim.EXECUTOR: 2,
    Victim.BROKER: 1,
    Victim.JVM: 1,
    Victim.DRIVER: 1,
}
"""A session costs a start of Spark, a host only its own."""
LOCAL, CLUSTER = "local[2]", "local-cluster[2,1,1024]"

pytestmark = [
    pytest.mark.spark,
    pytest.mark.soak,
    pytest.mark.timeout(SOAK_SECONDS + 3_600),
    pytest.mark.skipif(not SOAK_SECONDS, reason="make soak; test_kill.py is the short one"),
]


def test_what_is_killed_anywhere_is_exactly_once() -> None:
    assert is_available() or BROKERS is not Brokers.KAFKA, (
        f"KAFKA=1 needs Java and {CLASSPATH_VARIABLE}"
    )
    ends_at = time.monotonic() + SOAK_SECONDS
    kills = 0
    for seed in count(FIRST_SEED):
        shape = list(SHAPES)[seed % len(SHAPES)]
        sys.stdout.write(f"{BROKERS.variables}MILLSTREAM_KILL_SEED={seed}: {shape}\n")
        with _short_directory() as directory:
            kills += killed(shape, seed, directory)
        sys.stdout.write(f"{kills} kills\n")
        sys.stdout.flush()
        if time.monotonic() > ends_at:
            break
    assert kills, "there was time for one"


def killed(shape: str, seed: int, directory: Path) -> int:
    """Runs one application until it has done everything, and returns how many kills it took."""
    orders = Orders(directory / "orders")
    with watched_brokers(orders.broker, BROKERS) as servers:
        asyncio.run(SHAPES[shape].prepare(servers))
        if BROKERS is Brokers.SECURE:
            asyncio.run(allow(servers, APPLICATION_ID, SHAPES[shape].topology()))
        chance = random.Random(seed)
        master = chance.choice((LOCAL, CLUSTER))
        wanted = chosen(chance, master)
        sys.stdout.write(f"on {master}: {'; '.join(map(str, wanted))}\n")
        orders.write(wanted)
        for _ in range(SESSIONS_MAX):
            with Run.of_application(shape, servers, directory, SHAPES[shape].limit, master) as run:
                is_done = run.finish()
                assert run.remains() == []
            if is_done:
                break
        else:
            raise AssertionError(f"it came to no end: {(directory / 'log').read_text()[-5_000:]}")
        assert run.files_left() == []
        asyncio.run(SHAPES[shape].check(servers, directory))
        asyncio.run(check_nothing_is_open(servers))
    return len(wanted) - len(orders.left())


def chosen(chance: random.Random, master: str) -> list[Order]:
    """Pairs of a victim and a moment, some victims more often than others. A task starts anew where its host was killed before."""
    victims = [each for each in OFTEN if master == CLUSTER or each is not Victim.EXECUTOR]
    pairs = list(product(victims, (PLANNED, *Step)))
    weights = [OFTEN[victim] for victim, _ in pairs]
    orders: list[Order] = []
    for victim, moment in chance.choices(pairs, weights, k=ORDERS):
        if moment in STARTING and (not orders or orders[-1].victim in PASSING):
            orders.append(Order(Victim.HOST, Step.READ))
        orders.append(Order(victim, moment, 1 if moment in STARTING else chance.randrange(1, 4)))
    return orders


@contextmanager
def _short_directory() -> Iterator[Path]:
    """Names of Unix sockets may have 107 characters. It stays where the test fails."""
    made = Path(tempfile.mkdtemp(prefix="kill"))
    yield made
    shutil.rmtree(made)
