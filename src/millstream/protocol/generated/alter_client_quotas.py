"""AlterClientQuotas, API key 49, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/alter_client_quotas.txt.
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

_S_2INT16: Final = Struct(">hh")
_S_2INT32: Final = Struct(">ii")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_FLOAT64_BOOL: Final = Struct(">d?")
_S_FLOAT64_BOOL_BYTE: Final = Struct(">d?B")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_new: Final = object.__new__


@dataclass(slots=True)
class EntityData:
    entity_type: str = ""
    entity_name: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OpData:
    key: str = ""
    value: float = 0.0
    remove: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterClientQuotasRequestEntryData:
    entity: list[EntityData] = field(default_factory=list)
    ops: list[OpData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterClientQuotasRequest:
    entries: list[AlterClientQuotasRequestEntryData] = field(default_factory=list)
    validate_only: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 49
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                write_length(out, len(item.entries))
            else:
                out += _S_INT32.pack(len(item.entries))
            _write_alter_client_quotas_request_entry_data(out, item.entries, version)
            out += _S_BOOL.pack(item.validate_only)
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.entries, at = _read_alter_client_quotas_request_entry_data(data, at, version, n)
            if version >= 1:
                item.validate_only, tags = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
            else:
                (item.validate_only,) = _S_BOOL.unpack_from(data, at)
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
class AlterClientQuotasResponseEntryData:
    error_code: int = 0
    error_message: str | None = ""
    entity: list[EntityData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterClientQuotasResponse:
    throttle_time_ms: int = 0
    entries: list[AlterClientQuotasResponseEntryData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 49
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 1:
                write_length(out, len(item.entries))
            else:
                out += _S_INT32.pack(len(item.entries))
            _write_alter_client_quotas_response_entry_data(out, item.entries, version)
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
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            item.entries, at = _read_alter_client_quotas_response_entry_data(data, at, version, n)
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


def _read_op_data(data: bytes, at: int, version: int, count: int) -> tuple[list[OpData], int]:
    items: list[OpData] = []
    for _ in range(count):
        item = _new(OpData)
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
            item.value, item.remove, tags = _S_FLOAT64_BOOL_BYTE.unpack_from(data, at)
            at += 10
        else:
            item.value, item.remove = _S_FLOAT64_BOOL.unpack_from(data, at)
            at += 9
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_op_data(out: bytearray, items: Iterable[OpData], version: int) -> None:
    for item in items:
        if version >= 1:
            write_compact_string(out, item.key)
        else:
            write_string(out, item.key)
        out += _S_FLOAT64_BOOL.pack(item.value, item.remove)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_alter_client_quotas_request_entry_data(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterClientQuotasRequestEntryData], int]:
    limit = len(data)
    items: list[AlterClientQuotasRequestEntryData] = []
    for _ in range(count):
        item = _new(AlterClientQuotasRequestEntryData)
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


def _write_alter_client_quotas_request_entry_data(out: bytearray, items: Iterable[AlterClientQuotasRequestEntryData], version: int) -> None:
    for item in items:
        if version >= 1:
            write_length(out, len(item.entity))
        else:
            out += _S_INT32.pack(len(item.entity))
        _write_entity_data(out, item.entity, version)
        if version >= 1:
            write_length(out, len(item.ops))
        else:
            out += _S_INT32.pack(len(item.ops))
        _write_op_data(out, item.ops, version)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_alter_client_quotas_response_entry_data(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterClientQuotasResponseEntryData], int]:
    limit = len(data)
    items: list[AlterClientQuotasResponseEntryData] = []
    for _ in range(count):
        item = _new(AlterClientQuotasResponseEntryData)
        if version >= 1:
            item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.error_code, n = _S_2INT16.unpack_from(data, at)
            at += 4
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


def _write_alter_client_quotas_response_entry_data(out: bytearray, items: Iterable[AlterClientQuotasResponseEntryData], version: int) -> None:
    for item in items:
        out += _S_INT16.pack(item.error_code)
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
        if version >= 1:
            write_length(out, len(item.entity))
        else:
            out += _S_INT32.pack(len(item.entity))
        _write_entity_data(out, item.entity, version)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)

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
