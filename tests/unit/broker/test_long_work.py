"""Who may work in which round of the loop. The clock goes on by hand, as the workers of these tests work."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from millstream.broker.long_work import BEGINNING_S, TURN_S, LongWork
from tests.patience import LONG_ENOUGH_S


class Rounds:
    """Counts the rounds of the running loop, and notes who has worked in which."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.long_work = LongWork(lambda: self.now_s)
        self.number = 0
        self.worked: list[tuple[int, str]] = []

    def note(self, name: str) -> None:
        """`name` works for as long as a turn is."""
        self.worked.append((self.number, name))
        self.now_s += TURN_S

    async def work(self, name: str, turns: int) -> None:
        for _ in range(turns):
            await self.long_work.next_turn()
            self.note(name)

    async def watch(self, *workers: asyncio.Task[None]) -> None:
        async with asyncio.timeout(LONG_ENOUGH_S):
            while not all(each.done() for each in workers):
                await asyncio.sleep(0)
                self.number += 1


@pytest.fixture
def rounds() -> Rounds:
    return Rounds()


def start(rounds: Rounds, names: str, turns: int) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(rounds.work(name, turns)) for name in names]


async def test_who_is_alone_has_a_turn_in_each_round(rounds: Rounds) -> None:
    await rounds.watch(*start(rounds, "a", 4))
    numbers = [number for number, _ in rounds.worked]
    assert numbers == list(range(numbers[0], numbers[0] + 4))


async def test_a_round_has_one_turn_however_many_wait_and_who_asked_first_is_first(
    rounds: Rounds,
) -> None:
    await rounds.watch(*start(rounds, "abc", 3))
    numbers = [number for number, _ in rounds.worked]
    assert numbers == list(range(numbers[0], numbers[0] + 9))
    assert "".join(name for _, name in rounds.worked) == "abcabcabc"


async def test_who_comes_later_waits_for_one_turn_of_each_of_the_others(rounds: Rounds) -> None:
    busy = start(rounds, "abc", 20)
    await rounds.watch(asyncio.create_task(rounds.work("a", 2)))
    seen = len(rounds.worked)
    late = asyncio.create_task(rounds.work("z", 1))
    await rounds.watch(late, *busy)
    assert 0 <= [name for _, name in rounds.worked[seen:]].index("z") <= 4


async def test_who_is_cancelled_while_it_waits_loses_its_place_and_nobody_else_does(
    rounds: Rounds,
) -> None:
    tasks = start(rounds, "abcd", 2)
    await asyncio.sleep(0)
    tasks[1].cancel()
    await rounds.watch(*tasks)
    assert "".join(name for _, name in rounds.worked) == "acdacd"


async def test_who_is_cancelled_when_it_has_been_given_a_turn_stops_nobody(rounds: Rounds) -> None:
    tasks = start(rounds, "abc", 3)
    while not rounds.worked:  # noqa: ASYNC110 - a turn of the loop, not a time
        await asyncio.sleep(0)
    for each in tasks[:2]:  # one of them has the turn of the next round
        each.cancel()
    await rounds.watch(*tasks)
    assert [name for _, name in rounds.worked][-3:] == ["c"] * 3
    rounds.worked.clear()
    await rounds.watch(*start(rounds, "d", 2))
    assert [name for _, name in rounds.worked] == ["d", "d"]


async def test_who_begins_waits_for_no_turn_and_has_a_whole_one(rounds: Rounds) -> None:
    others = start(rounds, "abc", 3)
    await asyncio.sleep(0)
    rounds.now_s += 7 * TURN_S
    begun_s = rounds.now_s
    assert finished_at_once(rounds.long_work.begin) == begun_s + TURN_S
    await rounds.watch(*others)


async def test_very_many_begin_a_few_in_each_round_and_in_the_order_in_which_they_came(
    rounds: Rounds,
) -> None:
    async def begin(name: str) -> None:
        await rounds.long_work.begin()
        rounds.note(name)

    await rounds.watch(*(asyncio.create_task(begin(name)) for name in "abcdef"))
    assert [name for _, name in rounds.worked] == list("abcdef")
    counts = Counter(number for number, _ in rounds.worked)
    assert set(counts.values()) == {round(BEGINNING_S / TURN_S)}


async def test_who_begins_again_and_again_does_not_keep_others_from_beginning(
    rounds: Rounds,
) -> None:
    async def begin(name: str, times: int) -> None:
        for _ in range(times):
            await rounds.long_work.begin()
            rounds.note(name)
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(begin(name, 5)) for name in "abcdef"]
    await rounds.watch(*tasks)
    begun = [name for _, name in rounds.worked]
    assert set(begun[:10]) == set("abcdef")
    assert Counter(begun) == dict.fromkeys("abcdef", 5)


async def test_items_are_walked_through_in_turns(rounds: Rounds) -> None:
    async def walk() -> None:
        async for item in rounds.long_work.in_turns(range(6)):
            rounds.worked.append((rounds.number, str(item)))
            rounds.now_s += TURN_S / 2

    walking = asyncio.create_task(walk())
    await rounds.watch(walking)
    first = rounds.worked[0][0]
    assert [(number - first, name) for number, name in rounds.worked] == [
        (0, "0"), (0, "1"), (1, "2"), (1, "3"), (2, "4"), (2, "5"),
    ]  # fmt: skip


async def test_a_walk_over_few_items_waits_for_nobody(rounds: Rounds) -> None:
    others = start(rounds, "abc", 3)
    await asyncio.sleep(0)

    async def walk() -> list[int]:
        return [each async for each in rounds.long_work.in_turns(range(6))]

    assert finished_at_once(walk) == list(range(6))
    await rounds.watch(*others)


def finished_at_once(walk: Callable[[], object]) -> object:
    coroutine = walk()
    assert asyncio.iscoroutine(coroutine)
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    return ended.value.value


async def test_when_nobody_works_nothing_is_called(rounds: Rounds) -> None:
    await rounds.long_work.next_turn()
    await rounds.long_work.begin()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not rounds.long_work._is_called
