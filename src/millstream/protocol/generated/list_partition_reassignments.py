"""ListPartitionReassignments, API key 46, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/list_partition_reassignments.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_integers, write_length, write_string

_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


@dataclass(slots=True)
class ListPartitionReassignmentsTopics:
    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ListPartitionReassignmentsRequest:
    timeout_ms: int = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 46
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.timeout_ms)
            if item.topics is None:
                out.append(0)
            else:
                write_length(out, len(item.topics))
                _write_list_partition_reassignments_topics(out, item.topics, version)
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
            item.timeout_ms, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.topics = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.topics, at = _read_list_partition_reassignments_topics(data, at, version, n)
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


@dataclass(slots=True)
class OngoingPartitionReassignment:
    partition_index: int = 0
    replicas: list[int] = field(default_factory=list)
    adding_replicas: list[int] = field(default_factory=list)
    removing_replicas: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OngoingTopicReassignment:
    name: str = ""
    partitions: list[OngoingPartitionReassignment] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ListPartitionReassignmentsResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    topics: list[OngoingTopicReassignment] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 46
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
            write_length(out, len(item.topics))
            _write_ongoing_topic_reassignment(out, item.topics, version)
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
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_ongoing_topic_reassignment(data, at, version, n)
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


def _read_list_partition_reassignments_topics(data: bytes, at: int, version: int, count: int) -> tuple[list[ListPartitionReassignmentsTopics], int]:
    items: list[ListPartitionReassignmentsTopics] = []
    for _ in range(count):
        item = _new(ListPartitionReassignmentsTopics)
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
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.partition_indexes, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_list_partition_reassignments_topics(out: bytearray, items: Iterable[ListPartitionReassignmentsTopics], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_length(out, len(item.partition_indexes))
        write_integers(out, item.partition_indexes, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_ongoing_partition_reassignment(data: bytes, at: int, version: int, count: int) -> tuple[list[OngoingPartitionReassignment], int]:
    items: list[OngoingPartitionReassignment] = []
    for _ in range(count):
        item = _new(OngoingPartitionReassignment)
        item.partition_index, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.replicas, at = read_integers(data, at, n, "i", 4)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.adding_replicas, at = read_integers(data, at, n, "i", 4)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.removing_replicas, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_ongoing_partition_reassignment(out: bytearray, items: Iterable[OngoingPartitionReassignment], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.partition_index)
        write_length(out, len(item.replicas))
        write_integers(out, item.replicas, "i")
        write_length(out, len(item.adding_replicas))
        write_integers(out, item.adding_replicas, "i")
        write_length(out, len(item.removing_replicas))
        write_integers(out, item.removing_replicas, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_ongoing_topic_reassignment(data: bytes, at: int, version: int, count: int) -> tuple[list[OngoingTopicReassignment], int]:
    limit = len(data)
    items: list[OngoingTopicReassignment] = []
    for _ in range(count):
        item = _new(OngoingTopicReassignment)
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
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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


def _write_ongoing_topic_reassignment(out: bytearray, items: Iterable[OngoingTopicReassignment], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_length(out, len(item.partitions))
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
