"""DescribeProducers, API key 61, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/describe_producers.txt.
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
    read_compact_string_or_null,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    write_compact_int32s,
    write_string_length,
    write_uvarint,
)

_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT64_2INT32_INT64_INT32_INT64: Final = Struct(">qiiqiq")
_INT64_2INT32_INT64_INT32_INT64_BYTE: Final = Struct(">qiiqiqB")
_INT64_2INT32_INT64_INT32_INT64_ZERO: Final = Struct(">qiiqiqx")
_new: Final = object.__new__


class TopicRequest(MessageValue):
    """In `DescribeProducersRequest.topics`, version 0."""

    __slots__ = ("name", "partition_indexes", "unknown_tagged_fields")

    name: str
    partition_indexes: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is UNSET else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeProducersRequest(MessageValue):
    """Request of API 61, version 0."""

    __slots__ = ("topics", "unknown_tagged_fields")

    topics: list[TopicRequest]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[TopicRequest] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 61
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_topic_request(out, self.topics, version)
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_topic_request(data, at, version, n)
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


class ProducerState(MessageValue):
    """In `PartitionResponse.active_producers`, version 0."""

    __slots__ = (
        "producer_id",
        "producer_epoch",
        "last_sequence",
        "last_timestamp",
        "coordinator_epoch",
        "current_txn_start_offset",
        "unknown_tagged_fields",
    )

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionResponse(MessageValue):
    """In `TopicResponse.partitions`, version 0."""

    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
        "active_producers",
        "unknown_tagged_fields",
    )

    partition_index: int
    error_code: int
    error_message: str | None
    active_producers: list[ProducerState]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[ProducerState] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers = [] if active_producers is UNSET else active_producers
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicResponse(MessageValue):
    """In `DescribeProducersResponse.topics`, version 0."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[PartitionResponse]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[PartitionResponse] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeProducersResponse(MessageValue):
    """Response of API 61, version 0."""

    __slots__ = ("throttle_time_ms", "topics", "unknown_tagged_fields")

    throttle_time_ms: int
    topics: list[TopicResponse]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TopicResponse] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 61
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.throttle_time_ms, n)
            else:
                out += _INT32.pack(self.throttle_time_ms)
                write_uvarint(out, n)
            _write_topic_response(out, self.topics, version)
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_topic_response(data, at, version, n)
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


def _read_topic_request(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicRequest], int]:
    items: list[TopicRequest] = []
    for _ in range(count):
        item = _new(TopicRequest)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 17:
            item.partition_indexes = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.partition_indexes, at = read_compact_int32s(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_request(out: bytearray, items: Iterable[TopicRequest], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        write_compact_int32s(out, item.partition_indexes)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_producer_state(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ProducerState], int]:
    items: list[ProducerState] = []
    for _ in range(count):
        item = _new(ProducerState)
        (
            item.producer_id,
            item.producer_epoch,
            item.last_sequence,
            item.last_timestamp,
            item.coordinator_epoch,
            item.current_txn_start_offset,
            tags,
        ) = _INT64_2INT32_INT64_INT32_INT64_BYTE.unpack_from(data, at)
        at += 37
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_producer_state(out: bytearray, items: Iterable[ProducerState], version: int) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT64_2INT32_INT64_INT32_INT64.pack(
                item.producer_id,
                item.producer_epoch,
                item.last_sequence,
                item.last_timestamp,
                item.coordinator_epoch,
                item.current_txn_start_offset,
            )
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT64_2INT32_INT64_INT32_INT64_ZERO.pack(
                item.producer_id,
                item.producer_epoch,
                item.last_sequence,
                item.last_timestamp,
                item.coordinator_epoch,
                item.current_txn_start_offset,
            )


def _read_partition_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[PartitionResponse], int]:
    items: list[PartitionResponse] = []
    limit = len(data)
    for _ in range(count):
        item = _new(PartitionResponse)
        item.partition_index, item.error_code, n = _INT32_INT16_BYTE.unpack_from(data, at)
        at += 6
        if 0 < n < 128:
            item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.error_message, at = read_compact_string_or_null(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 37 <= limit - at:
            raise count_refused(n, limit - at)
        item.active_producers, at = _read_producer_state(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_partition_response(
    out: bytearray, items: Iterable[PartitionResponse], version: int
) -> None:
    for item in items:
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT32_INT16_BYTE.pack(item.partition_index, item.error_code, n)
        else:
            out += _INT32_INT16.pack(item.partition_index, item.error_code)
            write_string_length(out, n)
        out += raw
        n = len(item.active_producers) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_producer_state(out, item.active_producers, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topic_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicResponse], int]:
    items: list[TopicResponse] = []
    limit = len(data)
    for _ in range(count):
        item = _new(TopicResponse)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_partition_response(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_response(out: bytearray, items: Iterable[TopicResponse], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_partition_response(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request DescribeProducersRequest key=61 versions=0 flexible=0+ listeners=broker
  topics              []TopicRequest
    name              string
    partitionIndexes  []int32

response DescribeProducersResponse key=61 versions=0 flexible=0+ listeners=broker
  throttleTimeMs               int32
  topics                       []TopicResponse
    name                       string
    partitions                 []PartitionResponse
      partitionIndex           int32
      errorCode                int16
      errorMessage             string               nullable default=null
      activeProducers          []ProducerState
        producerId             int64
        producerEpoch          int32
        lastSequence           int32                default=-1
        lastTimestamp          int64                default=-1
        coordinatorEpoch       int32
        currentTxnStartOffset  int64                default=-1
"""
