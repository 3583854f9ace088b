"""DescribeShareGroupOffsets, API key 90, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/describe_share_group_offsets.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT64_INT32_INT16: Final = Struct(">iqih")
_INT32_INT64_INT32_INT16_BYTE: Final = Struct(">iqihB")
_INT32_INT64_INT32_INT64_INT16: Final = Struct(">iqiqh")
_INT32_INT64_INT32_INT64_INT16_BYTE: Final = Struct(">iqiqhB")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class DescribeShareGroupOffsetsRequestTopic(MessageValue):
    """In `DescribeShareGroupOffsetsRequestGroup.topics`, versions 0-1."""

    __slots__ = ("topic_name", "partitions", "unknown_tagged_fields")

    topic_name: str
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeShareGroupOffsetsRequestGroup(MessageValue):
    """In `DescribeShareGroupOffsetsRequest.groups`, versions 0-1."""

    __slots__ = ("group_id", "topics", "unknown_tagged_fields")

    group_id: str
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeShareGroupOffsetsRequest(MessageValue):
    """Request of API 90, versions 0-1."""

    __slots__ = ("groups", "unknown_tagged_fields")

    groups: list[DescribeShareGroupOffsetsRequestGroup]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        groups: list[DescribeShareGroupOffsetsRequestGroup] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.groups = [] if groups is UNSET else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 90
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.groups) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_describe_share_group_offsets_request_group(out, self.groups, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.groups, at = _read_describe_share_group_offsets_request_group(data, at, version, n)
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


class DescribeShareGroupOffsetsResponsePartition(MessageValue):
    """In `DescribeShareGroupOffsetsResponseTopic.partitions`, versions 0-1."""

    __slots__ = (
        "partition_index",
        "start_offset",
        "leader_epoch",
        "lag",
        "error_code",
        "error_message",
        "unknown_tagged_fields",
    )

    partition_index: int
    start_offset: int
    leader_epoch: int
    lag: int  # 1
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeShareGroupOffsetsResponseTopic(MessageValue):
    """In `DescribeShareGroupOffsetsResponseGroup.topics`, versions 0-1."""

    __slots__ = ("topic_name", "topic_id", "partitions", "unknown_tagged_fields")

    topic_name: str
    topic_id: Uuid
    partitions: list[DescribeShareGroupOffsetsResponsePartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeShareGroupOffsetsResponseGroup(MessageValue):
    """In `DescribeShareGroupOffsetsResponse.groups`, versions 0-1."""

    __slots__ = ("group_id", "topics", "error_code", "error_message", "unknown_tagged_fields")

    group_id: str
    topics: list[DescribeShareGroupOffsetsResponseTopic]
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsResponseTopic] = UNSET,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeShareGroupOffsetsResponse(MessageValue):
    """Response of API 90, versions 0-1."""

    __slots__ = ("throttle_time_ms", "groups", "unknown_tagged_fields")

    throttle_time_ms: int
    groups: list[DescribeShareGroupOffsetsResponseGroup]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribeShareGroupOffsetsResponseGroup] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is UNSET else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 90
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.groups) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.throttle_time_ms, n)
            else:
                out += _INT32.pack(self.throttle_time_ms)
                write_uvarint(out, n)
            _write_describe_share_group_offsets_response_group(out, self.groups, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
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
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.groups, at = _read_describe_share_group_offsets_response_group(data, at, version, n)
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


def _read_describe_share_group_offsets_request_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsRequestTopic], int]:
    items: list[DescribeShareGroupOffsetsRequestTopic] = []
    for _ in range(count):
        item = _new(DescribeShareGroupOffsetsRequestTopic)
        n = data[at]
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 17:
            item.partitions = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.partitions, at = read_compact_int32s(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_share_group_offsets_request_topic(
    out: bytearray, items: Iterable[DescribeShareGroupOffsetsRequestTopic], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        write_compact_int32s(out, item.partitions)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_share_group_offsets_request_group(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsRequestGroup], int]:
    items: list[DescribeShareGroupOffsetsRequestGroup] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeShareGroupOffsetsRequestGroup)
        n = data[at]
        if 0 < n < 128:
            item.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.group_id, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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


def _write_describe_share_group_offsets_request_group(
    out: bytearray, items: Iterable[DescribeShareGroupOffsetsRequestGroup], version: int
) -> None:
    for item in items:
        raw = item.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.topics is None:
            n = 0
        else:
            n = len(item.topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        if item.topics is not None:
            _write_describe_share_group_offsets_request_topic(out, item.topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_share_group_offsets_response_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsResponsePartition], int]:
    items: list[DescribeShareGroupOffsetsResponsePartition] = []
    for _ in range(count):
        item = _new(DescribeShareGroupOffsetsResponsePartition)
        if version >= 1:
            (
                item.partition_index,
                item.start_offset,
                item.leader_epoch,
                item.lag,
                item.error_code,
                n,
            ) = _INT32_INT64_INT32_INT64_INT16_BYTE.unpack_from(data, at)
            at += 26
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        else:
            (
                item.partition_index,
                item.start_offset,
                item.leader_epoch,
                item.error_code,
                n,
            ) = _INT32_INT64_INT32_INT16_BYTE.unpack_from(data, at)
            at += 18
            item.lag = -1
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_share_group_offsets_response_partition(
    out: bytearray, items: Iterable[DescribeShareGroupOffsetsResponsePartition], version: int
) -> None:
    for item in items:
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if version >= 1:
            if n < 128:
                out += _INT32_INT64_INT32_INT64_INT16_BYTE.pack(
                    item.partition_index,
                    item.start_offset,
                    item.leader_epoch,
                    item.lag,
                    item.error_code,
                    n,
                )
            else:
                out += _INT32_INT64_INT32_INT64_INT16.pack(
                    item.partition_index,
                    item.start_offset,
                    item.leader_epoch,
                    item.lag,
                    item.error_code,
                )
                write_string_length(out, n)
        else:
            if n < 128:
                out += _INT32_INT64_INT32_INT16_BYTE.pack(
                    item.partition_index, item.start_offset, item.leader_epoch, item.error_code, n
                )
            else:
                out += _INT32_INT64_INT32_INT16.pack(
                    item.partition_index, item.start_offset, item.leader_epoch, item.error_code
                )
                write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_share_group_offsets_response_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsResponseTopic], int]:
    items: list[DescribeShareGroupOffsetsResponseTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeShareGroupOffsetsResponseTopic)
        n = data[at]
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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


def _write_describe_share_group_offsets_response_topic(
    out: bytearray, items: Iterable[DescribeShareGroupOffsetsResponseTopic], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.partitions) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BYTE.pack(item.topic_id, n)
        else:
            out += _UUID.pack(item.topic_id)
            write_uvarint(out, n)
        _write_describe_share_group_offsets_response_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_share_group_offsets_response_group(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsResponseGroup], int]:
    items: list[DescribeShareGroupOffsetsResponseGroup] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeShareGroupOffsetsResponseGroup)
        n = data[at]
        if 0 < n < 128:
            item.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.group_id, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 19 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_describe_share_group_offsets_response_topic(data, at, version, n)
        item.error_code, n = _INT16_BYTE.unpack_from(data, at)
        at += 2
        if 0 < n < 128:
            item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.error_message, at = read_compact_string_or_null(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_share_group_offsets_response_group(
    out: bytearray, items: Iterable[DescribeShareGroupOffsetsResponseGroup], version: int
) -> None:
    for item in items:
        raw = item.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_describe_share_group_offsets_response_topic(out, item.topics, version)
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT16_BYTE.pack(item.error_code, n)
        else:
            out += _INT16.pack(item.error_code)
            write_string_length(out, n)
        out += raw
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
