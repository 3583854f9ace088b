"""Swaps end with the lowest cost that there can be, and leave everyone as many tasks."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from millstream.streams.application.group.classic.rack_traffic import swap_for_less
from millstream.streams.application.group.membership import StreamsTaskId

NAMES = "abc"


@given(st.lists(st.integers(0, 2), max_size=6), st.data())
def test_no_other_way_with_the_same_numbers_costs_less(
    owners: list[int], data: st.DataObject
) -> None:
    tasks = [StreamsTaskId(0, number) for number in range(len(owners))]
    costs = {
        (task, name): data.draw(st.integers(0, 12), label=f"{task} at {name}")
        for task in tasks
        for name in NAMES
    }
    active = {
        name: {task for task, owner in zip(tasks, owners, strict=True) if NAMES[owner] == name}
        for name in NAMES
    }
    sizes = {name: len(mine) for name, mine in active.items()}
    swap_for_less(active, lambda task, name: costs[task, name])
    assert {name: len(mine) for name, mine in active.items()} == sizes
    assert sorted(task for mine in active.values() for task in mine) == tasks
    lowest = min(
        sum(costs[task, NAMES[owner]] for task, owner in zip(tasks, each, strict=True))
        for each in set(permutations(owners))
    )
    assert sum(costs[task, name] for name, mine in active.items() for task in mine) == lowest
