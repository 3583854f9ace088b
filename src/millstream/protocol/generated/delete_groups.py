"""DeleteGroups, API key 42, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/delete_groups.txt.
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
    read_strings,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    tags_refused,
    write_compact_strings,
    write_string_length,
    write_strings,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT16_ZERO: Final = Struct(">hx")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_S2INT32: Final = Struct(">ii")
_new: Final = object.__new__


class DeleteGroupsRequest(MessageValue):
    """Request of API 42, versions 0-2."""

    __slots__ = ("groups_names", "unknown_tagged_fields")

    groups_names: list[str]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, groups_names: list[str] = UNSET, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.groups_names = [] if groups_names is UNSET else groups_names
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 42
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.groups_names) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            if version >= 2:
                write_compact_strings(out, self.groups_names)
            else:
                write_strings(out, self.groups_names)
            if version >= 2:
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
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if version >= 2:
                message.groups_names, at = read_compact_strings(data, at, n)
            else:
                message.groups_names, at = read_strings(data, at, n)
            if version >= 2:
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


class DeletableGroupResult(MessageValue):
    """In `DeleteGroupsResponse.results`, versions 0-2."""

    __slots__ = ("group_id", "error_code", "unknown_tagged_fields")

    group_id: str
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteGroupsResponse(MessageValue):
    """Response of API 42, versions 0-2."""

    __slots__ = ("throttle_time_ms", "results", "unknown_tagged_fields")

    throttle_time_ms: int
    results: list[DeletableGroupResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DeletableGroupResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 42
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.results) + 1
            if version >= 2:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_deletable_group_result(out, self.results, version)
            if version >= 2:
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
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            message.results, at = _read_deletable_group_result(data, at, version, n)
            if version >= 2:
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


def _read_deletable_group_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeletableGroupResult], int]:
    items: list[DeletableGroupResult] = []
    for _ in range(count):
        item = _new(DeletableGroupResult)
        if version >= 2:
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
        if version >= 2:
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


def _write_deletable_group_result(
    out: bytearray, items: Iterable[DeletableGroupResult], version: int
) -> None:
    for item in items:
        raw = item.group_id.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 2:
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
request DeleteGroupsRequest key=42 versions=0-2 flexible=2+ listeners=broker
  groupsNames  []string

response DeleteGroupsResponse key=42 versions=0-2 flexible=2+ listeners=broker
  throttleTimeMs  int32
  results         []DeletableGroupResult
    groupId       string
    errorCode     int16
"""
