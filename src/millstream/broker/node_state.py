"""The identity of a node, and the state its broker is in."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import IntEnum

from millstream.model import BrokerId, Uuid

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """The identity of this node: written once at format time, never changed while it lives."""

    node_id: BrokerId
    cluster_id: str
    directory_id: Uuid
    incarnation_id: Uuid


class BrokerState(IntEnum):
    """The states of a broker, with the numbers of Kafka's broker-state metric.

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
