"""LeaveGroup, API key 13, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/leave_group.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

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
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT16_ZERO: Final = Struct(">hx")
_INT32: Final = Struct(">i")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_INT32: Final = Struct(">ihi")
_new: Final = object.__new__


class MemberIdentity(MessageValue):
    """In `LeaveGroupRequest.members`, versions 3-5."""

    __slots__ = ("member_id", "group_instance_id", "reason", "unknown_tagged_fields")

    member_id: str
    group_instance_id: str | None
    reason: str | None  # 5
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason
        self.unknown_tagged_fields = unknown_tagged_fields


class LeaveGroupRequest(MessageValue):
    """Request of API 13, versions 0-5."""

    __slots__ = ("group_id", "member_id", "members", "unknown_tagged_fields")

    group_id: str
    member_id: str  # 0-2
    members: list[MemberIdentity]  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: list[MemberIdentity] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is UNSET else members
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 13
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
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
            if version <= 2:
                raw = self.member_id.encode()
                n = len(raw) + 1
            if version >= 3:
                if self.member_id:
                    raise not_in_version("member_id", version)
            else:
                out += _INT16.pack(n - 1)
            if version <= 2:
                out += raw
            if version >= 3:
                n = len(self.members) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif version >= 3:
                out += _INT32.pack(n - 1)
            elif self.members:
                raise not_in_version("members", version)
            if version >= 3:
                _write_member_identity(out, self.members, version)
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
        if not 0 <= version <= 5:
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
            if version >= 3:
                message.member_id = ""
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.member_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 4:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 3:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            else:
                message.members = []
            if version >= 3:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.members, at = _read_member_identity(data, at, version, n)
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


class MemberResponse(MessageValue):
    """In `LeaveGroupResponse.members`, versions 3-5."""

    __slots__ = ("member_id", "group_instance_id", "error_code", "unknown_tagged_fields")

    member_id: str
    group_instance_id: str | None
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class LeaveGroupResponse(MessageValue):
    """Response of API 13, versions 0-5."""

    __slots__ = ("throttle_time_ms", "error_code", "members", "unknown_tagged_fields")

    throttle_time_ms: int  # 1+
    error_code: int
    members: list[MemberResponse]  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[MemberResponse] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = [] if members is UNSET else members
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 13
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            if version >= 3:
                n = len(self.members) + 1
            if version >= 4:
                if n < 128:
                    out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
                else:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_uvarint(out, n)
            elif version >= 3:
                out += _INT32_INT16_INT32.pack(self.throttle_time_ms, self.error_code, n - 1)
            elif version >= 1:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                if self.members:
                    raise not_in_version("members", version)
            else:
                out += _INT16.pack(self.error_code)
                if self.members:
                    raise not_in_version("members", version)
            if version >= 3:
                _write_member_response(out, self.members, version)
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
        if not 0 <= version <= 5:
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
                    n,
                ) = _INT32_INT16_BYTE.unpack_from(data, at)
                at += 6
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 3:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    n,
                ) = _INT32_INT16_INT32.unpack_from(data, at)
                at += 10
            elif version >= 1:
                message.throttle_time_ms, message.error_code = _INT32_INT16.unpack_from(data, at)
                at += 6
                message.members = []
            else:
                (message.error_code,) = _INT16.unpack_from(data, at)
                at += 2
                message.throttle_time_ms = 0
                message.members = []
            if version >= 3:
                if not 0 <= n * 5 <= limit - at:
                    raise count_refused(n, limit - at)
                message.members, at = _read_member_response(data, at, version, n)
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


def _read_member_identity(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[MemberIdentity], int]:
    items: list[MemberIdentity] = []
    for _ in range(count):
        item = _new(MemberIdentity)
        if version >= 4:
            n = data[at]
            if 0 < n < 128:
                item.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.member_id, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 4:
            n = data[at]
            if 0 < n < 128:
                item.group_instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.group_instance_id, at = read_compact_string_or_null(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                item.group_instance_id = None
            else:
                item.group_instance_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 5:
            n = data[at]
            if 0 < n < 128:
                item.reason = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.reason, at = read_compact_string_or_null(data, at)
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
        raw = item.member_id.encode()
        n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if item.group_instance_id is None:
            raw = b""
            n = 0
        else:
            raw = item.group_instance_id.encode()
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
            if item.reason is None:
                raw = b""
                n = 0
            else:
                raw = item.reason.encode()
                n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        if version >= 5:
            out += raw
        if version >= 4:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_member_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[MemberResponse], int]:
    items: list[MemberResponse] = []
    for _ in range(count):
        item = _new(MemberResponse)
        if version >= 4:
            n = data[at]
            if 0 < n < 128:
                item.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.member_id, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 4:
            n = data[at]
            if 0 < n < 128:
                item.group_instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.group_instance_id, at = read_compact_string_or_null(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                item.group_instance_id = None
            else:
                item.group_instance_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 4:
            item.error_code, tags = _INT16_BYTE.unpack_from(data, at)
            at += 3
        else:
            (item.error_code,) = _INT16.unpack_from(data, at)
            at += 2
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_member_response(out: bytearray, items: Iterable[MemberResponse], version: int) -> None:
    for item in items:
        raw = item.member_id.encode()
        n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if item.group_instance_id is None:
            raw = b""
            n = 0
        else:
            raw = item.group_instance_id.encode()
            n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 4:
            if item.unknown_tagged_fields:
                out += _INT16.pack(item.error_code)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT16_ZERO.pack(item.error_code)
        else:
            out += _INT16.pack(item.error_code)
            if item.unknown_tagged_fields:
                raise tags_refused(version)

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
