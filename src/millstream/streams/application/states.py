"""The states of an application and of its threads, and the ways between them, with Kafka Streams' names. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from millstream.clients.core.illegal_state import IllegalState


class ApplicationState(StrEnum):
    """The life of a `KafkaStreams` (KafkaStreams.State)."""

    CREATED = "CREATED"
    REBALANCING = "REBALANCING"
    RUNNING = "RUNNING"
    PENDING_SHUTDOWN = "PENDING_SHUTDOWN"
    NOT_RUNNING = "NOT_RUNNING"
    PENDING_ERROR = "PENDING_ERROR"
    ERROR = "ERROR"

    @property
    def is_running_or_rebalancing(self) -> bool:
        """Whether the application has been started and does not end."""
        return self in {ApplicationState.RUNNING, ApplicationState.REBALANCING}

    @property
    def has_completed_shutdown(self) -> bool:
        """Whether this is a last state."""
        return self in {ApplicationState.NOT_RUNNING, ApplicationState.ERROR}


_A = ApplicationState
APPLICATION_TRANSITIONS: Final[Mapping[ApplicationState, frozenset[ApplicationState]]] = {
    _A.CREATED: frozenset({_A.REBALANCING, _A.PENDING_SHUTDOWN}),
    _A.REBALANCING: frozenset({_A.RUNNING, _A.PENDING_SHUTDOWN, _A.PENDING_ERROR}),
    _A.RUNNING: frozenset({_A.REBALANCING, _A.PENDING_SHUTDOWN, _A.PENDING_ERROR}),
    _A.PENDING_SHUTDOWN: frozenset({_A.NOT_RUNNING}),
    _A.PENDING_ERROR: frozenset({_A.ERROR}),
    _A.NOT_RUNNING: frozenset(),
    _A.ERROR: frozenset(),
}


class ThreadState(StrEnum):
    """The life of a stream thread (StreamThread.State)."""

    CREATED = "CREATED"
    STARTING = "STARTING"
    PARTITIONS_REVOKED = "PARTITIONS_REVOKED"
    """It has given up tasks, and takes over what it is to have instead."""
    PARTITIONS_ASSIGNED = "PARTITIONS_ASSIGNED"
    """Some of its tasks are being restored."""
    RUNNING = "RUNNING"
    PENDING_SHUTDOWN = "PENDING_SHUTDOWN"
    DEAD = "DEAD"


_T = ThreadState
THREAD_TRANSITIONS: Final[Mapping[ThreadState, frozenset[ThreadState]]] = {
    _T.CREATED: frozenset({_T.STARTING, _T.PENDING_SHUTDOWN}),
    _T.STARTING: frozenset({_T.PARTITIONS_REVOKED, _T.PARTITIONS_ASSIGNED, _T.PENDING_SHUTDOWN}),
    _T.PARTITIONS_REVOKED: frozenset({_T.PARTITIONS_ASSIGNED, _T.PENDING_SHUTDOWN}),
    _T.PARTITIONS_ASSIGNED: frozenset({_T.PARTITIONS_REVOKED, _T.RUNNING, _T.PENDING_SHUTDOWN}),
    _T.RUNNING: frozenset({_T.PARTITIONS_REVOKED, _T.PARTITIONS_ASSIGNED, _T.PENDING_SHUTDOWN}),
    _T.PENDING_SHUTDOWN: frozenset({_T.DEAD}),
    _T.DEAD: frozenset(),
}
"""The ways from each state to another one."""
_SETTLED: Final = frozenset({ThreadState.RUNNING, ThreadState.PENDING_SHUTDOWN, ThreadState.DEAD})


def require_transition(
    application_id: str, before: ApplicationState, after: ApplicationState
) -> None:
    """Raises IllegalState where an application cannot go from one state to the other."""
    if after not in APPLICATION_TRANSITIONS[before]:
        raise IllegalState(f"application {application_id} is {before} and cannot become {after}")


def thread_state_after(name: str, before: ThreadState, wanted: ThreadState) -> ThreadState:
    """Returns the state of a thread that is to enter another one. One that shuts down heeds nothing but its end.

    Raises IllegalState where no way leads there.
    """
    if wanted is before or (
        before is ThreadState.PENDING_SHUTDOWN and wanted is not ThreadState.DEAD
    ):
        return before
    if wanted not in THREAD_TRANSITIONS[before]:
        raise IllegalState(f"stream-thread [{name}] is {before} and cannot become {wanted}")
    return wanted


def state_of_threads(threads: Collection[ThreadState]) -> ApplicationState:
    """Returns the state of a started application whose threads are in these states."""
    return (
        ApplicationState.RUNNING if _SETTLED.issuperset(threads) else ApplicationState.REBALANCING
    )


def are_restoring(threads: Collection[ThreadState]) -> bool:
    """Whether tasks of these threads are not there yet that are to come; so it is before there are threads."""
    still_there = _SETTLED | {ThreadState.PARTITIONS_REVOKED}
    return not threads or not still_there.issuperset(threads)
