"""A function of the user says where a query begins."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition
from millstream.spark.source.planning import positions_by_function
from millstream.spark.source.positions import Exact, Latest

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
HERE = __name__


def halfway(partitions: list[TopicPartition]) -> dict[TopicPartition, Any]:
    assert partitions == [T0, T1]
    return {T0: 12, T1: "latest"}


def raising(_partitions: object) -> None:
    raise KeyError("no table")


def answering_a_number(_partitions: object) -> int:
    return 5


def too_few(_partitions: object) -> dict[TopicPartition, int]:
    return {T0: 5}


def too_many(_partitions: object) -> dict[TopicPartition, int]:
    return {T0: 5, T1: 5, TopicPartition("u", 3): 5}


def malformed(_partitions: object) -> dict[TopicPartition, str]:
    return {T0: "first", T1: "first"}


def test_each_partition_begins_where_the_function_says() -> None:
    rules = positions_by_function(f"{HERE}:halfway", [T1, T0])
    assert (rules.of(T0), rules.of(T1)) == (Exact(Offset(12)), Latest())


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("raising", "failed: KeyError: 'no table'"),
        ("answering_a_number", "must return a mapping from TopicPartition .* not 5"),
        ("too_few", "returned no offset for t-1"),
        ("too_many", "returned an offset for u-3, which the query does not read"),
        ("malformed", "startingOffsetsFunction is earliest, latest.*'first'"),
        ("absent", "cannot be imported"),
        ("T0", "cannot be called"),
    ],
)
def test_a_mistake_is_one_sentence(function: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        positions_by_function(f"{HERE}:{function}", [T0, T1])
