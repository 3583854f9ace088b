"""DescribeTopicPartitions, API key 75, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/describe_topic_partitions.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    COMPACT_INT32S,
    LENIENT,
    READ_FAILURES,
    count_refused,
    past_end,
    read_compact_int32s,
    read_compact_int32s_or_null,
    read_compact_string,
    read_compact_string_or_null,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    uuid_refused,
    write_compact_int32s,
    write_integers,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_3INT32: Final = Struct(">hiii")
_INT16_3INT32_BYTE: Final = Struct(">hiiiB")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT8: Final = Struct(">ib")
_INT32_ZERO: Final = Struct(">ix")
_INT8: Final = Struct(">b")
_UUID_BOOL: Final = Struct(">16s?")
_UUID_BOOL_BYTE: Final = Struct(">16s?B")
_new: Final = object.__new__


class TopicRequest(MessageValue):
    """In `DescribeTopicPartitionsRequest.topics`, version 0."""

    __slots__ = ("name", "unknown_tagged_fields")

    name: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(self, name: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.name = name
        self.unknown_tagged_fields = unknown_tagged_fields


@dataclass(frozen=True, slots=True)
class Cursor(MessageValue):
    """In `DescribeTopicPartitionsRequest.cursor`, version 0."""

    topic_name: str = ""
    partition_index: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_CURSOR: Final = Cursor()


class DescribeTopicPartitionsRequest(MessageValue):
    """Request of API 75, version 0."""

    __slots__ = ("topics", "response_partition_limit", "cursor", "unknown_tagged_fields")

    topics: list[TopicRequest]
    response_partition_limit: int
    cursor: Cursor | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[TopicRequest] = UNSET,
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 75
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_topic_request(out, self.topics, version)
            n = -1 if self.cursor is None else 1
            out += _INT32_INT8.pack(self.response_partition_limit, n)
            if self.cursor is not None:
                _write_cursor(out, (self.cursor,), version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 2 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_topic_request(data, at, version, n)
            message.response_partition_limit, n = _INT32_INT8.unpack_from(data, at)
            at += 5
            if n < 0:
                message.cursor = None
            else:
                (message.cursor,), at = _read_cursor(data, at, version, 1)
            tags = data[at]
            at += 1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class DescribeTopicPartitionsResponsePartition(MessageValue):
    """In `DescribeTopicPartitionsResponseTopic.partitions`, version 0."""

    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
        "unknown_tagged_fields",
    )

    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None
    offline_replicas: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = UNSET,
        isr_nodes: list[int] = UNSET,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is UNSET else replica_nodes
        self.isr_nodes = [] if isr_nodes is UNSET else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = [] if offline_replicas is UNSET else offline_replicas
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeTopicPartitionsResponseTopic(MessageValue):
    """In `DescribeTopicPartitionsResponse.topics`, version 0."""

    __slots__ = (
        "error_code",
        "name",
        "topic_id",
        "is_internal",
        "partitions",
        "topic_authorized_operations",
        "unknown_tagged_fields",
    )

    error_code: int
    name: str | None
    topic_id: Uuid
    is_internal: bool
    partitions: list[DescribeTopicPartitionsResponsePartition]
    topic_authorized_operations: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: Uuid = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = UNSET,
        topic_authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is UNSET else partitions
        self.topic_authorized_operations = topic_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeTopicPartitionsResponse(MessageValue):
    """Response of API 75, version 0."""

    __slots__ = ("throttle_time_ms", "topics", "next_cursor", "unknown_tagged_fields")

    throttle_time_ms: int
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: Cursor | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = UNSET,
        next_cursor: Cursor | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.next_cursor = next_cursor
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 75
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.throttle_time_ms, n)
            else:
                out += _INT32.pack(self.throttle_time_ms)
                write_uvarint(out, n)
            _write_describe_topic_partitions_response_topic(out, self.topics, version)
            n = -1 if self.next_cursor is None else 1
            out += _INT8.pack(n)
            if self.next_cursor is not None:
                _write_cursor(out, (self.next_cursor,), version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 26 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_describe_topic_partitions_response_topic(data, at, version, n)
            (n,) = _INT8.unpack_from(data, at)
            at += 1
            if n < 0:
                message.next_cursor = None
            else:
                (message.next_cursor,), at = _read_cursor(data, at, version, 1)
            tags = data[at]
            at += 1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_topic_request(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicRequest], int]:
    items: list[TopicRequest] = []
    for _ in range(count):
        item = _new(TopicRequest)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_request(out: bytearray, items: Iterable[TopicRequest], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_cursor(data: bytes, at: int, version: int, count: int) -> tuple[list[Cursor], int]:
    items: list[Cursor] = []
    for _ in range(count):
        n = data[at]
        if 0 < n < 128:
            topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            topic_name, at = read_compact_string(data, at)
        partition_index, tags = _INT32_BYTE.unpack_from(data, at)
        at += 5
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(Cursor(topic_name, partition_index, unknown))
    return items, at


def _write_cursor(out: bytearray, items: Iterable[Cursor], version: int) -> None:
    for item in items:
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _INT32.pack(item.partition_index)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_ZERO.pack(item.partition_index)


def _read_describe_topic_partitions_response_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeTopicPartitionsResponsePartition], int]:
    items: list[DescribeTopicPartitionsResponsePartition] = []
    for _ in range(count):
        item = _new(DescribeTopicPartitionsResponsePartition)
        (
            item.error_code,
            item.partition_index,
            item.leader_id,
            item.leader_epoch,
            n,
        ) = _INT16_3INT32_BYTE.unpack_from(data, at)
        at += 14
        if 0 < n < 17:
            item.replica_nodes = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.replica_nodes, at = read_compact_int32s(data, at)
        n = data[at]
        if 0 < n < 17:
            item.isr_nodes = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.isr_nodes, at = read_compact_int32s(data, at)
        n = data[at]
        if 0 < n < 17:
            item.eligible_leader_replicas = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.eligible_leader_replicas, at = read_compact_int32s_or_null(data, at)
        n = data[at]
        if 0 < n < 17:
            item.last_known_elr = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.last_known_elr, at = read_compact_int32s_or_null(data, at)
        n = data[at]
        if 0 < n < 17:
            item.offline_replicas = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.offline_replicas, at = read_compact_int32s(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_topic_partitions_response_partition(
    out: bytearray, items: Iterable[DescribeTopicPartitionsResponsePartition], version: int
) -> None:
    for item in items:
        out += _INT16_3INT32.pack(
            item.error_code, item.partition_index, item.leader_id, item.leader_epoch
        )
        write_compact_int32s(out, item.replica_nodes)
        write_compact_int32s(out, item.isr_nodes)
        if item.eligible_leader_replicas is None:
            n = 0
        else:
            n = len(item.eligible_leader_replicas) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        if item.eligible_leader_replicas is not None:
            write_integers(out, item.eligible_leader_replicas, "i")
        if item.last_known_elr is None:
            n = 0
        else:
            n = len(item.last_known_elr) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        if item.last_known_elr is not None:
            write_integers(out, item.last_known_elr, "i")
        write_compact_int32s(out, item.offline_replicas)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_topic_partitions_response_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeTopicPartitionsResponseTopic], int]:
    items: list[DescribeTopicPartitionsResponseTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeTopicPartitionsResponseTopic)
        item.error_code, n = _INT16_BYTE.unpack_from(data, at)
        at += 2
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string_or_null(data, at)
        item.topic_id, item.is_internal, n = _UUID_BOOL_BYTE.unpack_from(data, at)
        at += 17
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 20 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_describe_topic_partitions_response_partition(data, at, version, n)
        item.topic_authorized_operations, tags = _INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_topic_partitions_response_topic(
    out: bytearray, items: Iterable[DescribeTopicPartitionsResponseTopic], version: int
) -> None:
    for item in items:
        if item.name is None:
            raw = b""
            n = 0
        else:
            raw = item.name.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT16_BYTE.pack(item.error_code, n)
        else:
            out += _INT16.pack(item.error_code)
            write_string_length(out, n)
        out += raw
        n = len(item.partitions) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BOOL_BYTE.pack(item.topic_id, item.is_internal, n)
        else:
            out += _UUID_BOOL.pack(item.topic_id, item.is_internal)
            write_uvarint(out, n)
        _write_describe_topic_partitions_response_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            out += _INT32.pack(item.topic_authorized_operations)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_ZERO.pack(item.topic_authorized_operations)

SCHEMA: Final = """\
request DescribeTopicPartitionsRequest key=75 versions=0 flexible=0+ listeners=broker
  topics                  []TopicRequest
    name                  string
  responsePartitionLimit  int32           default=2000
  cursor                  Cursor          nullable default=null
    topicName             string
    partitionIndex        int32

response DescribeTopicPartitionsResponse key=75 versions=0 flexible=0+ listeners=broker
  throttleTimeMs               int32
  topics                       []DescribeTopicPartitionsResponseTopic
    errorCode                  int16
    name                       string                                      nullable
    topicId                    uuid
    isInternal                 bool
    partitions                 []DescribeTopicPartitionsResponsePartition
      errorCode                int16
      partitionIndex           int32
      leaderId                 int32
      leaderEpoch              int32                                       default=-1
      replicaNodes             []int32
      isrNodes                 []int32
      eligibleLeaderReplicas   []int32                                     nullable default=null
      lastKnownElr             []int32                                     nullable default=null
      offlineReplicas          []int32
    topicAuthorizedOperations  int32                                       default=-2147483648
  nextCursor                   Cursor                                      nullable default=null
    topicName                  string
    partitionIndex             int32
"""
