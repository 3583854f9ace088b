"""OffsetDelete, API key 47, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/offset_delete.txt.
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
)
from millstream.protocol.tagged_fields import TaggedField
from millstream.protocol.writing import WRITE_FAILURES, tags_refused

_INT16: Final = Struct(">h")
_INT16_2INT32: Final = Struct(">hii")
_INT32: Final = Struct(">i")
_INT32_INT16: Final = Struct(">ih")
_new: Final = object.__new__


class OffsetDeleteRequestPartition(MessageValue):
    """In `OffsetDeleteRequestTopic.partitions`, version 0."""

    __slots__ = ("partition_index", "unknown_tagged_fields")

    partition_index: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, partition_index: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.partition_index = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetDeleteRequestTopic(MessageValue):
    """In `OffsetDeleteRequest.topics`, version 0."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[OffsetDeleteRequestPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteRequestPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetDeleteRequest(MessageValue):
    """Request of API 47, version 0."""

    __slots__ = ("group_id", "topics", "unknown_tagged_fields")

    group_id: str
    topics: list[OffsetDeleteRequestTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetDeleteRequestTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 47
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            n = len(self.topics) + 1
            out += _INT32.pack(n - 1)
            _write_offset_delete_request_topic(out, self.topics, version)
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_offset_delete_request_topic(data, at, version, n)
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class OffsetDeleteResponsePartition(MessageValue):
    """In `OffsetDeleteResponseTopic.partitions`, version 0."""

    __slots__ = ("partition_index", "error_code", "unknown_tagged_fields")

    partition_index: int
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetDeleteResponseTopic(MessageValue):
    """In `OffsetDeleteResponse.topics`, version 0."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[OffsetDeleteResponsePartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteResponsePartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetDeleteResponse(MessageValue):
    """Response of API 47, version 0."""

    __slots__ = ("error_code", "throttle_time_ms", "topics", "unknown_tagged_fields")

    error_code: int
    throttle_time_ms: int
    topics: list[OffsetDeleteResponseTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 47
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            out += _INT16_2INT32.pack(self.error_code, self.throttle_time_ms, n - 1)
            _write_offset_delete_response_topic(out, self.topics, version)
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            message.error_code, message.throttle_time_ms, n = _INT16_2INT32.unpack_from(data, at)
            at += 10
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_offset_delete_response_topic(data, at, version, n)
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_offset_delete_request_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetDeleteRequestPartition], int]:
    items: list[OffsetDeleteRequestPartition] = []
    for _ in range(count):
        item = _new(OffsetDeleteRequestPartition)
        (item.partition_index,) = _INT32.unpack_from(data, at)
        at += 4
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_offset_delete_request_partition(
    out: bytearray, items: Iterable[OffsetDeleteRequestPartition], version: int
) -> None:
    for item in items:
        out += _INT32.pack(item.partition_index)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_offset_delete_request_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetDeleteRequestTopic], int]:
    items: list[OffsetDeleteRequestTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OffsetDeleteRequestTopic)
        (n,) = _INT16.unpack_from(data, at)
        at += 2
        if n < 0:
            raise null_refused()
        item.name = data[at : at + n].decode("utf-8", LENIENT)
        at += n
        (n,) = _INT32.unpack_from(data, at)
        at += 4
        if not 0 <= n * 4 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_offset_delete_request_partition(data, at, version, n)
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_offset_delete_request_topic(
    out: bytearray, items: Iterable[OffsetDeleteRequestTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        out += _INT32.pack(n - 1)
        _write_offset_delete_request_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_offset_delete_response_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetDeleteResponsePartition], int]:
    items: list[OffsetDeleteResponsePartition] = []
    for _ in range(count):
        item = _new(OffsetDeleteResponsePartition)
        item.partition_index, item.error_code = _INT32_INT16.unpack_from(data, at)
        at += 6
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_offset_delete_response_partition(
    out: bytearray, items: Iterable[OffsetDeleteResponsePartition], version: int
) -> None:
    for item in items:
        out += _INT32_INT16.pack(item.partition_index, item.error_code)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_offset_delete_response_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetDeleteResponseTopic], int]:
    items: list[OffsetDeleteResponseTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OffsetDeleteResponseTopic)
        (n,) = _INT16.unpack_from(data, at)
        at += 2
        if n < 0:
            raise null_refused()
        item.name = data[at : at + n].decode("utf-8", LENIENT)
        at += n
        (n,) = _INT32.unpack_from(data, at)
        at += 4
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_offset_delete_response_partition(data, at, version, n)
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_offset_delete_response_topic(
    out: bytearray, items: Iterable[OffsetDeleteResponseTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        out += _INT32.pack(n - 1)
        _write_offset_delete_response_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request OffsetDeleteRequest key=47 versions=0 listeners=broker
  groupId             string
  topics              []OffsetDeleteRequestTopic
    name              string
    partitions        []OffsetDeleteRequestPartition
      partitionIndex  int32

response OffsetDeleteResponse key=47 versions=0 listeners=broker
  errorCode           int16
  throttleTimeMs      int32
  topics              []OffsetDeleteResponseTopic
    name              string
    partitions        []OffsetDeleteResponsePartition
      partitionIndex  int32
      errorCode       int16
"""
