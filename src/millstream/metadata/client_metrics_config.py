"""The configurations of client metrics subscriptions (KIP-714): which metrics, how often, of which clients.

Patterns meet texts that clients choose, so their engine is RE2, whose time is linear in the text; Kafka's is Java's, which knows more
(look-around, back-references) and can be kept busy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import re2

from millstream.errors import InvalidConfig, InvalidRequest
from millstream.metadata.config_key import ConfigKey, ConfigType, Scope, UpdateMode, config_table

ALL_METRICS: Final = "*"
DEFAULT_INTERVAL_MS: Final = 300_000
_LEAST_INTERVAL_MS: Final = 100
_MOST_INTERVAL_MS: Final = 3_600_000
_PATTERN_MEMORY_MAX: Final = 1 << 20

MATCH_SELECTORS: Final = frozenset(
    {
        "client_instance_id", "client_id", "client_software_name", "client_software_version",
        "client_source_address", "client_source_port",
    }
)  # fmt: skip
"""What a subscription may tell clients apart by."""


def _key(name: str, kind: ConfigType, default: int | tuple[str, ...], doc: str) -> ConfigKey:
    return ConfigKey(
        name, kind, default, None, doc, scope=Scope.CLIENT_METRICS, dynamic=UpdateMode.CLUSTER_WIDE
    )


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


class _Pattern(Protocol):
    """A compiled expression; re2 has no types of its own."""

    def fullmatch(self, text: str) -> object | None: ...


@dataclass(frozen=True, slots=True)
class ClientMetricsSubscription:
    """One CLIENT_METRICS resource, ready to be matched."""

    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, _Pattern]

    def matches(self, client: Mapping[str, str]) -> bool:
        """`client` holds a text for every selector that is known of it."""
        return all(
            pattern.fullmatch(client.get(selector, ""))
            for selector, pattern in self.patterns.items()
        )


def client_metrics_subscription(overrides: Mapping[str, str]) -> ClientMetricsSubscription:
    """Raises InvalidRequest for unknown names and intervals out of range, InvalidConfig for other values that do not parse."""
    for name in overrides:
        if name not in CLIENT_METRICS_CONFIGS:
            raise InvalidRequest(f"Unknown client metrics configuration: {name}")
    values = {
        name: key.parse(overrides[name]) if name in overrides else key.default_value
        for name, key in CLIENT_METRICS_CONFIGS.items()
    }
    interval_ms, match, metrics = values["interval.ms"], values["match"], values["metrics"]
    assert isinstance(interval_ms, int), "interval.ms is an integer in the table"
    assert isinstance(match, tuple), "match is a list in the table"
    assert isinstance(metrics, tuple), "metrics is a list in the table"
    if not _LEAST_INTERVAL_MS <= interval_ms <= _MOST_INTERVAL_MS:
        raise InvalidRequest(
            f"Invalid value {interval_ms} for interval.ms, interval must be between "
            f"{_LEAST_INTERVAL_MS} and {_MOST_INTERVAL_MS} (1 hour)"
        )
    return ClientMetricsSubscription(metrics, interval_ms, dict(map(_pattern, match)))


def _pattern(text: str) -> tuple[str, _Pattern]:
    selector, equals, pattern = text.partition("=")
    selector = selector.strip()
    if equals and selector in MATCH_SELECTORS:
        try:
            compiled: _Pattern = re2.compile(pattern.strip(), _options())
        except re2.error:
            pass  # the sentence below says it
        else:
            return selector, compiled
    raise InvalidConfig(
        f"Illegal client matching pattern: {text}; write SELECTOR=PATTERN with a selector of {', '.join(sorted(MATCH_SELECTORS))}"
    )


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False  # they are answered
    options.max_mem = _PATTERN_MEMORY_MAX
    return options
