"""header messages: RequestHeader to ResponseHeader.

Written by `make codegen` from codegen/schemas/headers.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue
from millstream.protocol.reading import LENIENT, READ_FAILURES, past_end
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, must_not_be_null, tags_refused

_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_ZERO: Final = Struct(">ix")
_S2INT16_INT32_INT16: Final = Struct(">hhih")
_new: Final = object.__new__


class RequestHeader(MessageValue):
    """Header, versions 1-2."""

    __slots__ = (
        "request_api_key",
        "request_api_version",
        "correlation_id",
        "client_id",
        "unknown_tagged_fields",
    )

    request_api_key: int
    request_api_version: int
    correlation_id: int
    client_id: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if self.client_id is None:
                raw = b""
                n = 0
            else:
                raw = self.client_id.encode()
                n = len(raw) + 1
            out += _S2INT16_INT32_INT16.pack(
                self.request_api_key, self.request_api_version, self.correlation_id, n - 1
            )
            out += raw
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
        if not 1 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = view
        limit = len(data)
        message = _new(cls)
        try:
            (
                message.request_api_key,
                message.request_api_version,
                message.correlation_id,
                n,
            ) = _S2INT16_INT32_INT16.unpack_from(data, at)
            at += 10
            if n < 0:
                message.client_id = None
            else:
                message.client_id = str(data[at : at + n], "utf-8", LENIENT)
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


class ResponseHeader(MessageValue):
    """Header, versions 0-1."""

    __slots__ = ("correlation_id", "unknown_tagged_fields")

    correlation_id: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, correlation_id: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.correlation_id = correlation_id
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            if version >= 1:
                if self.unknown_tagged_fields:
                    out += _INT32.pack(self.correlation_id)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_ZERO.pack(self.correlation_id)
            else:
                out += _INT32.pack(self.correlation_id)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise version_refused(cls, version)
        start = at
        data = view
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 1:
                message.correlation_id, tags = _INT32_BYTE.unpack_from(data, at)
                at += 5
            else:
                (message.correlation_id,) = _INT32.unpack_from(data, at)
                at += 4
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
header RequestHeader versions=1-2 flexible=2+
  requestApiKey      int16
  requestApiVersion  int16
  correlationId      int32
  clientId           string  nullable legacy

header ResponseHeader versions=0-1 flexible=1+
  correlationId  int32
"""
