"""AlterReplicaLogDirs, API key 34, versions 1-2: request and response.

Written by `make codegen` from codegen/schemas/alter_replica_log_dirs.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


@dataclass(slots=True)
class AlterReplicaLogDirTopic:
    name: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterReplicaLogDir:
    path: str = ""
    topics: list[AlterReplicaLogDirTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterReplicaLogDirsRequest:
    dirs: list[AlterReplicaLogDir] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 34
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                write_length(out, len(item.dirs))
            else:
                out += _S_INT32.pack(len(item.dirs))
            _write_alter_replica_log_dir(out, item.dirs, version)
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
        if not 1 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.dirs, at = _read_alter_replica_log_dir(data, at, version, n)
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


@dataclass(slots=True)
class AlterReplicaLogDirPartitionResult:
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterReplicaLogDirTopicResult:
    topic_name: str = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterReplicaLogDirsResponse:
    throttle_time_ms: int = 0
    results: list[AlterReplicaLogDirTopicResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 34
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 2:
                write_length(out, len(item.results))
            else:
                out += _S_INT32.pack(len(item.results))
            _write_alter_replica_log_dir_topic_result(out, item.results, version)
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
        if not 1 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.results, at = _read_alter_replica_log_dir_topic_result(data, at, version, n)
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


def _read_alter_replica_log_dir_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterReplicaLogDirTopic], int]:
    items: list[AlterReplicaLogDirTopic] = []
    for _ in range(count):
        item = _new(AlterReplicaLogDirTopic)
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
        item.name = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_alter_replica_log_dir_topic(out: bytearray, items: Iterable[AlterReplicaLogDirTopic], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
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


def _read_alter_replica_log_dir(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterReplicaLogDir], int]:
    limit = len(data)
    items: list[AlterReplicaLogDir] = []
    for _ in range(count):
        item = _new(AlterReplicaLogDir)
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
        item.path = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_alter_replica_log_dir(out: bytearray, items: Iterable[AlterReplicaLogDir], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.path)
        else:
            write_string(out, item.path)
        if version >= 2:
            write_length(out, len(item.topics))
        else:
            out += _S_INT32.pack(len(item.topics))
        _write_alter_replica_log_dir_topic(out, item.topics, version)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_alter_replica_log_dir_partition_result(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterReplicaLogDirPartitionResult], int]:
    items: list[AlterReplicaLogDirPartitionResult] = []
    for _ in range(count):
        item = _new(AlterReplicaLogDirPartitionResult)
        if version >= 2:
            item.partition_index, item.error_code, tags = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
        else:
            item.partition_index, item.error_code = _S_INT32_INT16.unpack_from(data, at)
            at += 6
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_replica_log_dir_partition_result(out: bytearray, items: Iterable[AlterReplicaLogDirPartitionResult], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16.pack(item.partition_index, item.error_code)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_alter_replica_log_dir_topic_result(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterReplicaLogDirTopicResult], int]:
    limit = len(data)
    items: list[AlterReplicaLogDirTopicResult] = []
    for _ in range(count):
        item = _new(AlterReplicaLogDirTopicResult)
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
        item.topic_name = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_alter_replica_log_dir_topic_result(out: bytearray, items: Iterable[AlterReplicaLogDirTopicResult], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.topic_name)
        else:
            write_string(out, item.topic_name)
        if version >= 2:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_alter_replica_log_dir_partition_result(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)

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
