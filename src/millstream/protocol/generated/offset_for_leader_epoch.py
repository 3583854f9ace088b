"""OffsetForLeaderEpoch, API key 23, versions 2-4: request and response.

Written by `make codegen` from codegen/schemas/offset_for_leader_epoch.txt.
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
    tags_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_2INT32_INT64: Final = Struct(">hiiq")
_INT16_2INT32_INT64_BYTE: Final = Struct(">hiiqB")
_INT16_2INT32_INT64_ZERO: Final = Struct(">hiiqx")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_S2INT32: Final = Struct(">ii")
_S3INT32: Final = Struct(">iii")
_S3INT32_BYTE: Final = Struct(">iiiB")
_S3INT32_ZERO: Final = Struct(">iiix")
_new: Final = object.__new__


class OffsetForLeaderPartition(MessageValue):
    """In `OffsetForLeaderTopic.partitions`, versions 2-4."""

    __slots__ = ("partition", "current_leader_epoch", "leader_epoch", "unknown_tagged_fields")

    partition: int
    current_leader_epoch: int
    leader_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetForLeaderTopic(MessageValue):
    """In `OffsetForLeaderEpochRequest.topics`, versions 2-4."""

    __slots__ = ("topic", "partitions", "unknown_tagged_fields")

    topic: str
    partitions: list[OffsetForLeaderPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        partitions: list[OffsetForLeaderPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetForLeaderEpochRequest(MessageValue):
    """Request of API 23, versions 2-4."""

    __slots__ = ("replica_id", "topics", "unknown_tagged_fields")

    replica_id: int  # 3+
    topics: list[OffsetForLeaderTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        replica_id: int = -2,
        topics: list[OffsetForLeaderTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 23
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 4:
                if n < 128:
                    out += _INT32_BYTE.pack(self.replica_id, n)
                else:
                    out += _INT32.pack(self.replica_id)
                    write_uvarint(out, n)
            elif version >= 3:
                out += _S2INT32.pack(self.replica_id, n - 1)
            else:
                out += _INT32.pack(n - 1)
            _write_offset_for_leader_topic(out, self.topics, version)
            if version >= 4:
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
        if not 2 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
                message.replica_id, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 3:
                message.replica_id, n = _S2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.replica_id = -2
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_offset_for_leader_topic(data, at, version, n)
            if version >= 4:
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


class EpochEndOffset(MessageValue):
    """In `OffsetForLeaderTopicResult.partitions`, versions 2-4."""

    __slots__ = ("error_code", "partition", "leader_epoch", "end_offset", "unknown_tagged_fields")

    error_code: int
    partition: int
    leader_epoch: int
    end_offset: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetForLeaderTopicResult(MessageValue):
    """In `OffsetForLeaderEpochResponse.topics`, versions 2-4."""

    __slots__ = ("topic", "partitions", "unknown_tagged_fields")

    topic: str
    partitions: list[EpochEndOffset]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        partitions: list[EpochEndOffset] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetForLeaderEpochResponse(MessageValue):
    """Response of API 23, versions 2-4."""

    __slots__ = ("throttle_time_ms", "topics", "unknown_tagged_fields")

    throttle_time_ms: int
    topics: list[OffsetForLeaderTopicResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderTopicResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 23
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 4:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_offset_for_leader_topic_result(out, self.topics, version)
            if version >= 4:
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
        if not 2 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_offset_for_leader_topic_result(data, at, version, n)
            if version >= 4:
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


def _read_offset_for_leader_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetForLeaderPartition], int]:
    items: list[OffsetForLeaderPartition] = []
    for _ in range(count):
        item = _new(OffsetForLeaderPartition)
        if version >= 4:
            (
                item.partition,
                item.current_leader_epoch,
                item.leader_epoch,
                tags,
            ) = _S3INT32_BYTE.unpack_from(data, at)
            at += 13
        else:
            (
                item.partition,
                item.current_leader_epoch,
                item.leader_epoch,
            ) = _S3INT32.unpack_from(data, at)
            at += 12
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_for_leader_partition(
    out: bytearray, items: Iterable[OffsetForLeaderPartition], version: int
) -> None:
    for item in items:
        if version >= 4:
            if item.unknown_tagged_fields:
                out += _S3INT32.pack(item.partition, item.current_leader_epoch, item.leader_epoch)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _S3INT32_ZERO.pack(
                    item.partition, item.current_leader_epoch, item.leader_epoch
                )
        else:
            out += _S3INT32.pack(item.partition, item.current_leader_epoch, item.leader_epoch)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_offset_for_leader_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetForLeaderTopic], int]:
    items: list[OffsetForLeaderTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OffsetForLeaderTopic)
        if version >= 4:
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
        if version >= 4:
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
        item.partitions, at = _read_offset_for_leader_partition(data, at, version, n)
        if version >= 4:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_for_leader_topic(
    out: bytearray, items: Iterable[OffsetForLeaderTopic], version: int
) -> None:
    for item in items:
        raw = item.topic.encode()
        n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_offset_for_leader_partition(out, item.partitions, version)
        if version >= 4:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_epoch_end_offset(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[EpochEndOffset], int]:
    items: list[EpochEndOffset] = []
    for _ in range(count):
        item = _new(EpochEndOffset)
        if version >= 4:
            (
                item.error_code,
                item.partition,
                item.leader_epoch,
                item.end_offset,
                tags,
            ) = _INT16_2INT32_INT64_BYTE.unpack_from(data, at)
            at += 19
        else:
            (
                item.error_code,
                item.partition,
                item.leader_epoch,
                item.end_offset,
            ) = _INT16_2INT32_INT64.unpack_from(data, at)
            at += 18
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_epoch_end_offset(out: bytearray, items: Iterable[EpochEndOffset], version: int) -> None:
    for item in items:
        if version >= 4:
            if item.unknown_tagged_fields:
                out += _INT16_2INT32_INT64.pack(
                    item.error_code, item.partition, item.leader_epoch, item.end_offset
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT16_2INT32_INT64_ZERO.pack(
                    item.error_code, item.partition, item.leader_epoch, item.end_offset
                )
        else:
            out += _INT16_2INT32_INT64.pack(
                item.error_code, item.partition, item.leader_epoch, item.end_offset
            )
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_offset_for_leader_topic_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetForLeaderTopicResult], int]:
    items: list[OffsetForLeaderTopicResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OffsetForLeaderTopicResult)
        if version >= 4:
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
        if version >= 4:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 18 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_epoch_end_offset(data, at, version, n)
        if version >= 4:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_for_leader_topic_result(
    out: bytearray, items: Iterable[OffsetForLeaderTopicResult], version: int
) -> None:
    for item in items:
        raw = item.topic.encode()
        n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_epoch_end_offset(out, item.partitions, version)
        if version >= 4:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request OffsetForLeaderEpochRequest key=23 versions=2-4 flexible=4+ listeners=broker
  replicaId               int32                       3+ default=-2 ignorable
  topics                  []OffsetForLeaderTopic
    topic                 string
    partitions            []OffsetForLeaderPartition
      partition           int32
      currentLeaderEpoch  int32                       default=-1
      leaderEpoch         int32

response OffsetForLeaderEpochResponse key=23 versions=2-4 flexible=4+ listeners=broker
  throttleTimeMs   int32
  topics           []OffsetForLeaderTopicResult
    topic          string
    partitions     []EpochEndOffset
      errorCode    int16
      partition    int32
      leaderEpoch  int32                         default=-1
      endOffset    int64                         default=-1
"""
