"""DescribeTopicPartitions, API key 75, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/describe_topic_partitions.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_integers, write_length, write_string

_S_INT16: Final = Struct(">h")
_S_INT16_3INT32: Final = Struct(">hiii")
_S_INT16_3INT32_BYTE: Final = Struct(">hiiiB")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT8: Final = Struct(">ib")
_S_INT8: Final = Struct(">b")
_S_UUID_BOOL: Final = Struct(">16s?")
_S_UUID_BOOL_BYTE: Final = Struct(">16s?B")
_new: Final = object.__new__


@dataclass(slots=True)
class TopicRequest:
    name: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(frozen=True, slots=True)
class Cursor:
    topic_name: str = ""
    partition_index: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_CURSOR: Final = Cursor()


@dataclass(slots=True)
class DescribeTopicPartitionsRequest:
    topics: list[TopicRequest] = field(default_factory=list)
    response_partition_limit: int = 2000
    cursor: Cursor | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 75
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.topics))
            _write_topic_request(out, item.topics, version)
            out += _S_INT32.pack(item.response_partition_limit)
            if item.cursor is None:
                out.append(255)
            else:
                out.append(1)
                _write_cursor(out, (item.cursor,), version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 2 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_topic_request(data, at, version, n)
            item.response_partition_limit, n = _S_INT32_INT8.unpack_from(data, at)
            at += 5
            if n < 0:
                item.cursor = None
            else:
                (item.cursor,), at = _read_cursor(data, at, version, 1)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class DescribeTopicPartitionsResponsePartition:
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = field(default_factory=list)
    isr_nodes: list[int] = field(default_factory=list)
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None
    offline_replicas: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeTopicPartitionsResponseTopic:
    error_code: int = 0
    name: str | None = ""
    topic_id: Uuid = ZERO_UUID
    is_internal: bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(default_factory=list)
    topic_authorized_operations: int = -2147483648
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeTopicPartitionsResponse:
    throttle_time_ms: int = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = field(default_factory=list)
    next_cursor: Cursor | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 75
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            write_length(out, len(item.topics))
            _write_describe_topic_partitions_response_topic(out, item.topics, version)
            if item.next_cursor is None:
                out.append(255)
            else:
                out.append(1)
                _write_cursor(out, (item.next_cursor,), version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 26 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_describe_topic_partitions_response_topic(data, at, version, n)
            (n,) = _S_INT8.unpack_from(data, at)
            at += 1
            if n < 0:
                item.next_cursor = None
            else:
                (item.next_cursor,), at = _read_cursor(data, at, version, 1)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_topic_request(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicRequest], int]:
    items: list[TopicRequest] = []
    for _ in range(count):
        item = _new(TopicRequest)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_request(out: bytearray, items: Iterable[TopicRequest], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_cursor(data: bytes, at: int, version: int, count: int) -> tuple[list[Cursor], int]:
    items: list[Cursor] = []
    for _ in range(count):
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        topic_name = data[at - n : at].decode("utf-8", LENIENT)
        partition_index, tags = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(Cursor(topic_name, partition_index, unknown))
    return items, at


def _write_cursor(out: bytearray, items: Iterable[Cursor], version: int) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        out += _S_INT32.pack(item.partition_index)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_topic_partitions_response_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeTopicPartitionsResponsePartition], int]:
    items: list[DescribeTopicPartitionsResponsePartition] = []
    for _ in range(count):
        item = _new(DescribeTopicPartitionsResponsePartition)
        item.error_code, item.partition_index, item.leader_id, item.leader_epoch, n = _S_INT16_3INT32_BYTE.unpack_from(data, at)
        at += 15
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.replica_nodes, at = read_integers(data, at, n, "i", 4)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.isr_nodes, at = read_integers(data, at, n, "i", 4)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.eligible_leader_replicas = None
        else:
            item.eligible_leader_replicas, at = read_integers(data, at, n, "i", 4)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.last_known_elr = None
        else:
            item.last_known_elr, at = read_integers(data, at, n, "i", 4)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.offline_replicas, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_topic_partitions_response_partition(out: bytearray, items: Iterable[DescribeTopicPartitionsResponsePartition], version: int) -> None:
    for item in items:
        out += _S_INT16_3INT32.pack(item.error_code, item.partition_index, item.leader_id, item.leader_epoch)
        write_length(out, len(item.replica_nodes))
        write_integers(out, item.replica_nodes, "i")
        write_length(out, len(item.isr_nodes))
        write_integers(out, item.isr_nodes, "i")
        if item.eligible_leader_replicas is None:
            out.append(0)
        else:
            write_length(out, len(item.eligible_leader_replicas))
            write_integers(out, item.eligible_leader_replicas, "i")
        if item.last_known_elr is None:
            out.append(0)
        else:
            write_length(out, len(item.last_known_elr))
            write_integers(out, item.last_known_elr, "i")
        write_length(out, len(item.offline_replicas))
        write_integers(out, item.offline_replicas, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_topic_partitions_response_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeTopicPartitionsResponseTopic], int]:
    limit = len(data)
    items: list[DescribeTopicPartitionsResponseTopic] = []
    for _ in range(count):
        item = _new(DescribeTopicPartitionsResponseTopic)
        item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
        at += 3
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.name = None
        else:
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
        item.topic_id, item.is_internal, n = _S_UUID_BOOL_BYTE.unpack_from(data, at)
        at += 18
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 20 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_describe_topic_partitions_response_partition(data, at, version, n)
        item.topic_authorized_operations, tags = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_topic_partitions_response_topic(out: bytearray, items: Iterable[DescribeTopicPartitionsResponseTopic], version: int) -> None:
    for item in items:
        out += _S_INT16.pack(item.error_code)
        if item.name is None:
            out.append(0)
        else:
            write_compact_string(out, item.name)
        out += _S_UUID_BOOL.pack(item.topic_id, item.is_internal)
        write_length(out, len(item.partitions))
        _write_describe_topic_partitions_response_partition(out, item.partitions, version)
        out += _S_INT32.pack(item.topic_authorized_operations)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

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
