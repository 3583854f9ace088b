"""InitProducerId, API key 22, versions 0-6: request and response.

Written by `make codegen` from codegen/schemas/init_producer_id.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    past_end,
    read_compact_string_or_null,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    write_string_length,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16_INT64_INT16: Final = Struct(">ihqh")
_INT32_INT16_INT64_INT16_BYTE: Final = Struct(">ihqhB")
_INT32_INT16_INT64_INT16_INT64_INT16: Final = Struct(">ihqhqh")
_INT32_INT16_INT64_INT16_INT64_INT16_BYTE: Final = Struct(">ihqhqhB")
_INT32_INT16_INT64_INT16_INT64_INT16_ZERO: Final = Struct(">ihqhqhx")
_INT32_INT16_INT64_INT16_ZERO: Final = Struct(">ihqhx")
_INT32_INT64_INT16: Final = Struct(">iqh")
_INT32_INT64_INT16_2BOOL: Final = Struct(">iqh??")
_INT32_INT64_INT16_2BOOL_BYTE: Final = Struct(">iqh??B")
_INT32_INT64_INT16_2BOOL_ZERO: Final = Struct(">iqh??x")
_INT32_INT64_INT16_BYTE: Final = Struct(">iqhB")
_INT32_INT64_INT16_ZERO: Final = Struct(">iqhx")
_INT32_ZERO: Final = Struct(">ix")
_new: Final = object.__new__


class InitProducerIdRequest(MessageValue):
    """Request of API 22, versions 0-6."""

    __slots__ = (
        "transactional_id",
        "transaction_timeout_ms",
        "producer_id",
        "producer_epoch",
        "enable_2pc",
        "keep_prepared_txn",
        "unknown_tagged_fields",
    )

    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int  # 3+
    producer_epoch: int  # 3+
    enable_2pc: bool  # 6
    keep_prepared_txn: bool  # 6
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable_2pc: bool = False,
        keep_prepared_txn: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable_2pc = enable_2pc
        self.keep_prepared_txn = keep_prepared_txn
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 22
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise version_refused(type(self), version)
        try:
            if self.transactional_id is None:
                raw = b""
                n = 0
            else:
                raw = self.transactional_id.encode()
                n = len(raw) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            if version >= 6:
                if self.unknown_tagged_fields:
                    out += _INT32_INT64_INT16_2BOOL.pack(
                        self.transaction_timeout_ms,
                        self.producer_id,
                        self.producer_epoch,
                        self.enable_2pc,
                        self.keep_prepared_txn,
                    )
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_INT64_INT16_2BOOL_ZERO.pack(
                        self.transaction_timeout_ms,
                        self.producer_id,
                        self.producer_epoch,
                        self.enable_2pc,
                        self.keep_prepared_txn,
                    )
            elif version >= 3:
                if self.unknown_tagged_fields:
                    out += _INT32_INT64_INT16.pack(
                        self.transaction_timeout_ms, self.producer_id, self.producer_epoch
                    )
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_INT64_INT16_ZERO.pack(
                        self.transaction_timeout_ms, self.producer_id, self.producer_epoch
                    )
                if self.enable_2pc:
                    raise not_in_version("enable_2pc", version)
                if self.keep_prepared_txn:
                    raise not_in_version("keep_prepared_txn", version)
            elif version >= 2:
                if self.unknown_tagged_fields:
                    out += _INT32.pack(self.transaction_timeout_ms)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_ZERO.pack(self.transaction_timeout_ms)
                if self.producer_id != -1:
                    raise not_in_version("producer_id", version)
                if self.producer_epoch != -1:
                    raise not_in_version("producer_epoch", version)
                if self.enable_2pc:
                    raise not_in_version("enable_2pc", version)
                if self.keep_prepared_txn:
                    raise not_in_version("keep_prepared_txn", version)
            else:
                out += _INT32.pack(self.transaction_timeout_ms)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
                if self.producer_id != -1:
                    raise not_in_version("producer_id", version)
                if self.producer_epoch != -1:
                    raise not_in_version("producer_epoch", version)
                if self.enable_2pc:
                    raise not_in_version("enable_2pc", version)
                if self.keep_prepared_txn:
                    raise not_in_version("keep_prepared_txn", version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 6:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                n = data[at]
                if 0 < n < 128:
                    message.transactional_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.transactional_id, at = read_compact_string_or_null(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    message.transactional_id = None
                else:
                    message.transactional_id = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            if version >= 6:
                (
                    message.transaction_timeout_ms,
                    message.producer_id,
                    message.producer_epoch,
                    message.enable_2pc,
                    message.keep_prepared_txn,
                    tags,
                ) = _INT32_INT64_INT16_2BOOL_BYTE.unpack_from(data, at)
                at += 17
            elif version >= 3:
                (
                    message.transaction_timeout_ms,
                    message.producer_id,
                    message.producer_epoch,
                    tags,
                ) = _INT32_INT64_INT16_BYTE.unpack_from(data, at)
                at += 15
                message.enable_2pc = False
                message.keep_prepared_txn = False
            elif version >= 2:
                message.transaction_timeout_ms, tags = _INT32_BYTE.unpack_from(data, at)
                at += 5
                message.producer_id = -1
                message.producer_epoch = -1
                message.enable_2pc = False
                message.keep_prepared_txn = False
            else:
                (message.transaction_timeout_ms,) = _INT32.unpack_from(data, at)
                at += 4
                message.producer_id = -1
                message.producer_epoch = -1
                message.enable_2pc = False
                message.keep_prepared_txn = False
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class InitProducerIdResponse(MessageValue):
    """Response of API 22, versions 0-6."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "producer_id",
        "producer_epoch",
        "ongoing_txn_producer_id",
        "ongoing_txn_producer_epoch",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int
    ongoing_txn_producer_id: int  # 6
    ongoing_txn_producer_epoch: int  # 6
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing_txn_producer_id = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch = ongoing_txn_producer_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 22
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise version_refused(type(self), version)
        try:
            if version >= 6:
                if self.unknown_tagged_fields:
                    out += _INT32_INT16_INT64_INT16_INT64_INT16.pack(
                        self.throttle_time_ms,
                        self.error_code,
                        self.producer_id,
                        self.producer_epoch,
                        self.ongoing_txn_producer_id,
                        self.ongoing_txn_producer_epoch,
                    )
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_INT16_INT64_INT16_INT64_INT16_ZERO.pack(
                        self.throttle_time_ms,
                        self.error_code,
                        self.producer_id,
                        self.producer_epoch,
                        self.ongoing_txn_producer_id,
                        self.ongoing_txn_producer_epoch,
                    )
            elif version >= 2:
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
                if self.ongoing_txn_producer_id != -1:
                    raise not_in_version("ongoing_txn_producer_id", version)
                if self.ongoing_txn_producer_epoch != -1:
                    raise not_in_version("ongoing_txn_producer_epoch", version)
            else:
                out += _INT32_INT16_INT64_INT16.pack(
                    self.throttle_time_ms, self.error_code, self.producer_id, self.producer_epoch
                )
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
                if self.ongoing_txn_producer_id != -1:
                    raise not_in_version("ongoing_txn_producer_id", version)
                if self.ongoing_txn_producer_epoch != -1:
                    raise not_in_version("ongoing_txn_producer_epoch", version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 6:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 6:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    message.producer_id,
                    message.producer_epoch,
                    message.ongoing_txn_producer_id,
                    message.ongoing_txn_producer_epoch,
                    tags,
                ) = _INT32_INT16_INT64_INT16_INT64_INT16_BYTE.unpack_from(data, at)
                at += 27
            elif version >= 2:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    message.producer_id,
                    message.producer_epoch,
                    tags,
                ) = _INT32_INT16_INT64_INT16_BYTE.unpack_from(data, at)
                at += 17
                message.ongoing_txn_producer_id = -1
                message.ongoing_txn_producer_epoch = -1
            else:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    message.producer_id,
                    message.producer_epoch,
                ) = _INT32_INT16_INT64_INT16.unpack_from(data, at)
                at += 16
                message.ongoing_txn_producer_id = -1
                message.ongoing_txn_producer_epoch = -1
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
request InitProducerIdRequest key=22 versions=0-6 flexible=2+ listeners=broker unstable=6+
  transactionalId       string  nullable
  transactionTimeoutMs  int32
  producerId            int64   3+ default=-1
  producerEpoch         int16   3+ default=-1
  enable2Pc             bool    6
  keepPreparedTxn       bool    6

response InitProducerIdResponse key=22 versions=0-6 flexible=2+ listeners=broker unstable=6+
  throttleTimeMs           int32
  errorCode                int16
  producerId               int64  default=-1
  producerEpoch            int16
  ongoingTxnProducerId     int64  6 default=-1
  ongoingTxnProducerEpoch  int16  6 default=-1
"""
