"""CreateTopics, API key 19, versions 2-7: request and response.

Written by `make codegen` from codegen/schemas/create_topics.txt.
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
    read_uvarint,
)
from millstream.protocol.tagged_fields import (
    TaggedField,
    read_tag_count,
    read_unknown_field,
    read_unknown_fields,
    write_tagged_fields,
)
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    tags_refused,
    uuid_refused,
    write_compact_int32s,
    write_int32s,
    write_string_length,
    write_uvarint,
)

_BOOL_INT8_BOOL: Final = Struct(">?b?")
_BOOL_INT8_BOOL_BYTE: Final = Struct(">?b?B")
_BOOL_INT8_BOOL_ZERO: Final = Struct(">?b?x")
_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BOOL: Final = Struct(">i?")
_INT32_BOOL_BYTE: Final = Struct(">i?B")
_INT32_BOOL_ZERO: Final = Struct(">i?x")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_INT32: Final = Struct(">ihi")
_S2INT16: Final = Struct(">hh")
_S2INT32: Final = Struct(">ii")
_UUID_INT16: Final = Struct(">16sh")
_UUID_INT16_BYTE: Final = Struct(">16shB")
_new: Final = object.__new__


class CreatableReplicaAssignment(MessageValue):
    """In `CreatableTopic.assignments`, versions 2-7."""

    __slots__ = ("partition_index", "broker_ids", "unknown_tagged_fields")

    partition_index: int
    broker_ids: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        broker_ids: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids = [] if broker_ids is UNSET else broker_ids
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatableTopicConfig(MessageValue):
    """In `CreatableTopic.configs`, versions 2-7."""

    __slots__ = ("name", "value", "unknown_tagged_fields")

    name: str
    value: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatableTopic(MessageValue):
    """In `CreateTopicsRequest.topics`, versions 2-7."""

    __slots__ = (
        "name",
        "num_partitions",
        "replication_factor",
        "assignments",
        "configs",
        "unknown_tagged_fields",
    )

    name: str
    num_partitions: int
    replication_factor: int
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreatableTopicConfig]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = UNSET,
        configs: list[CreatableTopicConfig] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = [] if assignments is UNSET else assignments
        self.configs = [] if configs is UNSET else configs
        self.unknown_tagged_fields = unknown_tagged_fields


class CreateTopicsRequest(MessageValue):
    """Request of API 19, versions 2-7."""

    __slots__ = ("topics", "timeout_ms", "validate_only", "unknown_tagged_fields")

    topics: list[CreatableTopic]
    timeout_ms: int
    validate_only: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[CreatableTopic] = UNSET,
        timeout_ms: int = 60000,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 19
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 7
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 5

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 7:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 5:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_creatable_topic(out, self.topics, version)
            if version >= 5:
                if self.unknown_tagged_fields:
                    out += _INT32_BOOL.pack(self.timeout_ms, self.validate_only)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_BOOL_ZERO.pack(self.timeout_ms, self.validate_only)
            else:
                out += _INT32_BOOL.pack(self.timeout_ms, self.validate_only)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 7:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 5:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 10 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_creatable_topic(data, at, version, n)
            if version >= 5:
                (
                    message.timeout_ms,
                    message.validate_only,
                    tags,
                ) = _INT32_BOOL_BYTE.unpack_from(data, at)
                at += 6
            else:
                message.timeout_ms, message.validate_only = _INT32_BOOL.unpack_from(data, at)
                at += 5
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class CreatableTopicConfigs(MessageValue):
    """In `CreatableTopicResult.configs`, versions 5-7."""

    __slots__ = (
        "name", "value", "read_only", "config_source", "is_sensitive", "unknown_tagged_fields"
    )

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatableTopicResult(MessageValue):
    """In `CreateTopicsResponse.topics`, versions 2-7."""

    __slots__ = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
        "topic_config_error_code",
        "num_partitions",
        "replication_factor",
        "configs",
        "unknown_tagged_fields",
    )

    name: str
    topic_id: Uuid  # 7
    error_code: int
    error_message: str | None
    topic_config_error_code: int  # 5+, tag 0
    num_partitions: int  # 5+
    replication_factor: int  # 5+
    configs: list[CreatableTopicConfigs] | None  # 5+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = [] if configs is UNSET else configs
        self.unknown_tagged_fields = unknown_tagged_fields


class CreateTopicsResponse(MessageValue):
    """Response of API 19, versions 2-7."""

    __slots__ = ("throttle_time_ms", "topics", "unknown_tagged_fields")

    throttle_time_ms: int
    topics: list[CreatableTopicResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[CreatableTopicResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 19
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 7
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 5

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 7:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if version >= 5:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_creatable_topic_result(out, self.topics, version)
            if version >= 5:
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
        if not 2 <= version <= 7:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 5:
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
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_creatable_topic_result(data, at, version, n)
            if version >= 5:
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


def _read_creatable_replica_assignment(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CreatableReplicaAssignment], int]:
    items: list[CreatableReplicaAssignment] = []
    for _ in range(count):
        item = _new(CreatableReplicaAssignment)
        if version >= 5:
            item.partition_index, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if 0 < n < 17:
                item.broker_ids = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.broker_ids, at = read_compact_int32s(data, at)
        else:
            item.partition_index, n = _S2INT32.unpack_from(data, at)
            at += 8
            item.broker_ids, at = read_integers(data, at, n, "i", 4)
        if version >= 5:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_creatable_replica_assignment(
    out: bytearray, items: Iterable[CreatableReplicaAssignment], version: int
) -> None:
    for item in items:
        if version >= 5:
            out += _INT32.pack(item.partition_index)
        else:
            out += _INT32.pack(item.partition_index)
        if version >= 5:
            write_compact_int32s(out, item.broker_ids)
        else:
            write_int32s(out, item.broker_ids)
        if version >= 5:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_creatable_topic_config(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CreatableTopicConfig], int]:
    items: list[CreatableTopicConfig] = []
    for _ in range(count):
        item = _new(CreatableTopicConfig)
        if version >= 5:
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
        if version >= 5:
            n = data[at]
            if 0 < n < 128:
                item.value = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.value, at = read_compact_string_or_null(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                item.value = None
            else:
                item.value = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 5:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_creatable_topic_config(
    out: bytearray, items: Iterable[CreatableTopicConfig], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if item.value is None:
            raw = b""
            n = 0
        else:
            raw = item.value.encode()
            n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 5:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_creatable_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CreatableTopic], int]:
    items: list[CreatableTopic] = []
    limit = len(data)
    for _ in range(count):
        item = _new(CreatableTopic)
        if version >= 5:
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
        if version >= 5:
            (
                item.num_partitions,
                item.replication_factor,
                n,
            ) = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 6
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (
                item.num_partitions,
                item.replication_factor,
                n,
            ) = _INT32_INT16_INT32.unpack_from(data, at)
            at += 10
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.assignments, at = _read_creatable_replica_assignment(data, at, version, n)
        if version >= 5:
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
        item.configs, at = _read_creatable_topic_config(data, at, version, n)
        if version >= 5:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_creatable_topic(out: bytearray, items: Iterable[CreatableTopic], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.assignments) + 1
        if version >= 5:
            if n < 128:
                out += _INT32_INT16_BYTE.pack(item.num_partitions, item.replication_factor, n)
            else:
                out += _INT32_INT16.pack(item.num_partitions, item.replication_factor)
                write_uvarint(out, n)
        else:
            out += _INT32_INT16_INT32.pack(item.num_partitions, item.replication_factor, n - 1)
        _write_creatable_replica_assignment(out, item.assignments, version)
        n = len(item.configs) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_creatable_topic_config(out, item.configs, version)
        if version >= 5:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_creatable_topic_configs(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CreatableTopicConfigs], int]:
    items: list[CreatableTopicConfigs] = []
    for _ in range(count):
        item = _new(CreatableTopicConfigs)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.value = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.value, at = read_compact_string_or_null(data, at)
        (
            item.read_only,
            item.config_source,
            item.is_sensitive,
            tags,
        ) = _BOOL_INT8_BOOL_BYTE.unpack_from(data, at)
        at += 4
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_creatable_topic_configs(
    out: bytearray, items: Iterable[CreatableTopicConfigs], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.value is None:
            raw = b""
            n = 0
        else:
            raw = item.value.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _BOOL_INT8_BOOL.pack(item.read_only, item.config_source, item.is_sensitive)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _BOOL_INT8_BOOL_ZERO.pack(item.read_only, item.config_source, item.is_sensitive)


def _read_creatable_topic_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CreatableTopicResult], int]:
    items: list[CreatableTopicResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(CreatableTopicResult)
        if version >= 5:
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
        if version >= 7:
            item.topic_id, item.error_code, n = _UUID_INT16_BYTE.unpack_from(data, at)
            at += 18
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        elif version >= 5:
            item.error_code, n = _INT16_BYTE.unpack_from(data, at)
            at += 2
            item.topic_id = ZERO_UUID
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        else:
            item.error_code, n = _S2INT16.unpack_from(data, at)
            at += 4
            item.topic_id = ZERO_UUID
            if n < 0:
                item.error_message = None
            else:
                item.error_message = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 5:
            (
                item.num_partitions,
                item.replication_factor,
                n,
            ) = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 6
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            item.num_partitions = -1
            item.replication_factor = -1
            item.configs = []
        if version >= 5:
            if n < 0:
                item.configs = None
            else:
                if not 0 <= n * 6 <= limit - at:
                    raise count_refused(n, limit - at)
                item.configs, at = _read_creatable_topic_configs(data, at, version, n)
        if version >= 5:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.topic_config_error_code = 0
        item.unknown_tagged_fields = ()
        if tags:
            at = _read_creatable_topic_result_tags(item, data, at - 1, version)
        items.append(item)
    return items, at


def _write_creatable_topic_result(
    out: bytearray, items: Iterable[CreatableTopicResult], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 5:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if version >= 7:
            if len(item.topic_id) != 16:
                raise uuid_refused(item.topic_id)
            if n < 128:
                out += _UUID_INT16_BYTE.pack(item.topic_id, item.error_code, n)
            else:
                out += _UUID_INT16.pack(item.topic_id, item.error_code)
                write_string_length(out, n)
        elif version >= 5:
            if n < 128:
                out += _INT16_BYTE.pack(item.error_code, n)
            else:
                out += _INT16.pack(item.error_code)
                write_string_length(out, n)
        else:
            out += _S2INT16.pack(item.error_code, n - 1)
        out += raw
        if version >= 5:
            if item.configs is None:
                n = 0
            else:
                n = len(item.configs) + 1
        if version >= 5:
            if n < 128:
                out += _INT32_INT16_BYTE.pack(item.num_partitions, item.replication_factor, n)
            else:
                out += _INT32_INT16.pack(item.num_partitions, item.replication_factor)
                write_uvarint(out, n)
        if version >= 5:
            if item.configs is not None:
                _write_creatable_topic_configs(out, item.configs, version)
        if version >= 5:
            if item.topic_config_error_code or item.unknown_tagged_fields:
                _write_creatable_topic_result_tags(out, item, version)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_creatable_topic_result_tags(
    item: CreatableTopicResult, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.topic_config_error_code,) = _INT16.unpack_from(data, at)
            at += 2
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_creatable_topic_result_tags(
    section: bytearray, item: CreatableTopicResult, version: int
) -> None:
    known: list[TaggedField] = []
    if item.topic_config_error_code:
        out = bytearray()
        out += _INT16.pack(item.topic_config_error_code)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)

SCHEMA: Final = """\
request CreateTopicsRequest key=19 versions=2-7 flexible=5+ listeners=broker,controller
  topics               []CreatableTopic
    name               string
    numPartitions      int32
    replicationFactor  int16
    assignments        []CreatableReplicaAssignment
      partitionIndex   int32
      brokerIds        []int32
    configs            []CreatableTopicConfig
      name             string
      value            string                        nullable
  timeoutMs            int32                         default=60000
  validateOnly         bool

response CreateTopicsResponse key=19 versions=2-7 flexible=5+ listeners=broker,controller
  throttleTimeMs          int32
  topics                  []CreatableTopicResult
    name                  string
    topicId               uuid                     7 ignorable
    errorCode             int16
    errorMessage          string                   nullable
    topicConfigErrorCode  int16                    5+ tag=0 ignorable
    numPartitions         int32                    5+ default=-1 ignorable
    replicationFactor     int16                    5+ default=-1 ignorable
    configs               []CreatableTopicConfigs  5+ nullable ignorable
      name                string
      value               string                   nullable
      readOnly            bool
      configSource        int8                     default=-1
      isSensitive         bool
"""
