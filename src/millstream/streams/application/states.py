"""The states of an application and of its threads, and the ways between them, with Kafka Streams' names. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final


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


APPLICATION_TRANSITIONS: Final[Mapping[ApplicationState, frozenset[ApplicationState]]] = {
    ApplicationState.CREATED: frozenset(
        {ApplicationState.REBALANCING, ApplicationState.PENDING_SHUTDOWN}
    ),
    ApplicationState.REBALANCING: frozenset(
        {
            ApplicationState.RUNNING,
            ApplicationState.PENDING_SHUTDOWN,
            ApplicationState.PENDING_ERROR,
        }
    ),
    ApplicationState.RUNNING: frozenset(
        {
            ApplicationState.REBALANCING,
            ApplicationState.PENDING_SHUTDOWN,
            ApplicationState.PENDING_ERROR,
        }
    ),
    ApplicationState.PENDING_SHUTDOWN: frozenset({ApplicationState.NOT_RUNNING}),
    ApplicationState.PENDING_ERROR: frozenset({ApplicationState.ERROR}),
    ApplicationState.NOT_RUNNING: frozenset(),
    ApplicationState.ERROR: frozenset(),
}


class ThreadState(StrEnum):
    """The life of a stream thread (StreamThread.State), without the states that only the classic protocol has."""

    CREATED = "CREATED"
    STARTING = "STARTING"
    PARTITIONS_ASSIGNED = "PARTITIONS_ASSIGNED"
    """Some of its tasks are being restored."""
    RUNNING = "RUNNING"
    PENDING_SHUTDOWN = "PENDING_SHUTDOWN"
    DEAD = "DEAD"


def state_of_threads(threads: Collection[ThreadState]) -> ApplicationState:
    """Returns the state of a started application whose threads are in these states."""
    settled = {ThreadState.RUNNING, ThreadState.DEAD, ThreadState.PENDING_SHUTDOWN}
    return ApplicationState.RUNNING if settled.issuperset(threads) else ApplicationState.REBALANCING
