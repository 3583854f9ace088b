"""AlterPartitionReassignments, API key 45, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/alter_partition_reassignments.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    COMPACT_INT32S,
    LENIENT,
    READ_FAILURES,
    count_refused,
    past_end,
    read_compact_int32s_or_null,
    read_compact_string,
    read_compact_string_or_null,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    write_integers,
    write_string_length,
    write_uvarint,
)

_INT32: Final = Struct(">i")
_INT32_BOOL: Final = Struct(">i?")
_INT32_BOOL_BYTE: Final = Struct(">i?B")
_INT32_BOOL_INT16: Final = Struct(">i?h")
_INT32_BOOL_INT16_BYTE: Final = Struct(">i?hB")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


class ReassignablePartition(MessageValue):
    """In `ReassignableTopic.partitions`, versions 0-1."""

    __slots__ = ("partition_index", "replicas", "unknown_tagged_fields")

    partition_index: int
    replicas: list[int] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas
        self.unknown_tagged_fields = unknown_tagged_fields


class ReassignableTopic(MessageValue):
    """In `AlterPartitionReassignmentsRequest.topics`, versions 0-1."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[ReassignablePartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterPartitionReassignmentsRequest(MessageValue):
    """Request of API 45, versions 0-1."""

    __slots__ = ("timeout_ms", "allow_replication_factor_change", "topics", "unknown_tagged_fields")

    timeout_ms: int
    allow_replication_factor_change: bool  # 1
    topics: list[ReassignableTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[ReassignableTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 45
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 1:
                if n < 128:
                    out += _INT32_BOOL_BYTE.pack(
                        self.timeout_ms, self.allow_replication_factor_change, n
                    )
                else:
                    out += _INT32_BOOL.pack(self.timeout_ms, self.allow_replication_factor_change)
                    write_uvarint(out, n)
            else:
                if n < 128:
                    out += _INT32_BYTE.pack(self.timeout_ms, n)
                else:
                    out += _INT32.pack(self.timeout_ms)
                    write_uvarint(out, n)
                if not self.allow_replication_factor_change:
                    raise not_in_version("allow_replication_factor_change", version)
            _write_reassignable_topic(out, self.topics, version)
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
            if version >= 1:
                (
                    message.timeout_ms,
                    message.allow_replication_factor_change,
                    n,
                ) = _INT32_BOOL_BYTE.unpack_from(data, at)
                at += 5
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.timeout_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                message.allow_replication_factor_change = True
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_reassignable_topic(data, at, version, n)
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


class ReassignablePartitionResponse(MessageValue):
    """In `ReassignableTopicResponse.partitions`, versions 0-1."""

    __slots__ = ("partition_index", "error_code", "error_message", "unknown_tagged_fields")

    partition_index: int
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class ReassignableTopicResponse(MessageValue):
    """In `AlterPartitionReassignmentsResponse.responses`, versions 0-1."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[ReassignablePartitionResponse]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartitionResponse] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterPartitionReassignmentsResponse(MessageValue):
    """Response of API 45, versions 0-1."""

    __slots__ = (
        "throttle_time_ms",
        "allow_replication_factor_change",
        "error_code",
        "error_message",
        "responses",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    allow_replication_factor_change: bool  # 1
    error_code: int
    error_message: str | None
    responses: list[ReassignableTopicResponse]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is UNSET else responses
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 45
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            if self.error_message is None:
                raw = b""
                n = 0
            else:
                raw = self.error_message.encode()
                n = len(raw) + 1
            if version >= 1:
                if n < 128:
                    out += _INT32_BOOL_INT16_BYTE.pack(
                        self.throttle_time_ms,
                        self.allow_replication_factor_change,
                        self.error_code,
                        n,
                    )
                else:
                    out += _INT32_BOOL_INT16.pack(
                        self.throttle_time_ms, self.allow_replication_factor_change, self.error_code
                    )
                    write_string_length(out, n)
            else:
                if n < 128:
                    out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
                else:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_string_length(out, n)
            out += raw
            n = len(self.responses) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_reassignable_topic_response(out, self.responses, version)
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
            if version >= 1:
                (
                    message.throttle_time_ms,
                    message.allow_replication_factor_change,
                    message.error_code,
                    n,
                ) = _INT32_BOOL_INT16_BYTE.unpack_from(data, at)
                at += 7
                if 0 < n < 128:
                    message.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.error_message, at = read_compact_string_or_null(data, at)
            else:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    n,
                ) = _INT32_INT16_BYTE.unpack_from(data, at)
                at += 6
                message.allow_replication_factor_change = True
                if 0 < n < 128:
                    message.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.error_message, at = read_compact_string_or_null(data, at)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.responses, at = _read_reassignable_topic_response(data, at, version, n)
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


def _read_reassignable_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ReassignablePartition], int]:
    items: list[ReassignablePartition] = []
    for _ in range(count):
        item = _new(ReassignablePartition)
        item.partition_index, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 17:
            item.replicas = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.replicas, at = read_compact_int32s_or_null(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_reassignable_partition(
    out: bytearray, items: Iterable[ReassignablePartition], version: int
) -> None:
    for item in items:
        if item.replicas is None:
            n = 0
        else:
            n = len(item.replicas) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.partition_index, n)
        else:
            out += _INT32.pack(item.partition_index)
            write_uvarint(out, n)
        if item.replicas is not None:
            write_integers(out, item.replicas, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_reassignable_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ReassignableTopic], int]:
    items: list[ReassignableTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(ReassignableTopic)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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


def _write_reassignable_topic(
    out: bytearray, items: Iterable[ReassignableTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_reassignable_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_reassignable_partition_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ReassignablePartitionResponse], int]:
    items: list[ReassignablePartitionResponse] = []
    for _ in range(count):
        item = _new(ReassignablePartitionResponse)
        item.partition_index, item.error_code, n = _INT32_INT16_BYTE.unpack_from(data, at)
        at += 6
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


def _write_reassignable_partition_response(
    out: bytearray, items: Iterable[ReassignablePartitionResponse], version: int
) -> None:
    for item in items:
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT32_INT16_BYTE.pack(item.partition_index, item.error_code, n)
        else:
            out += _INT32_INT16.pack(item.partition_index, item.error_code)
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_reassignable_topic_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ReassignableTopicResponse], int]:
    items: list[ReassignableTopicResponse] = []
    limit = len(data)
    for _ in range(count):
        item = _new(ReassignableTopicResponse)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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


def _write_reassignable_topic_response(
    out: bytearray, items: Iterable[ReassignableTopicResponse], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
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
