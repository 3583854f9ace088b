"""DeleteGroups, API key 42, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/delete_groups.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_compact_strings, read_length, read_string_length, read_strings
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_new: Final = object.__new__


@dataclass(slots=True)
class DeleteGroupsRequest:
    groups_names: list[str] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 42
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                write_length(out, len(item.groups_names))
            else:
                out += _S_INT32.pack(len(item.groups_names))
            for text in item.groups_names:
                if version >= 2:
                    write_compact_string(out, text)
                else:
                    write_string(out, text)
            if item.unknown_tagged_fields:
                if version < 2:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 2:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if version >= 2:
                item.groups_names, at = read_compact_strings(data, at, n)
            else:
                item.groups_names, at = read_strings(data, at, n)
            if version >= 2:
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
class DeletableGroupResult:
    group_id: str = ""
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DeleteGroupsResponse:
    throttle_time_ms: int = 0
    results: list[DeletableGroupResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 42
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 2:
                write_length(out, len(item.results))
            else:
                out += _S_INT32.pack(len(item.results))
            _write_deletable_group_result(out, item.results, version)
            if item.unknown_tagged_fields:
                if version < 2:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 2:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            item.results, at = _read_deletable_group_result(data, at, version, n)
            if version >= 2:
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


def _read_deletable_group_result(data: bytes, at: int, version: int, count: int) -> tuple[list[DeletableGroupResult], int]:
    items: list[DeletableGroupResult] = []
    for _ in range(count):
        item = _new(DeletableGroupResult)
        if version >= 2:
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
        if version >= 2:
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


def _write_deletable_group_result(out: bytearray, items: Iterable[DeletableGroupResult], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.group_id)
        else:
            write_string(out, item.group_id)
        out += _S_INT16.pack(item.error_code)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)

SCHEMA: Final = """\
request DeleteGroupsRequest key=42 versions=0-2 flexible=2+ listeners=broker
  groupsNames  []string

response DeleteGroupsResponse key=42 versions=0-2 flexible=2+ listeners=broker
  throttleTimeMs  int32
  results         []DeletableGroupResult
    groupId       string
    errorCode     int16
"""
