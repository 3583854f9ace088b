"""BrokerRegistration, API key 62, versions 0-4: request and response.

Written by `make codegen` from codegen/schemas/broker_registration.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length, read_uuids
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_compact_string, write_length, write_string, write_uuids

_S_2INT16: Final = Struct(">hh")
_S_2INT16_BYTE: Final = Struct(">hhB")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16_INT64: Final = Struct(">ihq")
_S_INT32_INT16_INT64_BYTE: Final = Struct(">ihqB")
_S_INT64: Final = Struct(">q")
_S_INT64_BYTE: Final = Struct(">qB")
_S_UINT16_INT16: Final = Struct(">Hh")
_S_UINT16_INT16_BYTE: Final = Struct(">HhB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
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
class BrokerRegistrationRequest:
    broker_id: int = 0
    cluster_id: str = ""
    incarnation_id: Uuid = ZERO_UUID
    listeners: list[Listener] = field(default_factory=list)
    features: list[Feature] = field(default_factory=list)
    rack: str | None = ""
    is_migrating_zk_broker: bool = False  # 1+
    log_dirs: list[Uuid] = field(default_factory=list)  # 2+
    previous_broker_epoch: int = -1  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 62
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.broker_id)
            write_compact_string(out, item.cluster_id)
            out += _S_UUID.pack(item.incarnation_id)
            write_length(out, len(item.listeners))
            _write_listener(out, item.listeners, version)
            write_length(out, len(item.features))
            _write_feature(out, item.features, version)
            if item.rack is None:
                out.append(0)
            else:
                write_compact_string(out, item.rack)
            if version >= 1:
                out += _S_BOOL.pack(item.is_migrating_zk_broker)
            else:
                if item.is_migrating_zk_broker:
                    raise not_in_version("is_migrating_zk_broker", version)
            if version >= 2:
                write_length(out, len(item.log_dirs))
                write_uuids(out, item.log_dirs)
            if version >= 3:
                out += _S_INT64.pack(item.previous_broker_epoch)
            else:
                pass
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.broker_id, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.cluster_id = data[at - n : at].decode("utf-8", LENIENT)
            item.incarnation_id, n = _S_UUID_BYTE.unpack_from(data, at)
            at += 17
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
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.rack = None
            else:
                at += n
                item.rack = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 2:
                item.is_migrating_zk_broker, n = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                (item.is_migrating_zk_broker,) = _S_BOOL.unpack_from(data, at)
                at += 1
            else:
                item.is_migrating_zk_broker = False
            if version >= 2:
                item.log_dirs, at = read_uuids(data, at, n)
            else:
                item.log_dirs = []
            if version >= 3:
                item.previous_broker_epoch, tags = _S_INT64_BYTE.unpack_from(data, at)
                at += 9
            else:
                tags = data[at]
                at += 1
                item.previous_broker_epoch = -1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class BrokerRegistrationResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    broker_epoch: int = -1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 62
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16_INT64.pack(item.throttle_time_ms, item.error_code, item.broker_epoch)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.throttle_time_ms, item.error_code, item.broker_epoch, tags = _S_INT32_INT16_INT64_BYTE.unpack_from(data, at)
            at += 15
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
