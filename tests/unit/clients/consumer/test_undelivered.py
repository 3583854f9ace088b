"""Records that were taken and not given out: what commits and positions make of them."""

from __future__ import annotations

from millstream.clients.consumer.core.undelivered import Undelivered
from millstream.clients.core.values import ConsumerRecord
from millstream.model import TopicPartition
from tests.unit.clients.consumer.fetch_world import World, batch

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def polled(world: World) -> Undelivered[bytes, bytes]:
    """Two records of each partition, taken by iteration."""
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"a0", b"a1"), partition=0)
    world.answer(planned, batch(0, b"b0", b"b1"), partition=1)
    undelivered: Undelivered[bytes, bytes] = Undelivered(world.subscription)
    undelivered.add(world.records.take(10))
    return undelivered


def values(records: list[ConsumerRecord[bytes, bytes]]) -> list[bytes | None]:
    return [record.value for record in records]


def test_what_was_not_given_out_is_where_a_commit_stops() -> None:
    """K4.47: never beyond what was returned."""
    world = World(leaders=(1, 1))
    undelivered = polled(world)
    assert undelivered.first_offsets() == {T0: 0, T1: 0}
    undelivered.next()
    assert undelivered.first_offsets() == {T0: 1, T1: 0}
    undelivered.take(1)
    assert undelivered.first_offsets() == {T1: 0}
    assert values(undelivered.take(10)) == [b"b0", b"b1"]
    assert not undelivered
    assert undelivered.next() is None


def test_what_is_given_back_is_fetched_again() -> None:
    """K14.04: after a seek or a pause nothing of before is returned."""
    world = World(leaders=(1, 1))
    undelivered = polled(world)
    undelivered.give_back([T0])
    assert (world.state(0).position, world.state(1).position) == (0, 2)
    assert values(undelivered.take(10)) == [b"b0", b"b1"]


def test_records_of_partitions_that_were_given_up_are_dropped() -> None:
    """K4.40: also when the partition came back meanwhile, because its position is the group's then."""
    world = World(leaders=(1, 1))
    undelivered = polled(world)
    world.subscription.set_partitions([T0])
    world.subscription.set_partitions([T0, T1])
    undelivered.drop_given_up()
    assert values(undelivered.take(10)) == [b"a0", b"a1"]
