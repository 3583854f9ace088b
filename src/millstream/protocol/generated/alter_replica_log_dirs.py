"""AlterReplicaLogDirs, API key 34, versions 1-2: request and response.

Written by `make codegen` from codegen/schemas/alter_replica_log_dirs.txt.
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
    read_integers,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    tags_refused,
    write_compact_int32s,
    write_int32s,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_ZERO: Final = Struct(">ihx")
_S2INT32: Final = Struct(">ii")
_new: Final = object.__new__


class AlterReplicaLogDirTopic(MessageValue):
    """In `AlterReplicaLogDir.topics`, versions 1-2."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterReplicaLogDir(MessageValue):
    """In `AlterReplicaLogDirsRequest.dirs`, versions 1-2."""

    __slots__ = ("path", "topics", "unknown_tagged_fields")

    path: str
    topics: list[AlterReplicaLogDirTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        path: str = "",
        topics: list[AlterReplicaLogDirTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.path = path
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterReplicaLogDirsRequest(MessageValue):
    """Request of API 34, versions 1-2."""

    __slots__ = ("dirs", "unknown_tagged_fields")

    dirs: list[AlterReplicaLogDir]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        dirs: list[AlterReplicaLogDir] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.dirs = [] if dirs is UNSET else dirs
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 34
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.dirs) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_alter_replica_log_dir(out, self.dirs, version)
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
        if not 1 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.dirs, at = _read_alter_replica_log_dir(data, at, version, n)
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


class AlterReplicaLogDirPartitionResult(MessageValue):
    """In `AlterReplicaLogDirTopicResult.partitions`, versions 1-2."""

    __slots__ = ("partition_index", "error_code", "unknown_tagged_fields")

    partition_index: int
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterReplicaLogDirTopicResult(MessageValue):
    """In `AlterReplicaLogDirsResponse.results`, versions 1-2."""

    __slots__ = ("topic_name", "partitions", "unknown_tagged_fields")

    topic_name: str
    partitions: list[AlterReplicaLogDirPartitionResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterReplicaLogDirPartitionResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterReplicaLogDirsResponse(MessageValue):
    """Response of API 34, versions 1-2."""

    __slots__ = ("throttle_time_ms", "results", "unknown_tagged_fields")

    throttle_time_ms: int
    results: list[AlterReplicaLogDirTopicResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirTopicResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 34
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.results) + 1
            if version >= 2:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_alter_replica_log_dir_topic_result(out, self.results, version)
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
        if not 1 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.results, at = _read_alter_replica_log_dir_topic_result(data, at, version, n)
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


def _read_alter_replica_log_dir_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterReplicaLogDirTopic], int]:
    items: list[AlterReplicaLogDirTopic] = []
    for _ in range(count):
        item = _new(AlterReplicaLogDirTopic)
        if version >= 2:
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


def _write_alter_replica_log_dir_topic(
    out: bytearray, items: Iterable[AlterReplicaLogDirTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
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


def _read_alter_replica_log_dir(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterReplicaLogDir], int]:
    items: list[AlterReplicaLogDir] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AlterReplicaLogDir)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.path = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.path, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.path = data[at : at + n].decode("utf-8", LENIENT)
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
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_alter_replica_log_dir_topic(data, at, version, n)
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


def _write_alter_replica_log_dir(
    out: bytearray, items: Iterable[AlterReplicaLogDir], version: int
) -> None:
    for item in items:
        raw = item.path.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.topics) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_alter_replica_log_dir_topic(out, item.topics, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_alter_replica_log_dir_partition_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterReplicaLogDirPartitionResult], int]:
    items: list[AlterReplicaLogDirPartitionResult] = []
    for _ in range(count):
        item = _new(AlterReplicaLogDirPartitionResult)
        if version >= 2:
            item.partition_index, item.error_code, tags = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
        else:
            item.partition_index, item.error_code = _INT32_INT16.unpack_from(data, at)
            at += 6
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_replica_log_dir_partition_result(
    out: bytearray, items: Iterable[AlterReplicaLogDirPartitionResult], version: int
) -> None:
    for item in items:
        if version >= 2:
            if item.unknown_tagged_fields:
                out += _INT32_INT16.pack(item.partition_index, item.error_code)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_INT16_ZERO.pack(item.partition_index, item.error_code)
        else:
            out += _INT32_INT16.pack(item.partition_index, item.error_code)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_alter_replica_log_dir_topic_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterReplicaLogDirTopicResult], int]:
    items: list[AlterReplicaLogDirTopicResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AlterReplicaLogDirTopicResult)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.topic_name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.topic_name = data[at : at + n].decode("utf-8", LENIENT)
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
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_alter_replica_log_dir_partition_result(data, at, version, n)
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


def _write_alter_replica_log_dir_topic_result(
    out: bytearray, items: Iterable[AlterReplicaLogDirTopicResult], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_alter_replica_log_dir_partition_result(out, item.partitions, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request AlterReplicaLogDirsRequest key=34 versions=1-2 flexible=2+ listeners=broker
  dirs            []AlterReplicaLogDir
    path          string
    topics        []AlterReplicaLogDirTopic
      name        string
      partitions  []int32

response AlterReplicaLogDirsResponse key=34 versions=1-2 flexible=2+ listeners=broker
  throttleTimeMs      int32
  results             []AlterReplicaLogDirTopicResult
    topicName         string
    partitions        []AlterReplicaLogDirPartitionResult
      partitionIndex  int32
      errorCode       int16
"""
