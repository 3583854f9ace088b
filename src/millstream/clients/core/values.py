"""Values that clients take and give back: plain, without behaviour."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar, final

from millstream.model import TopicPartition
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault  # PEP 696; in typing from 3.13 on

    Key = TypeVarWithDefault("Key", default=bytes)
    Value = TypeVarWithDefault("Value", default=bytes)
else:
    Key = TypeVar("Key")
    Value = TypeVar("Value")
NewKey = TypeVar("NewKey")
NewValue = TypeVar("NewValue")

Headers = list[tuple[str, bytes | None]]


class RecordMetadata(NamedTuple):
    """The place of a record in the log.

    `offset` is -1 with acks=0, and for a retried batch whose offset the broker forgot.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition of the record."""
        return TopicPartition(self.topic, self.partition)


class TimestampType(IntEnum):
    """The origin of a record's timestamp: its producer, or the broker that appended it."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


if TYPE_CHECKING:

    @final
    class ConsumerRecord(Generic[Key, Value]):
        """One record as poll() returns it. Not to be changed; made by the leaf `consumer_record`."""

        __match_args__: ClassVar[tuple[str, ...]]

        @property
        def topic(self) -> str: ...
        @property
        def partition(self) -> int: ...
        @property
        def offset(self) -> int: ...
        @property
        def timestamp_ms(self) -> int: ...
        @property
        def key(self) -> Key | None: ...
        @property
        def value(self) -> Value | None: ...
        @property
        def headers(self) -> tuple[tuple[str, bytes | None], ...]: ...
        @property
        def timestamp_type(self) -> TimestampType: ...
        @property
        def leader_epoch(self) -> int:
            """-1 where the broker did not say."""

        @property
        def delivery_count(self) -> int | None:
            """The number of times that a share consumer was given the record, this time included;
            None for other consumers.
            """

        def __init__(
            self,
            topic: str,
            partition: int,
            offset: int,
            timestamp_ms: int,
            *,
            key: Key | None = None,
            value: Value | None = None,
            headers: tuple[tuple[str, bytes | None], ...] = (),
            timestamp_type: TimestampType = TimestampType.CREATE_TIME,
            leader_epoch: int = -1,
            delivery_count: int | None = None,
        ) -> None: ...
        @property
        def topic_partition(self) -> TopicPartition: ...
        def with_data(
            self, key: NewKey | None, value: NewValue | None
        ) -> ConsumerRecord[NewKey, NewValue]:
            """The same record with another key and value: what deserializers make of it."""

        def with_delivery_count(self, delivery_count: int) -> ConsumerRecord[Key, Value]: ...

else:
    ConsumerRecord = load_leaf("millstream.clients.consumer.core.consumer_record").ConsumerRecord


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
    """The one that commits: a member of a generation, or a client without one (-1, "")."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
