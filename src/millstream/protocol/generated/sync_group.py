"""SyncGroup, API key 14, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/sync_group.txt.
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
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


class SyncGroupRequestAssignment(MessageValue):
    """In `SyncGroupRequest.assignments`, versions 0-5."""

    __slots__ = ("member_id", "assignment", "unknown_tagged_fields")

    member_id: str
    assignment: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_id: str = "",
        assignment: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment
        self.unknown_tagged_fields = unknown_tagged_fields


class SyncGroupRequest(MessageValue):
    """Request of API 14, versions 0-5."""

    __slots__ = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocol_name",
        "assignments",
        "unknown_tagged_fields",
    )

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None  # 3+
    protocol_type: str | None  # 5
    protocol_name: str | None  # 5
    assignments: list[SyncGroupRequestAssignment]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = [] if assignments is UNSET else assignments
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 14
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
            if version >= 5:
                if self.protocol_type is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.protocol_type.encode()
                    n = len(raw) + 1
            if version >= 5:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            if version >= 5:
                out += raw
            if version >= 5:
                if self.protocol_name is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.protocol_name.encode()
                    n = len(raw) + 1
            if version >= 5:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            if version >= 5:
                out += raw
            n = len(self.assignments) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_sync_group_request_assignment(out, self.assignments, version)
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
            if version >= 5:
                n = data[at]
                if 0 < n < 128:
                    message.protocol_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.protocol_type, at = read_compact_string_or_null(data, at)
            else:
                message.protocol_type = None
            if version >= 5:
                n = data[at]
                if 0 < n < 128:
                    message.protocol_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.protocol_name, at = read_compact_string_or_null(data, at)
            else:
                message.protocol_name = None
            if version >= 4:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.assignments, at = _read_sync_group_request_assignment(data, at, version, n)
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


class SyncGroupResponse(MessageValue):
    """Response of API 14, versions 0-5."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "protocol_type",
        "protocol_name",
        "assignment",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int  # 1+
    error_code: int
    protocol_type: str | None  # 5
    protocol_name: str | None  # 5
    assignment: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 14
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            if version >= 5:
                if self.protocol_type is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.protocol_type.encode()
                    n = len(raw) + 1
            if version >= 5:
                if n < 128:
                    out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
                else:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_string_length(out, n)
            elif version >= 1:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
            else:
                out += _INT16.pack(self.error_code)
            if version >= 5:
                out += raw
            if version >= 5:
                if self.protocol_name is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.protocol_name.encode()
                    n = len(raw) + 1
            if version >= 5:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            if version >= 5:
                out += raw
            n = len(self.assignment) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            out += self.assignment
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
            if version >= 5:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    n,
                ) = _INT32_INT16_BYTE.unpack_from(data, at)
                at += 6
                if 0 < n < 128:
                    message.protocol_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.protocol_type, at = read_compact_string_or_null(data, at)
            elif version >= 1:
                message.throttle_time_ms, message.error_code = _INT32_INT16.unpack_from(data, at)
                at += 6
                message.protocol_type = None
            else:
                (message.error_code,) = _INT16.unpack_from(data, at)
                at += 2
                message.throttle_time_ms = 0
                message.protocol_type = None
            if version >= 5:
                n = data[at]
                if 0 < n < 128:
                    message.protocol_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.protocol_name, at = read_compact_string_or_null(data, at)
            else:
                message.protocol_name = None
            if version >= 4:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if n < 0:
                raise null_refused()
            message.assignment = data[at : at + n]
            at += n
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


def _read_sync_group_request_assignment(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[SyncGroupRequestAssignment], int]:
    items: list[SyncGroupRequestAssignment] = []
    for _ in range(count):
        item = _new(SyncGroupRequestAssignment)
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
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if n < 0:
            raise null_refused()
        item.assignment = data[at : at + n]
        at += n
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


def _write_sync_group_request_assignment(
    out: bytearray, items: Iterable[SyncGroupRequestAssignment], version: int
) -> None:
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
        n = len(item.assignment) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        out += item.assignment
        if version >= 4:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

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
