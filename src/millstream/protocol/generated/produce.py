"""Produce, API key 0, versions 3-13: request and response.

Written by `make codegen` from codegen/schemas/produce.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.buffers import Records, append_records
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length, read_uvarint, tag_refused
from millstream.protocol.tagged_fields import TaggedField, read_tag_count, read_unknown_field, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_2INT32_BYTE: Final = Struct(">iiB")
_S_INT16: Final = Struct(">h")
_S_INT16_2INT32: Final = Struct(">hii")
_S_INT16_INT32: Final = Struct(">hi")
_S_INT16_INT32_BYTE: Final = Struct(">hiB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_2INT64: Final = Struct(">ihqq")
_S_INT32_INT16_3INT64: Final = Struct(">ihqqq")
_S_INT32_INT16_3INT64_BYTE: Final = Struct(">ihqqqB")
_S_INT32_INT16_3INT64_INT32: Final = Struct(">ihqqqi")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class PartitionProduceData:
    index: int = 0
    records: Records | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TopicProduceData:
    name: str = ""  # 3-12
    topic_id: Uuid = ZERO_UUID  # 13
    partition_data: list[PartitionProduceData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ProduceRequest:
    transactional_id: str | None = None
    acks: int = 0
    timeout_ms: int = 0
    topic_data: list[TopicProduceData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 3
    HIGHEST_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 9

    def encode(self, out: bytearray, version: int) -> None:
        if not 3 <= version <= 13:
            raise unsupported(self, version)
        item = self
        try:
            if item.transactional_id is None:
                if version >= 9:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 9:
                    write_compact_string(out, item.transactional_id)
                else:
                    write_string(out, item.transactional_id)
            out += _S_INT16_INT32.pack(item.acks, item.timeout_ms)
            if version >= 9:
                write_length(out, len(item.topic_data))
            else:
                out += _S_INT32.pack(len(item.topic_data))
            _write_topic_produce_data(out, item.topic_data, version)
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
        if not 3 <= version <= 13:
            raise unsupported(cls, version)
        data = view
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 9:
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
                item.transactional_id = None
            else:
                at += n
                item.transactional_id = str(data[at - n : at], "utf-8", LENIENT)
            if version >= 9:
                item.acks, item.timeout_ms, n = _S_INT16_INT32_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.acks, item.timeout_ms, n = _S_INT16_2INT32.unpack_from(data, at)
                at += 10
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topic_data, at = _read_topic_produce_data(data, at, version, n)
            if version >= 9:
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
class BatchIndexAndErrorMessage:
    batch_index: int = 0
    batch_index_error_message: str | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(frozen=True, slots=True)
class LeaderIdAndEpoch:
    leader_id: int = -1
    leader_epoch: int = -1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_LEADER_ID_AND_EPOCH: Final = LeaderIdAndEpoch()


@dataclass(slots=True)
class PartitionProduceResponse:
    index: int = 0
    error_code: int = 0
    base_offset: int = 0
    log_append_time_ms: int = -1
    log_start_offset: int = -1  # 5+
    record_errors: list[BatchIndexAndErrorMessage] = field(default_factory=list)  # 8+
    error_message: str | None = None  # 8+
    current_leader: LeaderIdAndEpoch = _NO_LEADER_ID_AND_EPOCH  # 10+, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TopicProduceResponse:
    name: str = ""  # 3-12
    topic_id: Uuid = ZERO_UUID  # 13
    partition_responses: list[PartitionProduceResponse] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class NodeEndpoint:
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ProduceResponse:
    responses: list[TopicProduceResponse] = field(default_factory=list)
    throttle_time_ms: int = 0
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)  # 10+, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 3
    HIGHEST_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 9

    def encode(self, out: bytearray, version: int) -> None:
        if not 3 <= version <= 13:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 9:
                write_length(out, len(item.responses))
            else:
                out += _S_INT32.pack(len(item.responses))
            _write_topic_produce_response(out, item.responses, version)
            out += _S_INT32.pack(item.throttle_time_ms)
            if item.node_endpoints or item.unknown_tagged_fields:
                _write_produce_response_tags(out, item, version)
            elif version >= 9:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 3 <= version <= 13:
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.responses, at = _read_topic_produce_response(data, at, version, n)
            if version >= 9:
                item.throttle_time_ms, tags = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
            else:
                (item.throttle_time_ms,) = _S_INT32.unpack_from(data, at)
                at += 4
                tags = 0
            item.node_endpoints = []
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_produce_response_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_partition_produce_data(data: memoryview, at: int, version: int, count: int) -> tuple[list[PartitionProduceData], int]:
    items: list[PartitionProduceData] = []
    for _ in range(count):
        item = _new(PartitionProduceData)
        if version >= 9:
            item.index, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            item.index, n = _S_2INT32.unpack_from(data, at)
            at += 8
        if n < 0:
            item.records = None
        else:
            at += n
            item.records = data[at - n : at]
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


def _write_partition_produce_data(out: bytearray, items: Iterable[PartitionProduceData], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.index)
        if item.records is None:
            if version >= 9:
                out.append(0)
            else:
                out += b"\xff\xff\xff\xff"
        else:
            if version >= 9:
                write_length(out, len(item.records))
            else:
                out += _S_INT32.pack(len(item.records))
            append_records(out, item.records)
        if item.unknown_tagged_fields:
            if version < 9:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 9:
            out.append(0)


def _read_topic_produce_data(data: memoryview, at: int, version: int, count: int) -> tuple[list[TopicProduceData], int]:
    limit = len(data)
    items: list[TopicProduceData] = []
    for _ in range(count):
        item = _new(TopicProduceData)
        if version >= 13:
            pass
        elif version >= 9:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if version <= 12:
            if n < 0:
                raise null_refused()
            at += n
            item.name = str(data[at - n : at], "utf-8", LENIENT)
        else:
            item.name = ""
        if version >= 13:
            item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        elif version >= 9:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.topic_id = ZERO_UUID
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
            item.topic_id = ZERO_UUID
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.partition_data, at = _read_partition_produce_data(data, at, version, n)
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


def _write_topic_produce_data(out: bytearray, items: Iterable[TopicProduceData], version: int) -> None:
    for item in items:
        if version <= 12:
            if version >= 9:
                write_compact_string(out, item.name)
            else:
                write_string(out, item.name)
        if version >= 13:
            out += _S_UUID.pack(item.topic_id)
        else:
            pass
        if version >= 9:
            write_length(out, len(item.partition_data))
        else:
            out += _S_INT32.pack(len(item.partition_data))
        _write_partition_produce_data(out, item.partition_data, version)
        if item.unknown_tagged_fields:
            if version < 9:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 9:
            out.append(0)


def _read_batch_index_and_error_message(data: bytes, at: int, version: int, count: int) -> tuple[list[BatchIndexAndErrorMessage], int]:
    items: list[BatchIndexAndErrorMessage] = []
    for _ in range(count):
        item = _new(BatchIndexAndErrorMessage)
        if version >= 9:
            item.batch_index, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.batch_index, n = _S_INT32_INT16.unpack_from(data, at)
            at += 6
        if n < 0:
            item.batch_index_error_message = None
        else:
            at += n
            item.batch_index_error_message = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_batch_index_and_error_message(out: bytearray, items: Iterable[BatchIndexAndErrorMessage], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.batch_index)
        if item.batch_index_error_message is None:
            if version >= 9:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 9:
                write_compact_string(out, item.batch_index_error_message)
            else:
                write_string(out, item.batch_index_error_message)
        if item.unknown_tagged_fields:
            if version < 9:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 9:
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


def _read_partition_produce_response(data: bytes, at: int, version: int, count: int) -> tuple[list[PartitionProduceResponse], int]:
    limit = len(data)
    items: list[PartitionProduceResponse] = []
    for _ in range(count):
        item = _new(PartitionProduceResponse)
        if version >= 9:
            item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset, n = _S_INT32_INT16_3INT64_BYTE.unpack_from(data, at)
            at += 31
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        elif version >= 8:
            item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset, n = _S_INT32_INT16_3INT64_INT32.unpack_from(data, at)
            at += 34
        elif version >= 5:
            item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset = _S_INT32_INT16_3INT64.unpack_from(data, at)
            at += 30
        else:
            item.index, item.error_code, item.base_offset, item.log_append_time_ms = _S_INT32_INT16_2INT64.unpack_from(data, at)
            at += 22
            item.log_start_offset = -1
        if version >= 8:
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.record_errors, at = _read_batch_index_and_error_message(data, at, version, n)
        else:
            item.record_errors = []
        if version >= 9:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 8:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        else:
            pass
        if version >= 8:
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.error_message = None
        if version >= 9:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.current_leader = _NO_LEADER_ID_AND_EPOCH
        item.unknown_tagged_fields = ()
        if tags:
            at = _read_partition_produce_response_tags(item, data, at - 1, version)
        items.append(item)
    return items, at


def _write_partition_produce_response(out: bytearray, items: Iterable[PartitionProduceResponse], version: int) -> None:
    for item in items:
        if version >= 5:
            out += _S_INT32_INT16_3INT64.pack(item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset)
        else:
            out += _S_INT32_INT16_2INT64.pack(item.index, item.error_code, item.base_offset, item.log_append_time_ms)
        if version >= 8:
            if version >= 9:
                write_length(out, len(item.record_errors))
            else:
                out += _S_INT32.pack(len(item.record_errors))
            _write_batch_index_and_error_message(out, item.record_errors, version)
        if version >= 8:
            if item.error_message is None:
                if version >= 9:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 9:
                    write_compact_string(out, item.error_message)
                else:
                    write_string(out, item.error_message)
        if item.current_leader is not _NO_LEADER_ID_AND_EPOCH or item.unknown_tagged_fields:
            _write_partition_produce_response_tags(out, item, version)
        elif version >= 9:
            out.append(0)


def _read_partition_produce_response_tags(item: PartitionProduceResponse, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            if not (version >= 10):
                raise tag_refused(tag, version)
            (item.current_leader,), at = _read_leader_id_and_epoch(data, at, version, 1)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_partition_produce_response_tags(target: bytearray, item: PartitionProduceResponse, version: int) -> None:
    known: list[TaggedField] = []
    if item.current_leader != _NO_LEADER_ID_AND_EPOCH:
        if version >= 10:
            out = bytearray()
            _write_leader_id_and_epoch(out, (item.current_leader,), version)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("current_leader", version)
    if version < 9:
        if item.unknown_tagged_fields:
            raise tags_refused(version)
        return
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_topic_produce_response(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicProduceResponse], int]:
    limit = len(data)
    items: list[TopicProduceResponse] = []
    for _ in range(count):
        item = _new(TopicProduceResponse)
        if version >= 13:
            pass
        elif version >= 9:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if version <= 12:
            if n < 0:
                raise null_refused()
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.name = ""
        if version >= 13:
            item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        elif version >= 9:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.topic_id = ZERO_UUID
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
            item.topic_id = ZERO_UUID
        if not 0 <= n * 22 <= limit - at:
            raise count_refused(n, limit - at)
        item.partition_responses, at = _read_partition_produce_response(data, at, version, n)
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


def _write_topic_produce_response(out: bytearray, items: Iterable[TopicProduceResponse], version: int) -> None:
    for item in items:
        if version <= 12:
            if version >= 9:
                write_compact_string(out, item.name)
            else:
                write_string(out, item.name)
        if version >= 13:
            out += _S_UUID.pack(item.topic_id)
        else:
            pass
        if version >= 9:
            write_length(out, len(item.partition_responses))
        else:
            out += _S_INT32.pack(len(item.partition_responses))
        _write_partition_produce_response(out, item.partition_responses, version)
        if item.unknown_tagged_fields:
            if version < 9:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 9:
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


def _read_produce_response_tags(item: ProduceResponse, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            if not (version >= 10):
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


def _write_produce_response_tags(target: bytearray, item: ProduceResponse, version: int) -> None:
    known: list[TaggedField] = []
    if item.node_endpoints:
        if version >= 10:
            out = bytearray()
            write_length(out, len(item.node_endpoints))
            _write_node_endpoint(out, item.node_endpoints, version)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("node_endpoints", version)
    if version < 9:
        if item.unknown_tagged_fields:
            raise tags_refused(version)
        return
    write_tagged_fields(target, known, item.unknown_tagged_fields)

SCHEMA: Final = """\
request ProduceRequest key=0 versions=3-13 flexible=9+ listeners=broker
  transactionalId  string                  nullable default=null
  acks             int16
  timeoutMs        int32
  topicData        []TopicProduceData
    name           string                  3-12 ignorable
    topicId        uuid                    13 ignorable
    partitionData  []PartitionProduceData
      index        int32
      records      records                 nullable default=null

response ProduceResponse key=0 versions=3-13 flexible=9+ listeners=broker
  responses                     []TopicProduceResponse
    name                        string                       3-12 ignorable
    topicId                     uuid                         13 ignorable
    partitionResponses          []PartitionProduceResponse
      index                     int32
      errorCode                 int16
      baseOffset                int64
      logAppendTimeMs           int64                        default=-1
      logStartOffset            int64                        5+ default=-1 ignorable
      recordErrors              []BatchIndexAndErrorMessage  8+ ignorable
        batchIndex              int32
        batchIndexErrorMessage  string                       nullable default=null
      errorMessage              string                       8+ nullable default=null ignorable
      currentLeader             LeaderIdAndEpoch             10+ tag=0
        leaderId                int32                        default=-1
        leaderEpoch             int32                        default=-1
  throttleTimeMs                int32
  nodeEndpoints                 []NodeEndpoint               10+ tag=0
    nodeId                      int32
    host                        string
    port                        int32
    rack                        string                       nullable default=null
"""
