"""DescribeGroups, API key 15, versions 0-6: request and response.

Written by `make codegen` from codegen/schemas/describe_groups.txt.
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
    write_compact_strings,
    write_string_length,
    write_strings,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_ZERO: Final = Struct(">ix")
_S2INT32: Final = Struct(">ii")
_new: Final = object.__new__


class DescribeGroupsRequest(MessageValue):
    """Request of API 15, versions 0-6."""

    __slots__ = ("groups", "include_authorized_operations", "unknown_tagged_fields")

    groups: list[str]
    include_authorized_operations: bool  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        groups: list[str] = UNSET,
        include_authorized_operations: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.groups = [] if groups is UNSET else groups
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 15
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 5

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise version_refused(type(self), version)
        try:
            n = len(self.groups) + 1
            if version >= 5:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            if version >= 5:
                write_compact_strings(out, self.groups)
            else:
                write_strings(out, self.groups)
            if version >= 5:
                if self.unknown_tagged_fields:
                    out += _BOOL.pack(self.include_authorized_operations)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _BOOL_ZERO.pack(self.include_authorized_operations)
            elif version >= 3:
                out += _BOOL.pack(self.include_authorized_operations)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
            else:
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
                if self.include_authorized_operations:
                    raise not_in_version("include_authorized_operations", version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 6:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 5:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if version >= 5:
                message.groups, at = read_compact_strings(data, at, n)
            else:
                message.groups, at = read_strings(data, at, n)
            if version >= 5:
                message.include_authorized_operations, tags = _BOOL_BYTE.unpack_from(data, at)
                at += 2
            elif version >= 3:
                (message.include_authorized_operations,) = _BOOL.unpack_from(data, at)
                at += 1
                tags = 0
            else:
                message.include_authorized_operations = False
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class DescribedGroupMember(MessageValue):
    """In `DescribedGroup.members`, versions 0-6."""

    __slots__ = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "member_metadata",
        "member_assignment",
        "unknown_tagged_fields",
    )

    member_id: str
    group_instance_id: str | None  # 4+
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribedGroup(MessageValue):
    """In `DescribeGroupsResponse.groups`, versions 0-6."""

    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "protocol_type",
        "protocol_data",
        "members",
        "authorized_operations",
        "unknown_tagged_fields",
    )

    error_code: int
    error_message: str | None  # 6
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: list[DescribedGroupMember]
    authorized_operations: int  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] = UNSET,
        authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = [] if members is UNSET else members
        self.authorized_operations = authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeGroupsResponse(MessageValue):
    """Response of API 15, versions 0-6."""

    __slots__ = ("throttle_time_ms", "groups", "unknown_tagged_fields")

    throttle_time_ms: int  # 1+
    groups: list[DescribedGroup]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is UNSET else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 15
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 5

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise version_refused(type(self), version)
        try:
            n = len(self.groups) + 1
            if version >= 5:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            elif version >= 1:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            else:
                out += _INT32.pack(n - 1)
            _write_described_group(out, self.groups, version)
            if version >= 5:
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
        if not 0 <= version <= 6:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 5:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 1:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.throttle_time_ms = 0
            if not 0 <= n * 12 <= limit - at:
                raise count_refused(n, limit - at)
            message.groups, at = _read_described_group(data, at, version, n)
            if version >= 5:
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


def _read_described_group_member(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribedGroupMember], int]:
    items: list[DescribedGroupMember] = []
    for _ in range(count):
        item = _new(DescribedGroupMember)
        if version >= 5:
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
        if version >= 5:
            n = data[at]
            if 0 < n < 128:
                item.group_instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.group_instance_id, at = read_compact_string_or_null(data, at)
        elif version >= 4:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                item.group_instance_id = None
            else:
                item.group_instance_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        else:
            item.group_instance_id = None
        if version >= 5:
            n = data[at]
            if 0 < n < 128:
                item.client_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.client_id, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.client_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 5:
            n = data[at]
            if 0 < n < 128:
                item.client_host = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.client_host, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.client_host = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 5:
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
        item.member_metadata = data[at : at + n]
        at += n
        if version >= 5:
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
        item.member_assignment = data[at : at + n]
        at += n
        if version >= 5:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_described_group_member(
    out: bytearray, items: Iterable[DescribedGroupMember], version: int
) -> None:
    for item in items:
        raw = item.member_id.encode()
        n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 4:
            if item.group_instance_id is None:
                raw = b""
                n = 0
            else:
                raw = item.group_instance_id.encode()
                n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        elif version >= 4:
            out += _INT16.pack(n - 1)
        if version >= 4:
            out += raw
        raw = item.client_id.encode()
        n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        raw = item.client_host.encode()
        n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.member_metadata) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        out += item.member_metadata
        n = len(item.member_assignment) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        out += item.member_assignment
        if version >= 5:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_described_group(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribedGroup], int]:
    items: list[DescribedGroup] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribedGroup)
        if version >= 6:
            item.error_code, n = _INT16_BYTE.unpack_from(data, at)
            at += 2
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        else:
            (item.error_code,) = _INT16.unpack_from(data, at)
            at += 2
            item.error_message = None
        if version >= 5:
            n = data[at]
            if 0 < n < 128:
                item.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.group_id, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 5:
            n = data[at]
            if 0 < n < 128:
                item.group_state = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.group_state, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.group_state = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 5:
            n = data[at]
            if 0 < n < 128:
                item.protocol_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.protocol_type, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.protocol_type = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 5:
            n = data[at]
            if 0 < n < 128:
                item.protocol_data = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.protocol_data, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.protocol_data = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 5:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 7 <= limit - at:
            raise count_refused(n, limit - at)
        item.members, at = _read_described_group_member(data, at, version, n)
        if version >= 5:
            item.authorized_operations, tags = _INT32_BYTE.unpack_from(data, at)
            at += 5
        elif version >= 3:
            (item.authorized_operations,) = _INT32.unpack_from(data, at)
            at += 4
            tags = 0
        else:
            item.authorized_operations = -2147483648
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_described_group(out: bytearray, items: Iterable[DescribedGroup], version: int) -> None:
    for item in items:
        if version >= 6:
            if item.error_message is None:
                raw = b""
                n = 0
            else:
                raw = item.error_message.encode()
                n = len(raw) + 1
        if version >= 6:
            if n < 128:
                out += _INT16_BYTE.pack(item.error_code, n)
            else:
                out += _INT16.pack(item.error_code)
                write_string_length(out, n)
        else:
            out += _INT16.pack(item.error_code)
            if item.error_message is not None:
                raise not_in_version("error_message", version)
        if version >= 6:
            out += raw
        raw = item.group_id.encode()
        n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        raw = item.group_state.encode()
        n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        raw = item.protocol_type.encode()
        n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        raw = item.protocol_data.encode()
        n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.members) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_described_group_member(out, item.members, version)
        if version >= 5:
            if item.unknown_tagged_fields:
                out += _INT32.pack(item.authorized_operations)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_ZERO.pack(item.authorized_operations)
        elif version >= 3:
            out += _INT32.pack(item.authorized_operations)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        else:
            if item.unknown_tagged_fields:
                raise tags_refused(version)
            if item.authorized_operations != -2147483648:
                raise not_in_version("authorized_operations", version)

SCHEMA: Final = """\
request DescribeGroupsRequest key=15 versions=0-6 flexible=5+ listeners=broker
  groups                       []string
  includeAuthorizedOperations  bool      3+

response DescribeGroupsResponse key=15 versions=0-6 flexible=5+ listeners=broker
  throttleTimeMs          int32                   1+ ignorable
  groups                  []DescribedGroup
    errorCode             int16
    errorMessage          string                  6 nullable default=null
    groupId               string
    groupState            string
    protocolType          string
    protocolData          string
    members               []DescribedGroupMember
      memberId            string
      groupInstanceId     string                  4+ nullable default=null ignorable
      clientId            string
      clientHost          string
      memberMetadata      bytes
      memberAssignment    bytes
    authorizedOperations  int32                   3+ default=-2147483648
"""
