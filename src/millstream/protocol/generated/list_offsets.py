"""ListOffsets, API key 2, versions 1-11: request and response.

Written by `make codegen` from codegen/schemas/list_offsets.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_compact_string,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    not_in_version,
    tags_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16_2INT64: Final = Struct(">ihqq")
_INT32_INT16_2INT64_INT32: Final = Struct(">ihqqi")
_INT32_INT16_2INT64_INT32_BYTE: Final = Struct(">ihqqiB")
_INT32_INT16_2INT64_INT32_ZERO: Final = Struct(">ihqqix")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT8: Final = Struct(">ib")
_INT32_INT8_BYTE: Final = Struct(">ibB")
_INT32_INT8_INT32: Final = Struct(">ibi")
_INT32_ZERO: Final = Struct(">ix")
_S2INT32: Final = Struct(">ii")
_S2INT32_INT64: Final = Struct(">iiq")
_S2INT32_INT64_BYTE: Final = Struct(">iiqB")
_S2INT32_INT64_ZERO: Final = Struct(">iiqx")
_new: Final = object.__new__


class ListOffsetsPartition(MessageValue):
    """In `ListOffsetsTopic.partitions`, versions 1-11."""

    __slots__ = ("partition_index", "current_leader_epoch", "timestamp", "unknown_tagged_fields")

    partition_index: int
    current_leader_epoch: int  # 4+
    timestamp: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp
        self.unknown_tagged_fields = unknown_tagged_fields


class ListOffsetsTopic(MessageValue):
    """In `ListOffsetsRequest.topics`, versions 1-11."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[ListOffsetsPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ListOffsetsRequest(MessageValue):
    """Request of API 2, versions 1-11."""

    __slots__ = ("replica_id", "isolation_level", "topics", "timeout_ms", "unknown_tagged_fields")

    replica_id: int
    isolation_level: int  # 2+
    topics: list[ListOffsetsTopic]
    timeout_ms: int  # 10+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsTopic] = UNSET,
        timeout_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 11
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 11:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 6:
                if n < 128:
                    out += _INT32_INT8_BYTE.pack(self.replica_id, self.isolation_level, n)
                else:
                    out += _INT32_INT8.pack(self.replica_id, self.isolation_level)
                    write_uvarint(out, n)
            elif version >= 2:
                out += _INT32_INT8_INT32.pack(self.replica_id, self.isolation_level, n - 1)
            else:
                out += _S2INT32.pack(self.replica_id, n - 1)
                if self.isolation_level:
                    raise not_in_version("isolation_level", version)
            _write_list_offsets_topic(out, self.topics, version)
            if version >= 10:
                if self.unknown_tagged_fields:
                    out += _INT32.pack(self.timeout_ms)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_ZERO.pack(self.timeout_ms)
            elif version >= 6:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
            elif self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 11:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 6:
                (
                    message.replica_id,
                    message.isolation_level,
                    n,
                ) = _INT32_INT8_BYTE.unpack_from(data, at)
                at += 5
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 2:
                (
                    message.replica_id,
                    message.isolation_level,
                    n,
                ) = _INT32_INT8_INT32.unpack_from(data, at)
                at += 9
            else:
                message.replica_id, n = _S2INT32.unpack_from(data, at)
                at += 8
                message.isolation_level = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_list_offsets_topic(data, at, version, n)
            if version >= 10:
                message.timeout_ms, tags = _INT32_BYTE.unpack_from(data, at)
                at += 5
            elif version >= 6:
                tags = data[at]
                at += 1
                message.timeout_ms = 0
            else:
                message.timeout_ms = 0
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ListOffsetsPartitionResponse(MessageValue):
    """In `ListOffsetsTopicResponse.partitions`, versions 1-11."""

    __slots__ = (
        "partition_index",
        "error_code",
        "timestamp",
        "offset",
        "leader_epoch",
        "unknown_tagged_fields",
    )

    partition_index: int
    error_code: int
    timestamp: int
    offset: int
    leader_epoch: int  # 4+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class ListOffsetsTopicResponse(MessageValue):
    """In `ListOffsetsResponse.topics`, versions 1-11."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[ListOffsetsPartitionResponse]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartitionResponse] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ListOffsetsResponse(MessageValue):
    """Response of API 2, versions 1-11."""

    __slots__ = ("throttle_time_ms", "topics", "unknown_tagged_fields")

    throttle_time_ms: int  # 2+
    topics: list[ListOffsetsTopicResponse]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsTopicResponse] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 11
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 11:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 6:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            elif version >= 2:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            else:
                out += _INT32.pack(n - 1)
            _write_list_offsets_topic_response(out, self.topics, version)
            if version >= 6:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
            elif self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 11:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 6:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 2:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.throttle_time_ms = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_list_offsets_topic_response(data, at, version, n)
            if version >= 6:
                tags = data[at]
                at += 1
            else:
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_list_offsets_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ListOffsetsPartition], int]:
    items: list[ListOffsetsPartition] = []
    for _ in range(count):
        item = _new(ListOffsetsPartition)
        if version >= 6:
            (
                item.partition_index,
                item.current_leader_epoch,
                item.timestamp,
                tags,
            ) = _S2INT32_INT64_BYTE.unpack_from(data, at)
            at += 17
        elif version >= 4:
            (
                item.partition_index,
                item.current_leader_epoch,
                item.timestamp,
            ) = _S2INT32_INT64.unpack_from(data, at)
            at += 16
            tags = 0
        else:
            item.partition_index, item.timestamp = _INT32_INT64.unpack_from(data, at)
            at += 12
            item.current_leader_epoch = -1
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_list_offsets_partition(
    out: bytearray, items: Iterable[ListOffsetsPartition], version: int
) -> None:
    for item in items:
        if version >= 6:
            if item.unknown_tagged_fields:
                out += _S2INT32_INT64.pack(
                    item.partition_index, item.current_leader_epoch, item.timestamp
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _S2INT32_INT64_ZERO.pack(
                    item.partition_index, item.current_leader_epoch, item.timestamp
                )
        elif version >= 4:
            out += _S2INT32_INT64.pack(
                item.partition_index, item.current_leader_epoch, item.timestamp
            )
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        else:
            out += _INT32_INT64.pack(item.partition_index, item.timestamp)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_list_offsets_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ListOffsetsTopic], int]:
    items: list[ListOffsetsTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(ListOffsetsTopic)
        if version >= 6:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 6:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 12 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_list_offsets_partition(data, at, version, n)
        if version >= 6:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_list_offsets_topic(
    out: bytearray, items: Iterable[ListOffsetsTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_list_offsets_partition(out, item.partitions, version)
        if version >= 6:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_list_offsets_partition_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ListOffsetsPartitionResponse], int]:
    items: list[ListOffsetsPartitionResponse] = []
    for _ in range(count):
        item = _new(ListOffsetsPartitionResponse)
        if version >= 6:
            (
                item.partition_index,
                item.error_code,
                item.timestamp,
                item.offset,
                item.leader_epoch,
                tags,
            ) = _INT32_INT16_2INT64_INT32_BYTE.unpack_from(data, at)
            at += 27
        elif version >= 4:
            (
                item.partition_index,
                item.error_code,
                item.timestamp,
                item.offset,
                item.leader_epoch,
            ) = _INT32_INT16_2INT64_INT32.unpack_from(data, at)
            at += 26
            tags = 0
        else:
            (
                item.partition_index,
                item.error_code,
                item.timestamp,
                item.offset,
            ) = _INT32_INT16_2INT64.unpack_from(data, at)
            at += 22
            item.leader_epoch = -1
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_list_offsets_partition_response(
    out: bytearray, items: Iterable[ListOffsetsPartitionResponse], version: int
) -> None:
    for item in items:
        if version >= 6:
            if item.unknown_tagged_fields:
                out += _INT32_INT16_2INT64_INT32.pack(
                    item.partition_index,
                    item.error_code,
                    item.timestamp,
                    item.offset,
                    item.leader_epoch,
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_INT16_2INT64_INT32_ZERO.pack(
                    item.partition_index,
                    item.error_code,
                    item.timestamp,
                    item.offset,
                    item.leader_epoch,
                )
        elif version >= 4:
            out += _INT32_INT16_2INT64_INT32.pack(
                item.partition_index,
                item.error_code,
                item.timestamp,
                item.offset,
                item.leader_epoch,
            )
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        else:
            out += _INT32_INT16_2INT64.pack(
                item.partition_index, item.error_code, item.timestamp, item.offset
            )
            if item.unknown_tagged_fields:
                raise tags_refused(version)
            if item.leader_epoch != -1:
                raise not_in_version("leader_epoch", version)


def _read_list_offsets_topic_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ListOffsetsTopicResponse], int]:
    items: list[ListOffsetsTopicResponse] = []
    limit = len(data)
    for _ in range(count):
        item = _new(ListOffsetsTopicResponse)
        if version >= 6:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 6:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 22 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_list_offsets_partition_response(data, at, version, n)
        if version >= 6:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_list_offsets_topic_response(
    out: bytearray, items: Iterable[ListOffsetsTopicResponse], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_list_offsets_partition_response(out, item.partitions, version)
        if version >= 6:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request ListOffsetsRequest key=2 versions=1-11 flexible=6+ listeners=broker
  replicaId               int32
  isolationLevel          int8                    2+
  topics                  []ListOffsetsTopic
    name                  string
    partitions            []ListOffsetsPartition
      partitionIndex      int32
      currentLeaderEpoch  int32                   4+ default=-1 ignorable
      timestamp           int64
  timeoutMs               int32                   10+ ignorable

response ListOffsetsResponse key=2 versions=1-11 flexible=6+ listeners=broker
  throttleTimeMs      int32                           2+ ignorable
  topics              []ListOffsetsTopicResponse
    name              string
    partitions        []ListOffsetsPartitionResponse
      partitionIndex  int32
      errorCode       int16
      timestamp       int64                           default=-1
      offset          int64                           default=-1
      leaderEpoch     int32                           4+ default=-1
"""
