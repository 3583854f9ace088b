"""Metadata, API key 3, versions 0-13: request and response.

Written by `make codegen` from codegen/schemas/metadata.txt.
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
from millstream.protocol.writing import WRITE_FAILURES, must_not_be_null, not_in_version, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_2BOOL: Final = Struct(">??")
_S_2BOOL_BYTE: Final = Struct(">??B")
_S_2INT16: Final = Struct(">hh")
_S_2INT32: Final = Struct(">ii")
_S_3BOOL: Final = Struct(">???")
_S_3BOOL_BYTE: Final = Struct(">???B")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_BOOL_INT32: Final = Struct(">?i")
_S_INT16: Final = Struct(">h")
_S_INT16_2INT32: Final = Struct(">hii")
_S_INT16_3INT32: Final = Struct(">hiii")
_S_INT16_3INT32_BYTE: Final = Struct(">hiiiB")
_S_INT16_4INT32: Final = Struct(">hiiii")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_UUID: Final = Struct(">16s")
_S_UUID_BOOL: Final = Struct(">16s?")
_S_UUID_BOOL_BYTE: Final = Struct(">16s?B")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class MetadataRequestTopic:
    topic_id: Uuid = ZERO_UUID  # 10+
    name: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class MetadataRequest:
    topics: list[MetadataRequestTopic] | None = field(default_factory=list)
    allow_auto_topic_creation: bool = True  # 4+
    include_cluster_authorized_operations: bool = False  # 8-10
    include_topic_authorized_operations: bool = False  # 8+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 9

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 13:
            raise unsupported(self, version)
        item = self
        try:
            if item.topics is None:
                if not (version >= 1):
                    raise must_not_be_null("topics", version)
                if version >= 9:
                    out.append(0)
                else:
                    out += b"\xff\xff\xff\xff"
            else:
                if version >= 9:
                    write_length(out, len(item.topics))
                else:
                    out += _S_INT32.pack(len(item.topics))
                _write_metadata_request_topic(out, item.topics, version)
            if version >= 11:
                out += _S_2BOOL.pack(item.allow_auto_topic_creation, item.include_topic_authorized_operations)
                if item.include_cluster_authorized_operations:
                    raise not_in_version("include_cluster_authorized_operations", version)
            elif version >= 8:
                out += _S_3BOOL.pack(item.allow_auto_topic_creation, item.include_cluster_authorized_operations, item.include_topic_authorized_operations)
            elif version >= 4:
                out += _S_BOOL.pack(item.allow_auto_topic_creation)
                if item.include_cluster_authorized_operations:
                    raise not_in_version("include_cluster_authorized_operations", version)
                if item.include_topic_authorized_operations:
                    raise not_in_version("include_topic_authorized_operations", version)
            else:
                if not item.allow_auto_topic_creation:
                    raise not_in_version("allow_auto_topic_creation", version)
                if item.include_cluster_authorized_operations:
                    raise not_in_version("include_cluster_authorized_operations", version)
                if item.include_topic_authorized_operations:
                    raise not_in_version("include_topic_authorized_operations", version)
            if item.unknown_tagged_fields:
                if version < 9:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 9:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 13:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 9:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if n < 0:
                if not (version >= 1):
                    raise null_refused()
                item.topics = None
            else:
                if not 0 <= n * 2 <= limit - at:
                    raise count_refused(n, limit - at)
                item.topics, at = _read_metadata_request_topic(data, at, version, n)
            if version >= 11:
                item.allow_auto_topic_creation, item.include_topic_authorized_operations, tags = _S_2BOOL_BYTE.unpack_from(data, at)
                at += 3
                item.include_cluster_authorized_operations = False
            elif version >= 9:
                item.allow_auto_topic_creation, item.include_cluster_authorized_operations, item.include_topic_authorized_operations, tags = _S_3BOOL_BYTE.unpack_from(data, at)
                at += 4
            elif version >= 8:
                item.allow_auto_topic_creation, item.include_cluster_authorized_operations, item.include_topic_authorized_operations = _S_3BOOL.unpack_from(data, at)
                at += 3
                tags = 0
            elif version >= 4:
                (item.allow_auto_topic_creation,) = _S_BOOL.unpack_from(data, at)
                at += 1
                tags = 0
                item.include_cluster_authorized_operations = False
                item.include_topic_authorized_operations = False
            else:
                tags = 0
                item.allow_auto_topic_creation = True
                item.include_cluster_authorized_operations = False
                item.include_topic_authorized_operations = False
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class MetadataResponseBroker:
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None  # 1+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class MetadataResponsePartition:
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1  # 7+
    replica_nodes: list[int] = field(default_factory=list)
    isr_nodes: list[int] = field(default_factory=list)
    offline_replicas: list[int] = field(default_factory=list)  # 5+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class MetadataResponseTopic:
    error_code: int = 0
    name: str | None = ""
    topic_id: Uuid = ZERO_UUID  # 10+
    is_internal: bool = False  # 1+
    partitions: list[MetadataResponsePartition] = field(default_factory=list)
    topic_authorized_operations: int = -2147483648  # 8+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class MetadataResponse:
    throttle_time_ms: int = 0  # 3+
    brokers: list[MetadataResponseBroker] = field(default_factory=list)
    cluster_id: str | None = None  # 2+
    controller_id: int = -1  # 1+
    topics: list[MetadataResponseTopic] = field(default_factory=list)
    cluster_authorized_operations: int = -2147483648  # 8-10
    error_code: int = 0  # 13
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 9

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 13:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                out += _S_INT32.pack(item.throttle_time_ms)
            else:
                pass
            if version >= 9:
                write_length(out, len(item.brokers))
            else:
                out += _S_INT32.pack(len(item.brokers))
            _write_metadata_response_broker(out, item.brokers, version)
            if version >= 2:
                if item.cluster_id is None:
                    if version >= 9:
                        out.append(0)
                    else:
                        out += b"\xff\xff"
                else:
                    if version >= 9:
                        write_compact_string(out, item.cluster_id)
                    else:
                        write_string(out, item.cluster_id)
            if version >= 1:
                out += _S_INT32.pack(item.controller_id)
            else:
                pass
            if version >= 9:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_metadata_response_topic(out, item.topics, version)
            if version >= 13:
                out += _S_INT16.pack(item.error_code)
                if item.cluster_authorized_operations != -2147483648:
                    raise not_in_version("cluster_authorized_operations", version)
            elif version >= 11:
                if item.cluster_authorized_operations != -2147483648:
                    raise not_in_version("cluster_authorized_operations", version)
            elif version >= 8:
                out += _S_INT32.pack(item.cluster_authorized_operations)
            else:
                if item.cluster_authorized_operations != -2147483648:
                    raise not_in_version("cluster_authorized_operations", version)
            if item.unknown_tagged_fields:
                if version < 9:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 9:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 13:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 9:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 3:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.throttle_time_ms = 0
            if not 0 <= n * 10 <= limit - at:
                raise count_refused(n, limit - at)
            item.brokers, at = _read_metadata_response_broker(data, at, version, n)
            if version >= 9:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 2:
                (n,) = _S_INT16.unpack_from(data, at)
                at += 2
            else:
                pass
            if version >= 2:
                if n < 0:
                    item.cluster_id = None
                else:
                    at += n
                    item.cluster_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.cluster_id = None
            if version >= 9:
                item.controller_id, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                item.controller_id, n = _S_2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.controller_id = -1
            if not 0 <= n * 8 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_metadata_response_topic(data, at, version, n)
            if version >= 13:
                item.error_code, tags = _S_INT16_BYTE.unpack_from(data, at)
                at += 3
                item.cluster_authorized_operations = -2147483648
            elif version >= 11:
                tags = data[at]
                at += 1
                item.cluster_authorized_operations = -2147483648
                item.error_code = 0
            elif version >= 9:
                item.cluster_authorized_operations, tags = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                item.error_code = 0
            elif version >= 8:
                (item.cluster_authorized_operations,) = _S_INT32.unpack_from(data, at)
                at += 4
                tags = 0
                item.error_code = 0
            else:
                tags = 0
                item.cluster_authorized_operations = -2147483648
                item.error_code = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_metadata_request_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[MetadataRequestTopic], int]:
    items: list[MetadataRequestTopic] = []
    for _ in range(count):
        item = _new(MetadataRequestTopic)
        if version >= 10:
            item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 9:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            item.topic_id = ZERO_UUID
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            item.topic_id = ZERO_UUID
        if n < 0:
            if not (version >= 10):
                raise null_refused()
            item.name = None
        else:
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_metadata_request_topic(out: bytearray, items: Iterable[MetadataRequestTopic], version: int) -> None:
    for item in items:
        if version >= 10:
            out += _S_UUID.pack(item.topic_id)
        else:
            pass
        if item.name is None:
            if not (version >= 10):
                raise must_not_be_null("name", version)
            if version >= 9:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 9:
                write_compact_string(out, item.name)
            else:
                write_string(out, item.name)
        if item.unknown_tagged_fields:
            if version < 9:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 9:
            out.append(0)


def _read_metadata_response_broker(data: bytes, at: int, version: int, count: int) -> tuple[list[MetadataResponseBroker], int]:
    items: list[MetadataResponseBroker] = []
    for _ in range(count):
        item = _new(MetadataResponseBroker)
        if version >= 9:
            item.node_id, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.node_id, n = _S_INT32_INT16.unpack_from(data, at)
            at += 6
        if n < 0:
            raise null_refused()
        at += n
        item.host = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 9:
            item.port, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 1:
            item.port, n = _S_INT32_INT16.unpack_from(data, at)
            at += 6
        else:
            (item.port,) = _S_INT32.unpack_from(data, at)
            at += 4
        if version >= 1:
            if n < 0:
                item.rack = None
            else:
                at += n
                item.rack = data[at - n : at].decode("utf-8", LENIENT)
        else:
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


def _write_metadata_response_broker(out: bytearray, items: Iterable[MetadataResponseBroker], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.node_id)
        if version >= 9:
            write_compact_string(out, item.host)
        else:
            write_string(out, item.host)
        out += _S_INT32.pack(item.port)
        if version >= 1:
            if item.rack is None:
                if version >= 9:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 9:
                    write_compact_string(out, item.rack)
                else:
                    write_string(out, item.rack)
        if item.unknown_tagged_fields:
            if version < 9:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 9:
            out.append(0)


def _read_metadata_response_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[MetadataResponsePartition], int]:
    items: list[MetadataResponsePartition] = []
    for _ in range(count):
        item = _new(MetadataResponsePartition)
        if version >= 9:
            item.error_code, item.partition_index, item.leader_id, item.leader_epoch, n = _S_INT16_3INT32_BYTE.unpack_from(data, at)
            at += 15
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        elif version >= 7:
            item.error_code, item.partition_index, item.leader_id, item.leader_epoch, n = _S_INT16_4INT32.unpack_from(data, at)
            at += 18
        else:
            item.error_code, item.partition_index, item.leader_id, n = _S_INT16_3INT32.unpack_from(data, at)
            at += 14
            item.leader_epoch = -1
        item.replica_nodes, at = read_integers(data, at, n, "i", 4)
        if version >= 9:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        item.isr_nodes, at = read_integers(data, at, n, "i", 4)
        if version >= 9:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        elif version >= 5:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        else:
            pass
        if version >= 5:
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


def _write_metadata_response_partition(out: bytearray, items: Iterable[MetadataResponsePartition], version: int) -> None:
    for item in items:
        if version >= 7:
            out += _S_INT16_3INT32.pack(item.error_code, item.partition_index, item.leader_id, item.leader_epoch)
        else:
            out += _S_INT16_2INT32.pack(item.error_code, item.partition_index, item.leader_id)
        if version >= 9:
            write_length(out, len(item.replica_nodes))
        else:
            out += _S_INT32.pack(len(item.replica_nodes))
        write_integers(out, item.replica_nodes, "i")
        if version >= 9:
            write_length(out, len(item.isr_nodes))
        else:
            out += _S_INT32.pack(len(item.isr_nodes))
        write_integers(out, item.isr_nodes, "i")
        if version >= 5:
            if version >= 9:
                write_length(out, len(item.offline_replicas))
            else:
                out += _S_INT32.pack(len(item.offline_replicas))
            write_integers(out, item.offline_replicas, "i")
        if item.unknown_tagged_fields:
            if version < 9:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 9:
            out.append(0)


def _read_metadata_response_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[MetadataResponseTopic], int]:
    limit = len(data)
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        item = _new(MetadataResponseTopic)
        if version >= 9:
            item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.error_code, n = _S_2INT16.unpack_from(data, at)
            at += 4
        if n < 0:
            if not (version >= 12):
                raise null_refused()
            item.name = None
        else:
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 10:
            item.topic_id, item.is_internal, n = _S_UUID_BOOL_BYTE.unpack_from(data, at)
            at += 18
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        elif version >= 9:
            item.is_internal, n = _S_BOOL_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.topic_id = ZERO_UUID
        elif version >= 1:
            item.is_internal, n = _S_BOOL_INT32.unpack_from(data, at)
            at += 5
            item.topic_id = ZERO_UUID
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
            item.topic_id = ZERO_UUID
            item.is_internal = False
        if not 0 <= n * 18 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_metadata_response_partition(data, at, version, n)
        if version >= 9:
            item.topic_authorized_operations, tags = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
        elif version >= 8:
            (item.topic_authorized_operations,) = _S_INT32.unpack_from(data, at)
            at += 4
            tags = 0
        else:
            tags = 0
            item.topic_authorized_operations = -2147483648
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_metadata_response_topic(out: bytearray, items: Iterable[MetadataResponseTopic], version: int) -> None:
    for item in items:
        out += _S_INT16.pack(item.error_code)
        if item.name is None:
            if not (version >= 12):
                raise must_not_be_null("name", version)
            if version >= 9:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 9:
                write_compact_string(out, item.name)
            else:
                write_string(out, item.name)
        if version >= 10:
            out += _S_UUID_BOOL.pack(item.topic_id, item.is_internal)
        elif version >= 1:
            out += _S_BOOL.pack(item.is_internal)
        else:
            pass
        if version >= 9:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_metadata_response_partition(out, item.partitions, version)
        if version >= 8:
            out += _S_INT32.pack(item.topic_authorized_operations)
        else:
            if item.topic_authorized_operations != -2147483648:
                raise not_in_version("topic_authorized_operations", version)
        if item.unknown_tagged_fields:
            if version < 9:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 9:
            out.append(0)

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
