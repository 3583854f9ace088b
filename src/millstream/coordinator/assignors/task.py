"""The tasks of a streams topology, and what a member holds of them by role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple


class TaskId(NamedTuple):
    """One partition's share of the work of one sub-topology."""

    subtopology_id: str
    partition: int


NO_TASKS: Final[frozenset[TaskId]] = frozenset()


@dataclass(frozen=True, slots=True)
class Tasks:
    """`active` tasks process records, `standby` tasks follow a changelog, `warmup` tasks do so
    until they can take over.
    """

    active: frozenset[TaskId] = NO_TASKS
    standby: frozenset[TaskId] = NO_TASKS
    warmup: frozenset[TaskId] = NO_TASKS

    @property
    def all(self) -> frozenset[TaskId]:
        return self.active | self.standby | self.warmup
