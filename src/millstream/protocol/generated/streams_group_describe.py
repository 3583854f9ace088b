"""StreamsGroupDescribe, API key 89, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/streams_group_describe.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_compact_strings, read_integers, read_length, read_string_length, read_strings
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_integers, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_2INT32_INT8: Final = Struct(">iib")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_BYTE: Final = Struct(">iqB")
_S_INT8: Final = Struct(">b")
_S_UINT16: Final = Struct(">H")
_S_UINT16_BYTE: Final = Struct(">HB")
_new: Final = object.__new__


@dataclass(slots=True)
class StreamsGroupDescribeRequest:
    group_ids: list[str] = field(default_factory=list)
    include_authorized_operations: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 89
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.group_ids))
            for text in item.group_ids:
                write_compact_string(out, text)
            out += _S_BOOL.pack(item.include_authorized_operations)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.group_ids, at = read_compact_strings(data, at, n)
            item.include_authorized_operations, tags = _S_BOOL_BYTE.unpack_from(data, at)
            at += 2
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class KeyValue:
    key: str = ""
    value: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TopicInfo:
    name: str = ""
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: list[KeyValue] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Subtopology:
    subtopology_id: str = ""
    source_topics: list[str] = field(default_factory=list)
    repartition_sink_topics: list[str] = field(default_factory=list)
    state_changelog_topics: list[TopicInfo] = field(default_factory=list)
    repartition_source_topics: list[TopicInfo] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Topology:
    epoch: int = 0
    subtopologies: list[Subtopology] | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(frozen=True, slots=True)
class Endpoint:
    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_ENDPOINT: Final = Endpoint()


@dataclass(slots=True)
class TaskOffset:
    subtopology_id: str = ""
    partition: int = 0
    offset: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TaskIds:
    subtopology_id: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Assignment:
    active_tasks: list[TaskIds] = field(default_factory=list)
    standby_tasks: list[TaskIds] = field(default_factory=list)
    warmup_tasks: list[TaskIds] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Member:
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = field(default_factory=list)
    task_offsets: list[TaskOffset] = field(default_factory=list)
    task_end_offsets: list[TaskOffset] = field(default_factory=list)
    assignment: Assignment = field(default_factory=Assignment)
    target_assignment: Assignment = field(default_factory=Assignment)
    is_classic: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribedGroup:
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    topology: Topology | None = None
    members: list[Member] = field(default_factory=list)
    authorized_operations: int = -2147483648
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class StreamsGroupDescribeResponse:
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 89
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            write_length(out, len(item.groups))
            _write_described_group(out, item.groups, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 20 <= limit - at:
                raise count_refused(n, limit - at)
            item.groups, at = _read_described_group(data, at, version, n)
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


def _read_key_value(data: bytes, at: int, version: int, count: int) -> tuple[list[KeyValue], int]:
    items: list[KeyValue] = []
    for _ in range(count):
        item = _new(KeyValue)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.key = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.value = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_key_value(out: bytearray, items: Iterable[KeyValue], version: int) -> None:
    for item in items:
        write_compact_string(out, item.key)
        write_compact_string(out, item.value)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topic_info(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicInfo], int]:
    limit = len(data)
    items: list[TopicInfo] = []
    for _ in range(count):
        item = _new(TopicInfo)
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
        item.partitions, item.replication_factor, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
        at += 7
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topic_configs, at = _read_key_value(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_info(out: bytearray, items: Iterable[TopicInfo], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _S_INT32_INT16.pack(item.partitions, item.replication_factor)
        write_length(out, len(item.topic_configs))
        _write_key_value(out, item.topic_configs, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_subtopology(data: bytes, at: int, version: int, count: int) -> tuple[list[Subtopology], int]:
    limit = len(data)
    items: list[Subtopology] = []
    for _ in range(count):
        item = _new(Subtopology)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.subtopology_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.source_topics, at = read_compact_strings(data, at, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.repartition_sink_topics, at = read_compact_strings(data, at, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.state_changelog_topics, at = _read_topic_info(data, at, version, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.repartition_source_topics, at = _read_topic_info(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_subtopology(out: bytearray, items: Iterable[Subtopology], version: int) -> None:
    for item in items:
        write_compact_string(out, item.subtopology_id)
        write_length(out, len(item.source_topics))
        for text in item.source_topics:
            write_compact_string(out, text)
        write_length(out, len(item.repartition_sink_topics))
        for text in item.repartition_sink_topics:
            write_compact_string(out, text)
        write_length(out, len(item.state_changelog_topics))
        _write_topic_info(out, item.state_changelog_topics, version)
        write_length(out, len(item.repartition_source_topics))
        _write_topic_info(out, item.repartition_source_topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topology(data: bytes, at: int, version: int, count: int) -> tuple[list[Topology], int]:
    limit = len(data)
    items: list[Topology] = []
    for _ in range(count):
        item = _new(Topology)
        item.epoch, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.subtopologies = None
        else:
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.subtopologies, at = _read_subtopology(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topology(out: bytearray, items: Iterable[Topology], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.epoch)
        if item.subtopologies is None:
            out.append(0)
        else:
            write_length(out, len(item.subtopologies))
            _write_subtopology(out, item.subtopologies, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_endpoint(data: bytes, at: int, version: int, count: int) -> tuple[list[Endpoint], int]:
    items: list[Endpoint] = []
    for _ in range(count):
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        host = data[at - n : at].decode("utf-8", LENIENT)
        port, tags = _S_UINT16_BYTE.unpack_from(data, at)
        at += 3
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(Endpoint(host, port, unknown))
    return items, at


def _write_endpoint(out: bytearray, items: Iterable[Endpoint], version: int) -> None:
    for item in items:
        write_compact_string(out, item.host)
        out += _S_UINT16.pack(item.port)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_task_offset(data: bytes, at: int, version: int, count: int) -> tuple[list[TaskOffset], int]:
    items: list[TaskOffset] = []
    for _ in range(count):
        item = _new(TaskOffset)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.subtopology_id = data[at - n : at].decode("utf-8", LENIENT)
        item.partition, item.offset, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
        at += 13
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_task_offset(out: bytearray, items: Iterable[TaskOffset], version: int) -> None:
    for item in items:
        write_compact_string(out, item.subtopology_id)
        out += _S_INT32_INT64.pack(item.partition, item.offset)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_task_ids(data: bytes, at: int, version: int, count: int) -> tuple[list[TaskIds], int]:
    items: list[TaskIds] = []
    for _ in range(count):
        item = _new(TaskIds)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.subtopology_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.partitions, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_task_ids(out: bytearray, items: Iterable[TaskIds], version: int) -> None:
    for item in items:
        write_compact_string(out, item.subtopology_id)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_assignment(data: bytes, at: int, version: int, count: int) -> tuple[list[Assignment], int]:
    limit = len(data)
    items: list[Assignment] = []
    for _ in range(count):
        item = _new(Assignment)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.active_tasks, at = _read_task_ids(data, at, version, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.standby_tasks, at = _read_task_ids(data, at, version, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.warmup_tasks, at = _read_task_ids(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_assignment(out: bytearray, items: Iterable[Assignment], version: int) -> None:
    for item in items:
        write_length(out, len(item.active_tasks))
        _write_task_ids(out, item.active_tasks, version)
        write_length(out, len(item.standby_tasks))
        _write_task_ids(out, item.standby_tasks, version)
        write_length(out, len(item.warmup_tasks))
        _write_task_ids(out, item.warmup_tasks, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_member(data: bytes, at: int, version: int, count: int) -> tuple[list[Member], int]:
    limit = len(data)
    items: list[Member] = []
    for _ in range(count):
        item = _new(Member)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.member_id = data[at - n : at].decode("utf-8", LENIENT)
        item.member_epoch, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.instance_id = None
        else:
            at += n
            item.instance_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.rack_id = None
        else:
            at += n
            item.rack_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.client_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.client_host = data[at - n : at].decode("utf-8", LENIENT)
        item.topology_epoch, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.process_id = data[at - n : at].decode("utf-8", LENIENT)
        (n,) = _S_INT8.unpack_from(data, at)
        at += 1
        if n < 0:
            item.user_endpoint = None
        else:
            (item.user_endpoint,), at = _read_endpoint(data, at, version, 1)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.client_tags, at = _read_key_value(data, at, version, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 14 <= limit - at:
            raise count_refused(n, limit - at)
        item.task_offsets, at = _read_task_offset(data, at, version, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 14 <= limit - at:
            raise count_refused(n, limit - at)
        item.task_end_offsets, at = _read_task_offset(data, at, version, n)
        (item.assignment,), at = _read_assignment(data, at, version, 1)
        (item.target_assignment,), at = _read_assignment(data, at, version, 1)
        item.is_classic, tags = _S_BOOL_BYTE.unpack_from(data, at)
        at += 2
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_member(out: bytearray, items: Iterable[Member], version: int) -> None:
    for item in items:
        write_compact_string(out, item.member_id)
        out += _S_INT32.pack(item.member_epoch)
        if item.instance_id is None:
            out.append(0)
        else:
            write_compact_string(out, item.instance_id)
        if item.rack_id is None:
            out.append(0)
        else:
            write_compact_string(out, item.rack_id)
        write_compact_string(out, item.client_id)
        write_compact_string(out, item.client_host)
        out += _S_INT32.pack(item.topology_epoch)
        write_compact_string(out, item.process_id)
        if item.user_endpoint is None:
            out.append(255)
        else:
            out.append(1)
            _write_endpoint(out, (item.user_endpoint,), version)
        write_length(out, len(item.client_tags))
        _write_key_value(out, item.client_tags, version)
        write_length(out, len(item.task_offsets))
        _write_task_offset(out, item.task_offsets, version)
        write_length(out, len(item.task_end_offsets))
        _write_task_offset(out, item.task_end_offsets, version)
        _write_assignment(out, (item.assignment,), version)
        _write_assignment(out, (item.target_assignment,), version)
        out += _S_BOOL.pack(item.is_classic)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_described_group(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribedGroup], int]:
    limit = len(data)
    items: list[DescribedGroup] = []
    for _ in range(count):
        item = _new(DescribedGroup)
        item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
        at += 3
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.error_message = None
        else:
            at += n
            item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.group_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.group_state = data[at - n : at].decode("utf-8", LENIENT)
        item.group_epoch, item.assignment_epoch, n = _S_2INT32_INT8.unpack_from(data, at)
        at += 9
        if n < 0:
            item.topology = None
        else:
            (item.topology,), at = _read_topology(data, at, version, 1)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 28 <= limit - at:
            raise count_refused(n, limit - at)
        item.members, at = _read_member(data, at, version, n)
        item.authorized_operations, tags = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_described_group(out: bytearray, items: Iterable[DescribedGroup], version: int) -> None:
    for item in items:
        out += _S_INT16.pack(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            write_compact_string(out, item.error_message)
        write_compact_string(out, item.group_id)
        write_compact_string(out, item.group_state)
        out += _S_2INT32.pack(item.group_epoch, item.assignment_epoch)
        if item.topology is None:
            out.append(255)
        else:
            out.append(1)
            _write_topology(out, (item.topology,), version)
        write_length(out, len(item.members))
        _write_member(out, item.members, version)
        out += _S_INT32.pack(item.authorized_operations)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request StreamsGroupDescribeRequest key=89 versions=0 flexible=0+ listeners=broker
  groupIds                     []string
  includeAuthorizedOperations  bool

response StreamsGroupDescribeResponse key=89 versions=0 flexible=0+ listeners=broker
  throttleTimeMs                 int32
  groups                         []DescribedGroup
    errorCode                    int16
    errorMessage                 string            nullable default=null
    groupId                      string
    groupState                   string
    groupEpoch                   int32
    assignmentEpoch              int32
    topology                     Topology          nullable default=null
      epoch                      int32
      subtopologies              []Subtopology     nullable default=null
        subtopologyId            string
        sourceTopics             []string
        repartitionSinkTopics    []string
        stateChangelogTopics     []TopicInfo
          name                   string
          partitions             int32
          replicationFactor      int16
          topicConfigs           []KeyValue
            key                  string
            value                string
        repartitionSourceTopics  []TopicInfo
    members                      []Member
      memberId                   string
      memberEpoch                int32
      instanceId                 string            nullable default=null
      rackId                     string            nullable default=null
      clientId                   string
      clientHost                 string
      topologyEpoch              int32
      processId                  string
      userEndpoint               Endpoint          nullable default=null
        host                     string
        port                     uint16
      clientTags                 []KeyValue
      taskOffsets                []TaskOffset
        subtopologyId            string
        partition                int32
        offset                   int64
      taskEndOffsets             []TaskOffset
      assignment                 Assignment
        activeTasks              []TaskIds
          subtopologyId          string
          partitions             []int32
        standbyTasks             []TaskIds
        warmupTasks              []TaskIds
      targetAssignment           Assignment
      isClassic                  bool
    authorizedOperations         int32             default=-2147483648
"""
