"""DescribeGroups, API key 15, versions 0-6: request and response.

Written by `make codegen` from codegen/schemas/describe_groups.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_compact_strings, read_length, read_string_length, read_strings
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_new: Final = object.__new__


@dataclass(slots=True)
class DescribeGroupsRequest:
    groups: list[str] = field(default_factory=list)
    include_authorized_operations: bool = False  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 15
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 5

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 5:
                write_length(out, len(item.groups))
            else:
                out += _S_INT32.pack(len(item.groups))
            for text in item.groups:
                if version >= 5:
                    write_compact_string(out, text)
                else:
                    write_string(out, text)
            if version >= 3:
                out += _S_BOOL.pack(item.include_authorized_operations)
            else:
                if item.include_authorized_operations:
                    raise not_in_version("include_authorized_operations", version)
            if item.unknown_tagged_fields:
                if version < 5:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 5:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 6:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 5:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if version >= 5:
                item.groups, at = read_compact_strings(data, at, n)
            else:
                item.groups, at = read_strings(data, at, n)
            if version >= 5:
                item.include_authorized_operations, tags = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
            elif version >= 3:
                (item.include_authorized_operations,) = _S_BOOL.unpack_from(data, at)
                at += 1
                tags = 0
            else:
                tags = 0
                item.include_authorized_operations = False
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class DescribedGroupMember:
    member_id: str = ""
    group_instance_id: str | None = None  # 4+
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribedGroup:
    error_code: int = 0
    error_message: str | None = None  # 6
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = field(default_factory=list)
    authorized_operations: int = -2147483648  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeGroupsResponse:
    throttle_time_ms: int = 0  # 1+
    groups: list[DescribedGroup] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 15
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 5

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                out += _S_INT32.pack(item.throttle_time_ms)
            else:
                pass
            if version >= 5:
                write_length(out, len(item.groups))
            else:
                out += _S_INT32.pack(len(item.groups))
            _write_described_group(out, item.groups, version)
            if item.unknown_tagged_fields:
                if version < 5:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 5:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 6:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 5:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.throttle_time_ms = 0
            if not 0 <= n * 12 <= limit - at:
                raise count_refused(n, limit - at)
            item.groups, at = _read_described_group(data, at, version, n)
            if version >= 5:
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


def _read_described_group_member(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribedGroupMember], int]:
    items: list[DescribedGroupMember] = []
    for _ in range(count):
        item = _new(DescribedGroupMember)
        if version >= 5:
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
        if version >= 5:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 4:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        else:
            pass
        if version >= 4:
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
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.client_id = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 5:
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
        item.client_host = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 5:
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
        item.member_metadata = data[at - n : at]
        if version >= 5:
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
        item.member_assignment = data[at - n : at]
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


def _write_described_group_member(out: bytearray, items: Iterable[DescribedGroupMember], version: int) -> None:
    for item in items:
        if version >= 5:
            write_compact_string(out, item.member_id)
        else:
            write_string(out, item.member_id)
        if version >= 4:
            if item.group_instance_id is None:
                if version >= 5:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 5:
                    write_compact_string(out, item.group_instance_id)
                else:
                    write_string(out, item.group_instance_id)
        if version >= 5:
            write_compact_string(out, item.client_id)
        else:
            write_string(out, item.client_id)
        if version >= 5:
            write_compact_string(out, item.client_host)
        else:
            write_string(out, item.client_host)
        if version >= 5:
            write_length(out, len(item.member_metadata))
        else:
            out += _S_INT32.pack(len(item.member_metadata))
        out += item.member_metadata
        if version >= 5:
            write_length(out, len(item.member_assignment))
        else:
            out += _S_INT32.pack(len(item.member_assignment))
        out += item.member_assignment
        if item.unknown_tagged_fields:
            if version < 5:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 5:
            out.append(0)


def _read_described_group(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribedGroup], int]:
    limit = len(data)
    items: list[DescribedGroup] = []
    for _ in range(count):
        item = _new(DescribedGroup)
        if version >= 6:
            item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (item.error_code,) = _S_INT16.unpack_from(data, at)
            at += 2
        if version >= 6:
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.error_message = None
        if version >= 5:
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
        if version >= 5:
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
        item.group_state = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 5:
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
        item.protocol_type = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 5:
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
        item.protocol_data = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 5:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 7 <= limit - at:
            raise count_refused(n, limit - at)
        item.members, at = _read_described_group_member(data, at, version, n)
        if version >= 5:
            item.authorized_operations, tags = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
        elif version >= 3:
            (item.authorized_operations,) = _S_INT32.unpack_from(data, at)
            at += 4
            tags = 0
        else:
            tags = 0
            item.authorized_operations = -2147483648
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_described_group(out: bytearray, items: Iterable[DescribedGroup], version: int) -> None:
    for item in items:
        out += _S_INT16.pack(item.error_code)
        if version >= 6:
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
        elif item.error_message is not None:
            raise not_in_version("error_message", version)
        if version >= 5:
            write_compact_string(out, item.group_id)
        else:
            write_string(out, item.group_id)
        if version >= 5:
            write_compact_string(out, item.group_state)
        else:
            write_string(out, item.group_state)
        if version >= 5:
            write_compact_string(out, item.protocol_type)
        else:
            write_string(out, item.protocol_type)
        if version >= 5:
            write_compact_string(out, item.protocol_data)
        else:
            write_string(out, item.protocol_data)
        if version >= 5:
            write_length(out, len(item.members))
        else:
            out += _S_INT32.pack(len(item.members))
        _write_described_group_member(out, item.members, version)
        if version >= 3:
            out += _S_INT32.pack(item.authorized_operations)
        else:
            if item.authorized_operations != -2147483648:
                raise not_in_version("authorized_operations", version)
        if item.unknown_tagged_fields:
            if version < 5:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 5:
            out.append(0)

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
