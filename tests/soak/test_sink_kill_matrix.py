"""A query whose sink is exactly once, killed with SIGKILL in every part, and at every moment from plan to log of commits: each row once.

Eight seeds in a row have all kinds of sinks, each in one JVM and on two executors.

`make soak` goes on for as long as MILLSTREAM_SOAK_SECONDS says and begins with the seed MILLSTREAM_KILL_SEED. A failure says the seed that
repeats it. `make soak NODES=3` does it on three nodes of ours, one of which is killed, and `make soak KAFKA=1` on three of Apache Kafka, out of
MILLSTREAM_KAFKA_CLASSPATH.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from itertools import count

import pytest

from tests.oracle.clients.kafka_cluster import CLASSPATH_VARIABLE, is_available
from tests.support.kills.copied import KINDS, LOCAL, killed_query
from tests.support.kills.orders import Order, Victim
from tests.support.kills.sink_moments import SinkMoment
from tests.support.kills.watched_broker import Brokers

SOAK_SECONDS = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "0"))
FIRST_SEED = int(os.environ.get("MILLSTREAM_KILL_SEED", "1"))
BROKERS = Brokers.of(os.environ)
OFTEN = {Victim.WORKER: 6, Victim.EXECUTOR: 3, Victim.BROKER: 2, Victim.JVM: 1, Victim.DRIVER: 1}
"""Spark runs a task again whose worker or executor is killed; the others cost a start."""
CLUSTER = "local-cluster[2,1,1024]"

pytestmark = [
    pytest.mark.spark,
    pytest.mark.soak,
    pytest.mark.timeout(SOAK_SECONDS + 3_600),
    pytest.mark.skipif(not SOAK_SECONDS, reason="make soak; test_kill_sink.py is the short one"),
]


def test_rows_of_a_query_that_is_killed_anywhere_are_written_once() -> None:
    assert is_available() or BROKERS is not Brokers.KAFKA, (
        f"KAFKA=1 needs Java and {CLASSPATH_VARIABLE}"
    )
    ends_at = time.monotonic() + SOAK_SECONDS
    kills: Counter[str] = Counter()
    for seed in count(FIRST_SEED):
        kind, chance = KINDS[seed % len(KINDS)], random.Random(seed)
        master = (LOCAL, CLUSTER)[seed // len(KINDS) % 2]
        orders = chosen(chance, master)
        sys.stdout.write(
            f"{BROKERS.variables}MILLSTREAM_KILL_SEED={seed}: {kind} on {master}; {'; '.join(map(str, orders))}\n"
        )
        done = killed_query(kind, orders, master=master, brokers=BROKERS)
        kills.update(f"{order.victim} of {kind}" for order in done)
        sys.stdout.write(f"{kills.total()} kills: {sorted(kills.items())}\n")
        sys.stdout.flush()
        if time.monotonic() > ends_at:
            break
    assert kills, "there was time for one"


def chosen(chance: random.Random, master: str) -> list[Order]:
    """Every moment twice in any order, some victims more often than others."""
    often = {each: OFTEN[each] for each in OFTEN if master == CLUSTER or each != Victim.EXECUTOR}
    moments = [*SinkMoment, *SinkMoment]
    chance.shuffle(moments)
    victims = chance.choices([*often], [*often.values()], k=len(moments))
    return [
        Order(victim, moment, 1 if moment is SinkMoment.WRITTEN else chance.randrange(1, 3))
        for victim, moment in zip(victims, moments, strict=True)
    ]
