"""Which expressions go to a process of their own, and what holds when it dies, takes long or is asked by many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from millstream.broker.patterns.costly_patterns import CostlyPatterns, PatternProcessDied
from millstream.broker.patterns.frames import Ask, read_message
from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.patterns.program import PatternProgram
from millstream.errors import CoordinatorNotAvailable, InvalidRegularExpression
from millstream.runtime import Instant
from tests.sim.virtual_time import run_in_virtual_time

ResultT = TypeVar("ResultT")
CHEAP, COSTLY = "a+", "(?:a{100}){0,5}a*"
TOO_LARGE = r"(\pL{1000})" * 9
ME = "10.0.0.1"


class StillClock:
    def now(self) -> Instant:
        return Instant(0, 0)


@dataclass
class FakeProcess:
    """The program itself, in this process; `dies` and `takes_s` are of what is asked next."""

    dies: bool = False
    takes_s: float = 0.0
    has_ended: bool = False
    patterns: list[str] = field(default_factory=list)
    program: PatternProgram = field(default_factory=PatternProgram)

    async def ask(self, message: bytes) -> bytes:
        assert not self.has_ended
        ask, content = read_message(message)
        if ask is Ask.COMPILE:
            self.patterns.append(content.decode())
        await asyncio.sleep(self.takes_s)
        if self.dies:
            raise ConnectionError
        return self.program.answer(message)

    def end(self) -> None:
        self.has_ended = True


class World:
    def __init__(self) -> None:
        self.started: list[FakeProcess] = []
        self.in_thread = 0
        self.cannot_start = False
        self.matcher = PatternMatcher(self, CostlyPatterns(self.start), StillClock())

    @property
    def process(self) -> FakeProcess:
        return self.started[-1]

    async def start(self) -> FakeProcess:
        if self.cannot_start:
            raise OSError("no more processes")
        self.started.append(FakeProcess())
        return self.process

    async def match(self, work: Callable[[], ResultT]) -> ResultT:
        self.in_thread += 1
        return work()

    async def matches(self, pattern: str, payer: str = ME) -> set[str]:
        return set(await self.matcher.matching(pattern, ["a", "b", "aaa"], payer))


def run(story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def told() -> None:
        world = World()
        try:
            await story(world)
        finally:
            world.matcher.close()

    run_in_virtual_time(told())


def test_cheap_expressions_are_matched_in_the_thread_and_start_no_process() -> None:
    async def story(world: World) -> None:
        assert await world.matches(CHEAP) == {"a", "aaa"}
        await world.matcher.check_fits(CHEAP, ME)
        await world.matcher.check_fits("(", ME)  # refused when it is read
        with pytest.raises(InvalidRegularExpression, match="missing"):
            await world.matches("(")
        assert (world.started, world.in_thread) == ([], 2)

    run(story)


def test_costly_expressions_are_matched_in_one_process() -> None:
    async def story(world: World) -> None:
        assert await world.matches(COSTLY) == {"a", "aaa"}
        await world.matcher.check_fits(COSTLY, ME)
        assert world.process.patterns == [COSTLY, COSTLY]
        assert (len(world.started), world.in_thread) == (1, 0)

    run(story)


def test_thousands_of_texts_are_each_answered() -> None:
    async def story(world: World) -> None:
        texts = [letter * length for length in range(1, 1_300) for letter in "ab"]
        matched = await world.matcher.matching(COSTLY, texts, ME)
        assert matched == {text for text in texts if "b" not in text}

    run(story)


def test_what_is_too_large_is_refused_and_the_process_stays() -> None:
    async def story(world: World) -> None:
        for attempt in (world.matches(TOO_LARGE), world.matcher.check_fits(TOO_LARGE, ME)):
            with pytest.raises(InvalidRegularExpression, match="too large"):
                await attempt
        assert not world.process.has_ended

    run(story)


def test_what_cannot_be_read_fits_until_it_is_read() -> None:
    async def story(world: World) -> None:
        await world.matcher.check_fits("(" + COSTLY, ME)
        with pytest.raises(InvalidRegularExpression, match="missing"):
            await world.matches("(" + COSTLY)

    run(story)


def test_what_is_too_long_is_refused_without_being_sent() -> None:
    async def story(world: World) -> None:
        with pytest.raises(InvalidRegularExpression, match="longer than 32767 bytes"):
            await world.matches("a" * 32_768)
        assert world.started == []

    run(story)


def test_a_process_that_dies_costs_one_expression_and_the_next_one_gets_another() -> None:
    async def story(world: World) -> None:
        await world.matches(COSTLY)
        world.process.dies = True
        with pytest.raises(PatternProcessDied):
            await world.matches(COSTLY)
        assert world.process.has_ended
        assert await world.matches(COSTLY) == {"a", "aaa"}
        assert len(world.started) == 2

    run(story)


def test_a_process_that_died_while_nobody_asked_costs_nothing() -> None:
    async def story(world: World) -> None:
        await world.matches(COSTLY)
        world.process.has_ended = True
        assert await world.matches(COSTLY) == {"a", "aaa"}

    run(story)


def test_an_expression_that_takes_longer_than_ten_seconds_is_given_up() -> None:
    async def story(world: World) -> None:
        await world.matches(COSTLY)
        slow = world.process
        slow.takes_s = 9
        with pytest.raises(InvalidRegularExpression, match="takes longer than 10000 ms"):
            await world.matches(COSTLY)
        assert asyncio.get_running_loop().time() == 10
        assert slow.has_ended
        assert await world.matches(COSTLY) == {"a", "aaa"}

    run(story)


def test_a_process_that_cannot_be_started_is_said_and_tried_again() -> None:
    async def story(world: World) -> None:
        world.cannot_start = True
        with pytest.raises(CoordinatorNotAvailable, match="no more processes"):
            await world.matches(COSTLY)
        world.cannot_start = False
        assert await world.matches(COSTLY) == {"a", "aaa"}

    run(story)


def test_who_gives_up_ends_the_work_and_the_next_one_is_served() -> None:
    async def story(world: World) -> None:
        await world.matches(COSTLY)
        slow = world.process
        slow.takes_s = 9
        tasks = [asyncio.create_task(world.matches(COSTLY)) for _ in range(3)]
        await asyncio.sleep(1)
        for task in tasks[:2]:  # one that is worked on, and one that waits
            task.cancel()
        assert await tasks[2] == {"a", "aaa"}
        assert slow.has_ended
        assert len(world.started) == 2

    run(story)


def test_an_idle_process_is_ended_after_a_minute() -> None:
    async def story(world: World) -> None:
        for _ in range(3):
            await world.matches(COSTLY)
            await asyncio.sleep(59)
        assert not world.process.has_ended
        await asyncio.sleep(2)
        assert world.process.has_ended
        assert await world.matches(COSTLY) == {"a", "aaa"}
        assert len(world.started) == 2

    run(story)


def test_one_that_asks_for_much_keeps_another_waiting_for_one_turn_alone() -> None:
    async def story(world: World) -> None:
        await world.matches(COSTLY)
        world.process.takes_s = 1
        done: list[str] = []

        async def one(payer: str) -> None:
            await world.matcher.check_fits(COSTLY, payer)
            done.append(payer)

        tasks = [asyncio.create_task(one("greedy")) for _ in range(20)]
        await asyncio.sleep(0)
        tasks += [asyncio.create_task(one(payer)) for payer in ("b", "b", "c")]
        await asyncio.gather(*tasks)
        assert done[:7] == ["greedy", "greedy", "b", "c", "greedy", "b", "greedy"]
        assert done[7:] == ["greedy"] * 16

    run(story)


def test_cheap_expressions_do_not_wait_for_costly_ones() -> None:
    async def story(world: World) -> None:
        await world.matches(COSTLY)
        world.process.takes_s = 1
        costly = asyncio.create_task(world.matches(COSTLY))
        await asyncio.sleep(0)
        assert await world.matches(CHEAP) == {"a", "aaa"}
        assert not costly.done()
        await costly

    run(story)
