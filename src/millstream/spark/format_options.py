"""The options of `format("millstream")` as users write them, for source and sink: divided into its own and the
client's, and read one by one.

Pure. Names are compared in lower case, as Spark does. Everything here raises ConfigError, which
says what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeVar

from millstream.errors import ConfigError
from millstream.spark.kafka_settings import PREFIX, is_setting

_Choice = TypeVar("_Choice", bound=Enum)

UNITS_MS: Final = {
    "millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000,
}  # fmt: skip
_SHORT_UNITS: Final = {
    "ms": "millisecond",
    "s": "second",
    "m": "minute",
    "h": "hour",
    "d": "day",
}
_DURATION: Final = re.compile(
    rf"([0-9]+)\s*(?:({'|'.join(_SHORT_UNITS)})|({'|'.join(UNITS_MS)})s?)"
)
"""As Spark's connector writes durations: "15m", "10 seconds"."""

_SIMILAR: Final = 0.7
"""Above difflib's 0.6: names of options have many letters in common."""
_ALIASES: Final = {
    "bootstrap.servers": "kafka.bootstrap.servers",
    "bootstrap_servers": "kafka.bootstrap.servers",
}


class GivenOptions(NamedTuple):
    """`own`: options of the format, by name in lower case; `kafka`: settings of the client, without their prefix."""

    own: dict[str, str]
    kafka: dict[str, str]


def divided(
    options: Mapping[str, str],
    known: Sequence[str],
    aliases: Mapping[str, str],
    *,
    of_what: str = "",
    ignored: Sequence[str] = (),
) -> GivenOptions:
    """Options that are not `known`, by their names as they are documented, and no settings, are refused, and so are
    options without a broker.
    """
    given = GivenOptions({}, {})
    own = {name.lower() for name in known}
    names = _ALIASES | dict(aliases)
    for name, value in options.items():
        key = names.get(name.lower(), name.lower())
        if key.startswith(PREFIX):
            given.kafka[key.removeprefix(PREFIX)] = value
        elif key in own:
            given.own[key] = value
        elif key not in ignored:
            raise _unknown_option(name, of_what, known)
    if not given.kafka.get("bootstrap.servers"):
        raise ConfigError(
            'format millstream needs a broker: .option("bootstrap.servers", "localhost:9092")'
        )
    return given


def choice(name: str, text: str, of: type[_Choice]) -> _Choice:
    """Returns the member of an enumeration that a user has named."""
    word = text.strip().lower()
    for each in of:
        if str(each.value).lower() == word:
            return each
    choices = ", ".join(str(each.value) for each in of)
    raise ConfigError(f"{name} is one of {choices}, not {text!r}")


def number(given: Mapping[str, str], name: str, default: int, lowest: int) -> int:
    """Returns the whole number that an option has."""
    text = given.get(name.lower())
    if text is None:
        return default
    try:
        found = int(text)
    except ValueError:
        found = lowest - 1
    if found < lowest:
        raise ConfigError(f"{name} must be a whole number of at least {lowest}, not {text!r}")
    return found


def optional_number(given: Mapping[str, str], name: str) -> int | None:
    """Returns the same of at least 1, None where the option is not given."""
    return None if name.lower() not in given else number(given, name, 0, 1)


def duration_ms(given: Mapping[str, str], name: str) -> int | None:
    """Returns the milliseconds of a duration like "10 seconds", None where the option is not given."""
    text = given.get(name.lower())
    if text is None:
        return None
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise ConfigError(
            f'{name} is a duration like "10 seconds", in milliseconds, seconds, minutes, hours or days, not {text!r}'
        )
    return int(found[1]) * UNITS_MS[found[3] or _SHORT_UNITS[found[2]]]


def flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Returns whether an option is true."""
    text = given.get(name.lower(), str(default)).lower()
    if text not in {"true", "false"}:
        raise ConfigError(f"{name} must be true or false, not {given[name.lower()]!r}")
    return text == "true"


def _unknown_option(name: str, of_what: str, known: Sequence[str]) -> ConfigError:
    if is_setting(name.lower()):
        return ConfigError(
            f"unknown option {name!r} of format millstream{of_what}: settings of the Kafka client are written "
            f"with a prefix, {PREFIX}{name.lower().replace('_', '.')}"
        )
    documented = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), documented, 1, _SIMILAR)
    hint = (
        f"did you mean {documented[near[0]]}?"
        if near
        else f"known are {', '.join(known)} and {PREFIX}…"
    )
    return ConfigError(f"unknown option {name!r} of format millstream{of_what}: {hint}")


def function_named(option: str, text: str) -> Callable[..., Any]:  # Any: functions of users
    """Returns what the text names. Raises ConfigError where it cannot be imported or called."""
    module, colon, name = text.strip().partition(":")
    if not colon:
        module, _, name = text.strip().rpartition(".")
    if not module or not name:
        raise ConfigError(f"{option} names a function as module:function, not {text!r}")
    try:
        found: object = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{option}: {text!r} cannot be imported ({error}). Spark's Python workers need the module, too: "
            "PYTHONPATH on one machine, --py-files on a cluster"
        ) from error
    if not callable(found):
        raise ConfigError(f"{option}: {text!r} is a {type(found).__name__} and cannot be called")
    return found
