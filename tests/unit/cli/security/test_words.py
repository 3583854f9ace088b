"""Words of access rules as people type them."""

from __future__ import annotations

import click
import pytest

from millstream.cli.security.words import (
    OPERATION,
    PATTERN_TO_ADD,
    parse_resource,
    principal_text,
    spelled,
)
from millstream.security.acl import Operation, Resource, ResourceType


@pytest.mark.parametrize(
    "typed", ["DescribeConfigs", "describeconfigs", "DESCRIBE_CONFIGS", "describe-configs"]
)
def test_operations_are_known_in_any_spelling(typed: str) -> None:
    assert OPERATION.convert(typed, None, None) is Operation.DESCRIBE_CONFIGS


def test_a_word_that_is_none_gets_a_suggestion() -> None:
    with pytest.raises(
        click.BadParameter, match=r"'Reed' is not one of All, Read, .*; did you mean Read"
    ):
        OPERATION.convert("Reed", None, None)
    with pytest.raises(click.BadParameter, match="'match' is not one of Literal, Prefixed"):
        PATTERN_TO_ADD.convert("match", None, None)


def test_every_operation_is_spelled_as_kafka_spells_it() -> None:
    assert [spelled(each) for each in (Operation.ALL, Operation.IDEMPOTENT_WRITE)] == ["All", "IdempotentWrite"]  # fmt: skip


def test_a_name_alone_is_that_of_a_user() -> None:
    assert principal_text("alice") == "User:alice"
    assert principal_text("Service:a:b") == "Service:a:b"


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("topic:orders", Resource(ResourceType.TOPIC, "orders")),
        ("Topic:a:b", Resource(ResourceType.TOPIC, "a:b")),
        ("group:*", Resource(ResourceType.GROUP, "*")),
        ("transactional-id:x", Resource(ResourceType.TRANSACTIONAL_ID, "x")),
        ("TransactionalId:x", Resource(ResourceType.TRANSACTIONAL_ID, "x")),
        ("delegation-token:1", Resource(ResourceType.DELEGATION_TOKEN, "1")),
        ("user:User:alice", Resource(ResourceType.USER, "User:alice")),
        ("cluster", Resource(ResourceType.CLUSTER, "kafka-cluster")),
        ("cluster:kafka-cluster", Resource(ResourceType.CLUSTER, "kafka-cluster")),
    ],
)
def test_resources_are_a_kind_and_a_name(text: str, resource: Resource) -> None:
    assert parse_resource(text) == resource


@pytest.mark.parametrize(
    "text", ["orders", "topic", "topic:", "cluster:other", "any:x", "unknown:x"]
)
def test_what_is_no_resource_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a resource: write topic:NAME"):
        parse_resource(text)
