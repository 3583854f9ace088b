"""DeleteRecords, API key 21, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/delete_records.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_BYTE: Final = Struct(">iqB")
_S_INT32_INT64_INT16: Final = Struct(">iqh")
_S_INT32_INT64_INT16_BYTE: Final = Struct(">iqhB")
_new: Final = object.__new__


@dataclass(slots=True)
class DeleteRecordsPartition:
    partition_index: int = 0
    offset: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DeleteRecordsTopic:
    name: str = ""
    partitions: list[DeleteRecordsPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DeleteRecordsRequest:
    topics: list[DeleteRecordsTopic] = field(default_factory=list)
    timeout_ms: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 21
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_delete_records_topic(out, item.topics, version)
            out += _S_INT32.pack(item.timeout_ms)
            if item.unknown_tagged_fields:
                if version < 2:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 2:
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
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_delete_records_topic(data, at, version, n)
            if version >= 2:
                item.timeout_ms, tags = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
            else:
                (item.timeout_ms,) = _S_INT32.unpack_from(data, at)
                at += 4
                tags = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class DeleteRecordsPartitionResult:
    partition_index: int = 0
    low_watermark: int = 0
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DeleteRecordsTopicResult:
    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DeleteRecordsResponse:
    throttle_time_ms: int = 0
    topics: list[DeleteRecordsTopicResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 21
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 2:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_delete_records_topic_result(out, item.topics, version)
            if item.unknown_tagged_fields:
                if version < 2:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 2:
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
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_delete_records_topic_result(data, at, version, n)
            if version >= 2:
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


def _read_delete_records_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[DeleteRecordsPartition], int]:
    items: list[DeleteRecordsPartition] = []
    for _ in range(count):
        item = _new(DeleteRecordsPartition)
        if version >= 2:
            item.partition_index, item.offset, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
        else:
            item.partition_index, item.offset = _S_INT32_INT64.unpack_from(data, at)
            at += 12
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_delete_records_partition(out: bytearray, items: Iterable[DeleteRecordsPartition], version: int) -> None:
    for item in items:
        out += _S_INT32_INT64.pack(item.partition_index, item.offset)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_delete_records_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[DeleteRecordsTopic], int]:
    limit = len(data)
    items: list[DeleteRecordsTopic] = []
    for _ in range(count):
        item = _new(DeleteRecordsTopic)
        if version >= 2:
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
        if version >= 2:
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


def _write_delete_records_topic(out: bytearray, items: Iterable[DeleteRecordsTopic], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 2:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_delete_records_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_delete_records_partition_result(data: bytes, at: int, version: int, count: int) -> tuple[list[DeleteRecordsPartitionResult], int]:
    items: list[DeleteRecordsPartitionResult] = []
    for _ in range(count):
        item = _new(DeleteRecordsPartitionResult)
        if version >= 2:
            item.partition_index, item.low_watermark, item.error_code, tags = _S_INT32_INT64_INT16_BYTE.unpack_from(data, at)
            at += 15
        else:
            item.partition_index, item.low_watermark, item.error_code = _S_INT32_INT64_INT16.unpack_from(data, at)
            at += 14
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_delete_records_partition_result(out: bytearray, items: Iterable[DeleteRecordsPartitionResult], version: int) -> None:
    for item in items:
        out += _S_INT32_INT64_INT16.pack(item.partition_index, item.low_watermark, item.error_code)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_delete_records_topic_result(data: bytes, at: int, version: int, count: int) -> tuple[list[DeleteRecordsTopicResult], int]:
    limit = len(data)
    items: list[DeleteRecordsTopicResult] = []
    for _ in range(count):
        item = _new(DeleteRecordsTopicResult)
        if version >= 2:
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
        if version >= 2:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
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


def _write_delete_records_topic_result(out: bytearray, items: Iterable[DeleteRecordsTopicResult], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 2:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_delete_records_partition_result(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)

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
