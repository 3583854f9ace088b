"""Finds the settings of one share group: those of its own configuration, else the broker's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from millstream.broker.node.services import Metadata
from millstream.coordinator.share_partition.acquisition import SharePartitionLimits
from millstream.metadata.config_key import ConfigValue
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.group_config import group_config
from millstream.protocol.enums import ConfigResourceType

_KNOWN_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class ShareGroupValues:
    limits: SharePartitionLimits
    auto_offset_reset: str
    """earliest, latest or by_duration:..., where the group begins in a partition it has not read."""
    is_read_committed: bool
    may_renew: bool


class ShareGroupSettings:
    """The settings of share groups. Results are cached until a configuration changes."""

    def __init__(self, metadata: Metadata, broker_value: Callable[[str], ConfigValue]) -> None:
        self._metadata = metadata
        self._broker_value = broker_value
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
            known = self._known[group_id] = _values(group_config(overrides, self._broker_value))
        return known


def _values(values: Mapping[str, ConfigValue]) -> ShareGroupValues:
    return ShareGroupValues(
        SharePartitionLimits(
            record_locks_max=_number(values, "share.partition.max.record.locks"),
            delivery_count_max=_number(values, "share.delivery.count.limit"),
            lock_duration_ms=_number(values, "share.record.lock.duration.ms"),
        ),
        auto_offset_reset=str(values["share.auto.offset.reset"]),
        is_read_committed=values["share.isolation.level"] == "read_committed",
        may_renew=values["share.renew.acknowledge.enable"] is True,
    )


def _number(values: Mapping[str, ConfigValue], name: str) -> int:
    value = values[name]
    assert isinstance(value, int), f"{name} is a number in the table"
    return value
