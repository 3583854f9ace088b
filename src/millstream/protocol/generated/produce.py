"""Produce, API key 0, versions 3-13: request and response.

Written by `make codegen` from codegen/schemas/produce.txt.
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
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_compact_string,
    read_compact_string_or_null,
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
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_2INT32: Final = Struct(">hii")
_INT16_INT32: Final = Struct(">hi")
_INT16_INT32_BYTE: Final = Struct(">hiB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_2INT64: Final = Struct(">ihqq")
_INT32_INT16_3INT64: Final = Struct(">ihqqq")
_INT32_INT16_3INT64_BYTE: Final = Struct(">ihqqqB")
_INT32_INT16_3INT64_INT32: Final = Struct(">ihqqqi")
_INT32_ZERO: Final = Struct(">ix")
_S2INT32: Final = Struct(">ii")
_S2INT32_BYTE: Final = Struct(">iiB")
_S2INT32_ZERO: Final = Struct(">iix")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class PartitionProduceData(MessageValue):
    """In `TopicProduceData.partition_data`, versions 3-13."""

    __slots__ = ("index", "records", "unknown_tagged_fields")

    index: int
    records: Records | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        index: int = 0,
        records: Records | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.index = index
        self.records = records
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicProduceData(MessageValue):
    """In `ProduceRequest.topic_data`, versions 3-13."""

    __slots__ = ("name", "topic_id", "partition_data", "unknown_tagged_fields")

    name: str  # 3-12
    topic_id: Uuid  # 13
    partition_data: list[PartitionProduceData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition_data: list[PartitionProduceData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = [] if partition_data is UNSET else partition_data
        self.unknown_tagged_fields = unknown_tagged_fields


class ProduceRequest(MessageValue):
    """Request of API 0, versions 3-13."""

    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data", "unknown_tagged_fields")

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: list[TopicProduceData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is UNSET else topic_data
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 3
    HIGHEST_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 9

    def encode(self, out: bytearray, version: int) -> None:
        if not 3 <= version <= 13:
            raise version_refused(type(self), version)
        try:
            if self.transactional_id is None:
                raw = b""
                n = 0
            else:
                raw = self.transactional_id.encode()
                n = len(raw) + 1
            if version >= 9:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            n = len(self.topic_data) + 1
            if version >= 9:
                if n < 128:
                    out += _INT16_INT32_BYTE.pack(self.acks, self.timeout_ms, n)
                else:
                    out += _INT16_INT32.pack(self.acks, self.timeout_ms)
                    write_uvarint(out, n)
            else:
                out += _INT16_2INT32.pack(self.acks, self.timeout_ms, n - 1)
            _write_topic_produce_data(out, self.topic_data, version)
            if version >= 9:
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
        if not 3 <= version <= 13:
            raise version_refused(cls, version)
        start = at
        data = view
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 9:
                n = data[at]
                if 0 < n < 128:
                    message.transactional_id = str(data[at + 1 : at + n], "utf-8", LENIENT)
                    at += n
                else:
                    message.transactional_id, at = read_compact_string_or_null(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    message.transactional_id = None
                else:
                    message.transactional_id = str(data[at : at + n], "utf-8", LENIENT)
                    at += n
            if version >= 9:
                message.acks, message.timeout_ms, n = _INT16_INT32_BYTE.unpack_from(data, at)
                at += 6
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.acks, message.timeout_ms, n = _INT16_2INT32.unpack_from(data, at)
                at += 10
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topic_data, at = _read_topic_produce_data(data, at, version, n)
            if version >= 9:
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


class BatchIndexAndErrorMessage(MessageValue):
    """In `PartitionProduceResponse.record_errors`, versions 8-13."""

    __slots__ = ("batch_index", "batch_index_error_message", "unknown_tagged_fields")

    batch_index: int
    batch_index_error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message
        self.unknown_tagged_fields = unknown_tagged_fields


@dataclass(frozen=True, slots=True)
class LeaderIdAndEpoch(MessageValue):
    """In `PartitionProduceResponse.current_leader`, versions 10-13."""

    leader_id: int = -1
    leader_epoch: int = -1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_LEADER_ID_AND_EPOCH: Final = LeaderIdAndEpoch()


class PartitionProduceResponse(MessageValue):
    """In `TopicProduceResponse.partition_responses`, versions 3-13."""

    __slots__ = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
        "error_message",
        "current_leader",
        "unknown_tagged_fields",
    )

    index: int
    error_code: int
    base_offset: int
    log_append_time_ms: int
    log_start_offset: int  # 5+
    record_errors: list[BatchIndexAndErrorMessage]  # 8+
    error_message: str | None  # 8+
    current_leader: LeaderIdAndEpoch  # 10+, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = UNSET,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = _NO_LEADER_ID_AND_EPOCH,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is UNSET else record_errors
        self.error_message = error_message
        self.current_leader = current_leader
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicProduceResponse(MessageValue):
    """In `ProduceResponse.responses`, versions 3-13."""

    __slots__ = ("name", "topic_id", "partition_responses", "unknown_tagged_fields")

    name: str  # 3-12
    topic_id: Uuid  # 13
    partition_responses: list[PartitionProduceResponse]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition_responses: list[PartitionProduceResponse] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = [] if partition_responses is UNSET else partition_responses
        self.unknown_tagged_fields = unknown_tagged_fields


class NodeEndpoint(MessageValue):
    """In `ProduceResponse.node_endpoints`, versions 10-13."""

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


class ProduceResponse(MessageValue):
    """Response of API 0, versions 3-13."""

    __slots__ = ("responses", "throttle_time_ms", "node_endpoints", "unknown_tagged_fields")

    responses: list[TopicProduceResponse]
    throttle_time_ms: int
    node_endpoints: list[NodeEndpoint]  # 10+, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        responses: list[TopicProduceResponse] = UNSET,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.responses = [] if responses is UNSET else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 3
    HIGHEST_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 9

    def encode(self, out: bytearray, version: int) -> None:
        if not 3 <= version <= 13:
            raise version_refused(type(self), version)
        try:
            n = len(self.responses) + 1
            if version >= 9:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_topic_produce_response(out, self.responses, version)
            if version >= 9:
                if self.node_endpoints or self.unknown_tagged_fields:
                    out += _INT32.pack(self.throttle_time_ms)
                    _write_produce_response_tags(out, self, version)
                else:
                    out += _INT32_ZERO.pack(self.throttle_time_ms)
            else:
                out += _INT32.pack(self.throttle_time_ms)
                if self.node_endpoints:
                    raise not_in_version("node_endpoints", version)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 3 <= version <= 13:
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.responses, at = _read_topic_produce_response(data, at, version, n)
            if version >= 9:
                message.throttle_time_ms, tags = _INT32_BYTE.unpack_from(data, at)
                at += 5
            else:
                (message.throttle_time_ms,) = _INT32.unpack_from(data, at)
                at += 4
                tags = 0
            message.node_endpoints = []
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_produce_response_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_partition_produce_data(
    data: memoryview, at: int, version: int, count: int
) -> tuple[list[PartitionProduceData], int]:
    items: list[PartitionProduceData] = []
    for _ in range(count):
        item = _new(PartitionProduceData)
        if version >= 9:
            item.index, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            item.index, n = _S2INT32.unpack_from(data, at)
            at += 8
        if n < 0:
            item.records = None
        else:
            item.records = data[at : at + n]
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


def _write_partition_produce_data(
    out: bytearray, items: Iterable[PartitionProduceData], version: int
) -> None:
    for item in items:
        if item.records is None:
            n = 0
        else:
            n = len(item.records) + 1
        if version >= 9:
            if n < 128:
                out += _INT32_BYTE.pack(item.index, n)
            else:
                out += _INT32.pack(item.index)
                write_uvarint(out, n)
        else:
            out += _S2INT32.pack(item.index, n - 1)
        if item.records is not None:
            append_records(out, item.records)
        if version >= 9:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_topic_produce_data(
    data: memoryview, at: int, version: int, count: int
) -> tuple[list[TopicProduceData], int]:
    items: list[TopicProduceData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(TopicProduceData)
        if version >= 13:
            item.name = ""
        elif version >= 9:
            n = data[at]
            if 0 < n < 128:
                item.name = str(data[at + 1 : at + n], "utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.name = str(data[at : at + n], "utf-8", LENIENT)
            at += n
        if version >= 13:
            item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 9:
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


def _write_topic_produce_data(
    out: bytearray, items: Iterable[TopicProduceData], version: int
) -> None:
    for item in items:
        if version <= 12:
            raw = item.name.encode()
            n = len(raw) + 1
        if version >= 13:
            pass
        elif version >= 9:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        if version <= 12:
            out += raw
        n = len(item.partition_data) + 1
        if version >= 13:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_BYTE.pack(item.topic_id, n)
            else:
                out += _UUID.pack(item.topic_id)
                write_uvarint(out, n)
        elif version >= 9:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_partition_produce_data(out, item.partition_data, version)
        if version >= 9:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_batch_index_and_error_message(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[BatchIndexAndErrorMessage], int]:
    items: list[BatchIndexAndErrorMessage] = []
    for _ in range(count):
        item = _new(BatchIndexAndErrorMessage)
        if version >= 9:
            item.batch_index, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if 0 < n < 128:
                item.batch_index_error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.batch_index_error_message, at = read_compact_string_or_null(data, at)
        else:
            item.batch_index, n = _INT32_INT16.unpack_from(data, at)
            at += 6
            if n < 0:
                item.batch_index_error_message = None
            else:
                item.batch_index_error_message = data[at : at + n].decode("utf-8", LENIENT)
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


def _write_batch_index_and_error_message(
    out: bytearray, items: Iterable[BatchIndexAndErrorMessage], version: int
) -> None:
    for item in items:
        if item.batch_index_error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.batch_index_error_message.encode()
            n = len(raw) + 1
        if version >= 9:
            if n < 128:
                out += _INT32_BYTE.pack(item.batch_index, n)
            else:
                out += _INT32.pack(item.batch_index)
                write_string_length(out, n)
        else:
            out += _INT32_INT16.pack(item.batch_index, n - 1)
        out += raw
        if version >= 9:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


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


def _read_partition_produce_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[PartitionProduceResponse], int]:
    items: list[PartitionProduceResponse] = []
    limit = len(data)
    for _ in range(count):
        item = _new(PartitionProduceResponse)
        if version >= 9:
            (
                item.index,
                item.error_code,
                item.base_offset,
                item.log_append_time_ms,
                item.log_start_offset,
                n,
            ) = _INT32_INT16_3INT64_BYTE.unpack_from(data, at)
            at += 30
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 8:
            (
                item.index,
                item.error_code,
                item.base_offset,
                item.log_append_time_ms,
                item.log_start_offset,
                n,
            ) = _INT32_INT16_3INT64_INT32.unpack_from(data, at)
            at += 34
        elif version >= 5:
            (
                item.index,
                item.error_code,
                item.base_offset,
                item.log_append_time_ms,
                item.log_start_offset,
            ) = _INT32_INT16_3INT64.unpack_from(data, at)
            at += 30
            item.record_errors = []
        else:
            (
                item.index,
                item.error_code,
                item.base_offset,
                item.log_append_time_ms,
            ) = _INT32_INT16_2INT64.unpack_from(data, at)
            at += 22
            item.log_start_offset = -1
            item.record_errors = []
        if version >= 8:
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.record_errors, at = _read_batch_index_and_error_message(data, at, version, n)
        if version >= 9:
            n = data[at]
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        elif version >= 8:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                item.error_message = None
            else:
                item.error_message = data[at : at + n].decode("utf-8", LENIENT)
                at += n
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


def _write_partition_produce_response(
    out: bytearray, items: Iterable[PartitionProduceResponse], version: int
) -> None:
    for item in items:
        if version >= 8:
            n = len(item.record_errors) + 1
        if version >= 9:
            if n < 128:
                out += _INT32_INT16_3INT64_BYTE.pack(
                    item.index,
                    item.error_code,
                    item.base_offset,
                    item.log_append_time_ms,
                    item.log_start_offset,
                    n,
                )
            else:
                out += _INT32_INT16_3INT64.pack(
                    item.index,
                    item.error_code,
                    item.base_offset,
                    item.log_append_time_ms,
                    item.log_start_offset,
                )
                write_uvarint(out, n)
        elif version >= 8:
            out += _INT32_INT16_3INT64_INT32.pack(
                item.index,
                item.error_code,
                item.base_offset,
                item.log_append_time_ms,
                item.log_start_offset,
                n - 1,
            )
        elif version >= 5:
            out += _INT32_INT16_3INT64.pack(
                item.index,
                item.error_code,
                item.base_offset,
                item.log_append_time_ms,
                item.log_start_offset,
            )
        else:
            out += _INT32_INT16_2INT64.pack(
                item.index, item.error_code, item.base_offset, item.log_append_time_ms
            )
        if version >= 8:
            _write_batch_index_and_error_message(out, item.record_errors, version)
        if version >= 8:
            if item.error_message is None:
                raw = b""
                n = 0
            else:
                raw = item.error_message.encode()
                n = len(raw) + 1
        if version >= 9:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        elif version >= 8:
            out += _INT16.pack(n - 1)
        if version >= 8:
            out += raw
        if version >= 9:
            if (
                item.current_leader is not _NO_LEADER_ID_AND_EPOCH
                or item.unknown_tagged_fields
            ):
                _write_partition_produce_response_tags(out, item, version)
            else:
                out.append(0)
        else:
            if item.current_leader is not _NO_LEADER_ID_AND_EPOCH and item.current_leader != _NO_LEADER_ID_AND_EPOCH:
                raise not_in_version("current_leader", version)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_partition_produce_response_tags(
    item: PartitionProduceResponse, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
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


def _write_partition_produce_response_tags(
    section: bytearray, item: PartitionProduceResponse, version: int
) -> None:
    known: list[TaggedField] = []
    if item.current_leader is not _NO_LEADER_ID_AND_EPOCH and item.current_leader != _NO_LEADER_ID_AND_EPOCH:
        if version >= 10:
            out = bytearray()
            _write_leader_id_and_epoch(out, (item.current_leader,), version)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("current_leader", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_topic_produce_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicProduceResponse], int]:
    items: list[TopicProduceResponse] = []
    limit = len(data)
    for _ in range(count):
        item = _new(TopicProduceResponse)
        if version >= 13:
            item.name = ""
        elif version >= 9:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 13:
            item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 9:
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


def _write_topic_produce_response(
    out: bytearray, items: Iterable[TopicProduceResponse], version: int
) -> None:
    for item in items:
        if version <= 12:
            raw = item.name.encode()
            n = len(raw) + 1
        if version >= 13:
            pass
        elif version >= 9:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        if version <= 12:
            out += raw
        n = len(item.partition_responses) + 1
        if version >= 13:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_BYTE.pack(item.topic_id, n)
            else:
                out += _UUID.pack(item.topic_id)
                write_uvarint(out, n)
        elif version >= 9:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_partition_produce_response(out, item.partition_responses, version)
        if version >= 9:
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


def _read_produce_response_tags(item: ProduceResponse, data: bytes, at: int, version: int) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
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


def _write_produce_response_tags(section: bytearray, item: ProduceResponse, version: int) -> None:
    known: list[TaggedField] = []
    if item.node_endpoints:
        if version >= 10:
            out = bytearray()
            write_uvarint(out, len(item.node_endpoints) + 1)
            _write_node_endpoint(out, item.node_endpoints, version)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("node_endpoints", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)

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
