"""Heartbeat, API key 12, versions 0-4: request and response.

Written by `make codegen` from codegen/schemas/heartbeat.txt.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, null_refused, past_end, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_string

_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


@dataclass(slots=True)
class HeartbeatRequest:
    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 12
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 4:
                write_compact_string(out, item.group_id)
            else:
                write_string(out, item.group_id)
            out += _S_INT32.pack(item.generation_id)
            if version >= 4:
                write_compact_string(out, item.member_id)
            else:
                write_string(out, item.member_id)
            if version >= 3:
                if item.group_instance_id is None:
                    if version >= 4:
                        out.append(0)
                    else:
                        out += b"\xff\xff"
                else:
                    if version >= 4:
                        write_compact_string(out, item.group_instance_id)
                    else:
                        write_string(out, item.group_instance_id)
            elif item.group_instance_id is not None:
                raise not_in_version("group_instance_id", version)
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
        if not 0 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
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
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 4:
                item.generation_id, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.generation_id, n = _S_INT32_INT16.unpack_from(data, at)
                at += 6
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 4:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 3:
                (n,) = _S_INT16.unpack_from(data, at)
                at += 2
            else:
                pass
            if version >= 3:
                if n < 0:
                    item.group_instance_id = None
                else:
                    at += n
                    item.group_instance_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.group_instance_id = None
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


@dataclass(slots=True)
class HeartbeatResponse:
    throttle_time_ms: int = 0  # 1+
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 12
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            else:
                out += _S_INT16.pack(item.error_code)
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
        if not 0 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
                item.throttle_time_ms, item.error_code, tags = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
            elif version >= 1:
                item.throttle_time_ms, item.error_code = _S_INT32_INT16.unpack_from(data, at)
                at += 6
                tags = 0
            else:
                (item.error_code,) = _S_INT16.unpack_from(data, at)
                at += 2
                tags = 0
                item.throttle_time_ms = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


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
