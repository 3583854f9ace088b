"""What clients take and give back: plain values, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from millstream.model import TopicPartition

Headers = list[tuple[str, bytes | None]]


class RecordMetadata(NamedTuple):
    """Where a record went. `offset` is -1 with acks=0, and for a retried batch whose offset the broker forgot."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(slots=True)
class ConsumerRecord:
    """One record as poll() returns it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class OffsetAndMetadata(NamedTuple):
    """A committed position: the next offset to read, and a note of the application's own."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    offset: int
    timestamp_ms: int
    leader_epoch: int = -1


class ConsumerGroupMetadata(NamedTuple):
    """Who commits: a member of a generation, or nobody in particular (-1, "")."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
