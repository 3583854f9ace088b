"""Checks that this node serves a group protocol: `group.coordinator.rebalance.protocols` lists it,
its feature is finalized.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.services import Metadata
from millstream.errors import UnsupportedVersion

_GROUP_VERSION: Final = "group.version"
_STREAMS_VERSION: Final = "streams.version"


def check_consumer_protocol(config: DynamicConfig, metadata: Metadata) -> None:
    """Checks that the protocol is served. Raises UnsupportedVersion if not."""
    is_listed = "consumer" in config.current.group_coordinator_rebalance_protocols
    if not is_listed or not metadata.image.features.get(_GROUP_VERSION, 0):
        raise UnsupportedVersion("the consumer group protocol is disabled on this broker")


def check_streams_protocol(config: DynamicConfig, metadata: Metadata) -> None:
    """Checks that the protocol is served. Raises UnsupportedVersion if not."""
    is_listed = "streams" in config.current.group_coordinator_rebalance_protocols
    if not is_listed or not metadata.image.features.get(_STREAMS_VERSION, 0):
        raise UnsupportedVersion("the streams group protocol is disabled on this broker")
