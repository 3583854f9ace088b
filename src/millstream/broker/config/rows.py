"""Functions that make rows of the broker's table of settings, one for each type."""

from __future__ import annotations

from dataclasses import replace

from millstream.metadata.config_key import ConfigKey, ConfigValue, UpdateMode, Validator
from millstream.metadata.config_validators import ListOf
from millstream.protocol.enums import ConfigType

_FIXED = UpdateMode.READ_ONLY


def integer(
    name: str,
    default: ConfigValue,
    validator: Validator | None,
    doc: str,
    dynamic: UpdateMode = _FIXED,
) -> ConfigKey:
    return ConfigKey(name, ConfigType.INT, default, validator, doc, dynamic=dynamic)


def short(name: str, default: int, validator: Validator | None, doc: str) -> ConfigKey:
    return ConfigKey(name, ConfigType.SHORT, default, validator, doc)


def long(
    name: str,
    default: ConfigValue,
    validator: Validator | None,
    doc: str,
    dynamic: UpdateMode = _FIXED,
) -> ConfigKey:
    return ConfigKey(name, ConfigType.LONG, default, validator, doc, dynamic=dynamic)


def double(
    name: str,
    default: float,
    validator: Validator | None,
    doc: str,
    dynamic: UpdateMode = _FIXED,
) -> ConfigKey:
    return ConfigKey(name, ConfigType.DOUBLE, default, validator, doc, dynamic=dynamic)


def string(
    name: str,
    default: str | None,
    doc: str,
    validator: Validator | None = None,
    dynamic: UpdateMode = _FIXED,
) -> ConfigKey:
    return ConfigKey(name, ConfigType.STRING, default, validator, doc, dynamic=dynamic)


def words(
    name: str,
    default: tuple[str, ...] | None,
    doc: str,
    validator: Validator | None = None,
    dynamic: UpdateMode = _FIXED,
) -> ConfigKey:
    """A list separated by commas."""
    return ConfigKey(name, ConfigType.LIST, default, validator or ListOf(), doc, dynamic=dynamic)


def boolean(name: str, default: bool, doc: str, dynamic: UpdateMode = _FIXED) -> ConfigKey:
    return ConfigKey(name, ConfigType.BOOLEAN, default, None, doc, dynamic=dynamic)


def without_effect(reason: str, key: ConfigKey) -> ConfigKey:
    """A key that is taken, stored and told, and changes nothing here."""
    return replace(key, without_effect=reason)


def internal(key: ConfigKey) -> ConfigKey:
    """A key that DescribeConfigs lists only where it was set while the broker ran."""
    return replace(key, internal=True)
