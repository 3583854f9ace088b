"""The data model of access control, and the authorizer of a cluster without rules."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from millstream.security.acl import (
    CLUSTER_NAME,
    Operation,
    PatternType,
    Resource,
    ResourcePattern,
    ResourceType,
    operation_bits,
    supported_operations,
)
from millstream.security.authorizer import ALLOW_ALL, Action, Requester, authorized_operations

ANYBODY = Requester("User:ANONYMOUS", "127.0.0.1")


@pytest.mark.parametrize(
    ("resource", "bits"),
    [
        (Resource(ResourceType.TOPIC, "t"), 3576),
        (Resource(ResourceType.CLUSTER, CLUSTER_NAME), 8096),
    ],
)
def test_without_rules_every_operation_is_authorized(resource: Resource, bits: int) -> None:
    """The numbers are those a Kafka 4.3.1 broker without an authorizer answers."""
    assert authorized_operations(ALLOW_ALL, ANYBODY, resource) == bits


def test_one_answer_for_each_action() -> None:
    action = Action(Operation.READ, Resource(ResourceType.TOPIC, "t"))
    assert ALLOW_ALL.authorize(ANYBODY, [action, action]) == [True, True]
    assert ALLOW_ALL.authorize(ANYBODY, []) == []


def test_bits_follow_the_answers_of_the_authorizer() -> None:
    class ReadOnly:
        def authorize(self, requester: Requester, actions: Sequence[Action]) -> list[bool]:
            return [action.operation in {Operation.READ, Operation.DESCRIBE} for action in actions]

    assert (
        authorized_operations(ReadOnly(), ANYBODY, Resource(ResourceType.TOPIC, "t"))
        == 1 << 3 | 1 << 8
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
