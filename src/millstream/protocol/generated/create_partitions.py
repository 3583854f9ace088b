"""CreatePartitions, API key 37, versions 0-3: request and response.

Written by `make codegen` from codegen/schemas/create_partitions.txt.
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
    null_refused,
    past_end,
    read_compact_int32s,
    read_compact_string,
    read_compact_string_or_null,
    read_integers,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    tags_refused,
    write_compact_int32s,
    write_int32s,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BOOL: Final = Struct(">i?")
_INT32_BOOL_BYTE: Final = Struct(">i?B")
_INT32_BOOL_ZERO: Final = Struct(">i?x")
_INT32_BYTE: Final = Struct(">iB")
_S2INT16: Final = Struct(">hh")
_S2INT32: Final = Struct(">ii")
_new: Final = object.__new__


class CreatePartitionsAssignment(MessageValue):
    """In `CreatePartitionsTopic.assignments`, versions 0-3."""

    __slots__ = ("broker_ids", "unknown_tagged_fields")

    broker_ids: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, broker_ids: list[int] = UNSET, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.broker_ids = [] if broker_ids is UNSET else broker_ids
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatePartitionsTopic(MessageValue):
    """In `CreatePartitionsRequest.topics`, versions 0-3."""

    __slots__ = ("name", "count", "assignments", "unknown_tagged_fields")

    name: str
    count: int
    assignments: list[CreatePartitionsAssignment] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = [] if assignments is UNSET else assignments
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatePartitionsRequest(MessageValue):
    """Request of API 37, versions 0-3."""

    __slots__ = ("topics", "timeout_ms", "validate_only", "unknown_tagged_fields")

    topics: list[CreatePartitionsTopic]
    timeout_ms: int
    validate_only: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[CreatePartitionsTopic] = UNSET,
        timeout_ms: int = 0,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 37
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 3:
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
            _write_create_partitions_topic(out, self.topics, version)
            if version >= 2:
                if self.unknown_tagged_fields:
                    out += _INT32_BOOL.pack(self.timeout_ms, self.validate_only)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_BOOL_ZERO.pack(self.timeout_ms, self.validate_only)
            else:
                out += _INT32_BOOL.pack(self.timeout_ms, self.validate_only)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 3:
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
            if not 0 <= n * 7 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_create_partitions_topic(data, at, version, n)
            if version >= 2:
                (
                    message.timeout_ms,
                    message.validate_only,
                    tags,
                ) = _INT32_BOOL_BYTE.unpack_from(data, at)
                at += 6
            else:
                message.timeout_ms, message.validate_only = _INT32_BOOL.unpack_from(data, at)
                at += 5
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class CreatePartitionsTopicResult(MessageValue):
    """In `CreatePartitionsResponse.results`, versions 0-3."""

    __slots__ = ("name", "error_code", "error_message", "unknown_tagged_fields")

    name: str
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatePartitionsResponse(MessageValue):
    """Response of API 37, versions 0-3."""

    __slots__ = ("throttle_time_ms", "results", "unknown_tagged_fields")

    throttle_time_ms: int
    results: list[CreatePartitionsTopicResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsTopicResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 37
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            n = len(self.results) + 1
            if version >= 2:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_create_partitions_topic_result(out, self.results, version)
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
        if not 0 <= version <= 3:
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
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            message.results, at = _read_create_partitions_topic_result(data, at, version, n)
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


def _read_create_partitions_assignment(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CreatePartitionsAssignment], int]:
    items: list[CreatePartitionsAssignment] = []
    for _ in range(count):
        item = _new(CreatePartitionsAssignment)
        if version >= 2:
            n = data[at]
            if 0 < n < 17:
                item.broker_ids = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.broker_ids, at = read_compact_int32s(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            item.broker_ids, at = read_integers(data, at, n, "i", 4)
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


def _write_create_partitions_assignment(
    out: bytearray, items: Iterable[CreatePartitionsAssignment], version: int
) -> None:
    for item in items:
        if version >= 2:
            write_compact_int32s(out, item.broker_ids)
        else:
            write_int32s(out, item.broker_ids)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_create_partitions_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CreatePartitionsTopic], int]:
    items: list[CreatePartitionsTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(CreatePartitionsTopic)
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
            item.count, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            item.count, n = _S2INT32.unpack_from(data, at)
            at += 8
        if n < 0:
            item.assignments = None
        else:
            if not 0 <= n * 2 <= limit - at:
                raise count_refused(n, limit - at)
            item.assignments, at = _read_create_partitions_assignment(data, at, version, n)
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


def _write_create_partitions_topic(
    out: bytearray, items: Iterable[CreatePartitionsTopic], version: int
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
        if item.assignments is None:
            n = 0
        else:
            n = len(item.assignments) + 1
        if version >= 2:
            if n < 128:
                out += _INT32_BYTE.pack(item.count, n)
            else:
                out += _INT32.pack(item.count)
                write_uvarint(out, n)
        else:
            out += _S2INT32.pack(item.count, n - 1)
        if item.assignments is not None:
            _write_create_partitions_assignment(out, item.assignments, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_create_partitions_topic_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CreatePartitionsTopicResult], int]:
    items: list[CreatePartitionsTopicResult] = []
    for _ in range(count):
        item = _new(CreatePartitionsTopicResult)
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
            item.error_code, n = _INT16_BYTE.unpack_from(data, at)
            at += 2
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        else:
            item.error_code, n = _S2INT16.unpack_from(data, at)
            at += 4
            if n < 0:
                item.error_message = None
            else:
                item.error_message = data[at : at + n].decode("utf-8", LENIENT)
                at += n
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


def _write_create_partitions_topic_result(
    out: bytearray, items: Iterable[CreatePartitionsTopicResult], version: int
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
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _INT16_BYTE.pack(item.error_code, n)
            else:
                out += _INT16.pack(item.error_code)
                write_string_length(out, n)
        else:
            out += _S2INT16.pack(item.error_code, n - 1)
        out += raw
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request CreatePartitionsRequest key=37 versions=0-3 flexible=2+ listeners=broker,controller
  topics         []CreatePartitionsTopic
    name         string
    count        int32
    assignments  []CreatePartitionsAssignment  nullable
      brokerIds  []int32
  timeoutMs      int32
  validateOnly   bool

response CreatePartitionsResponse key=37 versions=0-3 flexible=2+ listeners=broker,controller
  throttleTimeMs  int32
  results         []CreatePartitionsTopicResult
    name          string
    errorCode     int16
    errorMessage  string                         nullable default=null
"""
