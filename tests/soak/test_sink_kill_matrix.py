"""A query whose sink is exactly once, killed with SIGKILL in every part and at every moment of its sink: each row once.

`make soak` goes on for as long as MILLSTREAM_SOAK_SECONDS says and begins with the seed MILLSTREAM_KILL_SEED. A failure says the seed that
repeats it. `make soak KAFKA=1` does it on three nodes of Apache Kafka, one of which is killed, out of MILLSTREAM_KAFKA_CLASSPATH.
"""

from __future__ import annotations

import os
import random
import sys
import time
from itertools import count, product

import pytest

from tests.oracle.clients.kafka_cluster import CLASSPATH_VARIABLE, is_available
from tests.support.kills.copied import KINDS, killed_query
from tests.support.kills.orders import Order, Victim
from tests.support.kills.sink_moments import SinkMoment

SOAK_SECONDS = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "0"))
FIRST_SEED = int(os.environ.get("MILLSTREAM_KILL_SEED", "1"))
ON_KAFKA = os.environ.get("MILLSTREAM_SOAK_KAFKA", "") == "1"
ORDERS = 16
OFTEN = {Victim.WORKER: 6, Victim.BROKER: 2, Victim.JVM: 1, Victim.DRIVER: 1}
"""Spark runs a task again whose worker is killed; the others cost a start."""

pytestmark = [
    pytest.mark.spark,
    pytest.mark.soak,
    pytest.mark.timeout(SOAK_SECONDS + 3_600),
    pytest.mark.skipif(not SOAK_SECONDS, reason="make soak; test_kill_sink.py is the short one"),
]


def test_rows_of_a_query_that_is_killed_anywhere_are_written_once() -> None:
    assert is_available() or not ON_KAFKA, f"KAFKA=1 needs Java and {CLASSPATH_VARIABLE}"
    ends_at = time.monotonic() + SOAK_SECONDS
    kills = 0
    for seed in count(FIRST_SEED):
        kind = KINDS[seed % len(KINDS)]
        orders = chosen(random.Random(seed), kind)
        sys.stdout.write(f"MILLSTREAM_KILL_SEED={seed}: {kind}; {'; '.join(map(str, orders))}\n")
        kills += killed_query(kind, orders, is_kafka=ON_KAFKA)
        sys.stdout.write(f"{kills} kills\n")
        sys.stdout.flush()
        if time.monotonic() > ends_at:
            break
    assert kills, "there was time for one"


def chosen(chance: random.Random, kind: str) -> list[Order]:
    moments = [each for each in SinkMoment if each is not SinkMoment.WRITTEN or kind != "append"]
    pairs = list(product(OFTEN, moments))
    weights = [OFTEN[victim] for victim, _ in pairs]
    return [
        Order(victim, moment, 1 if moment is SinkMoment.WRITTEN else chance.randrange(1, 3))
        for victim, moment in chance.choices(pairs, weights, k=ORDERS)
    ]
