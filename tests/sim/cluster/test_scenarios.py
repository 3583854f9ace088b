"""Scenarios of a cluster of whole nodes, each about one thing that may go wrong.

A failure names its seed; `make sim SEEDS=1234` repeats it alone.
"""

from __future__ import annotations

import os

import pytest

from tests.sim.cluster import scenarios
from tests.sim.cluster.alone import Story, told
from tests.sim.cluster.cut_off_scenarios import CUT_OFF_SCENARIOS
from tests.sim.cluster.group_scenarios import GROUP_SCENARIOS
from tests.sim.cluster.move_scenarios import MOVE_SCENARIOS
from tests.sim.cluster.replica_scenarios import REPLICA_SCENARIOS, an_unclean_election, late_images
from tests.sim.cluster.scenarios import layout_of
from tests.sim.cluster.voter_scenarios import VOTER_SCENARIOS
from tests.sim.cluster.world import seeds

_SWEEPS = "MILLSTREAM_SIM_SEEDS" in os.environ
SEEDS = seeds(os.environ.get("MILLSTREAM_SIM_SEEDS", "0"))
SCENARIOS: tuple[Story, ...] = (
    scenarios.disk_refuses_a_vote,
    scenarios.killed_after_a_snapshot_came,
    scenarios.damaged_partition_of_a_coordinator,
    scenarios.silent_leader,
    scenarios.lost_votes,
    scenarios.stopped_in_elections,
    scenarios.switched_off_after_stops,
    scenarios.a_long_plan,
    scenarios.restarted_brokers,
    scenarios.unregistered_broker,
    scenarios.replaced_disk_of_a_controller,
    scenarios.cut_off_leader,
    scenarios.cut_off_leader_with_observers,
    scenarios.lost_answers,
    scenarios.brokers_that_lose_each_other,
    scenarios.producer_ids_over_controllers,
    scenarios.offsets_before_the_disk_has_them,
    scenarios.clocks_at_other_paces,
    *VOTER_SCENARIOS,
    *GROUP_SCENARIOS,
    *REPLICA_SCENARIOS,
    *MOVE_SCENARIOS,
    *CUT_OFF_SCENARIOS,
)
IN_EVERY_RUN = (*SCENARIOS[:3], an_unclean_election, late_images)
"""Of `make test`: those about faults that were found here, and the shortest. The others take seconds."""


def names(case: object) -> str:
    return getattr(case, "__name__", "")


@pytest.mark.parametrize("story", SCENARIOS if _SWEEPS else IN_EVERY_RUN, ids=names)
def test_the_cluster_gets_over_it(story: Story) -> None:
    for seed in SEEDS:
        outcome = told(story, seed, layout_of(story, seed))
        assert outcome.failure is None, outcome.failure
