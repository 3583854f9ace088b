"""The settings of topics that say how their replicas are treated: the topic's own, else those of the brokers.

What cannot be understood counts for nothing, as for the broker that hosts the topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Final

from millstream.config_fields import read_config
from millstream.errors import ConfigError
from millstream.metadata.config_key import ConfigValue
from millstream.metadata.image import MetadataImage
from millstream.metadata.topic_config import TOPIC_CONFIGS
from millstream.protocol.enums import ConfigResourceType

Layers = Iterable[Mapping[str, str]]
"""Settings as text, the strongest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicReplication:
    """The settings of one topic."""

    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False


_KEYS: Final = tuple(field.name.replace("_", ".") for field in fields(TopicReplication))

ReplicationOf = Callable[[str], TopicReplication]
"""The settings of a topic by its name."""


def replication_reader(image: MetadataImage, defaults: Mapping[str, str]) -> ReplicationOf:
    """Returns what tells the settings of a topic. `defaults`: what brokers give to topics that do not say."""
    of_brokers = _read((defaults,))

    def settings_of(topic: str) -> TopicReplication:
        own = image.topic_config(topic)
        return _read((own, defaults)) if _speaks(own) else of_brokers

    return cache(settings_of)


def reader_of_all(image: MetadataImage, defaults: Mapping[str, str]) -> ReplicationOf:
    """Returns the same as `replication_reader`, for who asks about all topics: most of them do not say, and
    are not looked up one by one.
    """
    of_brokers = _read((defaults,))
    own = {
        resource.name: _read((configs, defaults))
        for resource, configs in image.configs.items()
        if resource.type == ConfigResourceType.TOPIC and _speaks(configs)
    }
    return lambda topic: own.get(topic, of_brokers)


def _speaks(configs: Mapping[str, str]) -> bool:
    return any(key in configs for key in _KEYS)


def _read(layers: Layers) -> TopicReplication:
    known = tuple(layers)
    return read_config(TopicReplication, {key: _value(key, known) for key in _KEYS})


def _value(name: str, layers: Layers) -> ConfigValue:
    key = TOPIC_CONFIGS[name]
    for layer in layers:
        if name in layer:
            try:
                return key.parse(layer[name])
            except ConfigError:
                continue
    return key.default_value
