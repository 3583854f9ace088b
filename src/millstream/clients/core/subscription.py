"""Which partitions a consumer reads, where it stands in each, and what it has fetched ahead.

Two positions per partition: `position` is the next offset poll() will return, `fetch_offset` the next one to ask a
broker for. What lies between is in `chunks`. A seek starts a new `generation`, so that answers to older fetches are
recognised and dropped.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from millstream.clients.core.fetched import DecodedBatch, FetchedChunk
from millstream.errors import KafkaError, MillstreamError
from millstream.model import NO_LEADER_EPOCH, TopicPartition

EARLIEST_TIMESTAMP = -2
LATEST_TIMESTAMP = -1


class IllegalState(MillstreamError):
    """A call that does not fit what the consumer was told before; the message says which call would."""


class SubscriptionType(Enum):
    NONE = "none"
    ASSIGNED = "assigned"
    TOPICS = "topics"
    PATTERN = "pattern"
    """Matched here, against the names of all topics."""
    REGEX = "regex"
    """Matched by the coordinator (KIP-848)."""


@dataclass(slots=True, eq=False)
class PartitionState:
    topic_partition: TopicPartition
    position: int | None = None
    leader_epoch: int = NO_LEADER_EPOCH
    """Of the last record returned; goes into commits."""
    fetch_offset: int | None = None
    reset_timestamp: int | None = None
    """Ask ListOffsets for this timestamp (-1 latest, -2 earliest) to get a position."""
    committed_wanted: bool = False
    """Ask the group for a position before anything else."""
    paused: bool = False
    generation: int = 0
    is_fetching: bool = False
    chunks: deque[FetchedChunk] = field(default_factory=deque)
    decoded: DecodedBatch | None = None
    decoded_index: int = 0
    buffered_bytes: int = 0
    last_turn: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    error: KafkaError | None = None
    """To be raised by the next poll()."""

    def seek(self, offset: int, leader_epoch: int = NO_LEADER_EPOCH) -> None:
        self.forget_fetched()
        self.position = self.fetch_offset = offset
        self.leader_epoch = leader_epoch

    def seek_to_timestamp(self, timestamp: int) -> None:
        self.forget_fetched()
        self.position = self.fetch_offset = None
        self.reset_timestamp = timestamp

    def forget_fetched(self) -> None:
        self.generation += 1
        self.is_fetching = False
        self.chunks.clear()
        self.decoded = None
        self.decoded_index = 0
        self.buffered_bytes = 0
        self.reset_timestamp = None
        self.committed_wanted = False
        self.error = None

    @property
    def needs_position(self) -> bool:
        return self.position is None

    @property
    def has_fetched(self) -> bool:
        decoded = self.decoded
        return bool(self.chunks) or (decoded is not None and self.decoded_index < decoded.count)


class SubscriptionState:
    def __init__(self) -> None:
        self.type = SubscriptionType.NONE
        self.topics: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self.regex: str | None = None
        self.partitions: dict[TopicPartition, PartitionState] = {}

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """The caller chooses. Positions of partitions that stay are kept."""
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
        """For the coordinator to match; which topics those are shows in the assignment only."""
        self._subscribe(SubscriptionType.REGEX)
        self.regex = regex

    def match_pattern(self, topics: Iterable[str]) -> bool:
        """Take the topics of the cluster that the pattern matches; True when they changed."""
        assert self.pattern is not None, "only a pattern subscription is matched"
        matching = frozenset(topic for topic in topics if self.pattern.fullmatch(topic))
        changed = matching != self.topics
        self.topics = matching
        return changed

    def unsubscribe(self) -> None:
        self.type = SubscriptionType.NONE
        self.topics = frozenset()
        self.pattern = None
        self.regex = None
        self.partitions = {}

    def set_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        self.partitions = {
            tp: self.partitions.get(tp) or PartitionState(tp) for tp in dict.fromkeys(partitions)
        }

    @property
    def is_subscribed(self) -> bool:
        return self.type not in (SubscriptionType.NONE, SubscriptionType.ASSIGNED)

    def state(self, topic_partition: TopicPartition) -> PartitionState:
        state = self.partitions.get(topic_partition)
        if state is None:
            raise IllegalState(f"{topic_partition} is not assigned to this consumer")
        return state

    def _subscribe(self, type_: SubscriptionType) -> None:
        """The new subscription takes the place of the old one; partitions stay until the group decides."""
        if self.type is SubscriptionType.ASSIGNED:
            raise IllegalState(
                "partitions are assigned by hand; call unsubscribe() before subscribe()"
            )
        self.type = type_
        self.topics = frozenset()
        self.pattern = None
        self.regex = None
