"""EndTxn, API key 26, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/end_txn.txt.
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
    read_compact_string,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_string_length

_INT16: Final = Struct(">h")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_INT64_INT16: Final = Struct(">ihqh")
_INT32_INT16_INT64_INT16_BYTE: Final = Struct(">ihqhB")
_INT32_INT16_INT64_INT16_ZERO: Final = Struct(">ihqhx")
_INT32_INT16_ZERO: Final = Struct(">ihx")
_INT64_INT16_BOOL: Final = Struct(">qh?")
_INT64_INT16_BOOL_BYTE: Final = Struct(">qh?B")
_INT64_INT16_BOOL_ZERO: Final = Struct(">qh?x")
_new: Final = object.__new__


class EndTxnRequest(MessageValue):
    """Request of API 26, versions 0-5."""

    __slots__ = (
        "transactional_id", "producer_id", "producer_epoch", "committed", "unknown_tagged_fields"
    )

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 26
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            raw = self.transactional_id.encode()
            n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            if version >= 3:
                if self.unknown_tagged_fields:
                    out += _INT64_INT16_BOOL.pack(
                        self.producer_id, self.producer_epoch, self.committed
                    )
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT64_INT16_BOOL_ZERO.pack(
                        self.producer_id, self.producer_epoch, self.committed
                    )
            else:
                out += _INT64_INT16_BOOL.pack(self.producer_id, self.producer_epoch, self.committed)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 5:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.transactional_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.transactional_id, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.transactional_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 3:
                (
                    message.producer_id,
                    message.producer_epoch,
                    message.committed,
                    tags,
                ) = _INT64_INT16_BOOL_BYTE.unpack_from(data, at)
                at += 12
            else:
                (
                    message.producer_id,
                    message.producer_epoch,
                    message.committed,
                ) = _INT64_INT16_BOOL.unpack_from(data, at)
                at += 11
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class EndTxnResponse(MessageValue):
    """Response of API 26, versions 0-5."""

    __slots__ = (
        "throttle_time_ms", "error_code", "producer_id", "producer_epoch", "unknown_tagged_fields"
    )

    throttle_time_ms: int
    error_code: int
    producer_id: int  # 5
    producer_epoch: int  # 5
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 26
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            if version >= 5:
                if self.unknown_tagged_fields:
                    out += _INT32_INT16_INT64_INT16.pack(
                        self.throttle_time_ms,
                        self.error_code,
                        self.producer_id,
                        self.producer_epoch,
                    )
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_INT16_INT64_INT16_ZERO.pack(
                        self.throttle_time_ms,
                        self.error_code,
                        self.producer_id,
                        self.producer_epoch,
                    )
            elif version >= 3:
                if self.unknown_tagged_fields:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_INT16_ZERO.pack(self.throttle_time_ms, self.error_code)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 5:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 5:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    message.producer_id,
                    message.producer_epoch,
                    tags,
                ) = _INT32_INT16_INT64_INT16_BYTE.unpack_from(data, at)
                at += 17
            elif version >= 3:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    tags,
                ) = _INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                message.producer_id = -1
                message.producer_epoch = -1
            else:
                message.throttle_time_ms, message.error_code = _INT32_INT16.unpack_from(data, at)
                at += 6
                message.producer_id = -1
                message.producer_epoch = -1
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
