"""transaction messages: TransactionLogKey to TransactionLogValue.

Written by `make codegen` from codegen/schemas/transaction_records.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length, read_uvarint
from millstream.protocol.tagged_fields import TaggedField, read_tag_count, read_unknown_field, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_2INT64: Final = Struct(">qq")
_S_2INT64_BYTE: Final = Struct(">qqB")
_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT64: Final = Struct(">q")
_S_INT64_INT16_INT32_INT8: Final = Struct(">qhib")
_S_INT64_INT16_INT32_INT8_BYTE: Final = Struct(">qhibB")
_S_INT64_INT16_INT32_INT8_INT32: Final = Struct(">qhibi")
_new: Final = object.__new__


@dataclass(slots=True)
class TransactionLogKey:
    transactional_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.transactional_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
            item.transactional_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class PartitionsSchema:
    topic: str = ""
    partition_ids: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TransactionLogValue:
    producer_id: int = 0
    previous_producer_id: int = -1  # 1, tag 0
    next_producer_id: int = -1  # 1, tag 1
    producer_epoch: int = 0
    next_producer_epoch: int = -1  # 1, tag 3
    transaction_timeout_ms: int = 0
    transaction_status: int = 0
    transaction_partitions: list[PartitionsSchema] | None = field(default_factory=list)
    transaction_last_update_timestamp_ms: int = 0
    transaction_start_timestamp_ms: int = 0
    client_transaction_version: int = 0  # 1, tag 2
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT64_INT16_INT32_INT8.pack(item.producer_id, item.producer_epoch, item.transaction_timeout_ms, item.transaction_status)
            if item.transaction_partitions is None:
                if version >= 1:
                    out.append(0)
                else:
                    out += b"\xff\xff\xff\xff"
            else:
                if version >= 1:
                    write_length(out, len(item.transaction_partitions))
                else:
                    out += _S_INT32.pack(len(item.transaction_partitions))
                _write_partitions_schema(out, item.transaction_partitions, version)
            out += _S_2INT64.pack(item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms)
            if item.previous_producer_id != -1 or item.next_producer_id != -1 or item.next_producer_epoch != -1 or item.client_transaction_version or item.unknown_tagged_fields:
                _write_transaction_log_value_tags(out, item, version)
            elif version >= 1:
                out.append(0)
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
            if version >= 1:
                item.producer_id, item.producer_epoch, item.transaction_timeout_ms, item.transaction_status, n = _S_INT64_INT16_INT32_INT8_BYTE.unpack_from(data, at)
                at += 16
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.producer_id, item.producer_epoch, item.transaction_timeout_ms, item.transaction_status, n = _S_INT64_INT16_INT32_INT8_INT32.unpack_from(data, at)
                at += 19
            if n < 0:
                item.transaction_partitions = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.transaction_partitions, at = _read_partitions_schema(data, at, version, n)
            if version >= 1:
                item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms, tags = _S_2INT64_BYTE.unpack_from(data, at)
                at += 17
            else:
                item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms = _S_2INT64.unpack_from(data, at)
                at += 16
                tags = 0
            item.previous_producer_id = -1
            item.next_producer_id = -1
            item.next_producer_epoch = -1
            item.client_transaction_version = 0
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_transaction_log_value_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_partitions_schema(data: bytes, at: int, version: int, count: int) -> tuple[list[PartitionsSchema], int]:
    items: list[PartitionsSchema] = []
    for _ in range(count):
        item = _new(PartitionsSchema)
        if version >= 1:
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
        item.topic = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        item.partition_ids, at = read_integers(data, at, n, "i", 4)
        if version >= 1:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_partitions_schema(out: bytearray, items: Iterable[PartitionsSchema], version: int) -> None:
    for item in items:
        if version >= 1:
            write_compact_string(out, item.topic)
        else:
            write_string(out, item.topic)
        if version >= 1:
            write_length(out, len(item.partition_ids))
        else:
            out += _S_INT32.pack(len(item.partition_ids))
        write_integers(out, item.partition_ids, "i")
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_transaction_log_value_tags(item: TransactionLogValue, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.previous_producer_id,) = _S_INT64.unpack_from(data, at)
            at += 8
        elif tag == 1:
            (item.next_producer_id,) = _S_INT64.unpack_from(data, at)
            at += 8
        elif tag == 3:
            (item.next_producer_epoch,) = _S_INT16.unpack_from(data, at)
            at += 2
        elif tag == 2:
            (item.client_transaction_version,) = _S_INT16.unpack_from(data, at)
            at += 2
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_transaction_log_value_tags(target: bytearray, item: TransactionLogValue, version: int) -> None:
    known: list[TaggedField] = []
    if item.previous_producer_id != -1:
        if version >= 1:
            out = bytearray()
            out += _S_INT64.pack(item.previous_producer_id)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("previous_producer_id", version)
    if item.next_producer_id != -1:
        if version >= 1:
            out = bytearray()
            out += _S_INT64.pack(item.next_producer_id)
            known.append(TaggedField(1, bytes(out)))
        else:
            raise not_in_version("next_producer_id", version)
    if item.next_producer_epoch != -1:
        if version >= 1:
            out = bytearray()
            out += _S_INT16.pack(item.next_producer_epoch)
            known.append(TaggedField(3, bytes(out)))
        else:
            raise not_in_version("next_producer_epoch", version)
    if item.client_transaction_version:
        if version >= 1:
            out = bytearray()
            out += _S_INT16.pack(item.client_transaction_version)
            known.append(TaggedField(2, bytes(out)))
        else:
            raise not_in_version("client_transaction_version", version)
    if version < 1:
        if item.unknown_tagged_fields:
            raise tags_refused(version)
        return
    write_tagged_fields(target, known, item.unknown_tagged_fields)

TransactionKey = TransactionLogKey

TRANSACTION_KEYS: Final[dict[int, type[TransactionKey]]] = {
    0: TransactionLogKey,
}

TransactionValue = TransactionLogValue

TRANSACTION_VALUES: Final[dict[int, type[TransactionValue]]] = {
    0: TransactionLogValue,
}

SCHEMA: Final = """\
transaction-key TransactionLogKey key=0 versions=0
  transactionalId  string

transaction-value TransactionLogValue key=0 versions=0-1 flexible=1+
  producerId                        int64
  previousProducerId                int64               1 tag=0 default=-1
  nextProducerId                    int64               1 tag=1 default=-1
  producerEpoch                     int16
  nextProducerEpoch                 int16               1 tag=3 default=-1
  transactionTimeoutMs              int32
  transactionStatus                 int8
  transactionPartitions             []PartitionsSchema  nullable
    topic                           string
    partitionIds                    []int32
  transactionLastUpdateTimestampMs  int64
  transactionStartTimestampMs       int64
  clientTransactionVersion          int16               1 tag=2
"""
