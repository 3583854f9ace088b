"""SaslAuthenticate, API key 36, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/sasl_authenticate.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    null_refused,
    past_end,
    read_compact_string_or_null,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    tags_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_INT64_BYTE: Final = Struct(">qB")
_INT64_ZERO: Final = Struct(">qx")
_S2INT16: Final = Struct(">hh")
_new: Final = object.__new__


class SaslAuthenticateRequest(MessageValue):
    """Request of API 36, versions 0-2."""

    __slots__ = ("auth_bytes", "unknown_tagged_fields")

    auth_bytes: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, auth_bytes: bytes = b"", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.auth_bytes = auth_bytes
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 36
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.auth_bytes) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            out += self.auth_bytes
            if version >= 2:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
            elif self.unknown_tagged_fields:
                raise tags_refused(version)
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
            message.auth_bytes = data[at : at + n]
            at += n
            if version >= 2:
                tags = data[at]
                at += 1
            else:
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class SaslAuthenticateResponse(MessageValue):
    """Response of API 36, versions 0-2."""

    __slots__ = (
        "error_code", "error_message", "auth_bytes", "session_lifetime_ms", "unknown_tagged_fields"
    )

    error_code: int
    error_message: str | None
    auth_bytes: bytes
    session_lifetime_ms: int  # 1+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 36
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if self.error_message is None:
                raw = b""
                n = 0
            else:
                raw = self.error_message.encode()
                n = len(raw) + 1
            if version >= 2:
                if n < 128:
                    out += _INT16_BYTE.pack(self.error_code, n)
                else:
                    out += _INT16.pack(self.error_code)
                    write_string_length(out, n)
            else:
                out += _S2INT16.pack(self.error_code, n - 1)
            out += raw
            n = len(self.auth_bytes) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            out += self.auth_bytes
            if version >= 2:
                if self.unknown_tagged_fields:
                    out += _INT64.pack(self.session_lifetime_ms)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT64_ZERO.pack(self.session_lifetime_ms)
            elif version >= 1:
                out += _INT64.pack(self.session_lifetime_ms)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
            elif self.unknown_tagged_fields:
                raise tags_refused(version)
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
            if version >= 2:
                message.error_code, n = _INT16_BYTE.unpack_from(data, at)
                at += 2
                if 0 < n < 128:
                    message.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.error_message, at = read_compact_string_or_null(data, at)
            else:
                message.error_code, n = _S2INT16.unpack_from(data, at)
                at += 4
                if n < 0:
                    message.error_message = None
                else:
                    message.error_message = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
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
            message.auth_bytes = data[at : at + n]
            at += n
            if version >= 2:
                message.session_lifetime_ms, tags = _INT64_BYTE.unpack_from(data, at)
                at += 9
            elif version >= 1:
                (message.session_lifetime_ms,) = _INT64.unpack_from(data, at)
                at += 8
                tags = 0
            else:
                message.session_lifetime_ms = 0
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
request SaslAuthenticateRequest key=36 versions=0-2 flexible=2+ listeners=broker,controller
  authBytes  bytes

response SaslAuthenticateResponse key=36 versions=0-2 flexible=2+ listeners=broker,controller
  errorCode          int16
  errorMessage       string  nullable
  authBytes          bytes
  sessionLifetimeMs  int64   1+ ignorable
"""
