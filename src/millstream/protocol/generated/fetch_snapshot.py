"""FetchSnapshot, API key 59, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/fetch_snapshot.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.buffers import Records, append_records
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    Buffer,
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_compact_string,
    read_compact_string_or_null,
    read_length,
    read_uvarint,
    tag_refused,
)
from millstream.protocol.tagged_fields import (
    TaggedField,
    read_tag_count,
    read_unknown_field,
    read_unknown_fields,
    write_tagged_fields,
)
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    uuid_refused,
    write_compact_string,
    write_string_length,
    write_uvarint,
)

_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT64: Final = Struct(">q")
_INT64_BYTE: Final = Struct(">qB")
_INT64_INT32: Final = Struct(">qi")
_INT64_INT32_BYTE: Final = Struct(">qiB")
_INT64_INT32_ZERO: Final = Struct(">qix")
_INT64_ZERO: Final = Struct(">qx")
_S2INT32: Final = Struct(">ii")
_S2INT32_BYTE: Final = Struct(">iiB")
_S2INT32_ZERO: Final = Struct(">iix")
_S2INT64: Final = Struct(">qq")
_S2INT64_BYTE: Final = Struct(">qqB")
_UINT16: Final = Struct(">H")
_UINT16_BYTE: Final = Struct(">HB")
_UINT16_ZERO: Final = Struct(">Hx")
_UUID: Final = Struct(">16s")
_new: Final = object.__new__


@dataclass(frozen=True, slots=True)
class SnapshotId(MessageValue):
    """In `FetchSnapshotRequestPartitionSnapshot.snapshot_id`, versions 0-1."""

    end_offset: int = 0
    epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_SNAPSHOT_ID: Final = SnapshotId()


class FetchSnapshotRequestPartitionSnapshot(MessageValue):
    """In `FetchSnapshotRequestTopicSnapshot.partitions`, versions 0-1."""

    __slots__ = (
        "partition",
        "current_leader_epoch",
        "snapshot_id",
        "position",
        "replica_directory_id",
        "unknown_tagged_fields",
    )

    partition: int
    current_leader_epoch: int
    snapshot_id: SnapshotId
    position: int
    replica_directory_id: Uuid  # 1, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: SnapshotId = _NO_SNAPSHOT_ID,
        position: int = 0,
        replica_directory_id: Uuid = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id = snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchSnapshotRequestTopicSnapshot(MessageValue):
    """In `FetchSnapshotRequest.topics`, versions 0-1."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[FetchSnapshotRequestPartitionSnapshot]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[FetchSnapshotRequestPartitionSnapshot] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchSnapshotRequest(MessageValue):
    """Request of API 59, versions 0-1."""

    __slots__ = ("cluster_id", "replica_id", "max_bytes", "topics", "unknown_tagged_fields")

    cluster_id: str | None  # tag 0
    replica_id: int
    max_bytes: int
    topics: list[FetchSnapshotRequestTopicSnapshot]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[FetchSnapshotRequestTopicSnapshot] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 59
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out += _S2INT32_BYTE.pack(self.replica_id, self.max_bytes, n)
            else:
                out += _S2INT32.pack(self.replica_id, self.max_bytes)
                write_uvarint(out, n)
            _write_fetch_snapshot_request_topic_snapshot(out, self.topics, version)
            if self.cluster_id is not None or self.unknown_tagged_fields:
                _write_fetch_snapshot_request_tags(out, self, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.replica_id, message.max_bytes, n = _S2INT32_BYTE.unpack_from(data, at)
            at += 8
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_fetch_snapshot_request_topic_snapshot(data, at, version, n)
            tags = data[at]
            at += 1
            message.cluster_id = None
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_fetch_snapshot_request_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


@dataclass(frozen=True, slots=True)
class LeaderIdAndEpoch(MessageValue):
    """In `FetchSnapshotResponsePartitionSnapshot.current_leader`, versions 0-1."""

    leader_id: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_LEADER_ID_AND_EPOCH: Final = LeaderIdAndEpoch()


class FetchSnapshotResponsePartitionSnapshot(MessageValue):
    """In `FetchSnapshotResponseTopicSnapshot.partitions`, versions 0-1."""

    __slots__ = (
        "index",
        "error_code",
        "snapshot_id",
        "current_leader",
        "size",
        "position",
        "unaligned_records",
        "unknown_tagged_fields",
    )

    index: int
    error_code: int
    snapshot_id: SnapshotId
    current_leader: LeaderIdAndEpoch  # tag 0
    size: int
    position: int
    unaligned_records: Records | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: SnapshotId = _NO_SNAPSHOT_ID,
        current_leader: LeaderIdAndEpoch = _NO_LEADER_ID_AND_EPOCH,
        size: int = 0,
        position: int = 0,
        unaligned_records: Records | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.snapshot_id = snapshot_id
        self.current_leader = current_leader
        self.size = size
        self.position = position
        self.unaligned_records = unaligned_records
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchSnapshotResponseTopicSnapshot(MessageValue):
    """In `FetchSnapshotResponse.topics`, versions 0-1."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[FetchSnapshotResponsePartitionSnapshot]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[FetchSnapshotResponsePartitionSnapshot] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class NodeEndpoint(MessageValue):
    """In `FetchSnapshotResponse.node_endpoints`, version 1."""

    __slots__ = ("node_id", "host", "port", "unknown_tagged_fields")

    node_id: int
    host: str
    port: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchSnapshotResponse(MessageValue):
    """Response of API 59, versions 0-1."""

    __slots__ = (
        "throttle_time_ms", "error_code", "topics", "node_endpoints", "unknown_tagged_fields"
    )

    throttle_time_ms: int
    error_code: int
    topics: list[FetchSnapshotResponseTopicSnapshot]
    node_endpoints: list[NodeEndpoint]  # 1, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[FetchSnapshotResponseTopicSnapshot] = UNSET,
        node_endpoints: list[NodeEndpoint] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is UNSET else topics
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 59
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_uvarint(out, n)
            _write_fetch_snapshot_response_topic_snapshot(out, self.topics, version)
            if self.node_endpoints or self.unknown_tagged_fields:
                _write_fetch_snapshot_response_tags(out, self, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise version_refused(cls, version)
        start = at
        data = view
        limit = len(data)
        message = _new(cls)
        try:
            (
                message.throttle_time_ms,
                message.error_code,
                n,
            ) = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 6
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_fetch_snapshot_response_topic_snapshot(data, at, version, n)
            tags = data[at]
            at += 1
            message.node_endpoints = []
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_fetch_snapshot_response_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_snapshot_id(
    data: Buffer, at: int, version: int, count: int
) -> tuple[list[SnapshotId], int]:
    items: list[SnapshotId] = []
    for _ in range(count):
        end_offset, epoch, tags = _INT64_INT32_BYTE.unpack_from(data, at)
        at += 13
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(SnapshotId(end_offset, epoch, unknown))
    return items, at


def _write_snapshot_id(out: bytearray, items: Iterable[SnapshotId], version: int) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT64_INT32.pack(item.end_offset, item.epoch)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT64_INT32_ZERO.pack(item.end_offset, item.epoch)


def _read_fetch_snapshot_request_partition_snapshot(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[FetchSnapshotRequestPartitionSnapshot], int]:
    items: list[FetchSnapshotRequestPartitionSnapshot] = []
    for _ in range(count):
        item = _new(FetchSnapshotRequestPartitionSnapshot)
        item.partition, item.current_leader_epoch = _S2INT32.unpack_from(data, at)
        at += 8
        (item.snapshot_id,), at = _read_snapshot_id(data, at, version, 1)
        item.position, tags = _INT64_BYTE.unpack_from(data, at)
        at += 9
        item.replica_directory_id = ZERO_UUID
        item.unknown_tagged_fields = ()
        if tags:
            at = _read_fetch_snapshot_request_partition_snapshot_tags(item, data, at - 1, version)
        items.append(item)
    return items, at


def _write_fetch_snapshot_request_partition_snapshot(
    out: bytearray, items: Iterable[FetchSnapshotRequestPartitionSnapshot], version: int
) -> None:
    for item in items:
        out += _S2INT32.pack(item.partition, item.current_leader_epoch)
        _write_snapshot_id(out, (item.snapshot_id,), version)
        if item.replica_directory_id != ZERO_UUID or item.unknown_tagged_fields:
            out += _INT64.pack(item.position)
            _write_fetch_snapshot_request_partition_snapshot_tags(out, item, version)
        else:
            out += _INT64_ZERO.pack(item.position)


def _read_fetch_snapshot_request_partition_snapshot_tags(
    item: FetchSnapshotRequestPartitionSnapshot, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            if not (version >= 1):
                raise tag_refused(tag, version)
            (item.replica_directory_id,) = _UUID.unpack_from(data, at)
            at += 16
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_fetch_snapshot_request_partition_snapshot_tags(
    section: bytearray, item: FetchSnapshotRequestPartitionSnapshot, version: int
) -> None:
    known: list[TaggedField] = []
    if item.replica_directory_id != ZERO_UUID:
        if version >= 1:
            out = bytearray()
            if len(item.replica_directory_id) != 16:
                raise uuid_refused(item.replica_directory_id)
            out += _UUID.pack(item.replica_directory_id)
            known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_fetch_snapshot_request_topic_snapshot(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[FetchSnapshotRequestTopicSnapshot], int]:
    items: list[FetchSnapshotRequestTopicSnapshot] = []
    limit = len(data)
    for _ in range(count):
        item = _new(FetchSnapshotRequestTopicSnapshot)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 30 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_fetch_snapshot_request_partition_snapshot(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_fetch_snapshot_request_topic_snapshot(
    out: bytearray, items: Iterable[FetchSnapshotRequestTopicSnapshot], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_fetch_snapshot_request_partition_snapshot(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_fetch_snapshot_request_tags(
    item: FetchSnapshotRequest, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n = data[at]
            if 0 < n < 128:
                item.cluster_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.cluster_id, at = read_compact_string_or_null(data, at)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_fetch_snapshot_request_tags(
    section: bytearray, item: FetchSnapshotRequest, version: int
) -> None:
    known: list[TaggedField] = []
    if item.cluster_id is not None:
        out = bytearray()
        write_compact_string(out, item.cluster_id)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_leader_id_and_epoch(
    data: memoryview, at: int, version: int, count: int
) -> tuple[list[LeaderIdAndEpoch], int]:
    items: list[LeaderIdAndEpoch] = []
    for _ in range(count):
        leader_id, leader_epoch, tags = _S2INT32_BYTE.unpack_from(data, at)
        at += 9
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(LeaderIdAndEpoch(leader_id, leader_epoch, unknown))
    return items, at


def _write_leader_id_and_epoch(
    out: bytearray, items: Iterable[LeaderIdAndEpoch], version: int
) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _S2INT32.pack(item.leader_id, item.leader_epoch)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _S2INT32_ZERO.pack(item.leader_id, item.leader_epoch)


def _read_fetch_snapshot_response_partition_snapshot(
    data: memoryview, at: int, version: int, count: int
) -> tuple[list[FetchSnapshotResponsePartitionSnapshot], int]:
    items: list[FetchSnapshotResponsePartitionSnapshot] = []
    for _ in range(count):
        item = _new(FetchSnapshotResponsePartitionSnapshot)
        item.index, item.error_code = _INT32_INT16.unpack_from(data, at)
        at += 6
        (item.snapshot_id,), at = _read_snapshot_id(data, at, version, 1)
        item.size, item.position, n = _S2INT64_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if n < 0:
            raise null_refused()
        item.unaligned_records = data[at : at + n]
        at += n
        tags = data[at]
        at += 1
        item.current_leader = _NO_LEADER_ID_AND_EPOCH
        item.unknown_tagged_fields = ()
        if tags:
            at = _read_fetch_snapshot_response_partition_snapshot_tags(item, data, at - 1, version)
        items.append(item)
    return items, at


def _write_fetch_snapshot_response_partition_snapshot(
    out: bytearray, items: Iterable[FetchSnapshotResponsePartitionSnapshot], version: int
) -> None:
    for item in items:
        out += _INT32_INT16.pack(item.index, item.error_code)
        _write_snapshot_id(out, (item.snapshot_id,), version)
        if item.unaligned_records is None:
            raise must_not_be_null("unaligned_records", version)
        else:
            n = len(item.unaligned_records) + 1
        if n < 128:
            out += _S2INT64_BYTE.pack(item.size, item.position, n)
        else:
            out += _S2INT64.pack(item.size, item.position)
            write_uvarint(out, n)
        append_records(out, item.unaligned_records)
        if (
            item.current_leader is not _NO_LEADER_ID_AND_EPOCH
            or item.unknown_tagged_fields
        ):
            _write_fetch_snapshot_response_partition_snapshot_tags(out, item, version)
        else:
            out.append(0)


def _read_fetch_snapshot_response_partition_snapshot_tags(
    item: FetchSnapshotResponsePartitionSnapshot, data: memoryview, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.current_leader,), at = _read_leader_id_and_epoch(data, at, version, 1)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_fetch_snapshot_response_partition_snapshot_tags(
    section: bytearray, item: FetchSnapshotResponsePartitionSnapshot, version: int
) -> None:
    known: list[TaggedField] = []
    if item.current_leader is not _NO_LEADER_ID_AND_EPOCH and item.current_leader != _NO_LEADER_ID_AND_EPOCH:
        out = bytearray()
        _write_leader_id_and_epoch(out, (item.current_leader,), version)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_fetch_snapshot_response_topic_snapshot(
    data: memoryview, at: int, version: int, count: int
) -> tuple[list[FetchSnapshotResponseTopicSnapshot], int]:
    items: list[FetchSnapshotResponseTopicSnapshot] = []
    limit = len(data)
    for _ in range(count):
        item = _new(FetchSnapshotResponseTopicSnapshot)
        n = data[at]
        if 0 < n < 128:
            item.name = str(data[at + 1 : at + n], "utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 37 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_fetch_snapshot_response_partition_snapshot(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_fetch_snapshot_response_topic_snapshot(
    out: bytearray, items: Iterable[FetchSnapshotResponseTopicSnapshot], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_fetch_snapshot_response_partition_snapshot(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_node_endpoint(
    data: memoryview, at: int, version: int, count: int
) -> tuple[list[NodeEndpoint], int]:
    items: list[NodeEndpoint] = []
    for _ in range(count):
        item = _new(NodeEndpoint)
        item.node_id, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.host = str(data[at + 1 : at + n], "utf-8", LENIENT)
            at += n
        else:
            item.host, at = read_compact_string(data, at)
        item.port, tags = _UINT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_node_endpoint(out: bytearray, items: Iterable[NodeEndpoint], version: int) -> None:
    for item in items:
        raw = item.host.encode()
        n = len(raw) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.node_id, n)
        else:
            out += _INT32.pack(item.node_id)
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _UINT16.pack(item.port)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UINT16_ZERO.pack(item.port)


def _read_fetch_snapshot_response_tags(
    item: FetchSnapshotResponse, data: memoryview, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            if not (version >= 1):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            limit = len(data)
            if not 0 <= n * 8 <= limit - at:
                raise count_refused(n, limit - at)
            item.node_endpoints, at = _read_node_endpoint(data, at, version, n)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_fetch_snapshot_response_tags(
    section: bytearray, item: FetchSnapshotResponse, version: int
) -> None:
    known: list[TaggedField] = []
    if item.node_endpoints:
        if version >= 1:
            out = bytearray()
            write_uvarint(out, len(item.node_endpoints) + 1)
            _write_node_endpoint(out, item.node_endpoints, version)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("node_endpoints", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)

SCHEMA: Final = """\
request FetchSnapshotRequest key=59 versions=0-1 flexible=0+ listeners=controller
  clusterId               string               nullable tag=0 default=null
  replicaId               int32                default=-1
  maxBytes                int32                default=2147483647
  topics                  []TopicSnapshot
    name                  string
    partitions            []PartitionSnapshot
      partition           int32
      currentLeaderEpoch  int32
      snapshotId          SnapshotId
        endOffset         int64
        epoch             int32
      position            int64
      replicaDirectoryId  uuid                 1 tag=0 ignorable

response FetchSnapshotResponse key=59 versions=0-1 flexible=0+ listeners=controller
  throttleTimeMs        int32
  errorCode             int16
  topics                []TopicSnapshot
    name                string
    partitions          []PartitionSnapshot
      index             int32
      errorCode         int16
      snapshotId        SnapshotId
        endOffset       int64
        epoch           int32
      currentLeader     LeaderIdAndEpoch     tag=0
        leaderId        int32
        leaderEpoch     int32
      size              int64
      position          int64
      unalignedRecords  records              default=null
  nodeEndpoints         []NodeEndpoint       1 tag=0
    nodeId              int32
    host                string
    port                uint16
"""
