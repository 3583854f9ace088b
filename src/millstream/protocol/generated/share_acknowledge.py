"""ShareAcknowledge, API key 79, versions 1-2: request and response.

Written by `make codegen` from codegen/schemas/share_acknowledge.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_compact_string, write_integers, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_2INT32_BYTE: Final = Struct(">iiB")
_S_2INT64: Final = Struct(">qq")
_S_2INT64_BYTE: Final = Struct(">qqB")
_S_INT32: Final = Struct(">i")
_S_INT32_BOOL: Final = Struct(">i?")
_S_INT32_BOOL_BYTE: Final = Struct(">i?B")
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
class AcknowledgePartition:
    partition_index: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AcknowledgeTopic:
    topic_id: Uuid = ZERO_UUID
    partitions: list[AcknowledgePartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ShareAcknowledgeRequest:
    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    is_renew_ack: bool = False  # 2
    topics: list[AcknowledgeTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 79
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
                out += _S_INT32_BOOL.pack(item.share_session_epoch, item.is_renew_ack)
            else:
                out += _S_INT32.pack(item.share_session_epoch)
                if item.is_renew_ack:
                    raise not_in_version("is_renew_ack", version)
            write_length(out, len(item.topics))
            _write_acknowledge_topic(out, item.topics, version)
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
                item.share_session_epoch, item.is_renew_ack, n = _S_INT32_BOOL_BYTE.unpack_from(data, at)
                at += 6
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.share_session_epoch, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
                item.is_renew_ack = False
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_acknowledge_topic(data, at, version, n)
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
class PartitionData:
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = _NO_LEADER_ID_AND_EPOCH
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ShareAcknowledgeTopicResponse:
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
class ShareAcknowledgeResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0  # 2
    responses: list[ShareAcknowledgeTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 79
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
            if version >= 2:
                out += _S_INT32.pack(item.acquisition_lock_timeout_ms)
            else:
                pass
            write_length(out, len(item.responses))
            _write_share_acknowledge_topic_response(out, item.responses, version)
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
        data = bytes(view)
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
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 2:
                item.acquisition_lock_timeout_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
                item.acquisition_lock_timeout_ms = 0
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.responses, at = _read_share_acknowledge_topic_response(data, at, version, n)
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


def _read_acknowledge_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[AcknowledgePartition], int]:
    limit = len(data)
    items: list[AcknowledgePartition] = []
    for _ in range(count):
        item = _new(AcknowledgePartition)
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


def _write_acknowledge_partition(out: bytearray, items: Iterable[AcknowledgePartition], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.partition_index)
        write_length(out, len(item.acknowledgement_batches))
        _write_acknowledgement_batch(out, item.acknowledgement_batches, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_acknowledge_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[AcknowledgeTopic], int]:
    limit = len(data)
    items: list[AcknowledgeTopic] = []
    for _ in range(count):
        item = _new(AcknowledgeTopic)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_acknowledge_partition(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_acknowledge_topic(out: bytearray, items: Iterable[AcknowledgeTopic], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_acknowledge_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_leader_id_and_epoch(data: bytes, at: int, version: int, count: int) -> tuple[list[LeaderIdAndEpoch], int]:
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


def _read_partition_data(data: bytes, at: int, version: int, count: int) -> tuple[list[PartitionData], int]:
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
            item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        (item.current_leader,), at = _read_leader_id_and_epoch(data, at, version, 1)
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
        _write_leader_id_and_epoch(out, (item.current_leader,), version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_share_acknowledge_topic_response(data: bytes, at: int, version: int, count: int) -> tuple[list[ShareAcknowledgeTopicResponse], int]:
    limit = len(data)
    items: list[ShareAcknowledgeTopicResponse] = []
    for _ in range(count):
        item = _new(ShareAcknowledgeTopicResponse)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 17 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_share_acknowledge_topic_response(out: bytearray, items: Iterable[ShareAcknowledgeTopicResponse], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_node_endpoint(data: bytes, at: int, version: int, count: int) -> tuple[list[NodeEndpoint], int]:
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
        item.host = data[at - n : at].decode("utf-8", LENIENT)
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
            item.rack = data[at - n : at].decode("utf-8", LENIENT)
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
request ShareAcknowledgeRequest key=79 versions=1-2 flexible=1+ listeners=broker
  groupId                     string                  nullable default=null
  memberId                    string                  nullable
  shareSessionEpoch           int32
  isRenewAck                  bool                    2
  topics                      []AcknowledgeTopic
    topicId                   uuid
    partitions                []AcknowledgePartition
      partitionIndex          int32
      acknowledgementBatches  []AcknowledgementBatch
        firstOffset           int64
        lastOffset            int64
        acknowledgeTypes      []int8

response ShareAcknowledgeResponse key=79 versions=1-2 flexible=1+ listeners=broker
  throttleTimeMs            int32
  errorCode                 int16
  errorMessage              string                           nullable default=null
  acquisitionLockTimeoutMs  int32                            2 ignorable
  responses                 []ShareAcknowledgeTopicResponse
    topicId                 uuid
    partitions              []PartitionData
      partitionIndex        int32
      errorCode             int16
      errorMessage          string                           nullable default=null
      currentLeader         LeaderIdAndEpoch
        leaderId            int32
        leaderEpoch         int32
  nodeEndpoints             []NodeEndpoint
    nodeId                  int32
    host                    string
    port                    int32
    rack                    string                           nullable default=null
"""
