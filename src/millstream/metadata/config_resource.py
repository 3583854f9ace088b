"""The resources that dynamic configurations belong to, with Kafka's type numbers."""

from __future__ import annotations

from typing import NamedTuple

from millstream.protocol.enums import ConfigResourceType


class ConfigResource(NamedTuple):
    """A topic, a broker (by its id as text; "" stands for all brokers), a group or a telemetry subscription."""

    type: ConfigResourceType
    name: str
