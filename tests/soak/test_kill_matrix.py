"""Every part of an application on Spark, killed with SIGKILL at every step of its tasks, over several shapes: exactly once.

`make soak` goes on for as long as MILLSTREAM_SOAK_SECONDS says and begins with the seed MILLSTREAM_KILL_SEED; more than five hundred
kills take about an hour. A failure says the seed that repeats it.
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
from tests.support.kills.orders import Order, Orders, Victim
from tests.support.kills.run import Run
from tests.support.kills.shapes import SHAPES, check_nothing_is_open
from tests.support.kills.watched_broker import watched_broker

SOAK_SECONDS = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "0"))
FIRST_SEED = int(os.environ.get("MILLSTREAM_KILL_SEED", "1"))
ORDERS = 24
SESSIONS_MAX = 40
LIMIT = 60
STARTING = (Step.STARTING, Step.FENCED, Step.RESTORED)
PASSING = (Victim.WORKER, Victim.BROKER)
"""Whoever goes on when one of these is killed."""
OFTEN = {Victim.HOST: 6, Victim.WORKER: 3, Victim.BROKER: 1, Victim.JVM: 1, Victim.DRIVER: 1}
"""A session costs a start of Spark, a host only its own."""

pytestmark = [
    pytest.mark.spark,
    pytest.mark.soak,
    pytest.mark.timeout(SOAK_SECONDS + 3_600),
    pytest.mark.skipif(not SOAK_SECONDS, reason="make soak; test_kill.py is the short one"),
]


def test_what_is_killed_anywhere_is_exactly_once() -> None:
    ends_at = time.monotonic() + SOAK_SECONDS
    kills = 0
    for seed, shape in zip(count(FIRST_SEED), _for_ever(), strict=False):
        sys.stdout.write(f"MILLSTREAM_KILL_SEED={seed}: {shape}\n")
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
    with watched_broker(orders.broker) as broker:
        servers = broker.bootstrap_servers
        asyncio.run(SHAPES[shape].prepare(servers))
        wanted = chosen(random.Random(seed))
        orders.write(wanted)
        for _ in range(SESSIONS_MAX):
            with Run(shape, servers, directory, LIMIT) as run:
                is_done = run.finish()
                assert run.wait_for_orphans() == []
            if is_done:
                break
        else:
            raise AssertionError(f"it came to no end: {(directory / 'log').read_text()[-5_000:]}")
        assert run.files_left() == []
        asyncio.run(SHAPES[shape].check(servers))
        asyncio.run(check_nothing_is_open(servers))
    return len(wanted) - len(orders.left())


def chosen(chance: random.Random) -> list[Order]:
    """Pairs of a victim and a step, some victims more often than others. A task starts anew where its host was killed before."""
    pairs = list(product(OFTEN, Step))
    weights = [OFTEN[victim] for victim, _ in pairs]
    orders: list[Order] = []
    for victim, step in chance.choices(pairs, weights, k=ORDERS):
        if step in STARTING and (not orders or orders[-1].victim in PASSING):
            orders.append(Order(Victim.HOST, Step.READ))
        orders.append(Order(victim, step, 1 if step in STARTING else chance.randrange(1, 4)))
    return orders


def _for_ever() -> Iterator[str]:
    while True:
        yield from SHAPES


@contextmanager
def _short_directory() -> Iterator[Path]:
    """Names of Unix sockets may have 107 characters. It stays where the test fails."""
    made = Path(tempfile.mkdtemp(prefix="kill"))
    yield made
    shutil.rmtree(made)
