"""ConsumerGroupDescribe, API key 69, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/consumer_group_describe.txt.
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
    uuid_refused,
    write_compact_int32s,
    write_compact_strings,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_ZERO: Final = Struct(">ix")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_ZERO: Final = Struct(">bx")
_S2INT32: Final = Struct(">ii")
_S2INT32_BYTE: Final = Struct(">iiB")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class ConsumerGroupDescribeRequest(MessageValue):
    """Request of API 69, versions 0-1."""

    __slots__ = ("group_ids", "include_authorized_operations", "unknown_tagged_fields")

    group_ids: list[str]
    include_authorized_operations: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_ids: list[str] = UNSET,
        include_authorized_operations: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_ids = [] if group_ids is UNSET else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 69
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.group_ids) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            write_compact_strings(out, self.group_ids)
            if self.unknown_tagged_fields:
                out += _BOOL.pack(self.include_authorized_operations)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _BOOL_ZERO.pack(self.include_authorized_operations)
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
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.group_ids, at = read_compact_strings(data, at, n)
            message.include_authorized_operations, tags = _BOOL_BYTE.unpack_from(data, at)
            at += 2
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class TopicPartitions(MessageValue):
    """In `Assignment.topic_partitions`, versions 0-1."""

    __slots__ = ("topic_id", "topic_name", "partitions", "unknown_tagged_fields")

    topic_id: Uuid
    topic_name: str
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class Assignment(MessageValue):
    """In `Member.assignment` and elsewhere, versions 0-1."""

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


class Member(MessageValue):
    """In `DescribedGroup.members`, versions 0-1."""

    __slots__ = (
        "member_id",
        "instance_id",
        "rack_id",
        "member_epoch",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "assignment",
        "target_assignment",
        "member_type",
        "unknown_tagged_fields",
    )

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    assignment: Assignment
    target_assignment: Assignment
    member_type: int  # 1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_id: str = "",
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = UNSET,
        subscribed_topic_regex: str | None = None,
        assignment: Assignment = UNSET,
        target_assignment: Assignment = UNSET,
        member_type: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is UNSET else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.assignment = Assignment() if assignment is UNSET else assignment
        self.target_assignment = Assignment() if target_assignment is UNSET else target_assignment
        self.member_type = member_type
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribedGroup(MessageValue):
    """In `ConsumerGroupDescribeResponse.groups`, versions 0-1."""

    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "assignor_name",
        "members",
        "authorized_operations",
        "unknown_tagged_fields",
    )

    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: list[Member]
    authorized_operations: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: list[Member] = UNSET,
        authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members = [] if members is UNSET else members
        self.authorized_operations = authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerGroupDescribeResponse(MessageValue):
    """Response of API 69, versions 0-1."""

    __slots__ = ("throttle_time_ms", "groups", "unknown_tagged_fields")

    throttle_time_ms: int
    groups: list[DescribedGroup]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is UNSET else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 69
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.groups) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.throttle_time_ms, n)
            else:
                out += _INT32.pack(self.throttle_time_ms)
                write_uvarint(out, n)
            _write_described_group(out, self.groups, version)
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
            message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 20 <= limit - at:
                raise count_refused(n, limit - at)
            message.groups, at = _read_described_group(data, at, version, n)
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
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        n = data[at]
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
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BYTE.pack(item.topic_id, n)
        else:
            out += _UUID.pack(item.topic_id)
            write_string_length(out, n)
        out += raw
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


def _read_member(data: bytes, at: int, version: int, count: int) -> tuple[list[Member], int]:
    items: list[Member] = []
    for _ in range(count):
        item = _new(Member)
        n = data[at]
        if 0 < n < 128:
            item.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.member_id, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.instance_id, at = read_compact_string_or_null(data, at)
        n = data[at]
        if 0 < n < 128:
            item.rack_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.rack_id, at = read_compact_string_or_null(data, at)
        item.member_epoch, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.client_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.client_id, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.client_host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.client_host, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.subscribed_topic_names, at = read_compact_strings(data, at, n)
        n = data[at]
        if 0 < n < 128:
            item.subscribed_topic_regex = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.subscribed_topic_regex, at = read_compact_string_or_null(data, at)
        (item.assignment,), at = _read_assignment(data, at, version, 1)
        (item.target_assignment,), at = _read_assignment(data, at, version, 1)
        if version >= 1:
            item.member_type, tags = _INT8_BYTE.unpack_from(data, at)
            at += 2
        else:
            tags = data[at]
            at += 1
            item.member_type = -1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_member(out: bytearray, items: Iterable[Member], version: int) -> None:
    for item in items:
        raw = item.member_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.instance_id is None:
            raw = b""
            n = 0
        else:
            raw = item.instance_id.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.rack_id is None:
            raw = b""
            n = 0
        else:
            raw = item.rack_id.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.client_id.encode()
        n = len(raw) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.member_epoch, n)
        else:
            out += _INT32.pack(item.member_epoch)
            write_string_length(out, n)
        out += raw
        raw = item.client_host.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.subscribed_topic_names) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_compact_strings(out, item.subscribed_topic_names)
        if item.subscribed_topic_regex is None:
            raw = b""
            n = 0
        else:
            raw = item.subscribed_topic_regex.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        _write_assignment(out, (item.assignment,), version)
        _write_assignment(out, (item.target_assignment,), version)
        if version >= 1:
            if item.unknown_tagged_fields:
                out += _INT8.pack(item.member_type)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT8_ZERO.pack(item.member_type)
        else:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)


def _read_described_group(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribedGroup], int]:
    items: list[DescribedGroup] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribedGroup)
        item.error_code, n = _INT16_BYTE.unpack_from(data, at)
        at += 2
        if 0 < n < 128:
            item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.error_message, at = read_compact_string_or_null(data, at)
        n = data[at]
        if 0 < n < 128:
            item.group_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.group_id, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.group_state = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.group_state, at = read_compact_string(data, at)
        item.group_epoch, item.assignment_epoch, n = _S2INT32_BYTE.unpack_from(data, at)
        at += 8
        if 0 < n < 128:
            item.assignor_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.assignor_name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 16 <= limit - at:
            raise count_refused(n, limit - at)
        item.members, at = _read_member(data, at, version, n)
        item.authorized_operations, tags = _INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_described_group(out: bytearray, items: Iterable[DescribedGroup], version: int) -> None:
    for item in items:
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT16_BYTE.pack(item.error_code, n)
        else:
            out += _INT16.pack(item.error_code)
            write_string_length(out, n)
        out += raw
        raw = item.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.group_state.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.assignor_name.encode()
        n = len(raw) + 1
        if n < 128:
            out += _S2INT32_BYTE.pack(item.group_epoch, item.assignment_epoch, n)
        else:
            out += _S2INT32.pack(item.group_epoch, item.assignment_epoch)
            write_string_length(out, n)
        out += raw
        n = len(item.members) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_member(out, item.members, version)
        if item.unknown_tagged_fields:
            out += _INT32.pack(item.authorized_operations)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_ZERO.pack(item.authorized_operations)

SCHEMA: Final = """\
request ConsumerGroupDescribeRequest key=69 versions=0-1 flexible=0+ listeners=broker
  groupIds                     []string
  includeAuthorizedOperations  bool

response ConsumerGroupDescribeResponse key=69 versions=0-1 flexible=0+ listeners=broker
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
      instanceId            string             nullable default=null
      rackId                string             nullable default=null
      memberEpoch           int32
      clientId              string
      clientHost            string
      subscribedTopicNames  []string
      subscribedTopicRegex  string             nullable default=null
      assignment            Assignment
        topicPartitions     []TopicPartitions
          topicId           uuid
          topicName         string
          partitions        []int32
      targetAssignment      Assignment
      memberType            int8               1 default=-1 ignorable
    authorizedOperations    int32              default=-2147483648
"""
