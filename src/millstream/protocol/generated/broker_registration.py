"""BrokerRegistration, API key 62, versions 0-4: request and response.

Written by `make codegen` from codegen/schemas/broker_registration.txt.
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
    read_uuids,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    uuid_refused,
    write_string_length,
    write_uuids,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16_INT64: Final = Struct(">ihq")
_INT32_INT16_INT64_BYTE: Final = Struct(">ihqB")
_INT32_INT16_INT64_ZERO: Final = Struct(">ihqx")
_INT64: Final = Struct(">q")
_INT64_BYTE: Final = Struct(">qB")
_INT64_ZERO: Final = Struct(">qx")
_S2INT16: Final = Struct(">hh")
_S2INT16_BYTE: Final = Struct(">hhB")
_S2INT16_ZERO: Final = Struct(">hhx")
_UINT16_INT16: Final = Struct(">Hh")
_UINT16_INT16_BYTE: Final = Struct(">HhB")
_UINT16_INT16_ZERO: Final = Struct(">Hhx")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class Listener(MessageValue):
    """In `BrokerRegistrationRequest.listeners`, versions 0-4."""

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
    """In `BrokerRegistrationRequest.features`, versions 0-4."""

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


class BrokerRegistrationRequest(MessageValue):
    """Request of API 62, versions 0-4."""

    __slots__ = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",
        "log_dirs",
        "previous_broker_epoch",
        "unknown_tagged_fields",
    )

    broker_id: int
    cluster_id: str
    incarnation_id: Uuid
    listeners: list[Listener]
    features: list[Feature]
    rack: str | None
    is_migrating_zk_broker: bool  # 1+
    log_dirs: list[Uuid]  # 2+
    previous_broker_epoch: int  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: Uuid = ZERO_UUID,
        listeners: list[Listener] = UNSET,
        features: list[Feature] = UNSET,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[Uuid] = UNSET,
        previous_broker_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners = [] if listeners is UNSET else listeners
        self.features = [] if features is UNSET else features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs = [] if log_dirs is UNSET else log_dirs
        self.previous_broker_epoch = previous_broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 62
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            raw = self.cluster_id.encode()
            n = len(raw) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.broker_id, n)
            else:
                out += _INT32.pack(self.broker_id)
                write_string_length(out, n)
            out += raw
            n = len(self.listeners) + 1
            if len(self.incarnation_id) != 16:
                raise uuid_refused(self.incarnation_id)
            if n < 128:
                out += _UUID_BYTE.pack(self.incarnation_id, n)
            else:
                out += _UUID.pack(self.incarnation_id)
                write_uvarint(out, n)
            _write_listener(out, self.listeners, version)
            n = len(self.features) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_feature(out, self.features, version)
            if self.rack is None:
                raw = b""
                n = 0
            else:
                raw = self.rack.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if version >= 2:
                n = len(self.log_dirs) + 1
            if version >= 2:
                if n < 128:
                    out += _BOOL_BYTE.pack(self.is_migrating_zk_broker, n)
                else:
                    out += _BOOL.pack(self.is_migrating_zk_broker)
                    write_uvarint(out, n)
            elif version >= 1:
                out += _BOOL.pack(self.is_migrating_zk_broker)
            elif self.is_migrating_zk_broker:
                raise not_in_version("is_migrating_zk_broker", version)
            if version >= 2:
                write_uuids(out, self.log_dirs)
            if version >= 3:
                if self.unknown_tagged_fields:
                    out += _INT64.pack(self.previous_broker_epoch)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT64_ZERO.pack(self.previous_broker_epoch)
            else:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.broker_id, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if 0 < n < 128:
                message.cluster_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.cluster_id, at = read_compact_string(data, at)
            message.incarnation_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
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
            n = data[at]
            if 0 < n < 128:
                message.rack = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.rack, at = read_compact_string_or_null(data, at)
            if version >= 2:
                message.is_migrating_zk_broker, n = _BOOL_BYTE.unpack_from(data, at)
                at += 1
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 1:
                (message.is_migrating_zk_broker,) = _BOOL.unpack_from(data, at)
                at += 1
                message.log_dirs = []
            else:
                message.is_migrating_zk_broker = False
                message.log_dirs = []
            if version >= 2:
                message.log_dirs, at = read_uuids(data, at, n)
            if version >= 3:
                message.previous_broker_epoch, tags = _INT64_BYTE.unpack_from(data, at)
                at += 9
            else:
                tags = data[at]
                at += 1
                message.previous_broker_epoch = -1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class BrokerRegistrationResponse(MessageValue):
    """Response of API 62, versions 0-4."""

    __slots__ = ("throttle_time_ms", "error_code", "broker_epoch", "unknown_tagged_fields")

    throttle_time_ms: int
    error_code: int
    broker_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        broker_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.broker_epoch = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 62
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT32_INT16_INT64.pack(
                    self.throttle_time_ms, self.error_code, self.broker_epoch
                )
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_INT16_INT64_ZERO.pack(
                    self.throttle_time_ms, self.error_code, self.broker_epoch
                )
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (
                message.throttle_time_ms,
                message.error_code,
                message.broker_epoch,
                tags,
            ) = _INT32_INT16_INT64_BYTE.unpack_from(data, at)
            at += 15
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
request BrokerRegistrationRequest key=62 versions=0-4 flexible=0+ listeners=controller
  brokerId               int32
  clusterId              string
  incarnationId          uuid
  listeners              []Listener
    name                 string
    host                 string
    port                 uint16
    securityProtocol     int16
  features               []Feature
    name                 string
    minSupportedVersion  int16
    maxSupportedVersion  int16
  rack                   string      nullable
  isMigratingZkBroker    bool        1+
  logDirs                []uuid      2+ ignorable
  previousBrokerEpoch    int64       3+ default=-1 ignorable

response BrokerRegistrationResponse key=62 versions=0-4 flexible=0+ listeners=controller
  throttleTimeMs  int32
  errorCode       int16
  brokerEpoch     int64  default=-1
"""
