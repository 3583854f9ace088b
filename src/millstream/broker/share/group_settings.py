"""Finds the settings of one share group: those of its own configuration, else the broker's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.services import Metadata
from millstream.config_fields import from_keys, read_config
from millstream.coordinator.share_partition.acquisition import SharePartitionLimits
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.group_config import group_config
from millstream.protocol.enums import ConfigResourceType

_KNOWN_MAX: Final = 10_000
"""Ours: groups whose settings are kept at hand; of more they are read anew."""


@dataclass(frozen=True, slots=True)
class ShareGroupValues:
    """The settings of one share group. Defaults are those of Kafka 4.3."""

    limits: SharePartitionLimits = from_keys(
        "share.partition.max.record.locks",
        "share.delivery.count.limit",
        "share.record.lock.duration.ms",
        "share.renew.acknowledge.enable",
        default=SharePartitionLimits(
            record_locks_max=2_000, delivery_count_max=5, lock_duration_ms=30_000
        ),
        convert=SharePartitionLimits,
    )
    auto_offset_reset: str = from_keys("share.auto.offset.reset", default="latest")
    """earliest, latest or by_duration:..., where the group begins in a partition it has not read."""
    is_read_committed: bool = from_keys(
        "share.isolation.level", default=False, convert=lambda level: level == "read_committed"
    )


class ShareGroupSettings:
    """The settings of share groups. Results are cached until a configuration changes."""

    def __init__(self, metadata: Metadata, broker: BrokerConfig) -> None:
        """The settings of `broker` that groups inherit or are limited by are fixed when it starts."""
        self._metadata = metadata
        self._broker = broker
        self._known: dict[str, ShareGroupValues] = {}
        self._known_of: Mapping[ConfigResource, Mapping[str, str]] | None = None

    def of(self, group_id: str) -> ShareGroupValues:
        configs = self._metadata.image.configs
        if configs is not self._known_of or len(self._known) >= _KNOWN_MAX:
            self._known.clear()
            self._known_of = configs
        known = self._known.get(group_id)
        if known is None:
            overrides = configs.get(ConfigResource(ConfigResourceType.GROUP, group_id), {})
            values = group_config(overrides, self._broker.values.get)
            known = self._known[group_id] = read_config(ShareGroupValues, values)
        return known
