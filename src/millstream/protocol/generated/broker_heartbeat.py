"""BrokerHeartbeat, API key 63, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/broker_heartbeat.txt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import READ_FAILURES, past_end, read_length, read_uuids, read_uvarint, tag_refused
from millstream.protocol.tagged_fields import TaggedField, read_tag_count, read_unknown_field, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_length, write_uuids

_S_INT32: Final = Struct(">i")
_S_INT32_2INT64_2BOOL: Final = Struct(">iqq??")
_S_INT32_2INT64_2BOOL_BYTE: Final = Struct(">iqq??B")
_S_INT32_INT16_3BOOL: Final = Struct(">ih???")
_S_INT32_INT16_3BOOL_BYTE: Final = Struct(">ih???B")
_new: Final = object.__new__


@dataclass(slots=True)
class BrokerHeartbeatRequest:
    broker_id: int = 0
    broker_epoch: int = -1
    current_metadata_offset: int = 0
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: list[Uuid] = field(default_factory=list)  # 1+, tag 0
    cordoned_log_dirs: list[Uuid] | None = None  # 2, tag 1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 63
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_2INT64_2BOOL.pack(item.broker_id, item.broker_epoch, item.current_metadata_offset, item.want_fence, item.want_shut_down)
            if item.offline_log_dirs or item.cordoned_log_dirs is not None or item.unknown_tagged_fields:
                _write_broker_heartbeat_request_tags(out, item, version)
            else:
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
            item.broker_id, item.broker_epoch, item.current_metadata_offset, item.want_fence, item.want_shut_down, tags = _S_INT32_2INT64_2BOOL_BYTE.unpack_from(data, at)
            at += 23
            item.offline_log_dirs = []
            item.cordoned_log_dirs = None
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_broker_heartbeat_request_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class BrokerHeartbeatResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 63
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16_3BOOL.pack(item.throttle_time_ms, item.error_code, item.is_caught_up, item.is_fenced, item.should_shut_down)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
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
            item.throttle_time_ms, item.error_code, item.is_caught_up, item.is_fenced, item.should_shut_down, tags = _S_INT32_INT16_3BOOL_BYTE.unpack_from(data, at)
            at += 10
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_broker_heartbeat_request_tags(item: BrokerHeartbeatRequest, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            if not (version >= 1):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            item.offline_log_dirs, at = read_uuids(data, at, n)
        elif tag == 1:
            if not (version >= 2):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            if n < 0:
                item.cordoned_log_dirs = None
            else:
                item.cordoned_log_dirs, at = read_uuids(data, at, n)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_broker_heartbeat_request_tags(target: bytearray, item: BrokerHeartbeatRequest, version: int) -> None:
    known: list[TaggedField] = []
    if item.offline_log_dirs:
        if version >= 1:
            out = bytearray()
            write_length(out, len(item.offline_log_dirs))
            write_uuids(out, item.offline_log_dirs)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("offline_log_dirs", version)
    if item.cordoned_log_dirs is not None:
        if version >= 2:
            out = bytearray()
            write_length(out, len(item.cordoned_log_dirs))
            write_uuids(out, item.cordoned_log_dirs)
            known.append(TaggedField(1, bytes(out)))
        else:
            raise not_in_version("cordoned_log_dirs", version)
    write_tagged_fields(target, known, item.unknown_tagged_fields)

SCHEMA: Final = """\
request BrokerHeartbeatRequest key=63 versions=0-2 flexible=0+ listeners=controller
  brokerId               int32
  brokerEpoch            int64   default=-1
  currentMetadataOffset  int64
  wantFence              bool
  wantShutDown           bool
  offlineLogDirs         []uuid  1+ tag=0
  cordonedLogDirs        []uuid  2 nullable tag=1 default=null

response BrokerHeartbeatResponse key=63 versions=0-2 flexible=0+ listeners=controller
  throttleTimeMs  int32
  errorCode       int16
  isCaughtUp      bool
  isFenced        bool   default=true
  shouldShutDown  bool
"""
