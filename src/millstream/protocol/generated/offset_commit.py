"""OffsetCommit, API key 8, versions 2-10: request and response.

Written by `make codegen` from codegen/schemas/offset_commit.txt.
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
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_INT16: Final = Struct(">iqh")
_S_INT32_INT64_INT32: Final = Struct(">iqi")
_S_INT32_INT64_INT32_BYTE: Final = Struct(">iqiB")
_S_INT32_INT64_INT32_INT16: Final = Struct(">iqih")
_S_INT64: Final = Struct(">q")
_S_INT64_INT32: Final = Struct(">qi")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class OffsetCommitRequestPartition:
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1  # 6+
    committed_metadata: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetCommitRequestTopic:
    name: str = ""  # 2-9
    topic_id: Uuid = ZERO_UUID  # 10
    partitions: list[OffsetCommitRequestPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetCommitRequest:
    group_id: str = ""
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None  # 7+
    retention_time_ms: int = -1  # 2-4
    topics: list[OffsetCommitRequestTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 8
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 8

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 10:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 8:
                write_compact_string(out, item.group_id)
            else:
                write_string(out, item.group_id)
            out += _S_INT32.pack(item.generation_id_or_member_epoch)
            if version >= 8:
                write_compact_string(out, item.member_id)
            else:
                write_string(out, item.member_id)
            if version >= 7:
                if item.group_instance_id is None:
                    if version >= 8:
                        out.append(0)
                    else:
                        out += b"\xff\xff"
                else:
                    if version >= 8:
                        write_compact_string(out, item.group_instance_id)
                    else:
                        write_string(out, item.group_instance_id)
            elif item.group_instance_id is not None:
                raise not_in_version("group_instance_id", version)
            if version >= 5:
                pass
            else:
                out += _S_INT64.pack(item.retention_time_ms)
            if version >= 8:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_offset_commit_request_topic(out, item.topics, version)
            if item.unknown_tagged_fields:
                if version < 8:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 8:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 10:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 8:
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
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 8:
                item.generation_id_or_member_epoch, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.generation_id_or_member_epoch, n = _S_INT32_INT16.unpack_from(data, at)
                at += 6
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 8:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 7:
                (n,) = _S_INT16.unpack_from(data, at)
                at += 2
            else:
                pass
            if version >= 7:
                if n < 0:
                    item.group_instance_id = None
                else:
                    at += n
                    item.group_instance_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.group_instance_id = None
            if version >= 8:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
                item.retention_time_ms = -1
            elif version >= 5:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.retention_time_ms = -1
            else:
                item.retention_time_ms, n = _S_INT64_INT32.unpack_from(data, at)
                at += 12
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_offset_commit_request_topic(data, at, version, n)
            if version >= 8:
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
class OffsetCommitResponsePartition:
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetCommitResponseTopic:
    name: str = ""  # 2-9
    topic_id: Uuid = ZERO_UUID  # 10
    partitions: list[OffsetCommitResponsePartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetCommitResponse:
    throttle_time_ms: int = 0  # 3+
    topics: list[OffsetCommitResponseTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 8
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 8

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 10:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                out += _S_INT32.pack(item.throttle_time_ms)
            else:
                pass
            if version >= 8:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_offset_commit_response_topic(out, item.topics, version)
            if item.unknown_tagged_fields:
                if version < 8:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 8:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 10:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 8:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 3:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.throttle_time_ms = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_offset_commit_response_topic(data, at, version, n)
            if version >= 8:
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


def _read_offset_commit_request_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetCommitRequestPartition], int]:
    items: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        item = _new(OffsetCommitRequestPartition)
        if version >= 8:
            item.partition_index, item.committed_offset, item.committed_leader_epoch, n = _S_INT32_INT64_INT32_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 6:
            item.partition_index, item.committed_offset, item.committed_leader_epoch, n = _S_INT32_INT64_INT32_INT16.unpack_from(data, at)
            at += 18
        else:
            item.partition_index, item.committed_offset, n = _S_INT32_INT64_INT16.unpack_from(data, at)
            at += 14
            item.committed_leader_epoch = -1
        if n < 0:
            item.committed_metadata = None
        else:
            at += n
            item.committed_metadata = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 8:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_commit_request_partition(out: bytearray, items: Iterable[OffsetCommitRequestPartition], version: int) -> None:
    for item in items:
        if version >= 6:
            out += _S_INT32_INT64_INT32.pack(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        else:
            out += _S_INT32_INT64.pack(item.partition_index, item.committed_offset)
        if item.committed_metadata is None:
            if version >= 8:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 8:
                write_compact_string(out, item.committed_metadata)
            else:
                write_string(out, item.committed_metadata)
        if item.unknown_tagged_fields:
            if version < 8:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 8:
            out.append(0)


def _read_offset_commit_request_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetCommitRequestTopic], int]:
    limit = len(data)
    items: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        item = _new(OffsetCommitRequestTopic)
        if version >= 10:
            pass
        elif version >= 8:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if version <= 9:
            if n < 0:
                raise null_refused()
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.name = ""
        if version >= 10:
            item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        elif version >= 8:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.topic_id = ZERO_UUID
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
            item.topic_id = ZERO_UUID
        if not 0 <= n * 14 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_offset_commit_request_partition(data, at, version, n)
        if version >= 8:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_commit_request_topic(out: bytearray, items: Iterable[OffsetCommitRequestTopic], version: int) -> None:
    for item in items:
        if version <= 9:
            if version >= 8:
                write_compact_string(out, item.name)
            else:
                write_string(out, item.name)
        if version >= 10:
            out += _S_UUID.pack(item.topic_id)
        else:
            pass
        if version >= 8:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_offset_commit_request_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 8:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 8:
            out.append(0)


def _read_offset_commit_response_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetCommitResponsePartition], int]:
    items: list[OffsetCommitResponsePartition] = []
    for _ in range(count):
        item = _new(OffsetCommitResponsePartition)
        if version >= 8:
            item.partition_index, item.error_code, tags = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
        else:
            item.partition_index, item.error_code = _S_INT32_INT16.unpack_from(data, at)
            at += 6
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_commit_response_partition(out: bytearray, items: Iterable[OffsetCommitResponsePartition], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16.pack(item.partition_index, item.error_code)
        if item.unknown_tagged_fields:
            if version < 8:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 8:
            out.append(0)


def _read_offset_commit_response_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetCommitResponseTopic], int]:
    limit = len(data)
    items: list[OffsetCommitResponseTopic] = []
    for _ in range(count):
        item = _new(OffsetCommitResponseTopic)
        if version >= 10:
            pass
        elif version >= 8:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if version <= 9:
            if n < 0:
                raise null_refused()
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.name = ""
        if version >= 10:
            item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        elif version >= 8:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.topic_id = ZERO_UUID
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
            item.topic_id = ZERO_UUID
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_offset_commit_response_partition(data, at, version, n)
        if version >= 8:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_commit_response_topic(out: bytearray, items: Iterable[OffsetCommitResponseTopic], version: int) -> None:
    for item in items:
        if version <= 9:
            if version >= 8:
                write_compact_string(out, item.name)
            else:
                write_string(out, item.name)
        if version >= 10:
            out += _S_UUID.pack(item.topic_id)
        else:
            pass
        if version >= 8:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_offset_commit_response_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 8:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 8:
            out.append(0)

SCHEMA: Final = """\
request OffsetCommitRequest key=8 versions=2-10 flexible=8+ listeners=broker
  groupId                    string
  generationIdOrMemberEpoch  int32                           default=-1
  memberId                   string
  groupInstanceId            string                          7+ nullable default=null
  retentionTimeMs            int64                           2-4 default=-1 ignorable
  topics                     []OffsetCommitRequestTopic
    name                     string                          2-9 ignorable
    topicId                  uuid                            10 ignorable
    partitions               []OffsetCommitRequestPartition
      partitionIndex         int32
      committedOffset        int64
      committedLeaderEpoch   int32                           6+ default=-1 ignorable
      committedMetadata      string                          nullable

response OffsetCommitResponse key=8 versions=2-10 flexible=8+ listeners=broker
  throttleTimeMs      int32                            3+ ignorable
  topics              []OffsetCommitResponseTopic
    name              string                           2-9 ignorable
    topicId           uuid                             10 ignorable
    partitions        []OffsetCommitResponsePartition
      partitionIndex  int32
      errorCode       int16
"""
