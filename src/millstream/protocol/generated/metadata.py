"""Metadata, API key 3, versions 0-13: request and response.

Written by `make codegen` from codegen/schemas/metadata.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
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
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    uuid_refused,
    write_compact_int32s,
    write_int32s,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_INT32: Final = Struct(">?i")
_INT16: Final = Struct(">h")
_INT16_2INT32: Final = Struct(">hii")
_INT16_3INT32: Final = Struct(">hiii")
_INT16_3INT32_BYTE: Final = Struct(">hiiiB")
_INT16_4INT32: Final = Struct(">hiiii")
_INT16_BYTE: Final = Struct(">hB")
_INT16_ZERO: Final = Struct(">hx")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_ZERO: Final = Struct(">ix")
_S2BOOL: Final = Struct(">??")
_S2BOOL_BYTE: Final = Struct(">??B")
_S2BOOL_ZERO: Final = Struct(">??x")
_S2INT16: Final = Struct(">hh")
_S2INT32: Final = Struct(">ii")
_S3BOOL: Final = Struct(">???")
_S3BOOL_BYTE: Final = Struct(">???B")
_S3BOOL_ZERO: Final = Struct(">???x")
_UUID: Final = Struct(">16s")
_UUID_BOOL: Final = Struct(">16s?")
_UUID_BOOL_BYTE: Final = Struct(">16s?B")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class MetadataRequestTopic(MessageValue):
    """In `MetadataRequest.topics`, versions 0-13."""

    __slots__ = ("topic_id", "name", "unknown_tagged_fields")

    topic_id: Uuid  # 10+
    name: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        name: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.name = name
        self.unknown_tagged_fields = unknown_tagged_fields


class MetadataRequest(MessageValue):
    """Request of API 3, versions 0-13."""

    __slots__ = (
        "topics",
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
        "unknown_tagged_fields",
    )

    topics: list[MetadataRequestTopic] | None
    allow_auto_topic_creation: bool  # 4+
    include_cluster_authorized_operations: bool  # 8-10
    include_topic_authorized_operations: bool  # 8+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None = UNSET,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 9

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 13:
            raise version_refused(type(self), version)
        try:
            if self.topics is None:
                if not (version >= 1):
                    raise must_not_be_null("topics", version)
                n = 0
            else:
                n = len(self.topics) + 1
            if version >= 9:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            if self.topics is not None:
                _write_metadata_request_topic(out, self.topics, version)
            if version >= 11:
                if self.unknown_tagged_fields:
                    out += _S2BOOL.pack(
                        self.allow_auto_topic_creation, self.include_topic_authorized_operations
                    )
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _S2BOOL_ZERO.pack(
                        self.allow_auto_topic_creation, self.include_topic_authorized_operations
                    )
                if self.include_cluster_authorized_operations:
                    raise not_in_version("include_cluster_authorized_operations", version)
            elif version >= 9:
                if self.unknown_tagged_fields:
                    out += _S3BOOL.pack(
                        self.allow_auto_topic_creation,
                        self.include_cluster_authorized_operations,
                        self.include_topic_authorized_operations,
                    )
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _S3BOOL_ZERO.pack(
                        self.allow_auto_topic_creation,
                        self.include_cluster_authorized_operations,
                        self.include_topic_authorized_operations,
                    )
            elif version >= 8:
                out += _S3BOOL.pack(
                    self.allow_auto_topic_creation,
                    self.include_cluster_authorized_operations,
                    self.include_topic_authorized_operations,
                )
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
            elif version >= 4:
                out += _BOOL.pack(self.allow_auto_topic_creation)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
                if self.include_cluster_authorized_operations:
                    raise not_in_version("include_cluster_authorized_operations", version)
                if self.include_topic_authorized_operations:
                    raise not_in_version("include_topic_authorized_operations", version)
            else:
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
                if not self.allow_auto_topic_creation:
                    raise not_in_version("allow_auto_topic_creation", version)
                if self.include_cluster_authorized_operations:
                    raise not_in_version("include_cluster_authorized_operations", version)
                if self.include_topic_authorized_operations:
                    raise not_in_version("include_topic_authorized_operations", version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 13:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 9:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if n < 0:
                if not (version >= 1):
                    raise null_refused()
                message.topics = None
            else:
                if not 0 <= n * 2 <= limit - at:
                    raise count_refused(n, limit - at)
                message.topics, at = _read_metadata_request_topic(data, at, version, n)
            if version >= 11:
                (
                    message.allow_auto_topic_creation,
                    message.include_topic_authorized_operations,
                    tags,
                ) = _S2BOOL_BYTE.unpack_from(data, at)
                at += 3
                message.include_cluster_authorized_operations = False
            elif version >= 9:
                (
                    message.allow_auto_topic_creation,
                    message.include_cluster_authorized_operations,
                    message.include_topic_authorized_operations,
                    tags,
                ) = _S3BOOL_BYTE.unpack_from(data, at)
                at += 4
            elif version >= 8:
                (
                    message.allow_auto_topic_creation,
                    message.include_cluster_authorized_operations,
                    message.include_topic_authorized_operations,
                ) = _S3BOOL.unpack_from(data, at)
                at += 3
                tags = 0
            elif version >= 4:
                (message.allow_auto_topic_creation,) = _BOOL.unpack_from(data, at)
                at += 1
                message.include_cluster_authorized_operations = False
                message.include_topic_authorized_operations = False
                tags = 0
            else:
                message.allow_auto_topic_creation = True
                message.include_cluster_authorized_operations = False
                message.include_topic_authorized_operations = False
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class MetadataResponseBroker(MessageValue):
    """In `MetadataResponse.brokers`, versions 0-13."""

    __slots__ = ("node_id", "host", "port", "rack", "unknown_tagged_fields")

    node_id: int
    host: str
    port: int
    rack: str | None  # 1+
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


class MetadataResponsePartition(MessageValue):
    """In `MetadataResponseTopic.partitions`, versions 0-13."""

    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
        "unknown_tagged_fields",
    )

    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int  # 7+
    replica_nodes: list[int]
    isr_nodes: list[int]
    offline_replicas: list[int]  # 5+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = UNSET,
        isr_nodes: list[int] = UNSET,
        offline_replicas: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is UNSET else replica_nodes
        self.isr_nodes = [] if isr_nodes is UNSET else isr_nodes
        self.offline_replicas = [] if offline_replicas is UNSET else offline_replicas
        self.unknown_tagged_fields = unknown_tagged_fields


class MetadataResponseTopic(MessageValue):
    """In `MetadataResponse.topics`, versions 0-13."""

    __slots__ = (
        "error_code",
        "name",
        "topic_id",
        "is_internal",
        "partitions",
        "topic_authorized_operations",
        "unknown_tagged_fields",
    )

    error_code: int
    name: str | None
    topic_id: Uuid  # 10+
    is_internal: bool  # 1+
    partitions: list[MetadataResponsePartition]
    topic_authorized_operations: int  # 8+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: Uuid = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] = UNSET,
        topic_authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is UNSET else partitions
        self.topic_authorized_operations = topic_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields


class MetadataResponse(MessageValue):
    """Response of API 3, versions 0-13."""

    __slots__ = (
        "throttle_time_ms",
        "brokers",
        "cluster_id",
        "controller_id",
        "topics",
        "cluster_authorized_operations",
        "error_code",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int  # 3+
    brokers: list[MetadataResponseBroker]
    cluster_id: str | None  # 2+
    controller_id: int  # 1+
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: int  # 8-10
    error_code: int  # 13
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = UNSET,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = UNSET,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is UNSET else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is UNSET else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 9

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 13:
            raise version_refused(type(self), version)
        try:
            n = len(self.brokers) + 1
            if version >= 9:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            elif version >= 3:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            else:
                out += _INT32.pack(n - 1)
            _write_metadata_response_broker(out, self.brokers, version)
            if version >= 2:
                if self.cluster_id is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.cluster_id.encode()
                    n = len(raw) + 1
            if version >= 9:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif version >= 2:
                out += _INT16.pack(n - 1)
            if version >= 2:
                out += raw
            n = len(self.topics) + 1
            if version >= 9:
                if n < 128:
                    out += _INT32_BYTE.pack(self.controller_id, n)
                else:
                    out += _INT32.pack(self.controller_id)
                    write_uvarint(out, n)
            elif version >= 1:
                out += _S2INT32.pack(self.controller_id, n - 1)
            else:
                out += _INT32.pack(n - 1)
            _write_metadata_response_topic(out, self.topics, version)
            if version >= 13:
                if self.unknown_tagged_fields:
                    out += _INT16.pack(self.error_code)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT16_ZERO.pack(self.error_code)
                if self.cluster_authorized_operations != -2147483648:
                    raise not_in_version("cluster_authorized_operations", version)
            elif version >= 11:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
                if self.cluster_authorized_operations != -2147483648:
                    raise not_in_version("cluster_authorized_operations", version)
            elif version >= 9:
                if self.unknown_tagged_fields:
                    out += _INT32.pack(self.cluster_authorized_operations)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_ZERO.pack(self.cluster_authorized_operations)
            elif version >= 8:
                out += _INT32.pack(self.cluster_authorized_operations)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
            else:
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
                if self.cluster_authorized_operations != -2147483648:
                    raise not_in_version("cluster_authorized_operations", version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 13:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 9:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 3:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.throttle_time_ms = 0
            if not 0 <= n * 10 <= limit - at:
                raise count_refused(n, limit - at)
            message.brokers, at = _read_metadata_response_broker(data, at, version, n)
            if version >= 9:
                n = data[at]
                if 0 < n < 128:
                    message.cluster_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.cluster_id, at = read_compact_string_or_null(data, at)
            elif version >= 2:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    message.cluster_id = None
                else:
                    message.cluster_id = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            else:
                message.cluster_id = None
            if version >= 9:
                message.controller_id, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 1:
                message.controller_id, n = _S2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.controller_id = -1
            if not 0 <= n * 8 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_metadata_response_topic(data, at, version, n)
            if version >= 13:
                message.error_code, tags = _INT16_BYTE.unpack_from(data, at)
                at += 3
                message.cluster_authorized_operations = -2147483648
            elif version >= 11:
                tags = data[at]
                at += 1
                message.cluster_authorized_operations = -2147483648
                message.error_code = 0
            elif version >= 9:
                message.cluster_authorized_operations, tags = _INT32_BYTE.unpack_from(data, at)
                at += 5
                message.error_code = 0
            elif version >= 8:
                (message.cluster_authorized_operations,) = _INT32.unpack_from(data, at)
                at += 4
                message.error_code = 0
                tags = 0
            else:
                message.cluster_authorized_operations = -2147483648
                message.error_code = 0
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_metadata_request_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[MetadataRequestTopic], int]:
    items: list[MetadataRequestTopic] = []
    for _ in range(count):
        item = _new(MetadataRequestTopic)
        if version >= 10:
            item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string_or_null(data, at)
        elif version >= 9:
            n = data[at]
            item.topic_id = ZERO_UUID
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                if version >= 10:
                    item.name, at = read_compact_string_or_null(data, at)
                else:
                    item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            item.topic_id = ZERO_UUID
            if n < 0:
                if not (version >= 10):
                    raise null_refused()
                item.name = None
            else:
                item.name = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 9:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_metadata_request_topic(
    out: bytearray, items: Iterable[MetadataRequestTopic], version: int
) -> None:
    for item in items:
        if item.name is None:
            if not (version >= 10):
                raise must_not_be_null("name", version)
            raw = b""
            n = 0
        else:
            raw = item.name.encode()
            n = len(raw) + 1
        if version >= 10:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_BYTE.pack(item.topic_id, n)
            else:
                out += _UUID.pack(item.topic_id)
                write_string_length(out, n)
        elif version >= 9:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 9:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_metadata_response_broker(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[MetadataResponseBroker], int]:
    items: list[MetadataResponseBroker] = []
    for _ in range(count):
        item = _new(MetadataResponseBroker)
        if version >= 9:
            item.node_id, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if 0 < n < 128:
                item.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.host, at = read_compact_string(data, at)
        else:
            item.node_id, n = _INT32_INT16.unpack_from(data, at)
            at += 6
            if n < 0:
                raise null_refused()
            item.host = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 9:
            item.port, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if 0 < n < 128:
                item.rack = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.rack, at = read_compact_string_or_null(data, at)
        elif version >= 1:
            item.port, n = _INT32_INT16.unpack_from(data, at)
            at += 6
            if n < 0:
                item.rack = None
            else:
                item.rack = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        else:
            (item.port,) = _INT32.unpack_from(data, at)
            at += 4
            item.rack = None
        if version >= 9:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_metadata_response_broker(
    out: bytearray, items: Iterable[MetadataResponseBroker], version: int
) -> None:
    for item in items:
        raw = item.host.encode()
        n = len(raw) + 1
        if version >= 9:
            if n < 128:
                out += _INT32_BYTE.pack(item.node_id, n)
            else:
                out += _INT32.pack(item.node_id)
                write_string_length(out, n)
        else:
            out += _INT32_INT16.pack(item.node_id, n - 1)
        out += raw
        if version >= 1:
            if item.rack is None:
                raw = b""
                n = 0
            else:
                raw = item.rack.encode()
                n = len(raw) + 1
        if version >= 9:
            if n < 128:
                out += _INT32_BYTE.pack(item.port, n)
            else:
                out += _INT32.pack(item.port)
                write_string_length(out, n)
        elif version >= 1:
            out += _INT32_INT16.pack(item.port, n - 1)
        else:
            out += _INT32.pack(item.port)
        if version >= 1:
            out += raw
        if version >= 9:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_metadata_response_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[MetadataResponsePartition], int]:
    items: list[MetadataResponsePartition] = []
    for _ in range(count):
        item = _new(MetadataResponsePartition)
        if version >= 9:
            (
                item.error_code,
                item.partition_index,
                item.leader_id,
                item.leader_epoch,
                n,
            ) = _INT16_3INT32_BYTE.unpack_from(data, at)
            at += 14
            if 0 < n < 17:
                item.replica_nodes = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.replica_nodes, at = read_compact_int32s(data, at)
        elif version >= 7:
            (
                item.error_code,
                item.partition_index,
                item.leader_id,
                item.leader_epoch,
                n,
            ) = _INT16_4INT32.unpack_from(data, at)
            at += 18
            item.replica_nodes, at = read_integers(data, at, n, "i", 4)
        else:
            (
                item.error_code,
                item.partition_index,
                item.leader_id,
                n,
            ) = _INT16_3INT32.unpack_from(data, at)
            at += 14
            item.leader_epoch = -1
            item.replica_nodes, at = read_integers(data, at, n, "i", 4)
        if version >= 9:
            n = data[at]
            if 0 < n < 17:
                item.isr_nodes = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.isr_nodes, at = read_compact_int32s(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            item.isr_nodes, at = read_integers(data, at, n, "i", 4)
        if version >= 9:
            n = data[at]
            if 0 < n < 17:
                item.offline_replicas = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.offline_replicas, at = read_compact_int32s(data, at)
        elif version >= 5:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            item.offline_replicas, at = read_integers(data, at, n, "i", 4)
        else:
            item.offline_replicas = []
        if version >= 9:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_metadata_response_partition(
    out: bytearray, items: Iterable[MetadataResponsePartition], version: int
) -> None:
    for item in items:
        if version >= 9:
            out += _INT16_3INT32.pack(
                item.error_code, item.partition_index, item.leader_id, item.leader_epoch
            )
        elif version >= 7:
            out += _INT16_3INT32.pack(
                item.error_code, item.partition_index, item.leader_id, item.leader_epoch
            )
        else:
            out += _INT16_2INT32.pack(item.error_code, item.partition_index, item.leader_id)
        if version >= 9:
            write_compact_int32s(out, item.replica_nodes)
        else:
            write_int32s(out, item.replica_nodes)
        if version >= 9:
            write_compact_int32s(out, item.isr_nodes)
        else:
            write_int32s(out, item.isr_nodes)
        if version >= 5:
            if version >= 9:
                write_compact_int32s(out, item.offline_replicas)
            else:
                write_int32s(out, item.offline_replicas)
        if version >= 9:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_metadata_response_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[MetadataResponseTopic], int]:
    items: list[MetadataResponseTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(MetadataResponseTopic)
        if version >= 9:
            item.error_code, n = _INT16_BYTE.unpack_from(data, at)
            at += 2
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                if version >= 12:
                    item.name, at = read_compact_string_or_null(data, at)
                else:
                    item.name, at = read_compact_string(data, at)
        else:
            item.error_code, n = _S2INT16.unpack_from(data, at)
            at += 4
            if n < 0:
                if not (version >= 12):
                    raise null_refused()
                item.name = None
            else:
                item.name = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 10:
            item.topic_id, item.is_internal, n = _UUID_BOOL_BYTE.unpack_from(data, at)
            at += 17
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 9:
            item.is_internal, n = _BOOL_BYTE.unpack_from(data, at)
            at += 1
            item.topic_id = ZERO_UUID
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 1:
            item.is_internal, n = _BOOL_INT32.unpack_from(data, at)
            at += 5
            item.topic_id = ZERO_UUID
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            item.topic_id = ZERO_UUID
            item.is_internal = False
        if not 0 <= n * 18 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_metadata_response_partition(data, at, version, n)
        if version >= 9:
            item.topic_authorized_operations, tags = _INT32_BYTE.unpack_from(data, at)
            at += 5
        elif version >= 8:
            (item.topic_authorized_operations,) = _INT32.unpack_from(data, at)
            at += 4
            tags = 0
        else:
            item.topic_authorized_operations = -2147483648
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_metadata_response_topic(
    out: bytearray, items: Iterable[MetadataResponseTopic], version: int
) -> None:
    for item in items:
        if item.name is None:
            if not (version >= 12):
                raise must_not_be_null("name", version)
            raw = b""
            n = 0
        else:
            raw = item.name.encode()
            n = len(raw) + 1
        if version >= 9:
            if n < 128:
                out += _INT16_BYTE.pack(item.error_code, n)
            else:
                out += _INT16.pack(item.error_code)
                write_string_length(out, n)
        else:
            out += _S2INT16.pack(item.error_code, n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 10:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_BOOL_BYTE.pack(item.topic_id, item.is_internal, n)
            else:
                out += _UUID_BOOL.pack(item.topic_id, item.is_internal)
                write_uvarint(out, n)
        elif version >= 9:
            if n < 128:
                out += _BOOL_BYTE.pack(item.is_internal, n)
            else:
                out += _BOOL.pack(item.is_internal)
                write_uvarint(out, n)
        elif version >= 1:
            out += _BOOL_INT32.pack(item.is_internal, n - 1)
        else:
            out += _INT32.pack(n - 1)
        _write_metadata_response_partition(out, item.partitions, version)
        if version >= 9:
            if item.unknown_tagged_fields:
                out += _INT32.pack(item.topic_authorized_operations)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_ZERO.pack(item.topic_authorized_operations)
        elif version >= 8:
            out += _INT32.pack(item.topic_authorized_operations)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        else:
            if item.unknown_tagged_fields:
                raise tags_refused(version)
            if item.topic_authorized_operations != -2147483648:
                raise not_in_version("topic_authorized_operations", version)

SCHEMA: Final = """\
request MetadataRequest key=3 versions=0-13 flexible=9+ listeners=broker
  topics                              []MetadataRequestTopic  nullable=1+
    topicId                           uuid                    10+ ignorable
    name                              string                  nullable=10+
  allowAutoTopicCreation              bool                    4+ default=true
  includeClusterAuthorizedOperations  bool                    8-10
  includeTopicAuthorizedOperations    bool                    8+

response MetadataResponse key=3 versions=0-13 flexible=9+ listeners=broker
  throttleTimeMs               int32                        3+ ignorable
  brokers                      []MetadataResponseBroker
    nodeId                     int32
    host                       string
    port                       int32
    rack                       string                       1+ nullable default=null ignorable
  clusterId                    string                       2+ nullable default=null ignorable
  controllerId                 int32                        1+ default=-1 ignorable
  topics                       []MetadataResponseTopic
    errorCode                  int16
    name                       string                       nullable=12+
    topicId                    uuid                         10+ ignorable
    isInternal                 bool                         1+ ignorable
    partitions                 []MetadataResponsePartition
      errorCode                int16
      partitionIndex           int32
      leaderId                 int32
      leaderEpoch              int32                        7+ default=-1 ignorable
      replicaNodes             []int32
      isrNodes                 []int32
      offlineReplicas          []int32                      5+ ignorable
    topicAuthorizedOperations  int32                        8+ default=-2147483648
  clusterAuthorizedOperations  int32                        8-10 default=-2147483648
  errorCode                    int16                        13 ignorable
"""
