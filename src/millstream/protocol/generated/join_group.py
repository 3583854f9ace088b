"""JoinGroup, API key 11, versions 0-9: request and response.

Written by `make codegen` from codegen/schemas/join_group.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_compact_string,
    read_compact_string_or_null,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_INT16: Final = Struct(">h")
_INT16_INT32: Final = Struct(">hi")
_INT32: Final = Struct(">i")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_INT32: Final = Struct(">ihi")
_INT32_INT16_INT32_BYTE: Final = Struct(">ihiB")
_S2INT32: Final = Struct(">ii")
_S2INT32_BYTE: Final = Struct(">iiB")
_S2INT32_INT16: Final = Struct(">iih")
_new: Final = object.__new__


class JoinGroupRequestProtocol(MessageValue):
    """In `JoinGroupRequest.protocols`, versions 0-9."""

    __slots__ = ("name", "metadata", "unknown_tagged_fields")

    name: str
    metadata: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        metadata: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.metadata = metadata
        self.unknown_tagged_fields = unknown_tagged_fields


class JoinGroupRequest(MessageValue):
    """Request of API 11, versions 0-9."""

    __slots__ = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
        "unknown_tagged_fields",
    )

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int  # 1+
    member_id: str
    group_instance_id: str | None  # 5+
    protocol_type: str
    protocols: list[JoinGroupRequestProtocol]
    reason: str | None  # 8+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = UNSET,
        reason: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = [] if protocols is UNSET else protocols
        self.reason = reason
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 11
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 9
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 9:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            if version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            if version >= 6:
                if n < 128:
                    out += _S2INT32_BYTE.pack(self.session_timeout_ms, self.rebalance_timeout_ms, n)
                else:
                    out += _S2INT32.pack(self.session_timeout_ms, self.rebalance_timeout_ms)
                    write_string_length(out, n)
            elif version >= 1:
                out += _S2INT32_INT16.pack(
                    self.session_timeout_ms, self.rebalance_timeout_ms, n - 1
                )
            else:
                out += _INT32_INT16.pack(self.session_timeout_ms, n - 1)
            out += raw
            if version >= 5:
                if self.group_instance_id is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.group_instance_id.encode()
                    n = len(raw) + 1
            if version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif version >= 5:
                out += _INT16.pack(n - 1)
            elif self.group_instance_id is not None:
                raise not_in_version("group_instance_id", version)
            if version >= 5:
                out += raw
            raw = self.protocol_type.encode()
            n = len(raw) + 1
            if version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            n = len(self.protocols) + 1
            if version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_join_group_request_protocol(out, self.protocols, version)
            if version >= 8:
                if self.reason is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.reason.encode()
                    n = len(raw) + 1
            if version >= 8:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            if version >= 8:
                out += raw
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
        if not 0 <= version <= 9:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 6:
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
            if version >= 6:
                (
                    message.session_timeout_ms,
                    message.rebalance_timeout_ms,
                    n,
                ) = _S2INT32_BYTE.unpack_from(data, at)
                at += 8
                if 0 < n < 128:
                    message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.member_id, at = read_compact_string(data, at)
            elif version >= 1:
                (
                    message.session_timeout_ms,
                    message.rebalance_timeout_ms,
                    n,
                ) = _S2INT32_INT16.unpack_from(data, at)
                at += 10
                if n < 0:
                    raise null_refused()
                message.member_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.session_timeout_ms, n = _INT32_INT16.unpack_from(data, at)
                at += 6
                message.rebalance_timeout_ms = -1
                if n < 0:
                    raise null_refused()
                message.member_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 6:
                n = data[at]
                if 0 < n < 128:
                    message.group_instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.group_instance_id, at = read_compact_string_or_null(data, at)
            elif version >= 5:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    message.group_instance_id = None
                else:
                    message.group_instance_id = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            else:
                message.group_instance_id = None
            if version >= 6:
                n = data[at]
                if 0 < n < 128:
                    message.protocol_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.protocol_type, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.protocol_type = data[at : at + n].decode("utf-8", LENIENT)
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.protocols, at = _read_join_group_request_protocol(data, at, version, n)
            if version >= 8:
                n = data[at]
                if 0 < n < 128:
                    message.reason = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.reason, at = read_compact_string_or_null(data, at)
            else:
                message.reason = None
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


class JoinGroupResponseMember(MessageValue):
    """In `JoinGroupResponse.members`, versions 0-9."""

    __slots__ = ("member_id", "group_instance_id", "metadata", "unknown_tagged_fields")

    member_id: str
    group_instance_id: str | None  # 5+
    metadata: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata
        self.unknown_tagged_fields = unknown_tagged_fields


class JoinGroupResponse(MessageValue):
    """Response of API 11, versions 0-9."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "generation_id",
        "protocol_type",
        "protocol_name",
        "leader",
        "skip_assignment",
        "member_id",
        "members",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int  # 2+
    error_code: int
    generation_id: int
    protocol_type: str | None  # 7+
    protocol_name: str | None
    leader: str
    skip_assignment: bool  # 9
    member_id: str
    members: list[JoinGroupResponseMember]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = [] if members is UNSET else members
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 11
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 9
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 6

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 9:
            raise version_refused(type(self), version)
        try:
            if version >= 7:
                if self.protocol_type is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.protocol_type.encode()
                    n = len(raw) + 1
            if version >= 7:
                if n < 128:
                    out += _INT32_INT16_INT32_BYTE.pack(
                        self.throttle_time_ms, self.error_code, self.generation_id, n
                    )
                else:
                    out += _INT32_INT16_INT32.pack(
                        self.throttle_time_ms, self.error_code, self.generation_id
                    )
                    write_string_length(out, n)
            elif version >= 2:
                out += _INT32_INT16_INT32.pack(
                    self.throttle_time_ms, self.error_code, self.generation_id
                )
            else:
                out += _INT16_INT32.pack(self.error_code, self.generation_id)
            if version >= 7:
                out += raw
            if self.protocol_name is None:
                if not (version >= 7):
                    raise must_not_be_null("protocol_name", version)
                raw = b""
                n = 0
            else:
                raw = self.protocol_name.encode()
                n = len(raw) + 1
            if version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            raw = self.leader.encode()
            n = len(raw) + 1
            if version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            if version >= 9:
                if n < 128:
                    out += _BOOL_BYTE.pack(self.skip_assignment, n)
                else:
                    out += _BOOL.pack(self.skip_assignment)
                    write_string_length(out, n)
            elif version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
                if self.skip_assignment:
                    raise not_in_version("skip_assignment", version)
            else:
                out += _INT16.pack(n - 1)
                if self.skip_assignment:
                    raise not_in_version("skip_assignment", version)
            out += raw
            n = len(self.members) + 1
            if version >= 6:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_join_group_response_member(out, self.members, version)
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
        if not 0 <= version <= 9:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 7:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    message.generation_id,
                    n,
                ) = _INT32_INT16_INT32_BYTE.unpack_from(data, at)
                at += 10
                if 0 < n < 128:
                    message.protocol_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.protocol_type, at = read_compact_string_or_null(data, at)
            elif version >= 2:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    message.generation_id,
                ) = _INT32_INT16_INT32.unpack_from(data, at)
                at += 10
                message.protocol_type = None
            else:
                message.error_code, message.generation_id = _INT16_INT32.unpack_from(data, at)
                at += 6
                message.throttle_time_ms = 0
                message.protocol_type = None
            if version >= 6:
                n = data[at]
                if 0 < n < 128:
                    message.protocol_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    if version >= 7:
                        message.protocol_name, at = read_compact_string_or_null(data, at)
                    else:
                        message.protocol_name, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    if not (version >= 7):
                        raise null_refused()
                    message.protocol_name = None
                else:
                    message.protocol_name = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            if version >= 6:
                n = data[at]
                if 0 < n < 128:
                    message.leader = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.leader, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.leader = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 9:
                message.skip_assignment, n = _BOOL_BYTE.unpack_from(data, at)
                at += 1
                if 0 < n < 128:
                    message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.member_id, at = read_compact_string(data, at)
            elif version >= 6:
                n = data[at]
                message.skip_assignment = False
                if 0 < n < 128:
                    message.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.member_id, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                message.skip_assignment = False
                if n < 0:
                    raise null_refused()
                message.member_id = data[at : at + n].decode("utf-8", LENIENT)
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
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            message.members, at = _read_join_group_response_member(data, at, version, n)
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


def _read_join_group_request_protocol(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[JoinGroupRequestProtocol], int]:
    items: list[JoinGroupRequestProtocol] = []
    for _ in range(count):
        item = _new(JoinGroupRequestProtocol)
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
        if n < 0:
            raise null_refused()
        item.metadata = data[at : at + n]
        at += n
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


def _write_join_group_request_protocol(
    out: bytearray, items: Iterable[JoinGroupRequestProtocol], version: int
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
        n = len(item.metadata) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        out += item.metadata
        if version >= 6:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_join_group_response_member(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[JoinGroupResponseMember], int]:
    items: list[JoinGroupResponseMember] = []
    for _ in range(count):
        item = _new(JoinGroupResponseMember)
        if version >= 6:
            n = data[at]
            if 0 < n < 128:
                item.member_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.member_id, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 6:
            n = data[at]
            if 0 < n < 128:
                item.group_instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.group_instance_id, at = read_compact_string_or_null(data, at)
        elif version >= 5:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                item.group_instance_id = None
            else:
                item.group_instance_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        else:
            item.group_instance_id = None
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
        if n < 0:
            raise null_refused()
        item.metadata = data[at : at + n]
        at += n
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


def _write_join_group_response_member(
    out: bytearray, items: Iterable[JoinGroupResponseMember], version: int
) -> None:
    for item in items:
        raw = item.member_id.encode()
        n = len(raw) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 5:
            if item.group_instance_id is None:
                raw = b""
                n = 0
            else:
                raw = item.group_instance_id.encode()
                n = len(raw) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        elif version >= 5:
            out += _INT16.pack(n - 1)
        if version >= 5:
            out += raw
        n = len(item.metadata) + 1
        if version >= 6:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        out += item.metadata
        if version >= 6:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

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
