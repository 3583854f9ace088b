"""The states of a task and the ways between them, as Kafka Streams has them (`Task.State`). Pure.

Its way back from SUSPENDED to RESTORING is not there: a task that comes back is made anew, and its stores, which are
where it has left them, are opened again.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from millstream.clients.core.illegal_state import IllegalState


class TaskLifeState(StrEnum):
    """The life of one task of a host, active or standby."""

    CREATED = "CREATED"
    """Assigned; nothing of it is open, and nobody is fenced."""
    RESTORING = "RESTORING"
    """It fences other attempts, finds its position and brings its stores there; they can be asked meanwhile."""
    RUNNING = "RUNNING"
    """It processes and commits. A standby task follows its changelogs."""
    SUSPENDED = "SUSPENDED"
    """It processes nothing any more; a last commit may be under way, and then its stores are closed."""
    CLOSED = "CLOSED"
    """Nothing of it is open here."""


TRANSITIONS: Final[Mapping[TaskLifeState, Mapping[TaskLifeState, str]]] = {
    TaskLifeState.CREATED: {
        TaskLifeState.RESTORING: "an attempt to start it begins",
        TaskLifeState.SUSPENDED: "it is given up before that",
    },
    TaskLifeState.RESTORING: {
        TaskLifeState.RUNNING: "its stores hold what its committed position covers; a standby task finds out itself what it lacks",
        TaskLifeState.SUSPENDED: "it is given up, or the attempt has failed",
    },
    TaskLifeState.RUNNING: {
        TaskLifeState.SUSPENDED: "it is given up, has failed, was fenced, or its host ends",
    },
    TaskLifeState.SUSPENDED: {TaskLifeState.CLOSED: "its stores and its producer are closed"},
    TaskLifeState.CLOSED: {TaskLifeState.CREATED: "it is revived: the next attempt may succeed"},
}
"""By state, the ones that may follow, and when."""


def require_transition(task_id: str, before: TaskLifeState, after: TaskLifeState) -> None:
    """Raises IllegalState where a task cannot go from one state to the other."""
    if after not in TRANSITIONS[before]:
        raise IllegalState(f"task {task_id} is {before} and cannot become {after}")
