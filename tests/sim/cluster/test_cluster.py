"""A cluster of whole nodes under faults of all kinds: invariants after every step, everything acknowledged there in the end.

A failure names its seed; `make sim SEEDS=1234` repeats it alone. A sweep that has not come to a fault or a path fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.sim.cluster import group_scenarios, replica_scenarios, stories, voter_scenarios
from tests.sim.cluster.alone import Story, told
from tests.sim.cluster.faults import (
    FAULTS,
    FAULTS_OF_ONE_MACHINE,
    FAULTS_OF_POWER,
    FAULTS_OF_REPLICAS,
)
from tests.sim.cluster.replicas_observed import IS_INTERPRETED
from tests.sim.cluster.scenarios import layout_of
from tests.sim.cluster.world import seeds

_SWEEPS = "MILLSTREAM_SIM_SEEDS" in os.environ
SEEDS = seeds(os.environ.get("MILLSTREAM_SIM_SEEDS", "0"))
ENOUGH_SEEDS = 50
"""Of a sweep that must come to every path."""
PATHS = (
    "block of producer ids",
    "broker fenced",
    "broker registered anew",
    "broker unfenced",
    "forwarded: CREATE_TOPICS",
    "leader elected",
    "snapshot fetched",
    "to a broker: ADD_PARTITIONS_TO_TXN",
    "to a broker: WRITE_TXN_MARKERS",
    "to the controller: BROKER_REGISTRATION, DuplicateBrokerRegistration",
)
PATHS_OF = {
    stories.anything: (
        *PATHS,
        "controlled shutdown",
        "forwarded: CREATE_TOPICS, NetworkException",
        "metadata log truncated",
        "resigned at a stop",
        "resigned by check-quorum",
        "to the controller: BROKER_HEARTBEAT, NetworkException",
        *(f"fault: {fault.__name__}" for fault in FAULTS),
    ),
    stories.anything_with_power_losses: (
        *PATHS,
        *(f"fault: {fault.__name__}" for fault in FAULTS_OF_POWER),
    ),
    stories.replicas: (
        *PATHS,
        "partition led anew",
        "reassignment: cancel",
        "reassignment: move",
        "to the controller: ALTER_PARTITION",
        "to the controller: ALTER_PARTITION, NetworkException",
        *(f"fault: {fault.__name__}" for fault in FAULTS_OF_REPLICAS),
    ),
    stories.replicas_on_failing_machines: (
        "partition led anew",
        *(f"fault: {fault.__name__}" for fault in FAULTS_OF_ONE_MACHINE),
    ),
    stories.nodes_alone: (
        "controlled shutdown",
        "forwarded: CREATE_TOPICS, NetworkException",
        "metadata log truncated",
        "resigned at a stop",
        "resigned by check-quorum",
        "snapshot fetched",
        "to the controller: BROKER_HEARTBEAT, NetworkException",
        "to the controller: BROKER_REGISTRATION, DuplicateBrokerRegistration",
        *(f"fault: {fault.__name__}" for fault in {*FAULTS, *FAULTS_OF_POWER}),
    ),
}
IN_EVERY_RUN = (stories.anything, stories.replicas)
FOUND = (
    # A stop in the moment in which a vote was asked for.
    (stories.anything, 11),
    # A new leader that knows nothing as committed.
    (voter_scenarios.voters_by_administrators, 1),
    # A stop while a replica is being removed.
    (stories.replicas, 13),
    # A clock that was wrong when the faults ended, and slow before: records were of the future.
    (stories.replicas, 18),
    # The faults ended while a data directory was away, and nobody started its broker again.
    (stories.replicas_on_failing_machines, 162),
    # A disk refused something twice, and the first fault ended while the second one went on.
    (stories.anything_with_power_losses, 90),
    # What a leader wrote of a share partition came late, behind what it wrote after it had read the state again.
    (group_scenarios.share_groups_through_moves, 185),
    # An answer was on its way when all lost their power.
    (replica_scenarios.power_lost_by_all, 90),
    # A former leader kept a produce request while the new one took five later batches: it was written twice.
    (stories.replicas, 117),
    # A move that another one took back waited for ever, as in Kafka.
    (stories.replicas, 125),
    # A new consumer asked a leader that was cut off, and read what it had read before.
    (stories.replicas, 193),
    # What was moved aside when the node started was not on its disk when it ended.
    (stories.replicas, 250),
    # The faults ended while a node was about to stop, and nobody started it again.
    (stories.anything, 213),
)
PARTS = 2
"""Of a sweep: one test has half an hour."""


@pytest.mark.parametrize("part", range(PARTS) if _SWEEPS else [0])
@pytest.mark.parametrize("story", PATHS_OF if _SWEEPS else IN_EVERY_RUN)
def test_what_is_acknowledged_stays_whatever_fails(story: Story, part: int) -> None:
    paths: Counter[str] = Counter()
    length = -(-len(SEEDS) // PARTS)
    chosen = SEEDS[part * length : (part + 1) * length]
    for seed in chosen:
        outcome = told(story, seed, layout_of(story, seed))
        assert outcome.failure is None, outcome.failure
        paths += outcome.paths
    missing = [path for path in PATHS_OF[story] if not paths[path]]
    assert not missing or len(chosen) < ENOUGH_SEEDS, f"no seed came to {missing}"
    # A process of its own tells no paths.
    assert paths["leader elected"] >= 1 or not chosen or not IS_INTERPRETED


@pytest.mark.parametrize(
    ("story", "seed"),
    FOUND if _SWEEPS else FOUND[:2],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_what_a_seed_has_found_is_found_no_more(story: Story, seed: int) -> None:
    outcome = told(story, seed, layout_of(story, seed))
    assert outcome.failure is None, outcome.failure


def test_the_same_seed_gives_the_same_trace_in_another_process() -> None:
    story = "anything" if _SWEEPS else "restarted_brokers"
    first, second = (in_process(story, SEEDS[0], hash_seed) for hash_seed in (1, 2))
    assert first == second
    assert int(first.split()[1]) > 100, "pieces that went over a wire"


def in_process(story: str, seed: int, hash_seed: int) -> str:
    """Checksum of the trace, and how many pieces it has."""
    return subprocess.run(
        [sys.executable, "-m", "tests.sim.cluster.alone", story, str(seed)],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
