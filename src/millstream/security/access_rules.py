"""Access rules by the principals and resources that they speak of, so that those of one question are found
without looking at the others.

Complexity: finding takes a look-up for each length that the prefixes of a principal have; adding and removing take the
rules of the same resource and principal.
"""

from __future__ import annotations

from bisect import insort
from typing import Final

from millstream.security.acl import AccessControlRule, PatternType, ResourceType

WILDCARD: Final = "*"
"""As a literal name all resources of a type, as a host all hosts."""
EVERYBODY: Final = "User:*"
"""The principal of rules that concern everybody, of whatever type."""
_PREFIXED: Final = int(PatternType.PREFIXED)


class _PrefixLengths:
    """The lengths that a number of prefixes have: a name is looked for once for each."""

    def __init__(self) -> None:
        self.descending: list[int] = []
        self._counts: dict[int, int] = {}

    def count(self, length: int, change: int) -> None:
        count = self._counts.get(length, 0) + change
        if count:
            self._counts[length] = count
        else:
            del self._counts[length]
        if count in (0, change):  # the first of this length, or the last
            self.descending = sorted(self._counts, reverse=True)


class _Covered:
    """The resources of one type that rules are about, for whomever: the number of rules by pattern."""

    def __init__(self) -> None:
        self._literal: dict[str, int] = {}
        self._prefixed: dict[str, int] = {}
        self._lengths = _PrefixLengths()

    def count(self, rule: AccessControlRule, change: int) -> None:
        name, is_prefixed = rule.resource_name, rule.pattern_type == _PREFIXED
        counts = self._prefixed if is_prefixed else self._literal
        count = counts.get(name, 0) + change
        if count:
            counts[name] = count
        else:
            del counts[name]
        if is_prefixed:
            self._lengths.count(len(name), change)

    def covers(self, name: str) -> bool:
        if name in self._literal or WILDCARD in self._literal:
            return True
        return any(name[:length] in self._prefixed for length in self._lengths.descending)


class _Patterns:
    """The rules about resources of one type that name one principal, by the pattern that they have."""

    def __init__(self) -> None:
        self.literal: dict[str, list[AccessControlRule]] = {}
        self.prefixed: dict[str, list[AccessControlRule]] = {}
        self.lengths = _PrefixLengths()

    def add(self, rule: AccessControlRule) -> None:
        """Puts it in its place among those of the same pattern, as Kafka orders them: it decides
        which of several is told.
        """
        name, is_prefixed = rule.resource_name, rule.pattern_type == _PREFIXED
        by_name = self.prefixed if is_prefixed else self.literal
        insort(by_name.setdefault(name, []), rule, key=_order)
        if is_prefixed:
            self.lengths.count(len(name), 1)

    def remove(self, rule: AccessControlRule) -> None:
        """Raises KeyError or ValueError where there is none that is equal."""
        name, is_prefixed = rule.resource_name, rule.pattern_type == _PREFIXED
        by_name = self.prefixed if is_prefixed else self.literal
        by_name[name].remove(rule)
        if not by_name[name]:
            del by_name[name]
        if is_prefixed:
            self.lengths.count(len(name), -1)

    def is_empty(self) -> bool:
        return not self.literal and not self.prefixed


class AccessRules:
    """All rules of a cluster. The same rule may be there several times, under different ids."""

    def __init__(self) -> None:
        self._covered: dict[int, _Covered] = {}
        """By type of resource."""
        self._by_principal: dict[tuple[int, str], _Patterns] = {}

    def add(self, rule: AccessControlRule) -> None:
        key = (rule.resource_type, rule.principal)
        of_principal = self._by_principal.get(key)
        if of_principal is None:
            of_principal = self._by_principal[key] = _Patterns()
        of_principal.add(rule)
        covered = self._covered.get(rule.resource_type)
        if covered is None:
            covered = self._covered[rule.resource_type] = _Covered()
        covered.count(rule, 1)

    def remove(self, rule: AccessControlRule) -> None:
        """Removes one of the rules that are equal to `rule`. Raises KeyError or ValueError where there is none."""
        key = (rule.resource_type, rule.principal)
        of_principal = self._by_principal[key]
        of_principal.remove(rule)
        if of_principal.is_empty():
            del self._by_principal[key]
        self._covered[rule.resource_type].count(rule, -1)

    def covers(self, resource_type: ResourceType, name: str) -> bool:
        """Whether any rule, for whomever, is about the resource."""
        covered = self._covered.get(resource_type)
        return covered is not None and covered.covers(name)

    def matching(
        self, resource_type: ResourceType, name: str, principal: str
    ) -> list[AccessControlRule]:
        """Returns the rules about the resource that name this principal or everybody, in the order
        in which Kafka looks at them.

        The longer names come first; of one name first those of the principal that sorts first.
        """
        of_principal = self._by_principal.get((resource_type, principal))
        of_everybody = self._by_principal.get((resource_type, EVERYBODY))
        if of_principal is None or of_principal is of_everybody:
            return [] if of_everybody is None else _of_one(of_everybody, name)
        if of_everybody is None:
            return _of_one(of_principal, name)
        if principal < EVERYBODY:
            return _of_two(of_principal, of_everybody, name)
        return _of_two(of_everybody, of_principal, name)

    def of_type(self, resource_type: ResourceType, principal: str) -> list[AccessControlRule]:
        """Returns the rules about any resources of this type that name this principal."""
        patterns = self._by_principal.get((resource_type, principal))
        if patterns is None:
            return []
        found: list[AccessControlRule] = []
        for rules in (*patterns.literal.values(), *patterns.prefixed.values()):
            found += rules
        return found


def _of_one(patterns: _Patterns, name: str) -> list[AccessControlRule]:
    found = list(patterns.literal.get(name, ()))
    for length in patterns.lengths.descending:
        if length <= len(name):
            found += patterns.prefixed.get(name[:length], ())
    if name != WILDCARD:
        found += patterns.literal.get(WILDCARD, ())
    return found


def _of_two(first: _Patterns, second: _Patterns, name: str) -> list[AccessControlRule]:
    found = [*first.literal.get(name, ()), *second.literal.get(name, ())]
    for length in sorted({*first.lengths.descending, *second.lengths.descending}, reverse=True):
        if length <= len(name):
            prefix = name[:length]
            found += first.prefixed.get(prefix, ())
            found += second.prefixed.get(prefix, ())
    if name != WILDCARD:
        found += first.literal.get(WILDCARD, ())
        found += second.literal.get(WILDCARD, ())
    return found


def _order(rule: AccessControlRule) -> tuple[str, int, int]:
    return rule.host, rule.operation, rule.permission_type
