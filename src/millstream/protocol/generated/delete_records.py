"""DeleteRecords, API key 21, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/delete_records.txt.
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
    read_compact_string,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    tags_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_INT64_INT16: Final = Struct(">iqh")
_INT32_INT64_INT16_BYTE: Final = Struct(">iqhB")
_INT32_INT64_INT16_ZERO: Final = Struct(">iqhx")
_INT32_INT64_ZERO: Final = Struct(">iqx")
_INT32_ZERO: Final = Struct(">ix")
_S2INT32: Final = Struct(">ii")
_new: Final = object.__new__


class DeleteRecordsPartition(MessageValue):
    """In `DeleteRecordsTopic.partitions`, versions 0-2."""

    __slots__ = ("partition_index", "offset", "unknown_tagged_fields")

    partition_index: int
    offset: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        offset: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteRecordsTopic(MessageValue):
    """In `DeleteRecordsRequest.topics`, versions 0-2."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[DeleteRecordsPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteRecordsRequest(MessageValue):
    """Request of API 21, versions 0-2."""

    __slots__ = ("topics", "timeout_ms", "unknown_tagged_fields")

    topics: list[DeleteRecordsTopic]
    timeout_ms: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[DeleteRecordsTopic] = UNSET,
        timeout_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 21
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_delete_records_topic(out, self.topics, version)
            if version >= 2:
                if self.unknown_tagged_fields:
                    out += _INT32.pack(self.timeout_ms)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_ZERO.pack(self.timeout_ms)
            else:
                out += _INT32.pack(self.timeout_ms)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_delete_records_topic(data, at, version, n)
            if version >= 2:
                message.timeout_ms, tags = _INT32_BYTE.unpack_from(data, at)
                at += 5
            else:
                (message.timeout_ms,) = _INT32.unpack_from(data, at)
                at += 4
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class DeleteRecordsPartitionResult(MessageValue):
    """In `DeleteRecordsTopicResult.partitions`, versions 0-2."""

    __slots__ = ("partition_index", "low_watermark", "error_code", "unknown_tagged_fields")

    partition_index: int
    low_watermark: int
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteRecordsTopicResult(MessageValue):
    """In `DeleteRecordsResponse.topics`, versions 0-2."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[DeleteRecordsPartitionResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartitionResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteRecordsResponse(MessageValue):
    """Response of API 21, versions 0-2."""

    __slots__ = ("throttle_time_ms", "topics", "unknown_tagged_fields")

    throttle_time_ms: int
    topics: list[DeleteRecordsTopicResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsTopicResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 21
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 2:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_delete_records_topic_result(out, self.topics, version)
            if version >= 2:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
            elif self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_delete_records_topic_result(data, at, version, n)
            if version >= 2:
                tags = data[at]
                at += 1
            else:
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_delete_records_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeleteRecordsPartition], int]:
    items: list[DeleteRecordsPartition] = []
    for _ in range(count):
        item = _new(DeleteRecordsPartition)
        if version >= 2:
            item.partition_index, item.offset, tags = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
        else:
            item.partition_index, item.offset = _INT32_INT64.unpack_from(data, at)
            at += 12
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_delete_records_partition(
    out: bytearray, items: Iterable[DeleteRecordsPartition], version: int
) -> None:
    for item in items:
        if version >= 2:
            if item.unknown_tagged_fields:
                out += _INT32_INT64.pack(item.partition_index, item.offset)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_INT64_ZERO.pack(item.partition_index, item.offset)
        else:
            out += _INT32_INT64.pack(item.partition_index, item.offset)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_delete_records_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeleteRecordsTopic], int]:
    items: list[DeleteRecordsTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DeleteRecordsTopic)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 12 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_delete_records_partition(data, at, version, n)
        if version >= 2:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_delete_records_topic(
    out: bytearray, items: Iterable[DeleteRecordsTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_delete_records_partition(out, item.partitions, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_delete_records_partition_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeleteRecordsPartitionResult], int]:
    items: list[DeleteRecordsPartitionResult] = []
    for _ in range(count):
        item = _new(DeleteRecordsPartitionResult)
        if version >= 2:
            (
                item.partition_index,
                item.low_watermark,
                item.error_code,
                tags,
            ) = _INT32_INT64_INT16_BYTE.unpack_from(data, at)
            at += 15
        else:
            (
                item.partition_index,
                item.low_watermark,
                item.error_code,
            ) = _INT32_INT64_INT16.unpack_from(data, at)
            at += 14
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_delete_records_partition_result(
    out: bytearray, items: Iterable[DeleteRecordsPartitionResult], version: int
) -> None:
    for item in items:
        if version >= 2:
            if item.unknown_tagged_fields:
                out += _INT32_INT64_INT16.pack(
                    item.partition_index, item.low_watermark, item.error_code
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_INT64_INT16_ZERO.pack(
                    item.partition_index, item.low_watermark, item.error_code
                )
        else:
            out += _INT32_INT64_INT16.pack(
                item.partition_index, item.low_watermark, item.error_code
            )
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_delete_records_topic_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeleteRecordsTopicResult], int]:
    items: list[DeleteRecordsTopicResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DeleteRecordsTopicResult)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 14 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_delete_records_partition_result(data, at, version, n)
        if version >= 2:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_delete_records_topic_result(
    out: bytearray, items: Iterable[DeleteRecordsTopicResult], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_delete_records_partition_result(out, item.partitions, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request DeleteRecordsRequest key=21 versions=0-2 flexible=2+ listeners=broker
  topics              []DeleteRecordsTopic
    name              string
    partitions        []DeleteRecordsPartition
      partitionIndex  int32
      offset          int64
  timeoutMs           int32

response DeleteRecordsResponse key=21 versions=0-2 flexible=2+ listeners=broker
  throttleTimeMs      int32
  topics              []DeleteRecordsTopicResult
    name              string
    partitions        []DeleteRecordsPartitionResult
      partitionIndex  int32
      lowWatermark    int64
      errorCode       int16
"""
