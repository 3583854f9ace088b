"""ReadShareGroupState, API key 84, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/read_share_group_state.txt.
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
_S_2INT64_INT8_INT16: Final = Struct(">qqbh")
_S_2INT64_INT8_INT16_BYTE: Final = Struct(">qqbhB")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_BYTE: Final = Struct(">iqB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class PartitionData:
    partition: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReadStateData:
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReadShareGroupStateRequest:
    group_id: str = ""
    topics: list[ReadStateData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 84
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_compact_string(out, item.group_id)
            write_length(out, len(item.topics))
            _write_read_state_data(out, item.topics, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
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
            item.topics, at = _read_read_state_data(data, at, version, n)
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
class StateBatch:
    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class PartitionResult:
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    state_epoch: int = 0
    start_offset: int = 0
    state_batches: list[StateBatch] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReadStateResult:
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReadShareGroupStateResponse:
    results: list[ReadStateResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 84
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.results))
            _write_read_state_result(out, item.results, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
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
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.results, at = _read_read_state_result(data, at, version, n)
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


def _read_read_state_data(data: bytes, at: int, version: int, count: int) -> tuple[list[ReadStateData], int]:
    limit = len(data)
    items: list[ReadStateData] = []
    for _ in range(count):
        item = _new(ReadStateData)
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


def _write_read_state_data(out: bytearray, items: Iterable[ReadStateData], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_state_batch(data: bytes, at: int, version: int, count: int) -> tuple[list[StateBatch], int]:
    items: list[StateBatch] = []
    for _ in range(count):
        item = _new(StateBatch)
        item.first_offset, item.last_offset, item.delivery_state, item.delivery_count, tags = _S_2INT64_INT8_INT16_BYTE.unpack_from(data, at)
        at += 20
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_state_batch(out: bytearray, items: Iterable[StateBatch], version: int) -> None:
    for item in items:
        out += _S_2INT64_INT8_INT16.pack(item.first_offset, item.last_offset, item.delivery_state, item.delivery_count)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_partition_result(data: bytes, at: int, version: int, count: int) -> tuple[list[PartitionResult], int]:
    limit = len(data)
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
        item.state_epoch, item.start_offset, n = _S_INT32_INT64_BYTE.unpack_from(data, at)
        at += 13
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 20 <= limit - at:
            raise count_refused(n, limit - at)
        item.state_batches, at = _read_state_batch(data, at, version, n)
        tags = data[at]
        at += 1
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
        out += _S_INT32_INT64.pack(item.state_epoch, item.start_offset)
        write_length(out, len(item.state_batches))
        _write_state_batch(out, item.state_batches, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_read_state_result(data: bytes, at: int, version: int, count: int) -> tuple[list[ReadStateResult], int]:
    limit = len(data)
    items: list[ReadStateResult] = []
    for _ in range(count):
        item = _new(ReadStateResult)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 21 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_partition_result(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_read_state_result(out: bytearray, items: Iterable[ReadStateResult], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_partition_result(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request ReadShareGroupStateRequest key=84 versions=0 flexible=0+ listeners=broker
  groupId          string
  topics           []ReadStateData
    topicId        uuid
    partitions     []PartitionData
      partition    int32
      leaderEpoch  int32

response ReadShareGroupStateResponse key=84 versions=0 flexible=0+ listeners=broker
  results              []ReadStateResult
    topicId            uuid
    partitions         []PartitionResult
      partition        int32
      errorCode        int16
      errorMessage     string             nullable default=null
      stateEpoch       int32
      startOffset      int64
      stateBatches     []StateBatch
        firstOffset    int64
        lastOffset     int64
        deliveryState  int8
        deliveryCount  int16
"""
