"""DescribeLogDirs, API key 35, versions 1-5: request and response.

Written by `make codegen` from codegen/schemas/describe_log_dirs.txt.
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
    must_not_be_null,
    tags_refused,
    write_compact_int32s,
    write_int32s,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_2INT64_BOOL: Final = Struct(">iqq?")
_INT32_2INT64_BOOL_BYTE: Final = Struct(">iqq?B")
_INT32_2INT64_BOOL_ZERO: Final = Struct(">iqq?x")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_S2INT16: Final = Struct(">hh")
_S2INT32: Final = Struct(">ii")
_S2INT64: Final = Struct(">qq")
_S2INT64_BOOL: Final = Struct(">qq?")
_S2INT64_BOOL_BYTE: Final = Struct(">qq?B")
_S2INT64_BOOL_ZERO: Final = Struct(">qq?x")
_S2INT64_BYTE: Final = Struct(">qqB")
_S2INT64_ZERO: Final = Struct(">qqx")
_new: Final = object.__new__


class DescribableLogDirTopic(MessageValue):
    """In `DescribeLogDirsRequest.topics`, versions 1-5."""

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


class DescribeLogDirsRequest(MessageValue):
    """Request of API 35, versions 1-5."""

    __slots__ = ("topics", "unknown_tagged_fields")

    topics: list[DescribableLogDirTopic] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[DescribableLogDirTopic] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 35
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            if self.topics is None:
                n = 0
            else:
                n = len(self.topics) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            if self.topics is not None:
                _write_describable_log_dir_topic(out, self.topics, version)
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
        if not 1 <= version <= 5:
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
            if n < 0:
                message.topics = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.topics, at = _read_describable_log_dir_topic(data, at, version, n)
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


class DescribeLogDirsPartition(MessageValue):
    """In `DescribeLogDirsTopic.partitions`, versions 1-5."""

    __slots__ = (
        "partition_index", "partition_size", "offset_lag", "is_future_key", "unknown_tagged_fields"
    )

    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeLogDirsTopic(MessageValue):
    """In `DescribeLogDirsResult.topics`, versions 1-5."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[DescribeLogDirsPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[DescribeLogDirsPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeLogDirsResult(MessageValue):
    """In `DescribeLogDirsResponse.results`, versions 1-5."""

    __slots__ = (
        "error_code",
        "log_dir",
        "topics",
        "total_bytes",
        "usable_bytes",
        "is_cordoned",
        "unknown_tagged_fields",
    )

    error_code: int
    log_dir: str
    topics: list[DescribeLogDirsTopic]
    total_bytes: int  # 4+
    usable_bytes: int  # 4+
    is_cordoned: bool  # 5
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = UNSET,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = [] if topics is UNSET else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeLogDirsResponse(MessageValue):
    """Response of API 35, versions 1-5."""

    __slots__ = ("throttle_time_ms", "error_code", "results", "unknown_tagged_fields")

    throttle_time_ms: int
    error_code: int  # 3+
    results: list[DescribeLogDirsResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is UNSET else results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 35
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            n = len(self.results) + 1
            if version >= 3:
                if n < 128:
                    out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
                else:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_uvarint(out, n)
            elif version >= 2:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_describe_log_dirs_result(out, self.results, version)
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
        if not 1 <= version <= 5:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 3:
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
            elif version >= 2:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                message.error_code = 0
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
                message.error_code = 0
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            message.results, at = _read_describe_log_dirs_result(data, at, version, n)
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


def _read_describable_log_dir_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribableLogDirTopic], int]:
    items: list[DescribableLogDirTopic] = []
    for _ in range(count):
        item = _new(DescribableLogDirTopic)
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


def _write_describable_log_dir_topic(
    out: bytearray, items: Iterable[DescribableLogDirTopic], version: int
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


def _read_describe_log_dirs_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeLogDirsPartition], int]:
    items: list[DescribeLogDirsPartition] = []
    for _ in range(count):
        item = _new(DescribeLogDirsPartition)
        if version >= 2:
            (
                item.partition_index,
                item.partition_size,
                item.offset_lag,
                item.is_future_key,
                tags,
            ) = _INT32_2INT64_BOOL_BYTE.unpack_from(data, at)
            at += 22
        else:
            (
                item.partition_index,
                item.partition_size,
                item.offset_lag,
                item.is_future_key,
            ) = _INT32_2INT64_BOOL.unpack_from(data, at)
            at += 21
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_log_dirs_partition(
    out: bytearray, items: Iterable[DescribeLogDirsPartition], version: int
) -> None:
    for item in items:
        if version >= 2:
            if item.unknown_tagged_fields:
                out += _INT32_2INT64_BOOL.pack(
                    item.partition_index, item.partition_size, item.offset_lag, item.is_future_key
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_2INT64_BOOL_ZERO.pack(
                    item.partition_index, item.partition_size, item.offset_lag, item.is_future_key
                )
        else:
            out += _INT32_2INT64_BOOL.pack(
                item.partition_index, item.partition_size, item.offset_lag, item.is_future_key
            )
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_describe_log_dirs_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeLogDirsTopic], int]:
    items: list[DescribeLogDirsTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeLogDirsTopic)
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
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
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


def _write_describe_log_dirs_topic(
    out: bytearray, items: Iterable[DescribeLogDirsTopic], version: int
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
        n = len(item.partitions) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_describe_log_dirs_partition(out, item.partitions, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_describe_log_dirs_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeLogDirsResult], int]:
    items: list[DescribeLogDirsResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeLogDirsResult)
        if version >= 2:
            item.error_code, n = _INT16_BYTE.unpack_from(data, at)
            at += 2
            if 0 < n < 128:
                item.log_dir = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.log_dir, at = read_compact_string(data, at)
        else:
            item.error_code, n = _S2INT16.unpack_from(data, at)
            at += 4
            if n < 0:
                raise null_refused()
            item.log_dir = data[at : at + n].decode("utf-8", LENIENT)
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
        item.topics, at = _read_describe_log_dirs_topic(data, at, version, n)
        if version >= 5:
            (
                item.total_bytes,
                item.usable_bytes,
                item.is_cordoned,
                tags,
            ) = _S2INT64_BOOL_BYTE.unpack_from(data, at)
            at += 18
        elif version >= 4:
            item.total_bytes, item.usable_bytes, tags = _S2INT64_BYTE.unpack_from(data, at)
            at += 17
            item.is_cordoned = False
        elif version >= 2:
            tags = data[at]
            at += 1
            item.total_bytes = -1
            item.usable_bytes = -1
            item.is_cordoned = False
        else:
            item.total_bytes = -1
            item.usable_bytes = -1
            item.is_cordoned = False
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_log_dirs_result(
    out: bytearray, items: Iterable[DescribeLogDirsResult], version: int
) -> None:
    for item in items:
        raw = item.log_dir.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _INT16_BYTE.pack(item.error_code, n)
            else:
                out += _INT16.pack(item.error_code)
                write_string_length(out, n)
        else:
            out += _S2INT16.pack(item.error_code, n - 1)
        out += raw
        n = len(item.topics) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_describe_log_dirs_topic(out, item.topics, version)
        if version >= 5:
            if item.unknown_tagged_fields:
                out += _S2INT64_BOOL.pack(item.total_bytes, item.usable_bytes, item.is_cordoned)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _S2INT64_BOOL_ZERO.pack(
                    item.total_bytes, item.usable_bytes, item.is_cordoned
                )
        elif version >= 4:
            if item.unknown_tagged_fields:
                out += _S2INT64.pack(item.total_bytes, item.usable_bytes)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _S2INT64_ZERO.pack(item.total_bytes, item.usable_bytes)
        elif version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

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
