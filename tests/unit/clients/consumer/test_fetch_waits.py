"""How long brokers may wait for records: not long while they lead partitions that may be wanted again soon."""

from __future__ import annotations

from tests.unit.clients.consumer.fetch_world import World, asked, batch

POLICY_MS = 500
SHORT_MS = 10


def waits_ms(world: World) -> dict[int, int]:
    return {each.node_id: world.fetcher.request(each).max_wait_ms for each in world.plan()}


def test_a_broker_that_is_asked_for_all_its_partitions_may_wait() -> None:
    assert waits_ms(World(leaders=(1, 2))) == {1: POLICY_MS, 2: POLICY_MS}


def test_a_broker_with_a_paused_partition_may_not_wait_long() -> None:
    """It could be asked for the partition only after the answer: who resumes it at once would wait for the other ones."""
    world = World(leaders=(1, 1, 2))
    world.state(0).paused = True
    assert waits_ms(world) == {1: SHORT_MS, 2: POLICY_MS}


def test_nor_may_one_whose_partition_lies_here_unread() -> None:
    world = World(leaders=(1, 1), partition_bytes=1)
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"unread"))
    (planned,) = world.plan()
    assert asked(planned) == {1: 0}
    assert world.fetcher.request(planned).max_wait_ms == SHORT_MS


def test_a_partition_that_stays_paused_costs_fewer_and_fewer_fetches() -> None:
    world = World(leaders=(1, 1))
    world.state(0).paused = True
    waits = []
    for _ in range(8):
        (planned,) = world.plan()
        waits.append(world.fetcher.request(planned).max_wait_ms)
        world.fetcher.finish(planned)
    assert waits == [10, 20, 40, 80, 160, 320, POLICY_MS, POLICY_MS]
    world.state(0).paused = False
    (planned,) = world.plan()
    assert world.fetcher.request(planned).max_wait_ms == POLICY_MS
    world.fetcher.finish(planned)
    world.state(0).paused = True
    assert waits_ms(world) == {1: SHORT_MS}


def test_a_paused_partition_counts_at_the_follower_that_it_is_read_from() -> None:
    """KIP-392: its leader can be asked for the others as before."""
    world = World(leaders=(1, 1, 2))
    for planned in world.plan():
        if planned.node_id == 1:
            world.answer(planned, preferred_read_replica=2)
        else:
            world.answer(planned, partition=2)
    world.state(0).paused = True
    assert waits_ms(world) == {1: POLICY_MS, 2: SHORT_MS}
