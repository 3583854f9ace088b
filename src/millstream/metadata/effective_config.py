"""Finds the value of a configuration that counts, and its source: for DescribeConfigs and the answer to CreateTopics.

A topic key's value is the topic's own, else the broker's dynamic one, else the cluster-wide dynamic default, else what
the broker was started with, else the default of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from millstream.errors import ConfigError
from millstream.metadata.client_metrics_config import CLIENT_METRICS_CONFIGS
from millstream.metadata.config_key import ConfigKey, ConfigValue, Scope
from millstream.metadata.config_resource import ConfigResource, ConfigSynonym
from millstream.metadata.group_config import GROUP_CONFIGS
from millstream.metadata.image import MetadataImage
from millstream.metadata.topic_config import TOPIC_CONFIGS, converted, topic_defaults
from millstream.model import BrokerId
from millstream.protocol.enums import ConfigResourceType, ConfigSource, ConfigType


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
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
        yield ConfigSource.DYNAMIC_BROKER_CONFIG, self.dynamic
        yield ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self.dynamic_default
        yield ConfigSource.STATIC_BROKER_CONFIG, self.static

    def values(self, table: Mapping[str, ConfigKey]) -> Callable[[str], ConfigValue]:
        """Returns the value that counts for any key of `table`; None for other keys."""

        def value_of(name: str) -> ConfigValue:
            key = table.get(name)
            if key is None:
                return None
            text = next((layer[name] for _, layer in self.layers() if name in layer), None)
            return key.default_value if text is None else key.parse(text)

        return value_of

    def topic_defaults(self) -> dict[str, str]:
        """Returns the values that these settings give to the topic keys that a topic does not set itself."""
        found: dict[str, str] = {}
        for layer in (self.static, self.dynamic_default, self.dynamic):
            found.update(topic_defaults(layer))
        return found


def topic_entries(overrides: Mapping[str, str], broker: BrokerSettings) -> list[EffectiveConfig]:
    """Returns every topic key by name. Internal keys stand in it only when the topic sets them."""
    return [
        _inheriting_entry(key, overrides, broker, ConfigSource.TOPIC_CONFIG)
        for name, key in sorted(TOPIC_CONFIGS.items())
        if not key.internal or name in overrides
    ]


def group_entries(overrides: Mapping[str, str], broker: BrokerSettings) -> list[EffectiveConfig]:
    """Returns every key of a group by name."""
    return [
        _inheriting_entry(key, overrides, broker, ConfigSource.GROUP_CONFIG)
        for _, key in sorted(GROUP_CONFIGS.items())
    ]


def client_metrics_entries(overrides: Mapping[str, str]) -> list[EffectiveConfig]:
    """Returns every key of a client metrics subscription by name."""
    return [
        _inheriting_entry(key, overrides, _NO_BROKER, ConfigSource.CLIENT_METRICS_CONFIG)
        for _, key in sorted(CLIENT_METRICS_CONFIGS.items())
    ]


def broker_entries(table: Mapping[str, ConfigKey], broker: BrokerSettings) -> list[EffectiveConfig]:
    """Returns every key of a broker's table by name, internal ones where they were set; and other keys that
    were set, without values.
    """
    given = {name for _, layer in broker.layers() for name in layer}
    unknown = {name: _unknown_key(name) for name in given if name not in table}
    all_keys = {**table, **unknown}
    return [
        _broker_entry(key, all_keys, broker)
        for name, key in sorted(all_keys.items())
        if not key.internal or name in given
    ]


def broker_default_entries(
    table: Mapping[str, ConfigKey], overrides: Mapping[str, str]
) -> list[EffectiveConfig]:
    """Returns the dynamic defaults of all brokers: only what was set."""
    found = []
    for name, value in sorted(overrides.items()):
        key = table.get(name) or _unknown_key(name)
        synonym = ConfigSynonym(
            name, _shown(key, value), ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        )
        found.append(EffectiveConfig(key, synonym.value, synonym.source, (synonym,)))
    return found


def logger_entries(levels: Mapping[str, str]) -> list[EffectiveConfig]:
    """Loggers by name, each with the level that counts for it."""
    return [
        EffectiveConfig(_logger_key(name), level, ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG, ())
        for name, level in sorted(levels.items())
    ]


def _unknown_key(name: str) -> ConfigKey:
    """Of a plug-in, or of a newer release: its value may be a secret."""
    return ConfigKey(name, ConfigType.UNKNOWN, None, sensitive=True)


def _logger_key(name: str) -> ConfigKey:
    return ConfigKey(name, ConfigType.UNKNOWN, None, scope=Scope.BROKER_LOGGER)


def _inheriting_entry(
    key: ConfigKey, overrides: Mapping[str, str], broker: BrokerSettings, source: ConfigSource
) -> EffectiveConfig:
    """A key that is its own where it is set, else the broker's."""
    inherited = list(_broker_synonyms(key, broker))
    value = key.default_text
    if inherited:
        units = {synonym.name: synonym for synonym in key.synonyms}
        value = converted(inherited[0].value or "", units[inherited[0].name])
    synonyms = _from_first(inherited, key.synonyms[0].name) if key.synonyms else []
    if key.name in overrides:
        value = overrides[key.name]
        synonyms.insert(0, ConfigSynonym(key.name, _shown(key, value), source))
    counted = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    return EffectiveConfig(key, _shown(key, value), counted, tuple(synonyms))


def _from_first(synonyms: list[ConfigSynonym], name: str) -> list[ConfigSynonym]:
    """Kafka lists nothing that stands before the key itself, so a value in hours alone gives the
    milliseconds no synonyms.
    """
    position = next((n for n, s in enumerate(synonyms) if s.name == name), len(synonyms))
    return synonyms[position:]


def _broker_synonyms(key: ConfigKey, broker: BrokerSettings) -> Iterator[ConfigSynonym]:
    for source, layer in broker.layers():
        for synonym in key.synonyms:
            if synonym.name in layer:
                yield ConfigSynonym(synonym.name, layer[synonym.name].strip(), source)
    if key.synonyms and isinstance(key.default, tuple | bool | int | float | str):
        # Of the names of one setting in several units, the coarsest carries the default (log.retention.hours=168).
        last = key.synonyms[-1]
        default = key.default // last.factor if type(key.default) is int else key.default
        yield ConfigSynonym(last.name, key.format(default), ConfigSource.DEFAULT_CONFIG)


def _broker_entry(
    key: ConfigKey, table: Mapping[str, ConfigKey], broker: BrokerSettings
) -> EffectiveConfig:
    synonyms: list[ConfigSynonym] = []
    names = _SAME_SETTING.get(key.name, (key.name,))
    for source, layer in broker.layers():
        synonyms += [
            ConfigSynonym(name, _shown(table[name], layer[name]), source)
            for name in names
            if name in layer
        ]
    synonyms += [
        ConfigSynonym(name, _shown(table[name], default), ConfigSource.DEFAULT_CONFIG)
        for name in names
        if (default := table[name].default_text) is not None and not table[name].is_always_given
    ]
    synonyms = _from_first(synonyms, key.name)
    if not synonyms:
        return EffectiveConfig(key, None, ConfigSource.DEFAULT_CONFIG, ())
    return EffectiveConfig(key, synonyms[0].value, synonyms[0].source, tuple(synonyms))


def _shown(key: ConfigKey, text: str | None) -> str | None:
    """As it was understood: trimmed, lists without repeats; nothing of a sensitive value.

    What could not be used, as it is stored.
    """
    if key.sensitive or text is None:
        return None
    try:
        return key.format(key.parse(text))
    except ConfigError:
        return text


_NO_BROKER: Final = BrokerSettings({}, {}, {})

_SCHEDULER: Final = "log.flush.scheduler.interval.ms"
_SAME_SETTING: Final[Mapping[str, tuple[str, ...]]] = {
    synonym.name: tuple(each.name for each in key.synonyms)
    for key in TOPIC_CONFIGS.values()
    if len(key.synonyms) > 1
    for synonym in key.synonyms
    if synonym.name != _SCHEDULER
}
"""Broker keys of one setting in several units, the finest first. The scheduler's interval is a
setting of its own as well."""
