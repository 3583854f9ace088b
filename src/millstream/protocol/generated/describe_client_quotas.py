"""DescribeClientQuotas, API key 48, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/describe_client_quotas.txt.
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
    tags_refused,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_FLOAT64: Final = Struct(">d")
_FLOAT64_BYTE: Final = Struct(">dB")
_FLOAT64_ZERO: Final = Struct(">dx")
_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_2INT16: Final = Struct(">ihh")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_INT16: Final = Struct(">bh")
_new: Final = object.__new__


class ComponentData(MessageValue):
    """In `DescribeClientQuotasRequest.components`, versions 0-1."""

    __slots__ = ("entity_type", "match_type", "match", "unknown_tagged_fields")

    entity_type: str
    match_type: int
    match: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeClientQuotasRequest(MessageValue):
    """Request of API 48, versions 0-1."""

    __slots__ = ("components", "strict", "unknown_tagged_fields")

    components: list[ComponentData]
    strict: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        components: list[ComponentData] = UNSET,
        strict: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.components = [] if components is UNSET else components
        self.strict = strict
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 48
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.components) + 1
            if version >= 1:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_component_data(out, self.components, version)
            if version >= 1:
                if self.unknown_tagged_fields:
                    out += _BOOL.pack(self.strict)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _BOOL_ZERO.pack(self.strict)
            else:
                out += _BOOL.pack(self.strict)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 1:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            message.components, at = _read_component_data(data, at, version, n)
            if version >= 1:
                message.strict, tags = _BOOL_BYTE.unpack_from(data, at)
                at += 2
            else:
                (message.strict,) = _BOOL.unpack_from(data, at)
                at += 1
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class EntityData(MessageValue):
    """In `EntryData.entity`, versions 0-1."""

    __slots__ = ("entity_type", "entity_name", "unknown_tagged_fields")

    entity_type: str
    entity_name: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name
        self.unknown_tagged_fields = unknown_tagged_fields


class ValueData(MessageValue):
    """In `EntryData.values`, versions 0-1."""

    __slots__ = ("key", "value", "unknown_tagged_fields")

    key: str
    value: float
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, key: str = "", value: float = 0.0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class EntryData(MessageValue):
    """In `DescribeClientQuotasResponse.entries`, versions 0-1."""

    __slots__ = ("entity", "values", "unknown_tagged_fields")

    entity: list[EntityData]
    values: list[ValueData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        entity: list[EntityData] = UNSET,
        values: list[ValueData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity = [] if entity is UNSET else entity
        self.values = [] if values is UNSET else values
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeClientQuotasResponse(MessageValue):
    """Response of API 48, versions 0-1."""

    __slots__ = (
        "throttle_time_ms", "error_code", "error_message", "entries", "unknown_tagged_fields"
    )

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    entries: list[EntryData] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = [] if entries is UNSET else entries
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 48
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            if self.error_message is None:
                raw = b""
                n = 0
            else:
                raw = self.error_message.encode()
                n = len(raw) + 1
            if version >= 1:
                if n < 128:
                    out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
                else:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_string_length(out, n)
            else:
                out += _INT32_2INT16.pack(self.throttle_time_ms, self.error_code, n - 1)
            out += raw
            if self.entries is None:
                n = 0
            else:
                n = len(self.entries) + 1
            if version >= 1:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            if self.entries is not None:
                _write_entry_data(out, self.entries, version)
            if version >= 1:
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
        if not 0 <= version <= 1:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 1:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    n,
                ) = _INT32_INT16_BYTE.unpack_from(data, at)
                at += 6
                if 0 < n < 128:
                    message.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.error_message, at = read_compact_string_or_null(data, at)
            else:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    n,
                ) = _INT32_2INT16.unpack_from(data, at)
                at += 8
                if n < 0:
                    message.error_message = None
                else:
                    message.error_message = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            if version >= 1:
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
                message.entries = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.entries, at = _read_entry_data(data, at, version, n)
            if version >= 1:
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


def _read_component_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ComponentData], int]:
    items: list[ComponentData] = []
    for _ in range(count):
        item = _new(ComponentData)
        if version >= 1:
            n = data[at]
            if 0 < n < 128:
                item.entity_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.entity_type, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.entity_type = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 1:
            item.match_type, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if 0 < n < 128:
                item.match = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.match, at = read_compact_string_or_null(data, at)
        else:
            item.match_type, n = _INT8_INT16.unpack_from(data, at)
            at += 3
            if n < 0:
                item.match = None
            else:
                item.match = data[at : at + n].decode("utf-8", LENIENT)
                at += n
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
        raw = item.entity_type.encode()
        n = len(raw) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if item.match is None:
            raw = b""
            n = 0
        else:
            raw = item.match.encode()
            n = len(raw) + 1
        if version >= 1:
            if n < 128:
                out += _INT8_BYTE.pack(item.match_type, n)
            else:
                out += _INT8.pack(item.match_type)
                write_string_length(out, n)
        else:
            out += _INT8_INT16.pack(item.match_type, n - 1)
        out += raw
        if version >= 1:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_entity_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[EntityData], int]:
    items: list[EntityData] = []
    for _ in range(count):
        item = _new(EntityData)
        if version >= 1:
            n = data[at]
            if 0 < n < 128:
                item.entity_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.entity_type, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.entity_type = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 1:
            n = data[at]
            if 0 < n < 128:
                item.entity_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.entity_name, at = read_compact_string_or_null(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                item.entity_name = None
            else:
                item.entity_name = data[at : at + n].decode("utf-8", LENIENT)
                at += n
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
        raw = item.entity_type.encode()
        n = len(raw) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if item.entity_name is None:
            raw = b""
            n = 0
        else:
            raw = item.entity_name.encode()
            n = len(raw) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 1:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_value_data(data: bytes, at: int, version: int, count: int) -> tuple[list[ValueData], int]:
    items: list[ValueData] = []
    for _ in range(count):
        item = _new(ValueData)
        if version >= 1:
            n = data[at]
            if 0 < n < 128:
                item.key = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.key, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.key = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 1:
            item.value, tags = _FLOAT64_BYTE.unpack_from(data, at)
            at += 9
        else:
            (item.value,) = _FLOAT64.unpack_from(data, at)
            at += 8
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_value_data(out: bytearray, items: Iterable[ValueData], version: int) -> None:
    for item in items:
        raw = item.key.encode()
        n = len(raw) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 1:
            if item.unknown_tagged_fields:
                out += _FLOAT64.pack(item.value)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _FLOAT64_ZERO.pack(item.value)
        else:
            out += _FLOAT64.pack(item.value)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_entry_data(data: bytes, at: int, version: int, count: int) -> tuple[list[EntryData], int]:
    items: list[EntryData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(EntryData)
        if version >= 1:
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
        item.entity, at = _read_entity_data(data, at, version, n)
        if version >= 1:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
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
        n = len(item.entity) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_entity_data(out, item.entity, version)
        n = len(item.values) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_value_data(out, item.values, version)
        if version >= 1:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

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
