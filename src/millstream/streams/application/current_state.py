"""The state that an application is in, and the listeners that hear of each change (KafkaStreams.StateListener)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from millstream.clients.core.illegal_state import IllegalState
from millstream.streams.application.states import ApplicationState, require_transition
from millstream.streams.errors import StreamsNotStarted

_LOGGER = logging.getLogger(__name__)

StateListener = Callable[[ApplicationState, ApplicationState], object]


class CurrentState:
    """Belongs to one application. Changes in its event loop alone."""

    def __init__(self, application_id: str, log_prefix: str) -> None:
        self.now = ApplicationState.CREATED
        self.log_prefix = log_prefix
        self._application_id = application_id
        self._listeners: list[StateListener] = []

    def add_listener(self, listener: StateListener) -> None:
        """Has a listener called with each new state and the one before it. Raises IllegalState after the start."""
        if self.now is not ApplicationState.CREATED:
            raise IllegalState("listeners of states are given before the application is started")
        self._listeners.append(listener)

    def enter(self, state: ApplicationState) -> None:
        """Enters a state and tells the listeners.

        Raises IllegalState where no way leads there, and what a listener raises.
        """
        before = self.now
        require_transition(self._application_id, before, state)
        self.now = state
        _LOGGER.info("%s state transition from %s to %s", self.log_prefix, before, state)
        for listener in self._listeners:
            listener(state, before)

    def require_created(self) -> None:
        """Raises IllegalState for an application that was started before."""
        if self.now is not ApplicationState.CREATED:
            raise IllegalState(
                f"application {self._application_id} is {self.now}: make a new KafkaStreams to start it again"
            )

    def require_running(self) -> None:
        """Raises IllegalState for an application that does not run."""
        if not self.now.is_running_or_rebalancing:
            raise IllegalState(f"application {self._application_id} is {self.now}")

    def require_queryable(self) -> None:
        """Raises StreamsNotStarted for an application that does not run."""
        if not self.now.is_running_or_rebalancing:
            raise StreamsNotStarted(
                f"application {self._application_id} is {self.now}: its stores can be asked while it runs"
            )
