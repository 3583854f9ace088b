"""ControllerRegistration, API key 70, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/controller_registration.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    count_refused,
    past_end,
    read_compact_string,
    read_compact_string_or_null,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    uuid_refused,
    write_string_length,
    write_uvarint,
)

_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_UUID_BOOL: Final = Struct(">i16s?")
_INT32_UUID_BOOL_BYTE: Final = Struct(">i16s?B")
_S2INT16: Final = Struct(">hh")
_S2INT16_BYTE: Final = Struct(">hhB")
_S2INT16_ZERO: Final = Struct(">hhx")
_UINT16_INT16: Final = Struct(">Hh")
_UINT16_INT16_BYTE: Final = Struct(">HhB")
_UINT16_INT16_ZERO: Final = Struct(">Hhx")
_new: Final = object.__new__


class Listener(MessageValue):
    """In `ControllerRegistrationRequest.listeners`, version 0."""

    __slots__ = ("name", "host", "port", "security_protocol", "unknown_tagged_fields")

    name: str
    host: str
    port: int
    security_protocol: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol
        self.unknown_tagged_fields = unknown_tagged_fields


class Feature(MessageValue):
    """In `ControllerRegistrationRequest.features`, version 0."""

    __slots__ = ("name", "min_supported_version", "max_supported_version", "unknown_tagged_fields")

    name: str
    min_supported_version: int
    max_supported_version: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version
        self.unknown_tagged_fields = unknown_tagged_fields


class ControllerRegistrationRequest(MessageValue):
    """Request of API 70, version 0."""

    __slots__ = (
        "controller_id",
        "incarnation_id",
        "zk_migration_ready",
        "listeners",
        "features",
        "unknown_tagged_fields",
    )

    controller_id: int
    incarnation_id: Uuid
    zk_migration_ready: bool
    listeners: list[Listener]
    features: list[Feature]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: Uuid = ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: list[Listener] = UNSET,
        features: list[Feature] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners = [] if listeners is UNSET else listeners
        self.features = [] if features is UNSET else features
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 70
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.listeners) + 1
            if len(self.incarnation_id) != 16:
                raise uuid_refused(self.incarnation_id)
            if n < 128:
                out += _INT32_UUID_BOOL_BYTE.pack(
                    self.controller_id, self.incarnation_id, self.zk_migration_ready, n
                )
            else:
                out += _INT32_UUID_BOOL.pack(
                    self.controller_id, self.incarnation_id, self.zk_migration_ready
                )
                write_uvarint(out, n)
            _write_listener(out, self.listeners, version)
            n = len(self.features) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_feature(out, self.features, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (
                message.controller_id,
                message.incarnation_id,
                message.zk_migration_ready,
                n,
            ) = _INT32_UUID_BOOL_BYTE.unpack_from(data, at)
            at += 21
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 7 <= limit - at:
                raise count_refused(n, limit - at)
            message.listeners, at = _read_listener(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.features, at = _read_feature(data, at, version, n)
            tags = data[at]
            at += 1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ControllerRegistrationResponse(MessageValue):
    """Response of API 70, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "unknown_tagged_fields")

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 70
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.error_message is None:
                raw = b""
                n = 0
            else:
                raw = self.error_message.encode()
                n = len(raw) + 1
            if n < 128:
                out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_string_length(out, n)
            out += raw
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
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
            tags = data[at]
            at += 1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_listener(data: bytes, at: int, version: int, count: int) -> tuple[list[Listener], int]:
    items: list[Listener] = []
    for _ in range(count):
        item = _new(Listener)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.host, at = read_compact_string(data, at)
        item.port, item.security_protocol, tags = _UINT16_INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_listener(out: bytearray, items: Iterable[Listener], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.host.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _UINT16_INT16.pack(item.port, item.security_protocol)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UINT16_INT16_ZERO.pack(item.port, item.security_protocol)


def _read_feature(data: bytes, at: int, version: int, count: int) -> tuple[list[Feature], int]:
    items: list[Feature] = []
    for _ in range(count):
        item = _new(Feature)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        (
            item.min_supported_version,
            item.max_supported_version,
            tags,
        ) = _S2INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_feature(out: bytearray, items: Iterable[Feature], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _S2INT16.pack(item.min_supported_version, item.max_supported_version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _S2INT16_ZERO.pack(item.min_supported_version, item.max_supported_version)

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
