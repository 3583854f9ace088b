"""consumer messages: ConsumerProtocolAssignment to ConsumerProtocolSubscription.

Written by `make codegen` from codegen/schemas/consumer_protocol.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_compact_strings, read_integers, read_strings
from millstream.protocol.tagged_fields import TaggedField
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_new: Final = object.__new__


@dataclass(slots=True)
class ConsumerProtocolAssignmentTopicPartition:
    topic: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ConsumerProtocolAssignment:
    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = field(default_factory=list)
    user_data: bytes | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(len(item.assigned_partitions))
            _write_consumer_protocol_assignment_topic_partition(out, item.assigned_partitions, version)
            if item.user_data is None:
                out += b"\xff\xff\xff\xff"
            else:
                out += _S_INT32.pack(len(item.user_data))
                out += item.user_data
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 3:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.assigned_partitions, at = _read_consumer_protocol_assignment_topic_partition(data, at, version, n)
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
            if n < 0:
                item.user_data = None
            else:
                at += n
                item.user_data = data[at - n : at]
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ConsumerProtocolSubscriptionTopicPartition:
    topic: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ConsumerProtocolSubscription:
    topics: list[str] = field(default_factory=list)
    user_data: bytes | None = None
    owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = field(default_factory=list)  # 1+
    generation_id: int = -1  # 2+
    rack_id: str | None = None  # 3
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(len(item.topics))
            for text in item.topics:
                write_string(out, text)
            if item.user_data is None:
                out += b"\xff\xff\xff\xff"
            else:
                out += _S_INT32.pack(len(item.user_data))
                out += item.user_data
            if version >= 1:
                out += _S_INT32.pack(len(item.owned_partitions))
                _write_consumer_protocol_subscription_topic_partition(out, item.owned_partitions, version)
            if version >= 2:
                out += _S_INT32.pack(item.generation_id)
            else:
                pass
            if version >= 3:
                if item.rack_id is None:
                    out += b"\xff\xff"
                else:
                    write_string(out, item.rack_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 3:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
            item.topics, at = read_strings(data, at, n)
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
            if n < 0:
                item.user_data = None
            else:
                at += n
                item.user_data = data[at - n : at]
            if version >= 1:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            else:
                pass
            if version >= 1:
                if not 0 <= n * 6 <= limit - at:
                    raise count_refused(n, limit - at)
                item.owned_partitions, at = _read_consumer_protocol_subscription_topic_partition(data, at, version, n)
            else:
                item.owned_partitions = []
            if version >= 3:
                item.generation_id, n = _S_INT32_INT16.unpack_from(data, at)
                at += 6
            elif version >= 2:
                (item.generation_id,) = _S_INT32.unpack_from(data, at)
                at += 4
            else:
                item.generation_id = -1
            if version >= 3:
                if n < 0:
                    item.rack_id = None
                else:
                    at += n
                    item.rack_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.rack_id = None
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_consumer_protocol_assignment_topic_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[ConsumerProtocolAssignmentTopicPartition], int]:
    items: list[ConsumerProtocolAssignmentTopicPartition] = []
    for _ in range(count):
        item = _new(ConsumerProtocolAssignmentTopicPartition)
        (n,) = _S_INT16.unpack_from(data, at)
        at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.topic = data[at - n : at].decode("utf-8", LENIENT)
        (n,) = _S_INT32.unpack_from(data, at)
        at += 4
        item.partitions, at = read_integers(data, at, n, "i", 4)
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_consumer_protocol_assignment_topic_partition(out: bytearray, items: Iterable[ConsumerProtocolAssignmentTopicPartition], version: int) -> None:
    for item in items:
        write_string(out, item.topic)
        out += _S_INT32.pack(len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_consumer_protocol_subscription_topic_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[ConsumerProtocolSubscriptionTopicPartition], int]:
    items: list[ConsumerProtocolSubscriptionTopicPartition] = []
    for _ in range(count):
        item = _new(ConsumerProtocolSubscriptionTopicPartition)
        (n,) = _S_INT16.unpack_from(data, at)
        at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.topic = data[at - n : at].decode("utf-8", LENIENT)
        (n,) = _S_INT32.unpack_from(data, at)
        at += 4
        item.partitions, at = read_integers(data, at, n, "i", 4)
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_consumer_protocol_subscription_topic_partition(out: bytearray, items: Iterable[ConsumerProtocolSubscriptionTopicPartition], version: int) -> None:
    for item in items:
        write_string(out, item.topic)
        out += _S_INT32.pack(len(item.partitions))
        write_integers(out, item.partitions, "i")
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
