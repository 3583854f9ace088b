"""The quorum under faults: seeded worlds, every invariant after every step.

A failure names its seed; `make sim SEEDS=1234` repeats it alone, `make sim SEEDS=0-999` runs a thousand.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.sim.raft import scenarios
from tests.sim.raft.scenarios import World
from tests.sim.raft_log import text_of
from tests.sim.raft_world import Node

_FIRST, _, _LAST = os.environ.get("MILLSTREAM_SIM_SEEDS", "0-5").partition("-")
SEEDS = range(int(_FIRST), int(_LAST or _FIRST) + 1)


def run(scenario: Callable[..., None], **settings: int) -> None:
    for seed in SEEDS:
        try:
            scenario(seed, **settings)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


def texts(node: Node) -> list[tuple[int, str]]:
    return [(epoch, text_of(entry)) for epoch, entry in node.log.entries]


def test_a_quorum_of_one_leads_at_once_and_commits_what_it_has_synced() -> None:
    world = World(1)
    assert world.leader() is not None
    assert world.nodes[1].high_watermark == 0
    world.run(10)
    assert world.nodes[1].high_watermark == 3
    assert world.propose("a")
    assert world.nodes[1].high_watermark == 3
    world.run(10)
    assert world.nodes[1].high_watermark == 4


def test_a_quorum_of_one_comes_back_in_the_next_epoch() -> None:
    world = World(1)
    world.run(10)
    world.propose("lost")
    world.crash(1)
    world.start(1)
    world.run(10)
    assert [text for _, text in texts(world.nodes[1])].count("lost") == 0
    assert texts(world.nodes[1])[-1] == (2, "LeaderChangeMessage")
    assert world.leader().replica.quorum.epoch == 2


def test_a_quorum_of_one_that_resigns_leads_no_more_until_a_time_out_later() -> None:
    world = World(1)
    world.run(10)
    world.resign(1)
    world.run(900)
    assert world.leader() is None
    assert len(world.nodes[1].log.entries) == 3
    world.run(200)
    assert world.leader().replica.quorum.epoch == 2


@pytest.mark.parametrize("voters", [2, 3, 5])
def test_a_first_leader_is_elected_and_commits(voters: int) -> None:
    run(scenarios.first_election, voters=voters)


@pytest.mark.parametrize("voters", [3, 5])
def test_a_killed_leader_is_replaced_and_its_committed_records_stay(voters: int) -> None:
    run(scenarios.killed_leader, voters=voters)


@pytest.mark.parametrize("voters", [3, 5])
def test_a_leader_that_ends_is_followed_at_once(voters: int) -> None:
    run(scenarios.resigned_leader, voters=voters)


def test_a_leader_is_elected_where_nothing_but_chance_tells_the_voters_apart() -> None:
    run(scenarios.equal_wires)


def test_leaders_that_go_before_they_commit_leave_nothing_committed() -> None:
    run(scenarios.records_of_an_epoch_before)


def test_a_leader_that_is_back_at_once_does_not_lead_on() -> None:
    run(scenarios.quick_restarts)


def test_followers_with_slow_disks_promise_nothing_they_have_not_synced() -> None:
    run(scenarios.slow_followers)


def test_an_isolated_leader_steps_down_and_commits_nothing() -> None:
    run(scenarios.isolated_leader)


def test_a_leader_that_only_hears_or_only_speaks_is_replaced() -> None:
    run(scenarios.half_a_leader)


def test_a_follower_with_a_broken_link_does_not_disturb_the_others() -> None:
    run(scenarios.broken_link)


def test_links_that_come_and_go_cause_few_elections() -> None:
    run(scenarios.flapping_links)


def test_back_to_back_isolation_of_leaders() -> None:
    run(scenarios.back_to_back_isolations)


def test_a_voter_behind_the_log_joins_by_a_snapshot_also_when_it_is_killed_midway() -> None:
    run(scenarios.behind_the_log)


def test_a_leader_that_goes_midway_is_followed_by_one_with_another_snapshot() -> None:
    run(scenarios.leader_goes_while_it_sends_a_snapshot)


def test_observers_find_every_leader_by_themselves() -> None:
    run(scenarios.observers_follow)


def test_a_removed_leader_goes_when_that_is_committed() -> None:
    run(scenarios.removed_leader)


def test_a_removed_voter_that_never_sees_it_disturbs_nobody() -> None:
    run(scenarios.removed_voter_never_sees_it)


def test_a_removed_voter_comes_back_when_it_is_asked_for_and_not_before() -> None:
    run(scenarios.removed_voter_stays_away)


def test_static_voters_become_records_while_leaders_come_and_go() -> None:
    run(scenarios.static_quorum)


def test_a_new_voter_votes_before_it_knows_that_it_may() -> None:
    run(scenarios.added_voter_has_not_seen_it)


def test_voters_with_new_disks_join_by_themselves() -> None:
    run(scenarios.replaced_disks)


def test_a_change_that_its_leader_cannot_commit_is_taken_back() -> None:
    run(scenarios.changes_under_leader_changes)


def test_crashes_cuts_and_losses_at_random() -> None:
    run(scenarios.anything)


def test_crashes_cuts_losses_and_changes_of_the_voters_at_random() -> None:
    run(scenarios.anything_with_changes)


def test_the_same_seed_gives_the_same_world() -> None:
    histories = []
    for _ in range(2):
        world = World(5, 7)
        world.loss = 0.2
        world.run(20_000)
        histories.append(
            [(n.log.entries, n.stored, n.high_watermark) for n in world.nodes.values()]
        )
    assert histories[0] == histories[1]
