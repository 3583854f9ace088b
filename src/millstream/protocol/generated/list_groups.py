"""ListGroups, API key 16, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/list_groups.txt.
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
    read_compact_strings,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    not_in_version,
    tags_refused,
    write_compact_strings,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_INT32: Final = Struct(">hi")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_INT32: Final = Struct(">ihi")
_new: Final = object.__new__


class ListGroupsRequest(MessageValue):
    """Request of API 16, versions 0-5."""

    __slots__ = ("states_filter", "types_filter", "unknown_tagged_fields")

    states_filter: list[str]  # 4+
    types_filter: list[str]  # 5
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        states_filter: list[str] = UNSET,
        types_filter: list[str] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.states_filter = [] if states_filter is UNSET else states_filter
        self.types_filter = [] if types_filter is UNSET else types_filter
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 16
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            if version >= 4:
                n = len(self.states_filter) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif self.states_filter:
                raise not_in_version("states_filter", version)
            if version >= 4:
                write_compact_strings(out, self.states_filter)
            if version >= 5:
                n = len(self.types_filter) + 1
            if version >= 5:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif self.types_filter:
                raise not_in_version("types_filter", version)
            if version >= 5:
                write_compact_strings(out, self.types_filter)
            if version >= 3:
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
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.states_filter = []
            if version >= 4:
                message.states_filter, at = read_compact_strings(data, at, n)
            if version >= 5:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.types_filter = []
            if version >= 5:
                message.types_filter, at = read_compact_strings(data, at, n)
            if version >= 3:
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


class ListedGroup(MessageValue):
    """In `ListGroupsResponse.groups`, versions 0-5."""

    __slots__ = ("group_id", "protocol_type", "group_state", "group_type", "unknown_tagged_fields")

    group_id: str
    protocol_type: str
    group_state: str  # 4+
    group_type: str  # 5
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type
        self.unknown_tagged_fields = unknown_tagged_fields


class ListGroupsResponse(MessageValue):
    """Response of API 16, versions 0-5."""

    __slots__ = ("throttle_time_ms", "error_code", "groups", "unknown_tagged_fields")

    throttle_time_ms: int  # 1+
    error_code: int
    groups: list[ListedGroup]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListedGroup] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is UNSET else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 16
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            n = len(self.groups) + 1
            if version >= 3:
                if n < 128:
                    out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
                else:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_uvarint(out, n)
            elif version >= 1:
                out += _INT32_INT16_INT32.pack(self.throttle_time_ms, self.error_code, n - 1)
            else:
                out += _INT16_INT32.pack(self.error_code, n - 1)
            _write_listed_group(out, self.groups, version)
            if version >= 3:
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
            if version >= 3:
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
            elif version >= 1:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    n,
                ) = _INT32_INT16_INT32.unpack_from(data, at)
                at += 10
            else:
                message.error_code, n = _INT16_INT32.unpack_from(data, at)
                at += 6
                message.throttle_time_ms = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.groups, at = _read_listed_group(data, at, version, n)
            if version >= 3:
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


def _read_listed_group(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ListedGroup], int]:
    items: list[ListedGroup] = []
    for _ in range(count):
        item = _new(ListedGroup)
        if version >= 3:
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
        if version >= 3:
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
        if version >= 4:
            n = data[at]
            if 0 < n < 128:
                item.group_state = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.group_state, at = read_compact_string(data, at)
        else:
            item.group_state = ""
        if version >= 5:
            n = data[at]
            if 0 < n < 128:
                item.group_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.group_type, at = read_compact_string(data, at)
        else:
            item.group_type = ""
        if version >= 3:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_listed_group(out: bytearray, items: Iterable[ListedGroup], version: int) -> None:
    for item in items:
        raw = item.group_id.encode()
        n = len(raw) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        raw = item.protocol_type.encode()
        n = len(raw) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 4:
            raw = item.group_state.encode()
            n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        if version >= 4:
            out += raw
        if version >= 5:
            raw = item.group_type.encode()
            n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        if version >= 5:
            out += raw
        if version >= 3:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request ListGroupsRequest key=16 versions=0-5 flexible=3+ listeners=broker
  statesFilter  []string  4+
  typesFilter   []string  5

response ListGroupsResponse key=16 versions=0-5 flexible=3+ listeners=broker
  throttleTimeMs  int32          1+ ignorable
  errorCode       int16
  groups          []ListedGroup
    groupId       string
    protocolType  string
    groupState    string         4+ ignorable
    groupType     string         5 ignorable
"""
