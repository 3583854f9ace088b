"""ElectLeaders, API key 43, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/elect_leaders.txt.
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
    write_compact_int32s,
    write_int32s,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_2INT16: Final = Struct(">ihh")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_INT32: Final = Struct(">ihi")
_INT32_ZERO: Final = Struct(">ix")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_INT32: Final = Struct(">bi")
_S2INT32: Final = Struct(">ii")
_new: Final = object.__new__


class TopicPartitions(MessageValue):
    """In `ElectLeadersRequest.topic_partitions`, versions 0-2."""

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


class ElectLeadersRequest(MessageValue):
    """Request of API 43, versions 0-2."""

    __slots__ = ("election_type", "topic_partitions", "timeout_ms", "unknown_tagged_fields")

    election_type: int  # 1+
    topic_partitions: list[TopicPartitions] | None
    timeout_ms: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None = UNSET,
        timeout_ms: int = 60000,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is UNSET else topic_partitions
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 43
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if self.topic_partitions is None:
                n = 0
            else:
                n = len(self.topic_partitions) + 1
            if version >= 2:
                if n < 128:
                    out += _INT8_BYTE.pack(self.election_type, n)
                else:
                    out += _INT8.pack(self.election_type)
                    write_uvarint(out, n)
            elif version >= 1:
                out += _INT8_INT32.pack(self.election_type, n - 1)
            else:
                out += _INT32.pack(n - 1)
                if self.election_type:
                    raise not_in_version("election_type", version)
            if self.topic_partitions is not None:
                _write_topic_partitions(out, self.topic_partitions, version)
            if version >= 2:
                if self.unknown_tagged_fields:
                    out += _INT32.pack(self.timeout_ms)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_ZERO.pack(self.timeout_ms)
            else:
                out += _INT32.pack(self.timeout_ms)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                message.election_type, n = _INT8_BYTE.unpack_from(data, at)
                at += 1
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 1:
                message.election_type, n = _INT8_INT32.unpack_from(data, at)
                at += 5
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.election_type = 0
            if n < 0:
                message.topic_partitions = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.topic_partitions, at = _read_topic_partitions(data, at, version, n)
            if version >= 2:
                message.timeout_ms, tags = _INT32_BYTE.unpack_from(data, at)
                at += 5
            else:
                (message.timeout_ms,) = _INT32.unpack_from(data, at)
                at += 4
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class PartitionResult(MessageValue):
    """In `ReplicaElectionResult.partition_result`, versions 0-2."""

    __slots__ = ("partition_id", "error_code", "error_message", "unknown_tagged_fields")

    partition_id: int
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class ReplicaElectionResult(MessageValue):
    """In `ElectLeadersResponse.replica_election_results`, versions 0-2."""

    __slots__ = ("topic", "partition_result", "unknown_tagged_fields")

    topic: str
    partition_result: list[PartitionResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic: str = "",
        partition_result: list[PartitionResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic = topic
        self.partition_result = [] if partition_result is UNSET else partition_result
        self.unknown_tagged_fields = unknown_tagged_fields


class ElectLeadersResponse(MessageValue):
    """Response of API 43, versions 0-2."""

    __slots__ = (
        "throttle_time_ms", "error_code", "replica_election_results", "unknown_tagged_fields"
    )

    throttle_time_ms: int
    error_code: int  # 1+
    replica_election_results: list[ReplicaElectionResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = [] if replica_election_results is UNSET else replica_election_results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 43
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.replica_election_results) + 1
            if version >= 2:
                if n < 128:
                    out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
                else:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_uvarint(out, n)
            elif version >= 1:
                out += _INT32_INT16_INT32.pack(self.throttle_time_ms, self.error_code, n - 1)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
                if self.error_code:
                    raise not_in_version("error_code", version)
            _write_replica_election_result(out, self.replica_election_results, version)
            if version >= 2:
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
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    n,
                ) = _INT32_INT16_BYTE.unpack_from(data, at)
                at += 6
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 1:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    n,
                ) = _INT32_INT16_INT32.unpack_from(data, at)
                at += 10
            else:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
                message.error_code = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.replica_election_results, at = _read_replica_election_result(data, at, version, n)
            if version >= 2:
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


def _read_topic_partitions(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicPartitions], int]:
    items: list[TopicPartitions] = []
    for _ in range(count):
        item = _new(TopicPartitions)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.topic = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.topic, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.topic = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            n = data[at]
            if 0 < n < 17:
                item.partitions = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.partitions, at = read_compact_int32s(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            item.partitions, at = read_integers(data, at, n, "i", 4)
        if version >= 2:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_partitions(out: bytearray, items: Iterable[TopicPartitions], version: int) -> None:
    for item in items:
        raw = item.topic.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 2:
            write_compact_int32s(out, item.partitions)
        else:
            write_int32s(out, item.partitions)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_partition_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[PartitionResult], int]:
    items: list[PartitionResult] = []
    for _ in range(count):
        item = _new(PartitionResult)
        if version >= 2:
            item.partition_id, item.error_code, n = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 6
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        else:
            item.partition_id, item.error_code, n = _INT32_2INT16.unpack_from(data, at)
            at += 8
            if n < 0:
                item.error_message = None
            else:
                item.error_message = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 2:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_partition_result(out: bytearray, items: Iterable[PartitionResult], version: int) -> None:
    for item in items:
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _INT32_INT16_BYTE.pack(item.partition_id, item.error_code, n)
            else:
                out += _INT32_INT16.pack(item.partition_id, item.error_code)
                write_string_length(out, n)
        else:
            out += _INT32_2INT16.pack(item.partition_id, item.error_code, n - 1)
        out += raw
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_replica_election_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ReplicaElectionResult], int]:
    items: list[ReplicaElectionResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(ReplicaElectionResult)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.topic = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.topic, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.topic = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 8 <= limit - at:
            raise count_refused(n, limit - at)
        item.partition_result, at = _read_partition_result(data, at, version, n)
        if version >= 2:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_replica_election_result(
    out: bytearray, items: Iterable[ReplicaElectionResult], version: int
) -> None:
    for item in items:
        raw = item.topic.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partition_result) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_partition_result(out, item.partition_result, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request ElectLeadersRequest key=43 versions=0-2 flexible=2+ listeners=broker,controller
  electionType     int8               1+
  topicPartitions  []TopicPartitions  nullable
    topic          string
    partitions     []int32
  timeoutMs        int32              default=60000

response ElectLeadersResponse key=43 versions=0-2 flexible=2+ listeners=broker,controller
  throttleTimeMs          int32
  errorCode               int16                    1+
  replicaElectionResults  []ReplicaElectionResult
    topic                 string
    partitionResult       []PartitionResult
      partitionId         int32
      errorCode           int16
      errorMessage        string                   nullable
"""
