"""SaslAuthenticate, API key 36, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/sasl_authenticate.txt.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_length, write_string

_S_2INT16: Final = Struct(">hh")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT64: Final = Struct(">q")
_S_INT64_BYTE: Final = Struct(">qB")
_new: Final = object.__new__


@dataclass(slots=True)
class SaslAuthenticateRequest:
    auth_bytes: bytes = b""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 36
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                write_length(out, len(item.auth_bytes))
            else:
                out += _S_INT32.pack(len(item.auth_bytes))
            out += item.auth_bytes
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
        if not 0 <= version <= 2:
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
            item.auth_bytes = data[at - n : at]
            if version >= 2:
                tags = data[at]
                at += 1
            else:
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
class SaslAuthenticateResponse:
    error_code: int = 0
    error_message: str | None = ""
    auth_bytes: bytes = b""
    session_lifetime_ms: int = 0  # 1+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 36
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16.pack(item.error_code)
            if item.error_message is None:
                if version >= 2:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 2:
                    write_compact_string(out, item.error_message)
                else:
                    write_string(out, item.error_message)
            if version >= 2:
                write_length(out, len(item.auth_bytes))
            else:
                out += _S_INT32.pack(len(item.auth_bytes))
            out += item.auth_bytes
            if version >= 1:
                out += _S_INT64.pack(item.session_lifetime_ms)
            else:
                pass
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
        if not 0 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
                at += 3
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.error_code, n = _S_2INT16.unpack_from(data, at)
                at += 4
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
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
            item.auth_bytes = data[at - n : at]
            if version >= 2:
                item.session_lifetime_ms, tags = _S_INT64_BYTE.unpack_from(data, at)
                at += 9
            elif version >= 1:
                (item.session_lifetime_ms,) = _S_INT64.unpack_from(data, at)
                at += 8
                tags = 0
            else:
                tags = 0
                item.session_lifetime_ms = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


SCHEMA: Final = """\
request SaslAuthenticateRequest key=36 versions=0-2 flexible=2+ listeners=broker,controller
  authBytes  bytes

response SaslAuthenticateResponse key=36 versions=0-2 flexible=2+ listeners=broker,controller
  errorCode          int16
  errorMessage       string  nullable
  authBytes          bytes
  sessionLifetimeMs  int64   1+ ignorable
"""
