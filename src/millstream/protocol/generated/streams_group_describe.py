"""StreamsGroupDescribe, API key 89, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/streams_group_describe.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    COMPACT_INT32S,
    LENIENT,
    READ_FAILURES,
    count_refused,
    past_end,
    read_compact_int32s,
    read_compact_string,
    read_compact_string_or_null,
    read_compact_strings,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    write_compact_int32s,
    write_compact_strings,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_INT64_ZERO: Final = Struct(">iqx")
_INT32_ZERO: Final = Struct(">ix")
_INT8: Final = Struct(">b")
_S2INT32_INT8: Final = Struct(">iib")
_UINT16: Final = Struct(">H")
_UINT16_BYTE: Final = Struct(">HB")
_UINT16_ZERO: Final = Struct(">Hx")
_new: Final = object.__new__


class StreamsGroupDescribeRequest(MessageValue):
    """Request of API 89, version 0."""

    __slots__ = ("group_ids", "include_authorized_operations", "unknown_tagged_fields")

    group_ids: list[str]
    include_authorized_operations: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_ids: list[str] = UNSET,
        include_authorized_operations: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_ids = [] if group_ids is UNSET else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 89
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.group_ids) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            write_compact_strings(out, self.group_ids)
            if self.unknown_tagged_fields:
                out += _BOOL.pack(self.include_authorized_operations)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _BOOL_ZERO.pack(self.include_authorized_operations)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
            message.group_ids, at = read_compact_strings(data, at, n)
            message.include_authorized_operations, tags = _BOOL_BYTE.unpack_from(data, at)
            at += 2
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class KeyValue(MessageValue):
    """In `TopicInfo.topic_configs` and elsewhere, version 0."""

    __slots__ = ("key", "value", "unknown_tagged_fields")

    key: str
    value: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, key: str = "", value: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicInfo(MessageValue):
    """In `Subtopology.state_changelog_topics` and elsewhere, version 0."""

    __slots__ = (
        "name", "partitions", "replication_factor", "topic_configs", "unknown_tagged_fields"
    )

    name: str
    partitions: int
    replication_factor: int
    topic_configs: list[KeyValue]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: list[KeyValue] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = [] if topic_configs is UNSET else topic_configs
        self.unknown_tagged_fields = unknown_tagged_fields


class Subtopology(MessageValue):
    """In `Topology.subtopologies`, version 0."""

    __slots__ = (
        "subtopology_id",
        "source_topics",
        "repartition_sink_topics",
        "state_changelog_topics",
        "repartition_source_topics",
        "unknown_tagged_fields",
    )

    subtopology_id: str
    source_topics: list[str]
    repartition_sink_topics: list[str]
    state_changelog_topics: list[TopicInfo]
    repartition_source_topics: list[TopicInfo]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] = UNSET,
        repartition_sink_topics: list[str] = UNSET,
        state_changelog_topics: list[TopicInfo] = UNSET,
        repartition_source_topics: list[TopicInfo] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is UNSET else source_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is UNSET else repartition_sink_topics
        self.state_changelog_topics = [] if state_changelog_topics is UNSET else state_changelog_topics
        self.repartition_source_topics = [] if repartition_source_topics is UNSET else repartition_source_topics
        self.unknown_tagged_fields = unknown_tagged_fields


class Topology(MessageValue):
    """In `DescribedGroup.topology`, version 0."""

    __slots__ = ("epoch", "subtopologies", "unknown_tagged_fields")

    epoch: int
    subtopologies: list[Subtopology] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: list[Subtopology] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies
        self.unknown_tagged_fields = unknown_tagged_fields


@dataclass(frozen=True, slots=True)
class Endpoint(MessageValue):
    """In `Member.user_endpoint`, version 0."""

    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_ENDPOINT: Final = Endpoint()


class TaskOffset(MessageValue):
    """In `Member.task_offsets` and elsewhere, version 0."""

    __slots__ = ("subtopology_id", "partition", "offset", "unknown_tagged_fields")

    subtopology_id: str
    partition: int
    offset: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        subtopology_id: str = "",
        partition: int = 0,
        offset: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partition = partition
        self.offset = offset
        self.unknown_tagged_fields = unknown_tagged_fields


class TaskIds(MessageValue):
    """In `Assignment.active_tasks` and elsewhere, version 0."""

    __slots__ = ("subtopology_id", "partitions", "unknown_tagged_fields")

    subtopology_id: str
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class Assignment(MessageValue):
    """In `Member.assignment` and elsewhere, version 0."""

    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks", "unknown_tagged_fields")

    active_tasks: list[TaskIds]
    standby_tasks: list[TaskIds]
    warmup_tasks: list[TaskIds]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        active_tasks: list[TaskIds] = UNSET,
        standby_tasks: list[TaskIds] = UNSET,
        warmup_tasks: list[TaskIds] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.active_tasks = [] if active_tasks is UNSET else active_tasks
        self.standby_tasks = [] if standby_tasks is UNSET else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is UNSET else warmup_tasks
        self.unknown_tagged_fields = unknown_tagged_fields


class Member(MessageValue):
    """In `DescribedGroup.members`, version 0."""

    __slots__ = (
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "assignment",
        "target_assignment",
        "is_classic",
        "unknown_tagged_fields",
    )

    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: list[KeyValue]
    task_offsets: list[TaskOffset]
    task_end_offsets: list[TaskOffset]
    assignment: Assignment
    target_assignment: Assignment
    is_classic: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = UNSET,
        task_offsets: list[TaskOffset] = UNSET,
        task_end_offsets: list[TaskOffset] = UNSET,
        assignment: Assignment = UNSET,
        target_assignment: Assignment = UNSET,
        is_classic: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is UNSET else client_tags
        self.task_offsets = [] if task_offsets is UNSET else task_offsets
        self.task_end_offsets = [] if task_end_offsets is UNSET else task_end_offsets
        self.assignment = Assignment() if assignment is UNSET else assignment
        self.target_assignment = Assignment() if target_assignment is UNSET else target_assignment
        self.is_classic = is_classic
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribedGroup(MessageValue):
    """In `StreamsGroupDescribeResponse.groups`, version 0."""

    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "topology",
        "members",
        "authorized_operations",
        "unknown_tagged_fields",
    )

    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    topology: Topology | None
    members: list[Member]
    authorized_operations: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        topology: Topology | None = None,
        members: list[Member] = UNSET,
        authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.topology = topology
        self.members = [] if members is UNSET else members
        self.authorized_operations = authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupDescribeResponse(MessageValue):
    """Response of API 89, version 0."""

    __slots__ = ("throttle_time_ms", "groups", "unknown_tagged_fields")

    throttle_time_ms: int
    groups: list[DescribedGroup]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is UNSET else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 89
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.groups) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.throttle_time_ms, n)
            else:
                out += _INT32.pack(self.throttle_time_ms)
                write_uvarint(out, n)
            _write_described_group(out, self.groups, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 20 <= limit - at:
                raise count_refused(n, limit - at)
            message.groups, at = _read_described_group(data, at, version, n)
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


def _read_key_value(data: bytes, at: int, version: int, count: int) -> tuple[list[KeyValue], int]:
    items: list[KeyValue] = []
    for _ in range(count):
        item = _new(KeyValue)
        n = data[at]
        if 0 < n < 128:
            item.key = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.key, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.value = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.value, at = read_compact_string(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_key_value(out: bytearray, items: Iterable[KeyValue], version: int) -> None:
    for item in items:
        raw = item.key.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.value.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topic_info(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicInfo], int]:
    items: list[TopicInfo] = []
    limit = len(data)
    for _ in range(count):
        item = _new(TopicInfo)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        item.partitions, item.replication_factor, n = _INT32_INT16_BYTE.unpack_from(data, at)
        at += 6
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.topic_configs) + 1
        if n < 128:
            out += _INT32_INT16_BYTE.pack(item.partitions, item.replication_factor, n)
        else:
            out += _INT32_INT16.pack(item.partitions, item.replication_factor)
            write_uvarint(out, n)
        _write_key_value(out, item.topic_configs, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_subtopology(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[Subtopology], int]:
    items: list[Subtopology] = []
    limit = len(data)
    for _ in range(count):
        item = _new(Subtopology)
        n = data[at]
        if 0 < n < 128:
            item.subtopology_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.subtopology_id, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.source_topics, at = read_compact_strings(data, at, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.repartition_sink_topics, at = read_compact_strings(data, at, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.state_changelog_topics, at = _read_topic_info(data, at, version, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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
        raw = item.subtopology_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.source_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_compact_strings(out, item.source_topics)
        n = len(item.repartition_sink_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_compact_strings(out, item.repartition_sink_topics)
        n = len(item.state_changelog_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_topic_info(out, item.state_changelog_topics, version)
        n = len(item.repartition_source_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_topic_info(out, item.repartition_source_topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topology(data: bytes, at: int, version: int, count: int) -> tuple[list[Topology], int]:
    items: list[Topology] = []
    limit = len(data)
    for _ in range(count):
        item = _new(Topology)
        item.epoch, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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
        if item.subtopologies is None:
            n = 0
        else:
            n = len(item.subtopologies) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.epoch, n)
        else:
            out += _INT32.pack(item.epoch)
            write_uvarint(out, n)
        if item.subtopologies is not None:
            _write_subtopology(out, item.subtopologies, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_endpoint(data: bytes, at: int, version: int, count: int) -> tuple[list[Endpoint], int]:
    items: list[Endpoint] = []
    for _ in range(count):
        n = data[at]
        if 0 < n < 128:
            host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            host, at = read_compact_string(data, at)
        port, tags = _UINT16_BYTE.unpack_from(data, at)
        at += 3
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(Endpoint(host, port, unknown))
    return items, at


def _write_endpoint(out: bytearray, items: Iterable[Endpoint], version: int) -> None:
    for item in items:
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


def _read_task_offset(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TaskOffset], int]:
    items: list[TaskOffset] = []
    for _ in range(count):
        item = _new(TaskOffset)
        n = data[at]
        if 0 < n < 128:
            item.subtopology_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.subtopology_id, at = read_compact_string(data, at)
        item.partition, item.offset, tags = _INT32_INT64_BYTE.unpack_from(data, at)
        at += 13
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_task_offset(out: bytearray, items: Iterable[TaskOffset], version: int) -> None:
    for item in items:
        raw = item.subtopology_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _INT32_INT64.pack(item.partition, item.offset)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_INT64_ZERO.pack(item.partition, item.offset)


def _read_task_ids(data: bytes, at: int, version: int, count: int) -> tuple[list[TaskIds], int]:
    items: list[TaskIds] = []
    for _ in range(count):
        item = _new(TaskIds)
        n = data[at]
        if 0 < n < 128:
            item.subtopology_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.subtopology_id, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 17:
            item.partitions = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.partitions, at = read_compact_int32s(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_task_ids(out: bytearray, items: Iterable[TaskIds], version: int) -> None:
    for item in items:
        raw = item.subtopology_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        write_compact_int32s(out, item.partitions)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_assignment(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[Assignment], int]:
    items: list[Assignment] = []
    limit = len(data)
    for _ in range(count):
        item = _new(Assignment)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.active_tasks, at = _read_task_ids(data, at, version, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.standby_tasks, at = _read_task_ids(data, at, version, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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
        n = len(item.active_tasks) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_task_ids(out, item.active_tasks, version)
        n = len(item.standby_tasks) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_task_ids(out, item.standby_tasks, version)
        n = len(item.warmup_tasks) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_task_ids(out, item.warmup_tasks, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_member(data: bytes, at: int, version: int, count: int) -> tuple[list[Member], int]:
    items: list[Member] = []
    limit = len(data)
    for _ in range(count):
        item = _new(Member)
        n = data[at]
        if 0 < n < 128:
            item.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.member_id, at = read_compact_string(data, at)
        item.member_epoch, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.instance_id, at = read_compact_string_or_null(data, at)
        n = data[at]
        if 0 < n < 128:
            item.rack_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.rack_id, at = read_compact_string_or_null(data, at)
        n = data[at]
        if 0 < n < 128:
            item.client_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.client_id, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.client_host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.client_host, at = read_compact_string(data, at)
        item.topology_epoch, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.process_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.process_id, at = read_compact_string(data, at)
        (n,) = _INT8.unpack_from(data, at)
        at += 1
        if n < 0:
            item.user_endpoint = None
        else:
            (item.user_endpoint,), at = _read_endpoint(data, at, version, 1)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.client_tags, at = _read_key_value(data, at, version, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 14 <= limit - at:
            raise count_refused(n, limit - at)
        item.task_offsets, at = _read_task_offset(data, at, version, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 14 <= limit - at:
            raise count_refused(n, limit - at)
        item.task_end_offsets, at = _read_task_offset(data, at, version, n)
        (item.assignment,), at = _read_assignment(data, at, version, 1)
        (item.target_assignment,), at = _read_assignment(data, at, version, 1)
        item.is_classic, tags = _BOOL_BYTE.unpack_from(data, at)
        at += 2
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_member(out: bytearray, items: Iterable[Member], version: int) -> None:
    for item in items:
        raw = item.member_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.instance_id is None:
            raw = b""
            n = 0
        else:
            raw = item.instance_id.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.member_epoch, n)
        else:
            out += _INT32.pack(item.member_epoch)
            write_string_length(out, n)
        out += raw
        if item.rack_id is None:
            raw = b""
            n = 0
        else:
            raw = item.rack_id.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.client_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.client_host.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.process_id.encode()
        n = len(raw) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.topology_epoch, n)
        else:
            out += _INT32.pack(item.topology_epoch)
            write_string_length(out, n)
        out += raw
        n = -1 if item.user_endpoint is None else 1
        out += _INT8.pack(n)
        if item.user_endpoint is not None:
            _write_endpoint(out, (item.user_endpoint,), version)
        n = len(item.client_tags) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_key_value(out, item.client_tags, version)
        n = len(item.task_offsets) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_task_offset(out, item.task_offsets, version)
        n = len(item.task_end_offsets) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_task_offset(out, item.task_end_offsets, version)
        _write_assignment(out, (item.assignment,), version)
        _write_assignment(out, (item.target_assignment,), version)
        if item.unknown_tagged_fields:
            out += _BOOL.pack(item.is_classic)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _BOOL_ZERO.pack(item.is_classic)


def _read_described_group(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribedGroup], int]:
    items: list[DescribedGroup] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribedGroup)
        item.error_code, n = _INT16_BYTE.unpack_from(data, at)
        at += 2
        if 0 < n < 128:
            item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.error_message, at = read_compact_string_or_null(data, at)
        n = data[at]
        if 0 < n < 128:
            item.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.group_id, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.group_state = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.group_state, at = read_compact_string(data, at)
        item.group_epoch, item.assignment_epoch, n = _S2INT32_INT8.unpack_from(data, at)
        at += 9
        if n < 0:
            item.topology = None
        else:
            (item.topology,), at = _read_topology(data, at, version, 1)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 28 <= limit - at:
            raise count_refused(n, limit - at)
        item.members, at = _read_member(data, at, version, n)
        item.authorized_operations, tags = _INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_described_group(out: bytearray, items: Iterable[DescribedGroup], version: int) -> None:
    for item in items:
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT16_BYTE.pack(item.error_code, n)
        else:
            out += _INT16.pack(item.error_code)
            write_string_length(out, n)
        out += raw
        raw = item.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.group_state.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = -1 if item.topology is None else 1
        out += _S2INT32_INT8.pack(item.group_epoch, item.assignment_epoch, n)
        if item.topology is not None:
            _write_topology(out, (item.topology,), version)
        n = len(item.members) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_member(out, item.members, version)
        if item.unknown_tagged_fields:
            out += _INT32.pack(item.authorized_operations)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_ZERO.pack(item.authorized_operations)

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
