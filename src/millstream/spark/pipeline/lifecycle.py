"""The life of an application: its states and the ways between them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """The life of an application, with Kafka Streams' names."""

    CREATED = "CREATED"
    RUNNING = "RUNNING"
    PENDING_SHUTDOWN = "PENDING_SHUTDOWN"
    NOT_RUNNING = "NOT_RUNNING"
    PENDING_ERROR = "PENDING_ERROR"
    ERROR = "ERROR"


TRANSITIONS: Final[Mapping[State, frozenset[State]]] = {
    State.CREATED: frozenset({State.RUNNING, State.PENDING_SHUTDOWN}),
    State.RUNNING: frozenset({State.PENDING_SHUTDOWN, State.PENDING_ERROR}),
    State.PENDING_SHUTDOWN: frozenset({State.NOT_RUNNING}),
    State.PENDING_ERROR: frozenset({State.ERROR}),
    State.ERROR: frozenset({State.PENDING_SHUTDOWN}),
    State.NOT_RUNNING: frozenset(),
}
