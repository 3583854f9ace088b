"""Reads a `client.properties`, as Kafka's tools take it, for clients of any kind: one file serves them all."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import Field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from millstream.clients.config import (
    AdminConfig,
    ClientConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
)
from millstream.clients.config.registry import REGISTRY_SETTINGS
from millstream.clients.config.settings import setting_names
from millstream.clients.spout.core.settings import ShareSpoutConfig, SpoutConfig
from millstream.errors import ConfigError
from millstream.foreign_names.streams_settings import PREFIXES_OF_CLIENTS
from millstream.properties_text import parse_properties
from millstream.quoting import some_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_LOGGER = logging.getLogger("millstream.clients")
_CONFIGS: Final[Mapping[str, tuple[type[DataclassInstance], ...]]] = {
    "Admin": (AdminConfig,),
    "Consumer": (ConsumerConfig,),
    "Producer": (ProducerConfig,),
    "RangeReader": (ConsumerConfig,),
    "ShareConsumer": (ShareConsumerConfig,),
    "ShareSpout": (ShareSpoutConfig, ShareConsumerConfig),
    "Spout": (SpoutConfig, ConsumerConfig),
}
"""By the name of the class, which a client and its blocking twin share."""
_DONE_ANYWAY: Final[Mapping[str, tuple[str, ...]]] = {
    "sasl.login.callback.handler.class": ("OAuthBearerLoginCallbackHandler",),
    "sasl.oauthbearer.jwt.retriever.class": (
        "ClientCredentialsJwtRetriever",
        "DefaultJwtRetriever",
        "FileJwtRetriever",
    ),
}
_CHARACTERS_MAX: Final = 4 * 1024 * 1024
"""More than any chain of certificates; a device would have no end."""
_DECIDED: Final = {"ShareSpout": "share_acknowledgement_mode", "Spout": "enable_auto_commit"}
"""What a spout sets for its consumer, and refuses from others: in a file it is meant for consumers."""


def read_client_properties(
    file: str | Path, client: type[object] | None = None
) -> dict[str, Any]:  # Any: keyword arguments of a client, which checks them
    """Returns the settings in a file: `Producer(**read_client_properties("client.properties", Producer))`.

    What is a setting of other clients only is left out; without `client` these are the settings that all
    clients have. Names that no client has are named in a warning. Raises ConfigError for a file that cannot
    be read, and for a class that is no client.
    """
    name = None if client is None else _name_of(client)
    settings = properties_of(file)
    unknown = unknown_in_file(settings)
    if unknown:
        _LOGGER.warning("%s: no client has a setting named %s", file, some_of(unknown))
    if name is None:
        return settings_for(ClientConfig, settings)
    found = {
        key: value
        for config in _CONFIGS[name]
        for key, value in settings_for(config, settings).items()
    }
    if name in _DECIDED:
        found.pop(_DECIDED[name], None)
    return found


def _name_of(client: type[object]) -> str:
    """The client that a class is, or extends. Raises ConfigError."""
    for each in client.__mro__:
        if each.__name__ in _CONFIGS and each.__module__.startswith("millstream."):
            return each.__name__
    raise ConfigError(
        f"{client.__name__} is not one of {some_of(_CONFIGS)}: give the class of the client, or none for the settings that all clients have"
    )


def properties_of(file: str | Path) -> dict[str, str]:
    """Returns all that is in a file. Raises ConfigError."""
    try:
        with Path(file).open(encoding="utf-8") as opened:
            text = opened.read(_CHARACTERS_MAX + 1)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not a text in UTF-8: {error}") from error
    if len(text) > _CHARACTERS_MAX:
        raise ConfigError(
            f"{file} is no file of settings: it has more than {_CHARACTERS_MAX:,} characters"
        )
    try:
        return parse_properties(text)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error


def settings_for(
    config: type[DataclassInstance], settings: Mapping[str, str]
) -> dict[str, Any]:  # Any: keyword arguments of a client
    """Returns those settings that a client with this config class has, by the names of its fields."""
    names = setting_names(config)
    fields = {key: names.get(plain(key)) for key in settings}
    return {field.name: settings[key] for key, field in fields.items() if field is not None}


def unknown_to_all(settings: Mapping[str, str]) -> list[str]:
    """Returns the keys that no client has, nor the client of a schema registry.

    Serializers are classes of Java, which every file for Kafka's tools may name; so are those of Kafka's that get
    bearer tokens as these clients do anyway.
    """
    known = _fields().keys() | REGISTRY_SETTINGS
    return [
        key
        for key, value in settings.items()
        if plain(key) not in known
        and not key.endswith((".serializer", ".deserializer"))
        and value.rpartition(".")[2] not in _DONE_ANYWAY.get(key, ())
    ]


def unknown_in_file(settings: Mapping[str, str]) -> list[str]:
    """Returns the same of a file, which may have settings for applications, too: those with the
    prefixes of Kafka Streams.
    """
    return [key for key in unknown_to_all(settings) if not key.startswith(PREFIXES_OF_CLIENTS)]


def public_names() -> set[str]:
    """Returns the names of the settings of any client that may be shown: no secrets."""
    return {name for name, field in _fields().items() if field.repr}


def _fields() -> dict[str, Field[object]]:
    """The settings that any client has, by all their names."""
    return {
        name: field
        for configs in _CONFIGS.values()
        for config in configs
        for name, field in setting_names(config).items()
    }


def plain(key: str) -> str:
    """Returns a key with underscores, whichever way it was written: Kafka's or ours."""
    return key.replace(".", "_")
