"""ReadShareGroupState, API key 84, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/read_share_group_state.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    count_refused,
    past_end,
    read_compact_string,
    read_compact_string_or_null,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    uuid_refused,
    write_string_length,
    write_uvarint,
)

_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_S2INT32: Final = Struct(">ii")
_S2INT32_BYTE: Final = Struct(">iiB")
_S2INT32_ZERO: Final = Struct(">iix")
_S2INT64_INT8_INT16: Final = Struct(">qqbh")
_S2INT64_INT8_INT16_BYTE: Final = Struct(">qqbhB")
_S2INT64_INT8_INT16_ZERO: Final = Struct(">qqbhx")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class PartitionData(MessageValue):
    """In `ReadStateData.partitions`, version 0."""

    __slots__ = ("partition", "leader_epoch", "unknown_tagged_fields")

    partition: int
    leader_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition: int = 0,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class ReadStateData(MessageValue):
    """In `ReadShareGroupStateRequest.topics`, version 0."""

    __slots__ = ("topic_id", "partitions", "unknown_tagged_fields")

    topic_id: Uuid
    partitions: list[PartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[PartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ReadShareGroupStateRequest(MessageValue):
    """Request of API 84, version 0."""

    __slots__ = ("group_id", "topics", "unknown_tagged_fields")

    group_id: str
    topics: list[ReadStateData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        topics: list[ReadStateData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 84
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = len(self.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_read_state_data(out, self.topics, version)
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
            if 0 < n < 128:
                message.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.group_id, at = read_compact_string(data, at)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_read_state_data(data, at, version, n)
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


class StateBatch(MessageValue):
    """In `PartitionResult.state_batches`, version 0."""

    __slots__ = (
        "first_offset", "last_offset", "delivery_state", "delivery_count", "unknown_tagged_fields"
    )

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionResult(MessageValue):
    """In `ReadStateResult.partitions`, version 0."""

    __slots__ = (
        "partition",
        "error_code",
        "error_message",
        "state_epoch",
        "start_offset",
        "state_batches",
        "unknown_tagged_fields",
    )

    partition: int
    error_code: int
    error_message: str | None
    state_epoch: int
    start_offset: int
    state_batches: list[StateBatch]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        start_offset: int = 0,
        state_batches: list[StateBatch] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.start_offset = start_offset
        self.state_batches = [] if state_batches is UNSET else state_batches
        self.unknown_tagged_fields = unknown_tagged_fields


class ReadStateResult(MessageValue):
    """In `ReadShareGroupStateResponse.results`, version 0."""

    __slots__ = ("topic_id", "partitions", "unknown_tagged_fields")

    topic_id: Uuid
    partitions: list[PartitionResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[PartitionResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ReadShareGroupStateResponse(MessageValue):
    """Response of API 84, version 0."""

    __slots__ = ("results", "unknown_tagged_fields")

    results: list[ReadStateResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        results: list[ReadStateResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.results = [] if results is UNSET else results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 84
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.results) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_read_state_result(out, self.results, version)
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
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.results, at = _read_read_state_result(data, at, version, n)
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


def _read_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        item = _new(PartitionData)
        item.partition, item.leader_epoch, tags = _S2INT32_BYTE.unpack_from(data, at)
        at += 9
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_partition_data(out: bytearray, items: Iterable[PartitionData], version: int) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _S2INT32.pack(item.partition, item.leader_epoch)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _S2INT32_ZERO.pack(item.partition, item.leader_epoch)


def _read_read_state_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ReadStateData], int]:
    items: list[ReadStateData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(ReadStateData)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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
        n = len(item.partitions) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BYTE.pack(item.topic_id, n)
        else:
            out += _UUID.pack(item.topic_id)
            write_uvarint(out, n)
        _write_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_state_batch(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[StateBatch], int]:
    items: list[StateBatch] = []
    for _ in range(count):
        item = _new(StateBatch)
        (
            item.first_offset,
            item.last_offset,
            item.delivery_state,
            item.delivery_count,
            tags,
        ) = _S2INT64_INT8_INT16_BYTE.unpack_from(data, at)
        at += 20
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_state_batch(out: bytearray, items: Iterable[StateBatch], version: int) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _S2INT64_INT8_INT16.pack(
                item.first_offset, item.last_offset, item.delivery_state, item.delivery_count
            )
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _S2INT64_INT8_INT16_ZERO.pack(
                item.first_offset, item.last_offset, item.delivery_state, item.delivery_count
            )


def _read_partition_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[PartitionResult], int]:
    items: list[PartitionResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(PartitionResult)
        item.partition, item.error_code, n = _INT32_INT16_BYTE.unpack_from(data, at)
        at += 6
        if 0 < n < 128:
            item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.error_message, at = read_compact_string_or_null(data, at)
        item.state_epoch, item.start_offset, n = _INT32_INT64_BYTE.unpack_from(data, at)
        at += 12
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT32_INT16_BYTE.pack(item.partition, item.error_code, n)
        else:
            out += _INT32_INT16.pack(item.partition, item.error_code)
            write_string_length(out, n)
        out += raw
        n = len(item.state_batches) + 1
        if n < 128:
            out += _INT32_INT64_BYTE.pack(item.state_epoch, item.start_offset, n)
        else:
            out += _INT32_INT64.pack(item.state_epoch, item.start_offset)
            write_uvarint(out, n)
        _write_state_batch(out, item.state_batches, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_read_state_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ReadStateResult], int]:
    items: list[ReadStateResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(ReadStateResult)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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


def _write_read_state_result(
    out: bytearray, items: Iterable[ReadStateResult], version: int
) -> None:
    for item in items:
        n = len(item.partitions) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BYTE.pack(item.topic_id, n)
        else:
            out += _UUID.pack(item.topic_id)
            write_uvarint(out, n)
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
