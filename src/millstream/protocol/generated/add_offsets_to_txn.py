"""AddOffsetsToTxn, API key 25, versions 0-4: request and response.

Written by `make codegen` from codegen/schemas/add_offsets_to_txn.txt.
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
_INT32_INT16_ZERO: Final = Struct(">ihx")
_INT64_2INT16: Final = Struct(">qhh")
_INT64_INT16: Final = Struct(">qh")
_INT64_INT16_BYTE: Final = Struct(">qhB")
_new: Final = object.__new__


class AddOffsetsToTxnRequest(MessageValue):
    """Request of API 25, versions 0-4."""

    __slots__ = (
        "transactional_id", "producer_id", "producer_epoch", "group_id", "unknown_tagged_fields"
    )

    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 25
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
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
            raw = self.group_id.encode()
            n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out += _INT64_INT16_BYTE.pack(self.producer_id, self.producer_epoch, n)
                else:
                    out += _INT64_INT16.pack(self.producer_id, self.producer_epoch)
                    write_string_length(out, n)
            else:
                out += _INT64_2INT16.pack(self.producer_id, self.producer_epoch, n - 1)
            out += raw
            if version >= 3:
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
        if not 0 <= version <= 4:
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
                    n,
                ) = _INT64_INT16_BYTE.unpack_from(data, at)
                at += 10
                if 0 < n < 128:
                    message.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.group_id, at = read_compact_string(data, at)
            else:
                message.producer_id, message.producer_epoch, n = _INT64_2INT16.unpack_from(data, at)
                at += 12
                if n < 0:
                    raise null_refused()
                message.group_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 3:
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


class AddOffsetsToTxnResponse(MessageValue):
    """Response of API 25, versions 0-4."""

    __slots__ = ("throttle_time_ms", "error_code", "unknown_tagged_fields")

    throttle_time_ms: int
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 25
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            if version >= 3:
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
        if not 0 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 3:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    tags,
                ) = _INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
            else:
                message.throttle_time_ms, message.error_code = _INT32_INT16.unpack_from(data, at)
                at += 6
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
request AddOffsetsToTxnRequest key=25 versions=0-4 flexible=3+ listeners=broker
  transactionalId  string
  producerId       int64
  producerEpoch    int16
  groupId          string

response AddOffsetsToTxnResponse key=25 versions=0-4 flexible=3+ listeners=broker
  throttleTimeMs  int32
  errorCode       int16
"""
