"""OffsetCommit, API key 8, versions 2-10: request and response.

Written by `make codegen` from codegen/schemas/offset_commit.txt.
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
    uuid_refused,
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
_INT64_INT32: Final = Struct(">qi")
_S2INT32: Final = Struct(">ii")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class OffsetCommitRequestPartition(MessageValue):
    """In `OffsetCommitRequestTopic.partitions`, versions 2-10."""

    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "committed_metadata",
        "unknown_tagged_fields",
    )

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int  # 6+
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


class OffsetCommitRequestTopic(MessageValue):
    """In `OffsetCommitRequest.topics`, versions 2-10."""

    __slots__ = ("name", "topic_id", "partitions", "unknown_tagged_fields")

    name: str  # 2-9
    topic_id: Uuid  # 10
    partitions: list[OffsetCommitRequestPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[OffsetCommitRequestPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetCommitRequest(MessageValue):
    """Request of API 8, versions 2-10."""

    __slots__ = (
        "group_id",
        "generation_id_or_member_epoch",
        "member_id",
        "group_instance_id",
        "retention_time_ms",
        "topics",
        "unknown_tagged_fields",
    )

    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None  # 7+
    retention_time_ms: int  # 2-4
    topics: list[OffsetCommitRequestTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequestTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 8
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 8

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 10:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            if version >= 8:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            if version >= 8:
                if n < 128:
                    out += _INT32_BYTE.pack(self.generation_id_or_member_epoch, n)
                else:
                    out += _INT32.pack(self.generation_id_or_member_epoch)
                    write_string_length(out, n)
            else:
                out += _INT32_INT16.pack(self.generation_id_or_member_epoch, n - 1)
            out += raw
            if version >= 7:
                if self.group_instance_id is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.group_instance_id.encode()
                    n = len(raw) + 1
            if version >= 8:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif version >= 7:
                out += _INT16.pack(n - 1)
            elif self.group_instance_id is not None:
                raise not_in_version("group_instance_id", version)
            if version >= 7:
                out += raw
            n = len(self.topics) + 1
            if version >= 8:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif version >= 5:
                out += _INT32.pack(n - 1)
            else:
                out += _INT64_INT32.pack(self.retention_time_ms, n - 1)
            _write_offset_commit_request_topic(out, self.topics, version)
            if version >= 8:
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
        if not 2 <= version <= 10:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 8:
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
            if version >= 8:
                message.generation_id_or_member_epoch, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if 0 < n < 128:
                    message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.member_id, at = read_compact_string(data, at)
            else:
                message.generation_id_or_member_epoch, n = _INT32_INT16.unpack_from(data, at)
                at += 6
                if n < 0:
                    raise null_refused()
                message.member_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 8:
                n = data[at]
                if 0 < n < 128:
                    message.group_instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.group_instance_id, at = read_compact_string_or_null(data, at)
            elif version >= 7:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    message.group_instance_id = None
                else:
                    message.group_instance_id = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            else:
                message.group_instance_id = None
            if version >= 8:
                n = data[at]
                message.retention_time_ms = -1
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 5:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.retention_time_ms = -1
            else:
                message.retention_time_ms, n = _INT64_INT32.unpack_from(data, at)
                at += 12
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_offset_commit_request_topic(data, at, version, n)
            if version >= 8:
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


class OffsetCommitResponsePartition(MessageValue):
    """In `OffsetCommitResponseTopic.partitions`, versions 2-10."""

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


class OffsetCommitResponseTopic(MessageValue):
    """In `OffsetCommitResponse.topics`, versions 2-10."""

    __slots__ = ("name", "topic_id", "partitions", "unknown_tagged_fields")

    name: str  # 2-9
    topic_id: Uuid  # 10
    partitions: list[OffsetCommitResponsePartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[OffsetCommitResponsePartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetCommitResponse(MessageValue):
    """Response of API 8, versions 2-10."""

    __slots__ = ("throttle_time_ms", "topics", "unknown_tagged_fields")

    throttle_time_ms: int  # 3+
    topics: list[OffsetCommitResponseTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponseTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 8
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 8

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 10:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 8:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            elif version >= 3:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            else:
                out += _INT32.pack(n - 1)
            _write_offset_commit_response_topic(out, self.topics, version)
            if version >= 8:
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
        if not 2 <= version <= 10:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 8:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 3:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.throttle_time_ms = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_offset_commit_response_topic(data, at, version, n)
            if version >= 8:
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


def _read_offset_commit_request_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetCommitRequestPartition], int]:
    items: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        item = _new(OffsetCommitRequestPartition)
        if version >= 8:
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
        elif version >= 6:
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


def _write_offset_commit_request_partition(
    out: bytearray, items: Iterable[OffsetCommitRequestPartition], version: int
) -> None:
    for item in items:
        if item.committed_metadata is None:
            raw = b""
            n = 0
        else:
            raw = item.committed_metadata.encode()
            n = len(raw) + 1
        if version >= 8:
            if n < 128:
                out += _INT32_INT64_INT32_BYTE.pack(
                    item.partition_index, item.committed_offset, item.committed_leader_epoch, n
                )
            else:
                out += _INT32_INT64_INT32.pack(
                    item.partition_index, item.committed_offset, item.committed_leader_epoch
                )
                write_string_length(out, n)
        elif version >= 6:
            out += _INT32_INT64_INT32_INT16.pack(
                item.partition_index, item.committed_offset, item.committed_leader_epoch, n - 1
            )
        else:
            out += _INT32_INT64_INT16.pack(item.partition_index, item.committed_offset, n - 1)
        out += raw
        if version >= 8:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_offset_commit_request_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetCommitRequestTopic], int]:
    items: list[OffsetCommitRequestTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OffsetCommitRequestTopic)
        if version >= 10:
            item.name = ""
        elif version >= 8:
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
        if version >= 10:
            item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 8:
            n = data[at]
            item.topic_id = ZERO_UUID
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
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


def _write_offset_commit_request_topic(
    out: bytearray, items: Iterable[OffsetCommitRequestTopic], version: int
) -> None:
    for item in items:
        if version <= 9:
            raw = item.name.encode()
            n = len(raw) + 1
        if version >= 10:
            pass
        elif version >= 8:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        if version <= 9:
            out += raw
        n = len(item.partitions) + 1
        if version >= 10:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_BYTE.pack(item.topic_id, n)
            else:
                out += _UUID.pack(item.topic_id)
                write_uvarint(out, n)
        elif version >= 8:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_offset_commit_request_partition(out, item.partitions, version)
        if version >= 8:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_offset_commit_response_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetCommitResponsePartition], int]:
    items: list[OffsetCommitResponsePartition] = []
    for _ in range(count):
        item = _new(OffsetCommitResponsePartition)
        if version >= 8:
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


def _write_offset_commit_response_partition(
    out: bytearray, items: Iterable[OffsetCommitResponsePartition], version: int
) -> None:
    for item in items:
        if version >= 8:
            if item.unknown_tagged_fields:
                out += _INT32_INT16.pack(item.partition_index, item.error_code)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_INT16_ZERO.pack(item.partition_index, item.error_code)
        else:
            out += _INT32_INT16.pack(item.partition_index, item.error_code)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_offset_commit_response_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetCommitResponseTopic], int]:
    items: list[OffsetCommitResponseTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OffsetCommitResponseTopic)
        if version >= 10:
            item.name = ""
        elif version >= 8:
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
        if version >= 10:
            item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 8:
            n = data[at]
            item.topic_id = ZERO_UUID
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
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


def _write_offset_commit_response_topic(
    out: bytearray, items: Iterable[OffsetCommitResponseTopic], version: int
) -> None:
    for item in items:
        if version <= 9:
            raw = item.name.encode()
            n = len(raw) + 1
        if version >= 10:
            pass
        elif version >= 8:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        if version <= 9:
            out += raw
        n = len(item.partitions) + 1
        if version >= 10:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_BYTE.pack(item.topic_id, n)
            else:
                out += _UUID.pack(item.topic_id)
                write_uvarint(out, n)
        elif version >= 8:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_offset_commit_response_partition(out, item.partitions, version)
        if version >= 8:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

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
