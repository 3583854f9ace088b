"""Loops of a node that give way after a millisecond measure it by the virtual clock, so that a busy machine changes no story."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.sim.virtual_time import VirtualLoop

_real = time.perf_counter


def _now_s() -> float:
    loop = asyncio._get_running_loop()
    return loop.time() if isinstance(loop, VirtualLoop) else _real()


@pytest.fixture(autouse=True)
def turns_in_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", _now_s)
