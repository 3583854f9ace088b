"""TxnOffsetCommit, API key 28, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/txn_offset_commit.txt.
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
    read_compact_string_or_null,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_ZERO: Final = Struct(">ihx")
_INT32_INT64_INT16: Final = Struct(">iqh")
_INT32_INT64_INT32: Final = Struct(">iqi")
_INT32_INT64_INT32_BYTE: Final = Struct(">iqiB")
_INT32_INT64_INT32_INT16: Final = Struct(">iqih")
_INT64_INT16: Final = Struct(">qh")
_INT64_INT16_INT32: Final = Struct(">qhi")
_INT64_INT16_INT32_BYTE: Final = Struct(">qhiB")
_S2INT32: Final = Struct(">ii")
_new: Final = object.__new__


class TxnOffsetCommitRequestPartition(MessageValue):
    """In `TxnOffsetCommitRequestTopic.partitions`, versions 0-5."""

    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "committed_metadata",
        "unknown_tagged_fields",
    )

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int  # 2+
    committed_metadata: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata
        self.unknown_tagged_fields = unknown_tagged_fields


class TxnOffsetCommitRequestTopic(MessageValue):
    """In `TxnOffsetCommitRequest.topics`, versions 0-5."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[TxnOffsetCommitRequestPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitRequestPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class TxnOffsetCommitRequest(MessageValue):
    """Request of API 28, versions 0-5."""

    __slots__ = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "generation_id",
        "member_id",
        "group_instance_id",
        "topics",
        "unknown_tagged_fields",
    )

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id: int  # 3+
    member_id: str  # 3+
    group_instance_id: str | None  # 3+
    topics: list[TxnOffsetCommitRequestTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequestTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 28
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            raw = self.transactional_id.encode()
            n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            raw = self.group_id.encode()
            n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            if version >= 3:
                raw = self.member_id.encode()
                n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out += _INT64_INT16_INT32_BYTE.pack(
                        self.producer_id, self.producer_epoch, self.generation_id, n
                    )
                else:
                    out += _INT64_INT16_INT32.pack(
                        self.producer_id, self.producer_epoch, self.generation_id
                    )
                    write_string_length(out, n)
            else:
                out += _INT64_INT16.pack(self.producer_id, self.producer_epoch)
                if self.generation_id != -1:
                    raise not_in_version("generation_id", version)
                if self.member_id:
                    raise not_in_version("member_id", version)
            if version >= 3:
                out += raw
            if version >= 3:
                if self.group_instance_id is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.group_instance_id.encode()
                    n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif self.group_instance_id is not None:
                raise not_in_version("group_instance_id", version)
            if version >= 3:
                out += raw
            n = len(self.topics) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_txn_offset_commit_request_topic(out, self.topics, version)
            if version >= 3:
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
        if not 0 <= version <= 5:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.transactional_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.transactional_id, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.transactional_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.group_id, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.group_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 3:
                (
                    message.producer_id,
                    message.producer_epoch,
                    message.generation_id,
                    n,
                ) = _INT64_INT16_INT32_BYTE.unpack_from(data, at)
                at += 14
                if 0 < n < 128:
                    message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.member_id, at = read_compact_string(data, at)
            else:
                message.producer_id, message.producer_epoch = _INT64_INT16.unpack_from(data, at)
                at += 10
                message.generation_id = -1
                message.member_id = ""
            if version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.group_instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.group_instance_id, at = read_compact_string_or_null(data, at)
            else:
                message.group_instance_id = None
            if version >= 3:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_txn_offset_commit_request_topic(data, at, version, n)
            if version >= 3:
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


class TxnOffsetCommitResponsePartition(MessageValue):
    """In `TxnOffsetCommitResponseTopic.partitions`, versions 0-5."""

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


class TxnOffsetCommitResponseTopic(MessageValue):
    """In `TxnOffsetCommitResponse.topics`, versions 0-5."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[TxnOffsetCommitResponsePartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitResponsePartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class TxnOffsetCommitResponse(MessageValue):
    """Response of API 28, versions 0-5."""

    __slots__ = ("throttle_time_ms", "topics", "unknown_tagged_fields")

    throttle_time_ms: int
    topics: list[TxnOffsetCommitResponseTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TxnOffsetCommitResponseTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 28
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 3:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_txn_offset_commit_response_topic(out, self.topics, version)
            if version >= 3:
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
        if not 0 <= version <= 5:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 3:
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
            message.topics, at = _read_txn_offset_commit_response_topic(data, at, version, n)
            if version >= 3:
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


def _read_txn_offset_commit_request_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    items: list[TxnOffsetCommitRequestPartition] = []
    for _ in range(count):
        item = _new(TxnOffsetCommitRequestPartition)
        if version >= 3:
            (
                item.partition_index,
                item.committed_offset,
                item.committed_leader_epoch,
                n,
            ) = _INT32_INT64_INT32_BYTE.unpack_from(data, at)
            at += 16
            if 0 < n < 128:
                item.committed_metadata = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.committed_metadata, at = read_compact_string_or_null(data, at)
        elif version >= 2:
            (
                item.partition_index,
                item.committed_offset,
                item.committed_leader_epoch,
                n,
            ) = _INT32_INT64_INT32_INT16.unpack_from(data, at)
            at += 18
            if n < 0:
                item.committed_metadata = None
            else:
                item.committed_metadata = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        else:
            (
                item.partition_index,
                item.committed_offset,
                n,
            ) = _INT32_INT64_INT16.unpack_from(data, at)
            at += 14
            item.committed_leader_epoch = -1
            if n < 0:
                item.committed_metadata = None
            else:
                item.committed_metadata = data[at : at + n].decode("utf-8", LENIENT)
                at += n
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


def _write_txn_offset_commit_request_partition(
    out: bytearray, items: Iterable[TxnOffsetCommitRequestPartition], version: int
) -> None:
    for item in items:
        if item.committed_metadata is None:
            raw = b""
            n = 0
        else:
            raw = item.committed_metadata.encode()
            n = len(raw) + 1
        if version >= 3:
            if n < 128:
                out += _INT32_INT64_INT32_BYTE.pack(
                    item.partition_index, item.committed_offset, item.committed_leader_epoch, n
                )
            else:
                out += _INT32_INT64_INT32.pack(
                    item.partition_index, item.committed_offset, item.committed_leader_epoch
                )
                write_string_length(out, n)
        elif version >= 2:
            out += _INT32_INT64_INT32_INT16.pack(
                item.partition_index, item.committed_offset, item.committed_leader_epoch, n - 1
            )
        else:
            out += _INT32_INT64_INT16.pack(item.partition_index, item.committed_offset, n - 1)
        out += raw
        if version >= 3:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_txn_offset_commit_request_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    items: list[TxnOffsetCommitRequestTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(TxnOffsetCommitRequestTopic)
        if version >= 3:
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
        if version >= 3:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
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


def _write_txn_offset_commit_request_topic(
    out: bytearray, items: Iterable[TxnOffsetCommitRequestTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_txn_offset_commit_request_partition(out, item.partitions, version)
        if version >= 3:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_txn_offset_commit_response_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TxnOffsetCommitResponsePartition], int]:
    items: list[TxnOffsetCommitResponsePartition] = []
    for _ in range(count):
        item = _new(TxnOffsetCommitResponsePartition)
        if version >= 3:
            item.partition_index, item.error_code, tags = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
        else:
            item.partition_index, item.error_code = _INT32_INT16.unpack_from(data, at)
            at += 6
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_txn_offset_commit_response_partition(
    out: bytearray, items: Iterable[TxnOffsetCommitResponsePartition], version: int
) -> None:
    for item in items:
        if version >= 3:
            if item.unknown_tagged_fields:
                out += _INT32_INT16.pack(item.partition_index, item.error_code)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_INT16_ZERO.pack(item.partition_index, item.error_code)
        else:
            out += _INT32_INT16.pack(item.partition_index, item.error_code)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_txn_offset_commit_response_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
    items: list[TxnOffsetCommitResponseTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(TxnOffsetCommitResponseTopic)
        if version >= 3:
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
        if version >= 3:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
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


def _write_txn_offset_commit_response_topic(
    out: bytearray, items: Iterable[TxnOffsetCommitResponseTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_txn_offset_commit_response_partition(out, item.partitions, version)
        if version >= 3:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

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
