"""The leader of a classic group looks at the topics that patterns match, and tells all members what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from millstream.clients import Admin
from millstream.clients.admin import TopicDescription
from millstream.clients.admin.core.results import Results
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.group.assignors.assignment import MemberSubscription
from millstream.clients.group.core.classic_membership import JoinedMember
from millstream.errors import UnknownTopicOrPartition
from millstream.model import ZERO_UUID, TopicPartition
from millstream.runtime.system import SystemClock
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.application.group.classic.leader import SharedOut, TaskLeader
from millstream.streams.application.group.classic.source_topics import SourceTopics
from millstream.streams.application.group.classic.user_data import (
    AssignmentError,
    SubscriptionInfo,
)
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import string


@dataclass
class Broker:
    """Stands for the admin client: `topics` has the numbers of partitions, `listed` the topics that another broker knows."""

    topics: Mapping[str, int]
    listed: frozenset[str] = frozenset()

    async def list_topics(self) -> dict[str, None]:
        return dict.fromkeys(self.listed or self.topics)

    async def describe_topics(self, names: Iterable[str]) -> Results[str, TopicDescription]:
        return Results(
            {
                name: self._described(name)
                if name in self.topics
                else UnknownTopicOrPartition(f"no topic {name}")
                for name in names
            }
        )

    def _described(self, name: str) -> TopicDescription:
        partitions = [
            PartitionDescription(number, 1, 0, (1,), (1,)) for number in range(self.topics[name])
        ]
        return TopicDescription(name, ZERO_UUID, False, partitions)


async def share_out(broker: Broker, *patterns: str, subscribed: Iterable[str] = ()) -> SharedOut:
    """As the only member of an application that reads `words`, and what patterns match."""
    builder = StreamsBuilder()
    builder.stream("words", key=string(), value=string()).to("out")
    for pattern in patterns:
        builder.stream(pattern=pattern, key=string(), value=string()).to("out")
    topology, config = builder.build(), StreamsConfig("app", group_protocol="classic")
    sources = SourceTopics(topology, "app")
    leader = TaskLeader(topology, sources, config, cast("Admin", broker), SystemClock())
    topics = frozenset(subscribed)
    info = SubscriptionInfo(UUID(int=1))
    member = JoinedMember("m", MemberSubscription(topics, user_data=info.encode()))
    return await leader.share_out([member], topics)


def assigned(shared: SharedOut) -> list[TopicPartition]:
    return shared.assignments["m"].partitions


async def test_tasks_read_the_topics_that_match() -> None:
    shared = await share_out(Broker({"words": 1, "in-1": 2, "in-2": 1, "other": 9}), "in-.*")
    assert shared.error is None
    assert shared.partitions == {"words": 1, "in-1": 2, "in-2": 1}
    assert assigned(shared) == [
        *(TopicPartition("in-1", 0), TopicPartition("in-1", 1)),
        *(TopicPartition("in-2", 0), TopicPartition("words", 0)),
    ]


async def test_a_topic_that_only_members_know_of_is_looked_at() -> None:
    """Another broker has told them."""
    broker = Broker({"words": 1, "in-1": 1}, frozenset({"words"}))
    shared = await share_out(broker, "in-.*", subscribed=["in-1", "in-2"])
    assert assigned(shared) == [TopicPartition("in-1", 0), TopicPartition("words", 0)]


async def test_a_name_that_is_missing_is_said_to_be_missing() -> None:
    shared = await share_out(Broker({"in-1": 1}), "in-.*")
    assert isinstance(shared.error, TopologyError)
    assert "source topic words does not exist" in str(shared.error)
    code = shared.assignments["m"].info.error
    assert code == AssignmentError.INCOMPLETE_SOURCE_TOPIC_METADATA


async def test_a_topic_of_two_patterns_is_told_as_another_error() -> None:
    shared = await share_out(Broker({"words": 1, "in-1": 1}), "in-.*", ".*-1")
    assert "narrow one of them" in str(shared.error)
    assert shared.assignments["m"].info.error == AssignmentError.ASSIGNMENT_ERROR


async def test_patterns_that_match_nothing_have_no_tasks() -> None:
    shared = await share_out(Broker({"words": 1}), "in-.*")
    assert assigned(shared) == [TopicPartition("words", 0)]
