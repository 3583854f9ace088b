from __future__ import annotations

import asyncio

import pytest

from millstream.broker.storage.pace import Pace
from tests.support.patched_library import patch_library


class World:
    """Time passes only where somebody sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rate: float) -> None:
        self.rate = rate
        self.now_s = 100.0
        self.change_at: tuple[float, float] | None = None
        self.pace = Pace(lambda: self.rate, lambda: self.now_s)
        self._give_way = asyncio.sleep
        patch_library(monkeypatch, Pace.__module__, asyncio, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        if self.change_at is not None and self.now_s >= self.change_at[0]:
            self.rate = self.change_at[1]
        await self._give_way(0)

    async def move(self, *counts: int) -> float:
        """Seconds that the moves took."""
        begin_s = self.now_s
        for count in counts:
            await self.pace.maybe_throttle(count)
        return self.now_s - begin_s


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch, rate=1000)


async def test_no_more_is_moved_than_the_rate_allows(slow: World) -> None:
    assert await slow.move(500, 1000, 2500) == pytest.approx(4.0)


async def test_idle_time_is_not_saved_up(slow: World) -> None:
    await slow.move(1000)
    slow.now_s += 3600
    assert await slow.move(2000) == pytest.approx(2.0)


async def test_two_movers_share_the_rate(slow: World) -> None:
    begin_s = slow.now_s
    await asyncio.gather(slow.pace.maybe_throttle(1000), slow.pace.maybe_throttle(1000))
    assert slow.now_s - begin_s >= 2.0


async def test_nothing_moves_at_a_rate_of_0_until_it_changes(slow: World) -> None:
    slow.rate = 0
    slow.change_at = (slow.now_s + 7, 1000)
    assert await slow.move(1000) == pytest.approx(7.0)


async def test_without_a_limit_nobody_waits(slow: World) -> None:
    slow.rate = 1.7976931348623157e308
    assert await slow.move(1 << 40) < 0.001
