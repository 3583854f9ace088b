"""ShareGroupDescribe, API key 77, versions 1-1: request and response.

Written by `make codegen` from codegen/schemas/share_group_describe.txt.
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
_S_2INT32_BYTE: Final = Struct(">iiB")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class ShareGroupDescribeRequest:
    group_ids: list[str] = field(default_factory=list)
    include_authorized_operations: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 77
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if version != 1:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.group_ids))
            for text in item.group_ids:
                write_compact_string(out, text)
            out += _S_BOOL.pack(item.include_authorized_operations)
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
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.group_ids, at = read_compact_strings(data, at, n)
            item.include_authorized_operations, tags = _S_BOOL_BYTE.unpack_from(data, at)
            at += 2
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
    topic_name: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Assignment:
    topic_partitions: list[TopicPartitions] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Member:
    member_id: str = ""
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = field(default_factory=list)
    assignment: Assignment = field(default_factory=Assignment)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribedGroup:
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: list[Member] = field(default_factory=list)
    authorized_operations: int = -2147483648
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ShareGroupDescribeResponse:
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 77
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if version != 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            write_length(out, len(item.groups))
            _write_described_group(out, item.groups, version)
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
            item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 20 <= limit - at:
                raise count_refused(n, limit - at)
            item.groups, at = _read_described_group(data, at, version, n)
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
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.topic_name = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
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
        write_compact_string(out, item.topic_name)
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
        if not 0 <= n * 19 <= limit - at:
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


def _read_member(data: bytes, at: int, version: int, count: int) -> tuple[list[Member], int]:
    items: list[Member] = []
    for _ in range(count):
        item = _new(Member)
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
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.rack_id = None
        else:
            at += n
            item.rack_id = data[at - n : at].decode("utf-8", LENIENT)
        item.member_epoch, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.client_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.client_host = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.subscribed_topic_names, at = read_compact_strings(data, at, n)
        (item.assignment,), at = _read_assignment(data, at, version, 1)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_member(out: bytearray, items: Iterable[Member], version: int) -> None:
    for item in items:
        write_compact_string(out, item.member_id)
        if item.rack_id is None:
            out.append(0)
        else:
            write_compact_string(out, item.rack_id)
        out += _S_INT32.pack(item.member_epoch)
        write_compact_string(out, item.client_id)
        write_compact_string(out, item.client_host)
        write_length(out, len(item.subscribed_topic_names))
        for text in item.subscribed_topic_names:
            write_compact_string(out, text)
        _write_assignment(out, (item.assignment,), version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_described_group(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribedGroup], int]:
    limit = len(data)
    items: list[DescribedGroup] = []
    for _ in range(count):
        item = _new(DescribedGroup)
        item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
        at += 3
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
        item.group_state = data[at - n : at].decode("utf-8", LENIENT)
        item.group_epoch, item.assignment_epoch, n = _S_2INT32_BYTE.unpack_from(data, at)
        at += 9
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.assignor_name = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 12 <= limit - at:
            raise count_refused(n, limit - at)
        item.members, at = _read_member(data, at, version, n)
        item.authorized_operations, tags = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_described_group(out: bytearray, items: Iterable[DescribedGroup], version: int) -> None:
    for item in items:
        out += _S_INT16.pack(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            write_compact_string(out, item.error_message)
        write_compact_string(out, item.group_id)
        write_compact_string(out, item.group_state)
        out += _S_2INT32.pack(item.group_epoch, item.assignment_epoch)
        write_compact_string(out, item.assignor_name)
        write_length(out, len(item.members))
        _write_member(out, item.members, version)
        out += _S_INT32.pack(item.authorized_operations)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request ShareGroupDescribeRequest key=77 versions=1 flexible=1+ listeners=broker
  groupIds                     []string
  includeAuthorizedOperations  bool

response ShareGroupDescribeResponse key=77 versions=1 flexible=1+ listeners=broker
  throttleTimeMs            int32
  groups                    []DescribedGroup
    errorCode               int16
    errorMessage            string             nullable default=null
    groupId                 string
    groupState              string
    groupEpoch              int32
    assignmentEpoch         int32
    assignorName            string
    members                 []Member
      memberId              string
      rackId                string             nullable default=null
      memberEpoch           int32
      clientId              string
      clientHost            string
      subscribedTopicNames  []string
      assignment            Assignment
        topicPartitions     []TopicPartitions
          topicId           uuid
          topicName         string
          partitions        []int32
    authorizedOperations    int32              default=-2147483648
"""
