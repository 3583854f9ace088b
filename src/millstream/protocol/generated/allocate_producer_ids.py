"""AllocateProducerIds, API key 67, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/allocate_producer_ids.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue
from millstream.protocol.reading import READ_FAILURES, past_end
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES

_INT32_INT16_INT64_INT32: Final = Struct(">ihqi")
_INT32_INT16_INT64_INT32_BYTE: Final = Struct(">ihqiB")
_INT32_INT16_INT64_INT32_ZERO: Final = Struct(">ihqix")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_INT64_ZERO: Final = Struct(">iqx")
_new: Final = object.__new__


class AllocateProducerIdsRequest(MessageValue):
    """Request of API 67, version 0."""

    __slots__ = ("broker_id", "broker_epoch", "unknown_tagged_fields")

    broker_id: int
    broker_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 67
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT32_INT64.pack(self.broker_id, self.broker_epoch)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_INT64_ZERO.pack(self.broker_id, self.broker_epoch)
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
            message.broker_id, message.broker_epoch, tags = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class AllocateProducerIdsResponse(MessageValue):
    """Response of API 67, version 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "producer_id_start",
        "producer_id_len",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int
    producer_id_start: int
    producer_id_len: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id_start: int = 0,
        producer_id_len: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id_start = producer_id_start
        self.producer_id_len = producer_id_len
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 67
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT32_INT16_INT64_INT32.pack(
                    self.throttle_time_ms,
                    self.error_code,
                    self.producer_id_start,
                    self.producer_id_len,
                )
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_INT16_INT64_INT32_ZERO.pack(
                    self.throttle_time_ms,
                    self.error_code,
                    self.producer_id_start,
                    self.producer_id_len,
                )
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
                message.producer_id_start,
                message.producer_id_len,
                tags,
            ) = _INT32_INT16_INT64_INT32_BYTE.unpack_from(data, at)
            at += 19
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


SCHEMA: Final = """\
request AllocateProducerIdsRequest key=67 versions=0 flexible=0+ listeners=controller
  brokerId     int32
  brokerEpoch  int64  default=-1

response AllocateProducerIdsResponse key=67 versions=0 flexible=0+ listeners=controller
  throttleTimeMs   int32
  errorCode        int16
  producerIdStart  int64
  producerIdLen    int32
"""
