"""What holds for every simulated node: the offsets of a partition are in order after every step that may move them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import pytest

from millstream.compiled import are_compiled
from millstream.replication.partition import Partition

_P = ParamSpec("_P")
_R = TypeVar("_R")


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
