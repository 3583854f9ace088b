"""DescribeClientQuotas, API key 48, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/describe_client_quotas.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_length, write_string

_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_FLOAT64: Final = Struct(">d")
_S_FLOAT64_BYTE: Final = Struct(">dB")
_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_2INT16: Final = Struct(">ihh")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_S_INT8_INT16: Final = Struct(">bh")
_new: Final = object.__new__


@dataclass(slots=True)
class ComponentData:
    entity_type: str = ""
    match_type: int = 0
    match: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeClientQuotasRequest:
    components: list[ComponentData] = field(default_factory=list)
    strict: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 48
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                write_length(out, len(item.components))
            else:
                out += _S_INT32.pack(len(item.components))
            _write_component_data(out, item.components, version)
            out += _S_BOOL.pack(item.strict)
            if item.unknown_tagged_fields:
                if version < 1:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 1:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 1:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            item.components, at = _read_component_data(data, at, version, n)
            if version >= 1:
                item.strict, tags = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
            else:
                (item.strict,) = _S_BOOL.unpack_from(data, at)
                at += 1
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
class EntityData:
    entity_type: str = ""
    entity_name: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ValueData:
    key: str = ""
    value: float = 0.0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class EntryData:
    entity: list[EntityData] = field(default_factory=list)
    values: list[ValueData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeClientQuotasResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    entries: list[EntryData] | None = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 48
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.error_message is None:
                if version >= 1:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 1:
                    write_compact_string(out, item.error_message)
                else:
                    write_string(out, item.error_message)
            if item.entries is None:
                if version >= 1:
                    out.append(0)
                else:
                    out += b"\xff\xff\xff\xff"
            else:
                if version >= 1:
                    write_length(out, len(item.entries))
                else:
                    out += _S_INT32.pack(len(item.entries))
                _write_entry_data(out, item.entries, version)
            if item.unknown_tagged_fields:
                if version < 1:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 1:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 1:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, item.error_code, n = _S_INT32_2INT16.unpack_from(data, at)
                at += 8
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 1:
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
                item.entries = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.entries, at = _read_entry_data(data, at, version, n)
            if version >= 1:
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


def _read_component_data(data: bytes, at: int, version: int, count: int) -> tuple[list[ComponentData], int]:
    items: list[ComponentData] = []
    for _ in range(count):
        item = _new(ComponentData)
        if version >= 1:
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
        item.entity_type = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            item.match_type, n = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.match_type, n = _S_INT8_INT16.unpack_from(data, at)
            at += 3
        if n < 0:
            item.match = None
        else:
            at += n
            item.match = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_component_data(out: bytearray, items: Iterable[ComponentData], version: int) -> None:
    for item in items:
        if version >= 1:
            write_compact_string(out, item.entity_type)
        else:
            write_string(out, item.entity_type)
        out += _S_INT8.pack(item.match_type)
        if item.match is None:
            if version >= 1:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 1:
                write_compact_string(out, item.match)
            else:
                write_string(out, item.match)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_entity_data(data: bytes, at: int, version: int, count: int) -> tuple[list[EntityData], int]:
    items: list[EntityData] = []
    for _ in range(count):
        item = _new(EntityData)
        if version >= 1:
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
        item.entity_type = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
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
            item.entity_name = None
        else:
            at += n
            item.entity_name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_entity_data(out: bytearray, items: Iterable[EntityData], version: int) -> None:
    for item in items:
        if version >= 1:
            write_compact_string(out, item.entity_type)
        else:
            write_string(out, item.entity_type)
        if item.entity_name is None:
            if version >= 1:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 1:
                write_compact_string(out, item.entity_name)
            else:
                write_string(out, item.entity_name)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_value_data(data: bytes, at: int, version: int, count: int) -> tuple[list[ValueData], int]:
    items: list[ValueData] = []
    for _ in range(count):
        item = _new(ValueData)
        if version >= 1:
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
        item.key = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            item.value, tags = _S_FLOAT64_BYTE.unpack_from(data, at)
            at += 9
        else:
            (item.value,) = _S_FLOAT64.unpack_from(data, at)
            at += 8
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_value_data(out: bytearray, items: Iterable[ValueData], version: int) -> None:
    for item in items:
        if version >= 1:
            write_compact_string(out, item.key)
        else:
            write_string(out, item.key)
        out += _S_FLOAT64.pack(item.value)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_entry_data(data: bytes, at: int, version: int, count: int) -> tuple[list[EntryData], int]:
    limit = len(data)
    items: list[EntryData] = []
    for _ in range(count):
        item = _new(EntryData)
        if version >= 1:
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
        item.entity, at = _read_entity_data(data, at, version, n)
        if version >= 1:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 10 <= limit - at:
            raise count_refused(n, limit - at)
        item.values, at = _read_value_data(data, at, version, n)
        if version >= 1:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_entry_data(out: bytearray, items: Iterable[EntryData], version: int) -> None:
    for item in items:
        if version >= 1:
            write_length(out, len(item.entity))
        else:
            out += _S_INT32.pack(len(item.entity))
        _write_entity_data(out, item.entity, version)
        if version >= 1:
            write_length(out, len(item.values))
        else:
            out += _S_INT32.pack(len(item.values))
        _write_value_data(out, item.values, version)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)

SCHEMA: Final = """\
request DescribeClientQuotasRequest key=48 versions=0-1 flexible=1+ listeners=broker
  components    []ComponentData
    entityType  string
    matchType   int8
    match       string           nullable
  strict        bool

response DescribeClientQuotasResponse key=48 versions=0-1 flexible=1+ listeners=broker
  throttleTimeMs  int32
  errorCode       int16
  errorMessage    string        nullable
  entries         []EntryData   nullable
    entity        []EntityData
      entityType  string
      entityName  string        nullable
    values        []ValueData
      key         string
      value       float64
"""
