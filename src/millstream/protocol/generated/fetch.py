"""Fetch, API key 1, versions 4-18: request and response.

Written by `make codegen` from codegen/schemas/fetch.txt.
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
    COMPACT_INT32S,
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_compact_int32s,
    read_compact_string,
    read_compact_string_or_null,
    read_integers,
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
    tags_refused,
    uuid_refused,
    write_compact_int32s,
    write_compact_string,
    write_int32s,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_2INT64_INT32: Final = Struct(">iqqi")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16_2INT32: Final = Struct(">ihii")
_INT32_INT16_2INT64_INT32: Final = Struct(">ihqqi")
_INT32_INT16_3INT64: Final = Struct(">ihqqq")
_INT32_INT16_3INT64_BYTE: Final = Struct(">ihqqqB")
_INT32_INT16_3INT64_INT32: Final = Struct(">ihqqqi")
_INT32_INT16_INT32: Final = Struct(">ihi")
_INT32_INT16_INT32_BYTE: Final = Struct(">ihiB")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_INT64_INT32: Final = Struct(">iqi")
_INT32_INT64_ZERO: Final = Struct(">iqx")
_INT64: Final = Struct(">q")
_INT64_INT32: Final = Struct(">qi")
_INT64_INT32_BYTE: Final = Struct(">qiB")
_INT64_INT32_ZERO: Final = Struct(">qix")
_S2INT32: Final = Struct(">ii")
_S2INT32_2INT64_INT32: Final = Struct(">iiqqi")
_S2INT32_BYTE: Final = Struct(">iiB")
_S2INT32_INT64_INT32_INT64_INT32: Final = Struct(">iiqiqi")
_S2INT32_INT64_INT32_INT64_INT32_BYTE: Final = Struct(">iiqiqiB")
_S2INT32_INT64_INT32_INT64_INT32_ZERO: Final = Struct(">iiqiqix")
_S2INT32_ZERO: Final = Struct(">iix")
_S2INT64: Final = Struct(">qq")
_S2INT64_BYTE: Final = Struct(">qqB")
_S2INT64_ZERO: Final = Struct(">qqx")
_S3INT32_INT8_2INT32: Final = Struct(">iiibii")
_S3INT32_INT8_2INT32_BYTE: Final = Struct(">iiibiiB")
_S4INT32_INT8_2INT32: Final = Struct(">iiiibii")
_S4INT32_INT8_2INT32_BYTE: Final = Struct(">iiiibiiB")
_S4INT32_INT8_3INT32: Final = Struct(">iiiibiii")
_S4INT32_INT8_INT32: Final = Struct(">iiiibi")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(frozen=True, slots=True)
class ReplicaState(MessageValue):
    """In `FetchRequest.replica_state`, versions 15-18."""

    replica_id: int = -1
    replica_epoch: int = -1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_REPLICA_STATE: Final = ReplicaState()


class FetchPartition(MessageValue):
    """In `FetchTopic.partitions`, versions 4-18."""

    __slots__ = (
        "partition",
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "partition_max_bytes",
        "replica_directory_id",
        "high_watermark",
        "unknown_tagged_fields",
    )

    partition: int
    current_leader_epoch: int  # 9+
    fetch_offset: int
    last_fetched_epoch: int  # 12+
    log_start_offset: int  # 5+
    partition_max_bytes: int
    replica_directory_id: Uuid  # 17+, tag 0
    high_watermark: int  # 18, tag 1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: Uuid = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchTopic(MessageValue):
    """In `FetchRequest.topics`, versions 4-18."""

    __slots__ = ("topic", "topic_id", "partitions", "unknown_tagged_fields")

    topic: str  # 4-12
    topic_id: Uuid  # 13+
    partitions: list[FetchPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[FetchPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ForgottenTopic(MessageValue):
    """In `FetchRequest.forgotten_topics_data`, versions 7-18."""

    __slots__ = ("topic", "topic_id", "partitions", "unknown_tagged_fields")

    topic: str  # 7-12
    topic_id: Uuid  # 13+
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchRequest(MessageValue):
    """Request of API 1, versions 4-18."""

    __slots__ = (
        "cluster_id",
        "replica_id",
        "replica_state",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten_topics_data",
        "rack_id",
        "unknown_tagged_fields",
    )

    cluster_id: str | None  # 12+, tag 0
    replica_id: int  # 4-14
    replica_state: ReplicaState  # 15+, tag 1
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int  # 7+
    session_epoch: int  # 7+
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]  # 7+
    rack_id: str  # 11+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState = _NO_REPLICA_STATE,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = UNSET,
        forgotten_topics_data: list[ForgottenTopic] = UNSET,
        rack_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is UNSET else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is UNSET else forgotten_topics_data
        self.rack_id = rack_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 4
    HIGHEST_VERSION: ClassVar[int] = 18
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 12

    def encode(self, out: bytearray, version: int) -> None:
        if not 4 <= version <= 18:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 15:
                if n < 128:
                    out += _S3INT32_INT8_2INT32_BYTE.pack(
                        self.max_wait_ms,
                        self.min_bytes,
                        self.max_bytes,
                        self.isolation_level,
                        self.session_id,
                        self.session_epoch,
                        n,
                    )
                else:
                    out += _S3INT32_INT8_2INT32.pack(
                        self.max_wait_ms,
                        self.min_bytes,
                        self.max_bytes,
                        self.isolation_level,
                        self.session_id,
                        self.session_epoch,
                    )
                    write_uvarint(out, n)
                if self.replica_id != -1:
                    raise not_in_version("replica_id", version)
            elif version >= 12:
                if n < 128:
                    out += _S4INT32_INT8_2INT32_BYTE.pack(
                        self.replica_id,
                        self.max_wait_ms,
                        self.min_bytes,
                        self.max_bytes,
                        self.isolation_level,
                        self.session_id,
                        self.session_epoch,
                        n,
                    )
                else:
                    out += _S4INT32_INT8_2INT32.pack(
                        self.replica_id,
                        self.max_wait_ms,
                        self.min_bytes,
                        self.max_bytes,
                        self.isolation_level,
                        self.session_id,
                        self.session_epoch,
                    )
                    write_uvarint(out, n)
            elif version >= 7:
                out += _S4INT32_INT8_3INT32.pack(
                    self.replica_id,
                    self.max_wait_ms,
                    self.min_bytes,
                    self.max_bytes,
                    self.isolation_level,
                    self.session_id,
                    self.session_epoch,
                    n - 1,
                )
            else:
                out += _S4INT32_INT8_INT32.pack(
                    self.replica_id,
                    self.max_wait_ms,
                    self.min_bytes,
                    self.max_bytes,
                    self.isolation_level,
                    n - 1,
                )
            _write_fetch_topic(out, self.topics, version)
            if version >= 7:
                n = len(self.forgotten_topics_data) + 1
            if version >= 12:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif version >= 7:
                out += _INT32.pack(n - 1)
            elif self.forgotten_topics_data:
                raise not_in_version("forgotten_topics_data", version)
            if version >= 7:
                _write_forgotten_topic(out, self.forgotten_topics_data, version)
            if version >= 11:
                raw = self.rack_id.encode()
                n = len(raw) + 1
            if version >= 12:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif version >= 11:
                out += _INT16.pack(n - 1)
            if version >= 11:
                out += raw
            if version >= 12:
                if (
                    self.cluster_id is not None
                    or self.replica_state is not _NO_REPLICA_STATE
                    or self.unknown_tagged_fields
                ):
                    _write_fetch_request_tags(out, self, version)
                else:
                    out.append(0)
            else:
                if self.replica_state is not _NO_REPLICA_STATE and self.replica_state != _NO_REPLICA_STATE:
                    raise not_in_version("replica_state", version)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 4 <= version <= 18:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 15:
                (
                    message.max_wait_ms,
                    message.min_bytes,
                    message.max_bytes,
                    message.isolation_level,
                    message.session_id,
                    message.session_epoch,
                    n,
                ) = _S3INT32_INT8_2INT32_BYTE.unpack_from(data, at)
                at += 21
                message.replica_id = -1
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 12:
                (
                    message.replica_id,
                    message.max_wait_ms,
                    message.min_bytes,
                    message.max_bytes,
                    message.isolation_level,
                    message.session_id,
                    message.session_epoch,
                    n,
                ) = _S4INT32_INT8_2INT32_BYTE.unpack_from(data, at)
                at += 25
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 7:
                (
                    message.replica_id,
                    message.max_wait_ms,
                    message.min_bytes,
                    message.max_bytes,
                    message.isolation_level,
                    message.session_id,
                    message.session_epoch,
                    n,
                ) = _S4INT32_INT8_3INT32.unpack_from(data, at)
                at += 29
            else:
                (
                    message.replica_id,
                    message.max_wait_ms,
                    message.min_bytes,
                    message.max_bytes,
                    message.isolation_level,
                    n,
                ) = _S4INT32_INT8_INT32.unpack_from(data, at)
                at += 21
                message.session_id = 0
                message.session_epoch = -1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_fetch_topic(data, at, version, n)
            if version >= 12:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 7:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            else:
                message.forgotten_topics_data = []
            if version >= 7:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.forgotten_topics_data, at = _read_forgotten_topic(data, at, version, n)
            if version >= 12:
                n = data[at]
                if 0 < n < 128:
                    message.rack_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.rack_id, at = read_compact_string(data, at)
            elif version >= 11:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.rack_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.rack_id = ""
            if version >= 12:
                tags = data[at]
                at += 1
            else:
                tags = 0
            message.cluster_id = None
            message.replica_state = _NO_REPLICA_STATE
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_fetch_request_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


@dataclass(frozen=True, slots=True)
class EpochEndOffset(MessageValue):
    """In `PartitionData.diverging_epoch`, versions 12-18."""

    epoch: int = -1
    end_offset: int = -1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_EPOCH_END_OFFSET: Final = EpochEndOffset()


@dataclass(frozen=True, slots=True)
class LeaderIdAndEpoch(MessageValue):
    """In `PartitionData.current_leader`, versions 12-18."""

    leader_id: int = -1
    leader_epoch: int = -1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_LEADER_ID_AND_EPOCH: Final = LeaderIdAndEpoch()


@dataclass(frozen=True, slots=True)
class SnapshotId(MessageValue):
    """In `PartitionData.snapshot_id`, versions 12-18."""

    end_offset: int = -1
    epoch: int = -1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_SNAPSHOT_ID: Final = SnapshotId()


class AbortedTransaction(MessageValue):
    """In `PartitionData.aborted_transactions`, versions 4-18."""

    __slots__ = ("producer_id", "first_offset", "unknown_tagged_fields")

    producer_id: int
    first_offset: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        producer_id: int = 0,
        first_offset: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionData(MessageValue):
    """In `FetchableTopicResponse.partitions`, versions 4-18."""

    __slots__ = (
        "partition_index",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "diverging_epoch",
        "current_leader",
        "snapshot_id",
        "aborted_transactions",
        "preferred_read_replica",
        "records",
        "unknown_tagged_fields",
    )

    partition_index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int  # 5+
    diverging_epoch: EpochEndOffset  # 12+, tag 0
    current_leader: LeaderIdAndEpoch  # 12+, tag 1
    snapshot_id: SnapshotId  # 12+, tag 2
    aborted_transactions: list[AbortedTransaction] | None
    preferred_read_replica: int  # 11+
    records: Records | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset = _NO_EPOCH_END_OFFSET,
        current_leader: LeaderIdAndEpoch = _NO_LEADER_ID_AND_EPOCH,
        snapshot_id: SnapshotId = _NO_SNAPSHOT_ID,
        aborted_transactions: list[AbortedTransaction] | None = UNSET,
        preferred_read_replica: int = -1,
        records: Records | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.snapshot_id = snapshot_id
        self.aborted_transactions = [] if aborted_transactions is UNSET else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchableTopicResponse(MessageValue):
    """In `FetchResponse.responses`, versions 4-18."""

    __slots__ = ("topic", "topic_id", "partitions", "unknown_tagged_fields")

    topic: str  # 4-12
    topic_id: Uuid  # 13+
    partitions: list[PartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[PartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class NodeEndpoint(MessageValue):
    """In `FetchResponse.node_endpoints`, versions 16-18."""

    __slots__ = ("node_id", "host", "port", "rack", "unknown_tagged_fields")

    node_id: int
    host: str
    port: int
    rack: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchResponse(MessageValue):
    """Response of API 1, versions 4-18."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "session_id",
        "responses",
        "node_endpoints",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int  # 7+
    session_id: int  # 7+
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]  # 16+, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = UNSET,
        node_endpoints: list[NodeEndpoint] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is UNSET else responses
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 4
    HIGHEST_VERSION: ClassVar[int] = 18
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 12

    def encode(self, out: bytearray, version: int) -> None:
        if not 4 <= version <= 18:
            raise version_refused(type(self), version)
        try:
            n = len(self.responses) + 1
            if version >= 12:
                if n < 128:
                    out += _INT32_INT16_INT32_BYTE.pack(
                        self.throttle_time_ms, self.error_code, self.session_id, n
                    )
                else:
                    out += _INT32_INT16_INT32.pack(
                        self.throttle_time_ms, self.error_code, self.session_id
                    )
                    write_uvarint(out, n)
            elif version >= 7:
                out += _INT32_INT16_2INT32.pack(
                    self.throttle_time_ms, self.error_code, self.session_id, n - 1
                )
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
                if self.session_id:
                    raise not_in_version("session_id", version)
            _write_fetchable_topic_response(out, self.responses, version)
            if version >= 12:
                if self.node_endpoints or self.unknown_tagged_fields:
                    _write_fetch_response_tags(out, self, version)
                else:
                    out.append(0)
            else:
                if self.node_endpoints:
                    raise not_in_version("node_endpoints", version)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 4 <= version <= 18:
            raise version_refused(cls, version)
        start = at
        data = view
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 12:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    message.session_id,
                    n,
                ) = _INT32_INT16_INT32_BYTE.unpack_from(data, at)
                at += 10
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 7:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    message.session_id,
                    n,
                ) = _INT32_INT16_2INT32.unpack_from(data, at)
                at += 14
            else:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
                message.error_code = 0
                message.session_id = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.responses, at = _read_fetchable_topic_response(data, at, version, n)
            if version >= 12:
                tags = data[at]
                at += 1
            else:
                tags = 0
            message.node_endpoints = []
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_fetch_response_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_replica_state(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ReplicaState], int]:
    items: list[ReplicaState] = []
    for _ in range(count):
        replica_id, replica_epoch, tags = _INT32_INT64_BYTE.unpack_from(data, at)
        at += 13
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(ReplicaState(replica_id, replica_epoch, unknown))
    return items, at


def _write_replica_state(out: bytearray, items: Iterable[ReplicaState], version: int) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT32_INT64.pack(item.replica_id, item.replica_epoch)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_INT64_ZERO.pack(item.replica_id, item.replica_epoch)


def _read_fetch_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[FetchPartition], int]:
    items: list[FetchPartition] = []
    for _ in range(count):
        item = _new(FetchPartition)
        if version >= 12:
            (
                item.partition,
                item.current_leader_epoch,
                item.fetch_offset,
                item.last_fetched_epoch,
                item.log_start_offset,
                item.partition_max_bytes,
                tags,
            ) = _S2INT32_INT64_INT32_INT64_INT32_BYTE.unpack_from(data, at)
            at += 33
        elif version >= 9:
            (
                item.partition,
                item.current_leader_epoch,
                item.fetch_offset,
                item.log_start_offset,
                item.partition_max_bytes,
            ) = _S2INT32_2INT64_INT32.unpack_from(data, at)
            at += 28
            item.last_fetched_epoch = -1
            tags = 0
        elif version >= 5:
            (
                item.partition,
                item.fetch_offset,
                item.log_start_offset,
                item.partition_max_bytes,
            ) = _INT32_2INT64_INT32.unpack_from(data, at)
            at += 24
            item.current_leader_epoch = -1
            item.last_fetched_epoch = -1
            tags = 0
        else:
            (
                item.partition,
                item.fetch_offset,
                item.partition_max_bytes,
            ) = _INT32_INT64_INT32.unpack_from(data, at)
            at += 16
            item.current_leader_epoch = -1
            item.last_fetched_epoch = -1
            item.log_start_offset = -1
            tags = 0
        item.replica_directory_id = ZERO_UUID
        item.high_watermark = 9223372036854775807
        item.unknown_tagged_fields = ()
        if tags:
            at = _read_fetch_partition_tags(item, data, at - 1, version)
        items.append(item)
    return items, at


def _write_fetch_partition(out: bytearray, items: Iterable[FetchPartition], version: int) -> None:
    for item in items:
        if version >= 12:
            if (
                item.replica_directory_id != ZERO_UUID
                or item.high_watermark != 9223372036854775807
                or item.unknown_tagged_fields
            ):
                out += _S2INT32_INT64_INT32_INT64_INT32.pack(
                    item.partition,
                    item.current_leader_epoch,
                    item.fetch_offset,
                    item.last_fetched_epoch,
                    item.log_start_offset,
                    item.partition_max_bytes,
                )
                _write_fetch_partition_tags(out, item, version)
            else:
                out += _S2INT32_INT64_INT32_INT64_INT32_ZERO.pack(
                    item.partition,
                    item.current_leader_epoch,
                    item.fetch_offset,
                    item.last_fetched_epoch,
                    item.log_start_offset,
                    item.partition_max_bytes,
                )
        elif version >= 9:
            out += _S2INT32_2INT64_INT32.pack(
                item.partition,
                item.current_leader_epoch,
                item.fetch_offset,
                item.log_start_offset,
                item.partition_max_bytes,
            )
            if item.unknown_tagged_fields:
                raise tags_refused(version)
            if item.last_fetched_epoch != -1:
                raise not_in_version("last_fetched_epoch", version)
        elif version >= 5:
            out += _INT32_2INT64_INT32.pack(
                item.partition, item.fetch_offset, item.log_start_offset, item.partition_max_bytes
            )
            if item.unknown_tagged_fields:
                raise tags_refused(version)
            if item.last_fetched_epoch != -1:
                raise not_in_version("last_fetched_epoch", version)
        else:
            out += _INT32_INT64_INT32.pack(
                item.partition, item.fetch_offset, item.partition_max_bytes
            )
            if item.unknown_tagged_fields:
                raise tags_refused(version)
            if item.last_fetched_epoch != -1:
                raise not_in_version("last_fetched_epoch", version)


def _read_fetch_partition_tags(item: FetchPartition, data: bytes, at: int, version: int) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            if not (version >= 17):
                raise tag_refused(tag, version)
            (item.replica_directory_id,) = _UUID.unpack_from(data, at)
            at += 16
        elif tag == 1:
            if not (version >= 18):
                raise tag_refused(tag, version)
            (item.high_watermark,) = _INT64.unpack_from(data, at)
            at += 8
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_fetch_partition_tags(section: bytearray, item: FetchPartition, version: int) -> None:
    known: list[TaggedField] = []
    if item.replica_directory_id != ZERO_UUID:
        if version >= 17:
            out = bytearray()
            if len(item.replica_directory_id) != 16:
                raise uuid_refused(item.replica_directory_id)
            out += _UUID.pack(item.replica_directory_id)
            known.append(TaggedField(0, bytes(out)))
    if item.high_watermark != 9223372036854775807:
        if version >= 18:
            out = bytearray()
            out += _INT64.pack(item.high_watermark)
            known.append(TaggedField(1, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_fetch_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[FetchTopic], int]:
    items: list[FetchTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(FetchTopic)
        if version >= 13:
            item.topic = ""
        elif version >= 12:
            n = data[at]
            if 0 < n < 128:
                item.topic = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.topic, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.topic = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 13:
            item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 12:
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
        if not 0 <= n * 16 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_fetch_partition(data, at, version, n)
        if version >= 12:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_fetch_topic(out: bytearray, items: Iterable[FetchTopic], version: int) -> None:
    for item in items:
        if version <= 12:
            raw = item.topic.encode()
            n = len(raw) + 1
        if version >= 13:
            pass
        elif version >= 12:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        if version <= 12:
            out += raw
        n = len(item.partitions) + 1
        if version >= 13:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_BYTE.pack(item.topic_id, n)
            else:
                out += _UUID.pack(item.topic_id)
                write_uvarint(out, n)
        elif version >= 12:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_fetch_partition(out, item.partitions, version)
        if version >= 12:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_forgotten_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ForgottenTopic], int]:
    items: list[ForgottenTopic] = []
    for _ in range(count):
        item = _new(ForgottenTopic)
        if version >= 13:
            item.topic = ""
        elif version >= 12:
            n = data[at]
            if 0 < n < 128:
                item.topic = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.topic, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.topic = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 13:
            item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
            if 0 < n < 17:
                item.partitions = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.partitions, at = read_compact_int32s(data, at)
        elif version >= 12:
            n = data[at]
            item.topic_id = ZERO_UUID
            if 0 < n < 17:
                item.partitions = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.partitions, at = read_compact_int32s(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            item.topic_id = ZERO_UUID
            item.partitions, at = read_integers(data, at, n, "i", 4)
        if version >= 12:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_forgotten_topic(out: bytearray, items: Iterable[ForgottenTopic], version: int) -> None:
    for item in items:
        if version <= 12:
            raw = item.topic.encode()
            n = len(raw) + 1
        if version >= 13:
            pass
        elif version >= 12:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        if version <= 12:
            out += raw
        if version >= 13:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            out += _UUID.pack(item.topic_id)
        if version >= 12:
            write_compact_int32s(out, item.partitions)
        else:
            write_int32s(out, item.partitions)
        if version >= 12:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_fetch_request_tags(item: FetchRequest, data: bytes, at: int, version: int) -> int:
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
        elif tag == 1:
            if not (version >= 15):
                raise tag_refused(tag, version)
            (item.replica_state,), at = _read_replica_state(data, at, version, 1)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_fetch_request_tags(section: bytearray, item: FetchRequest, version: int) -> None:
    known: list[TaggedField] = []
    if item.cluster_id is not None:
        out = bytearray()
        write_compact_string(out, item.cluster_id)
        known.append(TaggedField(0, bytes(out)))
    if item.replica_state is not _NO_REPLICA_STATE and item.replica_state != _NO_REPLICA_STATE:
        if version >= 15:
            out = bytearray()
            _write_replica_state(out, (item.replica_state,), version)
            known.append(TaggedField(1, bytes(out)))
        else:
            raise not_in_version("replica_state", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_epoch_end_offset(
    data: memoryview, at: int, version: int, count: int
) -> tuple[list[EpochEndOffset], int]:
    items: list[EpochEndOffset] = []
    for _ in range(count):
        epoch, end_offset, tags = _INT32_INT64_BYTE.unpack_from(data, at)
        at += 13
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(EpochEndOffset(epoch, end_offset, unknown))
    return items, at


def _write_epoch_end_offset(out: bytearray, items: Iterable[EpochEndOffset], version: int) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT32_INT64.pack(item.epoch, item.end_offset)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_INT64_ZERO.pack(item.epoch, item.end_offset)


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


def _read_snapshot_id(
    data: memoryview, at: int, version: int, count: int
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


def _read_aborted_transaction(
    data: memoryview, at: int, version: int, count: int
) -> tuple[list[AbortedTransaction], int]:
    items: list[AbortedTransaction] = []
    for _ in range(count):
        item = _new(AbortedTransaction)
        if version >= 12:
            item.producer_id, item.first_offset, tags = _S2INT64_BYTE.unpack_from(data, at)
            at += 17
        else:
            item.producer_id, item.first_offset = _S2INT64.unpack_from(data, at)
            at += 16
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_aborted_transaction(
    out: bytearray, items: Iterable[AbortedTransaction], version: int
) -> None:
    for item in items:
        if version >= 12:
            if item.unknown_tagged_fields:
                out += _S2INT64.pack(item.producer_id, item.first_offset)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _S2INT64_ZERO.pack(item.producer_id, item.first_offset)
        else:
            out += _S2INT64.pack(item.producer_id, item.first_offset)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_partition_data(
    data: memoryview, at: int, version: int, count: int
) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(PartitionData)
        if version >= 12:
            (
                item.partition_index,
                item.error_code,
                item.high_watermark,
                item.last_stable_offset,
                item.log_start_offset,
                n,
            ) = _INT32_INT16_3INT64_BYTE.unpack_from(data, at)
            at += 30
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 5:
            (
                item.partition_index,
                item.error_code,
                item.high_watermark,
                item.last_stable_offset,
                item.log_start_offset,
                n,
            ) = _INT32_INT16_3INT64_INT32.unpack_from(data, at)
            at += 34
        else:
            (
                item.partition_index,
                item.error_code,
                item.high_watermark,
                item.last_stable_offset,
                n,
            ) = _INT32_INT16_2INT64_INT32.unpack_from(data, at)
            at += 26
            item.log_start_offset = -1
        if n < 0:
            item.aborted_transactions = None
        else:
            if not 0 <= n * 16 <= limit - at:
                raise count_refused(n, limit - at)
            item.aborted_transactions, at = _read_aborted_transaction(data, at, version, n)
        if version >= 12:
            item.preferred_read_replica, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 11:
            item.preferred_read_replica, n = _S2INT32.unpack_from(data, at)
            at += 8
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            item.preferred_read_replica = -1
        if n < 0:
            item.records = None
        else:
            item.records = data[at : at + n]
            at += n
        if version >= 12:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.diverging_epoch = _NO_EPOCH_END_OFFSET
        item.current_leader = _NO_LEADER_ID_AND_EPOCH
        item.snapshot_id = _NO_SNAPSHOT_ID
        item.unknown_tagged_fields = ()
        if tags:
            at = _read_partition_data_tags(item, data, at - 1, version)
        items.append(item)
    return items, at


def _write_partition_data(out: bytearray, items: Iterable[PartitionData], version: int) -> None:
    for item in items:
        if item.aborted_transactions is None:
            n = 0
        else:
            n = len(item.aborted_transactions) + 1
        if version >= 12:
            if n < 128:
                out += _INT32_INT16_3INT64_BYTE.pack(
                    item.partition_index,
                    item.error_code,
                    item.high_watermark,
                    item.last_stable_offset,
                    item.log_start_offset,
                    n,
                )
            else:
                out += _INT32_INT16_3INT64.pack(
                    item.partition_index,
                    item.error_code,
                    item.high_watermark,
                    item.last_stable_offset,
                    item.log_start_offset,
                )
                write_uvarint(out, n)
        elif version >= 5:
            out += _INT32_INT16_3INT64_INT32.pack(
                item.partition_index,
                item.error_code,
                item.high_watermark,
                item.last_stable_offset,
                item.log_start_offset,
                n - 1,
            )
        else:
            out += _INT32_INT16_2INT64_INT32.pack(
                item.partition_index,
                item.error_code,
                item.high_watermark,
                item.last_stable_offset,
                n - 1,
            )
        if item.aborted_transactions is not None:
            _write_aborted_transaction(out, item.aborted_transactions, version)
        if item.records is None:
            n = 0
        else:
            n = len(item.records) + 1
        if version >= 12:
            if n < 128:
                out += _INT32_BYTE.pack(item.preferred_read_replica, n)
            else:
                out += _INT32.pack(item.preferred_read_replica)
                write_uvarint(out, n)
        elif version >= 11:
            out += _S2INT32.pack(item.preferred_read_replica, n - 1)
        else:
            out += _INT32.pack(n - 1)
            if item.preferred_read_replica != -1:
                raise not_in_version("preferred_read_replica", version)
        if item.records is not None:
            append_records(out, item.records)
        if version >= 12:
            if (
                item.diverging_epoch is not _NO_EPOCH_END_OFFSET
                or item.current_leader is not _NO_LEADER_ID_AND_EPOCH
                or item.snapshot_id is not _NO_SNAPSHOT_ID
                or item.unknown_tagged_fields
            ):
                _write_partition_data_tags(out, item, version)
            else:
                out.append(0)
        else:
            if item.diverging_epoch is not _NO_EPOCH_END_OFFSET and item.diverging_epoch != _NO_EPOCH_END_OFFSET:
                raise not_in_version("diverging_epoch", version)
            if item.current_leader is not _NO_LEADER_ID_AND_EPOCH and item.current_leader != _NO_LEADER_ID_AND_EPOCH:
                raise not_in_version("current_leader", version)
            if item.snapshot_id is not _NO_SNAPSHOT_ID and item.snapshot_id != _NO_SNAPSHOT_ID:
                raise not_in_version("snapshot_id", version)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_partition_data_tags(item: PartitionData, data: memoryview, at: int, version: int) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.diverging_epoch,), at = _read_epoch_end_offset(data, at, version, 1)
        elif tag == 1:
            (item.current_leader,), at = _read_leader_id_and_epoch(data, at, version, 1)
        elif tag == 2:
            (item.snapshot_id,), at = _read_snapshot_id(data, at, version, 1)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_partition_data_tags(section: bytearray, item: PartitionData, version: int) -> None:
    known: list[TaggedField] = []
    if item.diverging_epoch is not _NO_EPOCH_END_OFFSET and item.diverging_epoch != _NO_EPOCH_END_OFFSET:
        out = bytearray()
        _write_epoch_end_offset(out, (item.diverging_epoch,), version)
        known.append(TaggedField(0, bytes(out)))
    if item.current_leader is not _NO_LEADER_ID_AND_EPOCH and item.current_leader != _NO_LEADER_ID_AND_EPOCH:
        out = bytearray()
        _write_leader_id_and_epoch(out, (item.current_leader,), version)
        known.append(TaggedField(1, bytes(out)))
    if item.snapshot_id is not _NO_SNAPSHOT_ID and item.snapshot_id != _NO_SNAPSHOT_ID:
        out = bytearray()
        _write_snapshot_id(out, (item.snapshot_id,), version)
        known.append(TaggedField(2, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_fetchable_topic_response(
    data: memoryview, at: int, version: int, count: int
) -> tuple[list[FetchableTopicResponse], int]:
    items: list[FetchableTopicResponse] = []
    limit = len(data)
    for _ in range(count):
        item = _new(FetchableTopicResponse)
        if version >= 13:
            item.topic = ""
        elif version >= 12:
            n = data[at]
            if 0 < n < 128:
                item.topic = str(data[at + 1 : at + n], "utf-8", LENIENT)
                at += n
            else:
                item.topic, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.topic = str(data[at : at + n], "utf-8", LENIENT)
            at += n
        if version >= 13:
            item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 12:
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
        if not 0 <= n * 30 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_partition_data(data, at, version, n)
        if version >= 12:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_fetchable_topic_response(
    out: bytearray, items: Iterable[FetchableTopicResponse], version: int
) -> None:
    for item in items:
        if version <= 12:
            raw = item.topic.encode()
            n = len(raw) + 1
        if version >= 13:
            pass
        elif version >= 12:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        if version <= 12:
            out += raw
        n = len(item.partitions) + 1
        if version >= 13:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_BYTE.pack(item.topic_id, n)
            else:
                out += _UUID.pack(item.topic_id)
                write_uvarint(out, n)
        elif version >= 12:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_partition_data(out, item.partitions, version)
        if version >= 12:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


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
        item.port, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.rack = str(data[at + 1 : at + n], "utf-8", LENIENT)
            at += n
        else:
            item.rack, at = read_compact_string_or_null(data, at)
        tags = data[at]
        at += 1
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
        if item.rack is None:
            raw = b""
            n = 0
        else:
            raw = item.rack.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.port, n)
        else:
            out += _INT32.pack(item.port)
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_fetch_response_tags(item: FetchResponse, data: memoryview, at: int, version: int) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            if not (version >= 16):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            limit = len(data)
            if not 0 <= n * 11 <= limit - at:
                raise count_refused(n, limit - at)
            item.node_endpoints, at = _read_node_endpoint(data, at, version, n)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_fetch_response_tags(section: bytearray, item: FetchResponse, version: int) -> None:
    known: list[TaggedField] = []
    if item.node_endpoints:
        if version >= 16:
            out = bytearray()
            write_uvarint(out, len(item.node_endpoints) + 1)
            _write_node_endpoint(out, item.node_endpoints, version)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("node_endpoints", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)

SCHEMA: Final = """\
request FetchRequest key=1 versions=4-18 flexible=12+ listeners=broker,controller
  clusterId               string            12+ nullable tag=0 default=null ignorable
  replicaId               int32             4-14 default=-1
  replicaState            ReplicaState      15+ tag=1
    replicaId             int32             default=-1
    replicaEpoch          int64             default=-1
  maxWaitMs               int32
  minBytes                int32
  maxBytes                int32             default=2147483647
  isolationLevel          int8
  sessionId               int32             7+ ignorable
  sessionEpoch            int32             7+ default=-1 ignorable
  topics                  []FetchTopic
    topic                 string            4-12 ignorable
    topicId               uuid              13+ ignorable
    partitions            []FetchPartition
      partition           int32
      currentLeaderEpoch  int32             9+ default=-1 ignorable
      fetchOffset         int64
      lastFetchedEpoch    int32             12+ default=-1
      logStartOffset      int64             5+ default=-1 ignorable
      partitionMaxBytes   int32
      replicaDirectoryId  uuid              17+ tag=0 ignorable
      highWatermark       int64             18 tag=1 default=9223372036854775807 ignorable
  forgottenTopicsData     []ForgottenTopic  7+
    topic                 string            7-12 ignorable
    topicId               uuid              13+ ignorable
    partitions            []int32
  rackId                  string            11+ ignorable

response FetchResponse key=1 versions=4-18 flexible=12+ listeners=broker,controller
  throttleTimeMs            int32
  errorCode                 int16                     7+ ignorable
  sessionId                 int32                     7+
  responses                 []FetchableTopicResponse
    topic                   string                    4-12 ignorable
    topicId                 uuid                      13+ ignorable
    partitions              []PartitionData
      partitionIndex        int32
      errorCode             int16
      highWatermark         int64
      lastStableOffset      int64                     default=-1
      logStartOffset        int64                     5+ default=-1 ignorable
      divergingEpoch        EpochEndOffset            12+ tag=0
        epoch               int32                     default=-1
        endOffset           int64                     default=-1
      currentLeader         LeaderIdAndEpoch          12+ tag=1
        leaderId            int32                     default=-1
        leaderEpoch         int32                     default=-1
      snapshotId            SnapshotId                12+ tag=2
        endOffset           int64                     default=-1
        epoch               int32                     default=-1
      abortedTransactions   []AbortedTransaction      nullable
        producerId          int64
        firstOffset         int64
      preferredReadReplica  int32                     11+ default=-1
      records               records                   nullable default=null
  nodeEndpoints             []NodeEndpoint            16+ tag=0
    nodeId                  int32
    host                    string
    port                    int32
    rack                    string                    nullable default=null
"""
