"""Envelope, API key 58, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/envelope.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue
from millstream.protocol.reading import READ_FAILURES, null_refused, past_end, read_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, must_not_be_null, write_uvarint

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT16_ZERO: Final = Struct(">hx")
_new: Final = object.__new__


class EnvelopeRequest(MessageValue):
    """Request of API 58, version 0."""

    __slots__ = (
        "request_data", "request_principal", "client_host_address", "unknown_tagged_fields"
    )

    request_data: bytes
    request_principal: bytes | None
    client_host_address: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        request_data: bytes = b"",
        request_principal: bytes | None = b"",
        client_host_address: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 58
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.request_data) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += self.request_data
            if self.request_principal is None:
                n = 0
            else:
                n = len(self.request_principal) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.request_principal is not None:
                out += self.request_principal
            n = len(self.client_host_address) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += self.client_host_address
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                raise null_refused()
            message.request_data = data[at : at + n]
            at += n
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.request_principal = None
            else:
                message.request_principal = data[at : at + n]
                at += n
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                raise null_refused()
            message.client_host_address = data[at : at + n]
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


class EnvelopeResponse(MessageValue):
    """Response of API 58, version 0."""

    __slots__ = ("response_data", "error_code", "unknown_tagged_fields")

    response_data: bytes | None
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        response_data: bytes | None = None,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.response_data = response_data
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 58
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.response_data is None:
                n = 0
            else:
                n = len(self.response_data) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.response_data is not None:
                out += self.response_data
            if self.unknown_tagged_fields:
                out += _INT16.pack(self.error_code)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT16_ZERO.pack(self.error_code)
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.response_data = None
            else:
                message.response_data = data[at : at + n]
                at += n
            message.error_code, tags = _INT16_BYTE.unpack_from(data, at)
            at += 3
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


SCHEMA: Final = """\
request EnvelopeRequest key=58 versions=0 flexible=0+ listeners=controller
  requestData        bytes
  requestPrincipal   bytes  nullable
  clientHostAddress  bytes

response EnvelopeResponse key=58 versions=0 flexible=0+ listeners=controller
  responseData  bytes  nullable default=null
  errorCode     int16
"""
