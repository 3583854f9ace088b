"""SyncGroup, API key 14, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/sync_group.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_length, write_string

_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


@dataclass(slots=True)
class SyncGroupRequestAssignment:
    member_id: str = ""
    assignment: bytes = b""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class SyncGroupRequest:
    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None  # 3+
    protocol_type: str | None = None  # 5
    protocol_name: str | None = None  # 5
    assignments: list[SyncGroupRequestAssignment] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 14
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
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
            if version >= 5:
                if item.protocol_type is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.protocol_type)
            if version >= 5:
                if item.protocol_name is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.protocol_name)
            if version >= 4:
                write_length(out, len(item.assignments))
            else:
                out += _S_INT32.pack(len(item.assignments))
            _write_sync_group_request_assignment(out, item.assignments, version)
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
        if not 0 <= version <= 5:
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
            if version >= 5:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 5:
                if n < 0:
                    item.protocol_type = None
                else:
                    at += n
                    item.protocol_type = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.protocol_type = None
            if version >= 5:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 5:
                if n < 0:
                    item.protocol_name = None
                else:
                    at += n
                    item.protocol_name = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.protocol_name = None
            if version >= 4:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.assignments, at = _read_sync_group_request_assignment(data, at, version, n)
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
class SyncGroupResponse:
    throttle_time_ms: int = 0  # 1+
    error_code: int = 0
    protocol_type: str | None = None  # 5
    protocol_name: str | None = None  # 5
    assignment: bytes = b""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 14
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            else:
                out += _S_INT16.pack(item.error_code)
            if version >= 5:
                if item.protocol_type is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.protocol_type)
            if version >= 5:
                if item.protocol_name is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.protocol_name)
            if version >= 4:
                write_length(out, len(item.assignment))
            else:
                out += _S_INT32.pack(len(item.assignment))
            out += item.assignment
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
        if not 0 <= version <= 5:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 5:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                item.throttle_time_ms, item.error_code = _S_INT32_INT16.unpack_from(data, at)
                at += 6
            else:
                (item.error_code,) = _S_INT16.unpack_from(data, at)
                at += 2
                item.throttle_time_ms = 0
            if version >= 5:
                if n < 0:
                    item.protocol_type = None
                else:
                    at += n
                    item.protocol_type = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.protocol_type = None
            if version >= 5:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 5:
                if n < 0:
                    item.protocol_name = None
                else:
                    at += n
                    item.protocol_name = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.protocol_name = None
            if version >= 4:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if n < 0:
                raise null_refused()
            at += n
            item.assignment = data[at - n : at]
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


def _read_sync_group_request_assignment(data: bytes, at: int, version: int, count: int) -> tuple[list[SyncGroupRequestAssignment], int]:
    items: list[SyncGroupRequestAssignment] = []
    for _ in range(count):
        item = _new(SyncGroupRequestAssignment)
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
        item.member_id = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 4:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        if n < 0:
            raise null_refused()
        at += n
        item.assignment = data[at - n : at]
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


def _write_sync_group_request_assignment(out: bytearray, items: Iterable[SyncGroupRequestAssignment], version: int) -> None:
    for item in items:
        if version >= 4:
            write_compact_string(out, item.member_id)
        else:
            write_string(out, item.member_id)
        if version >= 4:
            write_length(out, len(item.assignment))
        else:
            out += _S_INT32.pack(len(item.assignment))
        out += item.assignment
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)

SCHEMA: Final = """\
request SyncGroupRequest key=14 versions=0-5 flexible=4+ listeners=broker
  groupId          string
  generationId     int32
  memberId         string
  groupInstanceId  string                        3+ nullable default=null
  protocolType     string                        5 nullable default=null ignorable
  protocolName     string                        5 nullable default=null ignorable
  assignments      []SyncGroupRequestAssignment
    memberId       string
    assignment     bytes

response SyncGroupResponse key=14 versions=0-5 flexible=4+ listeners=broker
  throttleTimeMs  int32   1+ ignorable
  errorCode       int16
  protocolType    string  5 nullable default=null ignorable
  protocolName    string  5 nullable default=null ignorable
  assignment      bytes
"""
