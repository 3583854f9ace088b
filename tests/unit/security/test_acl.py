"""The data model of access control."""

from __future__ import annotations

import pytest

from millstream.security.acl import (
    Operation,
    PatternType,
    Resource,
    ResourcePattern,
    ResourceType,
    operation_bits,
    supported_operations,
)


def test_bits_are_a_set() -> None:
    assert operation_bits([Operation.READ, Operation.READ, Operation.WRITE]) == 8 | 16


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        (ResourcePattern(ResourceType.TOPIC, "t"), True),
        (ResourcePattern(ResourceType.TOPIC, "*"), True),
        (ResourcePattern(ResourceType.TOPIC, "u"), False),
        (ResourcePattern(ResourceType.GROUP, "t"), False),
        (ResourcePattern(ResourceType.TOPIC, "t", PatternType.PREFIXED), True),
        (ResourcePattern(ResourceType.TOPIC, "", PatternType.PREFIXED), True),
        (ResourcePattern(ResourceType.TOPIC, "to", PatternType.PREFIXED), False),
        (ResourcePattern(ResourceType.TOPIC, "t", PatternType.MATCH), False),
    ],
)
def test_patterns_cover_resources_by_name_or_prefix(
    pattern: ResourcePattern, covered: bool
) -> None:
    assert pattern.covers(Resource(ResourceType.TOPIC, "t")) is covered


def test_unknown_resource_types_support_nothing() -> None:
    assert supported_operations(ResourceType.ANY) == ()
