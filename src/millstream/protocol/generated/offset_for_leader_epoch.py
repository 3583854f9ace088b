"""OffsetForLeaderEpoch, API key 23, versions 2-4: request and response.

Written by `make codegen` from codegen/schemas/offset_for_leader_epoch.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_3INT32: Final = Struct(">iii")
_S_3INT32_BYTE: Final = Struct(">iiiB")
_S_INT16: Final = Struct(">h")
_S_INT16_2INT32_INT64: Final = Struct(">hiiq")
_S_INT16_2INT32_INT64_BYTE: Final = Struct(">hiiqB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_new: Final = object.__new__


@dataclass(slots=True)
class OffsetForLeaderPartition:
    partition: int = 0
    current_leader_epoch: int = -1
    leader_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetForLeaderTopic:
    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetForLeaderEpochRequest:
    replica_id: int = -2  # 3+
    topics: list[OffsetForLeaderTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 23
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                out += _S_INT32.pack(item.replica_id)
            else:
                pass
            if version >= 4:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_offset_for_leader_topic(out, item.topics, version)
            if item.unknown_tagged_fields:
                if version < 4:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 4:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
                item.replica_id, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 3:
                item.replica_id, n = _S_2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.replica_id = -2
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_offset_for_leader_topic(data, at, version, n)
            if version >= 4:
                tags = data[at]
                at += 1
            else:
                tags = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class EpochEndOffset:
    error_code: int = 0
    partition: int = 0
    leader_epoch: int = -1
    end_offset: int = -1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetForLeaderTopicResult:
    topic: str = ""
    partitions: list[EpochEndOffset] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetForLeaderEpochResponse:
    throttle_time_ms: int = 0
    topics: list[OffsetForLeaderTopicResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 23
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 4:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_offset_for_leader_topic_result(out, item.topics, version)
            if item.unknown_tagged_fields:
                if version < 4:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 4:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_offset_for_leader_topic_result(data, at, version, n)
            if version >= 4:
                tags = data[at]
                at += 1
            else:
                tags = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_offset_for_leader_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetForLeaderPartition], int]:
    items: list[OffsetForLeaderPartition] = []
    for _ in range(count):
        item = _new(OffsetForLeaderPartition)
        if version >= 4:
            item.partition, item.current_leader_epoch, item.leader_epoch, tags = _S_3INT32_BYTE.unpack_from(data, at)
            at += 13
        else:
            item.partition, item.current_leader_epoch, item.leader_epoch = _S_3INT32.unpack_from(data, at)
            at += 12
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_for_leader_partition(out: bytearray, items: Iterable[OffsetForLeaderPartition], version: int) -> None:
    for item in items:
        out += _S_3INT32.pack(item.partition, item.current_leader_epoch, item.leader_epoch)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)


def _read_offset_for_leader_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetForLeaderTopic], int]:
    limit = len(data)
    items: list[OffsetForLeaderTopic] = []
    for _ in range(count):
        item = _new(OffsetForLeaderTopic)
        if version >= 4:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.topic = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 4:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
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


def _write_offset_for_leader_topic(out: bytearray, items: Iterable[OffsetForLeaderTopic], version: int) -> None:
    for item in items:
        if version >= 4:
            write_compact_string(out, item.topic)
        else:
            write_string(out, item.topic)
        if version >= 4:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_offset_for_leader_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)


def _read_epoch_end_offset(data: bytes, at: int, version: int, count: int) -> tuple[list[EpochEndOffset], int]:
    items: list[EpochEndOffset] = []
    for _ in range(count):
        item = _new(EpochEndOffset)
        if version >= 4:
            item.error_code, item.partition, item.leader_epoch, item.end_offset, tags = _S_INT16_2INT32_INT64_BYTE.unpack_from(data, at)
            at += 19
        else:
            item.error_code, item.partition, item.leader_epoch, item.end_offset = _S_INT16_2INT32_INT64.unpack_from(data, at)
            at += 18
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_epoch_end_offset(out: bytearray, items: Iterable[EpochEndOffset], version: int) -> None:
    for item in items:
        out += _S_INT16_2INT32_INT64.pack(item.error_code, item.partition, item.leader_epoch, item.end_offset)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)


def _read_offset_for_leader_topic_result(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetForLeaderTopicResult], int]:
    limit = len(data)
    items: list[OffsetForLeaderTopicResult] = []
    for _ in range(count):
        item = _new(OffsetForLeaderTopicResult)
        if version >= 4:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.topic = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 4:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
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


def _write_offset_for_leader_topic_result(out: bytearray, items: Iterable[OffsetForLeaderTopicResult], version: int) -> None:
    for item in items:
        if version >= 4:
            write_compact_string(out, item.topic)
        else:
            write_string(out, item.topic)
        if version >= 4:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_epoch_end_offset(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)

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
