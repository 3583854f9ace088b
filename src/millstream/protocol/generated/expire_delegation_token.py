"""ExpireDelegationToken, API key 40, versions 1-2: request and response.

Written by `make codegen` from codegen/schemas/expire_delegation_token.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue
from millstream.protocol.reading import READ_FAILURES, null_refused, past_end, read_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_uvarint

_INT16_INT64_INT32: Final = Struct(">hqi")
_INT16_INT64_INT32_BYTE: Final = Struct(">hqiB")
_INT16_INT64_INT32_ZERO: Final = Struct(">hqix")
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_INT64_BYTE: Final = Struct(">qB")
_INT64_ZERO: Final = Struct(">qx")
_new: Final = object.__new__


class ExpireDelegationTokenRequest(MessageValue):
    """Request of API 40, versions 1-2."""

    __slots__ = ("hmac", "expiry_time_period_ms", "unknown_tagged_fields")

    hmac: bytes
    expiry_time_period_ms: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        hmac: bytes = b"",
        expiry_time_period_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.hmac = hmac
        self.expiry_time_period_ms = expiry_time_period_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 40
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.hmac) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            out += self.hmac
            if version >= 2:
                if self.unknown_tagged_fields:
                    out += _INT64.pack(self.expiry_time_period_ms)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT64_ZERO.pack(self.expiry_time_period_ms)
            else:
                out += _INT64.pack(self.expiry_time_period_ms)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if n < 0:
                raise null_refused()
            message.hmac = data[at : at + n]
            at += n
            if version >= 2:
                message.expiry_time_period_ms, tags = _INT64_BYTE.unpack_from(data, at)
                at += 9
            else:
                (message.expiry_time_period_ms,) = _INT64.unpack_from(data, at)
                at += 8
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ExpireDelegationTokenResponse(MessageValue):
    """Response of API 40, versions 1-2."""

    __slots__ = ("error_code", "expiry_timestamp_ms", "throttle_time_ms", "unknown_tagged_fields")

    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 40
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if version >= 2:
                if self.unknown_tagged_fields:
                    out += _INT16_INT64_INT32.pack(
                        self.error_code, self.expiry_timestamp_ms, self.throttle_time_ms
                    )
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT16_INT64_INT32_ZERO.pack(
                        self.error_code, self.expiry_timestamp_ms, self.throttle_time_ms
                    )
            else:
                out += _INT16_INT64_INT32.pack(
                    self.error_code, self.expiry_timestamp_ms, self.throttle_time_ms
                )
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                (
                    message.error_code,
                    message.expiry_timestamp_ms,
                    message.throttle_time_ms,
                    tags,
                ) = _INT16_INT64_INT32_BYTE.unpack_from(data, at)
                at += 15
            else:
                (
                    message.error_code,
                    message.expiry_timestamp_ms,
                    message.throttle_time_ms,
                ) = _INT16_INT64_INT32.unpack_from(data, at)
                at += 14
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


SCHEMA: Final = """\
request ExpireDelegationTokenRequest key=40 versions=1-2 flexible=2+ listeners=broker,controller
  hmac                bytes
  expiryTimePeriodMs  int64

response ExpireDelegationTokenResponse key=40 versions=1-2 flexible=2+ listeners=broker,controller
  errorCode          int16
  expiryTimestampMs  int64
  throttleTimeMs     int32
"""
