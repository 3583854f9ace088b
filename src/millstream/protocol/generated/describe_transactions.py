"""DescribeTransactions, API key 65, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/describe_transactions.txt.
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
    past_end,
    read_compact_int32s,
    read_compact_string,
    read_compact_strings,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    write_compact_int32s,
    write_compact_strings,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_2INT64_INT16: Final = Struct(">iqqh")
_INT32_2INT64_INT16_BYTE: Final = Struct(">iqqhB")
_INT32_BYTE: Final = Struct(">iB")
_new: Final = object.__new__


class DescribeTransactionsRequest(MessageValue):
    """Request of API 65, version 0."""

    __slots__ = ("transactional_ids", "unknown_tagged_fields")

    transactional_ids: list[str]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        transactional_ids: list[str] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_ids = [] if transactional_ids is UNSET else transactional_ids
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 65
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.transactional_ids) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            write_compact_strings(out, self.transactional_ids)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.transactional_ids, at = read_compact_strings(data, at, n)
            tags = data[at]
            at += 1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class TopicData(MessageValue):
    """In `TransactionState.topics`, version 0."""

    __slots__ = ("topic", "partitions", "unknown_tagged_fields")

    topic: str
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class TransactionState(MessageValue):
    """In `DescribeTransactionsResponse.transaction_states`, version 0."""

    __slots__ = (
        "error_code",
        "transactional_id",
        "transaction_state",
        "transaction_timeout_ms",
        "transaction_start_time_ms",
        "producer_id",
        "producer_epoch",
        "topics",
        "unknown_tagged_fields",
    )

    error_code: int
    transactional_id: str
    transaction_state: str
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    producer_id: int
    producer_epoch: int
    topics: list[TopicData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[TopicData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeTransactionsResponse(MessageValue):
    """Response of API 65, version 0."""

    __slots__ = ("throttle_time_ms", "transaction_states", "unknown_tagged_fields")

    throttle_time_ms: int
    transaction_states: list[TransactionState]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        transaction_states: list[TransactionState] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states = [] if transaction_states is UNSET else transaction_states
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 65
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.transaction_states) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.throttle_time_ms, n)
            else:
                out += _INT32.pack(self.throttle_time_ms)
                write_uvarint(out, n)
            _write_transaction_state(out, self.transaction_states, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
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
            message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 28 <= limit - at:
                raise count_refused(n, limit - at)
            message.transaction_states, at = _read_transaction_state(data, at, version, n)
            tags = data[at]
            at += 1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_topic_data(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicData], int]:
    items: list[TopicData] = []
    for _ in range(count):
        item = _new(TopicData)
        n = data[at]
        if 0 < n < 128:
            item.topic = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 17:
            item.partitions = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.partitions, at = read_compact_int32s(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_data(out: bytearray, items: Iterable[TopicData], version: int) -> None:
    for item in items:
        raw = item.topic.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        write_compact_int32s(out, item.partitions)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_transaction_state(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TransactionState], int]:
    items: list[TransactionState] = []
    limit = len(data)
    for _ in range(count):
        item = _new(TransactionState)
        item.error_code, n = _INT16_BYTE.unpack_from(data, at)
        at += 2
        if 0 < n < 128:
            item.transactional_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.transactional_id, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.transaction_state = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.transaction_state, at = read_compact_string(data, at)
        (
            item.transaction_timeout_ms,
            item.transaction_start_time_ms,
            item.producer_id,
            item.producer_epoch,
            n,
        ) = _INT32_2INT64_INT16_BYTE.unpack_from(data, at)
        at += 22
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_topic_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_transaction_state(
    out: bytearray, items: Iterable[TransactionState], version: int
) -> None:
    for item in items:
        raw = item.transactional_id.encode()
        n = len(raw) + 1
        if n < 128:
            out += _INT16_BYTE.pack(item.error_code, n)
        else:
            out += _INT16.pack(item.error_code)
            write_string_length(out, n)
        out += raw
        raw = item.transaction_state.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.topics) + 1
        if n < 128:
            out += _INT32_2INT64_INT16_BYTE.pack(
                item.transaction_timeout_ms,
                item.transaction_start_time_ms,
                item.producer_id,
                item.producer_epoch,
                n,
            )
        else:
            out += _INT32_2INT64_INT16.pack(
                item.transaction_timeout_ms,
                item.transaction_start_time_ms,
                item.producer_id,
                item.producer_epoch,
            )
            write_uvarint(out, n)
        _write_topic_data(out, item.topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request DescribeTransactionsRequest key=65 versions=0 flexible=0+ listeners=broker
  transactionalIds  []string

response DescribeTransactionsResponse key=65 versions=0 flexible=0+ listeners=broker
  throttleTimeMs            int32
  transactionStates         []TransactionState
    errorCode               int16
    transactionalId         string
    transactionState        string
    transactionTimeoutMs    int32
    transactionStartTimeMs  int64
    producerId              int64
    producerEpoch           int16
    topics                  []TopicData
      topic                 string
      partitions            []int32
"""
