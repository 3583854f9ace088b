"""AlterClientQuotas, API key 49, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/alter_client_quotas.txt.
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
_FLOAT64_BOOL: Final = Struct(">d?")
_FLOAT64_BOOL_BYTE: Final = Struct(">d?B")
_FLOAT64_BOOL_ZERO: Final = Struct(">d?x")
_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_S2INT16: Final = Struct(">hh")
_S2INT32: Final = Struct(">ii")
_new: Final = object.__new__


class EntityData(MessageValue):
    """In `AlterClientQuotasRequestEntryData.entity`, versions 0-1."""

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


class OpData(MessageValue):
    """In `AlterClientQuotasRequestEntryData.ops`, versions 0-1."""

    __slots__ = ("key", "value", "remove", "unknown_tagged_fields")

    key: str
    value: float
    remove: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterClientQuotasRequestEntryData(MessageValue):
    """In `AlterClientQuotasRequest.entries`, versions 0-1."""

    __slots__ = ("entity", "ops", "unknown_tagged_fields")

    entity: list[EntityData]
    ops: list[OpData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        entity: list[EntityData] = UNSET,
        ops: list[OpData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity = [] if entity is UNSET else entity
        self.ops = [] if ops is UNSET else ops
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterClientQuotasRequest(MessageValue):
    """Request of API 49, versions 0-1."""

    __slots__ = ("entries", "validate_only", "unknown_tagged_fields")

    entries: list[AlterClientQuotasRequestEntryData]
    validate_only: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        entries: list[AlterClientQuotasRequestEntryData] = UNSET,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entries = [] if entries is UNSET else entries
        self.validate_only = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 49
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.entries) + 1
            if version >= 1:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_alter_client_quotas_request_entry_data(out, self.entries, version)
            if version >= 1:
                if self.unknown_tagged_fields:
                    out += _BOOL.pack(self.validate_only)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _BOOL_ZERO.pack(self.validate_only)
            else:
                out += _BOOL.pack(self.validate_only)
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.entries, at = _read_alter_client_quotas_request_entry_data(data, at, version, n)
            if version >= 1:
                message.validate_only, tags = _BOOL_BYTE.unpack_from(data, at)
                at += 2
            else:
                (message.validate_only,) = _BOOL.unpack_from(data, at)
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


class AlterClientQuotasResponseEntryData(MessageValue):
    """In `AlterClientQuotasResponse.entries`, versions 0-1."""

    __slots__ = ("error_code", "error_message", "entity", "unknown_tagged_fields")

    error_code: int
    error_message: str | None
    entity: list[EntityData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        entity: list[EntityData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity = [] if entity is UNSET else entity
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterClientQuotasResponse(MessageValue):
    """Response of API 49, versions 0-1."""

    __slots__ = ("throttle_time_ms", "entries", "unknown_tagged_fields")

    throttle_time_ms: int
    entries: list[AlterClientQuotasResponseEntryData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        entries: list[AlterClientQuotasResponseEntryData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries = [] if entries is UNSET else entries
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 49
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.entries) + 1
            if version >= 1:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_alter_client_quotas_response_entry_data(out, self.entries, version)
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
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            message.entries, at = _read_alter_client_quotas_response_entry_data(data, at, version, n)
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


def _read_op_data(data: bytes, at: int, version: int, count: int) -> tuple[list[OpData], int]:
    items: list[OpData] = []
    for _ in range(count):
        item = _new(OpData)
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
            item.value, item.remove, tags = _FLOAT64_BOOL_BYTE.unpack_from(data, at)
            at += 10
        else:
            item.value, item.remove = _FLOAT64_BOOL.unpack_from(data, at)
            at += 9
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_op_data(out: bytearray, items: Iterable[OpData], version: int) -> None:
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
                out += _FLOAT64_BOOL.pack(item.value, item.remove)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _FLOAT64_BOOL_ZERO.pack(item.value, item.remove)
        else:
            out += _FLOAT64_BOOL.pack(item.value, item.remove)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_alter_client_quotas_request_entry_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterClientQuotasRequestEntryData], int]:
    items: list[AlterClientQuotasRequestEntryData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AlterClientQuotasRequestEntryData)
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
        if not 0 <= n * 11 <= limit - at:
            raise count_refused(n, limit - at)
        item.ops, at = _read_op_data(data, at, version, n)
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


def _write_alter_client_quotas_request_entry_data(
    out: bytearray, items: Iterable[AlterClientQuotasRequestEntryData], version: int
) -> None:
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
        n = len(item.ops) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_op_data(out, item.ops, version)
        if version >= 1:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_alter_client_quotas_response_entry_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterClientQuotasResponseEntryData], int]:
    items: list[AlterClientQuotasResponseEntryData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AlterClientQuotasResponseEntryData)
        if version >= 1:
            item.error_code, n = _INT16_BYTE.unpack_from(data, at)
            at += 2
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        else:
            item.error_code, n = _S2INT16.unpack_from(data, at)
            at += 4
            if n < 0:
                item.error_message = None
            else:
                item.error_message = data[at : at + n].decode("utf-8", LENIENT)
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
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.entity, at = _read_entity_data(data, at, version, n)
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


def _write_alter_client_quotas_response_entry_data(
    out: bytearray, items: Iterable[AlterClientQuotasResponseEntryData], version: int
) -> None:
    for item in items:
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if version >= 1:
            if n < 128:
                out += _INT16_BYTE.pack(item.error_code, n)
            else:
                out += _INT16.pack(item.error_code)
                write_string_length(out, n)
        else:
            out += _S2INT16.pack(item.error_code, n - 1)
        out += raw
        n = len(item.entity) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_entity_data(out, item.entity, version)
        if version >= 1:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request AlterClientQuotasRequest key=49 versions=0-1 flexible=1+ listeners=broker,controller
  entries         []EntryData
    entity        []EntityData
      entityType  string
      entityName  string        nullable
    ops           []OpData
      key         string
      value       float64
      remove      bool
  validateOnly    bool

response AlterClientQuotasResponse key=49 versions=0-1 flexible=1+ listeners=broker,controller
  throttleTimeMs  int32
  entries         []EntryData
    errorCode     int16
    errorMessage  string        nullable
    entity        []EntityData
      entityType  string
      entityName  string        nullable
"""
