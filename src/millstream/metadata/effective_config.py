"""Which value of a configuration counts, and where it comes from: DescribeConfigs and the answer to CreateTopics.

A topic key's value is the topic's own, else the broker's dynamic one, else the cluster-wide dynamic default, else what the
broker was started with, else the default of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from millstream.metadata.config_key import ConfigKey
from millstream.metadata.config_resource import ConfigResource, ConfigResourceType
from millstream.metadata.image import MetadataImage
from millstream.metadata.topic_config import TOPIC_CONFIGS, converted, topic_defaults
from millstream.model import BrokerId


class ConfigSource(IntEnum):
    """The numbers are those of DescribeConfigs v1+."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """One place that gives a value; of several the first counts."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A key with the value that counts. `value` is None for sensitive and unset keys."""

    key: ConfigKey
    value: str | None
    source: ConfigSource
    synonyms: tuple[ConfigSynonym, ...]


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The layers of a broker's settings, as text under broker keys; the strongest first."""

    dynamic: Mapping[str, str]
    dynamic_default: Mapping[str, str]
    static: Mapping[str, str]

    @classmethod
    def of(
        cls, image: MetadataImage, broker_id: BrokerId, static: Mapping[str, str]
    ) -> BrokerSettings:
        own = ConfigResource(ConfigResourceType.BROKER, str(broker_id))
        return cls(image.config(own), image.broker_default_config(), static)

    def layers(self) -> Iterator[tuple[ConfigSource, Mapping[str, str]]]:
        yield ConfigSource.DYNAMIC_BROKER, self.dynamic
        yield ConfigSource.DYNAMIC_DEFAULT_BROKER, self.dynamic_default
        yield ConfigSource.STATIC_BROKER, self.static

    def topic_defaults(self) -> dict[str, str]:
        """What these settings make of the topic keys that a topic does not set itself."""
        found: dict[str, str] = {}
        for layer in (self.static, self.dynamic_default, self.dynamic):
            found.update(topic_defaults(layer))
        return found


def topic_entries(overrides: Mapping[str, str], broker: BrokerSettings) -> list[ConfigEntry]:
    """Every topic key by name. Internal keys stand in it only when the topic sets them."""
    return [
        _topic_entry(key, overrides, broker)
        for name, key in sorted(TOPIC_CONFIGS.items())
        if not key.internal or name in overrides
    ]


def broker_entries(table: Mapping[str, ConfigKey], broker: BrokerSettings) -> list[ConfigEntry]:
    """Every key of a broker's table by name."""
    return [_broker_entry(key, broker) for name, key in sorted(table.items()) if not key.internal]


def _topic_entry(
    key: ConfigKey, overrides: Mapping[str, str], broker: BrokerSettings
) -> ConfigEntry:
    synonyms = list(_broker_synonyms(key, broker))
    value = key.default_text
    if synonyms:
        units = {synonym.name: synonym for synonym in key.synonyms}
        value = converted(synonyms[0].value or "", units[synonyms[0].name])
    if key.synonyms:
        # Kafka lists nothing that stands before the millisecond key, so a value in hours alone has no synonyms.
        first = key.synonyms[0].name
        position = next((n for n, s in enumerate(synonyms) if s.name == first), len(synonyms))
        synonyms = synonyms[position:]
    if key.name in overrides:
        value = overrides[key.name]
        synonyms.insert(0, ConfigSynonym(key.name, _shown(key, value), ConfigSource.TOPIC))
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    return ConfigEntry(key, _shown(key, value), source, tuple(synonyms))


def _broker_synonyms(key: ConfigKey, broker: BrokerSettings) -> Iterator[ConfigSynonym]:
    for source, layer in broker.layers():
        for synonym in key.synonyms:
            if synonym.name in layer:
                yield ConfigSynonym(synonym.name, layer[synonym.name].strip(), source)
    if key.synonyms and isinstance(key.default, tuple | bool | int | float | str):
        # Of the names of one setting in several units, the coarsest carries the default (log.retention.hours=168).
        last = key.synonyms[-1]
        default = key.default // last.factor if type(key.default) is int else key.default
        yield ConfigSynonym(last.name, key.format(default), ConfigSource.DEFAULT)


def _broker_entry(key: ConfigKey, broker: BrokerSettings) -> ConfigEntry:
    synonyms = [
        ConfigSynonym(key.name, _shown(key, layer[key.name]), source)
        for source, layer in broker.layers()
        if key.name in layer
    ]
    default = key.default_text
    if default is not None:
        synonyms.append(ConfigSynonym(key.name, _shown(key, default), ConfigSource.DEFAULT))
    if not synonyms:
        return ConfigEntry(key, None, ConfigSource.DEFAULT, ())
    return ConfigEntry(key, synonyms[0].value, synonyms[0].source, tuple(synonyms))


def _shown(key: ConfigKey, text: str | None) -> str | None:
    """As it was understood: trimmed, lists without repeats; nothing of a sensitive value."""
    return None if key.sensitive or text is None else key.format(key.parse(text))
