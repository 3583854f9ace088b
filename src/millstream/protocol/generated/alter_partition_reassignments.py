"""AlterPartitionReassignments, API key 45, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/alter_partition_reassignments.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_compact_string, write_integers, write_length, write_string

_S_INT32: Final = Struct(">i")
_S_INT32_BOOL: Final = Struct(">i?")
_S_INT32_BOOL_BYTE: Final = Struct(">i?B")
_S_INT32_BOOL_INT16: Final = Struct(">i?h")
_S_INT32_BOOL_INT16_BYTE: Final = Struct(">i?hB")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


@dataclass(slots=True)
class ReassignablePartition:
    partition_index: int = 0
    replicas: list[int] | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReassignableTopic:
    name: str = ""
    partitions: list[ReassignablePartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterPartitionReassignmentsRequest:
    timeout_ms: int = 60000
    allow_replication_factor_change: bool = True  # 1
    topics: list[ReassignableTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 45
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                out += _S_INT32_BOOL.pack(item.timeout_ms, item.allow_replication_factor_change)
            else:
                out += _S_INT32.pack(item.timeout_ms)
                if not item.allow_replication_factor_change:
                    raise not_in_version("allow_replication_factor_change", version)
            write_length(out, len(item.topics))
            _write_reassignable_topic(out, item.topics, version)
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
            if version >= 1:
                item.timeout_ms, item.allow_replication_factor_change, n = _S_INT32_BOOL_BYTE.unpack_from(data, at)
                at += 6
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.timeout_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
                item.allow_replication_factor_change = True
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_reassignable_topic(data, at, version, n)
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
class ReassignablePartitionResponse:
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReassignableTopicResponse:
    name: str = ""
    partitions: list[ReassignablePartitionResponse] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterPartitionReassignmentsResponse:
    throttle_time_ms: int = 0
    allow_replication_factor_change: bool = True  # 1
    error_code: int = 0
    error_message: str | None = ""
    responses: list[ReassignableTopicResponse] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 45
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                out += _S_INT32_BOOL_INT16.pack(item.throttle_time_ms, item.allow_replication_factor_change, item.error_code)
            else:
                out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
            write_length(out, len(item.responses))
            _write_reassignable_topic_response(out, item.responses, version)
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
            if version >= 1:
                item.throttle_time_ms, item.allow_replication_factor_change, item.error_code, n = _S_INT32_BOOL_INT16_BYTE.unpack_from(data, at)
                at += 8
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
                item.allow_replication_factor_change = True
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.responses, at = _read_reassignable_topic_response(data, at, version, n)
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


def _read_reassignable_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[ReassignablePartition], int]:
    items: list[ReassignablePartition] = []
    for _ in range(count):
        item = _new(ReassignablePartition)
        item.partition_index, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.replicas = None
        else:
            item.replicas, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_reassignable_partition(out: bytearray, items: Iterable[ReassignablePartition], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.partition_index)
        if item.replicas is None:
            out.append(0)
        else:
            write_length(out, len(item.replicas))
            write_integers(out, item.replicas, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_reassignable_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[ReassignableTopic], int]:
    limit = len(data)
    items: list[ReassignableTopic] = []
    for _ in range(count):
        item = _new(ReassignableTopic)
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
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_reassignable_partition(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_reassignable_topic(out: bytearray, items: Iterable[ReassignableTopic], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_length(out, len(item.partitions))
        _write_reassignable_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_reassignable_partition_response(data: bytes, at: int, version: int, count: int) -> tuple[list[ReassignablePartitionResponse], int]:
    items: list[ReassignablePartitionResponse] = []
    for _ in range(count):
        item = _new(ReassignablePartitionResponse)
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


def _write_reassignable_partition_response(out: bytearray, items: Iterable[ReassignablePartitionResponse], version: int) -> None:
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


def _read_reassignable_topic_response(data: bytes, at: int, version: int, count: int) -> tuple[list[ReassignableTopicResponse], int]:
    limit = len(data)
    items: list[ReassignableTopicResponse] = []
    for _ in range(count):
        item = _new(ReassignableTopicResponse)
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
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 8 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_reassignable_partition_response(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_reassignable_topic_response(out: bytearray, items: Iterable[ReassignableTopicResponse], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_length(out, len(item.partitions))
        _write_reassignable_partition_response(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request AlterPartitionReassignmentsRequest key=45 versions=0-1 flexible=0+ listeners=broker,controller
  timeoutMs                     int32                    default=60000
  allowReplicationFactorChange  bool                     1 default=true
  topics                        []ReassignableTopic
    name                        string
    partitions                  []ReassignablePartition
      partitionIndex            int32
      replicas                  []int32                  nullable default=null

response AlterPartitionReassignmentsResponse key=45 versions=0-1 flexible=0+ listeners=broker,controller
  throttleTimeMs                int32
  allowReplicationFactorChange  bool                             1 default=true ignorable
  errorCode                     int16
  errorMessage                  string                           nullable
  responses                     []ReassignableTopicResponse
    name                        string
    partitions                  []ReassignablePartitionResponse
      partitionIndex            int32
      errorCode                 int16
      errorMessage              string                           nullable
"""
