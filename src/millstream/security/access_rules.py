"""Access rules by the resources that they speak of, so that those of one resource are found without looking at the others.

Complexity: finding takes a look-up for each length that the prefixes of a type have, and one for each principal that is asked about;
adding and removing take the rules of the same resource and principal.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from millstream.security.acl import AccessControlRule, PatternType, ResourceType

WILDCARD: Final = "*"
"""As a literal name all resources of a type, as a host all hosts."""
EVERYBODY: Final = "User:*"
"""The principal of rules that concern everybody, of whatever type."""

ByPrincipal = Mapping[str, list[AccessControlRule]]
"""The rules of one resource pattern."""


class AccessRules:
    """All rules of a cluster. The same rule may be there several times, under different ids."""

    def __init__(self) -> None:
        self._by_pattern: dict[tuple[int, int, str], dict[str, list[AccessControlRule]]] = {}
        """By type, pattern type and name; then by principal, in Kafka's order."""
        self._prefix_lengths: dict[int, Counter[int]] = {}
        """How many patterns there are of each length, by type of resource."""
        self._descending_lengths: dict[int, list[int]] = {}

    def add(self, rule: AccessControlRule) -> None:
        key = (rule.resource_type, rule.pattern_type, rule.resource_name)
        by_principal = self._by_pattern.get(key)
        if by_principal is None:
            by_principal = self._by_pattern[key] = {}
            self._count_prefix(rule, 1)
        insort(by_principal.setdefault(rule.principal, []), rule, key=_order)

    def remove(self, rule: AccessControlRule) -> None:
        """Removes one of the rules that are equal to `rule`. Raises KeyError or ValueError where there is none."""
        key = (rule.resource_type, rule.pattern_type, rule.resource_name)
        by_principal = self._by_pattern[key]
        by_principal[rule.principal].remove(rule)
        if not by_principal[rule.principal]:
            del by_principal[rule.principal]
        if not by_principal:
            del self._by_pattern[key]
            self._count_prefix(rule, -1)

    def covering(self, resource_type: ResourceType, name: str) -> Iterator[ByPrincipal]:
        """Yields the rules of each pattern that covers the resource, in the order in which Kafka looks at them: the longer names first."""
        by_pattern = self._by_pattern
        literal = by_pattern.get((resource_type, PatternType.LITERAL, name))
        if literal is not None:
            yield literal
        for length in self._descending_lengths.get(resource_type, ()):
            if length > len(name):
                continue
            prefixed = by_pattern.get((resource_type, PatternType.PREFIXED, name[:length]))
            if prefixed is not None:
                yield prefixed
        if name != WILDCARD:
            of_all = by_pattern.get((resource_type, PatternType.LITERAL, WILDCARD))
            if of_all is not None:
                yield of_all

    def of_type(self, resource_type: ResourceType, principal: str) -> Iterator[AccessControlRule]:
        """Yields the rules about any resources of this type that name this principal."""
        for (found_type, _, _), by_principal in self._by_pattern.items():
            if found_type == resource_type:
                yield from by_principal.get(principal, ())

    def _count_prefix(self, rule: AccessControlRule, change: int) -> None:
        if rule.pattern_type != PatternType.PREFIXED:
            return
        lengths = self._prefix_lengths.setdefault(rule.resource_type, Counter())
        lengths[len(rule.resource_name)] += change
        self._descending_lengths[rule.resource_type] = sorted(+lengths, reverse=True)


def _order(rule: AccessControlRule) -> tuple[str, int, int]:
    """Returns the place of a rule among those of the same resource and principal, as in Kafka: it decides which of several is told."""
    return rule.host, rule.operation, rule.permission_type
