"""`ssl.principal.mapping.rules`: from the name in a client's certificate to the name of its principal, as
Kafka's SslPrincipalMapper.

Rules are tried in order, and the first whose pattern is the whole name counts. Patterns are written for Java: what
Python reads otherwise or does not know is refused when the rules are read, never when a client comes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from millstream.errors import ConfigError

KEY: Final = "ssl.principal.mapping.rules"
_RULE_TEXT: Final = r"(DEFAULT)|RULE:((\\.|[^\\/])*)/((\\.|[^\\/])*)/([LU]?).*?|(.*?)"
"""Kafka's own expression. What is written may hold any character, a slash behind a backslash."""
_SPLITTER: Final = re.compile(rf"\s*({_RULE_TEXT})\s*(,\s*|$)")
_RULE: Final = re.compile(_RULE_TEXT)
_NAMED_GROUP: Final = re.compile(r"\(\?<(?![=!])")
"""Java's `(?<name>...)`."""
_REPLACEMENT: Final = re.compile(
    r"\\(?P<escaped>.)|\$(?P<digits>\d+)|\$\{(?P<name>\w+)\}|\$|\\", re.DOTALL
)
_READ_OTHERWISE: Final = {
    "&&": "intersections of classes",
    "[[": "classes within classes",
    r"\Z": r"\Z, which is another place in Java (write $)",
}


@dataclass(frozen=True, slots=True)
class MappingRule:
    """`pattern` None: the name as it is (DEFAULT). `case` is L, U or empty."""

    pattern: str | None
    replacement: str = ""
    case: str = ""

    def name_for(self, distinguished_name: str) -> str | None:
        """Returns the name of the principal, None where the pattern is another."""
        if self.pattern is None:
            return distinguished_name
        pattern = _compiled(self.pattern)
        if pattern.fullmatch(distinguished_name) is None:
            return None
        # Kafka replaces every occurrence, so `.*` counts a second time, at the end.
        name = pattern.sub(lambda found: _expanded(self.replacement, found), distinguished_name)
        return {"L": name.lower(), "U": name.upper()}.get(self.case, name)


class PrincipalMapping:
    """The rules of one listener."""

    def __init__(self, rules: Sequence[MappingRule]) -> None:
        self.rules = tuple(rules)

    def name_for(self, distinguished_name: str) -> str | None:
        """Returns the name of the principal, None where no rule applies: such a client is sent away."""
        for rule in self.rules:
            name = rule.name_for(distinguished_name)
            if name is not None:
                return name
        return None


def parse_mapping_rules(text: str) -> PrincipalMapping:
    """Reads the setting. Raises ConfigError with what is wrong in it."""
    rules = [_parsed(found[1]) for found in _SPLITTER.finditer(text.strip())]
    return PrincipalMapping([rule for rule in rules if rule is not None])


def _parsed(text: str) -> MappingRule | None:
    """One rule; None for an empty one, as Kafka takes them."""
    found = _RULE.match(text)
    if found is None or found.end() != len(text):
        raise ConfigError(
            f"{KEY}: {text} is no rule; write DEFAULT or RULE:PATTERN/REPLACEMENT/ with L or U behind it, / in them as \\/"
        )
    if found[1] is not None:
        return MappingRule(None)
    if found[2] is None:
        return None
    rule = MappingRule(found[2], found[4], found[6])
    _check(rule)
    return rule


def _check(rule: MappingRule) -> None:
    assert rule.pattern is not None, "DEFAULT has nothing to check"
    for text, what in _READ_OTHERWISE.items():
        if text in rule.pattern:
            raise ConfigError(f"{KEY}: {rule.pattern} has {what}: this version does not know that")
    try:
        pattern = _compiled(rule.pattern)
    except re.error as error:
        raise ConfigError(
            f"{KEY}: {rule.pattern} is not understood ({error}); Java's classes such as \\p{{Alpha}} are not known here"
        ) from None
    for found in _REPLACEMENT.finditer(rule.replacement):
        if found[0] in {"$", "\\"}:
            raise ConfigError(
                f"{KEY}: the replacement {rule.replacement} ends a group with {found[0]}"
            )
        name, digits = found["name"], found["digits"]
        if name is not None and name not in pattern.groupindex:
            raise ConfigError(f"{KEY}: {rule.pattern} has no group {name}")
        if digits is not None and not pattern.groups and digits[0] != "0":
            raise ConfigError(
                f"{KEY}: {rule.pattern} has no group, and its replacement is {rule.replacement}"
            )


def _compiled(pattern: str) -> re.Pattern[str]:
    """`re` keeps what it has compiled. Java's classes are those of ASCII unless a pattern asks for more."""
    return re.compile(_NAMED_GROUP.sub("(?P<", pattern), re.ASCII)


def _expanded(replacement: str, found: re.Match[str]) -> str:
    def value(part: re.Match[str]) -> str:
        if part["escaped"] is not None:
            return part["escaped"]
        if part["name"] is not None:
            return found[part["name"]] or ""
        return _group(part["digits"], found)

    return _REPLACEMENT.sub(value, replacement)


def _group(digits: str, found: re.Match[str]) -> str:
    """As many of the digits as name a group; the rest is text, and so is what names none at all."""
    groups = found.re.groups
    if digits[0] != "0" and int(digits[0]) > groups:
        return f"${digits}"
    used = 1
    while used < len(digits) and int(digits[: used + 1]) <= groups:
        used += 1
    return (found[int(digits[:used])] or "") + digits[used:]
