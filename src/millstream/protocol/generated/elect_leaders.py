"""ElectLeaders, API key 43, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/elect_leaders.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_2INT16: Final = Struct(">ihh")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT16_INT32: Final = Struct(">ihi")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_S_INT8_INT32: Final = Struct(">bi")
_new: Final = object.__new__


@dataclass(slots=True)
class TopicPartitions:
    topic: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ElectLeadersRequest:
    election_type: int = 0  # 1+
    topic_partitions: list[TopicPartitions] | None = field(default_factory=list)
    timeout_ms: int = 60000
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 43
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                out += _S_INT8.pack(item.election_type)
            else:
                if item.election_type:
                    raise not_in_version("election_type", version)
            if item.topic_partitions is None:
                if version >= 2:
                    out.append(0)
                else:
                    out += b"\xff\xff\xff\xff"
            else:
                if version >= 2:
                    write_length(out, len(item.topic_partitions))
                else:
                    out += _S_INT32.pack(len(item.topic_partitions))
                _write_topic_partitions(out, item.topic_partitions, version)
            out += _S_INT32.pack(item.timeout_ms)
            if item.unknown_tagged_fields:
                if version < 2:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 2:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                item.election_type, n = _S_INT8_BYTE.unpack_from(data, at)
                at += 2
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                item.election_type, n = _S_INT8_INT32.unpack_from(data, at)
                at += 5
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.election_type = 0
            if n < 0:
                item.topic_partitions = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.topic_partitions, at = _read_topic_partitions(data, at, version, n)
            if version >= 2:
                item.timeout_ms, tags = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
            else:
                (item.timeout_ms,) = _S_INT32.unpack_from(data, at)
                at += 4
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
class PartitionResult:
    partition_id: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ReplicaElectionResult:
    topic: str = ""
    partition_result: list[PartitionResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ElectLeadersResponse:
    throttle_time_ms: int = 0
    error_code: int = 0  # 1+
    replica_election_results: list[ReplicaElectionResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 43
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            else:
                out += _S_INT32.pack(item.throttle_time_ms)
                if item.error_code:
                    raise not_in_version("error_code", version)
            if version >= 2:
                write_length(out, len(item.replica_election_results))
            else:
                out += _S_INT32.pack(len(item.replica_election_results))
            _write_replica_election_result(out, item.replica_election_results, version)
            if item.unknown_tagged_fields:
                if version < 2:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 2:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_INT32.unpack_from(data, at)
                at += 10
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
                item.error_code = 0
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.replica_election_results, at = _read_replica_election_result(data, at, version, n)
            if version >= 2:
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


def _read_topic_partitions(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicPartitions], int]:
    items: list[TopicPartitions] = []
    for _ in range(count):
        item = _new(TopicPartitions)
        if version >= 2:
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
            raise null_refused()
        at += n
        item.topic = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 2:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
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
        if version >= 2:
            write_compact_string(out, item.topic)
        else:
            write_string(out, item.topic)
        if version >= 2:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_partition_result(data: bytes, at: int, version: int, count: int) -> tuple[list[PartitionResult], int]:
    items: list[PartitionResult] = []
    for _ in range(count):
        item = _new(PartitionResult)
        if version >= 2:
            item.partition_id, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.partition_id, item.error_code, n = _S_INT32_2INT16.unpack_from(data, at)
            at += 8
        if n < 0:
            item.error_message = None
        else:
            at += n
            item.error_message = data[at - n : at].decode("utf-8", LENIENT)
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
        out += _S_INT32_INT16.pack(item.partition_id, item.error_code)
        if item.error_message is None:
            if version >= 2:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 2:
                write_compact_string(out, item.error_message)
            else:
                write_string(out, item.error_message)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_replica_election_result(data: bytes, at: int, version: int, count: int) -> tuple[list[ReplicaElectionResult], int]:
    limit = len(data)
    items: list[ReplicaElectionResult] = []
    for _ in range(count):
        item = _new(ReplicaElectionResult)
        if version >= 2:
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
            raise null_refused()
        at += n
        item.topic = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 2:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
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


def _write_replica_election_result(out: bytearray, items: Iterable[ReplicaElectionResult], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.topic)
        else:
            write_string(out, item.topic)
        if version >= 2:
            write_length(out, len(item.partition_result))
        else:
            out += _S_INT32.pack(len(item.partition_result))
        _write_partition_result(out, item.partition_result, version)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)

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
