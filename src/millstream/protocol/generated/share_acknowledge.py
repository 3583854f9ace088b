"""ShareAcknowledge, API key 79, versions 1-2: request and response.

Written by `make codegen` from codegen/schemas/share_acknowledge.txt.
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
    read_compact_string_or_null,
    read_integers,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    uuid_refused,
    write_integers,
    write_string_length,
    write_uvarint,
)

_INT32: Final = Struct(">i")
_INT32_BOOL: Final = Struct(">i?")
_INT32_BOOL_BYTE: Final = Struct(">i?B")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_S2INT32: Final = Struct(">ii")
_S2INT32_BYTE: Final = Struct(">iiB")
_S2INT32_ZERO: Final = Struct(">iix")
_S2INT64: Final = Struct(">qq")
_S2INT64_BYTE: Final = Struct(">qqB")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class AcknowledgementBatch(MessageValue):
    """In `AcknowledgePartition.acknowledgement_batches`, versions 1-2."""

    __slots__ = ("first_offset", "last_offset", "acknowledge_types", "unknown_tagged_fields")

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types = [] if acknowledge_types is UNSET else acknowledge_types
        self.unknown_tagged_fields = unknown_tagged_fields


class AcknowledgePartition(MessageValue):
    """In `AcknowledgeTopic.partitions`, versions 1-2."""

    __slots__ = ("partition_index", "acknowledgement_batches", "unknown_tagged_fields")

    partition_index: int
    acknowledgement_batches: list[AcknowledgementBatch]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        acknowledgement_batches: list[AcknowledgementBatch] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = [] if acknowledgement_batches is UNSET else acknowledgement_batches
        self.unknown_tagged_fields = unknown_tagged_fields


class AcknowledgeTopic(MessageValue):
    """In `ShareAcknowledgeRequest.topics`, versions 1-2."""

    __slots__ = ("topic_id", "partitions", "unknown_tagged_fields")

    topic_id: Uuid
    partitions: list[AcknowledgePartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[AcknowledgePartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ShareAcknowledgeRequest(MessageValue):
    """Request of API 79, versions 1-2."""

    __slots__ = (
        "group_id",
        "member_id",
        "share_session_epoch",
        "is_renew_ack",
        "topics",
        "unknown_tagged_fields",
    )

    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    is_renew_ack: bool  # 2
    topics: list[AcknowledgeTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: list[AcknowledgeTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 79
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if self.group_id is None:
                raw = b""
                n = 0
            else:
                raw = self.group_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.member_id is None:
                raw = b""
                n = 0
            else:
                raw = self.member_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = len(self.topics) + 1
            if version >= 2:
                if n < 128:
                    out += _INT32_BOOL_BYTE.pack(self.share_session_epoch, self.is_renew_ack, n)
                else:
                    out += _INT32_BOOL.pack(self.share_session_epoch, self.is_renew_ack)
                    write_uvarint(out, n)
            else:
                if n < 128:
                    out += _INT32_BYTE.pack(self.share_session_epoch, n)
                else:
                    out += _INT32.pack(self.share_session_epoch)
                    write_uvarint(out, n)
                if self.is_renew_ack:
                    raise not_in_version("is_renew_ack", version)
            _write_acknowledge_topic(out, self.topics, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            n = data[at]
            if 0 < n < 128:
                message.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.group_id, at = read_compact_string_or_null(data, at)
            n = data[at]
            if 0 < n < 128:
                message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.member_id, at = read_compact_string_or_null(data, at)
            if version >= 2:
                (
                    message.share_session_epoch,
                    message.is_renew_ack,
                    n,
                ) = _INT32_BOOL_BYTE.unpack_from(data, at)
                at += 5
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.share_session_epoch, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                message.is_renew_ack = False
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_acknowledge_topic(data, at, version, n)
            tags = data[at]
            at += 1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


@dataclass(frozen=True, slots=True)
class LeaderIdAndEpoch(MessageValue):
    """In `PartitionData.current_leader`, versions 1-2."""

    leader_id: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_LEADER_ID_AND_EPOCH: Final = LeaderIdAndEpoch()


class PartitionData(MessageValue):
    """In `ShareAcknowledgeTopicResponse.partitions`, versions 1-2."""

    __slots__ = (
        "partition_index", "error_code", "error_message", "current_leader", "unknown_tagged_fields"
    )

    partition_index: int
    error_code: int
    error_message: str | None
    current_leader: LeaderIdAndEpoch
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = _NO_LEADER_ID_AND_EPOCH,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.current_leader = current_leader
        self.unknown_tagged_fields = unknown_tagged_fields


class ShareAcknowledgeTopicResponse(MessageValue):
    """In `ShareAcknowledgeResponse.responses`, versions 1-2."""

    __slots__ = ("topic_id", "partitions", "unknown_tagged_fields")

    topic_id: Uuid
    partitions: list[PartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[PartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class NodeEndpoint(MessageValue):
    """In `ShareAcknowledgeResponse.node_endpoints`, versions 1-2."""

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


class ShareAcknowledgeResponse(MessageValue):
    """Response of API 79, versions 1-2."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "acquisition_lock_timeout_ms",
        "responses",
        "node_endpoints",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    acquisition_lock_timeout_ms: int  # 2
    responses: list[ShareAcknowledgeTopicResponse]
    node_endpoints: list[NodeEndpoint]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareAcknowledgeTopicResponse] = UNSET,
        node_endpoints: list[NodeEndpoint] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is UNSET else responses
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 79
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if self.error_message is None:
                raw = b""
                n = 0
            else:
                raw = self.error_message.encode()
                n = len(raw) + 1
            if n < 128:
                out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_string_length(out, n)
            out += raw
            n = len(self.responses) + 1
            if version >= 2:
                if n < 128:
                    out += _INT32_BYTE.pack(self.acquisition_lock_timeout_ms, n)
                else:
                    out += _INT32.pack(self.acquisition_lock_timeout_ms)
                    write_uvarint(out, n)
            else:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            _write_share_acknowledge_topic_response(out, self.responses, version)
            n = len(self.node_endpoints) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_node_endpoint(out, self.node_endpoints, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (
                message.throttle_time_ms,
                message.error_code,
                n,
            ) = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 6
            if 0 < n < 128:
                message.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.error_message, at = read_compact_string_or_null(data, at)
            if version >= 2:
                message.acquisition_lock_timeout_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                n = data[at]
                message.acquisition_lock_timeout_ms = 0
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.responses, at = _read_share_acknowledge_topic_response(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 11 <= limit - at:
                raise count_refused(n, limit - at)
            message.node_endpoints, at = _read_node_endpoint(data, at, version, n)
            tags = data[at]
            at += 1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_acknowledgement_batch(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AcknowledgementBatch], int]:
    items: list[AcknowledgementBatch] = []
    for _ in range(count):
        item = _new(AcknowledgementBatch)
        item.first_offset, item.last_offset, n = _S2INT64_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.acknowledge_types, at = read_integers(data, at, n, "b", 1)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_acknowledgement_batch(
    out: bytearray, items: Iterable[AcknowledgementBatch], version: int
) -> None:
    for item in items:
        n = len(item.acknowledge_types) + 1
        if n < 128:
            out += _S2INT64_BYTE.pack(item.first_offset, item.last_offset, n)
        else:
            out += _S2INT64.pack(item.first_offset, item.last_offset)
            write_uvarint(out, n)
        write_integers(out, item.acknowledge_types, "b")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_acknowledge_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AcknowledgePartition], int]:
    items: list[AcknowledgePartition] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AcknowledgePartition)
        item.partition_index, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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


def _write_acknowledge_partition(
    out: bytearray, items: Iterable[AcknowledgePartition], version: int
) -> None:
    for item in items:
        n = len(item.acknowledgement_batches) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.partition_index, n)
        else:
            out += _INT32.pack(item.partition_index)
            write_uvarint(out, n)
        _write_acknowledgement_batch(out, item.acknowledgement_batches, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_acknowledge_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AcknowledgeTopic], int]:
    items: list[AcknowledgeTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AcknowledgeTopic)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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


def _write_acknowledge_topic(
    out: bytearray, items: Iterable[AcknowledgeTopic], version: int
) -> None:
    for item in items:
        n = len(item.partitions) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BYTE.pack(item.topic_id, n)
        else:
            out += _UUID.pack(item.topic_id)
            write_uvarint(out, n)
        _write_acknowledge_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_leader_id_and_epoch(
    data: bytes, at: int, version: int, count: int
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


def _read_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        item = _new(PartitionData)
        item.partition_index, item.error_code, n = _INT32_INT16_BYTE.unpack_from(data, at)
        at += 6
        if 0 < n < 128:
            item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.error_message, at = read_compact_string_or_null(data, at)
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
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT32_INT16_BYTE.pack(item.partition_index, item.error_code, n)
        else:
            out += _INT32_INT16.pack(item.partition_index, item.error_code)
            write_string_length(out, n)
        out += raw
        _write_leader_id_and_epoch(out, (item.current_leader,), version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_share_acknowledge_topic_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ShareAcknowledgeTopicResponse], int]:
    items: list[ShareAcknowledgeTopicResponse] = []
    limit = len(data)
    for _ in range(count):
        item = _new(ShareAcknowledgeTopicResponse)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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


def _write_share_acknowledge_topic_response(
    out: bytearray, items: Iterable[ShareAcknowledgeTopicResponse], version: int
) -> None:
    for item in items:
        n = len(item.partitions) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BYTE.pack(item.topic_id, n)
        else:
            out += _UUID.pack(item.topic_id)
            write_uvarint(out, n)
        _write_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_node_endpoint(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[NodeEndpoint], int]:
    items: list[NodeEndpoint] = []
    for _ in range(count):
        item = _new(NodeEndpoint)
        item.node_id, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.host, at = read_compact_string(data, at)
        item.port, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.rack = data[at + 1 : at + n].decode("utf-8", LENIENT)
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
