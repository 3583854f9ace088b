"""Validators of configuration values: small frozen objects that say what is allowed, in words too."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
