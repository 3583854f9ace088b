"""The task host that each task is sent to. Pure.

A task stays where it is, since its stores are open there. It moves when its executor is gone, and one by one when another host
has so much less to do that moving evens it out: executors come and go, and the first one to be there gets everything at first.
What is evened out first is each sub-topology, whose tasks run at the same time, then the whole; hosts first, then executors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

Task = tuple[int, int]
"""Sub-topology and partition."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A task host: its number among those of an executor. None: of the executor that Spark chooses, or of the only one there is."""

    executor: str | None
    number: int


def placed(
    tasks: Collection[Task], places: Mapping[Task, Slot], slots: Sequence[Slot]
) -> dict[Task, Slot]:
    """Returns one of the slots for each of the tasks. `places`: where all tasks of the application are."""
    load: Counter[object] = Counter()
    for task, slot in places.items():
        load.update(_counted(task, slot))
    found = {}
    for task in tasks:
        here = places.get(task)
        if here is not None:
            load.subtract(_counted(task, here))
        _, best = min(
            ((*(load[each] for each in _counted(task, slot)), slot != here), number)
            for number, slot in enumerate(slots)
        )
        found[task] = slots[best]
        load.update(_counted(task, slots[best]))
    return found


def _counted(task: Task, slot: Slot) -> tuple[object, ...]:
    """The places in which a task of a slot is one of so many, the most important one first."""
    return (task[0], slot), slot, (task[0], slot.executor), slot.executor
