"""Swaps tasks between instances so that fewer partitions are read across racks (KIP-925). Pure.

Each instance keeps as many tasks as it has, so that nobody gets more work. A swap takes tasks round a circle
of instances; as long as some circle costs less than what is, one is taken, after which none does: the costs
are the lowest that there can be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from millstream.streams.application.group.membership import StreamsTaskId

Cost = Callable[[StreamsTaskId, str], int]
"""The cost of a task at an instance."""


class _Step(NamedTuple):
    """The cheapest move of a task from one instance to another, which may gain (less than 0) or lose."""

    change: int
    task: StreamsTaskId


def swap_for_less(active: Mapping[str, set[StreamsTaskId]], cost: Cost) -> None:
    """Changes who has which task until no swap makes it cheaper."""
    while circle := _circle_that_gains(_steps(active, cost)):
        for start, end, task in circle:
            active[start].remove(task)
            active[end].add(task)


def _steps(active: Mapping[str, set[StreamsTaskId]], cost: Cost) -> dict[tuple[str, str], _Step]:
    return {
        (start, end): min(
            _Step(cost(task, end) - cost(task, start), task) for task in active[start]
        )
        for start in active
        for end in active
        if start != end and active[start]
    }


def _circle_that_gains(
    steps: Mapping[tuple[str, str], _Step],
) -> list[tuple[str, str, StreamsTaskId]]:
    """Returns the moves round a circle whose sum is below 0; nothing where there is none (Bellman and Ford)."""
    names = sorted({name for ends in steps for name in ends})
    distances = dict.fromkeys(names, 0)
    before: dict[str, str] = {}
    last = None
    for _ in names:
        last = None
        for (start, end), step in steps.items():
            if distances[start] + step.change < distances[end]:
                distances[end] = distances[start] + step.change
                before[end] = start
                last = end
    if last is None:
        return []
    for _ in names:  # so many steps back it is on the circle, wherever it was found
        last = before[last]
    circle: list[tuple[str, str, StreamsTaskId]] = []
    end = last
    while not circle or end != last:
        start = before[end]
        circle.append((start, end, steps[start, end].task))
        end = start
    return circle
