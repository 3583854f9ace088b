"""SaslHandshake, API key 17, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/sasl_handshake.txt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, null_refused, past_end, read_compact_strings, read_strings
from millstream.protocol.tagged_fields import TaggedField
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_length, write_string

_S_INT16: Final = Struct(">h")
_S_INT16_INT32: Final = Struct(">hi")
_S_INT32: Final = Struct(">i")
_new: Final = object.__new__


@dataclass(slots=True)
class SaslHandshakeRequest:
    mechanism: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 17
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.mechanism)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.mechanism = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class SaslHandshakeResponse:
    error_code: int = 0
    mechanisms: list[str] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 17
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16.pack(item.error_code)
            out += _S_INT32.pack(len(item.mechanisms))
            for text in item.mechanisms:
                write_string(out, text)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.error_code, n = _S_INT16_INT32.unpack_from(data, at)
            at += 6
            item.mechanisms, at = read_strings(data, at, n)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


SCHEMA: Final = """\
request SaslHandshakeRequest key=17 versions=0-1 listeners=broker,controller
  mechanism  string

response SaslHandshakeResponse key=17 versions=0-1 listeners=broker,controller
  errorCode   int16
  mechanisms  []string
"""
