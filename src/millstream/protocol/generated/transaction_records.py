"""transaction messages: TransactionLogKey to TransactionLogValue.

Written by `make codegen` from codegen/schemas/transaction_records.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    COMPACT_INT32S,
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_compact_int32s,
    read_compact_string,
    read_integers,
    read_length,
    read_uvarint,
)
from millstream.protocol.tagged_fields import (
    TaggedField,
    read_tag_count,
    read_unknown_field,
    read_unknown_fields,
    write_tagged_fields,
)
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    write_compact_int32s,
    write_int32s,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_INT64_INT16_INT32_INT8: Final = Struct(">qhib")
_INT64_INT16_INT32_INT8_BYTE: Final = Struct(">qhibB")
_INT64_INT16_INT32_INT8_INT32: Final = Struct(">qhibi")
_S2INT64: Final = Struct(">qq")
_S2INT64_BYTE: Final = Struct(">qqB")
_S2INT64_ZERO: Final = Struct(">qqx")
_new: Final = object.__new__


class TransactionLogKey(MessageValue):
    """Transaction key of type 0, version 0."""

    __slots__ = ("transactional_id", "unknown_tagged_fields")

    transactional_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, transactional_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.transactional_id = transactional_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.transactional_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
            message.transactional_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class PartitionsSchema(MessageValue):
    """In `TransactionLogValue.transaction_partitions`, versions 0-1."""

    __slots__ = ("topic", "partition_ids", "unknown_tagged_fields")

    topic: str
    partition_ids: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        partition_ids: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.partition_ids = [] if partition_ids is UNSET else partition_ids
        self.unknown_tagged_fields = unknown_tagged_fields


class TransactionLogValue(MessageValue):
    """Transaction value of type 0, versions 0-1."""

    __slots__ = (
        "producer_id",
        "previous_producer_id",
        "next_producer_id",
        "producer_epoch",
        "next_producer_epoch",
        "transaction_timeout_ms",
        "transaction_status",
        "transaction_partitions",
        "transaction_last_update_timestamp_ms",
        "transaction_start_timestamp_ms",
        "client_transaction_version",
        "unknown_tagged_fields",
    )

    producer_id: int
    previous_producer_id: int  # 1, tag 0
    next_producer_id: int  # 1, tag 1
    producer_epoch: int
    next_producer_epoch: int  # 1, tag 3
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: list[PartitionsSchema] | None
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    client_transaction_version: int  # 1, tag 2
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[PartitionsSchema] | None = UNSET,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions = [] if transaction_partitions is UNSET else transaction_partitions
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            if self.transaction_partitions is None:
                n = 0
            else:
                n = len(self.transaction_partitions) + 1
            if version >= 1:
                if n < 128:
                    out += _INT64_INT16_INT32_INT8_BYTE.pack(
                        self.producer_id,
                        self.producer_epoch,
                        self.transaction_timeout_ms,
                        self.transaction_status,
                        n,
                    )
                else:
                    out += _INT64_INT16_INT32_INT8.pack(
                        self.producer_id,
                        self.producer_epoch,
                        self.transaction_timeout_ms,
                        self.transaction_status,
                    )
                    write_uvarint(out, n)
            else:
                out += _INT64_INT16_INT32_INT8_INT32.pack(
                    self.producer_id,
                    self.producer_epoch,
                    self.transaction_timeout_ms,
                    self.transaction_status,
                    n - 1,
                )
            if self.transaction_partitions is not None:
                _write_partitions_schema(out, self.transaction_partitions, version)
            if version >= 1:
                if (
                    self.previous_producer_id != -1
                    or self.next_producer_id != -1
                    or self.next_producer_epoch != -1
                    or self.client_transaction_version
                    or self.unknown_tagged_fields
                ):
                    out += _S2INT64.pack(
                        self.transaction_last_update_timestamp_ms,
                        self.transaction_start_timestamp_ms,
                    )
                    _write_transaction_log_value_tags(out, self, version)
                else:
                    out += _S2INT64_ZERO.pack(
                        self.transaction_last_update_timestamp_ms,
                        self.transaction_start_timestamp_ms,
                    )
            else:
                out += _S2INT64.pack(
                    self.transaction_last_update_timestamp_ms, self.transaction_start_timestamp_ms
                )
                if self.previous_producer_id != -1:
                    raise not_in_version("previous_producer_id", version)
                if self.next_producer_id != -1:
                    raise not_in_version("next_producer_id", version)
                if self.next_producer_epoch != -1:
                    raise not_in_version("next_producer_epoch", version)
                if self.client_transaction_version:
                    raise not_in_version("client_transaction_version", version)
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
            if version >= 1:
                (
                    message.producer_id,
                    message.producer_epoch,
                    message.transaction_timeout_ms,
                    message.transaction_status,
                    n,
                ) = _INT64_INT16_INT32_INT8_BYTE.unpack_from(data, at)
                at += 15
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (
                    message.producer_id,
                    message.producer_epoch,
                    message.transaction_timeout_ms,
                    message.transaction_status,
                    n,
                ) = _INT64_INT16_INT32_INT8_INT32.unpack_from(data, at)
                at += 19
            if n < 0:
                message.transaction_partitions = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.transaction_partitions, at = _read_partitions_schema(data, at, version, n)
            if version >= 1:
                (
                    message.transaction_last_update_timestamp_ms,
                    message.transaction_start_timestamp_ms,
                    tags,
                ) = _S2INT64_BYTE.unpack_from(data, at)
                at += 17
            else:
                (
                    message.transaction_last_update_timestamp_ms,
                    message.transaction_start_timestamp_ms,
                ) = _S2INT64.unpack_from(data, at)
                at += 16
                tags = 0
            message.previous_producer_id = -1
            message.next_producer_id = -1
            message.next_producer_epoch = -1
            message.client_transaction_version = 0
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_transaction_log_value_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_partitions_schema(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[PartitionsSchema], int]:
    items: list[PartitionsSchema] = []
    for _ in range(count):
        item = _new(PartitionsSchema)
        if version >= 1:
            n = data[at]
            if 0 < n < 128:
                item.topic = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.topic, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.topic = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 1:
            n = data[at]
            if 0 < n < 17:
                item.partition_ids = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.partition_ids, at = read_compact_int32s(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
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


def _write_partitions_schema(
    out: bytearray, items: Iterable[PartitionsSchema], version: int
) -> None:
    for item in items:
        raw = item.topic.encode()
        n = len(raw) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 1:
            write_compact_int32s(out, item.partition_ids)
        else:
            write_int32s(out, item.partition_ids)
        if version >= 1:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_transaction_log_value_tags(
    item: TransactionLogValue, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.previous_producer_id,) = _INT64.unpack_from(data, at)
            at += 8
        elif tag == 1:
            (item.next_producer_id,) = _INT64.unpack_from(data, at)
            at += 8
        elif tag == 3:
            (item.next_producer_epoch,) = _INT16.unpack_from(data, at)
            at += 2
        elif tag == 2:
            (item.client_transaction_version,) = _INT16.unpack_from(data, at)
            at += 2
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_transaction_log_value_tags(
    section: bytearray, item: TransactionLogValue, version: int
) -> None:
    known: list[TaggedField] = []
    if item.previous_producer_id != -1:
        out = bytearray()
        out += _INT64.pack(item.previous_producer_id)
        known.append(TaggedField(0, bytes(out)))
    if item.next_producer_id != -1:
        out = bytearray()
        out += _INT64.pack(item.next_producer_id)
        known.append(TaggedField(1, bytes(out)))
    if item.next_producer_epoch != -1:
        out = bytearray()
        out += _INT16.pack(item.next_producer_epoch)
        known.append(TaggedField(3, bytes(out)))
    if item.client_transaction_version:
        out = bytearray()
        out += _INT16.pack(item.client_transaction_version)
        known.append(TaggedField(2, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)

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
