"""EndTxn, API key 26, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/end_txn.txt.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, null_refused, past_end, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_string

_S_INT16: Final = Struct(">h")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT16_INT64_INT16: Final = Struct(">ihqh")
_S_INT32_INT16_INT64_INT16_BYTE: Final = Struct(">ihqhB")
_S_INT64_INT16_BOOL: Final = Struct(">qh?")
_S_INT64_INT16_BOOL_BYTE: Final = Struct(">qh?B")
_new: Final = object.__new__


@dataclass(slots=True)
class EndTxnRequest:
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    committed: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 26
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                write_compact_string(out, item.transactional_id)
            else:
                write_string(out, item.transactional_id)
            out += _S_INT64_INT16_BOOL.pack(item.producer_id, item.producer_epoch, item.committed)
            if item.unknown_tagged_fields:
                if version < 3:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 3:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 5:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 3:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT16.unpack_from(data, at)
                at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.transactional_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 3:
                item.producer_id, item.producer_epoch, item.committed, tags = _S_INT64_INT16_BOOL_BYTE.unpack_from(data, at)
                at += 12
            else:
                item.producer_id, item.producer_epoch, item.committed = _S_INT64_INT16_BOOL.unpack_from(data, at)
                at += 11
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
class EndTxnResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1  # 5
    producer_epoch: int = -1  # 5
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 26
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 5:
                out += _S_INT32_INT16_INT64_INT16.pack(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch)
            else:
                out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.unknown_tagged_fields:
                if version < 3:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 3:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 5:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 5:
                item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch, tags = _S_INT32_INT16_INT64_INT16_BYTE.unpack_from(data, at)
                at += 17
            elif version >= 3:
                item.throttle_time_ms, item.error_code, tags = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                item.producer_id = -1
                item.producer_epoch = -1
            else:
                item.throttle_time_ms, item.error_code = _S_INT32_INT16.unpack_from(data, at)
                at += 6
                tags = 0
                item.producer_id = -1
                item.producer_epoch = -1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


SCHEMA: Final = """\
request EndTxnRequest key=26 versions=0-5 flexible=3+ listeners=broker
  transactionalId  string
  producerId       int64
  producerEpoch    int16
  committed        bool

response EndTxnResponse key=26 versions=0-5 flexible=3+ listeners=broker
  throttleTimeMs  int32
  errorCode       int16
  producerId      int64  5 default=-1 ignorable
  producerEpoch   int16  5 default=-1 ignorable
"""
