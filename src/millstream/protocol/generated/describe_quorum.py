"""DescribeQuorum, API key 55, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/describe_quorum.txt.
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
    uuid_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_3INT64: Final = Struct(">iqqq")
_INT32_3INT64_BYTE: Final = Struct(">iqqqB")
_INT32_3INT64_ZERO: Final = Struct(">iqqqx")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_INT64_ZERO: Final = Struct(">iqx")
_INT32_UUID_3INT64: Final = Struct(">i16sqqq")
_INT32_UUID_3INT64_BYTE: Final = Struct(">i16sqqqB")
_INT32_UUID_3INT64_ZERO: Final = Struct(">i16sqqqx")
_INT32_ZERO: Final = Struct(">ix")
_S2INT32_INT64: Final = Struct(">iiq")
_S2INT32_INT64_BYTE: Final = Struct(">iiqB")
_UINT16: Final = Struct(">H")
_UINT16_BYTE: Final = Struct(">HB")
_UINT16_ZERO: Final = Struct(">Hx")
_new: Final = object.__new__


class DescribeQuorumRequestPartitionData(MessageValue):
    """In `DescribeQuorumRequestTopicData.partitions`, versions 0-2."""

    __slots__ = ("partition_index", "unknown_tagged_fields")

    partition_index: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, partition_index: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.partition_index = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeQuorumRequestTopicData(MessageValue):
    """In `DescribeQuorumRequest.topics`, versions 0-2."""

    __slots__ = ("topic_name", "partitions", "unknown_tagged_fields")

    topic_name: str
    partitions: list[DescribeQuorumRequestPartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumRequestPartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeQuorumRequest(MessageValue):
    """Request of API 55, versions 0-2."""

    __slots__ = ("topics", "unknown_tagged_fields")

    topics: list[DescribeQuorumRequestTopicData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[DescribeQuorumRequestTopicData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 55
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_describe_quorum_request_topic_data(out, self.topics, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_describe_quorum_request_topic_data(data, at, version, n)
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


class ReplicaState(MessageValue):
    """In `DescribeQuorumResponsePartitionData.current_voters` and elsewhere, versions 0-2."""

    __slots__ = (
        "replica_id",
        "replica_directory_id",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
        "unknown_tagged_fields",
    )

    replica_id: int
    replica_directory_id: Uuid  # 2
    log_end_offset: int
    last_fetch_timestamp: int  # 1+
    last_caught_up_timestamp: int  # 1+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: Uuid = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeQuorumResponsePartitionData(MessageValue):
    """In `DescribeQuorumResponseTopicData.partitions`, versions 0-2."""

    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
        "leader_id",
        "leader_epoch",
        "high_watermark",
        "current_voters",
        "observers",
        "unknown_tagged_fields",
    )

    partition_index: int
    error_code: int
    error_message: str | None  # 2
    leader_id: int
    leader_epoch: int
    high_watermark: int
    current_voters: list[ReplicaState]
    observers: list[ReplicaState]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = UNSET,
        observers: list[ReplicaState] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = [] if current_voters is UNSET else current_voters
        self.observers = [] if observers is UNSET else observers
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeQuorumResponseTopicData(MessageValue):
    """In `DescribeQuorumResponse.topics`, versions 0-2."""

    __slots__ = ("topic_name", "partitions", "unknown_tagged_fields")

    topic_name: str
    partitions: list[DescribeQuorumResponsePartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumResponsePartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class Listener(MessageValue):
    """In `Node.listeners`, version 2."""

    __slots__ = ("name", "host", "port", "unknown_tagged_fields")

    name: str
    host: str
    port: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.unknown_tagged_fields = unknown_tagged_fields


class Node(MessageValue):
    """In `DescribeQuorumResponse.nodes`, version 2."""

    __slots__ = ("node_id", "listeners", "unknown_tagged_fields")

    node_id: int
    listeners: list[Listener]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        node_id: int = 0,
        listeners: list[Listener] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.node_id = node_id
        self.listeners = [] if listeners is UNSET else listeners
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeQuorumResponse(MessageValue):
    """Response of API 55, versions 0-2."""

    __slots__ = ("error_code", "error_message", "topics", "nodes", "unknown_tagged_fields")

    error_code: int
    error_message: str | None  # 2
    topics: list[DescribeQuorumResponseTopicData]
    nodes: list[Node]  # 2
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[DescribeQuorumResponseTopicData] = UNSET,
        nodes: list[Node] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is UNSET else topics
        self.nodes = [] if nodes is UNSET else nodes
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 55
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if version >= 2:
                if self.error_message is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.error_message.encode()
                    n = len(raw) + 1
            if version >= 2:
                if n < 128:
                    out += _INT16_BYTE.pack(self.error_code, n)
                else:
                    out += _INT16.pack(self.error_code)
                    write_string_length(out, n)
            else:
                out += _INT16.pack(self.error_code)
            if version >= 2:
                out += raw
            n = len(self.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_describe_quorum_response_topic_data(out, self.topics, version)
            if version >= 2:
                n = len(self.nodes) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif self.nodes:
                raise not_in_version("nodes", version)
            if version >= 2:
                _write_node(out, self.nodes, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                message.error_code, n = _INT16_BYTE.unpack_from(data, at)
                at += 2
                if 0 < n < 128:
                    message.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.error_message, at = read_compact_string_or_null(data, at)
            else:
                (message.error_code,) = _INT16.unpack_from(data, at)
                at += 2
                message.error_message = ""
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_describe_quorum_response_topic_data(data, at, version, n)
            if version >= 2:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.nodes = []
            if version >= 2:
                if not 0 <= n * 6 <= limit - at:
                    raise count_refused(n, limit - at)
                message.nodes, at = _read_node(data, at, version, n)
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


def _read_describe_quorum_request_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeQuorumRequestPartitionData], int]:
    items: list[DescribeQuorumRequestPartitionData] = []
    for _ in range(count):
        item = _new(DescribeQuorumRequestPartitionData)
        item.partition_index, tags = _INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_quorum_request_partition_data(
    out: bytearray, items: Iterable[DescribeQuorumRequestPartitionData], version: int
) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT32.pack(item.partition_index)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_ZERO.pack(item.partition_index)


def _read_describe_quorum_request_topic_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeQuorumRequestTopicData], int]:
    items: list[DescribeQuorumRequestTopicData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeQuorumRequestTopicData)
        n = data[at]
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 5 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_describe_quorum_request_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_quorum_request_topic_data(
    out: bytearray, items: Iterable[DescribeQuorumRequestTopicData], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
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
        _write_describe_quorum_request_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_replica_state(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ReplicaState], int]:
    items: list[ReplicaState] = []
    for _ in range(count):
        item = _new(ReplicaState)
        if version >= 2:
            (
                item.replica_id,
                item.replica_directory_id,
                item.log_end_offset,
                item.last_fetch_timestamp,
                item.last_caught_up_timestamp,
                tags,
            ) = _INT32_UUID_3INT64_BYTE.unpack_from(data, at)
            at += 45
        elif version >= 1:
            (
                item.replica_id,
                item.log_end_offset,
                item.last_fetch_timestamp,
                item.last_caught_up_timestamp,
                tags,
            ) = _INT32_3INT64_BYTE.unpack_from(data, at)
            at += 29
            item.replica_directory_id = ZERO_UUID
        else:
            item.replica_id, item.log_end_offset, tags = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            item.replica_directory_id = ZERO_UUID
            item.last_fetch_timestamp = -1
            item.last_caught_up_timestamp = -1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_replica_state(out: bytearray, items: Iterable[ReplicaState], version: int) -> None:
    for item in items:
        if version >= 2:
            if len(item.replica_directory_id) != 16:
                raise uuid_refused(item.replica_directory_id)
            if item.unknown_tagged_fields:
                out += _INT32_UUID_3INT64.pack(
                    item.replica_id,
                    item.replica_directory_id,
                    item.log_end_offset,
                    item.last_fetch_timestamp,
                    item.last_caught_up_timestamp,
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_UUID_3INT64_ZERO.pack(
                    item.replica_id,
                    item.replica_directory_id,
                    item.log_end_offset,
                    item.last_fetch_timestamp,
                    item.last_caught_up_timestamp,
                )
        elif version >= 1:
            if item.unknown_tagged_fields:
                out += _INT32_3INT64.pack(
                    item.replica_id,
                    item.log_end_offset,
                    item.last_fetch_timestamp,
                    item.last_caught_up_timestamp,
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_3INT64_ZERO.pack(
                    item.replica_id,
                    item.log_end_offset,
                    item.last_fetch_timestamp,
                    item.last_caught_up_timestamp,
                )
            if item.replica_directory_id != ZERO_UUID:
                raise not_in_version("replica_directory_id", version)
        else:
            if item.unknown_tagged_fields:
                out += _INT32_INT64.pack(item.replica_id, item.log_end_offset)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_INT64_ZERO.pack(item.replica_id, item.log_end_offset)
            if item.replica_directory_id != ZERO_UUID:
                raise not_in_version("replica_directory_id", version)


def _read_describe_quorum_response_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeQuorumResponsePartitionData], int]:
    items: list[DescribeQuorumResponsePartitionData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeQuorumResponsePartitionData)
        if version >= 2:
            item.partition_index, item.error_code, n = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 6
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        else:
            item.partition_index, item.error_code = _INT32_INT16.unpack_from(data, at)
            at += 6
            item.error_message = ""
        (
            item.leader_id,
            item.leader_epoch,
            item.high_watermark,
            n,
        ) = _S2INT32_INT64_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 13 <= limit - at:
            raise count_refused(n, limit - at)
        item.current_voters, at = _read_replica_state(data, at, version, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 13 <= limit - at:
            raise count_refused(n, limit - at)
        item.observers, at = _read_replica_state(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_quorum_response_partition_data(
    out: bytearray, items: Iterable[DescribeQuorumResponsePartitionData], version: int
) -> None:
    for item in items:
        if version >= 2:
            if item.error_message is None:
                raw = b""
                n = 0
            else:
                raw = item.error_message.encode()
                n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _INT32_INT16_BYTE.pack(item.partition_index, item.error_code, n)
            else:
                out += _INT32_INT16.pack(item.partition_index, item.error_code)
                write_string_length(out, n)
        else:
            out += _INT32_INT16.pack(item.partition_index, item.error_code)
        if version >= 2:
            out += raw
        n = len(item.current_voters) + 1
        if n < 128:
            out += _S2INT32_INT64_BYTE.pack(
                item.leader_id, item.leader_epoch, item.high_watermark, n
            )
        else:
            out += _S2INT32_INT64.pack(item.leader_id, item.leader_epoch, item.high_watermark)
            write_uvarint(out, n)
        _write_replica_state(out, item.current_voters, version)
        n = len(item.observers) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_replica_state(out, item.observers, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_describe_quorum_response_topic_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeQuorumResponseTopicData], int]:
    items: list[DescribeQuorumResponseTopicData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeQuorumResponseTopicData)
        n = data[at]
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 25 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_describe_quorum_response_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_quorum_response_topic_data(
    out: bytearray, items: Iterable[DescribeQuorumResponseTopicData], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
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
        _write_describe_quorum_response_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_listener(data: bytes, at: int, version: int, count: int) -> tuple[list[Listener], int]:
    items: list[Listener] = []
    for _ in range(count):
        item = _new(Listener)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
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


def _write_listener(out: bytearray, items: Iterable[Listener], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.host.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _UINT16.pack(item.port)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UINT16_ZERO.pack(item.port)


def _read_node(data: bytes, at: int, version: int, count: int) -> tuple[list[Node], int]:
    items: list[Node] = []
    limit = len(data)
    for _ in range(count):
        item = _new(Node)
        item.node_id, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 5 <= limit - at:
            raise count_refused(n, limit - at)
        item.listeners, at = _read_listener(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_node(out: bytearray, items: Iterable[Node], version: int) -> None:
    for item in items:
        n = len(item.listeners) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.node_id, n)
        else:
            out += _INT32.pack(item.node_id)
            write_uvarint(out, n)
        _write_listener(out, item.listeners, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request DescribeQuorumRequest key=55 versions=0-2 flexible=0+ listeners=broker,controller
  topics              []TopicData
    topicName         string
    partitions        []PartitionData
      partitionIndex  int32

response DescribeQuorumResponse key=55 versions=0-2 flexible=0+ listeners=broker,controller
  errorCode                    int16
  errorMessage                 string           2 nullable ignorable
  topics                       []TopicData
    topicName                  string
    partitions                 []PartitionData
      partitionIndex           int32
      errorCode                int16
      errorMessage             string           2 nullable ignorable
      leaderId                 int32
      leaderEpoch              int32
      highWatermark            int64
      currentVoters            []ReplicaState
        replicaId              int32
        replicaDirectoryId     uuid             2
        logEndOffset           int64
        lastFetchTimestamp     int64            1+ default=-1 ignorable
        lastCaughtUpTimestamp  int64            1+ default=-1 ignorable
      observers                []ReplicaState
  nodes                        []Node           2
    nodeId                     int32
    listeners                  []Listener
      name                     string
      host                     string
      port                     uint16
"""
