"""A backlog of orders behind repartition topics, and an application that is killed in their middle: its result is that of the test driver (ADR 0021).

A seed says who is killed and after how many records or commits, in which order, and which topology it is. All ways to run an application come in
turn, with each guarantee: one instance and two, threads and processes, Spark in one JVM and on two executors with micro-batches of any size. Exactly once
the outputs and stores are those of the test driver. At least once what is done again after a kill may count twice; no order is lost, and none is in a window of another.

`make soak` goes on for as long as MILLSTREAM_SOAK_SECONDS says and begins with the seed MILLSTREAM_KILL_SEED. A failure says the line that repeats it.
MILLSTREAM_KILL_WAY is the only way then ("2 of 1 threads", "local[2]"), MILLSTREAM_KILL_GUARANTEE the only guarantee.
`make soak SECURE=1` does it on a node with TLS, logins and access rules.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import count, product

import pytest

from millstream.streams.config import ProcessingGuarantee
from tests.support.kills.backlogs import KINDS, killed_backlog
from tests.support.kills.watched_broker import Brokers

SOAK_SECONDS = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "0"))
FIRST_SEED = int(os.environ.get("MILLSTREAM_KILL_SEED", "0"))
WAY = os.environ.get("MILLSTREAM_KILL_WAY", "")
BROKERS = Brokers.of(os.environ)
GUARANTEE = os.environ.get("MILLSTREAM_KILL_GUARANTEE", "")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.soak,
    pytest.mark.timeout(SOAK_SECONDS + 3_600),
    pytest.mark.skipif(
        not SOAK_SECONDS, reason="make soak; test_kills_at_steps.py is the short one"
    ),
]


def test_the_result_of_a_backlog_is_that_of_the_test_driver_whoever_is_killed() -> None:
    ends_at = time.monotonic() + SOAK_SECONDS
    ways = [WAY] if WAY else [*KINDS]
    guarantees = [ProcessingGuarantee(GUARANTEE)] if GUARANTEE else [*ProcessingGuarantee]
    kills = 0
    rows = [*product(ways, guarantees)]
    for number in count():
        seed, (way, guarantee) = FIRST_SEED + number // len(rows), rows[number % len(rows)]
        say(f"{way}, {guarantee}; again:\n{again(seed, way, guarantee)}")
        done = killed_backlog(way, guarantee, seed, BROKERS)
        assert done, "somebody was killed before everything was done"
        kills += len(done)
        say(f"killed: {'; '.join(map(str, done))}; {kills} kills so far")
        if time.monotonic() > ends_at:
            break
    assert kills, "there was time for one"


def again(seed: int, way: str, guarantee: ProcessingGuarantee) -> str:
    settings = (
        f"{BROKERS.variables}MILLSTREAM_KILL_SEED={seed} MILLSTREAM_KILL_WAY='{way}' MILLSTREAM_KILL_GUARANTEE={guarantee} "
        "MILLSTREAM_SOAK_SECONDS=1"
    )
    return f"{settings} .venv/bin/python -m pytest -n 0 {__file__}"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
