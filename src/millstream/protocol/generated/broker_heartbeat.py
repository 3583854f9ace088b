"""BrokerHeartbeat, API key 63, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/broker_heartbeat.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    READ_FAILURES,
    past_end,
    read_length,
    read_uuids,
    read_uvarint,
    tag_refused,
)
from millstream.protocol.tagged_fields import (
    TaggedField,
    read_tag_count,
    read_unknown_field,
    read_unknown_fields,
    write_tagged_fields,
)
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_uuids, write_uvarint

_INT32_2INT64_2BOOL: Final = Struct(">iqq??")
_INT32_2INT64_2BOOL_BYTE: Final = Struct(">iqq??B")
_INT32_2INT64_2BOOL_ZERO: Final = Struct(">iqq??x")
_INT32_INT16_3BOOL: Final = Struct(">ih???")
_INT32_INT16_3BOOL_BYTE: Final = Struct(">ih???B")
_INT32_INT16_3BOOL_ZERO: Final = Struct(">ih???x")
_new: Final = object.__new__


class BrokerHeartbeatRequest(MessageValue):
    """Request of API 63, versions 0-2."""

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",
        "cordoned_log_dirs",
        "unknown_tagged_fields",
    )

    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: list[Uuid]  # 1+, tag 0
    cordoned_log_dirs: list[Uuid] | None  # 2, tag 1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[Uuid] = UNSET,
        cordoned_log_dirs: list[Uuid] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs = [] if offline_log_dirs is UNSET else offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 63
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if (
                self.offline_log_dirs
                or self.cordoned_log_dirs is not None
                or self.unknown_tagged_fields
            ):
                out += _INT32_2INT64_2BOOL.pack(
                    self.broker_id,
                    self.broker_epoch,
                    self.current_metadata_offset,
                    self.want_fence,
                    self.want_shut_down,
                )
                _write_broker_heartbeat_request_tags(out, self, version)
            else:
                out += _INT32_2INT64_2BOOL_ZERO.pack(
                    self.broker_id,
                    self.broker_epoch,
                    self.current_metadata_offset,
                    self.want_fence,
                    self.want_shut_down,
                )
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (
                message.broker_id,
                message.broker_epoch,
                message.current_metadata_offset,
                message.want_fence,
                message.want_shut_down,
                tags,
            ) = _INT32_2INT64_2BOOL_BYTE.unpack_from(data, at)
            at += 23
            message.offline_log_dirs = []
            message.cordoned_log_dirs = None
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_broker_heartbeat_request_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class BrokerHeartbeatResponse(MessageValue):
    """Response of API 63, versions 0-2."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "is_caught_up",
        "is_fenced",
        "should_shut_down",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 63
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT32_INT16_3BOOL.pack(
                    self.throttle_time_ms,
                    self.error_code,
                    self.is_caught_up,
                    self.is_fenced,
                    self.should_shut_down,
                )
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_INT16_3BOOL_ZERO.pack(
                    self.throttle_time_ms,
                    self.error_code,
                    self.is_caught_up,
                    self.is_fenced,
                    self.should_shut_down,
                )
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (
                message.throttle_time_ms,
                message.error_code,
                message.is_caught_up,
                message.is_fenced,
                message.should_shut_down,
                tags,
            ) = _INT32_INT16_3BOOL_BYTE.unpack_from(data, at)
            at += 10
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_broker_heartbeat_request_tags(
    item: BrokerHeartbeatRequest, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
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


def _write_broker_heartbeat_request_tags(
    section: bytearray, item: BrokerHeartbeatRequest, version: int
) -> None:
    known: list[TaggedField] = []
    if item.offline_log_dirs:
        if version >= 1:
            out = bytearray()
            write_uvarint(out, len(item.offline_log_dirs) + 1)
            write_uuids(out, item.offline_log_dirs)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("offline_log_dirs", version)
    if item.cordoned_log_dirs is not None:
        if version >= 2:
            out = bytearray()
            write_uvarint(out, len(item.cordoned_log_dirs) + 1)
            write_uuids(out, item.cordoned_log_dirs)
            known.append(TaggedField(1, bytes(out)))
        else:
            raise not_in_version("cordoned_log_dirs", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)

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
