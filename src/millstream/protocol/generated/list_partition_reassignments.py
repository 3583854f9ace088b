"""ListPartitionReassignments, API key 46, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/list_partition_reassignments.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    write_compact_int32s,
    write_string_length,
    write_uvarint,
)

_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


class ListPartitionReassignmentsTopics(MessageValue):
    """In `ListPartitionReassignmentsRequest.topics`, version 0."""

    __slots__ = ("name", "partition_indexes", "unknown_tagged_fields")

    name: str
    partition_indexes: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is UNSET else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields


class ListPartitionReassignmentsRequest(MessageValue):
    """Request of API 46, version 0."""

    __slots__ = ("timeout_ms", "topics", "unknown_tagged_fields")

    timeout_ms: int
    topics: list[ListPartitionReassignmentsTopics] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 46
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.topics is None:
                n = 0
            else:
                n = len(self.topics) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.timeout_ms, n)
            else:
                out += _INT32.pack(self.timeout_ms)
                write_uvarint(out, n)
            if self.topics is not None:
                _write_list_partition_reassignments_topics(out, self.topics, version)
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
            message.timeout_ms, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.topics = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.topics, at = _read_list_partition_reassignments_topics(data, at, version, n)
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


class OngoingPartitionReassignment(MessageValue):
    """In `OngoingTopicReassignment.partitions`, version 0."""

    __slots__ = (
        "partition_index",
        "replicas",
        "adding_replicas",
        "removing_replicas",
        "unknown_tagged_fields",
    )

    partition_index: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] = UNSET,
        adding_replicas: list[int] = UNSET,
        removing_replicas: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.replicas = [] if replicas is UNSET else replicas
        self.adding_replicas = [] if adding_replicas is UNSET else adding_replicas
        self.removing_replicas = [] if removing_replicas is UNSET else removing_replicas
        self.unknown_tagged_fields = unknown_tagged_fields


class OngoingTopicReassignment(MessageValue):
    """In `ListPartitionReassignmentsResponse.topics`, version 0."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[OngoingPartitionReassignment]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[OngoingPartitionReassignment] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ListPartitionReassignmentsResponse(MessageValue):
    """Response of API 46, version 0."""

    __slots__ = (
        "throttle_time_ms", "error_code", "error_message", "topics", "unknown_tagged_fields"
    )

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    topics: list[OngoingTopicReassignment]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 46
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
            n = len(self.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_ongoing_topic_reassignment(out, self.topics, version)
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
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_ongoing_topic_reassignment(data, at, version, n)
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


def _read_list_partition_reassignments_topics(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ListPartitionReassignmentsTopics], int]:
    items: list[ListPartitionReassignmentsTopics] = []
    for _ in range(count):
        item = _new(ListPartitionReassignmentsTopics)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 17:
            item.partition_indexes = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.partition_indexes, at = read_compact_int32s(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_list_partition_reassignments_topics(
    out: bytearray, items: Iterable[ListPartitionReassignmentsTopics], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        write_compact_int32s(out, item.partition_indexes)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_ongoing_partition_reassignment(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OngoingPartitionReassignment], int]:
    items: list[OngoingPartitionReassignment] = []
    for _ in range(count):
        item = _new(OngoingPartitionReassignment)
        item.partition_index, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 17:
            item.replicas = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.replicas, at = read_compact_int32s(data, at)
        n = data[at]
        if 0 < n < 17:
            item.adding_replicas = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.adding_replicas, at = read_compact_int32s(data, at)
        n = data[at]
        if 0 < n < 17:
            item.removing_replicas = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.removing_replicas, at = read_compact_int32s(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_ongoing_partition_reassignment(
    out: bytearray, items: Iterable[OngoingPartitionReassignment], version: int
) -> None:
    for item in items:
        out += _INT32.pack(item.partition_index)
        write_compact_int32s(out, item.replicas)
        write_compact_int32s(out, item.adding_replicas)
        write_compact_int32s(out, item.removing_replicas)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_ongoing_topic_reassignment(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OngoingTopicReassignment], int]:
    items: list[OngoingTopicReassignment] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OngoingTopicReassignment)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 8 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_ongoing_partition_reassignment(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_ongoing_topic_reassignment(
    out: bytearray, items: Iterable[OngoingTopicReassignment], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
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
        _write_ongoing_partition_reassignment(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request ListPartitionReassignmentsRequest key=46 versions=0 flexible=0+ listeners=broker,controller
  timeoutMs           int32                               default=60000
  topics              []ListPartitionReassignmentsTopics  nullable default=null
    name              string
    partitionIndexes  []int32

response ListPartitionReassignmentsResponse key=46 versions=0 flexible=0+ listeners=broker,controller
  throttleTimeMs        int32
  errorCode             int16
  errorMessage          string                          nullable
  topics                []OngoingTopicReassignment
    name                string
    partitions          []OngoingPartitionReassignment
      partitionIndex    int32
      replicas          []int32
      addingReplicas    []int32
      removingReplicas  []int32
"""
