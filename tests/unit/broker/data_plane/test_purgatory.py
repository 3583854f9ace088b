from __future__ import annotations

import asyncio

from millstream.broker.requests.purgatory import Purgatory
from millstream.model import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


def always(_key: TopicPartition) -> bool:
    return True


def never(_key: TopicPartition) -> bool:
    return False


async def test_progress_of_a_watched_partition_ends_the_wait(plane):
    operation = plane.purgatory.watch([A, B], 500, always)
    plane.purgatory.wake(TopicPartition("c", 0))
    assert not operation.is_done
    plane.purgatory.wake(B)
    assert await operation.wait() is True
    assert len(plane.purgatory) == 0


async def test_a_condition_that_does_not_hold_goes_on_waiting(plane):
    asked = []
    operation = plane.purgatory.watch([A], 500, lambda key: asked.append(key) or len(asked) == 2)
    plane.purgatory.wake(A)
    assert not operation.is_done
    plane.purgatory.wake(A)
    assert operation.is_done
    plane.purgatory.wake(A)
    assert asked == [A, A]


async def test_the_deadline_ends_the_wait_unsatisfied(plane):
    operation = plane.purgatory.watch([A], 500, never)
    plane.clock.advance(499)
    assert plane.purgatory.expire() == 1
    plane.clock.advance(1)
    assert plane.purgatory.expire() is None
    assert await operation.wait() is False


async def test_a_wait_that_is_cancelled_is_forgotten(plane):
    operation = plane.purgatory.watch([A], 500, never)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(operation.wait())
        await asyncio.sleep(0)
        task.cancel()
    assert len(plane.purgatory) == 0


async def test_beyond_the_bound_a_wait_is_over_at_once(plane):
    purgatory = Purgatory(plane.clock, operations_max=1)
    first = purgatory.watch([A], 500, never)
    second = purgatory.watch([A], 500, never)
    assert await second.wait() is False
    assert len(purgatory) == 1
    purgatory.close()
    assert await first.wait() is False


async def test_run_keeps_the_deadlines(plane):
    async with asyncio.TaskGroup() as group:
        task = group.create_task(plane.purgatory.run())
        await asyncio.sleep(0)
        operation = plane.purgatory.watch([A], 0, never)
        assert await operation.wait() is False
        task.cancel()


async def test_many_finished_waits_do_not_pile_up(plane):
    for _ in range(5_000):
        operation = plane.purgatory.watch([A], 60_000, always)
        plane.purgatory.wake(A)
        await operation.wait()
    assert len(plane.purgatory._deadlines) <= 1_001


async def test_a_listener_hears_of_progress_until_it_leaves(plane):
    heard: list[TopicPartition] = []
    listener = plane.purgatory.listener(heard.append)
    one, two = TopicPartition("t", 0), TopicPartition("t", 1)
    for key in (one, one, two):
        listener.listen_to(key)
    plane.purgatory.wake(one)
    listener.leave(one)
    plane.purgatory.wake(one)
    plane.purgatory.wake(two)
    listener.close()
    plane.purgatory.wake(two)
    assert heard == [one, two]


async def test_growth_is_told_to_those_who_mind_it_and_progress_to_all(plane):
    checked: list[str] = []

    def waits(name: str, *, minds_growth: bool) -> None:
        def is_satisfied(_key: TopicPartition) -> bool:
            checked.append(name)
            return False

        plane.purgatory.watch([A], 500, is_satisfied, minds_growth=minds_growth)
        listener = plane.purgatory.listener(
            lambda _key: checked.append(f"{name} listens"), minds_growth=minds_growth
        )
        listener.listen_to(A)

    waits("producer", minds_growth=False)
    waits("follower", minds_growth=True)
    plane.purgatory.note_growth(B)
    assert checked == []
    plane.purgatory.note_growth(A)
    assert sorted(checked) == ["follower", "follower listens"]
    checked.clear()
    plane.purgatory.wake(A)
    assert sorted(checked) == ["follower", "follower listens", "producer", "producer listens"]


async def test_a_wait_that_minds_growth_ends_with_it_and_is_forgotten(plane):
    operation = plane.purgatory.watch([A], 500, always, minds_growth=True)
    plane.purgatory.note_growth(A)
    assert await operation.wait() is True
    assert len(plane.purgatory) == 0
    plane.purgatory.note_growth(A)
