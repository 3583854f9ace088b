"""Calls of the admin client say what to pass before they ask anything, whatever is passed instead."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import numpy as np
import pytest

from millstream.clients import Admin, NewTopic, OffsetAndMetadata
from millstream.clients.admin.core.arguments import Kinds, kinds_of
from millstream.clients.blocking import Admin as BlockingAdmin
from millstream.model import TopicPartition


def parameters() -> list[tuple[str, str, Kinds]]:
    return [
        (call, name, kinds)
        for call, method in vars(Admin).items()
        if not call.startswith("_") and inspect.iscoroutinefunction(method)
        for name, kinds in list(kinds_of(inspect.unwrap(method)).items())[1:]
    ]


OF_SEVERAL = [each[:2] for each in parameters() if each[2].items is not None]
OF_MAPPINGS = [each[:2] for each in parameters() if each[2].keys is not None]
OF_ONE = [
    each[:2] for each in parameters() if each[2].classes and not (each[2].items or each[2].keys)
]


def refusal(call: str, name: str, value: object) -> str:
    """There is no client: what is wrong is said before one is needed."""
    with pytest.raises(TypeError) as refused:
        asyncio.run(vars(Admin)[call](None, **{name: value}))
    told = str(refused.value)
    assert told.startswith(f"{call}: ")
    assert name in told
    return told


def test_all_calls_are_looked_at() -> None:
    assert len({call for call, *_ in parameters()}) > 50
    assert len(OF_SEVERAL) > 30
    assert len(OF_MAPPINGS) > 10


@pytest.mark.parametrize(("call", "name"), OF_SEVERAL)
@pytest.mark.parametrize("value", ["ab", b"ab", 5, object()])
def test_one_is_not_several(call: str, name: str, value: object) -> None:
    """Least of all a text, which has letters."""
    if (call, name) in OF_MAPPINGS and isinstance(value, str):
        assert "in a list" in refusal(call, name, value)
    refusal(call, name, value)


@pytest.mark.parametrize(("call", "name"), OF_SEVERAL)
def test_each_of_several_is_of_its_kind(call: str, name: str) -> None:
    assert "each of" in refusal(call, name, [object()])
    assert "each of" in refusal(call, name, iter([[]]))


@pytest.mark.parametrize(("call", "name"), OF_MAPPINGS)
def test_keys_are_of_their_kind(call: str, name: str) -> None:
    refusal(call, name, 5)
    assert "a key of" in refusal(call, name, {5.5: None})


@pytest.mark.parametrize(("call", "name"), OF_ONE)
def test_one_value_is_of_its_kind(call: str, name: str) -> None:
    refusal(call, name, [])


@pytest.mark.parametrize(
    ("call", "arguments", "told"),
    [
        (
            "delete_topics",
            {"topics": "ab"},
            "delete_topics: topics takes several, in a list: topics=['ab']",
        ),
        (
            "create_topics",
            {"topics": ["ab"]},
            "create_topics: each of topics is NewTopic, got 'ab'",
        ),
        (
            "describe_producers",
            {"partitions": [("t", 0)]},
            "describe_producers: each of partitions is TopicPartition, got ('t', 0)",
        ),
        (
            "delete_records",
            {"before": {TopicPartition("t", 0): "5"}},
            "delete_records: a value of before is int, got '5'",
        ),
        (
            "delete_topics",
            {"topics": ["t"], "timeout_ms": True},
            "delete_topics: timeout_ms is int, got True",
        ),
        (
            "alter_consumer_group_offsets",
            {"group_id": "g", "offsets": {TopicPartition("t", 0): 5}},
            "alter_consumer_group_offsets: a value of offsets is OffsetAndMetadata, got 5",
        ),
    ],
)
def test_the_sentence_says_what_to_pass(call: str, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError) as refused:
        asyncio.run(vars(Admin)[call](None, **arguments))
    assert str(refused.value) == told


@pytest.mark.parametrize("number", [np.int64(5), np.int32(5), 5])
def test_numbers_of_numpy_are_numbers(number: int) -> None:
    """What comes out of a DataFrame goes in; there is no client here, which is all that is missing."""
    before = {TopicPartition("t", 0): number}
    with pytest.raises(AttributeError):
        asyncio.run(vars(Admin)["delete_records"](None, before, timeout_ms=number))


def test_the_blocking_twin_says_the_same() -> None:
    with (
        BlockingAdmin(bootstrap_servers="127.0.0.1:1") as admin,
        pytest.raises(TypeError, match=r"topics takes several, in a list: topics=\[NewTopic"),
    ):
        admin.create_topics(NewTopic("t"))  # type: ignore[arg-type] - what is tested


def test_an_offset_that_means_no_commit_is_not_committed() -> None:
    """As in Java, whose OffsetAndMetadata has none below 0: brokers take it, and the group begins anew, nobody told why."""
    offsets = {TopicPartition("t", 0): OffsetAndMetadata(-1)}
    with pytest.raises(ValueError, match="delete_consumer_group_offsets forgets a commit"):
        asyncio.run(
            vars(Admin)["alter_consumer_group_offsets"](None, group_id="g", offsets=offsets)
        )
