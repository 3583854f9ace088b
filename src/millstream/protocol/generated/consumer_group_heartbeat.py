"""ConsumerGroupHeartbeat, API key 68, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/consumer_group_heartbeat.txt.
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
    past_end,
    read_compact_int32s,
    read_compact_string,
    read_compact_string_or_null,
    read_compact_strings,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    uuid_refused,
    write_compact_int32s,
    write_compact_strings,
    write_string_length,
    write_uvarint,
)

_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_S2INT32_INT8: Final = Struct(">iib")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class TopicPartitions(MessageValue):
    """In `ConsumerGroupHeartbeatRequest.topic_partitions`, versions 0-1."""

    __slots__ = ("topic_id", "partitions", "unknown_tagged_fields")

    topic_id: Uuid
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerGroupHeartbeatRequest(MessageValue):
    """Request of API 68, versions 0-1."""

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "server_assignor",
        "topic_partitions",
        "unknown_tagged_fields",
    )

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    subscribed_topic_names: list[str] | None
    subscribed_topic_regex: str | None  # 1
    server_assignor: str | None
    topic_partitions: list[TopicPartitions] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[TopicPartitions] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 68
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.instance_id is None:
                raw = b""
                n = 0
            else:
                raw = self.instance_id.encode()
                n = len(raw) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.member_epoch, n)
            else:
                out += _INT32.pack(self.member_epoch)
                write_string_length(out, n)
            out += raw
            if self.rack_id is None:
                raw = b""
                n = 0
            else:
                raw = self.rack_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.subscribed_topic_names is None:
                n = 0
            else:
                n = len(self.subscribed_topic_names) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.rebalance_timeout_ms, n)
            else:
                out += _INT32.pack(self.rebalance_timeout_ms)
                write_uvarint(out, n)
            if self.subscribed_topic_names is not None:
                write_compact_strings(out, self.subscribed_topic_names)
            if version >= 1:
                if self.subscribed_topic_regex is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.subscribed_topic_regex.encode()
                    n = len(raw) + 1
            if version >= 1:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif self.subscribed_topic_regex is not None:
                raise not_in_version("subscribed_topic_regex", version)
            if version >= 1:
                out += raw
            if self.server_assignor is None:
                raw = b""
                n = 0
            else:
                raw = self.server_assignor.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.topic_partitions is None:
                n = 0
            else:
                n = len(self.topic_partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.topic_partitions is not None:
                _write_topic_partitions(out, self.topic_partitions, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            n = data[at]
            if 0 < n < 128:
                message.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.group_id, at = read_compact_string(data, at)
            n = data[at]
            if 0 < n < 128:
                message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.member_id, at = read_compact_string(data, at)
            message.member_epoch, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if 0 < n < 128:
                message.instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.instance_id, at = read_compact_string_or_null(data, at)
            n = data[at]
            if 0 < n < 128:
                message.rack_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.rack_id, at = read_compact_string_or_null(data, at)
            message.rebalance_timeout_ms, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.subscribed_topic_names = None
            else:
                message.subscribed_topic_names, at = read_compact_strings(data, at, n)
            if version >= 1:
                n = data[at]
                if 0 < n < 128:
                    message.subscribed_topic_regex = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.subscribed_topic_regex, at = read_compact_string_or_null(data, at)
            else:
                message.subscribed_topic_regex = None
            n = data[at]
            if 0 < n < 128:
                message.server_assignor = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.server_assignor, at = read_compact_string_or_null(data, at)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.topic_partitions = None
            else:
                if not 0 <= n * 18 <= limit - at:
                    raise count_refused(n, limit - at)
                message.topic_partitions, at = _read_topic_partitions(data, at, version, n)
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


class Assignment(MessageValue):
    """In `ConsumerGroupHeartbeatResponse.assignment`, versions 0-1."""

    __slots__ = ("topic_partitions", "unknown_tagged_fields")

    topic_partitions: list[TopicPartitions]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_partitions: list[TopicPartitions] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_partitions = [] if topic_partitions is UNSET else topic_partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerGroupHeartbeatResponse(MessageValue):
    """Response of API 68, versions 0-1."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: Assignment | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 68
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            if self.error_message is None:
                raw = b""
                n = 0
            else:
                raw = self.error_message.encode()
                n = len(raw) + 1
            if n < 128:
                out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_string_length(out, n)
            out += raw
            if self.member_id is None:
                raw = b""
                n = 0
            else:
                raw = self.member_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = -1 if self.assignment is None else 1
            out += _S2INT32_INT8.pack(self.member_epoch, self.heartbeat_interval_ms, n)
            if self.assignment is not None:
                _write_assignment(out, (self.assignment,), version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
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
            if 0 < n < 128:
                message.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.error_message, at = read_compact_string_or_null(data, at)
            n = data[at]
            if 0 < n < 128:
                message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.member_id, at = read_compact_string_or_null(data, at)
            (
                message.member_epoch,
                message.heartbeat_interval_ms,
                n,
            ) = _S2INT32_INT8.unpack_from(data, at)
            at += 9
            if n < 0:
                message.assignment = None
            else:
                (message.assignment,), at = _read_assignment(data, at, version, 1)
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


def _read_topic_partitions(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicPartitions], int]:
    items: list[TopicPartitions] = []
    for _ in range(count):
        item = _new(TopicPartitions)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if 0 < n < 17:
            item.partitions = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.partitions, at = read_compact_int32s(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_partitions(out: bytearray, items: Iterable[TopicPartitions], version: int) -> None:
    for item in items:
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        out += _UUID.pack(item.topic_id)
        write_compact_int32s(out, item.partitions)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_assignment(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[Assignment], int]:
    items: list[Assignment] = []
    limit = len(data)
    for _ in range(count):
        item = _new(Assignment)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 18 <= limit - at:
            raise count_refused(n, limit - at)
        item.topic_partitions, at = _read_topic_partitions(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_assignment(out: bytearray, items: Iterable[Assignment], version: int) -> None:
    for item in items:
        n = len(item.topic_partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_topic_partitions(out, item.topic_partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request ConsumerGroupHeartbeatRequest key=68 versions=0-1 flexible=0+ listeners=broker
  groupId               string
  memberId              string
  memberEpoch           int32
  instanceId            string             nullable default=null
  rackId                string             nullable default=null
  rebalanceTimeoutMs    int32              default=-1
  subscribedTopicNames  []string           nullable default=null
  subscribedTopicRegex  string             1 nullable default=null
  serverAssignor        string             nullable default=null
  topicPartitions       []TopicPartitions  nullable default=null
    topicId             uuid
    partitions          []int32

response ConsumerGroupHeartbeatResponse key=68 versions=0-1 flexible=0+ listeners=broker
  throttleTimeMs       int32
  errorCode            int16
  errorMessage         string             nullable default=null
  memberId             string             nullable default=null
  memberEpoch          int32
  heartbeatIntervalMs  int32
  assignment           Assignment         nullable default=null
    topicPartitions    []TopicPartitions
      topicId          uuid
      partitions       []int32
"""
