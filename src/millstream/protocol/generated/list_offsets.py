"""ListOffsets, API key 2, versions 1-11: request and response.

Written by `make codegen` from codegen/schemas/list_offsets.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_2INT32_INT64: Final = Struct(">iiq")
_S_2INT32_INT64_BYTE: Final = Struct(">iiqB")
_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16_2INT64: Final = Struct(">ihqq")
_S_INT32_INT16_2INT64_INT32: Final = Struct(">ihqqi")
_S_INT32_INT16_2INT64_INT32_BYTE: Final = Struct(">ihqqiB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT8: Final = Struct(">ib")
_S_INT32_INT8_BYTE: Final = Struct(">ibB")
_S_INT32_INT8_INT32: Final = Struct(">ibi")
_new: Final = object.__new__


@dataclass(slots=True)
class ListOffsetsPartition:
    partition_index: int = 0
    current_leader_epoch: int = -1  # 4+
    timestamp: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ListOffsetsTopic:
    name: str = ""
    partitions: list[ListOffsetsPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ListOffsetsRequest:
    replica_id: int = 0
    isolation_level: int = 0  # 2+
    topics: list[ListOffsetsTopic] = field(default_factory=list)
    timeout_ms: int = 0  # 10+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 11
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 11:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                out += _S_INT32_INT8.pack(item.replica_id, item.isolation_level)
            else:
                out += _S_INT32.pack(item.replica_id)
                if item.isolation_level:
                    raise not_in_version("isolation_level", version)
            if version >= 6:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_list_offsets_topic(out, item.topics, version)
            if version >= 10:
                out += _S_INT32.pack(item.timeout_ms)
            else:
                pass
            if item.unknown_tagged_fields:
                if version < 6:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 6:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 11:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 6:
                item.replica_id, item.isolation_level, n = _S_INT32_INT8_BYTE.unpack_from(data, at)
                at += 6
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 2:
                item.replica_id, item.isolation_level, n = _S_INT32_INT8_INT32.unpack_from(data, at)
                at += 9
            else:
                item.replica_id, n = _S_2INT32.unpack_from(data, at)
                at += 8
                item.isolation_level = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_list_offsets_topic(data, at, version, n)
            if version >= 10:
                item.timeout_ms, tags = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
            elif version >= 6:
                tags = data[at]
                at += 1
                item.timeout_ms = 0
            else:
                tags = 0
                item.timeout_ms = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ListOffsetsPartitionResponse:
    partition_index: int = 0
    error_code: int = 0
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1  # 4+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ListOffsetsTopicResponse:
    name: str = ""
    partitions: list[ListOffsetsPartitionResponse] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ListOffsetsResponse:
    throttle_time_ms: int = 0  # 2+
    topics: list[ListOffsetsTopicResponse] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 11
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 11:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                out += _S_INT32.pack(item.throttle_time_ms)
            else:
                pass
            if version >= 6:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_list_offsets_topic_response(out, item.topics, version)
            if item.unknown_tagged_fields:
                if version < 6:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 6:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 11:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 6:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 2:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.throttle_time_ms = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_list_offsets_topic_response(data, at, version, n)
            if version >= 6:
                tags = data[at]
                at += 1
            else:
                tags = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_list_offsets_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[ListOffsetsPartition], int]:
    items: list[ListOffsetsPartition] = []
    for _ in range(count):
        item = _new(ListOffsetsPartition)
        if version >= 6:
            item.partition_index, item.current_leader_epoch, item.timestamp, tags = _S_2INT32_INT64_BYTE.unpack_from(data, at)
            at += 17
        elif version >= 4:
            item.partition_index, item.current_leader_epoch, item.timestamp = _S_2INT32_INT64.unpack_from(data, at)
            at += 16
            tags = 0
        else:
            item.partition_index, item.timestamp = _S_INT32_INT64.unpack_from(data, at)
            at += 12
            tags = 0
            item.current_leader_epoch = -1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_list_offsets_partition(out: bytearray, items: Iterable[ListOffsetsPartition], version: int) -> None:
    for item in items:
        if version >= 4:
            out += _S_2INT32_INT64.pack(item.partition_index, item.current_leader_epoch, item.timestamp)
        else:
            out += _S_INT32_INT64.pack(item.partition_index, item.timestamp)
        if item.unknown_tagged_fields:
            if version < 6:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 6:
            out.append(0)


def _read_list_offsets_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[ListOffsetsTopic], int]:
    limit = len(data)
    items: list[ListOffsetsTopic] = []
    for _ in range(count):
        item = _new(ListOffsetsTopic)
        if version >= 6:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 6:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 12 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_list_offsets_partition(data, at, version, n)
        if version >= 6:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_list_offsets_topic(out: bytearray, items: Iterable[ListOffsetsTopic], version: int) -> None:
    for item in items:
        if version >= 6:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 6:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_list_offsets_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 6:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 6:
            out.append(0)


def _read_list_offsets_partition_response(data: bytes, at: int, version: int, count: int) -> tuple[list[ListOffsetsPartitionResponse], int]:
    items: list[ListOffsetsPartitionResponse] = []
    for _ in range(count):
        item = _new(ListOffsetsPartitionResponse)
        if version >= 6:
            item.partition_index, item.error_code, item.timestamp, item.offset, item.leader_epoch, tags = _S_INT32_INT16_2INT64_INT32_BYTE.unpack_from(data, at)
            at += 27
        elif version >= 4:
            item.partition_index, item.error_code, item.timestamp, item.offset, item.leader_epoch = _S_INT32_INT16_2INT64_INT32.unpack_from(data, at)
            at += 26
            tags = 0
        else:
            item.partition_index, item.error_code, item.timestamp, item.offset = _S_INT32_INT16_2INT64.unpack_from(data, at)
            at += 22
            tags = 0
            item.leader_epoch = -1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_list_offsets_partition_response(out: bytearray, items: Iterable[ListOffsetsPartitionResponse], version: int) -> None:
    for item in items:
        if version >= 4:
            out += _S_INT32_INT16_2INT64_INT32.pack(item.partition_index, item.error_code, item.timestamp, item.offset, item.leader_epoch)
        else:
            out += _S_INT32_INT16_2INT64.pack(item.partition_index, item.error_code, item.timestamp, item.offset)
            if item.leader_epoch != -1:
                raise not_in_version("leader_epoch", version)
        if item.unknown_tagged_fields:
            if version < 6:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 6:
            out.append(0)


def _read_list_offsets_topic_response(data: bytes, at: int, version: int, count: int) -> tuple[list[ListOffsetsTopicResponse], int]:
    limit = len(data)
    items: list[ListOffsetsTopicResponse] = []
    for _ in range(count):
        item = _new(ListOffsetsTopicResponse)
        if version >= 6:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 6:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 22 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_list_offsets_partition_response(data, at, version, n)
        if version >= 6:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_list_offsets_topic_response(out: bytearray, items: Iterable[ListOffsetsTopicResponse], version: int) -> None:
    for item in items:
        if version >= 6:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 6:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_list_offsets_partition_response(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 6:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 6:
            out.append(0)

SCHEMA: Final = """\
request ListOffsetsRequest key=2 versions=1-11 flexible=6+ listeners=broker
  replicaId               int32
  isolationLevel          int8                    2+
  topics                  []ListOffsetsTopic
    name                  string
    partitions            []ListOffsetsPartition
      partitionIndex      int32
      currentLeaderEpoch  int32                   4+ default=-1 ignorable
      timestamp           int64
  timeoutMs               int32                   10+ ignorable

response ListOffsetsResponse key=2 versions=1-11 flexible=6+ listeners=broker
  throttleTimeMs      int32                           2+ ignorable
  topics              []ListOffsetsTopicResponse
    name              string
    partitions        []ListOffsetsPartitionResponse
      partitionIndex  int32
      errorCode       int16
      timestamp       int64                           default=-1
      offset          int64                           default=-1
      leaderEpoch     int32                           4+ default=-1
"""
