"""DescribeLogDirs, API key 35, versions 1-5: request and response.

Written by `make codegen` from codegen/schemas/describe_log_dirs.txt.
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

_S_2INT16: Final = Struct(">hh")
_S_2INT32: Final = Struct(">ii")
_S_2INT64: Final = Struct(">qq")
_S_2INT64_BOOL: Final = Struct(">qq?")
_S_2INT64_BOOL_BYTE: Final = Struct(">qq?B")
_S_2INT64_BYTE: Final = Struct(">qqB")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_2INT64_BOOL: Final = Struct(">iqq?")
_S_INT32_2INT64_BOOL_BYTE: Final = Struct(">iqq?B")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


@dataclass(slots=True)
class DescribableLogDirTopic:
    topic: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeLogDirsRequest:
    topics: list[DescribableLogDirTopic] | None = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 35
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 5:
            raise unsupported(self, version)
        item = self
        try:
            if item.topics is None:
                if version >= 2:
                    out.append(0)
                else:
                    out += b"\xff\xff\xff\xff"
            else:
                if version >= 2:
                    write_length(out, len(item.topics))
                else:
                    out += _S_INT32.pack(len(item.topics))
                _write_describable_log_dir_topic(out, item.topics, version)
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
        if not 1 <= version <= 5:
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
            if n < 0:
                item.topics = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.topics, at = _read_describable_log_dir_topic(data, at, version, n)
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
class DescribeLogDirsPartition:
    partition_index: int = 0
    partition_size: int = 0
    offset_lag: int = 0
    is_future_key: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeLogDirsTopic:
    name: str = ""
    partitions: list[DescribeLogDirsPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeLogDirsResult:
    error_code: int = 0
    log_dir: str = ""
    topics: list[DescribeLogDirsTopic] = field(default_factory=list)
    total_bytes: int = -1  # 4+
    usable_bytes: int = -1  # 4+
    is_cordoned: bool = False  # 5
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeLogDirsResponse:
    throttle_time_ms: int = 0
    error_code: int = 0  # 3+
    results: list[DescribeLogDirsResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 35
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 5:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            else:
                out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 2:
                write_length(out, len(item.results))
            else:
                out += _S_INT32.pack(len(item.results))
            _write_describe_log_dirs_result(out, item.results, version)
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
        if not 1 <= version <= 5:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 3:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 2:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
                item.error_code = 0
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
                item.error_code = 0
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            item.results, at = _read_describe_log_dirs_result(data, at, version, n)
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


def _read_describable_log_dir_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribableLogDirTopic], int]:
    items: list[DescribableLogDirTopic] = []
    for _ in range(count):
        item = _new(DescribableLogDirTopic)
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


def _write_describable_log_dir_topic(out: bytearray, items: Iterable[DescribableLogDirTopic], version: int) -> None:
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


def _read_describe_log_dirs_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeLogDirsPartition], int]:
    items: list[DescribeLogDirsPartition] = []
    for _ in range(count):
        item = _new(DescribeLogDirsPartition)
        if version >= 2:
            item.partition_index, item.partition_size, item.offset_lag, item.is_future_key, tags = _S_INT32_2INT64_BOOL_BYTE.unpack_from(data, at)
            at += 22
        else:
            item.partition_index, item.partition_size, item.offset_lag, item.is_future_key = _S_INT32_2INT64_BOOL.unpack_from(data, at)
            at += 21
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_log_dirs_partition(out: bytearray, items: Iterable[DescribeLogDirsPartition], version: int) -> None:
    for item in items:
        out += _S_INT32_2INT64_BOOL.pack(item.partition_index, item.partition_size, item.offset_lag, item.is_future_key)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_describe_log_dirs_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeLogDirsTopic], int]:
    limit = len(data)
    items: list[DescribeLogDirsTopic] = []
    for _ in range(count):
        item = _new(DescribeLogDirsTopic)
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
        if not 0 <= n * 21 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_describe_log_dirs_partition(data, at, version, n)
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


def _write_describe_log_dirs_topic(out: bytearray, items: Iterable[DescribeLogDirsTopic], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 2:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_describe_log_dirs_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_describe_log_dirs_result(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeLogDirsResult], int]:
    limit = len(data)
    items: list[DescribeLogDirsResult] = []
    for _ in range(count):
        item = _new(DescribeLogDirsResult)
        if version >= 2:
            item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.error_code, n = _S_2INT16.unpack_from(data, at)
            at += 4
        if n < 0:
            raise null_refused()
        at += n
        item.log_dir = data[at - n : at].decode("utf-8", LENIENT)
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
        item.topics, at = _read_describe_log_dirs_topic(data, at, version, n)
        if version >= 5:
            item.total_bytes, item.usable_bytes, item.is_cordoned, tags = _S_2INT64_BOOL_BYTE.unpack_from(data, at)
            at += 18
        elif version >= 4:
            item.total_bytes, item.usable_bytes, tags = _S_2INT64_BYTE.unpack_from(data, at)
            at += 17
            item.is_cordoned = False
        elif version >= 2:
            tags = data[at]
            at += 1
            item.total_bytes = -1
            item.usable_bytes = -1
            item.is_cordoned = False
        else:
            tags = 0
            item.total_bytes = -1
            item.usable_bytes = -1
            item.is_cordoned = False
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_log_dirs_result(out: bytearray, items: Iterable[DescribeLogDirsResult], version: int) -> None:
    for item in items:
        out += _S_INT16.pack(item.error_code)
        if version >= 2:
            write_compact_string(out, item.log_dir)
        else:
            write_string(out, item.log_dir)
        if version >= 2:
            write_length(out, len(item.topics))
        else:
            out += _S_INT32.pack(len(item.topics))
        _write_describe_log_dirs_topic(out, item.topics, version)
        if version >= 5:
            out += _S_2INT64_BOOL.pack(item.total_bytes, item.usable_bytes, item.is_cordoned)
        elif version >= 4:
            out += _S_2INT64.pack(item.total_bytes, item.usable_bytes)
        else:
            pass
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)

SCHEMA: Final = """\
request DescribeLogDirsRequest key=35 versions=1-5 flexible=2+ listeners=broker
  topics        []DescribableLogDirTopic  nullable
    topic       string
    partitions  []int32

response DescribeLogDirsResponse key=35 versions=1-5 flexible=2+ listeners=broker
  throttleTimeMs        int32
  errorCode             int16                       3+ ignorable
  results               []DescribeLogDirsResult
    errorCode           int16
    logDir              string
    topics              []DescribeLogDirsTopic
      name              string
      partitions        []DescribeLogDirsPartition
        partitionIndex  int32
        partitionSize   int64
        offsetLag       int64
        isFutureKey     bool
    totalBytes          int64                       4+ default=-1 ignorable
    usableBytes         int64                       4+ default=-1 ignorable
    isCordoned          bool                        5 ignorable
"""
