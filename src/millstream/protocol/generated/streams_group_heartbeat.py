"""StreamsGroupHeartbeat, API key 88, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/streams_group_heartbeat.txt.
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
_S_2INT32_BYTE: Final = Struct(">iiB")
_S_4INT32: Final = Struct(">iiii")
_S_4INT32_BYTE: Final = Struct(">iiiiB")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_BYTE: Final = Struct(">iqB")
_S_INT32_INT8: Final = Struct(">ib")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_S_UINT16: Final = Struct(">H")
_S_UINT16_BYTE: Final = Struct(">HB")
_new: Final = object.__new__


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
class CopartitionGroup:
    source_topics: list[int] = field(default_factory=list)
    source_topic_regex: list[int] = field(default_factory=list)
    repartition_source_topics: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Subtopology:
    subtopology_id: str = ""
    source_topics: list[str] = field(default_factory=list)
    source_topic_regex: list[str] = field(default_factory=list)
    state_changelog_topics: list[TopicInfo] = field(default_factory=list)
    repartition_sink_topics: list[str] = field(default_factory=list)
    repartition_source_topics: list[TopicInfo] = field(default_factory=list)
    copartition_groups: list[CopartitionGroup] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Topology:
    epoch: int = 0
    subtopologies: list[Subtopology] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TaskIds:
    subtopology_id: str = ""
    partitions: list[int] = field(default_factory=list)
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
class StreamsGroupHeartbeatRequest:
    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    endpoint_information_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] | None = None
    task_offsets: list[TaskOffset] | None = None
    task_end_offsets: list[TaskOffset] | None = None
    shutdown_application: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 88
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_compact_string(out, item.group_id)
            write_compact_string(out, item.member_id)
            out += _S_2INT32.pack(item.member_epoch, item.endpoint_information_epoch)
            if item.instance_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.instance_id)
            if item.rack_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.rack_id)
            out += _S_INT32.pack(item.rebalance_timeout_ms)
            if item.topology is None:
                out.append(255)
            else:
                out.append(1)
                _write_topology(out, (item.topology,), version)
            if item.active_tasks is None:
                out.append(0)
            else:
                write_length(out, len(item.active_tasks))
                _write_task_ids(out, item.active_tasks, version)
            if item.standby_tasks is None:
                out.append(0)
            else:
                write_length(out, len(item.standby_tasks))
                _write_task_ids(out, item.standby_tasks, version)
            if item.warmup_tasks is None:
                out.append(0)
            else:
                write_length(out, len(item.warmup_tasks))
                _write_task_ids(out, item.warmup_tasks, version)
            if item.process_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.process_id)
            if item.user_endpoint is None:
                out.append(255)
            else:
                out.append(1)
                _write_endpoint(out, (item.user_endpoint,), version)
            if item.client_tags is None:
                out.append(0)
            else:
                write_length(out, len(item.client_tags))
                _write_key_value(out, item.client_tags, version)
            if item.task_offsets is None:
                out.append(0)
            else:
                write_length(out, len(item.task_offsets))
                _write_task_offset(out, item.task_offsets, version)
            if item.task_end_offsets is None:
                out.append(0)
            else:
                write_length(out, len(item.task_end_offsets))
                _write_task_offset(out, item.task_end_offsets, version)
            out += _S_BOOL.pack(item.shutdown_application)
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
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            item.member_epoch, item.endpoint_information_epoch, n = _S_2INT32_BYTE.unpack_from(data, at)
            at += 9
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
            item.rebalance_timeout_ms, n = _S_INT32_INT8.unpack_from(data, at)
            at += 5
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
            if n < 0:
                item.active_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.active_tasks, at = _read_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.standby_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.standby_tasks, at = _read_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.warmup_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.warmup_tasks, at = _read_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.process_id = None
            else:
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
            if n < 0:
                item.client_tags = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.client_tags, at = _read_key_value(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.task_offsets = None
            else:
                if not 0 <= n * 14 <= limit - at:
                    raise count_refused(n, limit - at)
                item.task_offsets, at = _read_task_offset(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.task_end_offsets = None
            else:
                if not 0 <= n * 14 <= limit - at:
                    raise count_refused(n, limit - at)
                item.task_end_offsets, at = _read_task_offset(data, at, version, n)
            item.shutdown_application, tags = _S_BOOL_BYTE.unpack_from(data, at)
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
class Status:
    status_code: int = 0
    status_detail: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TopicPartition:
    topic: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class EndpointToPartitions:
    user_endpoint: Endpoint = _NO_ENDPOINT
    active_partitions: list[TopicPartition] = field(default_factory=list)
    standby_partitions: list[TopicPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class StreamsGroupHeartbeatResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    acceptable_recovery_lag: int = 0
    task_offset_interval_ms: int = 0
    status: list[Status] | None = field(default_factory=list)
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    endpoint_information_epoch: int = 0
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 88
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
            write_compact_string(out, item.member_id)
            out += _S_4INT32.pack(item.member_epoch, item.heartbeat_interval_ms, item.acceptable_recovery_lag, item.task_offset_interval_ms)
            if item.status is None:
                out.append(0)
            else:
                write_length(out, len(item.status))
                _write_status(out, item.status, version)
            if item.active_tasks is None:
                out.append(0)
            else:
                write_length(out, len(item.active_tasks))
                _write_task_ids(out, item.active_tasks, version)
            if item.standby_tasks is None:
                out.append(0)
            else:
                write_length(out, len(item.standby_tasks))
                _write_task_ids(out, item.standby_tasks, version)
            if item.warmup_tasks is None:
                out.append(0)
            else:
                write_length(out, len(item.warmup_tasks))
                _write_task_ids(out, item.warmup_tasks, version)
            out += _S_INT32.pack(item.endpoint_information_epoch)
            if item.partitions_by_user_endpoint is None:
                out.append(0)
            else:
                write_length(out, len(item.partitions_by_user_endpoint))
                _write_endpoint_to_partitions(out, item.partitions_by_user_endpoint, version)
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
            item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
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
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            item.member_epoch, item.heartbeat_interval_ms, item.acceptable_recovery_lag, item.task_offset_interval_ms, n = _S_4INT32_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.status = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.status, at = _read_status(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.active_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.active_tasks, at = _read_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.standby_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.standby_tasks, at = _read_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.warmup_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.warmup_tasks, at = _read_task_ids(data, at, version, n)
            item.endpoint_information_epoch, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.partitions_by_user_endpoint = None
            else:
                if not 0 <= n * 7 <= limit - at:
                    raise count_refused(n, limit - at)
                item.partitions_by_user_endpoint, at = _read_endpoint_to_partitions(data, at, version, n)
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


def _read_copartition_group(data: bytes, at: int, version: int, count: int) -> tuple[list[CopartitionGroup], int]:
    items: list[CopartitionGroup] = []
    for _ in range(count):
        item = _new(CopartitionGroup)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.source_topics, at = read_integers(data, at, n, "h", 2)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.source_topic_regex, at = read_integers(data, at, n, "h", 2)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.repartition_source_topics, at = read_integers(data, at, n, "h", 2)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_copartition_group(out: bytearray, items: Iterable[CopartitionGroup], version: int) -> None:
    for item in items:
        write_length(out, len(item.source_topics))
        write_integers(out, item.source_topics, "h")
        write_length(out, len(item.source_topic_regex))
        write_integers(out, item.source_topic_regex, "h")
        write_length(out, len(item.repartition_source_topics))
        write_integers(out, item.repartition_source_topics, "h")
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
        item.source_topic_regex, at = read_compact_strings(data, at, n)
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
        item.repartition_sink_topics, at = read_compact_strings(data, at, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.repartition_source_topics, at = _read_topic_info(data, at, version, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 4 <= limit - at:
            raise count_refused(n, limit - at)
        item.copartition_groups, at = _read_copartition_group(data, at, version, n)
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
        write_length(out, len(item.source_topic_regex))
        for text in item.source_topic_regex:
            write_compact_string(out, text)
        write_length(out, len(item.state_changelog_topics))
        _write_topic_info(out, item.state_changelog_topics, version)
        write_length(out, len(item.repartition_sink_topics))
        for text in item.repartition_sink_topics:
            write_compact_string(out, text)
        write_length(out, len(item.repartition_source_topics))
        _write_topic_info(out, item.repartition_source_topics, version)
        write_length(out, len(item.copartition_groups))
        _write_copartition_group(out, item.copartition_groups, version)
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
        if not 0 <= n * 8 <= limit - at:
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
        write_length(out, len(item.subtopologies))
        _write_subtopology(out, item.subtopologies, version)
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


def _read_status(data: bytes, at: int, version: int, count: int) -> tuple[list[Status], int]:
    items: list[Status] = []
    for _ in range(count):
        item = _new(Status)
        item.status_code, n = _S_INT8_BYTE.unpack_from(data, at)
        at += 2
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.status_detail = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_status(out: bytearray, items: Iterable[Status], version: int) -> None:
    for item in items:
        out += _S_INT8.pack(item.status_code)
        write_compact_string(out, item.status_detail)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topic_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicPartition], int]:
    items: list[TopicPartition] = []
    for _ in range(count):
        item = _new(TopicPartition)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.topic = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_topic_partition(out: bytearray, items: Iterable[TopicPartition], version: int) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_endpoint_to_partitions(data: bytes, at: int, version: int, count: int) -> tuple[list[EndpointToPartitions], int]:
    limit = len(data)
    items: list[EndpointToPartitions] = []
    for _ in range(count):
        item = _new(EndpointToPartitions)
        (item.user_endpoint,), at = _read_endpoint(data, at, version, 1)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.active_partitions, at = _read_topic_partition(data, at, version, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.standby_partitions, at = _read_topic_partition(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_endpoint_to_partitions(out: bytearray, items: Iterable[EndpointToPartitions], version: int) -> None:
    for item in items:
        _write_endpoint(out, (item.user_endpoint,), version)
        write_length(out, len(item.active_partitions))
        _write_topic_partition(out, item.active_partitions, version)
        write_length(out, len(item.standby_partitions))
        _write_topic_partition(out, item.standby_partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request StreamsGroupHeartbeatRequest key=88 versions=0 flexible=0+ listeners=broker
  groupId                        string
  memberId                       string
  memberEpoch                    int32
  endpointInformationEpoch       int32
  instanceId                     string              nullable default=null
  rackId                         string              nullable default=null
  rebalanceTimeoutMs             int32               default=-1
  topology                       Topology            nullable default=null
    epoch                        int32
    subtopologies                []Subtopology
      subtopologyId              string
      sourceTopics               []string
      sourceTopicRegex           []string
      stateChangelogTopics       []TopicInfo
        name                     string
        partitions               int32
        replicationFactor        int16
        topicConfigs             []KeyValue
          key                    string
          value                  string
      repartitionSinkTopics      []string
      repartitionSourceTopics    []TopicInfo
      copartitionGroups          []CopartitionGroup
        sourceTopics             []int16
        sourceTopicRegex         []int16
        repartitionSourceTopics  []int16
  activeTasks                    []TaskIds           nullable default=null
    subtopologyId                string
    partitions                   []int32
  standbyTasks                   []TaskIds           nullable default=null
  warmupTasks                    []TaskIds           nullable default=null
  processId                      string              nullable default=null
  userEndpoint                   Endpoint            nullable default=null
    host                         string
    port                         uint16
  clientTags                     []KeyValue          nullable default=null
  taskOffsets                    []TaskOffset        nullable default=null
    subtopologyId                string
    partition                    int32
    offset                       int64
  taskEndOffsets                 []TaskOffset        nullable default=null
  shutdownApplication            bool

response StreamsGroupHeartbeatResponse key=88 versions=0 flexible=0+ listeners=broker
  throttleTimeMs            int32
  errorCode                 int16
  errorMessage              string                  nullable default=null
  memberId                  string
  memberEpoch               int32
  heartbeatIntervalMs       int32
  acceptableRecoveryLag     int32
  taskOffsetIntervalMs      int32
  status                    []Status                nullable
    statusCode              int8
    statusDetail            string
  activeTasks               []TaskIds               nullable default=null
    subtopologyId           string
    partitions              []int32
  standbyTasks              []TaskIds               nullable default=null
  warmupTasks               []TaskIds               nullable default=null
  endpointInformationEpoch  int32
  partitionsByUserEndpoint  []EndpointToPartitions  nullable default=null
    userEndpoint            Endpoint
      host                  string
      port                  uint16
    activePartitions        []TopicPartition
      topic                 string
      partitions            []int32
    standbyPartitions       []TopicPartition
"""
