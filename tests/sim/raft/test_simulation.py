"""The quorum under faults: seeded worlds, every invariant after every step.

A failure names its seed; `make sim SEEDS=1234` repeats it alone, `make sim SEEDS=0-999` runs a thousand.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.sim.raft_world import text_of

_FIRST, _, _LAST = os.environ.get("MILLSTREAM_SIM_SEEDS", "0-11").partition("-")
SEEDS = range(int(_FIRST), int(_LAST or _FIRST) + 1)


def elected(world: object, within_ms: int = 20_000) -> object:
    for _ in range(within_ms // 100):
        world.run(100)
        if world.leader() is not None:
            return world.leader()
    raise AssertionError(f"no leader within {within_ms} ms")


def check_settled(world: object, text: str) -> None:
    """After faults stop: one leader, a new record reaches every disk and is committed on every node."""
    world.heal()
    for node_id, node in world.nodes.items():
        if node.replica is None:
            world.start(node_id)
    world.run(10_000)
    assert len(world.leaders()) == 1
    assert world.propose(text)
    world.run(3_000)
    logs = [node.log.entries for node in world.nodes.values()]
    assert all(log == logs[0] for log in logs)
    assert logs[0][-1][1] == text
    assert {node.high_watermark for node in world.nodes.values()} == {len(logs[0])}


def texts(node: object) -> list[tuple[int, str]]:
    return [(epoch, text_of(entry)) for epoch, entry in node.log.entries]


def started(raft_world: Callable, voters: int, seed: int) -> object:
    world = raft_world(voters, seed)
    for node_id in world.nodes:
        world.start(node_id)
    return world


def test_a_quorum_of_one_leads_at_once_and_commits_what_it_has_synced(raft_world: Callable) -> None:
    world = started(raft_world, 1, 0)
    assert world.leader() is not None
    assert world.nodes[1].high_watermark == 0
    world.run(10)
    assert world.nodes[1].high_watermark == 3
    assert world.propose("a")
    assert world.nodes[1].high_watermark == 3
    world.run(10)
    assert world.nodes[1].high_watermark == 4


def test_a_quorum_of_one_comes_back_in_the_next_epoch(raft_world: Callable) -> None:
    world = started(raft_world, 1, 0)
    world.run(10)
    world.propose("lost")
    world.crash(1)
    world.start(1)
    world.run(10)
    assert [text for _, text in texts(world.nodes[1])].count("lost") == 0
    assert texts(world.nodes[1])[-1] == (2, "LeaderChangeMessage")
    assert world.leader().replica.quorum.epoch == 2


def test_a_quorum_of_one_that_resigns_leads_no_more_until_a_time_out_later(
    raft_world: Callable,
) -> None:
    world = started(raft_world, 1, 0)
    world.run(10)
    world.resign(1)
    world.run(900)
    assert world.leader() is None
    assert len(world.nodes[1].log.entries) == 3
    world.run(200)
    assert world.leader().replica.quorum.epoch == 2


@pytest.mark.parametrize("voters", [2, 3, 5])
def test_a_first_leader_is_elected_and_commits(raft_world: Callable, voters: int) -> None:
    for seed in SEEDS:
        world = started(raft_world, voters, seed)
        leader = elected(world)
        check_settled(world, f"seed {seed}")
        assert leader.key.id in world.nodes


@pytest.mark.parametrize("voters", [3, 5])
def test_a_killed_leader_is_replaced_and_its_committed_records_stay(
    raft_world: Callable, voters: int
) -> None:
    for seed in SEEDS:
        world = started(raft_world, voters, seed)
        old = elected(world)
        world.propose("kept")
        world.run(1_000)
        world.propose("perhaps")
        world.crash(old.key.id)
        new = elected(world)
        assert new.key.id != old.key.id
        check_settled(world, "after")
        assert "kept" in [text for _, text in world.invariants.committed]


def test_a_leader_that_resigns_is_followed_without_an_election_time_out(
    raft_world: Callable,
) -> None:
    for seed in SEEDS:
        world = started(raft_world, 3, seed)
        old = elected(world)
        world.run(3_000)
        world.resign(old.key.id)
        world.run(500)
        assert world.leader() is not None, f"seed {seed}"
        check_settled(world, "after")


def test_an_isolated_leader_steps_down_and_commits_nothing(raft_world: Callable) -> None:
    for seed in SEEDS:
        world = started(raft_world, 3, seed)
        old = elected(world)
        world.run(3_000)
        world.isolate(old.key.id)
        mark = old.high_watermark
        world.propose("never committed by the old leader")
        world.run(8_000)
        assert not old.replica.is_leader
        assert old.high_watermark == mark
        assert world.leader() is not None
        check_settled(world, "after")


def test_a_follower_with_a_broken_link_does_not_disturb_the_others(raft_world: Callable) -> None:
    """KIP-996: pre-vote keeps the epoch where it is."""
    for seed in SEEDS:
        world = started(raft_world, 3, seed)
        leader = elected(world)
        world.run(3_000)
        epoch = leader.replica.quorum.epoch
        lonely = next(n for n in world.nodes if n != leader.key.id)
        world.isolate(lonely)
        world.run(20_000)
        check_settled(world, "after")
        assert world.leader().replica.quorum.epoch == epoch


def test_back_to_back_isolation_of_leaders(raft_world: Callable) -> None:
    for seed in SEEDS:
        world = started(raft_world, 5, seed)
        for _ in range(3):
            leader = elected(world)
            world.propose("x")
            world.isolate(leader.key.id)
            world.run(6_000)
            world.heal()
        check_settled(world, "after")


def test_crashes_cuts_and_losses_at_random(raft_world: Callable) -> None:
    for seed in SEEDS:
        world = started(raft_world, 3 + 2 * (seed % 2), seed)
        for round_number in range(25):
            node_id = world.random.choice(list(world.nodes))
            action = world.random.choice(
                [
                    "crash",
                    "start",
                    "isolate",
                    "heal",
                    "lossy",
                    "twice",
                    "propose",
                    "propose",
                    "resign",
                    "snapshot",
                ]
            )
            if action == "crash":
                world.crash(node_id)
            elif action == "start" and world.nodes[node_id].replica is None:
                world.start(node_id)
            elif action == "isolate":
                world.isolate(node_id)
            elif action == "heal":
                world.heal()
            elif action == "lossy":
                world.loss = 0.3
            elif action == "twice":
                world.duplication = 0.3
            elif action == "snapshot":
                world.snapshot(node_id)
            elif action == "resign":
                world.resign(node_id)
            else:
                world.propose(f"{seed}/{round_number}")
            world.run(world.random.randrange(1_500))
        check_settled(world, "after")
        assert world.leader() is not None, f"seed {seed}"


def test_a_voter_behind_the_log_joins_by_a_snapshot_also_when_it_is_killed_midway(
    raft_world: Callable,
) -> None:
    """KAFKA-14618."""
    for seed in SEEDS:
        world = started(raft_world, 3, seed)
        leader = elected(world)
        late = next(n for n in world.nodes if n != leader.key.id)
        world.crash(late)
        for number in range(20):
            world.propose(f"record {number}")
            world.run(100)
            world.snapshot(leader.key.id)
        assert leader.log.start_offset > 20
        world.start(late)
        for _ in range(3):
            world.run(world.random.randrange(200))
            world.crash(late)
            world.start(late)
        check_settled(world, "after")
        assert world.nodes[late].log.start_offset > 20


def test_a_leader_that_goes_midway_is_followed_by_one_with_another_snapshot(
    raft_world: Callable,
) -> None:
    for seed in SEEDS:
        world = started(raft_world, 3, seed)
        leader = elected(world)
        late = next(n for n in world.nodes if n != leader.key.id)
        world.isolate(late)
        for number in range(20):
            world.propose(f"record {number}")
            world.run(100)
            for node_id in world.nodes:
                if world.random.random() < 0.5:
                    world.snapshot(node_id)
        world.heal()
        world.run(world.random.randrange(300))
        world.crash(leader.key.id)
        check_settled(world, "after")


def test_the_same_seed_gives_the_same_world(raft_world: Callable) -> None:
    histories = []
    for _ in range(2):
        world = started(raft_world, 5, 7)
        world.loss = 0.2
        world.run(20_000)
        histories.append(
            [(n.log.entries, n.stored, n.high_watermark) for n in world.nodes.values()]
        )
    assert histories[0] == histories[1]
