"""Gathers a node's settings from the file, then `KAFKA_*` of the environment, then `--override`; later sources win.

Owns the spelling of settings as variables of the environment, which is that of Kafka's official
image. Judges no setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from millstream.broker.config.broker_config import parse_override
from millstream.broker.config.other_keys import why_without_effect
from millstream.broker.config.table import BROKER_CONFIGS

_PREFIX: Final = "KAFKA_"
_NOT_SETTINGS: Final = frozenset(
    {
        "KAFKA_VERSION", "KAFKA_HEAP_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_OPTS", "KAFKA_JMX_OPTS", "KAFKA_JMX_HOSTNAME",
        "KAFKA_JMX_PORT", "KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_GC_LOG_OPTS", "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_LOG4J_LOGGERS", "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    }
)  # fmt: skip
"""Variables of Kafka's scripts and image that say something else than a setting."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value as it was given, and its source as the end of a sentence, such as `in server.properties`."""

    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The values that were given, by key, and the variables of the environment that look like settings but are none."""

    given: Mapping[str, Setting]
    not_understood: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, str]:
        return {key: setting.value for key, setting in self.given.items()}


def gathered_settings(
    file: Mapping[str, str],
    file_name: str,
    environment: Mapping[str, str],
    overrides: Iterable[str],
) -> Settings:
    """Joins all sources; later ones win. Raises ConfigError for an override that is no KEY=VALUE."""
    given = {key: Setting(value, f"in {file_name}") for key, value in file.items()}
    not_understood = []
    for variable, value in environment.items():
        if not variable.startswith(_PREFIX) or variable in _NOT_SETTINGS:
            continue
        key = setting_of_variable(variable)
        if key in BROKER_CONFIGS or why_without_effect(key) is not None:
            given[key] = Setting(value, f"in the environment as {variable}")
        else:
            not_understood.append(variable)
    for text in overrides:
        key, value = parse_override(text)
        given[key] = Setting(value, "by --override")
    return Settings(given, tuple(sorted(not_understood)))


def setting_of_variable(variable: str) -> str:
    """`KAFKA_LOG_RETENTION_MS` is log.retention.ms; two underscores stand for one, three for a dash."""
    dotted = variable.removeprefix(_PREFIX).lower().replace("_", ".")
    return dotted.replace("...", "-").replace("..", "_")
