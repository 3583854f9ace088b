"""remote messages: RemoteLogSegmentMetadataRecord to RemoteLogSegmentMetadataSnapshotRecord.

Written by `make codegen` from codegen/schemas/remote_log_records.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
    read_length,
    read_uvarint,
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
    uuid_refused,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_INT64_INT8: Final = Struct(">iqb")
_INT32_INT64_INT8_BYTE: Final = Struct(">iqbB")
_INT32_INT64_INT8_ZERO: Final = Struct(">iqbx")
_INT32_INT64_ZERO: Final = Struct(">iqx")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_ZERO: Final = Struct(">bx")
_S2INT64_INT32_2INT64: Final = Struct(">qqiqq")
_S2INT64_INT32_2INT64_BYTE: Final = Struct(">qqiqqB")
_UUID: Final = Struct(">16s")
_UUID_2INT64_INT32_2INT64: Final = Struct(">16sqqiqq")
_UUID_2INT64_INT32_2INT64_BYTE: Final = Struct(">16sqqiqqB")
_UUID_BYTE: Final = Struct(">16sB")
_UUID_INT32: Final = Struct(">16si")
_UUID_INT32_BYTE: Final = Struct(">16siB")
_UUID_INT32_ZERO: Final = Struct(">16six")
_UUID_ZERO: Final = Struct(">16sx")
_new: Final = object.__new__


@dataclass(frozen=True, slots=True)
class TopicIdPartitionEntry(MessageValue):
    """In `RemoteLogSegmentIdEntry.topic_id_partition`, version 0."""

    name: str = ""
    id: Uuid = ZERO_UUID
    partition: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_TOPIC_ID_PARTITION_ENTRY: Final = TopicIdPartitionEntry()


@dataclass(frozen=True, slots=True)
class RemoteLogSegmentIdEntry(MessageValue):
    """In `RemoteLogSegmentMetadataRecord.remote_log_segment_id`, version 0."""

    topic_id_partition: TopicIdPartitionEntry = _NO_TOPIC_ID_PARTITION_ENTRY
    id: Uuid = ZERO_UUID
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_REMOTE_LOG_SEGMENT_ID_ENTRY: Final = RemoteLogSegmentIdEntry()


class SegmentLeaderEpochEntry(MessageValue):
    """In `RemoteLogSegmentMetadataRecord.segment_leader_epochs`, version 0."""

    __slots__ = ("leader_epoch", "offset", "unknown_tagged_fields")

    leader_epoch: int
    offset: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        leader_epoch: int = 0,
        offset: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.leader_epoch = leader_epoch
        self.offset = offset
        self.unknown_tagged_fields = unknown_tagged_fields


class RemoteLogSegmentMetadataRecord(MessageValue):
    """Remote log of type 0, version 0."""

    __slots__ = (
        "remote_log_segment_id",
        "start_offset",
        "end_offset",
        "broker_id",
        "max_timestamp_ms",
        "event_timestamp_ms",
        "segment_leader_epochs",
        "segment_size_in_bytes",
        "custom_metadata",
        "remote_log_segment_state",
        "txn_index_empty",
        "unknown_tagged_fields",
    )

    remote_log_segment_id: RemoteLogSegmentIdEntry
    start_offset: int
    end_offset: int
    broker_id: int
    max_timestamp_ms: int
    event_timestamp_ms: int
    segment_leader_epochs: list[SegmentLeaderEpochEntry]
    segment_size_in_bytes: int
    custom_metadata: bytes | None
    remote_log_segment_state: int
    txn_index_empty: bool  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        remote_log_segment_id: RemoteLogSegmentIdEntry = _NO_REMOTE_LOG_SEGMENT_ID_ENTRY,
        start_offset: int = 0,
        end_offset: int = 0,
        broker_id: int = 0,
        max_timestamp_ms: int = 0,
        event_timestamp_ms: int = 0,
        segment_leader_epochs: list[SegmentLeaderEpochEntry] = UNSET,
        segment_size_in_bytes: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
        txn_index_empty: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.remote_log_segment_id = remote_log_segment_id
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.broker_id = broker_id
        self.max_timestamp_ms = max_timestamp_ms
        self.event_timestamp_ms = event_timestamp_ms
        self.segment_leader_epochs = [] if segment_leader_epochs is UNSET else segment_leader_epochs
        self.segment_size_in_bytes = segment_size_in_bytes
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.txn_index_empty = txn_index_empty
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            _write_remote_log_segment_id_entry(out, (self.remote_log_segment_id,), version)
            n = len(self.segment_leader_epochs) + 1
            if n < 128:
                out += _S2INT64_INT32_2INT64_BYTE.pack(
                    self.start_offset,
                    self.end_offset,
                    self.broker_id,
                    self.max_timestamp_ms,
                    self.event_timestamp_ms,
                    n,
                )
            else:
                out += _S2INT64_INT32_2INT64.pack(
                    self.start_offset,
                    self.end_offset,
                    self.broker_id,
                    self.max_timestamp_ms,
                    self.event_timestamp_ms,
                )
                write_uvarint(out, n)
            _write_segment_leader_epoch_entry(out, self.segment_leader_epochs, version)
            if self.custom_metadata is None:
                n = 0
            else:
                n = len(self.custom_metadata) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.segment_size_in_bytes, n)
            else:
                out += _INT32.pack(self.segment_size_in_bytes)
                write_uvarint(out, n)
            if self.custom_metadata is not None:
                out += self.custom_metadata
            if self.txn_index_empty or self.unknown_tagged_fields:
                out += _INT8.pack(self.remote_log_segment_state)
                _write_remote_log_segment_metadata_record_tags(out, self, version)
            else:
                out += _INT8_ZERO.pack(self.remote_log_segment_state)
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
            (message.remote_log_segment_id,), at = _read_remote_log_segment_id_entry(data, at, version, 1)
            (
                message.start_offset,
                message.end_offset,
                message.broker_id,
                message.max_timestamp_ms,
                message.event_timestamp_ms,
                n,
            ) = _S2INT64_INT32_2INT64_BYTE.unpack_from(data, at)
            at += 36
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 13 <= limit - at:
                raise count_refused(n, limit - at)
            message.segment_leader_epochs, at = _read_segment_leader_epoch_entry(data, at, version, n)
            message.segment_size_in_bytes, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.custom_metadata = None
            else:
                message.custom_metadata = data[at : at + n]
                at += n
            message.remote_log_segment_state, tags = _INT8_BYTE.unpack_from(data, at)
            at += 2
            message.txn_index_empty = False
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_remote_log_segment_metadata_record_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class RemoteLogSegmentMetadataUpdateRecord(MessageValue):
    """Remote log of type 1, version 0."""

    __slots__ = (
        "remote_log_segment_id",
        "broker_id",
        "event_timestamp_ms",
        "custom_metadata",
        "remote_log_segment_state",
        "unknown_tagged_fields",
    )

    remote_log_segment_id: RemoteLogSegmentIdEntry
    broker_id: int
    event_timestamp_ms: int
    custom_metadata: bytes | None
    remote_log_segment_state: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        remote_log_segment_id: RemoteLogSegmentIdEntry = _NO_REMOTE_LOG_SEGMENT_ID_ENTRY,
        broker_id: int = 0,
        event_timestamp_ms: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.remote_log_segment_id = remote_log_segment_id
        self.broker_id = broker_id
        self.event_timestamp_ms = event_timestamp_ms
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            _write_remote_log_segment_id_entry(out, (self.remote_log_segment_id,), version)
            if self.custom_metadata is None:
                n = 0
            else:
                n = len(self.custom_metadata) + 1
            if n < 128:
                out += _INT32_INT64_BYTE.pack(self.broker_id, self.event_timestamp_ms, n)
            else:
                out += _INT32_INT64.pack(self.broker_id, self.event_timestamp_ms)
                write_uvarint(out, n)
            if self.custom_metadata is not None:
                out += self.custom_metadata
            if self.unknown_tagged_fields:
                out += _INT8.pack(self.remote_log_segment_state)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT8_ZERO.pack(self.remote_log_segment_state)
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
            (message.remote_log_segment_id,), at = _read_remote_log_segment_id_entry(data, at, version, 1)
            (
                message.broker_id,
                message.event_timestamp_ms,
                n,
            ) = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 12
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.custom_metadata = None
            else:
                message.custom_metadata = data[at : at + n]
                at += n
            message.remote_log_segment_state, tags = _INT8_BYTE.unpack_from(data, at)
            at += 2
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class RemotePartitionDeleteMetadataRecord(MessageValue):
    """Remote log of type 2, version 0."""

    __slots__ = (
        "topic_id_partition",
        "broker_id",
        "event_timestamp_ms",
        "remote_partition_delete_state",
        "unknown_tagged_fields",
    )

    topic_id_partition: TopicIdPartitionEntry
    broker_id: int
    event_timestamp_ms: int
    remote_partition_delete_state: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id_partition: TopicIdPartitionEntry = _NO_TOPIC_ID_PARTITION_ENTRY,
        broker_id: int = 0,
        event_timestamp_ms: int = 0,
        remote_partition_delete_state: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id_partition = topic_id_partition
        self.broker_id = broker_id
        self.event_timestamp_ms = event_timestamp_ms
        self.remote_partition_delete_state = remote_partition_delete_state
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            _write_topic_id_partition_entry(out, (self.topic_id_partition,), version)
            if self.unknown_tagged_fields:
                out += _INT32_INT64_INT8.pack(
                    self.broker_id, self.event_timestamp_ms, self.remote_partition_delete_state
                )
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_INT64_INT8_ZERO.pack(
                    self.broker_id, self.event_timestamp_ms, self.remote_partition_delete_state
                )
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
            (message.topic_id_partition,), at = _read_topic_id_partition_entry(data, at, version, 1)
            (
                message.broker_id,
                message.event_timestamp_ms,
                message.remote_partition_delete_state,
                tags,
            ) = _INT32_INT64_INT8_BYTE.unpack_from(data, at)
            at += 14
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class RemoteLogSegmentMetadataSnapshotRecord(MessageValue):
    """Remote log of type 3, version 0."""

    __slots__ = (
        "segment_id",
        "start_offset",
        "end_offset",
        "broker_id",
        "max_timestamp_ms",
        "event_timestamp_ms",
        "segment_leader_epochs",
        "segment_size_in_bytes",
        "custom_metadata",
        "remote_log_segment_state",
        "txn_index_empty",
        "unknown_tagged_fields",
    )

    segment_id: Uuid
    start_offset: int
    end_offset: int
    broker_id: int
    max_timestamp_ms: int
    event_timestamp_ms: int
    segment_leader_epochs: list[SegmentLeaderEpochEntry]
    segment_size_in_bytes: int
    custom_metadata: bytes | None
    remote_log_segment_state: int
    txn_index_empty: bool  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        segment_id: Uuid = ZERO_UUID,
        start_offset: int = 0,
        end_offset: int = 0,
        broker_id: int = 0,
        max_timestamp_ms: int = 0,
        event_timestamp_ms: int = 0,
        segment_leader_epochs: list[SegmentLeaderEpochEntry] = UNSET,
        segment_size_in_bytes: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
        txn_index_empty: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.segment_id = segment_id
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.broker_id = broker_id
        self.max_timestamp_ms = max_timestamp_ms
        self.event_timestamp_ms = event_timestamp_ms
        self.segment_leader_epochs = [] if segment_leader_epochs is UNSET else segment_leader_epochs
        self.segment_size_in_bytes = segment_size_in_bytes
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.txn_index_empty = txn_index_empty
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.segment_leader_epochs) + 1
            if len(self.segment_id) != 16:
                raise uuid_refused(self.segment_id)
            if n < 128:
                out += _UUID_2INT64_INT32_2INT64_BYTE.pack(
                    self.segment_id,
                    self.start_offset,
                    self.end_offset,
                    self.broker_id,
                    self.max_timestamp_ms,
                    self.event_timestamp_ms,
                    n,
                )
            else:
                out += _UUID_2INT64_INT32_2INT64.pack(
                    self.segment_id,
                    self.start_offset,
                    self.end_offset,
                    self.broker_id,
                    self.max_timestamp_ms,
                    self.event_timestamp_ms,
                )
                write_uvarint(out, n)
            _write_segment_leader_epoch_entry(out, self.segment_leader_epochs, version)
            if self.custom_metadata is None:
                n = 0
            else:
                n = len(self.custom_metadata) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.segment_size_in_bytes, n)
            else:
                out += _INT32.pack(self.segment_size_in_bytes)
                write_uvarint(out, n)
            if self.custom_metadata is not None:
                out += self.custom_metadata
            if self.txn_index_empty or self.unknown_tagged_fields:
                out += _INT8.pack(self.remote_log_segment_state)
                _write_remote_log_segment_metadata_snapshot_record_tags(out, self, version)
            else:
                out += _INT8_ZERO.pack(self.remote_log_segment_state)
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
            (
                message.segment_id,
                message.start_offset,
                message.end_offset,
                message.broker_id,
                message.max_timestamp_ms,
                message.event_timestamp_ms,
                n,
            ) = _UUID_2INT64_INT32_2INT64_BYTE.unpack_from(data, at)
            at += 52
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 13 <= limit - at:
                raise count_refused(n, limit - at)
            message.segment_leader_epochs, at = _read_segment_leader_epoch_entry(data, at, version, n)
            message.segment_size_in_bytes, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.custom_metadata = None
            else:
                message.custom_metadata = data[at : at + n]
                at += n
            message.remote_log_segment_state, tags = _INT8_BYTE.unpack_from(data, at)
            at += 2
            message.txn_index_empty = False
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_remote_log_segment_metadata_snapshot_record_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_topic_id_partition_entry(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicIdPartitionEntry], int]:
    items: list[TopicIdPartitionEntry] = []
    for _ in range(count):
        n = data[at]
        if 0 < n < 128:
            name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            name, at = read_compact_string(data, at)
        id, partition, tags = _UUID_INT32_BYTE.unpack_from(data, at)
        at += 21
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(TopicIdPartitionEntry(name, id, partition, unknown))
    return items, at


def _write_topic_id_partition_entry(
    out: bytearray, items: Iterable[TopicIdPartitionEntry], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if len(item.id) != 16:
            raise uuid_refused(item.id)
        if item.unknown_tagged_fields:
            out += _UUID_INT32.pack(item.id, item.partition)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UUID_INT32_ZERO.pack(item.id, item.partition)


def _read_remote_log_segment_id_entry(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[RemoteLogSegmentIdEntry], int]:
    items: list[RemoteLogSegmentIdEntry] = []
    for _ in range(count):
        (topic_id_partition,), at = _read_topic_id_partition_entry(data, at, version, 1)
        id, tags = _UUID_BYTE.unpack_from(data, at)
        at += 17
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(RemoteLogSegmentIdEntry(topic_id_partition, id, unknown))
    return items, at


def _write_remote_log_segment_id_entry(
    out: bytearray, items: Iterable[RemoteLogSegmentIdEntry], version: int
) -> None:
    for item in items:
        _write_topic_id_partition_entry(out, (item.topic_id_partition,), version)
        if len(item.id) != 16:
            raise uuid_refused(item.id)
        if item.unknown_tagged_fields:
            out += _UUID.pack(item.id)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UUID_ZERO.pack(item.id)


def _read_segment_leader_epoch_entry(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[SegmentLeaderEpochEntry], int]:
    items: list[SegmentLeaderEpochEntry] = []
    for _ in range(count):
        item = _new(SegmentLeaderEpochEntry)
        item.leader_epoch, item.offset, tags = _INT32_INT64_BYTE.unpack_from(data, at)
        at += 13
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_segment_leader_epoch_entry(
    out: bytearray, items: Iterable[SegmentLeaderEpochEntry], version: int
) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT32_INT64.pack(item.leader_epoch, item.offset)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_INT64_ZERO.pack(item.leader_epoch, item.offset)


def _read_remote_log_segment_metadata_record_tags(
    item: RemoteLogSegmentMetadataRecord, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.txn_index_empty,) = _BOOL.unpack_from(data, at)
            at += 1
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_remote_log_segment_metadata_record_tags(
    section: bytearray, item: RemoteLogSegmentMetadataRecord, version: int
) -> None:
    known: list[TaggedField] = []
    if item.txn_index_empty:
        out = bytearray()
        out += _BOOL.pack(item.txn_index_empty)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_remote_log_segment_metadata_snapshot_record_tags(
    item: RemoteLogSegmentMetadataSnapshotRecord, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.txn_index_empty,) = _BOOL.unpack_from(data, at)
            at += 1
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_remote_log_segment_metadata_snapshot_record_tags(
    section: bytearray, item: RemoteLogSegmentMetadataSnapshotRecord, version: int
) -> None:
    known: list[TaggedField] = []
    if item.txn_index_empty:
        out = bytearray()
        out += _BOOL.pack(item.txn_index_empty)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)

RemoteLogRecord = (
    RemoteLogSegmentMetadataRecord
    | RemoteLogSegmentMetadataUpdateRecord
    | RemotePartitionDeleteMetadataRecord
    | RemoteLogSegmentMetadataSnapshotRecord
)

REMOTE_LOG_RECORDS: Final[dict[int, type[RemoteLogRecord]]] = {
    0: RemoteLogSegmentMetadataRecord,
    1: RemoteLogSegmentMetadataUpdateRecord,
    2: RemotePartitionDeleteMetadataRecord,
    3: RemoteLogSegmentMetadataSnapshotRecord,
}

SCHEMA: Final = """\
remote-log RemoteLogSegmentMetadataRecord key=0 versions=0 flexible=0+
  remoteLogSegmentId     RemoteLogSegmentIdEntry
    topicIdPartition     TopicIdPartitionEntry
      name               string
      id                 uuid
      partition          int32
    id                   uuid
  startOffset            int64
  endOffset              int64
  brokerId               int32
  maxTimestampMs         int64
  eventTimestampMs       int64
  segmentLeaderEpochs    []SegmentLeaderEpochEntry
    leaderEpoch          int32
    offset               int64
  segmentSizeInBytes     int32
  customMetadata         bytes                      nullable default=null
  remoteLogSegmentState  int8
  txnIndexEmpty          bool                       tag=0

remote-log RemoteLogSegmentMetadataUpdateRecord key=1 versions=0 flexible=0+
  remoteLogSegmentId     RemoteLogSegmentIdEntry
    topicIdPartition     TopicIdPartitionEntry
      name               string
      id                 uuid
      partition          int32
    id                   uuid
  brokerId               int32
  eventTimestampMs       int64
  customMetadata         bytes                    nullable default=null
  remoteLogSegmentState  int8

remote-log RemotePartitionDeleteMetadataRecord key=2 versions=0 flexible=0+
  topicIdPartition            TopicIdPartitionEntry
    name                      string
    id                        uuid
    partition                 int32
  brokerId                    int32
  eventTimestampMs            int64
  remotePartitionDeleteState  int8

remote-log RemoteLogSegmentMetadataSnapshotRecord key=3 versions=0 flexible=0+
  segmentId              uuid
  startOffset            int64
  endOffset              int64
  brokerId               int32
  maxTimestampMs         int64
  eventTimestampMs       int64
  segmentLeaderEpochs    []SegmentLeaderEpochEntry
    leaderEpoch          int32
    offset               int64
  segmentSizeInBytes     int32
  customMetadata         bytes                      nullable default=null
  remoteLogSegmentState  int8
  txnIndexEmpty          bool                       tag=0
"""
