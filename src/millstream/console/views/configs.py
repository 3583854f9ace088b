"""Configs as the pages show them: those that were set come first, secrets stay secret."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millstream.clients.admin import ConfigEntry, ConfigSource

_SOURCE_WORDS = {
    ConfigSource.TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker, dynamic",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers, dynamic",
    ConfigSource.STATIC_BROKER_CONFIG: "broker, configuration file",
    ConfigSource.DEFAULT_CONFIG: "default",
}


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """`value` is None for a secret, and for what has no value."""

    name: str
    value: str | None
    source: str
    is_default: bool
    is_sensitive: bool


def config_rows(entries: Iterable[ConfigEntry]) -> tuple[ConfigRow, ...]:
    """Returns all configs: those that differ from Kafka's defaults first, then by name."""
    rows = [
        ConfigRow(
            entry.name,
            None if entry.is_sensitive else entry.value,
            _SOURCE_WORDS.get(entry.source, entry.source.name.lower().replace("_", " ")),
            entry.is_default,
            entry.is_sensitive,
        )
        for entry in entries
    ]
    return tuple(sorted(rows, key=lambda row: (row.is_default, row.name)))


def changed_config_rows(entries: Iterable[ConfigEntry]) -> tuple[ConfigRow, ...]:
    """Returns the configs that were set for the topic itself.

    Those that were set for brokers are the same on every topic.
    """
    return config_rows(entry for entry in entries if entry.source is ConfigSource.TOPIC_CONFIG)
