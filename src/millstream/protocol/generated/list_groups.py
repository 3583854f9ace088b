"""ListGroups, API key 16, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/list_groups.txt.
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

_S_INT16: Final = Struct(">h")
_S_INT16_INT32: Final = Struct(">hi")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT16_INT32: Final = Struct(">ihi")
_new: Final = object.__new__


@dataclass(slots=True)
class ListGroupsRequest:
    states_filter: list[str] = field(default_factory=list)  # 4+
    types_filter: list[str] = field(default_factory=list)  # 5
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 16
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 4:
                write_length(out, len(item.states_filter))
                for text in item.states_filter:
                    write_compact_string(out, text)
            elif item.states_filter:
                raise not_in_version("states_filter", version)
            if version >= 5:
                write_length(out, len(item.types_filter))
                for text in item.types_filter:
                    write_compact_string(out, text)
            elif item.types_filter:
                raise not_in_version("types_filter", version)
            if item.unknown_tagged_fields:
                if version < 3:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 3:
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
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 4:
                item.states_filter, at = read_compact_strings(data, at, n)
            else:
                item.states_filter = []
            if version >= 5:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 5:
                item.types_filter, at = read_compact_strings(data, at, n)
            else:
                item.types_filter = []
            if version >= 3:
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
class ListedGroup:
    group_id: str = ""
    protocol_type: str = ""
    group_state: str = ""  # 4+
    group_type: str = ""  # 5
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ListGroupsResponse:
    throttle_time_ms: int = 0  # 1+
    error_code: int = 0
    groups: list[ListedGroup] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 16
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

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
                write_length(out, len(item.groups))
            else:
                out += _S_INT32.pack(len(item.groups))
            _write_listed_group(out, item.groups, version)
            if item.unknown_tagged_fields:
                if version < 3:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 3:
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
            if version >= 3:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_INT32.unpack_from(data, at)
                at += 10
            else:
                item.error_code, n = _S_INT16_INT32.unpack_from(data, at)
                at += 6
                item.throttle_time_ms = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.groups, at = _read_listed_group(data, at, version, n)
            if version >= 3:
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


def _read_listed_group(data: bytes, at: int, version: int, count: int) -> tuple[list[ListedGroup], int]:
    items: list[ListedGroup] = []
    for _ in range(count):
        item = _new(ListedGroup)
        if version >= 3:
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
        if version >= 4:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            pass
        if version >= 4:
            if n < 0:
                raise null_refused()
            at += n
            item.group_state = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.group_state = ""
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
                raise null_refused()
            at += n
            item.group_type = data[at - n : at].decode("utf-8", LENIENT)
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
        if version >= 3:
            write_compact_string(out, item.group_id)
        else:
            write_string(out, item.group_id)
        if version >= 3:
            write_compact_string(out, item.protocol_type)
        else:
            write_string(out, item.protocol_type)
        if version >= 4:
            write_compact_string(out, item.group_state)
        if version >= 5:
            write_compact_string(out, item.group_type)
        if item.unknown_tagged_fields:
            if version < 3:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 3:
            out.append(0)

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
