"""EndQuorumEpoch, API key 54, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/end_quorum_epoch.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length, read_uvarint
from millstream.protocol.tagged_fields import TaggedField, read_tag_count, read_unknown_field, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_3INT32: Final = Struct(">iii")
_S_4INT32: Final = Struct(">iiii")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT16_INT32: Final = Struct(">hi")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16_2INT32: Final = Struct(">ihii")
_S_INT32_INT16_2INT32_BYTE: Final = Struct(">ihiiB")
_S_INT32_UUID: Final = Struct(">i16s")
_S_INT32_UUID_BYTE: Final = Struct(">i16sB")
_S_UINT16: Final = Struct(">H")
_S_UINT16_BYTE: Final = Struct(">HB")
_new: Final = object.__new__


@dataclass(slots=True)
class ReplicaInfo:
    candidate_id: int = 0
    candidate_directory_id: Uuid = ZERO_UUID
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class EndQuorumEpochRequestPartitionData:
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = 0
    preferred_successors: list[int] = field(default_factory=list)  # 0
    preferred_candidates: list[ReplicaInfo] = field(default_factory=list)  # 1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class EndQuorumEpochRequestTopicData:
    topic_name: str = ""
    partitions: list[EndQuorumEpochRequestPartitionData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class LeaderEndpoint:
    name: str = ""
    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class EndQuorumEpochRequest:
    cluster_id: str | None = None
    topics: list[EndQuorumEpochRequestTopicData] = field(default_factory=list)
    leader_endpoints: list[LeaderEndpoint] = field(default_factory=list)  # 1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 54
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            if item.cluster_id is None:
                if version >= 1:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 1:
                    write_compact_string(out, item.cluster_id)
                else:
                    write_string(out, item.cluster_id)
            if version >= 1:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_end_quorum_epoch_request_topic_data(out, item.topics, version)
            if version >= 1:
                write_length(out, len(item.leader_endpoints))
                _write_leader_endpoint(out, item.leader_endpoints, version)
            if item.unknown_tagged_fields:
                if version < 1:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 1:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 1:
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
                item.cluster_id = None
            else:
                at += n
                item.cluster_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 1:
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
            item.topics, at = _read_end_quorum_epoch_request_topic_data(data, at, version, n)
            if version >= 1:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 1:
                if not 0 <= n * 5 <= limit - at:
                    raise count_refused(n, limit - at)
                item.leader_endpoints, at = _read_leader_endpoint(data, at, version, n)
            else:
                item.leader_endpoints = []
            if version >= 1:
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
class EndQuorumEpochResponsePartitionData:
    partition_index: int = 0
    error_code: int = 0
    leader_id: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class EndQuorumEpochResponseTopicData:
    topic_name: str = ""
    partitions: list[EndQuorumEpochResponsePartitionData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class NodeEndpoint:
    node_id: int = 0
    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class EndQuorumEpochResponse:
    error_code: int = 0
    topics: list[EndQuorumEpochResponseTopicData] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)  # 1, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 54
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16.pack(item.error_code)
            if version >= 1:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_end_quorum_epoch_response_topic_data(out, item.topics, version)
            if item.node_endpoints or item.unknown_tagged_fields:
                _write_end_quorum_epoch_response_tags(out, item, version)
            elif version >= 1:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 1:
                item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
                at += 3
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.error_code, n = _S_INT16_INT32.unpack_from(data, at)
                at += 6
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_end_quorum_epoch_response_topic_data(data, at, version, n)
            if version >= 1:
                tags = data[at]
                at += 1
            else:
                tags = 0
            item.node_endpoints = []
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_end_quorum_epoch_response_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_replica_info(data: bytes, at: int, version: int, count: int) -> tuple[list[ReplicaInfo], int]:
    items: list[ReplicaInfo] = []
    for _ in range(count):
        item = _new(ReplicaInfo)
        item.candidate_id, item.candidate_directory_id, tags = _S_INT32_UUID_BYTE.unpack_from(data, at)
        at += 21
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_replica_info(out: bytearray, items: Iterable[ReplicaInfo], version: int) -> None:
    for item in items:
        out += _S_INT32_UUID.pack(item.candidate_id, item.candidate_directory_id)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_end_quorum_epoch_request_partition_data(data: bytes, at: int, version: int, count: int) -> tuple[list[EndQuorumEpochRequestPartitionData], int]:
    limit = len(data)
    items: list[EndQuorumEpochRequestPartitionData] = []
    for _ in range(count):
        item = _new(EndQuorumEpochRequestPartitionData)
        if version >= 1:
            item.partition_index, item.leader_id, item.leader_epoch = _S_3INT32.unpack_from(data, at)
            at += 12
        else:
            item.partition_index, item.leader_id, item.leader_epoch, n = _S_4INT32.unpack_from(data, at)
            at += 16
        if version <= 0:
            item.preferred_successors, at = read_integers(data, at, n, "i", 4)
        else:
            item.preferred_successors = []
        if version >= 1:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            pass
        if version >= 1:
            if not 0 <= n * 21 <= limit - at:
                raise count_refused(n, limit - at)
            item.preferred_candidates, at = _read_replica_info(data, at, version, n)
        else:
            item.preferred_candidates = []
        if version >= 1:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_end_quorum_epoch_request_partition_data(out: bytearray, items: Iterable[EndQuorumEpochRequestPartitionData], version: int) -> None:
    for item in items:
        out += _S_3INT32.pack(item.partition_index, item.leader_id, item.leader_epoch)
        if version <= 0:
            out += _S_INT32.pack(len(item.preferred_successors))
            write_integers(out, item.preferred_successors, "i")
        if version >= 1:
            write_length(out, len(item.preferred_candidates))
            _write_replica_info(out, item.preferred_candidates, version)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_end_quorum_epoch_request_topic_data(data: bytes, at: int, version: int, count: int) -> tuple[list[EndQuorumEpochRequestTopicData], int]:
    limit = len(data)
    items: list[EndQuorumEpochRequestTopicData] = []
    for _ in range(count):
        item = _new(EndQuorumEpochRequestTopicData)
        if version >= 1:
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
        item.topic_name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
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
        item.partitions, at = _read_end_quorum_epoch_request_partition_data(data, at, version, n)
        if version >= 1:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_end_quorum_epoch_request_topic_data(out: bytearray, items: Iterable[EndQuorumEpochRequestTopicData], version: int) -> None:
    for item in items:
        if version >= 1:
            write_compact_string(out, item.topic_name)
        else:
            write_string(out, item.topic_name)
        if version >= 1:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_end_quorum_epoch_request_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_leader_endpoint(data: bytes, at: int, version: int, count: int) -> tuple[list[LeaderEndpoint], int]:
    items: list[LeaderEndpoint] = []
    for _ in range(count):
        item = _new(LeaderEndpoint)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.host = data[at - n : at].decode("utf-8", LENIENT)
        item.port, tags = _S_UINT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_leader_endpoint(out: bytearray, items: Iterable[LeaderEndpoint], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_string(out, item.host)
        out += _S_UINT16.pack(item.port)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_end_quorum_epoch_response_partition_data(data: bytes, at: int, version: int, count: int) -> tuple[list[EndQuorumEpochResponsePartitionData], int]:
    items: list[EndQuorumEpochResponsePartitionData] = []
    for _ in range(count):
        item = _new(EndQuorumEpochResponsePartitionData)
        if version >= 1:
            item.partition_index, item.error_code, item.leader_id, item.leader_epoch, tags = _S_INT32_INT16_2INT32_BYTE.unpack_from(data, at)
            at += 15
        else:
            item.partition_index, item.error_code, item.leader_id, item.leader_epoch = _S_INT32_INT16_2INT32.unpack_from(data, at)
            at += 14
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_end_quorum_epoch_response_partition_data(out: bytearray, items: Iterable[EndQuorumEpochResponsePartitionData], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16_2INT32.pack(item.partition_index, item.error_code, item.leader_id, item.leader_epoch)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_end_quorum_epoch_response_topic_data(data: bytes, at: int, version: int, count: int) -> tuple[list[EndQuorumEpochResponseTopicData], int]:
    limit = len(data)
    items: list[EndQuorumEpochResponseTopicData] = []
    for _ in range(count):
        item = _new(EndQuorumEpochResponseTopicData)
        if version >= 1:
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
        item.topic_name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
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
        item.partitions, at = _read_end_quorum_epoch_response_partition_data(data, at, version, n)
        if version >= 1:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_end_quorum_epoch_response_topic_data(out: bytearray, items: Iterable[EndQuorumEpochResponseTopicData], version: int) -> None:
    for item in items:
        if version >= 1:
            write_compact_string(out, item.topic_name)
        else:
            write_string(out, item.topic_name)
        if version >= 1:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_end_quorum_epoch_response_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
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
        item.port, tags = _S_UINT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_node_endpoint(out: bytearray, items: Iterable[NodeEndpoint], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.node_id)
        write_compact_string(out, item.host)
        out += _S_UINT16.pack(item.port)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_end_quorum_epoch_response_tags(item: EndQuorumEpochResponse, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
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


def _write_end_quorum_epoch_response_tags(target: bytearray, item: EndQuorumEpochResponse, version: int) -> None:
    known: list[TaggedField] = []
    if item.node_endpoints:
        if version >= 1:
            out = bytearray()
            write_length(out, len(item.node_endpoints))
            _write_node_endpoint(out, item.node_endpoints, version)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("node_endpoints", version)
    if version < 1:
        if item.unknown_tagged_fields:
            raise tags_refused(version)
        return
    write_tagged_fields(target, known, item.unknown_tagged_fields)

SCHEMA: Final = """\
request EndQuorumEpochRequest key=54 versions=0-1 flexible=1+ listeners=controller
  clusterId                   string            nullable default=null
  topics                      []TopicData
    topicName                 string
    partitions                []PartitionData
      partitionIndex          int32
      leaderId                int32
      leaderEpoch             int32
      preferredSuccessors     []int32           0 ignorable
      preferredCandidates     []ReplicaInfo     1 ignorable
        candidateId           int32
        candidateDirectoryId  uuid
  leaderEndpoints             []LeaderEndpoint  1 ignorable
    name                      string
    host                      string
    port                      uint16

response EndQuorumEpochResponse key=54 versions=0-1 flexible=1+ listeners=controller
  errorCode           int16
  topics              []TopicData
    topicName         string
    partitions        []PartitionData
      partitionIndex  int32
      errorCode       int16
      leaderId        int32
      leaderEpoch     int32
  nodeEndpoints       []NodeEndpoint   1 tag=0
    nodeId            int32
    host              string
    port              uint16
"""
