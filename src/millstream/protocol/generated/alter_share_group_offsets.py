"""AlterShareGroupOffsets, API key 91, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/alter_share_group_offsets.txt.
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
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_length, write_string

_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_BYTE: Final = Struct(">iqB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class AlterShareGroupOffsetsRequestPartition:
    partition_index: int = 0
    start_offset: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterShareGroupOffsetsRequestTopic:
    topic_name: str = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterShareGroupOffsetsRequest:
    group_id: str = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 91
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_compact_string(out, item.group_id)
            write_length(out, len(item.topics))
            _write_alter_share_group_offsets_request_topic(out, item.topics, version)
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_alter_share_group_offsets_request_topic(data, at, version, n)
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
class AlterShareGroupOffsetsResponsePartition:
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterShareGroupOffsetsResponseTopic:
    topic_name: str = ""
    topic_id: Uuid = ZERO_UUID
    partitions: list[AlterShareGroupOffsetsResponsePartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterShareGroupOffsetsResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 91
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
            write_length(out, len(item.responses))
            _write_alter_share_group_offsets_response_topic(out, item.responses, version)
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
            item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 19 <= limit - at:
                raise count_refused(n, limit - at)
            item.responses, at = _read_alter_share_group_offsets_response_topic(data, at, version, n)
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


def _read_alter_share_group_offsets_request_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterShareGroupOffsetsRequestPartition], int]:
    items: list[AlterShareGroupOffsetsRequestPartition] = []
    for _ in range(count):
        item = _new(AlterShareGroupOffsetsRequestPartition)
        item.partition_index, item.start_offset, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
        at += 13
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_share_group_offsets_request_partition(out: bytearray, items: Iterable[AlterShareGroupOffsetsRequestPartition], version: int) -> None:
    for item in items:
        out += _S_INT32_INT64.pack(item.partition_index, item.start_offset)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_alter_share_group_offsets_request_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterShareGroupOffsetsRequestTopic], int]:
    limit = len(data)
    items: list[AlterShareGroupOffsetsRequestTopic] = []
    for _ in range(count):
        item = _new(AlterShareGroupOffsetsRequestTopic)
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
        if not 0 <= n * 13 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_alter_share_group_offsets_request_partition(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_share_group_offsets_request_topic(out: bytearray, items: Iterable[AlterShareGroupOffsetsRequestTopic], version: int) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_length(out, len(item.partitions))
        _write_alter_share_group_offsets_request_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_alter_share_group_offsets_response_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterShareGroupOffsetsResponsePartition], int]:
    items: list[AlterShareGroupOffsetsResponsePartition] = []
    for _ in range(count):
        item = _new(AlterShareGroupOffsetsResponsePartition)
        item.partition_index, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
        at += 7
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


def _write_alter_share_group_offsets_response_partition(out: bytearray, items: Iterable[AlterShareGroupOffsetsResponsePartition], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16.pack(item.partition_index, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            write_compact_string(out, item.error_message)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_alter_share_group_offsets_response_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterShareGroupOffsetsResponseTopic], int]:
    limit = len(data)
    items: list[AlterShareGroupOffsetsResponseTopic] = []
    for _ in range(count):
        item = _new(AlterShareGroupOffsetsResponseTopic)
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
        if not 0 <= n * 8 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_alter_share_group_offsets_response_partition(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_share_group_offsets_response_topic(out: bytearray, items: Iterable[AlterShareGroupOffsetsResponseTopic], version: int) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_alter_share_group_offsets_response_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request AlterShareGroupOffsetsRequest key=91 versions=0 flexible=0+ listeners=broker
  groupId             string
  topics              []AlterShareGroupOffsetsRequestTopic
    topicName         string
    partitions        []AlterShareGroupOffsetsRequestPartition
      partitionIndex  int32
      startOffset     int64

response AlterShareGroupOffsetsResponse key=91 versions=0 flexible=0+ listeners=broker
  throttleTimeMs      int32
  errorCode           int16
  errorMessage        string                                     nullable default=null
  responses           []AlterShareGroupOffsetsResponseTopic
    topicName         string
    topicId           uuid
    partitions        []AlterShareGroupOffsetsResponsePartition
      partitionIndex  int32
      errorCode       int16
      errorMessage    string                                     nullable default=null
"""
