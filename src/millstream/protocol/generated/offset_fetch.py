"""OffsetFetch, API key 9, versions 1-10: request and response.

Written by `make codegen` from codegen/schemas/offset_fetch.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, must_not_be_null, not_in_version, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_INT16: Final = Struct(">iqh")
_S_INT32_INT64_INT32: Final = Struct(">iqi")
_S_INT32_INT64_INT32_BYTE: Final = Struct(">iqiB")
_S_INT32_INT64_INT32_INT16: Final = Struct(">iqih")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class OffsetFetchRequestTopic:
    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetFetchRequestTopics:
    name: str = ""  # 8-9
    topic_id: Uuid = ZERO_UUID  # 10
    partition_indexes: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetFetchRequestGroup:
    group_id: str = ""
    member_id: str | None = None  # 9+
    member_epoch: int = -1  # 9+
    topics: list[OffsetFetchRequestTopics] | None = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetFetchRequest:
    group_id: str = ""  # 1-7
    topics: list[OffsetFetchRequestTopic] | None = field(default_factory=list)  # 1-7
    groups: list[OffsetFetchRequestGroup] = field(default_factory=list)  # 8+
    require_stable: bool = False  # 7+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 9
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 10:
            raise unsupported(self, version)
        item = self
        try:
            if version <= 7:
                if version >= 6:
                    write_compact_string(out, item.group_id)
                else:
                    write_string(out, item.group_id)
            elif item.group_id:
                raise not_in_version("group_id", version)
            if version <= 7:
                if item.topics is None:
                    if not (version >= 2):
                        raise must_not_be_null("topics", version)
                    if version >= 6:
                        out.append(0)
                    else:
                        out += b"\xff\xff\xff\xff"
                else:
                    if version >= 6:
                        write_length(out, len(item.topics))
                    else:
                        out += _S_INT32.pack(len(item.topics))
                    _write_offset_fetch_request_topic(out, item.topics, version)
            elif item.topics != []:
                raise not_in_version("topics", version)
            if version >= 8:
                write_length(out, len(item.groups))
                _write_offset_fetch_request_group(out, item.groups, version)
            elif item.groups:
                raise not_in_version("groups", version)
            if version >= 7:
                out += _S_BOOL.pack(item.require_stable)
            else:
                if item.require_stable:
                    raise not_in_version("require_stable", version)
            if item.unknown_tagged_fields:
                if version < 6:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 6:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 10:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 8:
                pass
            elif version >= 6:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT16.unpack_from(data, at)
                at += 2
            if version <= 7:
                if n < 0:
                    raise null_refused()
                at += n
                item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.group_id = ""
            if version >= 8:
                pass
            elif version >= 6:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if version <= 7:
                if n < 0:
                    if not (version >= 2):
                        raise null_refused()
                    item.topics = None
                else:
                    if not 0 <= n * 3 <= limit - at:
                        raise count_refused(n, limit - at)
                    item.topics, at = _read_offset_fetch_request_topic(data, at, version, n)
            else:
                item.topics = []
            if version >= 8:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 8:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.groups, at = _read_offset_fetch_request_group(data, at, version, n)
            else:
                item.groups = []
            if version >= 7:
                item.require_stable, tags = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
            elif version >= 6:
                tags = data[at]
                at += 1
                item.require_stable = False
            else:
                tags = 0
                item.require_stable = False
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class OffsetFetchResponsePartition:
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1  # 5+
    metadata: str | None = ""
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetFetchResponseTopic:
    name: str = ""
    partitions: list[OffsetFetchResponsePartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetFetchResponsePartitions:
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetFetchResponseTopics:
    name: str = ""  # 8-9
    topic_id: Uuid = ZERO_UUID  # 10
    partitions: list[OffsetFetchResponsePartitions] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetFetchResponseGroup:
    group_id: str = ""
    topics: list[OffsetFetchResponseTopics] = field(default_factory=list)
    error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class OffsetFetchResponse:
    throttle_time_ms: int = 0  # 3+
    topics: list[OffsetFetchResponseTopic] = field(default_factory=list)  # 1-7
    error_code: int = 0  # 2-7
    groups: list[OffsetFetchResponseGroup] = field(default_factory=list)  # 8+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 9
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 10:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                out += _S_INT32.pack(item.throttle_time_ms)
            else:
                pass
            if version <= 7:
                if version >= 6:
                    write_length(out, len(item.topics))
                else:
                    out += _S_INT32.pack(len(item.topics))
                _write_offset_fetch_response_topic(out, item.topics, version)
            elif item.topics:
                raise not_in_version("topics", version)
            if version >= 8:
                pass
            elif version >= 2:
                out += _S_INT16.pack(item.error_code)
            else:
                pass
            if version >= 8:
                write_length(out, len(item.groups))
                _write_offset_fetch_response_group(out, item.groups, version)
            elif item.groups:
                raise not_in_version("groups", version)
            if item.unknown_tagged_fields:
                if version < 6:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 6:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 10:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 8:
                (item.throttle_time_ms,) = _S_INT32.unpack_from(data, at)
                at += 4
            elif version >= 6:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 3:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.throttle_time_ms = 0
            if version <= 7:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.topics, at = _read_offset_fetch_response_topic(data, at, version, n)
            else:
                item.topics = []
            if version >= 8:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
                item.error_code = 0
            elif version >= 2:
                (item.error_code,) = _S_INT16.unpack_from(data, at)
                at += 2
            else:
                item.error_code = 0
            if version >= 8:
                if not 0 <= n * 5 <= limit - at:
                    raise count_refused(n, limit - at)
                item.groups, at = _read_offset_fetch_response_group(data, at, version, n)
            else:
                item.groups = []
            if version >= 6:
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


def _read_offset_fetch_request_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetFetchRequestTopic], int]:
    items: list[OffsetFetchRequestTopic] = []
    for _ in range(count):
        item = _new(OffsetFetchRequestTopic)
        if version >= 6:
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
        if version >= 6:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        item.partition_indexes, at = read_integers(data, at, n, "i", 4)
        if version >= 6:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_request_topic(out: bytearray, items: Iterable[OffsetFetchRequestTopic], version: int) -> None:
    for item in items:
        if version >= 6:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 6:
            write_length(out, len(item.partition_indexes))
        else:
            out += _S_INT32.pack(len(item.partition_indexes))
        write_integers(out, item.partition_indexes, "i")
        if item.unknown_tagged_fields:
            if version < 6:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 6:
            out.append(0)


def _read_offset_fetch_request_topics(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetFetchRequestTopics], int]:
    items: list[OffsetFetchRequestTopics] = []
    for _ in range(count):
        item = _new(OffsetFetchRequestTopics)
        if version >= 10:
            pass
        else:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        if version <= 9:
            if n < 0:
                raise null_refused()
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.name = ""
        if version >= 10:
            item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.topic_id = ZERO_UUID
        item.partition_indexes, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_request_topics(out: bytearray, items: Iterable[OffsetFetchRequestTopics], version: int) -> None:
    for item in items:
        if version <= 9:
            write_compact_string(out, item.name)
        if version >= 10:
            out += _S_UUID.pack(item.topic_id)
        else:
            pass
        write_length(out, len(item.partition_indexes))
        write_integers(out, item.partition_indexes, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_offset_fetch_request_group(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetFetchRequestGroup], int]:
    limit = len(data)
    items: list[OffsetFetchRequestGroup] = []
    for _ in range(count):
        item = _new(OffsetFetchRequestGroup)
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
        if version >= 9:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            pass
        if version >= 9:
            if n < 0:
                item.member_id = None
            else:
                at += n
                item.member_id = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.member_id = None
        if version >= 9:
            item.member_epoch, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.member_epoch = -1
        if n < 0:
            item.topics = None
        else:
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_offset_fetch_request_topics(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_request_group(out: bytearray, items: Iterable[OffsetFetchRequestGroup], version: int) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        if version >= 9:
            if item.member_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.member_id)
        if version >= 9:
            out += _S_INT32.pack(item.member_epoch)
        else:
            pass
        if item.topics is None:
            out.append(0)
        else:
            write_length(out, len(item.topics))
            _write_offset_fetch_request_topics(out, item.topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_offset_fetch_response_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetFetchResponsePartition], int]:
    items: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        item = _new(OffsetFetchResponsePartition)
        if version >= 6:
            item.partition_index, item.committed_offset, item.committed_leader_epoch, n = _S_INT32_INT64_INT32_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 5:
            item.partition_index, item.committed_offset, item.committed_leader_epoch, n = _S_INT32_INT64_INT32_INT16.unpack_from(data, at)
            at += 18
        else:
            item.partition_index, item.committed_offset, n = _S_INT32_INT64_INT16.unpack_from(data, at)
            at += 14
            item.committed_leader_epoch = -1
        if n < 0:
            item.metadata = None
        else:
            at += n
            item.metadata = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 6:
            item.error_code, tags = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
        else:
            (item.error_code,) = _S_INT16.unpack_from(data, at)
            at += 2
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_response_partition(out: bytearray, items: Iterable[OffsetFetchResponsePartition], version: int) -> None:
    for item in items:
        if version >= 5:
            out += _S_INT32_INT64_INT32.pack(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        else:
            out += _S_INT32_INT64.pack(item.partition_index, item.committed_offset)
        if item.metadata is None:
            if version >= 6:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 6:
                write_compact_string(out, item.metadata)
            else:
                write_string(out, item.metadata)
        out += _S_INT16.pack(item.error_code)
        if item.unknown_tagged_fields:
            if version < 6:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 6:
            out.append(0)


def _read_offset_fetch_response_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetFetchResponseTopic], int]:
    limit = len(data)
    items: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        item = _new(OffsetFetchResponseTopic)
        if version >= 6:
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
        if version >= 6:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 16 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_offset_fetch_response_partition(data, at, version, n)
        if version >= 6:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_response_topic(out: bytearray, items: Iterable[OffsetFetchResponseTopic], version: int) -> None:
    for item in items:
        if version >= 6:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 6:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        _write_offset_fetch_response_partition(out, item.partitions, version)
        if item.unknown_tagged_fields:
            if version < 6:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 6:
            out.append(0)


def _read_offset_fetch_response_partitions(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetFetchResponsePartitions], int]:
    items: list[OffsetFetchResponsePartitions] = []
    for _ in range(count):
        item = _new(OffsetFetchResponsePartitions)
        item.partition_index, item.committed_offset, item.committed_leader_epoch, n = _S_INT32_INT64_INT32_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.metadata = None
        else:
            at += n
            item.metadata = data[at - n : at].decode("utf-8", LENIENT)
        item.error_code, tags = _S_INT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_response_partitions(out: bytearray, items: Iterable[OffsetFetchResponsePartitions], version: int) -> None:
    for item in items:
        out += _S_INT32_INT64_INT32.pack(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        if item.metadata is None:
            out.append(0)
        else:
            write_compact_string(out, item.metadata)
        out += _S_INT16.pack(item.error_code)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_offset_fetch_response_topics(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetFetchResponseTopics], int]:
    limit = len(data)
    items: list[OffsetFetchResponseTopics] = []
    for _ in range(count):
        item = _new(OffsetFetchResponseTopics)
        if version >= 10:
            pass
        else:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        if version <= 9:
            if n < 0:
                raise null_refused()
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.name = ""
        if version >= 10:
            item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
            at += 17
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.topic_id = ZERO_UUID
        if not 0 <= n * 20 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_offset_fetch_response_partitions(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_response_topics(out: bytearray, items: Iterable[OffsetFetchResponseTopics], version: int) -> None:
    for item in items:
        if version <= 9:
            write_compact_string(out, item.name)
        if version >= 10:
            out += _S_UUID.pack(item.topic_id)
        else:
            pass
        write_length(out, len(item.partitions))
        _write_offset_fetch_response_partitions(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_offset_fetch_response_group(data: bytes, at: int, version: int, count: int) -> tuple[list[OffsetFetchResponseGroup], int]:
    limit = len(data)
    items: list[OffsetFetchResponseGroup] = []
    for _ in range(count):
        item = _new(OffsetFetchResponseGroup)
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
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_offset_fetch_response_topics(data, at, version, n)
        item.error_code, tags = _S_INT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_response_group(out: bytearray, items: Iterable[OffsetFetchResponseGroup], version: int) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        write_length(out, len(item.topics))
        _write_offset_fetch_response_topics(out, item.topics, version)
        out += _S_INT16.pack(item.error_code)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request OffsetFetchRequest key=9 versions=1-10 flexible=6+ listeners=broker
  groupId               string                      1-7
  topics                []OffsetFetchRequestTopic   1-7 nullable=2-7
    name                string
    partitionIndexes    []int32
  groups                []OffsetFetchRequestGroup   8+
    groupId             string
    memberId            string                      9+ nullable default=null ignorable
    memberEpoch         int32                       9+ default=-1 ignorable
    topics              []OffsetFetchRequestTopics  nullable
      name              string                      8-9 ignorable
      topicId           uuid                        10 ignorable
      partitionIndexes  []int32
  requireStable         bool                        7+

response OffsetFetchResponse key=9 versions=1-10 flexible=6+ listeners=broker
  throttleTimeMs              int32                            3+ ignorable
  topics                      []OffsetFetchResponseTopic       1-7
    name                      string
    partitions                []OffsetFetchResponsePartition
      partitionIndex          int32
      committedOffset         int64
      committedLeaderEpoch    int32                            5-7 default=-1 ignorable
      metadata                string                           nullable
      errorCode               int16
  errorCode                   int16                            2-7 ignorable
  groups                      []OffsetFetchResponseGroup       8+
    groupId                   string
    topics                    []OffsetFetchResponseTopics
      name                    string                           8-9 ignorable
      topicId                 uuid                             10 ignorable
      partitions              []OffsetFetchResponsePartitions
        partitionIndex        int32
        committedOffset       int64
        committedLeaderEpoch  int32                            default=-1
        metadata              string                           nullable
        errorCode             int16
    errorCode                 int16
"""
