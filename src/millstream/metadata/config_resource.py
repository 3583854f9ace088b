"""What a dynamic configuration belongs to, with Kafka's type numbers."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class ConfigResourceType(IntEnum):
    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """A topic, a broker (by its id as text; "" stands for all brokers), a group or a telemetry subscription."""

    type: ConfigResourceType
    name: str
