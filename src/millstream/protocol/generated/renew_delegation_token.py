"""RenewDelegationToken, API key 39, versions 1-2: request and response.

Written by `make codegen` from codegen/schemas/renew_delegation_token.txt.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import READ_FAILURES, null_refused, past_end, read_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_length

_S_INT16_INT64_INT32: Final = Struct(">hqi")
_S_INT16_INT64_INT32_BYTE: Final = Struct(">hqiB")
_S_INT32: Final = Struct(">i")
_S_INT64: Final = Struct(">q")
_S_INT64_BYTE: Final = Struct(">qB")
_new: Final = object.__new__


@dataclass(slots=True)
class RenewDelegationTokenRequest:
    hmac: bytes = b""
    renew_period_ms: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 39
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                write_length(out, len(item.hmac))
            else:
                out += _S_INT32.pack(len(item.hmac))
            out += item.hmac
            out += _S_INT64.pack(item.renew_period_ms)
            if item.unknown_tagged_fields:
                if version < 2:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 2:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if n < 0:
                raise null_refused()
            at += n
            item.hmac = data[at - n : at]
            if version >= 2:
                item.renew_period_ms, tags = _S_INT64_BYTE.unpack_from(data, at)
                at += 9
            else:
                (item.renew_period_ms,) = _S_INT64.unpack_from(data, at)
                at += 8
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
class RenewDelegationTokenResponse:
    error_code: int = 0
    expiry_timestamp_ms: int = 0
    throttle_time_ms: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 39
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16_INT64_INT32.pack(item.error_code, item.expiry_timestamp_ms, item.throttle_time_ms)
            if item.unknown_tagged_fields:
                if version < 2:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 2:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                item.error_code, item.expiry_timestamp_ms, item.throttle_time_ms, tags = _S_INT16_INT64_INT32_BYTE.unpack_from(data, at)
                at += 15
            else:
                item.error_code, item.expiry_timestamp_ms, item.throttle_time_ms = _S_INT16_INT64_INT32.unpack_from(data, at)
                at += 14
                tags = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


SCHEMA: Final = """\
request RenewDelegationTokenRequest key=39 versions=1-2 flexible=2+ listeners=broker,controller
  hmac           bytes
  renewPeriodMs  int64

response RenewDelegationTokenResponse key=39 versions=1-2 flexible=2+ listeners=broker,controller
  errorCode          int16
  expiryTimestampMs  int64
  throttleTimeMs     int32
"""
