"""BeginQuorumEpoch, API key 53, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/begin_quorum_epoch.txt.
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
    not_in_version,
    tags_refused,
    uuid_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT16_INT32: Final = Struct(">hi")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16_2INT32: Final = Struct(">ihii")
_INT32_INT16_2INT32_BYTE: Final = Struct(">ihiiB")
_INT32_INT16_2INT32_ZERO: Final = Struct(">ihiix")
_INT32_UUID_2INT32: Final = Struct(">i16sii")
_INT32_UUID_2INT32_BYTE: Final = Struct(">i16siiB")
_INT32_UUID_2INT32_ZERO: Final = Struct(">i16siix")
_S3INT32: Final = Struct(">iii")
_UINT16: Final = Struct(">H")
_UINT16_BYTE: Final = Struct(">HB")
_UINT16_ZERO: Final = Struct(">Hx")
_new: Final = object.__new__


class BeginQuorumEpochRequestPartitionData(MessageValue):
    """In `BeginQuorumEpochRequestTopicData.partitions`, versions 0-1."""

    __slots__ = (
        "partition_index",
        "voter_directory_id",
        "leader_id",
        "leader_epoch",
        "unknown_tagged_fields",
    )

    partition_index: int
    voter_directory_id: Uuid  # 1
    leader_id: int
    leader_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        voter_directory_id: Uuid = ZERO_UUID,
        leader_id: int = 0,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.voter_directory_id = voter_directory_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class BeginQuorumEpochRequestTopicData(MessageValue):
    """In `BeginQuorumEpochRequest.topics`, versions 0-1."""

    __slots__ = ("topic_name", "partitions", "unknown_tagged_fields")

    topic_name: str
    partitions: list[BeginQuorumEpochRequestPartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[BeginQuorumEpochRequestPartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class LeaderEndpoint(MessageValue):
    """In `BeginQuorumEpochRequest.leader_endpoints`, version 1."""

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


class BeginQuorumEpochRequest(MessageValue):
    """Request of API 53, versions 0-1."""

    __slots__ = ("cluster_id", "voter_id", "topics", "leader_endpoints", "unknown_tagged_fields")

    cluster_id: str | None
    voter_id: int  # 1
    topics: list[BeginQuorumEpochRequestTopicData]
    leader_endpoints: list[LeaderEndpoint]  # 1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[BeginQuorumEpochRequestTopicData] = UNSET,
        leader_endpoints: list[LeaderEndpoint] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is UNSET else topics
        self.leader_endpoints = [] if leader_endpoints is UNSET else leader_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 53
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            if self.cluster_id is None:
                raw = b""
                n = 0
            else:
                raw = self.cluster_id.encode()
                n = len(raw) + 1
            if version >= 1:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            n = len(self.topics) + 1
            if version >= 1:
                if n < 128:
                    out += _INT32_BYTE.pack(self.voter_id, n)
                else:
                    out += _INT32.pack(self.voter_id)
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_begin_quorum_epoch_request_topic_data(out, self.topics, version)
            if version >= 1:
                n = len(self.leader_endpoints) + 1
            if version >= 1:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            if version >= 1:
                _write_leader_endpoint(out, self.leader_endpoints, version)
            if version >= 1:
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
        if not 0 <= version <= 1:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 1:
                n = data[at]
                if 0 < n < 128:
                    message.cluster_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.cluster_id, at = read_compact_string_or_null(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    message.cluster_id = None
                else:
                    message.cluster_id = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            if version >= 1:
                message.voter_id, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.voter_id = -1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_begin_quorum_epoch_request_topic_data(data, at, version, n)
            if version >= 1:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.leader_endpoints = []
            if version >= 1:
                if not 0 <= n * 5 <= limit - at:
                    raise count_refused(n, limit - at)
                message.leader_endpoints, at = _read_leader_endpoint(data, at, version, n)
            if version >= 1:
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


class BeginQuorumEpochResponsePartitionData(MessageValue):
    """In `BeginQuorumEpochResponseTopicData.partitions`, versions 0-1."""

    __slots__ = (
        "partition_index", "error_code", "leader_id", "leader_epoch", "unknown_tagged_fields"
    )

    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class BeginQuorumEpochResponseTopicData(MessageValue):
    """In `BeginQuorumEpochResponse.topics`, versions 0-1."""

    __slots__ = ("topic_name", "partitions", "unknown_tagged_fields")

    topic_name: str
    partitions: list[BeginQuorumEpochResponsePartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[BeginQuorumEpochResponsePartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class NodeEndpoint(MessageValue):
    """In `BeginQuorumEpochResponse.node_endpoints`, version 1."""

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


class BeginQuorumEpochResponse(MessageValue):
    """Response of API 53, versions 0-1."""

    __slots__ = ("error_code", "topics", "node_endpoints", "unknown_tagged_fields")

    error_code: int
    topics: list[BeginQuorumEpochResponseTopicData]
    node_endpoints: list[NodeEndpoint]  # 1, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        topics: list[BeginQuorumEpochResponseTopicData] = UNSET,
        node_endpoints: list[NodeEndpoint] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is UNSET else topics
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 53
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 1:
                if n < 128:
                    out += _INT16_BYTE.pack(self.error_code, n)
                else:
                    out += _INT16.pack(self.error_code)
                    write_uvarint(out, n)
            else:
                out += _INT16_INT32.pack(self.error_code, n - 1)
            _write_begin_quorum_epoch_response_topic_data(out, self.topics, version)
            if version >= 1:
                if self.node_endpoints or self.unknown_tagged_fields:
                    _write_begin_quorum_epoch_response_tags(out, self, version)
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
        if not 0 <= version <= 1:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 1:
                message.error_code, n = _INT16_BYTE.unpack_from(data, at)
                at += 2
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.error_code, n = _INT16_INT32.unpack_from(data, at)
                at += 6
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_begin_quorum_epoch_response_topic_data(data, at, version, n)
            if version >= 1:
                tags = data[at]
                at += 1
            else:
                tags = 0
            message.node_endpoints = []
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_begin_quorum_epoch_response_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_begin_quorum_epoch_request_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[BeginQuorumEpochRequestPartitionData], int]:
    items: list[BeginQuorumEpochRequestPartitionData] = []
    for _ in range(count):
        item = _new(BeginQuorumEpochRequestPartitionData)
        if version >= 1:
            (
                item.partition_index,
                item.voter_directory_id,
                item.leader_id,
                item.leader_epoch,
                tags,
            ) = _INT32_UUID_2INT32_BYTE.unpack_from(data, at)
            at += 29
        else:
            item.partition_index, item.leader_id, item.leader_epoch = _S3INT32.unpack_from(data, at)
            at += 12
            item.voter_directory_id = ZERO_UUID
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_begin_quorum_epoch_request_partition_data(
    out: bytearray, items: Iterable[BeginQuorumEpochRequestPartitionData], version: int
) -> None:
    for item in items:
        if version >= 1:
            if len(item.voter_directory_id) != 16:
                raise uuid_refused(item.voter_directory_id)
            if item.unknown_tagged_fields:
                out += _INT32_UUID_2INT32.pack(
                    item.partition_index, item.voter_directory_id, item.leader_id, item.leader_epoch
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_UUID_2INT32_ZERO.pack(
                    item.partition_index, item.voter_directory_id, item.leader_id, item.leader_epoch
                )
        else:
            out += _S3INT32.pack(item.partition_index, item.leader_id, item.leader_epoch)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_begin_quorum_epoch_request_topic_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[BeginQuorumEpochRequestTopicData], int]:
    items: list[BeginQuorumEpochRequestTopicData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(BeginQuorumEpochRequestTopicData)
        if version >= 1:
            n = data[at]
            if 0 < n < 128:
                item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.topic_name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.topic_name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 1:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 12 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_begin_quorum_epoch_request_partition_data(data, at, version, n)
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


def _write_begin_quorum_epoch_request_topic_data(
    out: bytearray, items: Iterable[BeginQuorumEpochRequestTopicData], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_begin_quorum_epoch_request_partition_data(out, item.partitions, version)
        if version >= 1:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_leader_endpoint(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[LeaderEndpoint], int]:
    items: list[LeaderEndpoint] = []
    for _ in range(count):
        item = _new(LeaderEndpoint)
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


def _write_leader_endpoint(out: bytearray, items: Iterable[LeaderEndpoint], version: int) -> None:
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


def _read_begin_quorum_epoch_response_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[BeginQuorumEpochResponsePartitionData], int]:
    items: list[BeginQuorumEpochResponsePartitionData] = []
    for _ in range(count):
        item = _new(BeginQuorumEpochResponsePartitionData)
        if version >= 1:
            (
                item.partition_index,
                item.error_code,
                item.leader_id,
                item.leader_epoch,
                tags,
            ) = _INT32_INT16_2INT32_BYTE.unpack_from(data, at)
            at += 15
        else:
            (
                item.partition_index,
                item.error_code,
                item.leader_id,
                item.leader_epoch,
            ) = _INT32_INT16_2INT32.unpack_from(data, at)
            at += 14
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_begin_quorum_epoch_response_partition_data(
    out: bytearray, items: Iterable[BeginQuorumEpochResponsePartitionData], version: int
) -> None:
    for item in items:
        if version >= 1:
            if item.unknown_tagged_fields:
                out += _INT32_INT16_2INT32.pack(
                    item.partition_index, item.error_code, item.leader_id, item.leader_epoch
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_INT16_2INT32_ZERO.pack(
                    item.partition_index, item.error_code, item.leader_id, item.leader_epoch
                )
        else:
            out += _INT32_INT16_2INT32.pack(
                item.partition_index, item.error_code, item.leader_id, item.leader_epoch
            )
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_begin_quorum_epoch_response_topic_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[BeginQuorumEpochResponseTopicData], int]:
    items: list[BeginQuorumEpochResponseTopicData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(BeginQuorumEpochResponseTopicData)
        if version >= 1:
            n = data[at]
            if 0 < n < 128:
                item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.topic_name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.topic_name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 1:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 14 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_begin_quorum_epoch_response_partition_data(data, at, version, n)
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


def _write_begin_quorum_epoch_response_topic_data(
    out: bytearray, items: Iterable[BeginQuorumEpochResponseTopicData], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 1:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_begin_quorum_epoch_response_partition_data(out, item.partitions, version)
        if version >= 1:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


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


def _read_begin_quorum_epoch_response_tags(
    item: BeginQuorumEpochResponse, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
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


def _write_begin_quorum_epoch_response_tags(
    section: bytearray, item: BeginQuorumEpochResponse, version: int
) -> None:
    known: list[TaggedField] = []
    if item.node_endpoints:
        out = bytearray()
        write_uvarint(out, len(item.node_endpoints) + 1)
        _write_node_endpoint(out, item.node_endpoints, version)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)

SCHEMA: Final = """\
request BeginQuorumEpochRequest key=53 versions=0-1 flexible=1+ listeners=controller
  clusterId             string            nullable default=null
  voterId               int32             1 default=-1 ignorable
  topics                []TopicData
    topicName           string
    partitions          []PartitionData
      partitionIndex    int32
      voterDirectoryId  uuid              1 ignorable
      leaderId          int32
      leaderEpoch       int32
  leaderEndpoints       []LeaderEndpoint  1 ignorable
    name                string
    host                string
    port                uint16

response BeginQuorumEpochResponse key=53 versions=0-1 flexible=1+ listeners=controller
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
