"""DeleteShareGroupOffsets, API key 92, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/delete_share_group_offsets.txt.
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
    past_end,
    read_compact_string,
    read_compact_string_or_null,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    uuid_refused,
    write_string_length,
    write_uvarint,
)

_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_UUID_INT16: Final = Struct(">16sh")
_UUID_INT16_BYTE: Final = Struct(">16shB")
_new: Final = object.__new__


class DeleteShareGroupOffsetsRequestTopic(MessageValue):
    """In `DeleteShareGroupOffsetsRequest.topics`, version 0."""

    __slots__ = ("topic_name", "unknown_tagged_fields")

    topic_name: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, topic_name: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.topic_name = topic_name
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteShareGroupOffsetsRequest(MessageValue):
    """Request of API 92, version 0."""

    __slots__ = ("group_id", "topics", "unknown_tagged_fields")

    group_id: str
    topics: list[DeleteShareGroupOffsetsRequestTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        topics: list[DeleteShareGroupOffsetsRequestTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 92
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = len(self.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_delete_share_group_offsets_request_topic(out, self.topics, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            n = data[at]
            if 0 < n < 128:
                message.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.group_id, at = read_compact_string(data, at)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 2 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_delete_share_group_offsets_request_topic(data, at, version, n)
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


class DeleteShareGroupOffsetsResponseTopic(MessageValue):
    """In `DeleteShareGroupOffsetsResponse.responses`, version 0."""

    __slots__ = ("topic_name", "topic_id", "error_code", "error_message", "unknown_tagged_fields")

    topic_name: str
    topic_id: Uuid
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_name: str = "",
        topic_id: Uuid = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteShareGroupOffsetsResponse(MessageValue):
    """Response of API 92, version 0."""

    __slots__ = (
        "throttle_time_ms", "error_code", "error_message", "responses", "unknown_tagged_fields"
    )

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: list[DeleteShareGroupOffsetsResponseTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[DeleteShareGroupOffsetsResponseTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is UNSET else responses
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 92
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.error_message is None:
                raw = b""
                n = 0
            else:
                raw = self.error_message.encode()
                n = len(raw) + 1
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
            _write_delete_share_group_offsets_response_topic(out, self.responses, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (
                message.throttle_time_ms,
                message.error_code,
                n,
            ) = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 6
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
            if not 0 <= n * 21 <= limit - at:
                raise count_refused(n, limit - at)
            message.responses, at = _read_delete_share_group_offsets_response_topic(data, at, version, n)
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


def _read_delete_share_group_offsets_request_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeleteShareGroupOffsetsRequestTopic], int]:
    items: list[DeleteShareGroupOffsetsRequestTopic] = []
    for _ in range(count):
        item = _new(DeleteShareGroupOffsetsRequestTopic)
        n = data[at]
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_delete_share_group_offsets_request_topic(
    out: bytearray, items: Iterable[DeleteShareGroupOffsetsRequestTopic], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_delete_share_group_offsets_response_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeleteShareGroupOffsetsResponseTopic], int]:
    items: list[DeleteShareGroupOffsetsResponseTopic] = []
    for _ in range(count):
        item = _new(DeleteShareGroupOffsetsResponseTopic)
        n = data[at]
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        item.topic_id, item.error_code, n = _UUID_INT16_BYTE.unpack_from(data, at)
        at += 18
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


def _write_delete_share_group_offsets_response_topic(
    out: bytearray, items: Iterable[DeleteShareGroupOffsetsResponseTopic], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_INT16_BYTE.pack(item.topic_id, item.error_code, n)
        else:
            out += _UUID_INT16.pack(item.topic_id, item.error_code)
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request DeleteShareGroupOffsetsRequest key=92 versions=0 flexible=0+ listeners=broker
  groupId      string
  topics       []DeleteShareGroupOffsetsRequestTopic
    topicName  string

response DeleteShareGroupOffsetsResponse key=92 versions=0 flexible=0+ listeners=broker
  throttleTimeMs  int32
  errorCode       int16
  errorMessage    string                                  nullable default=null
  responses       []DeleteShareGroupOffsetsResponseTopic
    topicName     string
    topicId       uuid
    errorCode     int16
    errorMessage  string                                  nullable default=null
"""
