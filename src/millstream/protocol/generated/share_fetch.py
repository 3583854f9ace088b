"""ShareFetch, API key 78, versions 1-2: request and response.

Written by `make codegen` from codegen/schemas/share_fetch.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.buffers import Records, append_records
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, must_not_be_null, not_in_version, write_compact_string, write_integers, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_2INT32_BYTE: Final = Struct(">iiB")
_S_2INT64: Final = Struct(">qq")
_S_2INT64_BYTE: Final = Struct(">qqB")
_S_2INT64_INT16: Final = Struct(">qqh")
_S_2INT64_INT16_BYTE: Final = Struct(">qqhB")
_S_6INT32: Final = Struct(">iiiiii")
_S_6INT32_BYTE: Final = Struct(">iiiiiiB")
_S_6INT32_INT8_BOOL: Final = Struct(">iiiiiib?")
_S_6INT32_INT8_BOOL_BYTE: Final = Struct(">iiiiiib?B")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class AcknowledgementBatch:
    first_offset: int = 0
    last_offset: int = 0
    acknowledge_types: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class FetchPartition:
    partition_index: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class FetchTopic:
    topic_id: Uuid = ZERO_UUID
    partitions: list[FetchPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ForgottenTopic:
    topic_id: Uuid = ZERO_UUID
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ShareFetchRequest:
    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    max_records: int = 0
    batch_size: int = 0
    share_acquire_mode: int = 0  # 2
    is_renew_ack: bool = False  # 2
    topics: list[FetchTopic] = field(default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 78
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            if item.group_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.group_id)
            if item.member_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.member_id)
            if version >= 2:
                out += _S_6INT32_INT8_BOOL.pack(item.share_session_epoch, item.max_wait_ms, item.min_bytes, item.max_bytes, item.max_records, item.batch_size, item.share_acquire_mode, item.is_renew_ack)
            else:
                out += _S_6INT32.pack(item.share_session_epoch, item.max_wait_ms, item.min_bytes, item.max_bytes, item.max_records, item.batch_size)
                if item.is_renew_ack:
                    raise not_in_version("is_renew_ack", version)
            write_length(out, len(item.topics))
            _write_fetch_topic(out, item.topics, version)
            write_length(out, len(item.forgotten_topics_data))
            _write_forgotten_topic(out, item.forgotten_topics_data, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.group_id = None
            else:
                at += n
                item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.member_id = None
            else:
                at += n
                item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 2:
                item.share_session_epoch, item.max_wait_ms, item.min_bytes, item.max_bytes, item.max_records, item.batch_size, item.share_acquire_mode, item.is_renew_ack, n = _S_6INT32_INT8_BOOL_BYTE.unpack_from(data, at)
                at += 27
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.share_session_epoch, item.max_wait_ms, item.min_bytes, item.max_bytes, item.max_records, item.batch_size, n = _S_6INT32_BYTE.unpack_from(data, at)
                at += 25
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
                item.share_acquire_mode = 0
                item.is_renew_ack = False
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_fetch_topic(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.forgotten_topics_data, at = _read_forgotten_topic(data, at, version, n)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(frozen=True, slots=True)
class LeaderIdAndEpoch:
    leader_id: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_LEADER_ID_AND_EPOCH: Final = LeaderIdAndEpoch()


@dataclass(slots=True)
class AcquiredRecords:
    first_offset: int = 0
    last_offset: int = 0
    delivery_count: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class PartitionData:
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    acknowledge_error_code: int = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = _NO_LEADER_ID_AND_EPOCH
    records: Records | None = None
    acquired_records: list[AcquiredRecords] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ShareFetchableTopicResponse:
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class NodeEndpoint:
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ShareFetchResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: list[ShareFetchableTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 78
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
            out += _S_INT32.pack(item.acquisition_lock_timeout_ms)
            write_length(out, len(item.responses))
            _write_share_fetchable_topic_response(out, item.responses, version)
            write_length(out, len(item.node_endpoints))
            _write_node_endpoint(out, item.node_endpoints, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
            raise unsupported(cls, version)
        data = view
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = str(data[at - n : at], "utf-8", LENIENT)
            item.acquisition_lock_timeout_ms, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.responses, at = _read_share_fetchable_topic_response(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 11 <= limit - at:
                raise count_refused(n, limit - at)
            item.node_endpoints, at = _read_node_endpoint(data, at, version, n)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_acknowledgement_batch(data: bytes, at: int, version: int, count: int) -> tuple[list[AcknowledgementBatch], int]:
    items: list[AcknowledgementBatch] = []
    for _ in range(count):
        item = _new(AcknowledgementBatch)
        item.first_offset, item.last_offset, n = _S_2INT64_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.acknowledge_types, at = read_integers(data, at, n, "b", 1)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_acknowledgement_batch(out: bytearray, items: Iterable[AcknowledgementBatch], version: int) -> None:
    for item in items:
        out += _S_2INT64.pack(item.first_offset, item.last_offset)
        write_length(out, len(item.acknowledge_types))
        write_integers(out, item.acknowledge_types, "b")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_fetch_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[FetchPartition], int]:
    limit = len(data)
    items: list[FetchPartition] = []
    for _ in range(count):
        item = _new(FetchPartition)
        item.partition_index, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 18 <= limit - at:
            raise count_refused(n, limit - at)
        item.acknowledgement_batches, at = _read_acknowledgement_batch(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_fetch_partition(out: bytearray, items: Iterable[FetchPartition], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.partition_index)
        write_length(out, len(item.acknowledgement_batches))
        _write_acknowledgement_batch(out, item.acknowledgement_batches, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_fetch_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[FetchTopic], int]:
    limit = len(data)
    items: list[FetchTopic] = []
    for _ in range(count):
        item = _new(FetchTopic)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_fetch_partition(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_fetch_topic(out: bytearray, items: Iterable[FetchTopic], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_fetch_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_forgotten_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[ForgottenTopic], int]:
    items: list[ForgottenTopic] = []
    for _ in range(count):
        item = _new(ForgottenTopic)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.partitions, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_forgotten_topic(out: bytearray, items: Iterable[ForgottenTopic], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_leader_id_and_epoch(data: memoryview, at: int, version: int, count: int) -> tuple[list[LeaderIdAndEpoch], int]:
    items: list[LeaderIdAndEpoch] = []
    for _ in range(count):
        leader_id, leader_epoch, tags = _S_2INT32_BYTE.unpack_from(data, at)
        at += 9
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(LeaderIdAndEpoch(leader_id, leader_epoch, unknown))
    return items, at


def _write_leader_id_and_epoch(out: bytearray, items: Iterable[LeaderIdAndEpoch], version: int) -> None:
    for item in items:
        out += _S_2INT32.pack(item.leader_id, item.leader_epoch)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_acquired_records(data: memoryview, at: int, version: int, count: int) -> tuple[list[AcquiredRecords], int]:
    items: list[AcquiredRecords] = []
    for _ in range(count):
        item = _new(AcquiredRecords)
        item.first_offset, item.last_offset, item.delivery_count, tags = _S_2INT64_INT16_BYTE.unpack_from(data, at)
        at += 19
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_acquired_records(out: bytearray, items: Iterable[AcquiredRecords], version: int) -> None:
    for item in items:
        out += _S_2INT64_INT16.pack(item.first_offset, item.last_offset, item.delivery_count)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_partition_data(data: memoryview, at: int, version: int, count: int) -> tuple[list[PartitionData], int]:
    limit = len(data)
    items: list[PartitionData] = []
    for _ in range(count):
        item = _new(PartitionData)
        item.partition_index, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
        at += 7
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.error_message = None
        else:
            at += n
            item.error_message = str(data[at - n : at], "utf-8", LENIENT)
        item.acknowledge_error_code, n = _S_INT16_BYTE.unpack_from(data, at)
        at += 3
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.acknowledge_error_message = None
        else:
            at += n
            item.acknowledge_error_message = str(data[at - n : at], "utf-8", LENIENT)
        (item.current_leader,), at = _read_leader_id_and_epoch(data, at, version, 1)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.records = data[at - n : at]
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 19 <= limit - at:
            raise count_refused(n, limit - at)
        item.acquired_records, at = _read_acquired_records(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_partition_data(out: bytearray, items: Iterable[PartitionData], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16.pack(item.partition_index, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            write_compact_string(out, item.error_message)
        out += _S_INT16.pack(item.acknowledge_error_code)
        if item.acknowledge_error_message is None:
            out.append(0)
        else:
            write_compact_string(out, item.acknowledge_error_message)
        _write_leader_id_and_epoch(out, (item.current_leader,), version)
        if item.records is None:
            raise must_not_be_null("records", version)
        else:
            write_length(out, len(item.records))
            append_records(out, item.records)
        write_length(out, len(item.acquired_records))
        _write_acquired_records(out, item.acquired_records, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_share_fetchable_topic_response(data: memoryview, at: int, version: int, count: int) -> tuple[list[ShareFetchableTopicResponse], int]:
    limit = len(data)
    items: list[ShareFetchableTopicResponse] = []
    for _ in range(count):
        item = _new(ShareFetchableTopicResponse)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 22 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_share_fetchable_topic_response(out: bytearray, items: Iterable[ShareFetchableTopicResponse], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_node_endpoint(data: memoryview, at: int, version: int, count: int) -> tuple[list[NodeEndpoint], int]:
    items: list[NodeEndpoint] = []
    for _ in range(count):
        item = _new(NodeEndpoint)
        item.node_id, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.host = str(data[at - n : at], "utf-8", LENIENT)
        item.port, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.rack = None
        else:
            at += n
            item.rack = str(data[at - n : at], "utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_node_endpoint(out: bytearray, items: Iterable[NodeEndpoint], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.node_id)
        write_compact_string(out, item.host)
        out += _S_INT32.pack(item.port)
        if item.rack is None:
            out.append(0)
        else:
            write_compact_string(out, item.rack)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request ShareFetchRequest key=78 versions=1-2 flexible=1+ listeners=broker
  groupId                     string                  nullable default=null
  memberId                    string                  nullable
  shareSessionEpoch           int32
  maxWaitMs                   int32
  minBytes                    int32
  maxBytes                    int32                   default=2147483647
  maxRecords                  int32
  batchSize                   int32
  shareAcquireMode            int8                    2 ignorable
  isRenewAck                  bool                    2
  topics                      []FetchTopic
    topicId                   uuid
    partitions                []FetchPartition
      partitionIndex          int32
      acknowledgementBatches  []AcknowledgementBatch
        firstOffset           int64
        lastOffset            int64
        acknowledgeTypes      []int8
  forgottenTopicsData         []ForgottenTopic
    topicId                   uuid
    partitions                []int32

response ShareFetchResponse key=78 versions=1-2 flexible=1+ listeners=broker
  throttleTimeMs               int32
  errorCode                    int16
  errorMessage                 string                         nullable default=null
  acquisitionLockTimeoutMs     int32
  responses                    []ShareFetchableTopicResponse
    topicId                    uuid
    partitions                 []PartitionData
      partitionIndex           int32
      errorCode                int16
      errorMessage             string                         nullable default=null
      acknowledgeErrorCode     int16
      acknowledgeErrorMessage  string                         nullable default=null
      currentLeader            LeaderIdAndEpoch
        leaderId               int32
        leaderEpoch            int32
      records                  records                        default=null
      acquiredRecords          []AcquiredRecords
        firstOffset            int64
        lastOffset             int64
        deliveryCount          int16
  nodeEndpoints                []NodeEndpoint
    nodeId                     int32
    host                       string
    port                       int32
    rack                       string                         nullable default=null
"""
