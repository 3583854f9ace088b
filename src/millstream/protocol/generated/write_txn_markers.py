"""WriteTxnMarkers, API key 27, versions 1-2: request and response.

Written by `make codegen` from codegen/schemas/write_txn_markers.txt.
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
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    write_compact_int32s,
    write_string_length,
    write_uvarint,
)

_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_ZERO: Final = Struct(">ihx")
_INT32_INT8: Final = Struct(">ib")
_INT32_INT8_BYTE: Final = Struct(">ibB")
_INT32_INT8_ZERO: Final = Struct(">ibx")
_INT32_ZERO: Final = Struct(">ix")
_INT64: Final = Struct(">q")
_INT64_BYTE: Final = Struct(">qB")
_INT64_INT16_BOOL: Final = Struct(">qh?")
_INT64_INT16_BOOL_BYTE: Final = Struct(">qh?B")
_new: Final = object.__new__


class WritableTxnMarkerTopic(MessageValue):
    """In `WritableTxnMarker.topics`, versions 1-2."""

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


class WritableTxnMarker(MessageValue):
    """In `WriteTxnMarkersRequest.markers`, versions 1-2."""

    __slots__ = (
        "producer_id",
        "producer_epoch",
        "transaction_result",
        "topics",
        "coordinator_epoch",
        "transaction_version",
        "unknown_tagged_fields",
    )

    producer_id: int
    producer_epoch: int
    transaction_result: bool
    topics: list[WritableTxnMarkerTopic]
    coordinator_epoch: int
    transaction_version: int  # 2
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WritableTxnMarkerTopic] = UNSET,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics = [] if topics is UNSET else topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version
        self.unknown_tagged_fields = unknown_tagged_fields


class WriteTxnMarkersRequest(MessageValue):
    """Request of API 27, versions 1-2."""

    __slots__ = ("markers", "unknown_tagged_fields")

    markers: list[WritableTxnMarker]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        markers: list[WritableTxnMarker] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.markers = [] if markers is UNSET else markers
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 27
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.markers) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_writable_txn_marker(out, self.markers, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
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
            if not 0 <= n * 17 <= limit - at:
                raise count_refused(n, limit - at)
            message.markers, at = _read_writable_txn_marker(data, at, version, n)
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


class WritableTxnMarkerPartitionResult(MessageValue):
    """In `WritableTxnMarkerTopicResult.partitions`, versions 1-2."""

    __slots__ = ("partition_index", "error_code", "unknown_tagged_fields")

    partition_index: int
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class WritableTxnMarkerTopicResult(MessageValue):
    """In `WritableTxnMarkerResult.topics`, versions 1-2."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[WritableTxnMarkerPartitionResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[WritableTxnMarkerPartitionResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class WritableTxnMarkerResult(MessageValue):
    """In `WriteTxnMarkersResponse.markers`, versions 1-2."""

    __slots__ = ("producer_id", "topics", "unknown_tagged_fields")

    producer_id: int
    topics: list[WritableTxnMarkerTopicResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        producer_id: int = 0,
        topics: list[WritableTxnMarkerTopicResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class WriteTxnMarkersResponse(MessageValue):
    """Response of API 27, versions 1-2."""

    __slots__ = ("markers", "unknown_tagged_fields")

    markers: list[WritableTxnMarkerResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        markers: list[WritableTxnMarkerResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.markers = [] if markers is UNSET else markers
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 27
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.markers) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_writable_txn_marker_result(out, self.markers, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
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
            if not 0 <= n * 10 <= limit - at:
                raise count_refused(n, limit - at)
            message.markers, at = _read_writable_txn_marker_result(data, at, version, n)
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


def _read_writable_txn_marker_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[WritableTxnMarkerTopic], int]:
    items: list[WritableTxnMarkerTopic] = []
    for _ in range(count):
        item = _new(WritableTxnMarkerTopic)
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


def _write_writable_txn_marker_topic(
    out: bytearray, items: Iterable[WritableTxnMarkerTopic], version: int
) -> None:
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


def _read_writable_txn_marker(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[WritableTxnMarker], int]:
    items: list[WritableTxnMarker] = []
    limit = len(data)
    for _ in range(count):
        item = _new(WritableTxnMarker)
        (
            item.producer_id,
            item.producer_epoch,
            item.transaction_result,
            n,
        ) = _INT64_INT16_BOOL_BYTE.unpack_from(data, at)
        at += 11
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_writable_txn_marker_topic(data, at, version, n)
        if version >= 2:
            (
                item.coordinator_epoch,
                item.transaction_version,
                tags,
            ) = _INT32_INT8_BYTE.unpack_from(data, at)
            at += 6
        else:
            item.coordinator_epoch, tags = _INT32_BYTE.unpack_from(data, at)
            at += 5
            item.transaction_version = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_writable_txn_marker(
    out: bytearray, items: Iterable[WritableTxnMarker], version: int
) -> None:
    for item in items:
        n = len(item.topics) + 1
        if n < 128:
            out += _INT64_INT16_BOOL_BYTE.pack(
                item.producer_id, item.producer_epoch, item.transaction_result, n
            )
        else:
            out += _INT64_INT16_BOOL.pack(
                item.producer_id, item.producer_epoch, item.transaction_result
            )
            write_uvarint(out, n)
        _write_writable_txn_marker_topic(out, item.topics, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                out += _INT32_INT8.pack(item.coordinator_epoch, item.transaction_version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_INT8_ZERO.pack(item.coordinator_epoch, item.transaction_version)
        else:
            if item.unknown_tagged_fields:
                out += _INT32.pack(item.coordinator_epoch)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_ZERO.pack(item.coordinator_epoch)


def _read_writable_txn_marker_partition_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[WritableTxnMarkerPartitionResult], int]:
    items: list[WritableTxnMarkerPartitionResult] = []
    for _ in range(count):
        item = _new(WritableTxnMarkerPartitionResult)
        item.partition_index, item.error_code, tags = _INT32_INT16_BYTE.unpack_from(data, at)
        at += 7
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_writable_txn_marker_partition_result(
    out: bytearray, items: Iterable[WritableTxnMarkerPartitionResult], version: int
) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT32_INT16.pack(item.partition_index, item.error_code)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_INT16_ZERO.pack(item.partition_index, item.error_code)


def _read_writable_txn_marker_topic_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[WritableTxnMarkerTopicResult], int]:
    items: list[WritableTxnMarkerTopicResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(WritableTxnMarkerTopicResult)
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
        if not 0 <= n * 7 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_writable_txn_marker_partition_result(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_writable_txn_marker_topic_result(
    out: bytearray, items: Iterable[WritableTxnMarkerTopicResult], version: int
) -> None:
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
        _write_writable_txn_marker_partition_result(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_writable_txn_marker_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[WritableTxnMarkerResult], int]:
    items: list[WritableTxnMarkerResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(WritableTxnMarkerResult)
        item.producer_id, n = _INT64_BYTE.unpack_from(data, at)
        at += 8
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_writable_txn_marker_topic_result(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_writable_txn_marker_result(
    out: bytearray, items: Iterable[WritableTxnMarkerResult], version: int
) -> None:
    for item in items:
        n = len(item.topics) + 1
        if n < 128:
            out += _INT64_BYTE.pack(item.producer_id, n)
        else:
            out += _INT64.pack(item.producer_id)
            write_uvarint(out, n)
        _write_writable_txn_marker_topic_result(out, item.topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request WriteTxnMarkersRequest key=27 versions=1-2 flexible=1+ listeners=broker
  markers               []WritableTxnMarker
    producerId          int64
    producerEpoch       int16
    transactionResult   bool
    topics              []WritableTxnMarkerTopic
      name              string
      partitionIndexes  []int32
    coordinatorEpoch    int32
    transactionVersion  int8                      2 ignorable

response WriteTxnMarkersResponse key=27 versions=1-2 flexible=1+ listeners=broker
  markers               []WritableTxnMarkerResult
    producerId          int64
    topics              []WritableTxnMarkerTopicResult
      name              string
      partitions        []WritableTxnMarkerPartitionResult
        partitionIndex  int32
        errorCode       int16
"""
