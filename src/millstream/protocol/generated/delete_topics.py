"""DeleteTopics, API key 20, versions 1-6: request and response.

Written by `make codegen` from codegen/schemas/delete_topics.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_compact_strings, read_length, read_string_length, read_strings
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, must_not_be_null, not_in_version, tags_refused, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_S_UUID_INT16: Final = Struct(">16sh")
_S_UUID_INT16_BYTE: Final = Struct(">16shB")
_new: Final = object.__new__


@dataclass(slots=True)
class DeleteTopicState:
    name: str | None = None
    topic_id: Uuid = ZERO_UUID
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DeleteTopicsRequest:
    topics: list[DeleteTopicState] = field(default_factory=list)  # 6
    topic_names: list[str] = field(default_factory=list)  # 1-5
    timeout_ms: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 20
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 6:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 6:
                write_length(out, len(item.topics))
                _write_delete_topic_state(out, item.topics, version)
            elif item.topics:
                raise not_in_version("topics", version)
            if version <= 5:
                if version >= 4:
                    write_length(out, len(item.topic_names))
                else:
                    out += _S_INT32.pack(len(item.topic_names))
                for text in item.topic_names:
                    if version >= 4:
                        write_compact_string(out, text)
                    else:
                        write_string(out, text)
            out += _S_INT32.pack(item.timeout_ms)
            if item.unknown_tagged_fields:
                if version < 4:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 4:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 6:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 6:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 6:
                if not 0 <= n * 18 <= limit - at:
                    raise count_refused(n, limit - at)
                item.topics, at = _read_delete_topic_state(data, at, version, n)
            else:
                item.topics = []
            if version >= 6:
                pass
            elif version >= 4:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if version <= 5:
                if version >= 4:
                    item.topic_names, at = read_compact_strings(data, at, n)
                else:
                    item.topic_names, at = read_strings(data, at, n)
            else:
                item.topic_names = []
            if version >= 4:
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
class DeletableTopicResult:
    name: str | None = ""
    topic_id: Uuid = ZERO_UUID  # 6
    error_code: int = 0
    error_message: str | None = None  # 5+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DeleteTopicsResponse:
    throttle_time_ms: int = 0
    responses: list[DeletableTopicResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 20
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 6:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 4:
                write_length(out, len(item.responses))
            else:
                out += _S_INT32.pack(len(item.responses))
            _write_deletable_topic_result(out, item.responses, version)
            if item.unknown_tagged_fields:
                if version < 4:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 4:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 6:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            item.responses, at = _read_deletable_topic_result(data, at, version, n)
            if version >= 4:
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


def _read_delete_topic_state(data: bytes, at: int, version: int, count: int) -> tuple[list[DeleteTopicState], int]:
    items: list[DeleteTopicState] = []
    for _ in range(count):
        item = _new(DeleteTopicState)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.name = None
        else:
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
        item.topic_id, tags = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_delete_topic_state(out: bytearray, items: Iterable[DeleteTopicState], version: int) -> None:
    for item in items:
        if item.name is None:
            out.append(0)
        else:
            write_compact_string(out, item.name)
        out += _S_UUID.pack(item.topic_id)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_deletable_topic_result(data: bytes, at: int, version: int, count: int) -> tuple[list[DeletableTopicResult], int]:
    items: list[DeletableTopicResult] = []
    for _ in range(count):
        item = _new(DeletableTopicResult)
        if version >= 4:
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
            if not (version >= 6):
                raise null_refused()
            item.name = None
        else:
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 6:
            item.topic_id, item.error_code, n = _S_UUID_INT16_BYTE.unpack_from(data, at)
            at += 19
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 5:
            item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            item.topic_id = ZERO_UUID
        else:
            (item.error_code,) = _S_INT16.unpack_from(data, at)
            at += 2
            item.topic_id = ZERO_UUID
        if version >= 5:
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.error_message = None
        if version >= 4:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_deletable_topic_result(out: bytearray, items: Iterable[DeletableTopicResult], version: int) -> None:
    for item in items:
        if item.name is None:
            if not (version >= 6):
                raise must_not_be_null("name", version)
            if version >= 4:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 4:
                write_compact_string(out, item.name)
            else:
                write_string(out, item.name)
        if version >= 6:
            out += _S_UUID_INT16.pack(item.topic_id, item.error_code)
        else:
            out += _S_INT16.pack(item.error_code)
        if version >= 5:
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)

SCHEMA: Final = """\
request DeleteTopicsRequest key=20 versions=1-6 flexible=4+ listeners=broker,controller
  topics      []DeleteTopicState  6
    name      string              nullable default=null
    topicId   uuid
  topicNames  []string            1-5 ignorable
  timeoutMs   int32

response DeleteTopicsResponse key=20 versions=1-6 flexible=4+ listeners=broker,controller
  throttleTimeMs  int32
  responses       []DeletableTopicResult
    name          string                  nullable=6
    topicId       uuid                    6 ignorable
    errorCode     int16
    errorMessage  string                  5+ nullable default=null ignorable
"""
