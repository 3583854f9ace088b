"""CreateTopics, API key 19, versions 2-7: request and response.

Written by `make codegen` from codegen/schemas/create_topics.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length, read_uvarint
from millstream.protocol.tagged_fields import TaggedField, read_tag_count, read_unknown_field, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_2INT16: Final = Struct(">hh")
_S_2INT32: Final = Struct(">ii")
_S_BOOL_INT8_BOOL: Final = Struct(">?b?")
_S_BOOL_INT8_BOOL_BYTE: Final = Struct(">?b?B")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BOOL: Final = Struct(">i?")
_S_INT32_BOOL_BYTE: Final = Struct(">i?B")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT16_INT32: Final = Struct(">ihi")
_S_UUID_INT16: Final = Struct(">16sh")
_S_UUID_INT16_BYTE: Final = Struct(">16shB")
_new: Final = object.__new__


@dataclass(slots=True)
class CreatableReplicaAssignment:
    partition_index: int = 0
    broker_ids: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreatableTopicConfig:
    name: str = ""
    value: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreatableTopic:
    name: str = ""
    num_partitions: int = 0
    replication_factor: int = 0
    assignments: list[CreatableReplicaAssignment] = field(default_factory=list)
    configs: list[CreatableTopicConfig] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreateTopicsRequest:
    topics: list[CreatableTopic] = field(default_factory=list)
    timeout_ms: int = 60000
    validate_only: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 19
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 7
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 5

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 7:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 5:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_creatable_topic(out, item.topics, version)
            out += _S_INT32_BOOL.pack(item.timeout_ms, item.validate_only)
            if item.unknown_tagged_fields:
                if version < 5:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 5:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 7:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 5:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 10 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_creatable_topic(data, at, version, n)
            if version >= 5:
                item.timeout_ms, item.validate_only, tags = _S_INT32_BOOL_BYTE.unpack_from(data, at)
                at += 6
            else:
                item.timeout_ms, item.validate_only = _S_INT32_BOOL.unpack_from(data, at)
                at += 5
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
class CreatableTopicConfigs:
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreatableTopicResult:
    name: str = ""
    topic_id: Uuid = ZERO_UUID  # 7
    error_code: int = 0
    error_message: str | None = ""
    topic_config_error_code: int = 0  # 5+, tag 0
    num_partitions: int = -1  # 5+
    replication_factor: int = -1  # 5+
    configs: list[CreatableTopicConfigs] | None = field(default_factory=list)  # 5+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreateTopicsResponse:
    throttle_time_ms: int = 0
    topics: list[CreatableTopicResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 19
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 7
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 5

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 7:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 5:
                write_length(out, len(item.topics))
            else:
                out += _S_INT32.pack(len(item.topics))
            _write_creatable_topic_result(out, item.topics, version)
            if item.unknown_tagged_fields:
                if version < 5:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 5:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 7:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 5:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_creatable_topic_result(data, at, version, n)
            if version >= 5:
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


def _read_creatable_replica_assignment(data: bytes, at: int, version: int, count: int) -> tuple[list[CreatableReplicaAssignment], int]:
    items: list[CreatableReplicaAssignment] = []
    for _ in range(count):
        item = _new(CreatableReplicaAssignment)
        if version >= 5:
            item.partition_index, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            item.partition_index, n = _S_2INT32.unpack_from(data, at)
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


def _write_creatable_replica_assignment(out: bytearray, items: Iterable[CreatableReplicaAssignment], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.partition_index)
        if version >= 5:
            write_length(out, len(item.broker_ids))
        else:
            out += _S_INT32.pack(len(item.broker_ids))
        write_integers(out, item.broker_ids, "i")
        if item.unknown_tagged_fields:
            if version < 5:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 5:
            out.append(0)


def _read_creatable_topic_config(data: bytes, at: int, version: int, count: int) -> tuple[list[CreatableTopicConfig], int]:
    items: list[CreatableTopicConfig] = []
    for _ in range(count):
        item = _new(CreatableTopicConfig)
        if version >= 5:
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
        if version >= 5:
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
            item.value = None
        else:
            at += n
            item.value = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_creatable_topic_config(out: bytearray, items: Iterable[CreatableTopicConfig], version: int) -> None:
    for item in items:
        if version >= 5:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if item.value is None:
            if version >= 5:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 5:
                write_compact_string(out, item.value)
            else:
                write_string(out, item.value)
        if item.unknown_tagged_fields:
            if version < 5:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 5:
            out.append(0)


def _read_creatable_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[CreatableTopic], int]:
    limit = len(data)
    items: list[CreatableTopic] = []
    for _ in range(count):
        item = _new(CreatableTopic)
        if version >= 5:
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
        if version >= 5:
            item.num_partitions, item.replication_factor, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            item.num_partitions, item.replication_factor, n = _S_INT32_INT16_INT32.unpack_from(data, at)
            at += 10
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.assignments, at = _read_creatable_replica_assignment(data, at, version, n)
        if version >= 5:
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
        if version >= 5:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        out += _S_INT32_INT16.pack(item.num_partitions, item.replication_factor)
        if version >= 5:
            write_length(out, len(item.assignments))
        else:
            out += _S_INT32.pack(len(item.assignments))
        _write_creatable_replica_assignment(out, item.assignments, version)
        if version >= 5:
            write_length(out, len(item.configs))
        else:
            out += _S_INT32.pack(len(item.configs))
        _write_creatable_topic_config(out, item.configs, version)
        if item.unknown_tagged_fields:
            if version < 5:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 5:
            out.append(0)


def _read_creatable_topic_configs(data: bytes, at: int, version: int, count: int) -> tuple[list[CreatableTopicConfigs], int]:
    items: list[CreatableTopicConfigs] = []
    for _ in range(count):
        item = _new(CreatableTopicConfigs)
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
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.value = None
        else:
            at += n
            item.value = data[at - n : at].decode("utf-8", LENIENT)
        item.read_only, item.config_source, item.is_sensitive, tags = _S_BOOL_INT8_BOOL_BYTE.unpack_from(data, at)
        at += 4
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_creatable_topic_configs(out: bytearray, items: Iterable[CreatableTopicConfigs], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        if item.value is None:
            out.append(0)
        else:
            write_compact_string(out, item.value)
        out += _S_BOOL_INT8_BOOL.pack(item.read_only, item.config_source, item.is_sensitive)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_creatable_topic_result(data: bytes, at: int, version: int, count: int) -> tuple[list[CreatableTopicResult], int]:
    limit = len(data)
    items: list[CreatableTopicResult] = []
    for _ in range(count):
        item = _new(CreatableTopicResult)
        if version >= 5:
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
        if version >= 7:
            item.topic_id, item.error_code, n = _S_UUID_INT16_BYTE.unpack_from(data, at)
            at += 19
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 5:
            item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            item.topic_id = ZERO_UUID
        else:
            item.error_code, n = _S_2INT16.unpack_from(data, at)
            at += 4
            item.topic_id = ZERO_UUID
        if n < 0:
            item.error_message = None
        else:
            at += n
            item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 5:
            item.num_partitions, item.replication_factor, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            item.num_partitions = -1
            item.replication_factor = -1
        if version >= 5:
            if n < 0:
                item.configs = None
            else:
                if not 0 <= n * 6 <= limit - at:
                    raise count_refused(n, limit - at)
                item.configs, at = _read_creatable_topic_configs(data, at, version, n)
        else:
            item.configs = []
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


def _write_creatable_topic_result(out: bytearray, items: Iterable[CreatableTopicResult], version: int) -> None:
    for item in items:
        if version >= 5:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 7:
            out += _S_UUID_INT16.pack(item.topic_id, item.error_code)
        else:
            out += _S_INT16.pack(item.error_code)
        if item.error_message is None:
            if version >= 5:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 5:
                write_compact_string(out, item.error_message)
            else:
                write_string(out, item.error_message)
        if version >= 5:
            out += _S_INT32_INT16.pack(item.num_partitions, item.replication_factor)
        else:
            pass
        if version >= 5:
            if item.configs is None:
                out.append(0)
            else:
                write_length(out, len(item.configs))
                _write_creatable_topic_configs(out, item.configs, version)
        if item.topic_config_error_code or item.unknown_tagged_fields:
            _write_creatable_topic_result_tags(out, item, version)
        elif version >= 5:
            out.append(0)


def _read_creatable_topic_result_tags(item: CreatableTopicResult, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.topic_config_error_code,) = _S_INT16.unpack_from(data, at)
            at += 2
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_creatable_topic_result_tags(target: bytearray, item: CreatableTopicResult, version: int) -> None:
    known: list[TaggedField] = []
    if item.topic_config_error_code:
        if version >= 5:
            out = bytearray()
            out += _S_INT16.pack(item.topic_config_error_code)
            known.append(TaggedField(0, bytes(out)))
    if version < 5:
        if item.unknown_tagged_fields:
            raise tags_refused(version)
        return
    write_tagged_fields(target, known, item.unknown_tagged_fields)

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
