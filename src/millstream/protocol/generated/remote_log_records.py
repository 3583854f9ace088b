"""remote messages: RemoteLogSegmentMetadataRecord to RemoteLogSegmentMetadataSnapshotRecord.

Written by `make codegen` from codegen/schemas/remote_log_records.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length, read_uvarint
from millstream.protocol.tagged_fields import TaggedField, read_tag_count, read_unknown_field, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_length, write_string

_S_2INT64_INT32_2INT64: Final = Struct(">qqiqq")
_S_2INT64_INT32_2INT64_BYTE: Final = Struct(">qqiqqB")
_S_BOOL: Final = Struct(">?")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_BYTE: Final = Struct(">iqB")
_S_INT32_INT64_INT8: Final = Struct(">iqb")
_S_INT32_INT64_INT8_BYTE: Final = Struct(">iqbB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_S_UUID: Final = Struct(">16s")
_S_UUID_2INT64_INT32_2INT64: Final = Struct(">16sqqiqq")
_S_UUID_2INT64_INT32_2INT64_BYTE: Final = Struct(">16sqqiqqB")
_S_UUID_BYTE: Final = Struct(">16sB")
_S_UUID_INT32: Final = Struct(">16si")
_S_UUID_INT32_BYTE: Final = Struct(">16siB")
_new: Final = object.__new__


@dataclass(frozen=True, slots=True)
class TopicIdPartitionEntry:
    name: str = ""
    id: Uuid = ZERO_UUID
    partition: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_TOPIC_ID_PARTITION_ENTRY: Final = TopicIdPartitionEntry()


@dataclass(frozen=True, slots=True)
class RemoteLogSegmentIdEntry:
    topic_id_partition: TopicIdPartitionEntry = _NO_TOPIC_ID_PARTITION_ENTRY
    id: Uuid = ZERO_UUID
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_REMOTE_LOG_SEGMENT_ID_ENTRY: Final = RemoteLogSegmentIdEntry()


@dataclass(slots=True)
class SegmentLeaderEpochEntry:
    leader_epoch: int = 0
    offset: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class RemoteLogSegmentMetadataRecord:
    remote_log_segment_id: RemoteLogSegmentIdEntry = _NO_REMOTE_LOG_SEGMENT_ID_ENTRY
    start_offset: int = 0
    end_offset: int = 0
    broker_id: int = 0
    max_timestamp_ms: int = 0
    event_timestamp_ms: int = 0
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = field(default_factory=list)
    segment_size_in_bytes: int = 0
    custom_metadata: bytes | None = None
    remote_log_segment_state: int = 0
    txn_index_empty: bool = False  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            _write_remote_log_segment_id_entry(out, (item.remote_log_segment_id,), version)
            out += _S_2INT64_INT32_2INT64.pack(item.start_offset, item.end_offset, item.broker_id, item.max_timestamp_ms, item.event_timestamp_ms)
            write_length(out, len(item.segment_leader_epochs))
            _write_segment_leader_epoch_entry(out, item.segment_leader_epochs, version)
            out += _S_INT32.pack(item.segment_size_in_bytes)
            if item.custom_metadata is None:
                out.append(0)
            else:
                write_length(out, len(item.custom_metadata))
                out += item.custom_metadata
            out += _S_INT8.pack(item.remote_log_segment_state)
            if item.txn_index_empty or item.unknown_tagged_fields:
                _write_remote_log_segment_metadata_record_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (item.remote_log_segment_id,), at = _read_remote_log_segment_id_entry(data, at, version, 1)
            item.start_offset, item.end_offset, item.broker_id, item.max_timestamp_ms, item.event_timestamp_ms, n = _S_2INT64_INT32_2INT64_BYTE.unpack_from(data, at)
            at += 37
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 13 <= limit - at:
                raise count_refused(n, limit - at)
            item.segment_leader_epochs, at = _read_segment_leader_epoch_entry(data, at, version, n)
            item.segment_size_in_bytes, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.custom_metadata = None
            else:
                at += n
                item.custom_metadata = data[at - n : at]
            item.remote_log_segment_state, tags = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            item.txn_index_empty = False
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_remote_log_segment_metadata_record_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class RemoteLogSegmentMetadataUpdateRecord:
    remote_log_segment_id: RemoteLogSegmentIdEntry = _NO_REMOTE_LOG_SEGMENT_ID_ENTRY
    broker_id: int = 0
    event_timestamp_ms: int = 0
    custom_metadata: bytes | None = None
    remote_log_segment_state: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            _write_remote_log_segment_id_entry(out, (item.remote_log_segment_id,), version)
            out += _S_INT32_INT64.pack(item.broker_id, item.event_timestamp_ms)
            if item.custom_metadata is None:
                out.append(0)
            else:
                write_length(out, len(item.custom_metadata))
                out += item.custom_metadata
            out += _S_INT8.pack(item.remote_log_segment_state)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (item.remote_log_segment_id,), at = _read_remote_log_segment_id_entry(data, at, version, 1)
            item.broker_id, item.event_timestamp_ms, n = _S_INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.custom_metadata = None
            else:
                at += n
                item.custom_metadata = data[at - n : at]
            item.remote_log_segment_state, tags = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class RemotePartitionDeleteMetadataRecord:
    topic_id_partition: TopicIdPartitionEntry = _NO_TOPIC_ID_PARTITION_ENTRY
    broker_id: int = 0
    event_timestamp_ms: int = 0
    remote_partition_delete_state: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            _write_topic_id_partition_entry(out, (item.topic_id_partition,), version)
            out += _S_INT32_INT64_INT8.pack(item.broker_id, item.event_timestamp_ms, item.remote_partition_delete_state)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (item.topic_id_partition,), at = _read_topic_id_partition_entry(data, at, version, 1)
            item.broker_id, item.event_timestamp_ms, item.remote_partition_delete_state, tags = _S_INT32_INT64_INT8_BYTE.unpack_from(data, at)
            at += 14
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class RemoteLogSegmentMetadataSnapshotRecord:
    segment_id: Uuid = ZERO_UUID
    start_offset: int = 0
    end_offset: int = 0
    broker_id: int = 0
    max_timestamp_ms: int = 0
    event_timestamp_ms: int = 0
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = field(default_factory=list)
    segment_size_in_bytes: int = 0
    custom_metadata: bytes | None = None
    remote_log_segment_state: int = 0
    txn_index_empty: bool = False  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_UUID_2INT64_INT32_2INT64.pack(item.segment_id, item.start_offset, item.end_offset, item.broker_id, item.max_timestamp_ms, item.event_timestamp_ms)
            write_length(out, len(item.segment_leader_epochs))
            _write_segment_leader_epoch_entry(out, item.segment_leader_epochs, version)
            out += _S_INT32.pack(item.segment_size_in_bytes)
            if item.custom_metadata is None:
                out.append(0)
            else:
                write_length(out, len(item.custom_metadata))
                out += item.custom_metadata
            out += _S_INT8.pack(item.remote_log_segment_state)
            if item.txn_index_empty or item.unknown_tagged_fields:
                _write_remote_log_segment_metadata_snapshot_record_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.segment_id, item.start_offset, item.end_offset, item.broker_id, item.max_timestamp_ms, item.event_timestamp_ms, n = _S_UUID_2INT64_INT32_2INT64_BYTE.unpack_from(data, at)
            at += 53
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 13 <= limit - at:
                raise count_refused(n, limit - at)
            item.segment_leader_epochs, at = _read_segment_leader_epoch_entry(data, at, version, n)
            item.segment_size_in_bytes, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.custom_metadata = None
            else:
                at += n
                item.custom_metadata = data[at - n : at]
            item.remote_log_segment_state, tags = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            item.txn_index_empty = False
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_remote_log_segment_metadata_snapshot_record_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_topic_id_partition_entry(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicIdPartitionEntry], int]:
    items: list[TopicIdPartitionEntry] = []
    for _ in range(count):
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        name = data[at - n : at].decode("utf-8", LENIENT)
        id, partition, tags = _S_UUID_INT32_BYTE.unpack_from(data, at)
        at += 21
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(TopicIdPartitionEntry(name, id, partition, unknown))
    return items, at


def _write_topic_id_partition_entry(out: bytearray, items: Iterable[TopicIdPartitionEntry], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _S_UUID_INT32.pack(item.id, item.partition)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_remote_log_segment_id_entry(data: bytes, at: int, version: int, count: int) -> tuple[list[RemoteLogSegmentIdEntry], int]:
    items: list[RemoteLogSegmentIdEntry] = []
    for _ in range(count):
        (topic_id_partition,), at = _read_topic_id_partition_entry(data, at, version, 1)
        id, tags = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(RemoteLogSegmentIdEntry(topic_id_partition, id, unknown))
    return items, at


def _write_remote_log_segment_id_entry(out: bytearray, items: Iterable[RemoteLogSegmentIdEntry], version: int) -> None:
    for item in items:
        _write_topic_id_partition_entry(out, (item.topic_id_partition,), version)
        out += _S_UUID.pack(item.id)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_segment_leader_epoch_entry(data: bytes, at: int, version: int, count: int) -> tuple[list[SegmentLeaderEpochEntry], int]:
    items: list[SegmentLeaderEpochEntry] = []
    for _ in range(count):
        item = _new(SegmentLeaderEpochEntry)
        item.leader_epoch, item.offset, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
        at += 13
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_segment_leader_epoch_entry(out: bytearray, items: Iterable[SegmentLeaderEpochEntry], version: int) -> None:
    for item in items:
        out += _S_INT32_INT64.pack(item.leader_epoch, item.offset)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_remote_log_segment_metadata_record_tags(item: RemoteLogSegmentMetadataRecord, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.txn_index_empty,) = _S_BOOL.unpack_from(data, at)
            at += 1
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_remote_log_segment_metadata_record_tags(target: bytearray, item: RemoteLogSegmentMetadataRecord, version: int) -> None:
    known: list[TaggedField] = []
    if item.txn_index_empty:
        out = bytearray()
        out += _S_BOOL.pack(item.txn_index_empty)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_remote_log_segment_metadata_snapshot_record_tags(item: RemoteLogSegmentMetadataSnapshotRecord, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.txn_index_empty,) = _S_BOOL.unpack_from(data, at)
            at += 1
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_remote_log_segment_metadata_snapshot_record_tags(target: bytearray, item: RemoteLogSegmentMetadataSnapshotRecord, version: int) -> None:
    known: list[TaggedField] = []
    if item.txn_index_empty:
        out = bytearray()
        out += _S_BOOL.pack(item.txn_index_empty)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)

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
