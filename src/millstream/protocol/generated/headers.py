"""header messages: RequestHeader to ResponseHeader.

Written by `make codegen` from codegen/schemas/headers.txt.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, past_end
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_string

_S_2INT16_INT32: Final = Struct(">hhi")
_S_2INT16_INT32_INT16: Final = Struct(">hhih")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_new: Final = object.__new__


@dataclass(slots=True)
class RequestHeader:
    request_api_key: int = 0
    request_api_version: int = 0
    correlation_id: int = 0
    client_id: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_2INT16_INT32.pack(item.request_api_key, item.request_api_version, item.correlation_id)
            if item.client_id is None:
                out += b"\xff\xff"
            else:
                write_string(out, item.client_id)
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
        data = view
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.request_api_key, item.request_api_version, item.correlation_id, n = _S_2INT16_INT32_INT16.unpack_from(data, at)
            at += 10
            if n < 0:
                item.client_id = None
            else:
                at += n
                item.client_id = str(data[at - n : at], "utf-8", LENIENT)
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
class ResponseHeader:
    correlation_id: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.correlation_id)
            if item.unknown_tagged_fields:
                if version < 1:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 1:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise unsupported(cls, version)
        data = view
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 1:
                item.correlation_id, tags = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
            else:
                (item.correlation_id,) = _S_INT32.unpack_from(data, at)
                at += 4
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
header RequestHeader versions=1-2 flexible=2+
  requestApiKey      int16
  requestApiVersion  int16
  correlationId      int32
  clientId           string  nullable legacy

header ResponseHeader versions=0-1 flexible=1+
  correlationId  int32
"""
