"""ReadShareGroupStateSummary, API key 87, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/read_share_group_state_summary.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_2INT32_BYTE: Final = Struct(">iiB")
_S_2INT32_INT64: Final = Struct(">iiq")
_S_2INT32_INT64_BYTE: Final = Struct(">iiqB")
_S_2INT32_INT64_INT32: Final = Struct(">iiqi")
_S_2INT32_INT64_INT32_BYTE: Final = Struct(">iiqiB")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class PartitionData:
    partition: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReadStateSummaryData:
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReadShareGroupStateSummaryRequest:
    group_id: str = ""
    topics: list[ReadStateSummaryData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 87
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            write_compact_string(out, item.group_id)
            write_length(out, len(item.topics))
            _write_read_state_summary_data(out, item.topics, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
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
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_read_state_summary_data(data, at, version, n)
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
class PartitionResult:
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1  # 1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReadStateSummaryResult:
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReadShareGroupStateSummaryResponse:
    results: list[ReadStateSummaryResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 87
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.results))
            _write_read_state_summary_result(out, item.results, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
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
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.results, at = _read_read_state_summary_result(data, at, version, n)
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


def _read_partition_data(data: bytes, at: int, version: int, count: int) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        item = _new(PartitionData)
        item.partition, item.leader_epoch, tags = _S_2INT32_BYTE.unpack_from(data, at)
        at += 9
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_partition_data(out: bytearray, items: Iterable[PartitionData], version: int) -> None:
    for item in items:
        out += _S_2INT32.pack(item.partition, item.leader_epoch)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_read_state_summary_data(data: bytes, at: int, version: int, count: int) -> tuple[list[ReadStateSummaryData], int]:
    limit = len(data)
    items: list[ReadStateSummaryData] = []
    for _ in range(count):
        item = _new(ReadStateSummaryData)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_read_state_summary_data(out: bytearray, items: Iterable[ReadStateSummaryData], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_partition_result(data: bytes, at: int, version: int, count: int) -> tuple[list[PartitionResult], int]:
    items: list[PartitionResult] = []
    for _ in range(count):
        item = _new(PartitionResult)
        item.partition, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
        at += 7
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.error_message = None
        else:
            at += n
            item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            item.state_epoch, item.leader_epoch, item.start_offset, item.delivery_complete_count, tags = _S_2INT32_INT64_INT32_BYTE.unpack_from(data, at)
            at += 21
        else:
            item.state_epoch, item.leader_epoch, item.start_offset, tags = _S_2INT32_INT64_BYTE.unpack_from(data, at)
            at += 17
            item.delivery_complete_count = -1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_partition_result(out: bytearray, items: Iterable[PartitionResult], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16.pack(item.partition, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            write_compact_string(out, item.error_message)
        if version >= 1:
            out += _S_2INT32_INT64_INT32.pack(item.state_epoch, item.leader_epoch, item.start_offset, item.delivery_complete_count)
        else:
            out += _S_2INT32_INT64.pack(item.state_epoch, item.leader_epoch, item.start_offset)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_read_state_summary_result(data: bytes, at: int, version: int, count: int) -> tuple[list[ReadStateSummaryResult], int]:
    limit = len(data)
    items: list[ReadStateSummaryResult] = []
    for _ in range(count):
        item = _new(ReadStateSummaryResult)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 24 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_partition_result(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_read_state_summary_result(out: bytearray, items: Iterable[ReadStateSummaryResult], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_partition_result(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request ReadShareGroupStateSummaryRequest key=87 versions=0-1 flexible=0+ listeners=broker
  groupId          string
  topics           []ReadStateSummaryData
    topicId        uuid
    partitions     []PartitionData
      partition    int32
      leaderEpoch  int32

response ReadShareGroupStateSummaryResponse key=87 versions=0-1 flexible=0+ listeners=broker
  results                    []ReadStateSummaryResult
    topicId                  uuid
    partitions               []PartitionResult
      partition              int32
      errorCode              int16
      errorMessage           string                    nullable default=null
      stateEpoch             int32
      leaderEpoch            int32
      startOffset            int64
      deliveryCompleteCount  int32                     1 default=-1 ignorable
"""
