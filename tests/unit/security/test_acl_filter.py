"""Filters of access control rules: as Kafka's AclBindingFilter."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from millstream.security.acl import Operation, PatternType, PermissionType, ResourceType
from millstream.security.acl_filter import AclFilter


@dataclass(frozen=True)
class Rule:
    resource_type: int = 2
    resource_name: str = "test"
    pattern_type: int = 3
    principal: str = "User:alice"
    host: str = "*"
    operation: int = 3
    permission_type: int = 3


LITERAL, WILDCARD = Rule(), Rule(resource_name="*")
PREFIXED = Rule(resource_name="te", pattern_type=4)


def test_a_filter_without_conditions_finds_every_rule() -> None:
    assert all(AclFilter().matches(rule) for rule in (LITERAL, WILDCARD, PREFIXED))


@pytest.mark.parametrize(
    ("pattern_type", "name", "found"),
    [
        (PatternType.MATCH, "test", (LITERAL, WILDCARD, PREFIXED)),
        (PatternType.MATCH, "tea", (WILDCARD, PREFIXED)),
        (PatternType.MATCH, "*", (WILDCARD,)),
        (PatternType.MATCH, None, (LITERAL, WILDCARD, PREFIXED)),
        (PatternType.ANY, "test", (LITERAL,)),
        (PatternType.ANY, "te", (PREFIXED,)),
        (PatternType.LITERAL, "te", ()),
        (PatternType.LITERAL, "*", (WILDCARD,)),
        (PatternType.LITERAL, None, (LITERAL, WILDCARD)),
        (PatternType.PREFIXED, "te", (PREFIXED,)),
        (PatternType.PREFIXED, "test", ()),
        (PatternType.ANY, "", ()),
        (PatternType.UNKNOWN, None, ()),
    ],
)
def test_patterns_are_found_by_name_or_by_what_they_cover(
    pattern_type: PatternType, name: str | None, found: tuple[Rule, ...]
) -> None:
    asked = AclFilter(resource_name=name, pattern_type=pattern_type)
    assert tuple(r for r in (LITERAL, WILDCARD, PREFIXED) if asked.matches(r)) == found


@pytest.mark.parametrize(
    "asked",
    [
        AclFilter(resource_type=ResourceType.GROUP),
        AclFilter(principal="User:bob"),
        AclFilter(host="10.0.0.1"),
        AclFilter(operation=Operation.WRITE),
        AclFilter(operation=Operation.ALL),
        AclFilter(permission_type=PermissionType.DENY),
        AclFilter(resource_type=ResourceType.UNKNOWN),
    ],
)
def test_each_condition_counts(asked: AclFilter) -> None:
    assert not asked.matches(LITERAL)


def test_a_number_of_a_later_release_reads_as_unknown() -> None:
    assert ResourceType(99) is ResourceType.UNKNOWN
    assert AclFilter(operation=Operation(77)).has_unknown
    assert not AclFilter().has_unknown
