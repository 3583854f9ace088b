"""JoinGroup, API key 11, versions 0-9: request and response.

Written by `make codegen` from codegen/schemas/join_group.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, must_not_be_null, not_in_version, tags_refused, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_2INT32_BYTE: Final = Struct(">iiB")
_S_2INT32_INT16: Final = Struct(">iih")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT16: Final = Struct(">h")
_S_INT16_INT32: Final = Struct(">hi")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_INT32: Final = Struct(">ihi")
_S_INT32_INT16_INT32_BYTE: Final = Struct(">ihiB")
_new: Final = object.__new__


@dataclass(slots=True)
class JoinGroupRequestProtocol:
    name: str = ""
    metadata: bytes = b""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class JoinGroupRequest:
    group_id: str = ""
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = -1  # 1+
    member_id: str = ""
    group_instance_id: str | None = None  # 5+
    protocol_type: str = ""
    protocols: list[JoinGroupRequestProtocol] = field(default_factory=list)
    reason: str | None = None  # 8+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 11
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 9
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 9:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 6:
                write_compact_string(out, item.group_id)
            else:
                write_string(out, item.group_id)
            if version >= 1:
                out += _S_2INT32.pack(item.session_timeout_ms, item.rebalance_timeout_ms)
            else:
                out += _S_INT32.pack(item.session_timeout_ms)
            if version >= 6:
                write_compact_string(out, item.member_id)
            else:
                write_string(out, item.member_id)
            if version >= 5:
                if item.group_instance_id is None:
                    if version >= 6:
                        out.append(0)
                    else:
                        out += b"\xff\xff"
                else:
                    if version >= 6:
                        write_compact_string(out, item.group_instance_id)
                    else:
                        write_string(out, item.group_instance_id)
            elif item.group_instance_id is not None:
                raise not_in_version("group_instance_id", version)
            if version >= 6:
                write_compact_string(out, item.protocol_type)
            else:
                write_string(out, item.protocol_type)
            if version >= 6:
                write_length(out, len(item.protocols))
            else:
                out += _S_INT32.pack(len(item.protocols))
            _write_join_group_request_protocol(out, item.protocols, version)
            if version >= 8:
                if item.reason is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.reason)
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
        if not 0 <= version <= 9:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
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
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 6:
                item.session_timeout_ms, item.rebalance_timeout_ms, n = _S_2INT32_BYTE.unpack_from(data, at)
                at += 9
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                item.session_timeout_ms, item.rebalance_timeout_ms, n = _S_2INT32_INT16.unpack_from(data, at)
                at += 10
            else:
                item.session_timeout_ms, n = _S_INT32_INT16.unpack_from(data, at)
                at += 6
                item.rebalance_timeout_ms = -1
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 6:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 5:
                (n,) = _S_INT16.unpack_from(data, at)
                at += 2
            else:
                pass
            if version >= 5:
                if n < 0:
                    item.group_instance_id = None
                else:
                    at += n
                    item.group_instance_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.group_instance_id = None
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
            item.protocol_type = data[at - n : at].decode("utf-8", LENIENT)
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.protocols, at = _read_join_group_request_protocol(data, at, version, n)
            if version >= 8:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 8:
                if n < 0:
                    item.reason = None
                else:
                    at += n
                    item.reason = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.reason = None
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


@dataclass(slots=True)
class JoinGroupResponseMember:
    member_id: str = ""
    group_instance_id: str | None = None  # 5+
    metadata: bytes = b""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class JoinGroupResponse:
    throttle_time_ms: int = 0  # 2+
    error_code: int = 0
    generation_id: int = -1
    protocol_type: str | None = None  # 7+
    protocol_name: str | None = ""
    leader: str = ""
    skip_assignment: bool = False  # 9
    member_id: str = ""
    members: list[JoinGroupResponseMember] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 11
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 9
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 9:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                out += _S_INT32_INT16_INT32.pack(item.throttle_time_ms, item.error_code, item.generation_id)
            else:
                out += _S_INT16_INT32.pack(item.error_code, item.generation_id)
            if version >= 7:
                if item.protocol_type is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.protocol_type)
            if item.protocol_name is None:
                if not (version >= 7):
                    raise must_not_be_null("protocol_name", version)
                if version >= 6:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 6:
                    write_compact_string(out, item.protocol_name)
                else:
                    write_string(out, item.protocol_name)
            if version >= 6:
                write_compact_string(out, item.leader)
            else:
                write_string(out, item.leader)
            if version >= 9:
                out += _S_BOOL.pack(item.skip_assignment)
            else:
                if item.skip_assignment:
                    raise not_in_version("skip_assignment", version)
            if version >= 6:
                write_compact_string(out, item.member_id)
            else:
                write_string(out, item.member_id)
            if version >= 6:
                write_length(out, len(item.members))
            else:
                out += _S_INT32.pack(len(item.members))
            _write_join_group_response_member(out, item.members, version)
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
        if not 0 <= version <= 9:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 7:
                item.throttle_time_ms, item.error_code, item.generation_id, n = _S_INT32_INT16_INT32_BYTE.unpack_from(data, at)
                at += 11
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 2:
                item.throttle_time_ms, item.error_code, item.generation_id = _S_INT32_INT16_INT32.unpack_from(data, at)
                at += 10
            else:
                item.error_code, item.generation_id = _S_INT16_INT32.unpack_from(data, at)
                at += 6
                item.throttle_time_ms = 0
            if version >= 7:
                if n < 0:
                    item.protocol_type = None
                else:
                    at += n
                    item.protocol_type = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.protocol_type = None
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
                if not (version >= 7):
                    raise null_refused()
                item.protocol_name = None
            else:
                at += n
                item.protocol_name = data[at - n : at].decode("utf-8", LENIENT)
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
            item.leader = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 9:
                item.skip_assignment, n = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 6:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
                item.skip_assignment = False
            else:
                (n,) = _S_INT16.unpack_from(data, at)
                at += 2
                item.skip_assignment = False
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
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
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            item.members, at = _read_join_group_response_member(data, at, version, n)
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


def _read_join_group_request_protocol(data: bytes, at: int, version: int, count: int) -> tuple[list[JoinGroupRequestProtocol], int]:
    items: list[JoinGroupRequestProtocol] = []
    for _ in range(count):
        item = _new(JoinGroupRequestProtocol)
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
        if n < 0:
            raise null_refused()
        at += n
        item.metadata = data[at - n : at]
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


def _write_join_group_request_protocol(out: bytearray, items: Iterable[JoinGroupRequestProtocol], version: int) -> None:
    for item in items:
        if version >= 6:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 6:
            write_length(out, len(item.metadata))
        else:
            out += _S_INT32.pack(len(item.metadata))
        out += item.metadata
        if item.unknown_tagged_fields:
            if version < 6:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 6:
            out.append(0)


def _read_join_group_response_member(data: bytes, at: int, version: int, count: int) -> tuple[list[JoinGroupResponseMember], int]:
    items: list[JoinGroupResponseMember] = []
    for _ in range(count):
        item = _new(JoinGroupResponseMember)
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
        item.member_id = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 6:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 5:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        else:
            pass
        if version >= 5:
            if n < 0:
                item.group_instance_id = None
            else:
                at += n
                item.group_instance_id = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.group_instance_id = None
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
        if n < 0:
            raise null_refused()
        at += n
        item.metadata = data[at - n : at]
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


def _write_join_group_response_member(out: bytearray, items: Iterable[JoinGroupResponseMember], version: int) -> None:
    for item in items:
        if version >= 6:
            write_compact_string(out, item.member_id)
        else:
            write_string(out, item.member_id)
        if version >= 5:
            if item.group_instance_id is None:
                if version >= 6:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 6:
                    write_compact_string(out, item.group_instance_id)
                else:
                    write_string(out, item.group_instance_id)
        if version >= 6:
            write_length(out, len(item.metadata))
        else:
            out += _S_INT32.pack(len(item.metadata))
        out += item.metadata
        if item.unknown_tagged_fields:
            if version < 6:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 6:
            out.append(0)

SCHEMA: Final = """\
request JoinGroupRequest key=11 versions=0-9 flexible=6+ listeners=broker
  groupId             string
  sessionTimeoutMs    int32
  rebalanceTimeoutMs  int32                       1+ default=-1 ignorable
  memberId            string
  groupInstanceId     string                      5+ nullable default=null
  protocolType        string
  protocols           []JoinGroupRequestProtocol
    name              string
    metadata          bytes
  reason              string                      8+ nullable default=null ignorable

response JoinGroupResponse key=11 versions=0-9 flexible=6+ listeners=broker
  throttleTimeMs     int32                      2+ ignorable
  errorCode          int16
  generationId       int32                      default=-1
  protocolType       string                     7+ nullable default=null ignorable
  protocolName       string                     nullable=7+
  leader             string
  skipAssignment     bool                       9
  memberId           string
  members            []JoinGroupResponseMember
    memberId         string
    groupInstanceId  string                     5+ nullable default=null ignorable
    metadata         bytes
"""
