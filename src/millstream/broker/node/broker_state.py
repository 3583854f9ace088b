"""The state a broker is in, as Kafka's broker-state metric counts it."""

from __future__ import annotations

import logging
from enum import IntEnum

_LOGGER = logging.getLogger(__name__)


class BrokerState(IntEnum):
    """
    STARTING                       ports are bound, connections wait in the backlog
    RECOVERY                       the metadata is read; logs are opened, and the broker is still fenced
    RUNNING                        unfenced: requests are answered
    PENDING_CONTROLLED_SHUTDOWN    leadership is given away
    SHUTTING_DOWN                  what was asked is answered, logs are closed, checkpoints written
    """

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7
    UNKNOWN = 127


class BrokerLife:
    """Holds the state of a broker. Code that moves the broker on sets it here; `state` is the current one."""

    def __init__(self) -> None:
        self.state = BrokerState.NOT_RUNNING

    def enter(self, state: BrokerState) -> None:
        if state is self.state:
            return
        _LOGGER.info("%s -> %s", self.state.name, state.name)
        self.state = state
