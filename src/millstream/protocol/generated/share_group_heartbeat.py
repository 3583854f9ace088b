"""ShareGroupHeartbeat, API key 76, versions 1-1: request and response.

Written by `make codegen` from codegen/schemas/share_group_heartbeat.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_compact_strings, read_integers, read_length, read_string_length, read_strings
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_integers, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_2INT32_INT8: Final = Struct(">iib")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class ShareGroupHeartbeatRequest:
    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    rack_id: str | None = None
    subscribed_topic_names: list[str] | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 76
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if version != 1:
            raise unsupported(self, version)
        item = self
        try:
            write_compact_string(out, item.group_id)
            write_compact_string(out, item.member_id)
            out += _S_INT32.pack(item.member_epoch)
            if item.rack_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.rack_id)
            if item.subscribed_topic_names is None:
                out.append(0)
            else:
                write_length(out, len(item.subscribed_topic_names))
                for text in item.subscribed_topic_names:
                    write_compact_string(out, text)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 1:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
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
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            item.member_epoch, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.rack_id = None
            else:
                at += n
                item.rack_id = data[at - n : at].decode("utf-8", LENIENT)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.subscribed_topic_names = None
            else:
                item.subscribed_topic_names, at = read_compact_strings(data, at, n)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class TopicPartitions:
    topic_id: Uuid = ZERO_UUID
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Assignment:
    topic_partitions: list[TopicPartitions] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ShareGroupHeartbeatResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 76
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if version != 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
            if item.member_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.member_id)
            out += _S_2INT32.pack(item.member_epoch, item.heartbeat_interval_ms)
            if item.assignment is None:
                out.append(255)
            else:
                out.append(1)
                _write_assignment(out, (item.assignment,), version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 1:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.member_id = None
            else:
                at += n
                item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            item.member_epoch, item.heartbeat_interval_ms, n = _S_2INT32_INT8.unpack_from(data, at)
            at += 9
            if n < 0:
                item.assignment = None
            else:
                (item.assignment,), at = _read_assignment(data, at, version, 1)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_topic_partitions(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicPartitions], int]:
    items: list[TopicPartitions] = []
    for _ in range(count):
        item = _new(TopicPartitions)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.partitions, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_partitions(out: bytearray, items: Iterable[TopicPartitions], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_assignment(data: bytes, at: int, version: int, count: int) -> tuple[list[Assignment], int]:
    limit = len(data)
    items: list[Assignment] = []
    for _ in range(count):
        item = _new(Assignment)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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
        write_length(out, len(item.topic_partitions))
        _write_topic_partitions(out, item.topic_partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request ShareGroupHeartbeatRequest key=76 versions=1 flexible=1+ listeners=broker
  groupId               string
  memberId              string
  memberEpoch           int32
  rackId                string    nullable default=null
  subscribedTopicNames  []string  nullable default=null

response ShareGroupHeartbeatResponse key=76 versions=1 flexible=1+ listeners=broker
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
