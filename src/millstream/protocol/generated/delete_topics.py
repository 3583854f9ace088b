"""DeleteTopics, API key 20, versions 1-6: request and response.

Written by `make codegen` from codegen/schemas/delete_topics.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_compact_string,
    read_compact_string_or_null,
    read_compact_strings,
    read_length,
    read_strings,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    uuid_refused,
    write_compact_strings,
    write_string_length,
    write_strings,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_ZERO: Final = Struct(">ix")
_S2INT32: Final = Struct(">ii")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_UUID_INT16: Final = Struct(">16sh")
_UUID_INT16_BYTE: Final = Struct(">16shB")
_UUID_ZERO: Final = Struct(">16sx")
_new: Final = object.__new__


class DeleteTopicState(MessageValue):
    """In `DeleteTopicsRequest.topics`, version 6."""

    __slots__ = ("name", "topic_id", "unknown_tagged_fields")

    name: str | None
    topic_id: Uuid
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str | None = None,
        topic_id: Uuid = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteTopicsRequest(MessageValue):
    """Request of API 20, versions 1-6."""

    __slots__ = ("topics", "topic_names", "timeout_ms", "unknown_tagged_fields")

    topics: list[DeleteTopicState]  # 6
    topic_names: list[str]  # 1-5
    timeout_ms: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[DeleteTopicState] = UNSET,
        topic_names: list[str] = UNSET,
        timeout_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.topic_names = [] if topic_names is UNSET else topic_names
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 20
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 6:
            raise version_refused(type(self), version)
        try:
            if version >= 6:
                n = len(self.topics) + 1
            if version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif self.topics:
                raise not_in_version("topics", version)
            if version >= 6:
                _write_delete_topic_state(out, self.topics, version)
            if version <= 5:
                n = len(self.topic_names) + 1
            if version >= 6:
                pass
            elif version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            if version <= 5:
                if version >= 4:
                    write_compact_strings(out, self.topic_names)
                else:
                    write_strings(out, self.topic_names)
            if version >= 4:
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
        if not 1 <= version <= 6:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 6:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.topics = []
            if version >= 6:
                if not 0 <= n * 18 <= limit - at:
                    raise count_refused(n, limit - at)
                message.topics, at = _read_delete_topic_state(data, at, version, n)
            if version >= 6:
                message.topic_names = []
            elif version >= 4:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if version <= 5:
                if version >= 4:
                    message.topic_names, at = read_compact_strings(data, at, n)
                else:
                    message.topic_names, at = read_strings(data, at, n)
            if version >= 4:
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


class DeletableTopicResult(MessageValue):
    """In `DeleteTopicsResponse.responses`, versions 1-6."""

    __slots__ = ("name", "topic_id", "error_code", "error_message", "unknown_tagged_fields")

    name: str | None
    topic_id: Uuid  # 6
    error_code: int
    error_message: str | None  # 5+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str | None = "",
        topic_id: Uuid = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteTopicsResponse(MessageValue):
    """Response of API 20, versions 1-6."""

    __slots__ = ("throttle_time_ms", "responses", "unknown_tagged_fields")

    throttle_time_ms: int
    responses: list[DeletableTopicResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[DeletableTopicResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is UNSET else responses
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 20
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 6:
            raise version_refused(type(self), version)
        try:
            n = len(self.responses) + 1
            if version >= 4:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_deletable_topic_result(out, self.responses, version)
            if version >= 4:
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
        if not 1 <= version <= 6:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
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
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            message.responses, at = _read_deletable_topic_result(data, at, version, n)
            if version >= 4:
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


def _read_delete_topic_state(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeleteTopicState], int]:
    items: list[DeleteTopicState] = []
    for _ in range(count):
        item = _new(DeleteTopicState)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string_or_null(data, at)
        item.topic_id, tags = _UUID_BYTE.unpack_from(data, at)
        at += 17
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_delete_topic_state(
    out: bytearray, items: Iterable[DeleteTopicState], version: int
) -> None:
    for item in items:
        if item.name is None:
            raw = b""
            n = 0
        else:
            raw = item.name.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if item.unknown_tagged_fields:
            out += _UUID.pack(item.topic_id)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UUID_ZERO.pack(item.topic_id)


def _read_deletable_topic_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeletableTopicResult], int]:
    items: list[DeletableTopicResult] = []
    for _ in range(count):
        item = _new(DeletableTopicResult)
        if version >= 4:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                if version >= 6:
                    item.name, at = read_compact_string_or_null(data, at)
                else:
                    item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                if not (version >= 6):
                    raise null_refused()
                item.name = None
            else:
                item.name = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 6:
            item.topic_id, item.error_code, n = _UUID_INT16_BYTE.unpack_from(data, at)
            at += 18
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        elif version >= 5:
            item.error_code, n = _INT16_BYTE.unpack_from(data, at)
            at += 2
            item.topic_id = ZERO_UUID
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        else:
            (item.error_code,) = _INT16.unpack_from(data, at)
            at += 2
            item.topic_id = ZERO_UUID
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


def _write_deletable_topic_result(
    out: bytearray, items: Iterable[DeletableTopicResult], version: int
) -> None:
    for item in items:
        if item.name is None:
            if not (version >= 6):
                raise must_not_be_null("name", version)
            raw = b""
            n = 0
        else:
            raw = item.name.encode()
            n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 5:
            if item.error_message is None:
                raw = b""
                n = 0
            else:
                raw = item.error_message.encode()
                n = len(raw) + 1
        if version >= 6:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_INT16_BYTE.pack(item.topic_id, item.error_code, n)
            else:
                out += _UUID_INT16.pack(item.topic_id, item.error_code)
                write_string_length(out, n)
        elif version >= 5:
            if n < 128:
                out += _INT16_BYTE.pack(item.error_code, n)
            else:
                out += _INT16.pack(item.error_code)
                write_string_length(out, n)
        else:
            out += _INT16.pack(item.error_code)
        if version >= 5:
            out += raw
        if version >= 4:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

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
