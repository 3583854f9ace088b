"""OffsetFetch, API key 9, versions 1-10: request and response.

Written by `make codegen` from codegen/schemas/offset_fetch.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
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
    uuid_refused,
    write_compact_int32s,
    write_int32s,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT16_ZERO: Final = Struct(">hx")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT64_INT16: Final = Struct(">iqh")
_INT32_INT64_INT32: Final = Struct(">iqi")
_INT32_INT64_INT32_BYTE: Final = Struct(">iqiB")
_INT32_INT64_INT32_INT16: Final = Struct(">iqih")
_S2INT32: Final = Struct(">ii")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class OffsetFetchRequestTopic(MessageValue):
    """In `OffsetFetchRequest.topics`, versions 1-7."""

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


class OffsetFetchRequestTopics(MessageValue):
    """In `OffsetFetchRequestGroup.topics`, versions 8-10."""

    __slots__ = ("name", "topic_id", "partition_indexes", "unknown_tagged_fields")

    name: str  # 8-9
    topic_id: Uuid  # 10
    partition_indexes: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition_indexes: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = [] if partition_indexes is UNSET else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchRequestGroup(MessageValue):
    """In `OffsetFetchRequest.groups`, versions 8-10."""

    __slots__ = ("group_id", "member_id", "member_epoch", "topics", "unknown_tagged_fields")

    group_id: str
    member_id: str | None  # 9+
    member_epoch: int  # 9+
    topics: list[OffsetFetchRequestTopics] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchRequest(MessageValue):
    """Request of API 9, versions 1-10."""

    __slots__ = ("group_id", "topics", "groups", "require_stable", "unknown_tagged_fields")

    group_id: str  # 1-7
    topics: list[OffsetFetchRequestTopic] | None  # 1-7
    groups: list[OffsetFetchRequestGroup]  # 8+
    require_stable: bool  # 7+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = UNSET,
        groups: list[OffsetFetchRequestGroup] = UNSET,
        require_stable: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.groups = [] if groups is UNSET else groups
        self.require_stable = require_stable
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 9
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 10:
            raise version_refused(type(self), version)
        try:
            if version <= 7:
                raw = self.group_id.encode()
                n = len(raw) + 1
            if version >= 8:
                if self.group_id:
                    raise not_in_version("group_id", version)
            elif version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            if version <= 7:
                out += raw
            if version <= 7:
                if self.topics is None:
                    if not (version >= 2):
                        raise must_not_be_null("topics", version)
                    n = 0
                else:
                    n = len(self.topics) + 1
            if version >= 8:
                if self.topics != []:
                    raise not_in_version("topics", version)
            elif version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            if version <= 7:
                if self.topics is not None:
                    _write_offset_fetch_request_topic(out, self.topics, version)
            if version >= 8:
                n = len(self.groups) + 1
            if version >= 8:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif self.groups:
                raise not_in_version("groups", version)
            if version >= 8:
                _write_offset_fetch_request_group(out, self.groups, version)
            if version >= 7:
                if self.unknown_tagged_fields:
                    out += _BOOL.pack(self.require_stable)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _BOOL_ZERO.pack(self.require_stable)
            elif version >= 6:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
                if self.require_stable:
                    raise not_in_version("require_stable", version)
            else:
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
                if self.require_stable:
                    raise not_in_version("require_stable", version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 10:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 8:
                message.group_id = ""
            elif version >= 6:
                n = data[at]
                if 0 < n < 128:
                    message.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.group_id, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.group_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 8:
                message.topics = []
            elif version >= 6:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if version <= 7:
                if n < 0:
                    if not (version >= 2):
                        raise null_refused()
                    message.topics = None
                else:
                    if not 0 <= n * 3 <= limit - at:
                        raise count_refused(n, limit - at)
                    message.topics, at = _read_offset_fetch_request_topic(data, at, version, n)
            if version >= 8:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.groups = []
            if version >= 8:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.groups, at = _read_offset_fetch_request_group(data, at, version, n)
            if version >= 7:
                message.require_stable, tags = _BOOL_BYTE.unpack_from(data, at)
                at += 2
            elif version >= 6:
                tags = data[at]
                at += 1
                message.require_stable = False
            else:
                message.require_stable = False
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class OffsetFetchResponsePartition(MessageValue):
    """In `OffsetFetchResponseTopic.partitions`, versions 1-7."""

    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "metadata",
        "error_code",
        "unknown_tagged_fields",
    )

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int  # 5+
    metadata: str | None
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchResponseTopic(MessageValue):
    """In `OffsetFetchResponse.topics`, versions 1-7."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[OffsetFetchResponsePartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchResponsePartitions(MessageValue):
    """In `OffsetFetchResponseTopics.partitions`, versions 8-10."""

    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "metadata",
        "error_code",
        "unknown_tagged_fields",
    )

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchResponseTopics(MessageValue):
    """In `OffsetFetchResponseGroup.topics`, versions 8-10."""

    __slots__ = ("name", "topic_id", "partitions", "unknown_tagged_fields")

    name: str  # 8-9
    topic_id: Uuid  # 10
    partitions: list[OffsetFetchResponsePartitions]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[OffsetFetchResponsePartitions] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchResponseGroup(MessageValue):
    """In `OffsetFetchResponse.groups`, versions 8-10."""

    __slots__ = ("group_id", "topics", "error_code", "unknown_tagged_fields")

    group_id: str
    topics: list[OffsetFetchResponseTopics]
    error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchResponseTopics] = UNSET,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchResponse(MessageValue):
    """Response of API 9, versions 1-10."""

    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups", "unknown_tagged_fields")

    throttle_time_ms: int  # 3+
    topics: list[OffsetFetchResponseTopic]  # 1-7
    error_code: int  # 2-7
    groups: list[OffsetFetchResponseGroup]  # 8+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = UNSET,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.error_code = error_code
        self.groups = [] if groups is UNSET else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 9
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 10:
            raise version_refused(type(self), version)
        try:
            if version <= 7:
                n = len(self.topics) + 1
            if version >= 8:
                out += _INT32.pack(self.throttle_time_ms)
                if self.topics:
                    raise not_in_version("topics", version)
            elif version >= 6:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            elif version >= 3:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            else:
                out += _INT32.pack(n - 1)
            if version <= 7:
                _write_offset_fetch_response_topic(out, self.topics, version)
            if version >= 8:
                n = len(self.groups) + 1
            if version >= 8:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif version >= 2:
                out += _INT16.pack(self.error_code)
                if self.groups:
                    raise not_in_version("groups", version)
            elif self.groups:
                raise not_in_version("groups", version)
            if version >= 8:
                _write_offset_fetch_response_group(out, self.groups, version)
            if version >= 6:
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
        if not 1 <= version <= 10:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 8:
                (message.throttle_time_ms,) = _INT32.unpack_from(data, at)
                at += 4
                message.topics = []
            elif version >= 6:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 3:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.throttle_time_ms = 0
            if version <= 7:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.topics, at = _read_offset_fetch_response_topic(data, at, version, n)
            if version >= 8:
                n = data[at]
                message.error_code = 0
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 2:
                (message.error_code,) = _INT16.unpack_from(data, at)
                at += 2
                message.groups = []
            else:
                message.error_code = 0
                message.groups = []
            if version >= 8:
                if not 0 <= n * 5 <= limit - at:
                    raise count_refused(n, limit - at)
                message.groups, at = _read_offset_fetch_response_group(data, at, version, n)
            if version >= 6:
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


def _read_offset_fetch_request_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetFetchRequestTopic], int]:
    items: list[OffsetFetchRequestTopic] = []
    for _ in range(count):
        item = _new(OffsetFetchRequestTopic)
        if version >= 6:
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
        if version >= 6:
            n = data[at]
            if 0 < n < 17:
                item.partition_indexes = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.partition_indexes, at = read_compact_int32s(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
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


def _write_offset_fetch_request_topic(
    out: bytearray, items: Iterable[OffsetFetchRequestTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 6:
            write_compact_int32s(out, item.partition_indexes)
        else:
            write_int32s(out, item.partition_indexes)
        if version >= 6:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_offset_fetch_request_topics(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetFetchRequestTopics], int]:
    items: list[OffsetFetchRequestTopics] = []
    for _ in range(count):
        item = _new(OffsetFetchRequestTopics)
        if version >= 10:
            item.name = ""
        else:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        if version >= 10:
            item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
            if 0 < n < 17:
                item.partition_indexes = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.partition_indexes, at = read_compact_int32s(data, at)
        else:
            n = data[at]
            item.topic_id = ZERO_UUID
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


def _write_offset_fetch_request_topics(
    out: bytearray, items: Iterable[OffsetFetchRequestTopics], version: int
) -> None:
    for item in items:
        if version <= 9:
            raw = item.name.encode()
            n = len(raw) + 1
        if version >= 10:
            pass
        else:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        if version <= 9:
            out += raw
        if version >= 10:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            out += _UUID.pack(item.topic_id)
        write_compact_int32s(out, item.partition_indexes)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_offset_fetch_request_group(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetFetchRequestGroup], int]:
    items: list[OffsetFetchRequestGroup] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OffsetFetchRequestGroup)
        n = data[at]
        if 0 < n < 128:
            item.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.group_id, at = read_compact_string(data, at)
        if version >= 9:
            n = data[at]
            if 0 < n < 128:
                item.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.member_id, at = read_compact_string_or_null(data, at)
        else:
            item.member_id = None
        if version >= 9:
            item.member_epoch, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            n = data[at]
            item.member_epoch = -1
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
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


def _write_offset_fetch_request_group(
    out: bytearray, items: Iterable[OffsetFetchRequestGroup], version: int
) -> None:
    for item in items:
        raw = item.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if version >= 9:
            if item.member_id is None:
                raw = b""
                n = 0
            else:
                raw = item.member_id.encode()
                n = len(raw) + 1
        if version >= 9:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        if version >= 9:
            out += raw
        if item.topics is None:
            n = 0
        else:
            n = len(item.topics) + 1
        if version >= 9:
            if n < 128:
                out += _INT32_BYTE.pack(item.member_epoch, n)
            else:
                out += _INT32.pack(item.member_epoch)
                write_uvarint(out, n)
        else:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        if item.topics is not None:
            _write_offset_fetch_request_topics(out, item.topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_offset_fetch_response_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetFetchResponsePartition], int]:
    items: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        item = _new(OffsetFetchResponsePartition)
        if version >= 6:
            (
                item.partition_index,
                item.committed_offset,
                item.committed_leader_epoch,
                n,
            ) = _INT32_INT64_INT32_BYTE.unpack_from(data, at)
            at += 16
            if 0 < n < 128:
                item.metadata = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.metadata, at = read_compact_string_or_null(data, at)
        elif version >= 5:
            (
                item.partition_index,
                item.committed_offset,
                item.committed_leader_epoch,
                n,
            ) = _INT32_INT64_INT32_INT16.unpack_from(data, at)
            at += 18
            if n < 0:
                item.metadata = None
            else:
                item.metadata = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        else:
            (
                item.partition_index,
                item.committed_offset,
                n,
            ) = _INT32_INT64_INT16.unpack_from(data, at)
            at += 14
            item.committed_leader_epoch = -1
            if n < 0:
                item.metadata = None
            else:
                item.metadata = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 6:
            item.error_code, tags = _INT16_BYTE.unpack_from(data, at)
            at += 3
        else:
            (item.error_code,) = _INT16.unpack_from(data, at)
            at += 2
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_response_partition(
    out: bytearray, items: Iterable[OffsetFetchResponsePartition], version: int
) -> None:
    for item in items:
        if item.metadata is None:
            raw = b""
            n = 0
        else:
            raw = item.metadata.encode()
            n = len(raw) + 1
        if version >= 6:
            if n < 128:
                out += _INT32_INT64_INT32_BYTE.pack(
                    item.partition_index, item.committed_offset, item.committed_leader_epoch, n
                )
            else:
                out += _INT32_INT64_INT32.pack(
                    item.partition_index, item.committed_offset, item.committed_leader_epoch
                )
                write_string_length(out, n)
        elif version >= 5:
            out += _INT32_INT64_INT32_INT16.pack(
                item.partition_index, item.committed_offset, item.committed_leader_epoch, n - 1
            )
        else:
            out += _INT32_INT64_INT16.pack(item.partition_index, item.committed_offset, n - 1)
        out += raw
        if version >= 6:
            if item.unknown_tagged_fields:
                out += _INT16.pack(item.error_code)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT16_ZERO.pack(item.error_code)
        else:
            out += _INT16.pack(item.error_code)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_offset_fetch_response_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetFetchResponseTopic], int]:
    items: list[OffsetFetchResponseTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OffsetFetchResponseTopic)
        if version >= 6:
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
        if version >= 6:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
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


def _write_offset_fetch_response_topic(
    out: bytearray, items: Iterable[OffsetFetchResponseTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.partitions) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_offset_fetch_response_partition(out, item.partitions, version)
        if version >= 6:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_offset_fetch_response_partitions(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetFetchResponsePartitions], int]:
    items: list[OffsetFetchResponsePartitions] = []
    for _ in range(count):
        item = _new(OffsetFetchResponsePartitions)
        (
            item.partition_index,
            item.committed_offset,
            item.committed_leader_epoch,
            n,
        ) = _INT32_INT64_INT32_BYTE.unpack_from(data, at)
        at += 16
        if 0 < n < 128:
            item.metadata = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.metadata, at = read_compact_string_or_null(data, at)
        item.error_code, tags = _INT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_response_partitions(
    out: bytearray, items: Iterable[OffsetFetchResponsePartitions], version: int
) -> None:
    for item in items:
        if item.metadata is None:
            raw = b""
            n = 0
        else:
            raw = item.metadata.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT32_INT64_INT32_BYTE.pack(
                item.partition_index, item.committed_offset, item.committed_leader_epoch, n
            )
        else:
            out += _INT32_INT64_INT32.pack(
                item.partition_index, item.committed_offset, item.committed_leader_epoch
            )
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _INT16.pack(item.error_code)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT16_ZERO.pack(item.error_code)


def _read_offset_fetch_response_topics(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetFetchResponseTopics], int]:
    items: list[OffsetFetchResponseTopics] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OffsetFetchResponseTopics)
        if version >= 10:
            item.name = ""
        else:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        if version >= 10:
            item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
            at += 16
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            n = data[at]
            item.topic_id = ZERO_UUID
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
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


def _write_offset_fetch_response_topics(
    out: bytearray, items: Iterable[OffsetFetchResponseTopics], version: int
) -> None:
    for item in items:
        if version <= 9:
            raw = item.name.encode()
            n = len(raw) + 1
        if version >= 10:
            pass
        else:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        if version <= 9:
            out += raw
        n = len(item.partitions) + 1
        if version >= 10:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_BYTE.pack(item.topic_id, n)
            else:
                out += _UUID.pack(item.topic_id)
                write_uvarint(out, n)
        else:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        _write_offset_fetch_response_partitions(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_offset_fetch_response_group(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[OffsetFetchResponseGroup], int]:
    items: list[OffsetFetchResponseGroup] = []
    limit = len(data)
    for _ in range(count):
        item = _new(OffsetFetchResponseGroup)
        n = data[at]
        if 0 < n < 128:
            item.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.group_id, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_offset_fetch_response_topics(data, at, version, n)
        item.error_code, tags = _INT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_offset_fetch_response_group(
    out: bytearray, items: Iterable[OffsetFetchResponseGroup], version: int
) -> None:
    for item in items:
        raw = item.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_offset_fetch_response_topics(out, item.topics, version)
        if item.unknown_tagged_fields:
            out += _INT16.pack(item.error_code)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT16_ZERO.pack(item.error_code)

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
