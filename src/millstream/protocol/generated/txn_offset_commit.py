"""TxnOffsetCommit, API key 28, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/txn_offset_commit.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

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
_S_INT64_INT16: Final = Struct(">qh")
_S_INT64_INT16_INT32: Final = Struct(">qhi")
_S_INT64_INT16_INT32_BYTE: Final = Struct(">qhiB")
_new: Final = object.__new__


@dataclass(slots=True)
class TxnOffsetCommitRequestPartition:
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1  # 2+
    committed_metadata: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TxnOffsetCommitRequestTopic:
    name: str = ""
    partitions: list[TxnOffsetCommitRequestPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TxnOffsetCommitRequest:
    transactional_id: str = ""
    group_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    generation_id: int = -1  # 3+
    member_id: str = ""  # 3+
    group_instance_id: str | None = None  # 3+
    topics: list[TxnOffsetCommitRequestTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 28
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                write_compact_string(out, item.transactional_id)
            else:
                write_string(out, item.transactional_id)
            if version >= 3:
                write_compact_string(out, item.group_id)
            else:
                write_string(out, item.group_id)
            if version >= 3:
                out += _S_INT64_INT16_INT32.pack(item.producer_id, item.producer_epoch, item.generation_id)
            else:
                out += _S_INT64_INT16.pack(item.producer_id, item.producer_epoch)
                if item.generation_id != -1:
                    raise not_in_version("generation_id", version)
            if version >= 3:
                write_compact_string(out, item.member_id)
            elif item.member_id:
                raise not_in_version("member_id", version)
            if version >= 3:
                if item.group_instance_id is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.group_instance_id)
            elif item.group_instance_id is not None:
                raise not_in_version("group_instance_id", version)
            if version >= 3:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_txn_offset_commit_request_topic(out, item.topics, version)
            if item.unknown_tagged_fields:
                if version < 3:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 3:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 5:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 3:
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
            item.transactional_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 3:
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
            if version >= 3:
                item.producer_id, item.producer_epoch, item.generation_id, n = _S_INT64_INT16_INT32_BYTE.unpack_from(data, at)
                at += 15
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.producer_id, item.producer_epoch = _S_INT64_INT16.unpack_from(data, at)
                at += 10
                item.generation_id = -1
            if version >= 3:
                if n < 0:
                    raise null_refused()
                at += n
                item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.member_id = ""
            if version >= 3:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 3:
                if n < 0:
                    item.group_instance_id = None
                else:
                    at += n
                    item.group_instance_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.group_instance_id = None
            if version >= 3:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_txn_offset_commit_request_topic(data, at, version, n)
            if version >= 3:
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
class TxnOffsetCommitResponsePartition:
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TxnOffsetCommitResponseTopic:
    name: str = ""
    partitions: list[TxnOffsetCommitResponsePartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TxnOffsetCommitResponse:
    throttle_time_ms: int = 0
    topics: list[TxnOffsetCommitResponseTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 28
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 3:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_txn_offset_commit_response_topic(out, item.topics, version)
            if item.unknown_tagged_fields:
                if version < 3:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 3:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 5:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 3:
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
            item.topics, at = _read_txn_offset_commit_response_topic(data, at, version, n)
            if version >= 3:
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


def _read_txn_offset_commit_request_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    items: list[TxnOffsetCommitRequestPartition] = []
    for _ in range(count):
        item = _new(TxnOffsetCommitRequestPartition)
        if version >= 3:
            item.partition_index, item.committed_offset, item.committed_leader_epoch, n = _S_INT32_INT64_INT32_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 2:
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
        if version >= 3:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_txn_offset_commit_request_partition(out: bytearray, items: Iterable[TxnOffsetCommitRequestPartition], version: int) -> None:
    for item in items:
        if version >= 2:
            out += _S_INT32_INT64_INT32.pack(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        else:
            out += _S_INT32_INT64.pack(item.partition_index, item.committed_offset)
        if item.committed_metadata is None:
            if version >= 3:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 3:
                write_compact_string(out, item.committed_metadata)
            else:
                write_string(out, item.committed_metadata)
        if item.unknown_tagged_fields:
            if version < 3:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 3:
            out.append(0)


def _read_txn_offset_commit_request_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    limit = len(data)
    items: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(count):
        item = _new(TxnOffsetCommitRequestTopic)
        if version >= 3:
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
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 3:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 14 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_txn_offset_commit_request_partition(data, at, version, n)
        if version >= 3:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_txn_offset_commit_request_topic(out: bytearray, items: Iterable[TxnOffsetCommitRequestTopic], version: int) -> None:
    for item in items:
        if version >= 3:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 3:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_txn_offset_commit_request_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 3:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 3:
            out.append(0)


def _read_txn_offset_commit_response_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[TxnOffsetCommitResponsePartition], int]:
    items: list[TxnOffsetCommitResponsePartition] = []
    for _ in range(count):
        item = _new(TxnOffsetCommitResponsePartition)
        if version >= 3:
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


def _write_txn_offset_commit_response_partition(out: bytearray, items: Iterable[TxnOffsetCommitResponsePartition], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16.pack(item.partition_index, item.error_code)
        if item.unknown_tagged_fields:
            if version < 3:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 3:
            out.append(0)


def _read_txn_offset_commit_response_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
    limit = len(data)
    items: list[TxnOffsetCommitResponseTopic] = []
    for _ in range(count):
        item = _new(TxnOffsetCommitResponseTopic)
        if version >= 3:
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
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 3:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_txn_offset_commit_response_partition(data, at, version, n)
        if version >= 3:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_txn_offset_commit_response_topic(out: bytearray, items: Iterable[TxnOffsetCommitResponseTopic], version: int) -> None:
    for item in items:
        if version >= 3:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 3:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_txn_offset_commit_response_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 3:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 3:
            out.append(0)

SCHEMA: Final = """\
request TxnOffsetCommitRequest key=28 versions=0-5 flexible=3+ listeners=broker
  transactionalId           string
  groupId                   string
  producerId                int64
  producerEpoch             int16
  generationId              int32                              3+ default=-1
  memberId                  string                             3+
  groupInstanceId           string                             3+ nullable default=null
  topics                    []TxnOffsetCommitRequestTopic
    name                    string
    partitions              []TxnOffsetCommitRequestPartition
      partitionIndex        int32
      committedOffset       int64
      committedLeaderEpoch  int32                              2+ default=-1 ignorable
      committedMetadata     string                             nullable

response TxnOffsetCommitResponse key=28 versions=0-5 flexible=3+ listeners=broker
  throttleTimeMs      int32
  topics              []TxnOffsetCommitResponseTopic
    name              string
    partitions        []TxnOffsetCommitResponsePartition
      partitionIndex  int32
      errorCode       int16
"""
