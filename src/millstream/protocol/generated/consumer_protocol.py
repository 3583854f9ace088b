"""consumer messages: ConsumerProtocolAssignment to ConsumerProtocolSubscription.

Written by `make codegen` from codegen/schemas/consumer_protocol.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_integers,
    read_strings,
)
from millstream.protocol.tagged_fields import TaggedField
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    tags_refused,
    write_int32s,
    write_strings,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_INT16: Final = Struct(">ih")
_new: Final = object.__new__


class ConsumerProtocolAssignmentTopicPartition(MessageValue):
    """In `ConsumerProtocolAssignment.assigned_partitions`, versions 0-3."""

    __slots__ = ("topic", "partitions", "unknown_tagged_fields")

    topic: str
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerProtocolAssignment(MessageValue):
    """Consumer, versions 0-3."""

    __slots__ = ("assigned_partitions", "user_data", "unknown_tagged_fields")

    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition]
    user_data: bytes | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = UNSET,
        user_data: bytes | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.assigned_partitions = [] if assigned_partitions is UNSET else assigned_partitions
        self.user_data = user_data
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            n = len(self.assigned_partitions) + 1
            out += _INT32.pack(n - 1)
            _write_consumer_protocol_assignment_topic_partition(out, self.assigned_partitions, version)
            if self.user_data is None:
                n = 0
            else:
                n = len(self.user_data) + 1
            out += _INT32.pack(n - 1)
            if self.user_data is not None:
                out += self.user_data
            if self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 3:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.assigned_partitions, at = _read_consumer_protocol_assignment_topic_partition(data, at, version, n)
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            if n < 0:
                message.user_data = None
            else:
                message.user_data = data[at : at + n]
                at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ConsumerProtocolSubscriptionTopicPartition(MessageValue):
    """In `ConsumerProtocolSubscription.owned_partitions`, versions 1-3."""

    __slots__ = ("topic", "partitions", "unknown_tagged_fields")

    topic: str
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerProtocolSubscription(MessageValue):
    """Consumer, versions 0-3."""

    __slots__ = (
        "topics",
        "user_data",
        "owned_partitions",
        "generation_id",
        "rack_id",
        "unknown_tagged_fields",
    )

    topics: list[str]
    user_data: bytes | None
    owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition]  # 1+
    generation_id: int  # 2+
    rack_id: str | None  # 3
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[str] = UNSET,
        user_data: bytes | None = None,
        owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = UNSET,
        generation_id: int = -1,
        rack_id: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is UNSET else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            out += _INT32.pack(n - 1)
            write_strings(out, self.topics)
            if self.user_data is None:
                n = 0
            else:
                n = len(self.user_data) + 1
            out += _INT32.pack(n - 1)
            if self.user_data is not None:
                out += self.user_data
            if version >= 1:
                n = len(self.owned_partitions) + 1
            if version >= 1:
                out += _INT32.pack(n - 1)
            if version >= 1:
                _write_consumer_protocol_subscription_topic_partition(out, self.owned_partitions, version)
            if version >= 3:
                if self.rack_id is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.rack_id.encode()
                    n = len(raw) + 1
            if version >= 3:
                out += _INT32_INT16.pack(self.generation_id, n - 1)
            elif version >= 2:
                out += _INT32.pack(self.generation_id)
            if version >= 3:
                out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 3:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            message.topics, at = read_strings(data, at, n)
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            if n < 0:
                message.user_data = None
            else:
                message.user_data = data[at : at + n]
                at += n
            if version >= 1:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            else:
                message.owned_partitions = []
            if version >= 1:
                if not 0 <= n * 6 <= limit - at:
                    raise count_refused(n, limit - at)
                message.owned_partitions, at = _read_consumer_protocol_subscription_topic_partition(data, at, version, n)
            if version >= 3:
                message.generation_id, n = _INT32_INT16.unpack_from(data, at)
                at += 6
                if n < 0:
                    message.rack_id = None
                else:
                    message.rack_id = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            elif version >= 2:
                (message.generation_id,) = _INT32.unpack_from(data, at)
                at += 4
                message.rack_id = None
            else:
                message.generation_id = -1
                message.rack_id = None
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_consumer_protocol_assignment_topic_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ConsumerProtocolAssignmentTopicPartition], int]:
    items: list[ConsumerProtocolAssignmentTopicPartition] = []
    for _ in range(count):
        item = _new(ConsumerProtocolAssignmentTopicPartition)
        (n,) = _INT16.unpack_from(data, at)
        at += 2
        if n < 0:
            raise null_refused()
        item.topic = data[at : at + n].decode("utf-8", LENIENT)
        at += n
        (n,) = _INT32.unpack_from(data, at)
        at += 4
        item.partitions, at = read_integers(data, at, n, "i", 4)
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_consumer_protocol_assignment_topic_partition(
    out: bytearray, items: Iterable[ConsumerProtocolAssignmentTopicPartition], version: int
) -> None:
    for item in items:
        raw = item.topic.encode()
        n = len(raw) + 1
        out += _INT16.pack(n - 1)
        out += raw
        write_int32s(out, item.partitions)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_consumer_protocol_subscription_topic_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ConsumerProtocolSubscriptionTopicPartition], int]:
    items: list[ConsumerProtocolSubscriptionTopicPartition] = []
    for _ in range(count):
        item = _new(ConsumerProtocolSubscriptionTopicPartition)
        (n,) = _INT16.unpack_from(data, at)
        at += 2
        if n < 0:
            raise null_refused()
        item.topic = data[at : at + n].decode("utf-8", LENIENT)
        at += n
        (n,) = _INT32.unpack_from(data, at)
        at += 4
        item.partitions, at = read_integers(data, at, n, "i", 4)
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_consumer_protocol_subscription_topic_partition(
    out: bytearray, items: Iterable[ConsumerProtocolSubscriptionTopicPartition], version: int
) -> None:
    for item in items:
        raw = item.topic.encode()
        n = len(raw) + 1
        out += _INT16.pack(n - 1)
        out += raw
        write_int32s(out, item.partitions)
        if item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
consumer ConsumerProtocolAssignment versions=0-3
  assignedPartitions  []TopicPartition
    topic             string
    partitions        []int32
  userData            bytes             nullable default=null

consumer ConsumerProtocolSubscription versions=0-3
  topics           []string
  userData         bytes             nullable default=null
  ownedPartitions  []TopicPartition  1+ ignorable
    topic          string
    partitions     []int32
  generationId     int32             2+ default=-1 ignorable
  rackId           string            3 nullable default=null ignorable
"""
