"""WriteTxnMarkers, API key 27, versions 1-2: request and response.

Written by `make codegen` from codegen/schemas/write_txn_markers.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_integers, write_length, write_string

_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT8: Final = Struct(">ib")
_S_INT32_INT8_BYTE: Final = Struct(">ibB")
_S_INT64: Final = Struct(">q")
_S_INT64_BYTE: Final = Struct(">qB")
_S_INT64_INT16_BOOL: Final = Struct(">qh?")
_S_INT64_INT16_BOOL_BYTE: Final = Struct(">qh?B")
_new: Final = object.__new__


@dataclass(slots=True)
class WritableTxnMarkerTopic:
    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class WritableTxnMarker:
    producer_id: int = 0
    producer_epoch: int = 0
    transaction_result: bool = False
    topics: list[WritableTxnMarkerTopic] = field(default_factory=list)
    coordinator_epoch: int = 0
    transaction_version: int = 0  # 2
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class WriteTxnMarkersRequest:
    markers: list[WritableTxnMarker] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 27
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.markers))
            _write_writable_txn_marker(out, item.markers, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 17 <= limit - at:
                raise count_refused(n, limit - at)
            item.markers, at = _read_writable_txn_marker(data, at, version, n)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class WritableTxnMarkerPartitionResult:
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class WritableTxnMarkerTopicResult:
    name: str = ""
    partitions: list[WritableTxnMarkerPartitionResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class WritableTxnMarkerResult:
    producer_id: int = 0
    topics: list[WritableTxnMarkerTopicResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class WriteTxnMarkersResponse:
    markers: list[WritableTxnMarkerResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 27
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.markers))
            _write_writable_txn_marker_result(out, item.markers, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 10 <= limit - at:
                raise count_refused(n, limit - at)
            item.markers, at = _read_writable_txn_marker_result(data, at, version, n)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_writable_txn_marker_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[WritableTxnMarkerTopic], int]:
    items: list[WritableTxnMarkerTopic] = []
    for _ in range(count):
        item = _new(WritableTxnMarkerTopic)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.partition_indexes, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_writable_txn_marker_topic(out: bytearray, items: Iterable[WritableTxnMarkerTopic], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_length(out, len(item.partition_indexes))
        write_integers(out, item.partition_indexes, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_writable_txn_marker(data: bytes, at: int, version: int, count: int) -> tuple[list[WritableTxnMarker], int]:
    limit = len(data)
    items: list[WritableTxnMarker] = []
    for _ in range(count):
        item = _new(WritableTxnMarker)
        item.producer_id, item.producer_epoch, item.transaction_result, n = _S_INT64_INT16_BOOL_BYTE.unpack_from(data, at)
        at += 12
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_writable_txn_marker_topic(data, at, version, n)
        if version >= 2:
            item.coordinator_epoch, item.transaction_version, tags = _S_INT32_INT8_BYTE.unpack_from(data, at)
            at += 6
        else:
            item.coordinator_epoch, tags = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            item.transaction_version = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_writable_txn_marker(out: bytearray, items: Iterable[WritableTxnMarker], version: int) -> None:
    for item in items:
        out += _S_INT64_INT16_BOOL.pack(item.producer_id, item.producer_epoch, item.transaction_result)
        write_length(out, len(item.topics))
        _write_writable_txn_marker_topic(out, item.topics, version)
        if version >= 2:
            out += _S_INT32_INT8.pack(item.coordinator_epoch, item.transaction_version)
        else:
            out += _S_INT32.pack(item.coordinator_epoch)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_writable_txn_marker_partition_result(data: bytes, at: int, version: int, count: int) -> tuple[list[WritableTxnMarkerPartitionResult], int]:
    items: list[WritableTxnMarkerPartitionResult] = []
    for _ in range(count):
        item = _new(WritableTxnMarkerPartitionResult)
        item.partition_index, item.error_code, tags = _S_INT32_INT16_BYTE.unpack_from(data, at)
        at += 7
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_writable_txn_marker_partition_result(out: bytearray, items: Iterable[WritableTxnMarkerPartitionResult], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16.pack(item.partition_index, item.error_code)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_writable_txn_marker_topic_result(data: bytes, at: int, version: int, count: int) -> tuple[list[WritableTxnMarkerTopicResult], int]:
    limit = len(data)
    items: list[WritableTxnMarkerTopicResult] = []
    for _ in range(count):
        item = _new(WritableTxnMarkerTopicResult)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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


def _write_writable_txn_marker_topic_result(out: bytearray, items: Iterable[WritableTxnMarkerTopicResult], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_length(out, len(item.partitions))
        _write_writable_txn_marker_partition_result(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_writable_txn_marker_result(data: bytes, at: int, version: int, count: int) -> tuple[list[WritableTxnMarkerResult], int]:
    limit = len(data)
    items: list[WritableTxnMarkerResult] = []
    for _ in range(count):
        item = _new(WritableTxnMarkerResult)
        item.producer_id, n = _S_INT64_BYTE.unpack_from(data, at)
        at += 9
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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


def _write_writable_txn_marker_result(out: bytearray, items: Iterable[WritableTxnMarkerResult], version: int) -> None:
    for item in items:
        out += _S_INT64.pack(item.producer_id)
        write_length(out, len(item.topics))
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
