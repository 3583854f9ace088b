"""One configuration key as data: its type, default, validator, where it applies and what it means.

A table of keys is the single source for parsing, validation, DescribeConfigs and the reference page.
Owns the text forms of Kafka's config types. Knows no particular key and reads no file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from millstream.errors import ConfigError
from millstream.protocol.enums import ConfigType

ConfigValue = bool | int | float | str | tuple[str, ...] | None
"""A parsed value: lists are tuples without repeats (KIP-1161), classes and passwords are strings, None means not
set."""


class Scope(Enum):
    """The resource that one value of the key belongs to."""

    TOPIC = "topic"
    BROKER = "broker"
    GROUP = "group"
    CLIENT_METRICS = "client-metrics"
    BROKER_LOGGER = "broker-logger"
    CLIENT = "client"
    """Settings of producers, consumers and the admin client: never stored in the cluster."""


class UpdateMode(Enum):
    """The way in which a value may change while the process runs (KIP-226)."""

    READ_ONLY = "read-only"
    PER_LISTENER = "per-listener"
    """Only under the prefix of one listener of one broker: keys and certificates."""
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Validator(Protocol):
    def problem(self, value: ConfigValue) -> str | None:
        """Says what a good value looks like when `value` is not one; None when it is."""
        ...

    @property
    def allowed(self) -> str:
        """The allowed values in words, for the reference page."""
        ...


class _Required(Enum):
    NO_DEFAULT = "no default"


NO_DEFAULT: Final = _Required.NO_DEFAULT
"""Default of a key that must be given."""

_TRUE_FALSE: Final = {"true": True, "false": False}
_INTEGER_BITS: Final = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSynonym:
    """A broker key that supplies the default of a topic key; `factor` converts its unit (hours to milliseconds)."""

    name: str
    factor: int = 1


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A row of a table of settings. `default` is a parsed value; `doc` is one or more full sentences."""

    name: str
    type: ConfigType
    default: ConfigValue | _Required
    validator: Validator | None = None
    doc: str = ""
    scope: Scope = Scope.BROKER
    dynamic: UpdateMode = UpdateMode.READ_ONLY
    sensitive: bool = False
    """The value is never shown: DescribeConfigs answers null."""
    internal: bool = False
    """Works, but is not listed by DescribeConfigs (Kafka's `internal.*` keys)."""
    synonyms: tuple[BrokerSynonym, ...] = ()
    is_always_given: bool = False
    """Kafka has no default for it. A node that is not given it is started with `default` and tells
    that as given, not as a default."""
    without_effect: str | None = None
    """Why the key is taken, stored and told, and changes nothing; None for one that does what `doc` says."""

    @property
    def meaning(self) -> str:
        """The text of `doc`, and the reason of a key that has no effect."""
        if self.without_effect is None:
            return self.doc
        return f"{self.doc} Without effect: {self.without_effect}.".strip()

    @property
    def required(self) -> bool:
        return self.default is NO_DEFAULT

    @property
    def default_value(self) -> ConfigValue:
        """The default, None for a required key."""
        return None if isinstance(self.default, _Required) else self.default

    @property
    def default_text(self) -> str | None:
        return self.format(self.default_value)

    def parse(self, text: str | None) -> ConfigValue:
        """Returns the value that `text` stands for, validated. Raises ConfigError, which quotes no sensitive value."""
        value = None if text is None else self._value_of(text.strip())
        if value is None and self.default_value is None and not self.required:
            return None
        problem = self.validator.problem(value) if self.validator else None
        if problem is None and value is None:
            problem = "a value is needed"
        if problem is not None:
            raise self._refused(text, problem)
        return value

    def format(self, value: ConfigValue) -> str | None:
        """Returns the text that `parse` turns into `value`, in Kafka's spelling."""
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        if isinstance(value, float):
            return _as_java_writes(value)
        return str(value)

    def _value_of(self, text: str) -> ConfigValue:
        if self.type is ConfigType.BOOLEAN:
            if text.lower() not in _TRUE_FALSE:
                raise self._refused(text, "write true or false")
            return _TRUE_FALSE[text.lower()]
        if self.type in _INTEGER_BITS:
            return self._integer_of(text)
        if self.type is ConfigType.DOUBLE:
            return self._double_of(text)
        if self.type is ConfigType.LIST:
            return tuple(dict.fromkeys(item.strip() for item in text.split(","))) if text else ()
        return text

    def _double_of(self, text: str) -> float:
        """Python's underscores are no part of a number, and what is no number is none."""
        try:
            number = math.nan if "_" in text else float(text)
        except ValueError:
            number = math.nan
        if math.isnan(number):
            raise self._refused(text, "write a number")
        return number

    def _integer_of(self, text: str) -> int:
        bits = _INTEGER_BITS[self.type]
        digits = text[1:] if text[:1] in {"-", "+"} else text
        if not (digits.isascii() and digits.isdigit()):
            raise self._refused(text, "write a whole number")
        number = int(text) if len(digits) < 25 else 1 << 64
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise self._refused(text, f"write a number of at most {bits} bits")
        return number

    def _refused(self, text: str | None, problem: str) -> ConfigError:
        shown = "[hidden]" if self.sensitive or self.type is ConfigType.PASSWORD else text
        return ConfigError(f"Invalid value {shown} for configuration {self.name}: {problem}")


def config_table(keys: Iterable[ConfigKey]) -> Mapping[str, ConfigKey]:
    """Returns the keys by name, in the given order. A name that stands twice is a programming error."""
    table: dict[str, ConfigKey] = {}
    for key in keys:
        assert key.name not in table, f"config key {key.name} stands twice in its table"
        table[key.name] = key
    return table


def _as_java_writes(number: float) -> str:
    """Java's Double.toString: with an exponent below a thousandth and from ten million on."""
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    shortest = repr(number).partition("e")[0].replace(".", "").strip("-0")
    digits, _, exponent = f"{number:.{max(1, len(shortest) - 1)}E}".partition("E")
    return f"{digits}E{int(exponent)}"


def parse_config(
    table: Mapping[str, ConfigKey], overrides: Mapping[str, str | None]
) -> dict[str, ConfigValue]:
    """Returns every key of `table` with its value: the override's, else the default.

    Raises ConfigError for an unknown name, a value that does not parse, and a required key that is absent.
    """
    for name in overrides:
        if name not in table:
            raise ConfigError(f"Unknown configuration {name}: check the spelling, or remove it")
    values: dict[str, ConfigValue] = {}
    for name, key in table.items():
        if name in overrides:
            values[name] = key.parse(overrides[name])
        elif key.required:
            raise ConfigError(
                f"Missing configuration {name}: it has no default, so give it a value"
            )
        else:
            values[name] = key.default_value
    return values
