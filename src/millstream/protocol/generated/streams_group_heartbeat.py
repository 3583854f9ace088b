"""StreamsGroupHeartbeat, API key 88, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/streams_group_heartbeat.txt.
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
    read_integers,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    write_compact_int32s,
    write_compact_strings,
    write_integers,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_INT64_ZERO: Final = Struct(">iqx")
_INT32_INT8: Final = Struct(">ib")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_S2INT32: Final = Struct(">ii")
_S2INT32_BYTE: Final = Struct(">iiB")
_S4INT32: Final = Struct(">iiii")
_S4INT32_BYTE: Final = Struct(">iiiiB")
_UINT16: Final = Struct(">H")
_UINT16_BYTE: Final = Struct(">HB")
_UINT16_ZERO: Final = Struct(">Hx")
_new: Final = object.__new__


class KeyValue(MessageValue):
    """In `StreamsGroupHeartbeatRequest.client_tags` and elsewhere, version 0."""

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


class CopartitionGroup(MessageValue):
    """In `Subtopology.copartition_groups`, version 0."""

    __slots__ = (
        "source_topics", "source_topic_regex", "repartition_source_topics", "unknown_tagged_fields"
    )

    source_topics: list[int]
    source_topic_regex: list[int]
    repartition_source_topics: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        source_topics: list[int] = UNSET,
        source_topic_regex: list[int] = UNSET,
        repartition_source_topics: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.source_topics = [] if source_topics is UNSET else source_topics
        self.source_topic_regex = [] if source_topic_regex is UNSET else source_topic_regex
        self.repartition_source_topics = [] if repartition_source_topics is UNSET else repartition_source_topics
        self.unknown_tagged_fields = unknown_tagged_fields


class Subtopology(MessageValue):
    """In `Topology.subtopologies`, version 0."""

    __slots__ = (
        "subtopology_id",
        "source_topics",
        "source_topic_regex",
        "state_changelog_topics",
        "repartition_sink_topics",
        "repartition_source_topics",
        "copartition_groups",
        "unknown_tagged_fields",
    )

    subtopology_id: str
    source_topics: list[str]
    source_topic_regex: list[str]
    state_changelog_topics: list[TopicInfo]
    repartition_sink_topics: list[str]
    repartition_source_topics: list[TopicInfo]
    copartition_groups: list[CopartitionGroup]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] = UNSET,
        source_topic_regex: list[str] = UNSET,
        state_changelog_topics: list[TopicInfo] = UNSET,
        repartition_sink_topics: list[str] = UNSET,
        repartition_source_topics: list[TopicInfo] = UNSET,
        copartition_groups: list[CopartitionGroup] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is UNSET else source_topics
        self.source_topic_regex = [] if source_topic_regex is UNSET else source_topic_regex
        self.state_changelog_topics = [] if state_changelog_topics is UNSET else state_changelog_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is UNSET else repartition_sink_topics
        self.repartition_source_topics = [] if repartition_source_topics is UNSET else repartition_source_topics
        self.copartition_groups = [] if copartition_groups is UNSET else copartition_groups
        self.unknown_tagged_fields = unknown_tagged_fields


class Topology(MessageValue):
    """In `StreamsGroupHeartbeatRequest.topology`, version 0."""

    __slots__ = ("epoch", "subtopologies", "unknown_tagged_fields")

    epoch: int
    subtopologies: list[Subtopology]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: list[Subtopology] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is UNSET else subtopologies
        self.unknown_tagged_fields = unknown_tagged_fields


class TaskIds(MessageValue):
    """In `StreamsGroupHeartbeatRequest.active_tasks` and elsewhere, version 0."""

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


@dataclass(frozen=True, slots=True)
class Endpoint(MessageValue):
    """In `StreamsGroupHeartbeatRequest.user_endpoint`, version 0."""

    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_ENDPOINT: Final = Endpoint()


class TaskOffset(MessageValue):
    """In `StreamsGroupHeartbeatRequest.task_offsets` and elsewhere, version 0."""

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


class StreamsGroupHeartbeatRequest(MessageValue):
    """Request of API 88, version 0."""

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "endpoint_information_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "topology",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "shutdown_application",
        "unknown_tagged_fields",
    )

    group_id: str
    member_id: str
    member_epoch: int
    endpoint_information_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    topology: Topology | None
    active_tasks: list[TaskIds] | None
    standby_tasks: list[TaskIds] | None
    warmup_tasks: list[TaskIds] | None
    process_id: str | None
    user_endpoint: Endpoint | None
    client_tags: list[KeyValue] | None
    task_offsets: list[TaskOffset] | None
    task_end_offsets: list[TaskOffset] | None
    shutdown_application: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: Topology | None = None,
        active_tasks: list[TaskIds] | None = None,
        standby_tasks: list[TaskIds] | None = None,
        warmup_tasks: list[TaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] | None = None,
        task_offsets: list[TaskOffset] | None = None,
        task_end_offsets: list[TaskOffset] | None = None,
        shutdown_application: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 88
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.instance_id is None:
                raw = b""
                n = 0
            else:
                raw = self.instance_id.encode()
                n = len(raw) + 1
            if n < 128:
                out += _S2INT32_BYTE.pack(self.member_epoch, self.endpoint_information_epoch, n)
            else:
                out += _S2INT32.pack(self.member_epoch, self.endpoint_information_epoch)
                write_string_length(out, n)
            out += raw
            if self.rack_id is None:
                raw = b""
                n = 0
            else:
                raw = self.rack_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = -1 if self.topology is None else 1
            out += _INT32_INT8.pack(self.rebalance_timeout_ms, n)
            if self.topology is not None:
                _write_topology(out, (self.topology,), version)
            if self.active_tasks is None:
                n = 0
            else:
                n = len(self.active_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.active_tasks is not None:
                _write_task_ids(out, self.active_tasks, version)
            if self.standby_tasks is None:
                n = 0
            else:
                n = len(self.standby_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.standby_tasks is not None:
                _write_task_ids(out, self.standby_tasks, version)
            if self.warmup_tasks is None:
                n = 0
            else:
                n = len(self.warmup_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.warmup_tasks is not None:
                _write_task_ids(out, self.warmup_tasks, version)
            if self.process_id is None:
                raw = b""
                n = 0
            else:
                raw = self.process_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = -1 if self.user_endpoint is None else 1
            out += _INT8.pack(n)
            if self.user_endpoint is not None:
                _write_endpoint(out, (self.user_endpoint,), version)
            if self.client_tags is None:
                n = 0
            else:
                n = len(self.client_tags) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.client_tags is not None:
                _write_key_value(out, self.client_tags, version)
            if self.task_offsets is None:
                n = 0
            else:
                n = len(self.task_offsets) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.task_offsets is not None:
                _write_task_offset(out, self.task_offsets, version)
            if self.task_end_offsets is None:
                n = 0
            else:
                n = len(self.task_end_offsets) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.task_end_offsets is not None:
                _write_task_offset(out, self.task_end_offsets, version)
            if self.unknown_tagged_fields:
                out += _BOOL.pack(self.shutdown_application)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _BOOL_ZERO.pack(self.shutdown_application)
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
            if 0 < n < 128:
                message.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.group_id, at = read_compact_string(data, at)
            n = data[at]
            if 0 < n < 128:
                message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.member_id, at = read_compact_string(data, at)
            (
                message.member_epoch,
                message.endpoint_information_epoch,
                n,
            ) = _S2INT32_BYTE.unpack_from(data, at)
            at += 8
            if 0 < n < 128:
                message.instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.instance_id, at = read_compact_string_or_null(data, at)
            n = data[at]
            if 0 < n < 128:
                message.rack_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.rack_id, at = read_compact_string_or_null(data, at)
            message.rebalance_timeout_ms, n = _INT32_INT8.unpack_from(data, at)
            at += 5
            if n < 0:
                message.topology = None
            else:
                (message.topology,), at = _read_topology(data, at, version, 1)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.active_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.active_tasks, at = _read_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.standby_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.standby_tasks, at = _read_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.warmup_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.warmup_tasks, at = _read_task_ids(data, at, version, n)
            n = data[at]
            if 0 < n < 128:
                message.process_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.process_id, at = read_compact_string_or_null(data, at)
            (n,) = _INT8.unpack_from(data, at)
            at += 1
            if n < 0:
                message.user_endpoint = None
            else:
                (message.user_endpoint,), at = _read_endpoint(data, at, version, 1)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.client_tags = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.client_tags, at = _read_key_value(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.task_offsets = None
            else:
                if not 0 <= n * 14 <= limit - at:
                    raise count_refused(n, limit - at)
                message.task_offsets, at = _read_task_offset(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.task_end_offsets = None
            else:
                if not 0 <= n * 14 <= limit - at:
                    raise count_refused(n, limit - at)
                message.task_end_offsets, at = _read_task_offset(data, at, version, n)
            message.shutdown_application, tags = _BOOL_BYTE.unpack_from(data, at)
            at += 2
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class Status(MessageValue):
    """In `StreamsGroupHeartbeatResponse.status`, version 0."""

    __slots__ = ("status_code", "status_detail", "unknown_tagged_fields")

    status_code: int
    status_detail: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        status_code: int = 0,
        status_detail: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.status_code = status_code
        self.status_detail = status_detail
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicPartition(MessageValue):
    """In `EndpointToPartitions.active_partitions` and elsewhere, version 0."""

    __slots__ = ("topic", "partitions", "unknown_tagged_fields")

    topic: str
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class EndpointToPartitions(MessageValue):
    """In `StreamsGroupHeartbeatResponse.partitions_by_user_endpoint`, version 0."""

    __slots__ = (
        "user_endpoint", "active_partitions", "standby_partitions", "unknown_tagged_fields"
    )

    user_endpoint: Endpoint
    active_partitions: list[TopicPartition]
    standby_partitions: list[TopicPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        user_endpoint: Endpoint = _NO_ENDPOINT,
        active_partitions: list[TopicPartition] = UNSET,
        standby_partitions: list[TopicPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.user_endpoint = user_endpoint
        self.active_partitions = [] if active_partitions is UNSET else active_partitions
        self.standby_partitions = [] if standby_partitions is UNSET else standby_partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupHeartbeatResponse(MessageValue):
    """Response of API 88, version 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "acceptable_recovery_lag",
        "task_offset_interval_ms",
        "status",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "endpoint_information_epoch",
        "partitions_by_user_endpoint",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    acceptable_recovery_lag: int
    task_offset_interval_ms: int
    status: list[Status] | None
    active_tasks: list[TaskIds] | None
    standby_tasks: list[TaskIds] | None
    warmup_tasks: list[TaskIds] | None
    endpoint_information_epoch: int
    partitions_by_user_endpoint: list[EndpointToPartitions] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag: int = 0,
        task_offset_interval_ms: int = 0,
        status: list[Status] | None = UNSET,
        active_tasks: list[TaskIds] | None = None,
        standby_tasks: list[TaskIds] | None = None,
        warmup_tasks: list[TaskIds] | None = None,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: list[EndpointToPartitions] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.task_offset_interval_ms = task_offset_interval_ms
        self.status = [] if status is UNSET else status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 88
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
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
            raw = self.member_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.status is None:
                n = 0
            else:
                n = len(self.status) + 1
            if n < 128:
                out += _S4INT32_BYTE.pack(
                    self.member_epoch,
                    self.heartbeat_interval_ms,
                    self.acceptable_recovery_lag,
                    self.task_offset_interval_ms,
                    n,
                )
            else:
                out += _S4INT32.pack(
                    self.member_epoch,
                    self.heartbeat_interval_ms,
                    self.acceptable_recovery_lag,
                    self.task_offset_interval_ms,
                )
                write_uvarint(out, n)
            if self.status is not None:
                _write_status(out, self.status, version)
            if self.active_tasks is None:
                n = 0
            else:
                n = len(self.active_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.active_tasks is not None:
                _write_task_ids(out, self.active_tasks, version)
            if self.standby_tasks is None:
                n = 0
            else:
                n = len(self.standby_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.standby_tasks is not None:
                _write_task_ids(out, self.standby_tasks, version)
            if self.warmup_tasks is None:
                n = 0
            else:
                n = len(self.warmup_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.warmup_tasks is not None:
                _write_task_ids(out, self.warmup_tasks, version)
            if self.partitions_by_user_endpoint is None:
                n = 0
            else:
                n = len(self.partitions_by_user_endpoint) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.endpoint_information_epoch, n)
            else:
                out += _INT32.pack(self.endpoint_information_epoch)
                write_uvarint(out, n)
            if self.partitions_by_user_endpoint is not None:
                _write_endpoint_to_partitions(out, self.partitions_by_user_endpoint, version)
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
            n = data[at]
            if 0 < n < 128:
                message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.member_id, at = read_compact_string(data, at)
            (
                message.member_epoch,
                message.heartbeat_interval_ms,
                message.acceptable_recovery_lag,
                message.task_offset_interval_ms,
                n,
            ) = _S4INT32_BYTE.unpack_from(data, at)
            at += 16
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.status = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.status, at = _read_status(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.active_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.active_tasks, at = _read_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.standby_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.standby_tasks, at = _read_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.warmup_tasks = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.warmup_tasks, at = _read_task_ids(data, at, version, n)
            message.endpoint_information_epoch, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.partitions_by_user_endpoint = None
            else:
                if not 0 <= n * 7 <= limit - at:
                    raise count_refused(n, limit - at)
                message.partitions_by_user_endpoint, at = _read_endpoint_to_partitions(data, at, version, n)
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


def _read_copartition_group(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CopartitionGroup], int]:
    items: list[CopartitionGroup] = []
    for _ in range(count):
        item = _new(CopartitionGroup)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.source_topics, at = read_integers(data, at, n, "h", 2)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.source_topic_regex, at = read_integers(data, at, n, "h", 2)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.repartition_source_topics, at = read_integers(data, at, n, "h", 2)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_copartition_group(
    out: bytearray, items: Iterable[CopartitionGroup], version: int
) -> None:
    for item in items:
        n = len(item.source_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_integers(out, item.source_topics, "h")
        n = len(item.source_topic_regex) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_integers(out, item.source_topic_regex, "h")
        n = len(item.repartition_source_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_integers(out, item.repartition_source_topics, "h")
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
        item.source_topic_regex, at = read_compact_strings(data, at, n)
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
        item.repartition_sink_topics, at = read_compact_strings(data, at, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.repartition_source_topics, at = _read_topic_info(data, at, version, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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
        n = len(item.source_topic_regex) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_compact_strings(out, item.source_topic_regex)
        n = len(item.state_changelog_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_topic_info(out, item.state_changelog_topics, version)
        n = len(item.repartition_sink_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_compact_strings(out, item.repartition_sink_topics)
        n = len(item.repartition_source_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_topic_info(out, item.repartition_source_topics, version)
        n = len(item.copartition_groups) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_copartition_group(out, item.copartition_groups, version)
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
        n = len(item.subtopologies) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.epoch, n)
        else:
            out += _INT32.pack(item.epoch)
            write_uvarint(out, n)
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


def _read_status(data: bytes, at: int, version: int, count: int) -> tuple[list[Status], int]:
    items: list[Status] = []
    for _ in range(count):
        item = _new(Status)
        item.status_code, n = _INT8_BYTE.unpack_from(data, at)
        at += 1
        if 0 < n < 128:
            item.status_detail = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.status_detail, at = read_compact_string(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_status(out: bytearray, items: Iterable[Status], version: int) -> None:
    for item in items:
        raw = item.status_detail.encode()
        n = len(raw) + 1
        if n < 128:
            out += _INT8_BYTE.pack(item.status_code, n)
        else:
            out += _INT8.pack(item.status_code)
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topic_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicPartition], int]:
    items: list[TopicPartition] = []
    for _ in range(count):
        item = _new(TopicPartition)
        n = data[at]
        if 0 < n < 128:
            item.topic = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic, at = read_compact_string(data, at)
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


def _write_topic_partition(out: bytearray, items: Iterable[TopicPartition], version: int) -> None:
    for item in items:
        raw = item.topic.encode()
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


def _read_endpoint_to_partitions(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[EndpointToPartitions], int]:
    items: list[EndpointToPartitions] = []
    limit = len(data)
    for _ in range(count):
        item = _new(EndpointToPartitions)
        (item.user_endpoint,), at = _read_endpoint(data, at, version, 1)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.active_partitions, at = _read_topic_partition(data, at, version, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
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


def _write_endpoint_to_partitions(
    out: bytearray, items: Iterable[EndpointToPartitions], version: int
) -> None:
    for item in items:
        _write_endpoint(out, (item.user_endpoint,), version)
        n = len(item.active_partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_topic_partition(out, item.active_partitions, version)
        n = len(item.standby_partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
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
