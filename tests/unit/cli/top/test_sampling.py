"""A look at a cluster of which parts do not answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import pytest

from millstream.cli.top.rates import Sample
from millstream.cli.top.sampling import sample
from millstream.clients import OffsetAndTimestamp
from millstream.clients.admin import PartitionDescription, Results, TopicDescription
from millstream.clients.blocking import Admin
from millstream.errors import (
    KafkaError,
    RequestTimedOut,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from millstream.model import ZERO_UUID, TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
LATE, DENIED = RequestTimedOut("late"), TopicAuthorizationFailed("denied")


class ClusterInMemory:
    """One topic of three partitions, of which the last has no leader; `errors` by name and by partition."""

    def __init__(self, errors: Mapping[object, KafkaError]) -> None:
        self._errors = errors

    def list_topics(self) -> list[str]:
        return ["t", "u"]

    def list_groups(self) -> list[object]:
        return []

    def describe_groups(self, _: object) -> Results[str, object]:
        return Results({})

    def describe_topics(self, names: Iterable[str]) -> Results[str, TopicDescription]:
        partitions = [PartitionDescription(n, (1, 1, -1)[n], 0, (1,), (1,)) for n in range(3)]
        return Results(
            {
                name: self._errors.get(name) or TopicDescription(name, ZERO_UUID, False, partitions)
                for name in names
            }
        )

    def list_offsets(
        self, wanted: Mapping[TopicPartition, object]
    ) -> Results[TopicPartition, OffsetAndTimestamp]:
        return Results({key: self._errors.get(key) or OffsetAndTimestamp(7, -1) for key in wanted})


def looked(errors: Mapping[object, KafkaError]) -> Sample:
    return sample(cast("Admin", ClusterInMemory(errors)), 0, None, None)


def test_what_does_not_answer_is_named_and_what_is_deleted_is_not() -> None:
    found = looked({T0: LATE, "u": UnknownTopicOrPartition("gone")})
    assert found.silent == {"t-0": LATE}
    assert found.ends == {T1: 7}
    assert found.partitions == {"t": 3}


def test_no_topic_at_all_is_an_error() -> None:
    with pytest.raises(TopicAuthorizationFailed):
        looked({"t": DENIED, "u": DENIED})


def test_a_cluster_whose_topics_are_deleted_meanwhile_is_empty() -> None:
    gone = UnknownTopicOrPartition("gone")
    found = looked({"t": gone, "u": gone})
    assert (found.silent, found.partitions) == ({}, {})
