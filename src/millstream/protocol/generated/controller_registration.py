"""ControllerRegistration, API key 70, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/controller_registration.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_length, write_string

_S_2INT16: Final = Struct(">hh")
_S_2INT16_BYTE: Final = Struct(">hhB")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_UUID_BOOL: Final = Struct(">i16s?")
_S_INT32_UUID_BOOL_BYTE: Final = Struct(">i16s?B")
_S_UINT16_INT16: Final = Struct(">Hh")
_S_UINT16_INT16_BYTE: Final = Struct(">HhB")
_new: Final = object.__new__


@dataclass(slots=True)
class Listener:
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Feature:
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ControllerRegistrationRequest:
    controller_id: int = 0
    incarnation_id: Uuid = ZERO_UUID
    zk_migration_ready: bool = False
    listeners: list[Listener] = field(default_factory=list)
    features: list[Feature] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 70
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_UUID_BOOL.pack(item.controller_id, item.incarnation_id, item.zk_migration_ready)
            write_length(out, len(item.listeners))
            _write_listener(out, item.listeners, version)
            write_length(out, len(item.features))
            _write_feature(out, item.features, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.controller_id, item.incarnation_id, item.zk_migration_ready, n = _S_INT32_UUID_BOOL_BYTE.unpack_from(data, at)
            at += 22
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 7 <= limit - at:
                raise count_refused(n, limit - at)
            item.listeners, at = _read_listener(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.features, at = _read_feature(data, at, version, n)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ControllerRegistrationResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 70
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_listener(data: bytes, at: int, version: int, count: int) -> tuple[list[Listener], int]:
    items: list[Listener] = []
    for _ in range(count):
        item = _new(Listener)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.host = data[at - n : at].decode("utf-8", LENIENT)
        item.port, item.security_protocol, tags = _S_UINT16_INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_listener(out: bytearray, items: Iterable[Listener], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_string(out, item.host)
        out += _S_UINT16_INT16.pack(item.port, item.security_protocol)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_feature(data: bytes, at: int, version: int, count: int) -> tuple[list[Feature], int]:
    items: list[Feature] = []
    for _ in range(count):
        item = _new(Feature)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        item.min_supported_version, item.max_supported_version, tags = _S_2INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_feature(out: bytearray, items: Iterable[Feature], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _S_2INT16.pack(item.min_supported_version, item.max_supported_version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request ControllerRegistrationRequest key=70 versions=0 flexible=0+ listeners=controller
  controllerId           int32
  incarnationId          uuid
  zkMigrationReady       bool
  listeners              []Listener
    name                 string
    host                 string
    port                 uint16
    securityProtocol     int16
  features               []Feature
    name                 string
    minSupportedVersion  int16
    maxSupportedVersion  int16

response ControllerRegistrationResponse key=70 versions=0 flexible=0+ listeners=controller
  throttleTimeMs  int32
  errorCode       int16
  errorMessage    string  nullable
"""
