"""PushTelemetry, API key 72, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/push_telemetry.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue
from millstream.protocol.reading import READ_FAILURES, null_refused, past_end, read_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, uuid_refused, write_uvarint

_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_ZERO: Final = Struct(">ihx")
_UUID_INT32_BOOL_INT8: Final = Struct(">16si?b")
_UUID_INT32_BOOL_INT8_BYTE: Final = Struct(">16si?bB")
_new: Final = object.__new__


class PushTelemetryRequest(MessageValue):
    """Request of API 72, version 0."""

    __slots__ = (
        "client_instance_id",
        "subscription_id",
        "terminating",
        "compression_type",
        "metrics",
        "unknown_tagged_fields",
    )

    client_instance_id: Uuid
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        client_instance_id: Uuid = ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 72
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.metrics) + 1
            if len(self.client_instance_id) != 16:
                raise uuid_refused(self.client_instance_id)
            if n < 128:
                out += _UUID_INT32_BOOL_INT8_BYTE.pack(
                    self.client_instance_id,
                    self.subscription_id,
                    self.terminating,
                    self.compression_type,
                    n,
                )
            else:
                out += _UUID_INT32_BOOL_INT8.pack(
                    self.client_instance_id,
                    self.subscription_id,
                    self.terminating,
                    self.compression_type,
                )
                write_uvarint(out, n)
            out += self.metrics
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
                message.client_instance_id,
                message.subscription_id,
                message.terminating,
                message.compression_type,
                n,
            ) = _UUID_INT32_BOOL_INT8_BYTE.unpack_from(data, at)
            at += 22
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                raise null_refused()
            message.metrics = data[at : at + n]
            at += n
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


class PushTelemetryResponse(MessageValue):
    """Response of API 72, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "unknown_tagged_fields")

    throttle_time_ms: int
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 72
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_INT16_ZERO.pack(self.throttle_time_ms, self.error_code)
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
                tags,
            ) = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


SCHEMA: Final = """\
request PushTelemetryRequest key=72 versions=0 flexible=0+ listeners=broker
  clientInstanceId  uuid
  subscriptionId    int32
  terminating       bool
  compressionType   int8
  metrics           bytes

response PushTelemetryResponse key=72 versions=0 flexible=0+ listeners=broker
  throttleTimeMs  int32
  errorCode       int16
"""
