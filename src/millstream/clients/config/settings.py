"""Reads a client's settings and explains them.

`parse_settings` turns keyword arguments into a config, whose fields are declared with `declarations.setting`,
and raises ConfigError before anything is connected. Keys may be written with Kafka's dots, and values as
property files give them: as text.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from millstream.clients.config.java_keys import java_only
from millstream.errors import ConfigError
from millstream.foreign_names import client_settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Config = TypeVar("Config", bound=DataclassInstance)


def parse_settings(config: type[Config], given: Mapping[str, object]) -> Config:
    """Parses the settings of a client.

    Raises ConfigError for an unknown key or a value that cannot be used, naming the key and what to write.
    """
    fields = setting_names(config)
    checked: dict[str, object] = {}
    written_as: dict[str, str] = {}
    for key, value in given.items():
        field = fields.get(key.replace(".", "_"))
        if field is None:
            raise ConfigError(_unknown(config, key, fields))
        other = written_as.setdefault(field.name, key)
        if other != key:
            raise ConfigError(f"{other} and {key} are the same setting; give one of them")
        checked[field.name] = field.metadata["check"](key, value)
    return config(**checked)


def setting_names(config: type[DataclassInstance]) -> dict[str, dataclasses.Field[object]]:
    """Returns every name that a setting goes by, aliases included."""
    return {
        name: field
        for field in dataclasses.fields(config)
        for name in (field.name, *field.metadata["aliases"])
    }


def documentation(config: type[DataclassInstance]) -> list[tuple[str, object, str]]:
    """Returns (key, default, sentence) of every setting, for the reference page."""
    return [
        (field.name, field.default, field.metadata["doc"]) for field in dataclasses.fields(config)
    ]


def _unknown(config: type[DataclassInstance], key: str, known: Mapping[str, object]) -> str:
    name = key.replace(".", "_")
    ours = client_settings.RENAMED.get(name)
    if ours in known:
        return f"{config.__name__} has no setting {key}: here it is {ours}"
    instead = java_only(key.replace("_", ".")) or client_settings.INSTEAD.get(name)
    if instead is not None:
        return f"{config.__name__} has no setting {key}: {instead}"
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{config.__name__} has no setting {key}{hint}"
