"""AssignReplicasToDirs, API key 73, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/assign_replicas_to_dirs.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import READ_FAILURES, count_refused, past_end, read_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, uuid_refused, write_uvarint

_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_ZERO: Final = Struct(">ihx")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_ZERO: Final = Struct(">ix")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class AssignReplicasToDirsRequestPartitionData(MessageValue):
    """In `AssignReplicasToDirsRequestTopicData.partitions`, version 0."""

    __slots__ = ("partition_index", "unknown_tagged_fields")

    partition_index: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, partition_index: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.partition_index = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields


class AssignReplicasToDirsRequestTopicData(MessageValue):
    """In `AssignReplicasToDirsRequestDirectoryData.topics`, version 0."""

    __slots__ = ("topic_id", "partitions", "unknown_tagged_fields")

    topic_id: Uuid
    partitions: list[AssignReplicasToDirsRequestPartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[AssignReplicasToDirsRequestPartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AssignReplicasToDirsRequestDirectoryData(MessageValue):
    """In `AssignReplicasToDirsRequest.directories`, version 0."""

    __slots__ = ("id", "topics", "unknown_tagged_fields")

    id: Uuid
    topics: list[AssignReplicasToDirsRequestTopicData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        id: Uuid = ZERO_UUID,
        topics: list[AssignReplicasToDirsRequestTopicData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.id = id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class AssignReplicasToDirsRequest(MessageValue):
    """Request of API 73, version 0."""

    __slots__ = ("broker_id", "broker_epoch", "directories", "unknown_tagged_fields")

    broker_id: int
    broker_epoch: int
    directories: list[AssignReplicasToDirsRequestDirectoryData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: list[AssignReplicasToDirsRequestDirectoryData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories = [] if directories is UNSET else directories
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 73
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.directories) + 1
            if n < 128:
                out += _INT32_INT64_BYTE.pack(self.broker_id, self.broker_epoch, n)
            else:
                out += _INT32_INT64.pack(self.broker_id, self.broker_epoch)
                write_uvarint(out, n)
            _write_assign_replicas_to_dirs_request_directory_data(out, self.directories, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.broker_id, message.broker_epoch, n = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 12
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.directories, at = _read_assign_replicas_to_dirs_request_directory_data(data, at, version, n)
            tags = data[at]
            at += 1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class AssignReplicasToDirsResponsePartitionData(MessageValue):
    """In `AssignReplicasToDirsResponseTopicData.partitions`, version 0."""

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


class AssignReplicasToDirsResponseTopicData(MessageValue):
    """In `AssignReplicasToDirsResponseDirectoryData.topics`, version 0."""

    __slots__ = ("topic_id", "partitions", "unknown_tagged_fields")

    topic_id: Uuid
    partitions: list[AssignReplicasToDirsResponsePartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[AssignReplicasToDirsResponsePartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AssignReplicasToDirsResponseDirectoryData(MessageValue):
    """In `AssignReplicasToDirsResponse.directories`, version 0."""

    __slots__ = ("id", "topics", "unknown_tagged_fields")

    id: Uuid
    topics: list[AssignReplicasToDirsResponseTopicData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        id: Uuid = ZERO_UUID,
        topics: list[AssignReplicasToDirsResponseTopicData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.id = id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class AssignReplicasToDirsResponse(MessageValue):
    """Response of API 73, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "directories", "unknown_tagged_fields")

    throttle_time_ms: int
    error_code: int
    directories: list[AssignReplicasToDirsResponseDirectoryData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        directories: list[AssignReplicasToDirsResponseDirectoryData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.directories = [] if directories is UNSET else directories
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 73
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.directories) + 1
            if n < 128:
                out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_uvarint(out, n)
            _write_assign_replicas_to_dirs_response_directory_data(out, self.directories, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
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
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.directories, at = _read_assign_replicas_to_dirs_response_directory_data(data, at, version, n)
            tags = data[at]
            at += 1
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_assign_replicas_to_dirs_request_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AssignReplicasToDirsRequestPartitionData], int]:
    items: list[AssignReplicasToDirsRequestPartitionData] = []
    for _ in range(count):
        item = _new(AssignReplicasToDirsRequestPartitionData)
        item.partition_index, tags = _INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_assign_replicas_to_dirs_request_partition_data(
    out: bytearray, items: Iterable[AssignReplicasToDirsRequestPartitionData], version: int
) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT32.pack(item.partition_index)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_ZERO.pack(item.partition_index)


def _read_assign_replicas_to_dirs_request_topic_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AssignReplicasToDirsRequestTopicData], int]:
    items: list[AssignReplicasToDirsRequestTopicData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AssignReplicasToDirsRequestTopicData)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 5 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_assign_replicas_to_dirs_request_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_assign_replicas_to_dirs_request_topic_data(
    out: bytearray, items: Iterable[AssignReplicasToDirsRequestTopicData], version: int
) -> None:
    for item in items:
        n = len(item.partitions) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BYTE.pack(item.topic_id, n)
        else:
            out += _UUID.pack(item.topic_id)
            write_uvarint(out, n)
        _write_assign_replicas_to_dirs_request_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_assign_replicas_to_dirs_request_directory_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AssignReplicasToDirsRequestDirectoryData], int]:
    items: list[AssignReplicasToDirsRequestDirectoryData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AssignReplicasToDirsRequestDirectoryData)
        item.id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 18 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_assign_replicas_to_dirs_request_topic_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_assign_replicas_to_dirs_request_directory_data(
    out: bytearray, items: Iterable[AssignReplicasToDirsRequestDirectoryData], version: int
) -> None:
    for item in items:
        n = len(item.topics) + 1
        if len(item.id) != 16:
            raise uuid_refused(item.id)
        if n < 128:
            out += _UUID_BYTE.pack(item.id, n)
        else:
            out += _UUID.pack(item.id)
            write_uvarint(out, n)
        _write_assign_replicas_to_dirs_request_topic_data(out, item.topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_assign_replicas_to_dirs_response_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AssignReplicasToDirsResponsePartitionData], int]:
    items: list[AssignReplicasToDirsResponsePartitionData] = []
    for _ in range(count):
        item = _new(AssignReplicasToDirsResponsePartitionData)
        item.partition_index, item.error_code, tags = _INT32_INT16_BYTE.unpack_from(data, at)
        at += 7
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_assign_replicas_to_dirs_response_partition_data(
    out: bytearray, items: Iterable[AssignReplicasToDirsResponsePartitionData], version: int
) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT32_INT16.pack(item.partition_index, item.error_code)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_INT16_ZERO.pack(item.partition_index, item.error_code)


def _read_assign_replicas_to_dirs_response_topic_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AssignReplicasToDirsResponseTopicData], int]:
    items: list[AssignReplicasToDirsResponseTopicData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AssignReplicasToDirsResponseTopicData)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 7 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_assign_replicas_to_dirs_response_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_assign_replicas_to_dirs_response_topic_data(
    out: bytearray, items: Iterable[AssignReplicasToDirsResponseTopicData], version: int
) -> None:
    for item in items:
        n = len(item.partitions) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BYTE.pack(item.topic_id, n)
        else:
            out += _UUID.pack(item.topic_id)
            write_uvarint(out, n)
        _write_assign_replicas_to_dirs_response_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_assign_replicas_to_dirs_response_directory_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AssignReplicasToDirsResponseDirectoryData], int]:
    items: list[AssignReplicasToDirsResponseDirectoryData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AssignReplicasToDirsResponseDirectoryData)
        item.id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 18 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_assign_replicas_to_dirs_response_topic_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_assign_replicas_to_dirs_response_directory_data(
    out: bytearray, items: Iterable[AssignReplicasToDirsResponseDirectoryData], version: int
) -> None:
    for item in items:
        n = len(item.topics) + 1
        if len(item.id) != 16:
            raise uuid_refused(item.id)
        if n < 128:
            out += _UUID_BYTE.pack(item.id, n)
        else:
            out += _UUID.pack(item.id)
            write_uvarint(out, n)
        _write_assign_replicas_to_dirs_response_topic_data(out, item.topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request AssignReplicasToDirsRequest key=73 versions=0 flexible=0+ listeners=controller
  brokerId              int32
  brokerEpoch           int64            default=-1
  directories           []DirectoryData
    id                  uuid
    topics              []TopicData
      topicId           uuid
      partitions        []PartitionData
        partitionIndex  int32

response AssignReplicasToDirsResponse key=73 versions=0 flexible=0+ listeners=controller
  throttleTimeMs        int32
  errorCode             int16
  directories           []DirectoryData
    id                  uuid
    topics              []TopicData
      topicId           uuid
      partitions        []PartitionData
        partitionIndex  int32
        errorCode       int16
"""
