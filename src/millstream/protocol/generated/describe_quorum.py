"""DescribeQuorum, API key 55, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/describe_quorum.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_compact_string, write_length, write_string

_S_2INT32_INT64: Final = Struct(">iiq")
_S_2INT32_INT64_BYTE: Final = Struct(">iiqB")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_3INT64: Final = Struct(">iqqq")
_S_INT32_3INT64_BYTE: Final = Struct(">iqqqB")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_BYTE: Final = Struct(">iqB")
_S_INT32_UUID_3INT64: Final = Struct(">i16sqqq")
_S_INT32_UUID_3INT64_BYTE: Final = Struct(">i16sqqqB")
_S_UINT16: Final = Struct(">H")
_S_UINT16_BYTE: Final = Struct(">HB")
_new: Final = object.__new__


@dataclass(slots=True)
class DescribeQuorumRequestPartitionData:
    partition_index: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeQuorumRequestTopicData:
    topic_name: str = ""
    partitions: list[DescribeQuorumRequestPartitionData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeQuorumRequest:
    topics: list[DescribeQuorumRequestTopicData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 55
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.topics))
            _write_describe_quorum_request_topic_data(out, item.topics, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_describe_quorum_request_topic_data(data, at, version, n)
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
class ReplicaState:
    replica_id: int = 0
    replica_directory_id: Uuid = ZERO_UUID  # 2
    log_end_offset: int = 0
    last_fetch_timestamp: int = -1  # 1+
    last_caught_up_timestamp: int = -1  # 1+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeQuorumResponsePartitionData:
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""  # 2
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: list[ReplicaState] = field(default_factory=list)
    observers: list[ReplicaState] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeQuorumResponseTopicData:
    topic_name: str = ""
    partitions: list[DescribeQuorumResponsePartitionData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Listener:
    name: str = ""
    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Node:
    node_id: int = 0
    listeners: list[Listener] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeQuorumResponse:
    error_code: int = 0
    error_message: str | None = ""  # 2
    topics: list[DescribeQuorumResponseTopicData] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)  # 2
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 55
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16.pack(item.error_code)
            if version >= 2:
                if item.error_message is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.error_message)
            write_length(out, len(item.topics))
            _write_describe_quorum_response_topic_data(out, item.topics, version)
            if version >= 2:
                write_length(out, len(item.nodes))
                _write_node(out, item.nodes, version)
            elif item.nodes:
                raise not_in_version("nodes", version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
                at += 3
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                (item.error_code,) = _S_INT16.unpack_from(data, at)
                at += 2
            if version >= 2:
                if n < 0:
                    item.error_message = None
                else:
                    at += n
                    item.error_message = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.error_message = ""
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_describe_quorum_response_topic_data(data, at, version, n)
            if version >= 2:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 2:
                if not 0 <= n * 6 <= limit - at:
                    raise count_refused(n, limit - at)
                item.nodes, at = _read_node(data, at, version, n)
            else:
                item.nodes = []
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


def _read_describe_quorum_request_partition_data(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeQuorumRequestPartitionData], int]:
    items: list[DescribeQuorumRequestPartitionData] = []
    for _ in range(count):
        item = _new(DescribeQuorumRequestPartitionData)
        item.partition_index, tags = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_quorum_request_partition_data(out: bytearray, items: Iterable[DescribeQuorumRequestPartitionData], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.partition_index)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_quorum_request_topic_data(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeQuorumRequestTopicData], int]:
    limit = len(data)
    items: list[DescribeQuorumRequestTopicData] = []
    for _ in range(count):
        item = _new(DescribeQuorumRequestTopicData)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.topic_name = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 5 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_describe_quorum_request_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_quorum_request_topic_data(out: bytearray, items: Iterable[DescribeQuorumRequestTopicData], version: int) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_length(out, len(item.partitions))
        _write_describe_quorum_request_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_replica_state(data: bytes, at: int, version: int, count: int) -> tuple[list[ReplicaState], int]:
    items: list[ReplicaState] = []
    for _ in range(count):
        item = _new(ReplicaState)
        if version >= 2:
            item.replica_id, item.replica_directory_id, item.log_end_offset, item.last_fetch_timestamp, item.last_caught_up_timestamp, tags = _S_INT32_UUID_3INT64_BYTE.unpack_from(data, at)
            at += 45
        elif version >= 1:
            item.replica_id, item.log_end_offset, item.last_fetch_timestamp, item.last_caught_up_timestamp, tags = _S_INT32_3INT64_BYTE.unpack_from(data, at)
            at += 29
            item.replica_directory_id = ZERO_UUID
        else:
            item.replica_id, item.log_end_offset, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            item.replica_directory_id = ZERO_UUID
            item.last_fetch_timestamp = -1
            item.last_caught_up_timestamp = -1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_replica_state(out: bytearray, items: Iterable[ReplicaState], version: int) -> None:
    for item in items:
        if version >= 2:
            out += _S_INT32_UUID_3INT64.pack(item.replica_id, item.replica_directory_id, item.log_end_offset, item.last_fetch_timestamp, item.last_caught_up_timestamp)
        elif version >= 1:
            out += _S_INT32_3INT64.pack(item.replica_id, item.log_end_offset, item.last_fetch_timestamp, item.last_caught_up_timestamp)
            if item.replica_directory_id != ZERO_UUID:
                raise not_in_version("replica_directory_id", version)
        else:
            out += _S_INT32_INT64.pack(item.replica_id, item.log_end_offset)
            if item.replica_directory_id != ZERO_UUID:
                raise not_in_version("replica_directory_id", version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_quorum_response_partition_data(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeQuorumResponsePartitionData], int]:
    limit = len(data)
    items: list[DescribeQuorumResponsePartitionData] = []
    for _ in range(count):
        item = _new(DescribeQuorumResponsePartitionData)
        if version >= 2:
            item.partition_index, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.partition_index, item.error_code = _S_INT32_INT16.unpack_from(data, at)
            at += 6
        if version >= 2:
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.error_message = ""
        item.leader_id, item.leader_epoch, item.high_watermark, n = _S_2INT32_INT64_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 13 <= limit - at:
            raise count_refused(n, limit - at)
        item.current_voters, at = _read_replica_state(data, at, version, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 13 <= limit - at:
            raise count_refused(n, limit - at)
        item.observers, at = _read_replica_state(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_quorum_response_partition_data(out: bytearray, items: Iterable[DescribeQuorumResponsePartitionData], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16.pack(item.partition_index, item.error_code)
        if version >= 2:
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
        out += _S_2INT32_INT64.pack(item.leader_id, item.leader_epoch, item.high_watermark)
        write_length(out, len(item.current_voters))
        _write_replica_state(out, item.current_voters, version)
        write_length(out, len(item.observers))
        _write_replica_state(out, item.observers, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_quorum_response_topic_data(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeQuorumResponseTopicData], int]:
    limit = len(data)
    items: list[DescribeQuorumResponseTopicData] = []
    for _ in range(count):
        item = _new(DescribeQuorumResponseTopicData)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.topic_name = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 25 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_describe_quorum_response_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_quorum_response_topic_data(out: bytearray, items: Iterable[DescribeQuorumResponseTopicData], version: int) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_length(out, len(item.partitions))
        _write_describe_quorum_response_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_listener(data: bytes, at: int, version: int, count: int) -> tuple[list[Listener], int]:
    items: list[Listener] = []
    for _ in range(count):
        item = _new(Listener)
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
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.host = data[at - n : at].decode("utf-8", LENIENT)
        item.port, tags = _S_UINT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_listener(out: bytearray, items: Iterable[Listener], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_string(out, item.host)
        out += _S_UINT16.pack(item.port)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_node(data: bytes, at: int, version: int, count: int) -> tuple[list[Node], int]:
    limit = len(data)
    items: list[Node] = []
    for _ in range(count):
        item = _new(Node)
        item.node_id, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 5 <= limit - at:
            raise count_refused(n, limit - at)
        item.listeners, at = _read_listener(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_node(out: bytearray, items: Iterable[Node], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.node_id)
        write_length(out, len(item.listeners))
        _write_listener(out, item.listeners, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request DescribeQuorumRequest key=55 versions=0-2 flexible=0+ listeners=broker,controller
  topics              []TopicData
    topicName         string
    partitions        []PartitionData
      partitionIndex  int32

response DescribeQuorumResponse key=55 versions=0-2 flexible=0+ listeners=broker,controller
  errorCode                    int16
  errorMessage                 string           2 nullable ignorable
  topics                       []TopicData
    topicName                  string
    partitions                 []PartitionData
      partitionIndex           int32
      errorCode                int16
      errorMessage             string           2 nullable ignorable
      leaderId                 int32
      leaderEpoch              int32
      highWatermark            int64
      currentVoters            []ReplicaState
        replicaId              int32
        replicaDirectoryId     uuid             2
        logEndOffset           int64
        lastFetchTimestamp     int64            1+ default=-1 ignorable
        lastCaughtUpTimestamp  int64            1+ default=-1 ignorable
      observers                []ReplicaState
  nodes                        []Node           2
    nodeId                     int32
    listeners                  []Listener
      name                     string
      host                     string
      port                     uint16
"""
