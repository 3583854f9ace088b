"""Heartbeat, API key 12, versions 0-4: request and response.

Written by `make codegen` from codegen/schemas/heartbeat.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    null_refused,
    past_end,
    read_compact_string,
    read_compact_string_or_null,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    write_string_length,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_ZERO: Final = Struct(">ihx")
_new: Final = object.__new__


class HeartbeatRequest(MessageValue):
    """Request of API 12, versions 0-4."""

    __slots__ = (
        "group_id", "generation_id", "member_id", "group_instance_id", "unknown_tagged_fields"
    )

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 12
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            if version >= 4:
                if n < 128:
                    out += _INT32_BYTE.pack(self.generation_id, n)
                else:
                    out += _INT32.pack(self.generation_id)
                    write_string_length(out, n)
            else:
                out += _INT32_INT16.pack(self.generation_id, n - 1)
            out += raw
            if version >= 3:
                if self.group_instance_id is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.group_instance_id.encode()
                    n = len(raw) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif version >= 3:
                out += _INT16.pack(n - 1)
            elif self.group_instance_id is not None:
                raise not_in_version("group_instance_id", version)
            if version >= 3:
                out += raw
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
        if not 0 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
                n = data[at]
                if 0 < n < 128:
                    message.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.group_id, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.group_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 4:
                message.generation_id, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if 0 < n < 128:
                    message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.member_id, at = read_compact_string(data, at)
            else:
                message.generation_id, n = _INT32_INT16.unpack_from(data, at)
                at += 6
                if n < 0:
                    raise null_refused()
                message.member_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 4:
                n = data[at]
                if 0 < n < 128:
                    message.group_instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.group_instance_id, at = read_compact_string_or_null(data, at)
            elif version >= 3:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    message.group_instance_id = None
                else:
                    message.group_instance_id = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            else:
                message.group_instance_id = None
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


class HeartbeatResponse(MessageValue):
    """Response of API 12, versions 0-4."""

    __slots__ = ("throttle_time_ms", "error_code", "unknown_tagged_fields")

    throttle_time_ms: int  # 1+
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 12
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            if version >= 4:
                if self.unknown_tagged_fields:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_INT16_ZERO.pack(self.throttle_time_ms, self.error_code)
            elif version >= 1:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
            else:
                out += _INT16.pack(self.error_code)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    tags,
                ) = _INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
            elif version >= 1:
                message.throttle_time_ms, message.error_code = _INT32_INT16.unpack_from(data, at)
                at += 6
                tags = 0
            else:
                (message.error_code,) = _INT16.unpack_from(data, at)
                at += 2
                message.throttle_time_ms = 0
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


SCHEMA: Final = """\
request HeartbeatRequest key=12 versions=0-4 flexible=4+ listeners=broker
  groupId          string
  generationId     int32
  memberId         string
  groupInstanceId  string  3+ nullable default=null

response HeartbeatResponse key=12 versions=0-4 flexible=4+ listeners=broker
  throttleTimeMs  int32  1+ ignorable
  errorCode       int16
"""
