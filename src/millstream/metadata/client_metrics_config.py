"""The configurations of client metrics subscriptions (KIP-714): which metrics, how often, of which clients.

Patterns are those of `client_pattern`, whose time is linear in the text that clients choose; Kafka's engine is Java's,
which knows more (look-around, back-references) and can be kept busy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from millstream.config_fields import read_config
from millstream.errors import InvalidConfig, InvalidRegularExpression, InvalidRequest
from millstream.metadata.client_pattern import (
    PATTERN_UNICODE_CLASSES_MAX,
    check_pattern,
    unicode_classes,
)
from millstream.metadata.config_key import ConfigKey, Scope, UpdateMode, config_table
from millstream.metadata.config_validators import ListOf
from millstream.protocol.enums import ConfigType

ALL_METRICS: Final = "*"
DEFAULT_INTERVAL_MS: Final = 300_000
_LEAST_INTERVAL_MS: Final = 100
_MOST_INTERVAL_MS: Final = 3_600_000

MATCH_SELECTORS: Final = frozenset(
    {
        "client_instance_id", "client_id", "client_software_name", "client_software_version",
        "client_source_address", "client_source_port",
    }
)  # fmt: skip
"""What a subscription may tell clients apart by."""


def _key(name: str, kind: ConfigType, default: int | tuple[str, ...], doc: str) -> ConfigKey:
    # Every name begins with a prefix of no characters, so one among others would ask for all metrics.
    validator = ListOf() if kind is ConfigType.LIST else None
    scope, dynamic = Scope.CLIENT_METRICS, UpdateMode.CLUSTER_WIDE
    return ConfigKey(name, kind, default, validator, doc, scope=scope, dynamic=dynamic)


CLIENT_METRICS_CONFIGS: Final[Mapping[str, ConfigKey]] = config_table(
    (
        _key("interval.ms", ConfigType.INT, DEFAULT_INTERVAL_MS, "Time between two pushes of a client, 100 to 3600000."),
        _key(
            "match",
            ConfigType.LIST,
            (),
            "Clients meant, as SELECTOR=PATTERN,...: all patterns must match in full. Empty: all clients.",
        ),
        _key("metrics", ConfigType.LIST, (), "Prefixes of the metrics' names; `*` for all of them, empty for none."),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ClientMetricsSubscription:
    """One CLIENT_METRICS resource. Two of equal content are still two."""

    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, str]


def client_metrics_subscription(overrides: Mapping[str, str]) -> ClientMetricsSubscription:
    """Parses the configurations.

    Raises InvalidRequest for unknown names and intervals out of range, InvalidConfig for other
    values that do not parse.
    """
    for name in overrides:
        if name not in CLIENT_METRICS_CONFIGS:
            raise InvalidRequest(f"Unknown client metrics configuration: {name}")
    values = {
        name: key.parse(overrides[name]) if name in overrides else key.default_value
        for name, key in CLIENT_METRICS_CONFIGS.items()
    }
    interval_ms, match = values["interval.ms"], values["match"]
    assert isinstance(interval_ms, int), "interval.ms is an integer in the table"
    assert isinstance(match, tuple), "match is a list in the table"
    if not _LEAST_INTERVAL_MS <= interval_ms <= _MOST_INTERVAL_MS:
        raise InvalidRequest(
            f"Invalid value {interval_ms} for interval.ms, interval must be between "
            f"{_LEAST_INTERVAL_MS} and {_MOST_INTERVAL_MS} (1 hour)"
        )
    if unicode_classes("".join(match)) > PATTERN_UNICODE_CLASSES_MAX:  # reading them takes long
        raise InvalidConfig(
            f"the patterns have more than {PATTERN_UNICODE_CLASSES_MAX} Unicode classes (\\p, \\P)"
        )
    patterns = dict(map(_pattern, match))
    return read_config(ClientMetricsSubscription, values, patterns=patterns)


def _pattern(text: str) -> tuple[str, str]:
    # Java's String.split, which Kafka takes it apart with, leaves out what is empty at the end.
    selector, *patterns = (part.strip() for part in text.rstrip("=").split("="))
    if len(patterns) != 1 or selector not in MATCH_SELECTORS:
        raise InvalidConfig(
            f"Illegal client matching pattern: {text}; write SELECTOR=PATTERN with a selector of {', '.join(sorted(MATCH_SELECTORS))}"
        )
    try:
        check_pattern(patterns[0])
    except InvalidRegularExpression as error:
        raise InvalidConfig(f"Illegal client matching pattern: {text}: {error}") from None
    return selector, patterns[0]
