"""AddOffsetsToTxn, API key 25, versions 0-4: request and response.

Written by `make codegen` from codegen/schemas/add_offsets_to_txn.txt.
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
_S_INT64_2INT16: Final = Struct(">qhh")
_S_INT64_INT16: Final = Struct(">qh")
_S_INT64_INT16_BYTE: Final = Struct(">qhB")
_new: Final = object.__new__


@dataclass(slots=True)
class AddOffsetsToTxnRequest:
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    group_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 25
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                write_compact_string(out, item.transactional_id)
            else:
                write_string(out, item.transactional_id)
            out += _S_INT64_INT16.pack(item.producer_id, item.producer_epoch)
            if version >= 3:
                write_compact_string(out, item.group_id)
            else:
                write_string(out, item.group_id)
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
        if not 0 <= version <= 4:
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
                item.producer_id, item.producer_epoch, n = _S_INT64_INT16_BYTE.unpack_from(data, at)
                at += 11
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.producer_id, item.producer_epoch, n = _S_INT64_2INT16.unpack_from(data, at)
                at += 12
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 3:
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
class AddOffsetsToTxnResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 25
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
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
        if not 0 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 3:
                item.throttle_time_ms, item.error_code, tags = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
            else:
                item.throttle_time_ms, item.error_code = _S_INT32_INT16.unpack_from(data, at)
                at += 6
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
request AddOffsetsToTxnRequest key=25 versions=0-4 flexible=3+ listeners=broker
  transactionalId  string
  producerId       int64
  producerEpoch    int16
  groupId          string

response AddOffsetsToTxnResponse key=25 versions=0-4 flexible=3+ listeners=broker
  throttleTimeMs  int32
  errorCode       int16
"""
