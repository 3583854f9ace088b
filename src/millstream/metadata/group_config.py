"""The configurations of groups (KIP-848, KIP-932, KIP-1071) as a table, and the limits that a broker sets to them.

Most have a broker key of the same name with `group.` before it, which gives the default; some of those have a least and
a most value beside them. Owns no group and reads no image.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from millstream.errors import ConfigError
from millstream.metadata.config_key import (
    BrokerSynonym,
    ConfigKey,
    ConfigValue,
    Scope,
    UpdateMode,
    Validator,
    config_table,
)
from millstream.metadata.config_validators import OneOf, at_least, duration_ms
from millstream.protocol.enums import ConfigType

_BY_DURATION: Final = "by_duration:"


@dataclass(frozen=True, slots=True)
class OffsetResetValidator:
    """The place where a share group begins in a partition that it has not read before."""

    def problem(self, value: ConfigValue) -> str | None:
        if value in {"earliest", "latest"}:
            return None
        if isinstance(value, str) and value.startswith(_BY_DURATION):
            with contextlib.suppress(ValueError):
                if duration_ms(value.removeprefix(_BY_DURATION)) >= 0:
                    return None
        return f"write {self.allowed}"

    @property
    def allowed(self) -> str:
        return "earliest, latest or by_duration:PnDTnHnMn.nS"


def _key(
    name: str,
    default: ConfigValue,
    validator: Validator | None,
    doc: str,
    *,
    kind: ConfigType = ConfigType.INT,
    synonym: str | None = None,
) -> ConfigKey:
    return ConfigKey(
        name,
        kind,
        default,
        validator,
        doc,
        scope=Scope.GROUP,
        dynamic=UpdateMode.CLUSTER_WIDE,
        synonyms=(BrokerSynonym(name=synonym or f"group.{name}"),),
    )


def _of_kind(kind: str, noun: str) -> tuple[ConfigKey, ...]:
    """Returns the keys that the three kinds of groups have in common."""
    return (
        _key(f"{kind}.session.timeout.ms", 45_000, at_least(1), f"Members of this {noun} that are silent for this long are removed."),
        _key(f"{kind}.heartbeat.interval.ms", 5_000, at_least(1), f"Time between two heartbeats of a member of this {noun}."),
        _key(f"{kind}.assignment.interval.ms", 1_000, at_least(0), f"Least time between two new assignments of this {noun}."),
    )  # fmt: skip


GROUP_CONFIGS: Final[Mapping[str, ConfigKey]] = config_table(
    (
        *_of_kind("consumer", "consumer group"),
        *_of_kind("share", "share group"),
        _key(
            "share.record.lock.duration.ms",
            30_000,
            at_least(1_000),
            "How long an acquired record stays with its member.",
        ),
        _key(
            "share.delivery.count.limit",
            5,
            at_least(2),
            "How often a record is delivered before it is archived.",
        ),
        _key(
            "share.partition.max.record.locks",
            2_000,
            at_least(100),
            "Records in flight in one partition.",
        ),
        _key(
            "share.auto.offset.reset",
            "latest",
            OffsetResetValidator(),
            "Where the group begins in a partition that it has not read before: at the `earliest` or the `latest` record, or "
            "`by_duration:` that long ago.",
            kind=ConfigType.STRING,
            synonym="share.auto.offset.reset",
        ),
        _key(
            "share.isolation.level",
            "read_uncommitted",
            OneOf(("read_committed", "read_uncommitted")),
            "Whether the group sees records of transactions that are open or were aborted.",
            kind=ConfigType.STRING,
            synonym="share.isolation.level",
        ),
        _key(
            "share.renew.acknowledge.enable",
            True,
            None,
            "Whether members may renew their locks on records.",
            kind=ConfigType.BOOLEAN,
            synonym="share.renew.acknowledge.enable",
        ),
        *_of_kind("streams", "streams group"),
        _key(
            "streams.num.standby.replicas",
            0,
            at_least(0),
            "Standby copies of each stateful task.",
        ),
        _key(
            "streams.initial.rebalance.delay.ms",
            3_000,
            at_least(0),
            "Wait for more members before the group's first assignment.",
        ),
    )
)

_LEAST_AND_MOST: Final[Mapping[str, tuple[str | None, str]]] = {
    **{
        f"{kind}.{what}": (f"group.{kind}.min.{what}", f"group.{kind}.max.{what}")
        for kind in ("consumer", "share", "streams")
        for what in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
    },
    "share.record.lock.duration.ms": (
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    "share.delivery.count.limit": (
        "group.share.min.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    "share.partition.max.record.locks": (
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    "streams.num.standby.replicas": (None, "group.streams.max.standby.replicas"),
}
"""The broker keys that limit a group's key."""


def group_config(
    overrides: Mapping[str, str], broker_value: Callable[[str], ConfigValue]
) -> dict[str, ConfigValue]:
    """Returns every configuration of a group, typed: its own, else the broker's, else Kafka's default; numbers brought
    within the broker's limits, which may have changed since they were set.

    `broker_value` gives the value of a broker key, None where it has none. Raises ConfigError for
    unknown names and bad values.
    """
    values: dict[str, ConfigValue] = {}
    for name, key in GROUP_CONFIGS.items():
        inherited = broker_value(key.synonyms[0].name)
        value = key.parse(overrides[name]) if name in overrides else inherited
        values[name] = key.default_value if value is None else value
        least, most = _limits(name, broker_value)
        number = values[name]
        if name in overrides and isinstance(number, int):
            values[name] = max(least, min(number, most))
    return values


def check_group_config(
    overrides: Mapping[str, str], broker_value: Callable[[str], ConfigValue]
) -> None:
    """Checks all configurations of a group.

    Raises ConfigError for unknown names, bad values, values beyond the broker's limits, and a session that is not
    longer than the time between two heartbeats.
    """
    for name, text in overrides.items():
        key = GROUP_CONFIGS.get(name)
        if key is None:
            raise ConfigError(f"Unknown group config name: {name}")
        value = key.parse(text)
        least_key, most_key = _LEAST_AND_MOST.get(name, (None, None))
        least, most = _limits(name, broker_value)
        if isinstance(value, int) and value < least:
            raise ConfigError(
                f"{name} must be greater than or equal to {least_key}, which is {least}"
            )
        if isinstance(value, int) and value > most:
            raise ConfigError(f"{name} must be less than or equal to {most_key}, which is {most}")
    values = group_config(overrides, broker_value)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if _number(values[session]) <= _number(values[heartbeat]):
            raise ConfigError(f"{session} must be greater than {heartbeat}")


def _limits(name: str, broker_value: Callable[[str], ConfigValue]) -> tuple[int, int]:
    least, most = (
        None if key is None else broker_value(key)
        for key in _LEAST_AND_MOST.get(name, (None, None))
    )
    return (
        least if isinstance(least, int) else -(1 << 31),
        most if isinstance(most, int) else (1 << 31) - 1,
    )


def _number(value: ConfigValue) -> int:
    assert isinstance(value, int), "timeouts and intervals are integers in the table"
    return value
