"""LeaveGroup, API key 13, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/leave_group.txt.
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
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT16_INT32: Final = Struct(">ihi")
_new: Final = object.__new__


@dataclass(slots=True)
class MemberIdentity:
    member_id: str = ""
    group_instance_id: str | None = None
    reason: str | None = None  # 5
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class LeaveGroupRequest:
    group_id: str = ""
    member_id: str = ""  # 0-2
    members: list[MemberIdentity] = field(default_factory=list)  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 13
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
            if version <= 2:
                write_string(out, item.member_id)
            elif item.member_id:
                raise not_in_version("member_id", version)
            if version >= 3:
                if version >= 4:
                    write_length(out, len(item.members))
                else:
                    out += _S_INT32.pack(len(item.members))
                _write_member_identity(out, item.members, version)
            elif item.members:
                raise not_in_version("members", version)
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
            if version >= 3:
                pass
            else:
                (n,) = _S_INT16.unpack_from(data, at)
                at += 2
            if version <= 2:
                if n < 0:
                    raise null_refused()
                at += n
                item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.member_id = ""
            if version >= 4:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 3:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            else:
                pass
            if version >= 3:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.members, at = _read_member_identity(data, at, version, n)
            else:
                item.members = []
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
class MemberResponse:
    member_id: str = ""
    group_instance_id: str | None = ""
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class LeaveGroupResponse:
    throttle_time_ms: int = 0  # 1+
    error_code: int = 0
    members: list[MemberResponse] = field(default_factory=list)  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 13
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
            if version >= 3:
                if version >= 4:
                    write_length(out, len(item.members))
                else:
                    out += _S_INT32.pack(len(item.members))
                _write_member_response(out, item.members, version)
            elif item.members:
                raise not_in_version("members", version)
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
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 3:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_INT32.unpack_from(data, at)
                at += 10
            elif version >= 1:
                item.throttle_time_ms, item.error_code = _S_INT32_INT16.unpack_from(data, at)
                at += 6
            else:
                (item.error_code,) = _S_INT16.unpack_from(data, at)
                at += 2
                item.throttle_time_ms = 0
            if version >= 3:
                if not 0 <= n * 5 <= limit - at:
                    raise count_refused(n, limit - at)
                item.members, at = _read_member_response(data, at, version, n)
            else:
                item.members = []
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


def _read_member_identity(data: bytes, at: int, version: int, count: int) -> tuple[list[MemberIdentity], int]:
    items: list[MemberIdentity] = []
    for _ in range(count):
        item = _new(MemberIdentity)
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
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if n < 0:
            item.group_instance_id = None
        else:
            at += n
            item.group_instance_id = data[at - n : at].decode("utf-8", LENIENT)
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
                item.reason = None
            else:
                at += n
                item.reason = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.reason = None
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


def _write_member_identity(out: bytearray, items: Iterable[MemberIdentity], version: int) -> None:
    for item in items:
        if version >= 4:
            write_compact_string(out, item.member_id)
        else:
            write_string(out, item.member_id)
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
        if version >= 5:
            if item.reason is None:
                out.append(0)
            else:
                write_compact_string(out, item.reason)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)


def _read_member_response(data: bytes, at: int, version: int, count: int) -> tuple[list[MemberResponse], int]:
    items: list[MemberResponse] = []
    for _ in range(count):
        item = _new(MemberResponse)
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
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if n < 0:
            item.group_instance_id = None
        else:
            at += n
            item.group_instance_id = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 4:
            item.error_code, tags = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
        else:
            (item.error_code,) = _S_INT16.unpack_from(data, at)
            at += 2
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_member_response(out: bytearray, items: Iterable[MemberResponse], version: int) -> None:
    for item in items:
        if version >= 4:
            write_compact_string(out, item.member_id)
        else:
            write_string(out, item.member_id)
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
        out += _S_INT16.pack(item.error_code)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)

SCHEMA: Final = """\
request LeaveGroupRequest key=13 versions=0-5 flexible=4+ listeners=broker
  groupId            string
  memberId           string            0-2
  members            []MemberIdentity  3+
    memberId         string
    groupInstanceId  string            nullable default=null
    reason           string            5 nullable default=null ignorable

response LeaveGroupResponse key=13 versions=0-5 flexible=4+ listeners=broker
  throttleTimeMs     int32             1+ ignorable
  errorCode          int16
  members            []MemberResponse  3+
    memberId         string
    groupInstanceId  string            nullable
    errorCode        int16
"""
