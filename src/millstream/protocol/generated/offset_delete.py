"""OffsetDelete, API key 47, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/offset_delete.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end
from millstream.protocol.tagged_fields import TaggedField
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_length, write_string

_S_INT16: Final = Struct(">h")
_S_INT16_2INT32: Final = Struct(">hii")
_S_INT16_INT32: Final = Struct(">hi")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_new: Final = object.__new__


@dataclass(slots=True)
class OffsetDeleteRequestPartition:
    partition_index: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetDeleteRequestTopic:
    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetDeleteRequest:
    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 47
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            out += _S_INT32.pack(len(item.topics))
            _write_offset_delete_request_topic(out, item.topics, version)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_offset_delete_request_topic(data, at, version, n)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class OffsetDeleteResponsePartition:
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetDeleteResponseTopic:
    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetDeleteResponse:
    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponseTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 47
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16_INT32.pack(item.error_code, item.throttle_time_ms)
            out += _S_INT32.pack(len(item.topics))
            _write_offset_delete_response_topic(out, item.topics, version)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
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
            item.error_code, item.throttle_time_ms, n = _S_INT16_2INT32.unpack_from(data, at)
            at += 10
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_offset_delete_response_topic(data, at, version, n)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_offset_delete_request_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetDeleteRequestPartition], int]:
    items: list[OffsetDeleteRequestPartition] = []
    for _ in range(count):
        item = _new(OffsetDeleteRequestPartition)
        (item.partition_index,) = _S_INT32.unpack_from(data, at)
        at += 4
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_offset_delete_request_partition(out: bytearray, items: Iterable[OffsetDeleteRequestPartition], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.partition_index)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_offset_delete_request_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetDeleteRequestTopic], int]:
    limit = len(data)
    items: list[OffsetDeleteRequestTopic] = []
    for _ in range(count):
        item = _new(OffsetDeleteRequestTopic)
        (n,) = _S_INT16.unpack_from(data, at)
        at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        (n,) = _S_INT32.unpack_from(data, at)
        at += 4
        if not 0 <= n * 4 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_offset_delete_request_partition(data, at, version, n)
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_offset_delete_request_topic(out: bytearray, items: Iterable[OffsetDeleteRequestTopic], version: int) -> None:
    for item in items:
        write_string(out, item.name)
        out += _S_INT32.pack(len(item.partitions))
        _write_offset_delete_request_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_offset_delete_response_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetDeleteResponsePartition], int]:
    items: list[OffsetDeleteResponsePartition] = []
    for _ in range(count):
        item = _new(OffsetDeleteResponsePartition)
        item.partition_index, item.error_code = _S_INT32_INT16.unpack_from(data, at)
        at += 6
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_offset_delete_response_partition(out: bytearray, items: Iterable[OffsetDeleteResponsePartition], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16.pack(item.partition_index, item.error_code)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_offset_delete_response_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetDeleteResponseTopic], int]:
    limit = len(data)
    items: list[OffsetDeleteResponseTopic] = []
    for _ in range(count):
        item = _new(OffsetDeleteResponseTopic)
        (n,) = _S_INT16.unpack_from(data, at)
        at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        (n,) = _S_INT32.unpack_from(data, at)
        at += 4
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_offset_delete_response_partition(data, at, version, n)
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_offset_delete_response_topic(out: bytearray, items: Iterable[OffsetDeleteResponseTopic], version: int) -> None:
    for item in items:
        write_string(out, item.name)
        out += _S_INT32.pack(len(item.partitions))
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
