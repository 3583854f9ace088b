"""The settings of a node that stands alone: what keeps the topics of coordinators there has one
replica, unless it is set.

Kafka's defaults are three replicas, which one broker cannot have; its own `server.properties` for one node sets these
keys to 1. A node that is started without any file gets the same. Whoever names a quorum has Kafka's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_QUORUM: Final = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
_FACTORS: Final = (
    "offsets.topic.replication.factor",
    "share.coordinator.state.topic.replication.factor",
    "transaction.state.log.replication.factor",
)
_MIN_ISRS: Final = ("share.coordinator.state.topic.min.isr", "transaction.state.log.min.isr")
_KAFKAS_FACTOR: Final = 3

SETTINGS_ALONE: Final[Mapping[str, str]] = MappingProxyType(
    dict.fromkeys((*_FACTORS, *_MIN_ISRS), "1")
)


def stands_alone(settings: Mapping[str, str]) -> bool:
    """Whether these settings name no quorum, so that no other node can be in the cluster of this one."""
    return not any(settings.get(key, "").strip() for key in _QUORUM)


def settings_of_few(broker_count: int) -> dict[str, str]:
    """Returns the settings with which the topics of coordinators can be created in a cluster of so many brokers.

    All but one of the replicas must have a write: one of them may be gone. Empty where Kafka's defaults serve.
    """
    if broker_count >= _KAFKAS_FACTOR:
        return {}
    factors = dict.fromkeys(_FACTORS, str(broker_count))
    return factors | dict.fromkeys(_MIN_ISRS, str(max(1, broker_count - 1)))
