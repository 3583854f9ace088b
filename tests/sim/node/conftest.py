"""What holds for every simulated node.

Loops that give way after a millisecond measure it by the virtual clock, so that a busy machine changes no story. The offsets of a
partition are in order after every step that may move them.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import pytest

from millstream.compiled import are_compiled
from millstream.replication.partition import Partition
from tests.sim.virtual_time import VirtualLoop

_real = time.perf_counter
_P = ParamSpec("_P")
_R = TypeVar("_R")


def _now_s() -> float:
    loop = asyncio._get_running_loop()
    return loop.time() if isinstance(loop, VirtualLoop) else _real()


@pytest.fixture(autouse=True)
def turns_in_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", _now_s)


def _checked(
    step: Callable[Concatenate[Partition, _P], _R],
) -> Callable[Concatenate[Partition, _P], _R]:
    @functools.wraps(step)
    def checked(partition: Partition, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        result = step(partition, *args, **kwargs)
        partition.check_offsets()
        return result

    return checked


@pytest.fixture(autouse=True)
def offsets_are_in_order_after_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """With sources alone: compiled callers do not look methods up. `make sim` and test_interpreted.py run them."""
    if are_compiled():
        return
    for step in (
        Partition.append_checked,
        Partition.append_marker,
        Partition.read,
        Partition.maintain,
        Partition.delete_records_before,
    ):
        monkeypatch.setattr(Partition, step.__name__, _checked(step))
