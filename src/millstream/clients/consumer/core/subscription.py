"""The partitions that a consumer reads, chosen by the caller or by a group."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from itertools import count

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.consumer.core.partition_state import PartitionState
from millstream.clients.core.illegal_state import IllegalState
from millstream.model import ZERO_UUID, TopicPartition, Uuid

__all__ = ["SubscriptionState", "SubscriptionType"]


class SubscriptionType(Enum):
    NONE = "none"
    ASSIGNED = "assigned"
    TOPICS = "topics"
    PATTERN = "pattern"
    """Matched here, against the names of all topics."""
    REGEX = "regex"
    """Matched by the coordinator (KIP-848)."""


class SubscriptionState:
    def __init__(self) -> None:
        self.type = SubscriptionType.NONE
        self.topics: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self.regex: str | None = None
        self.partitions: dict[TopicPartition, PartitionState] = {}
        self._generations = count()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Takes the partitions that the caller chooses. Positions of those that stay are kept."""
        if self.is_subscribed:
            raise IllegalState("the consumer has subscribed; call unsubscribe() before assign()")
        self.type = SubscriptionType.ASSIGNED
        self.set_partitions(partitions)

    def subscribe(self, topics: Iterable[str]) -> None:
        self._subscribe(SubscriptionType.TOPICS)
        self.topics = frozenset(topics)

    def subscribe_pattern(self, pattern: re.Pattern[str]) -> None:
        self._subscribe(SubscriptionType.PATTERN)
        self.pattern = pattern

    def subscribe_regex(self, regex: str) -> None:
        """Subscribes to an expression that the coordinator matches; which topics those are
        shows in the assignment only.
        """
        self._subscribe(SubscriptionType.REGEX)
        self.regex = regex

    def match_pattern(self, topics: Iterable[str]) -> bool:
        """Takes the topics of the cluster that the pattern matches. Returns whether they have changed."""
        assert self.pattern is not None, "only a pattern subscription is matched"
        matching = frozenset(topic for topic in topics if self.pattern.fullmatch(topic))
        changed = matching != self.topics
        self.topics = matching
        return changed

    def includes(self, topic: str) -> bool:
        """Whether partitions of the topic may be assigned; a pattern may match more than we know of so far."""
        if self.pattern is not None:
            return self.pattern.fullmatch(topic) is not None
        return topic in self.topics

    def unsubscribe(self) -> None:
        self.type = SubscriptionType.NONE
        self.topics = frozenset()
        self.pattern = None
        self.regex = None
        self.partitions = {}

    def set_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        self.partitions = {
            tp: self.partitions.get(tp) or PartitionState(tp, generations=self._generations)
            for tp in dict.fromkeys(partitions)
        }

    @property
    def is_subscribed(self) -> bool:
        return self.type not in (SubscriptionType.NONE, SubscriptionType.ASSIGNED)

    def state(self, topic_partition: TopicPartition) -> PartitionState:
        state = self.partitions.get(topic_partition)
        if state is None:
            raise IllegalState(f"{topic_partition} is not assigned to this consumer")
        return state

    def topic_ids(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Uuid]:
        """Returns the ids of the topics that the positions in these partitions belong to, as far as they are known."""
        states = ((tp, self.partitions.get(tp)) for tp in partitions)
        return {
            tp: state.topic_id
            for tp, state in states
            if state is not None and state.topic_id != ZERO_UUID
        }

    def _subscribe(self, type_: SubscriptionType) -> None:
        """Has a new subscription take the place of the old one. Partitions stay until the group decides."""
        if self.type is SubscriptionType.ASSIGNED:
            raise IllegalState(
                "partitions are assigned by hand; call unsubscribe() before subscribe()"
            )
        self.type = type_
        self.topics = frozenset()
        self.pattern = None
        self.regex = None


def match_topics(
    subscription: SubscriptionState, snapshot: ClusterMetadata, *, exclude_internal: bool
) -> bool:
    """Take what a pattern matches now. True when that is not what it was; never for other subscriptions."""
    if subscription.type is not SubscriptionType.PATTERN:
        return False
    return subscription.match_pattern(
        topic.name
        for topic in snapshot.topics.values()
        if not (exclude_internal and topic.is_internal)
    )
