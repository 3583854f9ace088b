"""DescribeShareGroupOffsets, API key 90, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/describe_share_group_offsets.txt.
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
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT64_INT32_INT16: Final = Struct(">iqih")
_S_INT32_INT64_INT32_INT16_BYTE: Final = Struct(">iqihB")
_S_INT32_INT64_INT32_INT64_INT16: Final = Struct(">iqiqh")
_S_INT32_INT64_INT32_INT64_INT16_BYTE: Final = Struct(">iqiqhB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class DescribeShareGroupOffsetsRequestTopic:
    topic_name: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeShareGroupOffsetsRequestGroup:
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeShareGroupOffsetsRequest:
    groups: list[DescribeShareGroupOffsetsRequestGroup] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 90
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.groups))
            _write_describe_share_group_offsets_request_group(out, item.groups, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
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
            item.groups, at = _read_describe_share_group_offsets_request_group(data, at, version, n)
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
class DescribeShareGroupOffsetsResponsePartition:
    partition_index: int = 0
    start_offset: int = 0
    leader_epoch: int = 0
    lag: int = -1  # 1
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeShareGroupOffsetsResponseTopic:
    topic_name: str = ""
    topic_id: Uuid = ZERO_UUID
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeShareGroupOffsetsResponseGroup:
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = field(default_factory=list)
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeShareGroupOffsetsResponse:
    throttle_time_ms: int = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 90
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            write_length(out, len(item.groups))
            _write_describe_share_group_offsets_response_group(out, item.groups, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
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
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.groups, at = _read_describe_share_group_offsets_response_group(data, at, version, n)
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


def _read_describe_share_group_offsets_request_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeShareGroupOffsetsRequestTopic], int]:
    items: list[DescribeShareGroupOffsetsRequestTopic] = []
    for _ in range(count):
        item = _new(DescribeShareGroupOffsetsRequestTopic)
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
        item.partitions, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_share_group_offsets_request_topic(out: bytearray, items: Iterable[DescribeShareGroupOffsetsRequestTopic], version: int) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_share_group_offsets_request_group(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeShareGroupOffsetsRequestGroup], int]:
    limit = len(data)
    items: list[DescribeShareGroupOffsetsRequestGroup] = []
    for _ in range(count):
        item = _new(DescribeShareGroupOffsetsRequestGroup)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.group_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.topics = None
        else:
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_describe_share_group_offsets_request_topic(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_share_group_offsets_request_group(out: bytearray, items: Iterable[DescribeShareGroupOffsetsRequestGroup], version: int) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        if item.topics is None:
            out.append(0)
        else:
            write_length(out, len(item.topics))
            _write_describe_share_group_offsets_request_topic(out, item.topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_share_group_offsets_response_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeShareGroupOffsetsResponsePartition], int]:
    items: list[DescribeShareGroupOffsetsResponsePartition] = []
    for _ in range(count):
        item = _new(DescribeShareGroupOffsetsResponsePartition)
        if version >= 1:
            item.partition_index, item.start_offset, item.leader_epoch, item.lag, item.error_code, n = _S_INT32_INT64_INT32_INT64_INT16_BYTE.unpack_from(data, at)
            at += 27
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.partition_index, item.start_offset, item.leader_epoch, item.error_code, n = _S_INT32_INT64_INT32_INT16_BYTE.unpack_from(data, at)
            at += 19
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            item.lag = -1
        if n < 0:
            item.error_message = None
        else:
            at += n
            item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_share_group_offsets_response_partition(out: bytearray, items: Iterable[DescribeShareGroupOffsetsResponsePartition], version: int) -> None:
    for item in items:
        if version >= 1:
            out += _S_INT32_INT64_INT32_INT64_INT16.pack(item.partition_index, item.start_offset, item.leader_epoch, item.lag, item.error_code)
        else:
            out += _S_INT32_INT64_INT32_INT16.pack(item.partition_index, item.start_offset, item.leader_epoch, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            write_compact_string(out, item.error_message)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_share_group_offsets_response_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeShareGroupOffsetsResponseTopic], int]:
    limit = len(data)
    items: list[DescribeShareGroupOffsetsResponseTopic] = []
    for _ in range(count):
        item = _new(DescribeShareGroupOffsetsResponseTopic)
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
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 20 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_describe_share_group_offsets_response_partition(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_share_group_offsets_response_topic(out: bytearray, items: Iterable[DescribeShareGroupOffsetsResponseTopic], version: int) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_describe_share_group_offsets_response_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_share_group_offsets_response_group(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeShareGroupOffsetsResponseGroup], int]:
    limit = len(data)
    items: list[DescribeShareGroupOffsetsResponseGroup] = []
    for _ in range(count):
        item = _new(DescribeShareGroupOffsetsResponseGroup)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.group_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 19 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_describe_share_group_offsets_response_topic(data, at, version, n)
        item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
        at += 3
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.error_message = None
        else:
            at += n
            item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_share_group_offsets_response_group(out: bytearray, items: Iterable[DescribeShareGroupOffsetsResponseGroup], version: int) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        write_length(out, len(item.topics))
        _write_describe_share_group_offsets_response_topic(out, item.topics, version)
        out += _S_INT16.pack(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            write_compact_string(out, item.error_message)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request DescribeShareGroupOffsetsRequest key=90 versions=0-1 flexible=0+ listeners=broker
  groups          []DescribeShareGroupOffsetsRequestGroup
    groupId       string
    topics        []DescribeShareGroupOffsetsRequestTopic  nullable
      topicName   string
      partitions  []int32

response DescribeShareGroupOffsetsResponse key=90 versions=0-1 flexible=0+ listeners=broker
  throttleTimeMs        int32
  groups                []DescribeShareGroupOffsetsResponseGroup
    groupId             string
    topics              []DescribeShareGroupOffsetsResponseTopic
      topicName         string
      topicId           uuid
      partitions        []DescribeShareGroupOffsetsResponsePartition
        partitionIndex  int32
        startOffset     int64
        leaderEpoch     int32
        lag             int64                                         1 default=-1 ignorable
        errorCode       int16
        errorMessage    string                                        nullable default=null
    errorCode           int16
    errorMessage        string                                        nullable default=null
"""
