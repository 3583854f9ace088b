"""CreatePartitions, API key 37, versions 0-3: request and response.

Written by `make codegen` from codegen/schemas/create_partitions.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_2INT16: Final = Struct(">hh")
_S_2INT32: Final = Struct(">ii")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BOOL: Final = Struct(">i?")
_S_INT32_BOOL_BYTE: Final = Struct(">i?B")
_S_INT32_BYTE: Final = Struct(">iB")
_new: Final = object.__new__


@dataclass(slots=True)
class CreatePartitionsAssignment:
    broker_ids: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreatePartitionsTopic:
    name: str = ""
    count: int = 0
    assignments: list[CreatePartitionsAssignment] | None = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreatePartitionsRequest:
    topics: list[CreatePartitionsTopic] = field(default_factory=list)
    timeout_ms: int = 0
    validate_only: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 37
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_create_partitions_topic(out, item.topics, version)
            out += _S_INT32_BOOL.pack(item.timeout_ms, item.validate_only)
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
        if not 0 <= version <= 3:
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
            if not 0 <= n * 7 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_create_partitions_topic(data, at, version, n)
            if version >= 2:
                item.timeout_ms, item.validate_only, tags = _S_INT32_BOOL_BYTE.unpack_from(data, at)
                at += 6
            else:
                item.timeout_ms, item.validate_only = _S_INT32_BOOL.unpack_from(data, at)
                at += 5
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
class CreatePartitionsTopicResult:
    name: str = ""
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreatePartitionsResponse:
    throttle_time_ms: int = 0
    results: list[CreatePartitionsTopicResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 37
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 2:
                write_length(out, len(item.results))
            else:
                out += _S_INT32.pack(len(item.results))
            _write_create_partitions_topic_result(out, item.results, version)
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
        if not 0 <= version <= 3:
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
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            item.results, at = _read_create_partitions_topic_result(data, at, version, n)
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


def _read_create_partitions_assignment(data: bytes, at: int, version: int, count: int) -> tuple[list[CreatePartitionsAssignment], int]:
    items: list[CreatePartitionsAssignment] = []
    for _ in range(count):
        item = _new(CreatePartitionsAssignment)
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


def _write_create_partitions_assignment(out: bytearray, items: Iterable[CreatePartitionsAssignment], version: int) -> None:
    for item in items:
        if version >= 2:
            write_length(out, len(item.broker_ids))
        else:
            out += _S_INT32.pack(len(item.broker_ids))
        write_integers(out, item.broker_ids, "i")
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_create_partitions_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[CreatePartitionsTopic], int]:
    limit = len(data)
    items: list[CreatePartitionsTopic] = []
    for _ in range(count):
        item = _new(CreatePartitionsTopic)
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
            item.count, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            item.count, n = _S_2INT32.unpack_from(data, at)
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


def _write_create_partitions_topic(out: bytearray, items: Iterable[CreatePartitionsTopic], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        out += _S_INT32.pack(item.count)
        if item.assignments is None:
            if version >= 2:
                out.append(0)
            else:
                out += b"\xff\xff\xff\xff"
        else:
            if version >= 2:
                write_length(out, len(item.assignments))
            else:
                out += _S_INT32.pack(len(item.assignments))
            _write_create_partitions_assignment(out, item.assignments, version)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_create_partitions_topic_result(data: bytes, at: int, version: int, count: int) -> tuple[list[CreatePartitionsTopicResult], int]:
    items: list[CreatePartitionsTopicResult] = []
    for _ in range(count):
        item = _new(CreatePartitionsTopicResult)
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
            item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.error_code, n = _S_2INT16.unpack_from(data, at)
            at += 4
        if n < 0:
            item.error_message = None
        else:
            at += n
            item.error_message = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_create_partitions_topic_result(out: bytearray, items: Iterable[CreatePartitionsTopicResult], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        out += _S_INT16.pack(item.error_code)
        if item.error_message is None:
            if version >= 2:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 2:
                write_compact_string(out, item.error_message)
            else:
                write_string(out, item.error_message)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)

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
