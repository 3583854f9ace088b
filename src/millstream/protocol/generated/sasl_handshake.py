"""SaslHandshake, API key 17, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/sasl_handshake.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import LENIENT, READ_FAILURES, null_refused, past_end, read_strings
from millstream.protocol.tagged_fields import TaggedField
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_strings

_INT16: Final = Struct(">h")
_INT16_INT32: Final = Struct(">hi")
_new: Final = object.__new__


class SaslHandshakeRequest(MessageValue):
    """Request of API 17, versions 0-1."""

    __slots__ = ("mechanism", "unknown_tagged_fields")

    mechanism: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, mechanism: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.mechanism = mechanism
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 17
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            raw = self.mechanism.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.mechanism = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class SaslHandshakeResponse(MessageValue):
    """Response of API 17, versions 0-1."""

    __slots__ = ("error_code", "mechanisms", "unknown_tagged_fields")

    error_code: int
    mechanisms: list[str]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        mechanisms: list[str] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is UNSET else mechanisms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 17
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.mechanisms) + 1
            out += _INT16_INT32.pack(self.error_code, n - 1)
            write_strings(out, self.mechanisms)
            if self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.error_code, n = _INT16_INT32.unpack_from(data, at)
            at += 6
            message.mechanisms, at = read_strings(data, at, n)
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


SCHEMA: Final = """\
request SaslHandshakeRequest key=17 versions=0-1 listeners=broker,controller
  mechanism  string

response SaslHandshakeResponse key=17 versions=0-1 listeners=broker,controller
  errorCode   int16
  mechanisms  []string
"""
