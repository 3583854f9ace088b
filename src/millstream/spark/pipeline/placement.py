"""The task host that each task is sent to. Pure.

A task stays where it is, since its stores are open there. It moves when its executor is gone, and one by one when
another host has so much less to do that moving evens it out: executors come and go, and the first one to be there gets
everything at first. What is evened out first is each sub-topology, whose tasks run at the same time, then the whole;
hosts first, then executors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

Task = tuple[int, int]
"""Sub-topology and partition."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A task host: its number among those of an executor.

    None: of the executor that Spark chooses, or of the only one there is.
    """

    executor: str | None
    number: int


_NO_COPIES: Mapping[Task, Collection[Slot]] = {}


def placed(
    tasks: Collection[Task],
    assigned: Mapping[Task, Slot],
    slots: Sequence[Slot],
    copies: Mapping[Task, Collection[Slot]] = _NO_COPIES,
) -> dict[Task, Slot]:
    """Returns one of the slots for each of the tasks. `assigned`: the slots of all tasks of the application.

    `copies`: of tasks that have standbys, where their stores are kept up to date; such a task moves to one of these,
    and to another slot only when it has to.
    """
    load: Counter[object] = Counter()
    for task, slot in assigned.items():
        load.update(_counted(task, slot))
    found = {}
    for task in tasks:
        here = assigned.get(task)
        if here is not None:
            load.subtract(_counted(task, here))
        allowed = _allowed(here, slots, copies.get(task))
        _, best = min(
            ((*(load[each] for each in _counted(task, slot)), slot != here), number)
            for number, slot in enumerate(slots)
            if slot in allowed
        )
        found[task] = slots[best]
        load.update(_counted(task, slots[best]))
    return found


def _allowed(
    here: Slot | None, slots: Sequence[Slot], copies: Collection[Slot] | None
) -> Collection[Slot]:
    if here is None or copies is None:
        return slots
    warm = [slot for slot in slots if slot == here or slot in copies]
    return warm or slots


def standbys_of(
    tasks: AbstractSet[Task],
    assigned: Mapping[Task, Slot],
    slots: Sequence[Slot],
    known: Mapping[Task, Sequence[Slot]],
    count: int,
) -> dict[Task, tuple[Slot, ...]]:
    """Returns up to `count` slots for each of the tasks that has a slot, each of another executor
    than the task and the others.

    Those that are `known` stay.
    """
    load: Counter[Slot] = Counter()
    found = {}
    for task in sorted(tasks & assigned.keys()):
        taken = {assigned[task].executor, None}
        mine: list[Slot] = []
        by_preference = sorted(
            slots, key=lambda slot: (slot not in known.get(task, ()), load[slot], slots.index(slot))
        )
        for slot in by_preference:
            if len(mine) < count and slot.executor not in taken:
                mine.append(slot)
                taken.add(slot.executor)
        load.update(mine)
        found[task] = tuple(mine)
    return found


def _counted(task: Task, slot: Slot) -> tuple[object, ...]:
    """The places in which a task of a slot is one of so many, the most important one first."""
    return (task[0], slot), slot, (task[0], slot.executor), slot.executor
