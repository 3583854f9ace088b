"""Validators of configuration values: small frozen objects that say what is allowed, in words too. And durations as
Java's `Duration` reads them: `P1DT2H3M4.5S`, days and smaller, each number with a sign of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from millstream.metadata.config_key import ConfigValue, Validator

_THROTTLED_REPLICA = re.compile(r"\d+:\d+")


@dataclass(frozen=True, slots=True)
class Between:
    """Numbers from `least` to `most`, both included; None leaves that side open."""

    least: float | None = None
    most: float | None = None

    def problem(self, value: ConfigValue) -> str | None:
        if not isinstance(value, int | float):
            return "a number is needed"
        if self.least is not None and not value >= self.least:  # not `<`: NaN is refused too
            return f"the value must be at least {self.least}"
        if self.most is not None and not value <= self.most:
            return f"the value must be no more than {self.most}"
        return None

    @property
    def allowed(self) -> str:
        if self.least is None:
            return "any" if self.most is None else f"at most {self.most}"
        return f"at least {self.least}" if self.most is None else f"{self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class Either:
    """Numbers that one of the given validators accepts, such as -1 or 1 to 9."""

    choices: tuple[Validator, ...]

    def problem(self, value: ConfigValue) -> str | None:
        if any(choice.problem(value) is None for choice in self.choices):
            return None
        return f"the value must be {self.allowed}"

    @property
    def allowed(self) -> str:
        return " or ".join(choice.allowed for choice in self.choices)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Exactly one of the given words."""

    words: tuple[str, ...]
    any_case: bool = False
    """Upper and lower case are the same; `words` are in lower case."""

    def problem(self, value: ConfigValue) -> str | None:
        if self.any_case and isinstance(value, str):
            value = value.lower()
        return None if value in self.words else f"write one of {self.allowed}"

    @property
    def allowed(self) -> str:
        return ", ".join(self.words)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items are among `words` (any non-empty word when there are none)."""

    words: tuple[str, ...] = ()
    may_be_empty: bool = True

    def problem(self, value: ConfigValue) -> str | None:
        if not isinstance(value, tuple):
            return "a list separated by commas is needed"
        if not value and not self.may_be_empty:
            return "the list must not be empty"
        if any(not item or (self.words and item not in self.words) for item in value):
            return f"the items must be among {self.allowed}"
        return None

    @property
    def allowed(self) -> str:
        return f"[{', '.join(self.words)}]" if self.words else "a list of non-empty words"


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """A list of throttled replicas: `*`, or items of the form partition:broker."""

    def problem(self, value: ConfigValue) -> str | None:
        if not isinstance(value, tuple):
            return "a list separated by commas is needed"
        if value == ("*",) or all(_THROTTLED_REPLICA.fullmatch(item) for item in value):
            return None
        return f"write {self.allowed}"

    @property
    def allowed(self) -> str:
        return "[partitionId]:[brokerId],[partitionId]:[brokerId],... or *"


@dataclass(frozen=True, slots=True)
class NotBlank:
    """A string with at least one character."""

    def problem(self, value: ConfigValue) -> str | None:
        return None if isinstance(value, str) and value else "the value must not be empty"

    @property
    def allowed(self) -> str:
        return "a non-empty string"


def at_least(least: float) -> Between:
    return Between(least=least)


_DURATION: Final = re.compile(
    r"(?P<sign>[-+]?)P(?!$)(?:(?P<days>[-+]?[0-9]+)D)?"
    r"(?:T(?!$)(?:(?P<hours>[-+]?[0-9]+)H)?(?:(?P<minutes>[-+]?[0-9]+)M)?"
    r"(?:(?P<seconds>[-+]?[0-9]+)(?:[.,](?P<fraction>[0-9]{0,9}))?S)?)?",
    re.IGNORECASE,
)
_UNIT_SECONDS: Final = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_SECONDS_MAX: Final = (1 << 63) - 1
_NANOSECONDS: Final = 1_000_000_000


def duration_ms(text: str) -> int:
    """Returns a duration in milliseconds, rounded down.

    Raises ValueError, also for more seconds than fit into 64 bits.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text} is no duration: write PnDTnHnMn.nS")
    seconds = 0
    for name, unit in _UNIT_SECONDS.items():
        seconds += _check_64_bits(_check_64_bits(int(found[name] or 0)) * unit)
    nanoseconds = int((found["fraction"] or "").ljust(9, "0"))
    if (found["seconds"] or "").startswith("-"):
        nanoseconds = -nanoseconds
    total = _check_64_bits(seconds) * _NANOSECONDS + nanoseconds
    return (-total if found["sign"] == "-" else total) // 1_000_000


def _check_64_bits(seconds: int) -> int:
    """Raises ValueError."""
    if abs(seconds) > _SECONDS_MAX:
        raise ValueError(f"{seconds} seconds are more than 64 bits hold")
    return seconds
