from __future__ import annotations

import click
import pytest

from millstream.cli.configs.command import parse_change
from millstream.cli.configs.resources import parse_resource, resource_text
from millstream.protocol.enums import AlterOperation, ConfigResourceType


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("topic:orders", ConfigResourceType.TOPIC, "orders"),
        ("topics:orders", ConfigResourceType.TOPIC, "orders"),
        ("broker", ConfigResourceType.BROKER, ""),
        ("broker:1", ConfigResourceType.BROKER, "1"),
        ("logger:1", ConfigResourceType.BROKER_LOGGER, "1"),
        ("group:a/b:c", ConfigResourceType.GROUP, "a/b:c"),
        ("client-metrics:m", ConfigResourceType.CLIENT_METRICS, "m"),
    ],
)
def test_a_resource_is_a_type_and_a_name(text: str, kind: ConfigResourceType, name: str) -> None:
    resource = parse_resource(text)
    assert (resource.type, resource.name) == (kind, name)
    assert resource_text(resource) == text.replace("topics:", "topic:")


def test_a_slash_does_as_well() -> None:
    assert parse_resource("group/a:b") == parse_resource("group:a:b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topc:orders", "did you mean topic"),
        ("topic", "does not say which topic"),
        ("topic:", "does not say which topic"),
        ("logger", "does not say which logger"),
        ("broker:", "does not say which broker"),
        ("broker:one", "named by its id"),
    ],
)
def test_what_is_no_resource_says_how_one_is_written(text: str, said: str) -> None:
    with pytest.raises(click.BadParameter, match=said):
        parse_resource(text)


@pytest.mark.parametrize(
    ("text", "operation", "value"),
    [
        ("a.b=1", AlterOperation.SET, "1"),
        ("a.b=", AlterOperation.SET, ""),
        ("a.b=x=y", AlterOperation.SET, "x=y"),
        ("a.b+=x", AlterOperation.APPEND, "x"),
        ("a.b-=x", AlterOperation.SUBTRACT, "x"),
    ],
)
def test_changes(text: str, operation: AlterOperation, value: str) -> None:
    assert parse_change(text) == ("a.b", value, operation)


@pytest.mark.parametrize("text", ["a.b", "=1", "+=1", ""])
def test_what_is_no_change(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse_change(text)
