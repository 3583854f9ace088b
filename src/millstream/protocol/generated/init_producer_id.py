"""InitProducerId, API key 22, versions 0-6: request and response.

Written by `make codegen` from codegen/schemas/init_producer_id.txt.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, past_end, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_string

_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16_INT64_INT16: Final = Struct(">ihqh")
_S_INT32_INT16_INT64_INT16_BYTE: Final = Struct(">ihqhB")
_S_INT32_INT16_INT64_INT16_INT64_INT16: Final = Struct(">ihqhqh")
_S_INT32_INT16_INT64_INT16_INT64_INT16_BYTE: Final = Struct(">ihqhqhB")
_S_INT32_INT64_INT16: Final = Struct(">iqh")
_S_INT32_INT64_INT16_2BOOL: Final = Struct(">iqh??")
_S_INT32_INT64_INT16_2BOOL_BYTE: Final = Struct(">iqh??B")
_S_INT32_INT64_INT16_BYTE: Final = Struct(">iqhB")
_new: Final = object.__new__


@dataclass(slots=True)
class InitProducerIdRequest:
    transactional_id: str | None = ""
    transaction_timeout_ms: int = 0
    producer_id: int = -1  # 3+
    producer_epoch: int = -1  # 3+
    enable_2pc: bool = False  # 6
    keep_prepared_txn: bool = False  # 6
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 22
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise unsupported(self, version)
        item = self
        try:
            if item.transactional_id is None:
                if version >= 2:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 2:
                    write_compact_string(out, item.transactional_id)
                else:
                    write_string(out, item.transactional_id)
            if version >= 6:
                out += _S_INT32_INT64_INT16_2BOOL.pack(item.transaction_timeout_ms, item.producer_id, item.producer_epoch, item.enable_2pc, item.keep_prepared_txn)
            elif version >= 3:
                out += _S_INT32_INT64_INT16.pack(item.transaction_timeout_ms, item.producer_id, item.producer_epoch)
                if item.enable_2pc:
                    raise not_in_version("enable_2pc", version)
                if item.keep_prepared_txn:
                    raise not_in_version("keep_prepared_txn", version)
            else:
                out += _S_INT32.pack(item.transaction_timeout_ms)
                if item.producer_id != -1:
                    raise not_in_version("producer_id", version)
                if item.producer_epoch != -1:
                    raise not_in_version("producer_epoch", version)
                if item.enable_2pc:
                    raise not_in_version("enable_2pc", version)
                if item.keep_prepared_txn:
                    raise not_in_version("keep_prepared_txn", version)
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
        if not 0 <= version <= 6:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
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
                item.transactional_id = None
            else:
                at += n
                item.transactional_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 6:
                item.transaction_timeout_ms, item.producer_id, item.producer_epoch, item.enable_2pc, item.keep_prepared_txn, tags = _S_INT32_INT64_INT16_2BOOL_BYTE.unpack_from(data, at)
                at += 17
            elif version >= 3:
                item.transaction_timeout_ms, item.producer_id, item.producer_epoch, tags = _S_INT32_INT64_INT16_BYTE.unpack_from(data, at)
                at += 15
                item.enable_2pc = False
                item.keep_prepared_txn = False
            elif version >= 2:
                item.transaction_timeout_ms, tags = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                item.producer_id = -1
                item.producer_epoch = -1
                item.enable_2pc = False
                item.keep_prepared_txn = False
            else:
                (item.transaction_timeout_ms,) = _S_INT32.unpack_from(data, at)
                at += 4
                tags = 0
                item.producer_id = -1
                item.producer_epoch = -1
                item.enable_2pc = False
                item.keep_prepared_txn = False
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class InitProducerIdResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = 0
    ongoing_txn_producer_id: int = -1  # 6
    ongoing_txn_producer_epoch: int = -1  # 6
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 22
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 6:
                out += _S_INT32_INT16_INT64_INT16_INT64_INT16.pack(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch, item.ongoing_txn_producer_id, item.ongoing_txn_producer_epoch)
            else:
                out += _S_INT32_INT16_INT64_INT16.pack(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch)
                if item.ongoing_txn_producer_id != -1:
                    raise not_in_version("ongoing_txn_producer_id", version)
                if item.ongoing_txn_producer_epoch != -1:
                    raise not_in_version("ongoing_txn_producer_epoch", version)
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
        if not 0 <= version <= 6:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 6:
                item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch, item.ongoing_txn_producer_id, item.ongoing_txn_producer_epoch, tags = _S_INT32_INT16_INT64_INT16_INT64_INT16_BYTE.unpack_from(data, at)
                at += 27
            elif version >= 2:
                item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch, tags = _S_INT32_INT16_INT64_INT16_BYTE.unpack_from(data, at)
                at += 17
                item.ongoing_txn_producer_id = -1
                item.ongoing_txn_producer_epoch = -1
            else:
                item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch = _S_INT32_INT16_INT64_INT16.unpack_from(data, at)
                at += 16
                tags = 0
                item.ongoing_txn_producer_id = -1
                item.ongoing_txn_producer_epoch = -1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


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
