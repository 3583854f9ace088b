"""group messages: LegacyOffsetCommitKey to StreamsGroupTopologyValue.

Written by `make codegen` from codegen/schemas/group_records.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
    read_compact_int32s_or_null,
    read_compact_string,
    read_compact_string_or_null,
    read_compact_strings,
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
    write_compact_strings,
    write_integers,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_INT64_ZERO: Final = Struct(">iqx")
_INT32_ZERO: Final = Struct(">ix")
_INT64: Final = Struct(">q")
_INT64_BYTE: Final = Struct(">qB")
_INT64_INT16: Final = Struct(">qh")
_INT64_INT32: Final = Struct(">qi")
_INT64_INT32_BYTE: Final = Struct(">qiB")
_INT64_INT32_INT16: Final = Struct(">qih")
_INT64_ZERO: Final = Struct(">qx")
_INT8: Final = Struct(">b")
_S2INT32: Final = Struct(">ii")
_S2INT32_BYTE: Final = Struct(">iiB")
_S2INT32_INT8: Final = Struct(">iib")
_S2INT32_INT8_BYTE: Final = Struct(">iibB")
_S2INT64: Final = Struct(">qq")
_S2INT64_BYTE: Final = Struct(">qqB")
_S2INT64_ZERO: Final = Struct(">qqx")
_S3INT32: Final = Struct(">iii")
_UINT16: Final = Struct(">H")
_UINT16_BYTE: Final = Struct(">HB")
_UINT16_ZERO: Final = Struct(">Hx")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class LegacyOffsetCommitKey(MessageValue):
    """Group key of type 0, version 0."""

    __slots__ = ("group", "topic", "partition", "unknown_tagged_fields")

    group: str
    topic: str
    partition: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.topic.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            out += _INT32.pack(self.partition)
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.topic = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (message.partition,) = _INT32.unpack_from(data, at)
            at += 4
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class LegacyOffsetCommitValue(MessageValue):
    """Group value of type 0, version 0."""

    __slots__ = ("offset", "metadata", "commit_timestamp", "unknown_tagged_fields")

    offset: int
    metadata: str
    commit_timestamp: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        offset: int = 0,
        metadata: str = "",
        commit_timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.metadata.encode()
            n = len(raw) + 1
            out += _INT64_INT16.pack(self.offset, n - 1)
            out += raw
            out += _INT64.pack(self.commit_timestamp)
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            message.offset, n = _INT64_INT16.unpack_from(data, at)
            at += 10
            if n < 0:
                raise null_refused()
            message.metadata = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (message.commit_timestamp,) = _INT64.unpack_from(data, at)
            at += 8
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class OffsetCommitKey(MessageValue):
    """Group key of type 1, version 0."""

    __slots__ = ("group", "topic", "partition", "unknown_tagged_fields")

    group: str
    topic: str
    partition: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.topic.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            out += _INT32.pack(self.partition)
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.topic = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (message.partition,) = _INT32.unpack_from(data, at)
            at += 4
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class OffsetCommitValue(MessageValue):
    """Group value of type 1, versions 0-4."""

    __slots__ = (
        "offset",
        "leader_epoch",
        "metadata",
        "commit_timestamp",
        "expire_timestamp",
        "topic_id",
        "unknown_tagged_fields",
    )

    offset: int
    leader_epoch: int  # 3+
    metadata: str
    commit_timestamp: int
    expire_timestamp: int  # 1
    topic_id: Uuid  # 4, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: Uuid = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            raw = self.metadata.encode()
            n = len(raw) + 1
            if version >= 4:
                if n < 128:
                    out += _INT64_INT32_BYTE.pack(self.offset, self.leader_epoch, n)
                else:
                    out += _INT64_INT32.pack(self.offset, self.leader_epoch)
                    write_string_length(out, n)
            elif version >= 3:
                out += _INT64_INT32_INT16.pack(self.offset, self.leader_epoch, n - 1)
            else:
                out += _INT64_INT16.pack(self.offset, n - 1)
            out += raw
            if version >= 4:
                if self.topic_id != ZERO_UUID or self.unknown_tagged_fields:
                    out += _INT64.pack(self.commit_timestamp)
                    _write_offset_commit_value_tags(out, self, version)
                else:
                    out += _INT64_ZERO.pack(self.commit_timestamp)
            elif version >= 2:
                out += _INT64.pack(self.commit_timestamp)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
            elif version >= 1:
                out += _S2INT64.pack(self.commit_timestamp, self.expire_timestamp)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
            else:
                out += _INT64.pack(self.commit_timestamp)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
                message.offset, message.leader_epoch, n = _INT64_INT32_BYTE.unpack_from(data, at)
                at += 12
                if 0 < n < 128:
                    message.metadata = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.metadata, at = read_compact_string(data, at)
            elif version >= 3:
                message.offset, message.leader_epoch, n = _INT64_INT32_INT16.unpack_from(data, at)
                at += 14
                if n < 0:
                    raise null_refused()
                message.metadata = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.offset, n = _INT64_INT16.unpack_from(data, at)
                at += 10
                message.leader_epoch = -1
                if n < 0:
                    raise null_refused()
                message.metadata = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 4:
                message.commit_timestamp, tags = _INT64_BYTE.unpack_from(data, at)
                at += 9
                message.expire_timestamp = -1
            elif version >= 2:
                (message.commit_timestamp,) = _INT64.unpack_from(data, at)
                at += 8
                message.expire_timestamp = -1
                tags = 0
            elif version >= 1:
                message.commit_timestamp, message.expire_timestamp = _S2INT64.unpack_from(data, at)
                at += 16
                tags = 0
            else:
                (message.commit_timestamp,) = _INT64.unpack_from(data, at)
                at += 8
                message.expire_timestamp = -1
                tags = 0
            message.topic_id = ZERO_UUID
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_offset_commit_value_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class GroupMetadataKey(MessageValue):
    """Group key of type 2, version 0."""

    __slots__ = ("group", "unknown_tagged_fields")

    group: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, group: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group = group
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class MemberMetadata(MessageValue):
    """In `GroupMetadataValue.members`, versions 0-4."""

    __slots__ = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
        "assignment",
        "unknown_tagged_fields",
    )

    member_id: str
    group_instance_id: str | None  # 3+
    client_id: str
    client_host: str
    rebalance_timeout: int  # 1+
    session_timeout: int
    subscription: bytes
    assignment: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment
        self.unknown_tagged_fields = unknown_tagged_fields


class GroupMetadataValue(MessageValue):
    """Group value of type 2, versions 0-4."""

    __slots__ = (
        "protocol_type",
        "generation",
        "protocol",
        "leader",
        "current_state_timestamp",
        "members",
        "unknown_tagged_fields",
    )

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int  # 2+
    members: list[MemberMetadata]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[MemberMetadata] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = [] if members is UNSET else members
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            raw = self.protocol_type.encode()
            n = len(raw) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            if self.protocol is None:
                raw = b""
                n = 0
            else:
                raw = self.protocol.encode()
                n = len(raw) + 1
            if version >= 4:
                if n < 128:
                    out += _INT32_BYTE.pack(self.generation, n)
                else:
                    out += _INT32.pack(self.generation)
                    write_string_length(out, n)
            else:
                out += _INT32_INT16.pack(self.generation, n - 1)
            out += raw
            if self.leader is None:
                raw = b""
                n = 0
            else:
                raw = self.leader.encode()
                n = len(raw) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            out += raw
            n = len(self.members) + 1
            if version >= 4:
                if n < 128:
                    out += _INT64_BYTE.pack(self.current_state_timestamp, n)
                else:
                    out += _INT64.pack(self.current_state_timestamp)
                    write_uvarint(out, n)
            elif version >= 2:
                out += _INT64_INT32.pack(self.current_state_timestamp, n - 1)
            else:
                out += _INT32.pack(n - 1)
            _write_member_metadata(out, self.members, version)
            if version >= 4:
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
        if not 0 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
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
            if version >= 4:
                message.generation, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if 0 < n < 128:
                    message.protocol = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.protocol, at = read_compact_string_or_null(data, at)
            else:
                message.generation, n = _INT32_INT16.unpack_from(data, at)
                at += 6
                if n < 0:
                    message.protocol = None
                else:
                    message.protocol = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            if version >= 4:
                n = data[at]
                if 0 < n < 128:
                    message.leader = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.leader, at = read_compact_string_or_null(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    message.leader = None
                else:
                    message.leader = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            if version >= 4:
                message.current_state_timestamp, n = _INT64_BYTE.unpack_from(data, at)
                at += 8
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 2:
                message.current_state_timestamp, n = _INT64_INT32.unpack_from(data, at)
                at += 12
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
                message.current_state_timestamp = -1
            if not 0 <= n * 15 <= limit - at:
                raise count_refused(n, limit - at)
            message.members, at = _read_member_metadata(data, at, version, n)
            if version >= 4:
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


class ConsumerGroupMetadataKey(MessageValue):
    """Group key of type 3, version 0."""

    __slots__ = ("group_id", "unknown_tagged_fields")

    group_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ConsumerGroupMetadataValue(MessageValue):
    """Group value of type 3, version 0."""

    __slots__ = ("epoch", "metadata_hash", "unknown_tagged_fields")

    epoch: int
    metadata_hash: int  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.metadata_hash or self.unknown_tagged_fields:
                out += _INT32.pack(self.epoch)
                _write_consumer_group_metadata_value_tags(out, self, version)
            else:
                out += _INT32_ZERO.pack(self.epoch)
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
            message.epoch, tags = _INT32_BYTE.unpack_from(data, at)
            at += 5
            message.metadata_hash = 0
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_consumer_group_metadata_value_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ConsumerGroupPartitionMetadataKey(MessageValue):
    """Group key of type 4, version 0."""

    __slots__ = ("group_id", "unknown_tagged_fields")

    group_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 4
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class PartitionMetadata(MessageValue):
    """In `TopicMetadata.partition_metadata`, version 0."""

    __slots__ = ("partition", "racks", "unknown_tagged_fields")

    partition: int
    racks: list[str]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition: int = 0,
        racks: list[str] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition = partition
        self.racks = [] if racks is UNSET else racks
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicMetadata(MessageValue):
    """In `ConsumerGroupPartitionMetadataValue.topics`, version 0."""

    __slots__ = (
        "topic_id", "topic_name", "num_partitions", "partition_metadata", "unknown_tagged_fields"
    )

    topic_id: Uuid
    topic_name: str
    num_partitions: int
    partition_metadata: list[PartitionMetadata]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: list[PartitionMetadata] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata = [] if partition_metadata is UNSET else partition_metadata
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerGroupPartitionMetadataValue(MessageValue):
    """Group value of type 4, version 0."""

    __slots__ = ("topics", "unknown_tagged_fields")

    topics: list[TopicMetadata]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[TopicMetadata] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 4
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_topic_metadata(out, self.topics, version)
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 23 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_topic_metadata(data, at, version, n)
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


class ConsumerGroupMemberMetadataKey(MessageValue):
    """Group key of type 5, version 0."""

    __slots__ = ("group_id", "member_id", "unknown_tagged_fields")

    group_id: str
    member_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 5
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ClassicProtocol(MessageValue):
    """In `ClassicMemberMetadata.supported_protocols`, version 0."""

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


class ClassicMemberMetadata(MessageValue):
    """In `ConsumerGroupMemberMetadataValue.classic_member_metadata`, version 0."""

    __slots__ = ("session_timeout_ms", "supported_protocols", "unknown_tagged_fields")

    session_timeout_ms: int
    supported_protocols: list[ClassicProtocol]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        session_timeout_ms: int = 0,
        supported_protocols: list[ClassicProtocol] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols = [] if supported_protocols is UNSET else supported_protocols
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerGroupMemberMetadataValue(MessageValue):
    """Group value of type 5, version 0."""

    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",
        "unknown_tagged_fields",
    )

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic_member_metadata: ClassicMemberMetadata | None  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = UNSET,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is UNSET else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata = ClassicMemberMetadata() if classic_member_metadata is UNSET else classic_member_metadata
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 5
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.instance_id is None:
                raw = b""
                n = 0
            else:
                raw = self.instance_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
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
            raw = self.client_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            raw = self.client_host.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = len(self.subscribed_topic_names) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            write_compact_strings(out, self.subscribed_topic_names)
            if self.subscribed_topic_regex is None:
                raw = b""
                n = 0
            else:
                raw = self.subscribed_topic_regex.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.server_assignor is None:
                raw = b""
                n = 0
            else:
                raw = self.server_assignor.encode()
                n = len(raw) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.rebalance_timeout_ms, n)
            else:
                out += _INT32.pack(self.rebalance_timeout_ms)
                write_string_length(out, n)
            out += raw
            if (
                self.classic_member_metadata != ClassicMemberMetadata()
                or self.unknown_tagged_fields
            ):
                _write_consumer_group_member_metadata_value_tags(out, self, version)
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
            n = data[at]
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
            n = data[at]
            if 0 < n < 128:
                message.client_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.client_id, at = read_compact_string(data, at)
            n = data[at]
            if 0 < n < 128:
                message.client_host = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.client_host, at = read_compact_string(data, at)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.subscribed_topic_names, at = read_compact_strings(data, at, n)
            n = data[at]
            if 0 < n < 128:
                message.subscribed_topic_regex = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.subscribed_topic_regex, at = read_compact_string_or_null(data, at)
            message.rebalance_timeout_ms, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if 0 < n < 128:
                message.server_assignor = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.server_assignor, at = read_compact_string_or_null(data, at)
            tags = data[at]
            at += 1
            message.classic_member_metadata = ClassicMemberMetadata()
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_consumer_group_member_metadata_value_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ConsumerGroupTargetAssignmentMetadataKey(MessageValue):
    """Group key of type 6, version 0."""

    __slots__ = ("group_id", "unknown_tagged_fields")

    group_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 6
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ConsumerGroupTargetAssignmentMetadataValue(MessageValue):
    """Group value of type 6, version 0."""

    __slots__ = ("assignment_epoch", "assignment_timestamp", "unknown_tagged_fields")

    assignment_epoch: int
    assignment_timestamp: int  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 6
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.assignment_timestamp or self.unknown_tagged_fields:
                out += _INT32.pack(self.assignment_epoch)
                _write_consumer_group_target_assignment_metadata_value_tags(out, self, version)
            else:
                out += _INT32_ZERO.pack(self.assignment_epoch)
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
            message.assignment_epoch, tags = _INT32_BYTE.unpack_from(data, at)
            at += 5
            message.assignment_timestamp = 0
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_consumer_group_target_assignment_metadata_value_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ConsumerGroupTargetAssignmentMemberKey(MessageValue):
    """Group key of type 7, version 0."""

    __slots__ = ("group_id", "member_id", "unknown_tagged_fields")

    group_id: str
    member_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 7
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class TopicPartition(MessageValue):
    """In `ConsumerGroupTargetAssignmentMemberValue.topic_partitions`, version 0."""

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


class ConsumerGroupTargetAssignmentMemberValue(MessageValue):
    """Group value of type 7, version 0."""

    __slots__ = ("topic_partitions", "unknown_tagged_fields")

    topic_partitions: list[TopicPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_partitions: list[TopicPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_partitions = [] if topic_partitions is UNSET else topic_partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 7
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.topic_partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_topic_partition(out, self.topic_partitions, version)
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.topic_partitions, at = _read_topic_partition(data, at, version, n)
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


class ConsumerGroupCurrentMemberAssignmentKey(MessageValue):
    """Group key of type 8, version 0."""

    __slots__ = ("group_id", "member_id", "unknown_tagged_fields")

    group_id: str
    member_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 8
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(MessageValue):
    """In `ConsumerGroupCurrentMemberAssignmentValue.assigned_partitions` and elsewhere, version 0."""

    __slots__ = ("topic_id", "partitions", "assignment_epochs", "unknown_tagged_fields")

    topic_id: Uuid
    partitions: list[int]
    assignment_epochs: list[int] | None  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[int] = UNSET,
        assignment_epochs: list[int] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.assignment_epochs = [] if assignment_epochs is UNSET else assignment_epochs
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerGroupCurrentMemberAssignmentValue(MessageValue):
    """Group value of type 8, version 0."""

    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
        "partitions_pending_revocation",
        "unknown_tagged_fields",
    )

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]
    partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions] = UNSET,
        partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is UNSET else assigned_partitions
        self.partitions_pending_revocation = [] if partitions_pending_revocation is UNSET else partitions_pending_revocation
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 8
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.assigned_partitions) + 1
            if n < 128:
                out += _S2INT32_INT8_BYTE.pack(
                    self.member_epoch, self.previous_member_epoch, self.state, n
                )
            else:
                out += _S2INT32_INT8.pack(self.member_epoch, self.previous_member_epoch, self.state)
                write_uvarint(out, n)
            _write_consumer_group_current_member_assignment_value_topic_partitions(out, self.assigned_partitions, version)
            n = len(self.partitions_pending_revocation) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_consumer_group_current_member_assignment_value_topic_partitions(out, self.partitions_pending_revocation, version)
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
                message.member_epoch,
                message.previous_member_epoch,
                message.state,
                n,
            ) = _S2INT32_INT8_BYTE.unpack_from(data, at)
            at += 9
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.assigned_partitions, at = _read_consumer_group_current_member_assignment_value_topic_partitions(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.partitions_pending_revocation, at = _read_consumer_group_current_member_assignment_value_topic_partitions(data, at, version, n)
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


class ShareGroupMemberMetadataKey(MessageValue):
    """Group key of type 10, version 0."""

    __slots__ = ("group_id", "member_id", "unknown_tagged_fields")

    group_id: str
    member_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 10
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ShareGroupMemberMetadataValue(MessageValue):
    """Group value of type 10, version 0."""

    __slots__ = (
        "rack_id", "client_id", "client_host", "subscribed_topic_names", "unknown_tagged_fields"
    )

    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is UNSET else subscribed_topic_names
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 10
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
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
            raw = self.client_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            raw = self.client_host.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = len(self.subscribed_topic_names) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            write_compact_strings(out, self.subscribed_topic_names)
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
            n = data[at]
            if 0 < n < 128:
                message.rack_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.rack_id, at = read_compact_string_or_null(data, at)
            n = data[at]
            if 0 < n < 128:
                message.client_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.client_id, at = read_compact_string(data, at)
            n = data[at]
            if 0 < n < 128:
                message.client_host = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.client_host, at = read_compact_string(data, at)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.subscribed_topic_names, at = read_compact_strings(data, at, n)
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


class ShareGroupMetadataKey(MessageValue):
    """Group key of type 11, version 0."""

    __slots__ = ("group_id", "unknown_tagged_fields")

    group_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 11
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ShareGroupMetadataValue(MessageValue):
    """Group value of type 11, version 0."""

    __slots__ = ("epoch", "metadata_hash", "unknown_tagged_fields")

    epoch: int
    metadata_hash: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 11
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT32_INT64.pack(self.epoch, self.metadata_hash)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_INT64_ZERO.pack(self.epoch, self.metadata_hash)
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
            message.epoch, message.metadata_hash, tags = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ShareGroupTargetAssignmentMetadataKey(MessageValue):
    """Group key of type 12, version 0."""

    __slots__ = ("group_id", "unknown_tagged_fields")

    group_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 12
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ShareGroupTargetAssignmentMetadataValue(MessageValue):
    """Group value of type 12, version 0."""

    __slots__ = ("assignment_epoch", "assignment_timestamp", "unknown_tagged_fields")

    assignment_epoch: int
    assignment_timestamp: int  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 12
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.assignment_timestamp or self.unknown_tagged_fields:
                out += _INT32.pack(self.assignment_epoch)
                _write_share_group_target_assignment_metadata_value_tags(out, self, version)
            else:
                out += _INT32_ZERO.pack(self.assignment_epoch)
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
            message.assignment_epoch, tags = _INT32_BYTE.unpack_from(data, at)
            at += 5
            message.assignment_timestamp = 0
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_share_group_target_assignment_metadata_value_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ShareGroupTargetAssignmentMemberKey(MessageValue):
    """Group key of type 13, version 0."""

    __slots__ = ("group_id", "member_id", "unknown_tagged_fields")

    group_id: str
    member_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 13
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ShareGroupTargetAssignmentMemberValue(MessageValue):
    """Group value of type 13, version 0."""

    __slots__ = ("topic_partitions", "unknown_tagged_fields")

    topic_partitions: list[TopicPartition]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_partitions: list[TopicPartition] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_partitions = [] if topic_partitions is UNSET else topic_partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 13
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.topic_partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_topic_partition(out, self.topic_partitions, version)
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.topic_partitions, at = _read_topic_partition(data, at, version, n)
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


class ShareGroupCurrentMemberAssignmentKey(MessageValue):
    """Group key of type 14, version 0."""

    __slots__ = ("group_id", "member_id", "unknown_tagged_fields")

    group_id: str
    member_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 14
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ShareGroupCurrentMemberAssignmentValueTopicPartitions(MessageValue):
    """In `ShareGroupCurrentMemberAssignmentValue.assigned_partitions`, version 0."""

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


class ShareGroupCurrentMemberAssignmentValue(MessageValue):
    """Group value of type 14, version 0."""

    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
        "unknown_tagged_fields",
    )

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[ShareGroupCurrentMemberAssignmentValueTopicPartitions]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[ShareGroupCurrentMemberAssignmentValueTopicPartitions] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is UNSET else assigned_partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 14
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.assigned_partitions) + 1
            if n < 128:
                out += _S2INT32_INT8_BYTE.pack(
                    self.member_epoch, self.previous_member_epoch, self.state, n
                )
            else:
                out += _S2INT32_INT8.pack(self.member_epoch, self.previous_member_epoch, self.state)
                write_uvarint(out, n)
            _write_share_group_current_member_assignment_value_topic_partitions(out, self.assigned_partitions, version)
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
                message.member_epoch,
                message.previous_member_epoch,
                message.state,
                n,
            ) = _S2INT32_INT8_BYTE.unpack_from(data, at)
            at += 9
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.assigned_partitions, at = _read_share_group_current_member_assignment_value_topic_partitions(data, at, version, n)
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


class ShareGroupStatePartitionMetadataKey(MessageValue):
    """Group key of type 15, version 0."""

    __slots__ = ("group_id", "unknown_tagged_fields")

    group_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 15
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class TopicPartitionsInfo(MessageValue):
    """In `ShareGroupStatePartitionMetadataValue.initializing_topics` and elsewhere, version 0."""

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


class ShareGroupStatePartitionMetadataValueTopicInfo(MessageValue):
    """In `ShareGroupStatePartitionMetadataValue.deleting_topics`, version 0."""

    __slots__ = ("topic_id", "topic_name", "unknown_tagged_fields")

    topic_id: Uuid
    topic_name: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        topic_name: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.unknown_tagged_fields = unknown_tagged_fields


class ShareGroupStatePartitionMetadataValue(MessageValue):
    """Group value of type 15, version 0."""

    __slots__ = (
        "initializing_topics", "initialized_topics", "deleting_topics", "unknown_tagged_fields"
    )

    initializing_topics: list[TopicPartitionsInfo]
    initialized_topics: list[TopicPartitionsInfo]
    deleting_topics: list[ShareGroupStatePartitionMetadataValueTopicInfo]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        initializing_topics: list[TopicPartitionsInfo] = UNSET,
        initialized_topics: list[TopicPartitionsInfo] = UNSET,
        deleting_topics: list[ShareGroupStatePartitionMetadataValueTopicInfo] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.initializing_topics = [] if initializing_topics is UNSET else initializing_topics
        self.initialized_topics = [] if initialized_topics is UNSET else initialized_topics
        self.deleting_topics = [] if deleting_topics is UNSET else deleting_topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 15
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.initializing_topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_topic_partitions_info(out, self.initializing_topics, version)
            n = len(self.initialized_topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_topic_partitions_info(out, self.initialized_topics, version)
            n = len(self.deleting_topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_share_group_state_partition_metadata_value_topic_info(out, self.deleting_topics, version)
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 19 <= limit - at:
                raise count_refused(n, limit - at)
            message.initializing_topics, at = _read_topic_partitions_info(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 19 <= limit - at:
                raise count_refused(n, limit - at)
            message.initialized_topics, at = _read_topic_partitions_info(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.deleting_topics, at = _read_share_group_state_partition_metadata_value_topic_info(data, at, version, n)
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


class ConsumerGroupRegularExpressionKey(MessageValue):
    """Group key of type 16, version 0."""

    __slots__ = ("group_id", "regular_expression", "unknown_tagged_fields")

    group_id: str
    regular_expression: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        regular_expression: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 16
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.regular_expression.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.regular_expression = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ConsumerGroupRegularExpressionValue(MessageValue):
    """Group value of type 16, version 0."""

    __slots__ = ("topics", "version", "timestamp", "unknown_tagged_fields")

    topics: list[str]
    version: int
    timestamp: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topics: list[str] = UNSET,
        version: int = 0,
        timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.version = version
        self.timestamp = timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 16
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            write_compact_strings(out, self.topics)
            if self.unknown_tagged_fields:
                out += _S2INT64.pack(self.version, self.timestamp)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _S2INT64_ZERO.pack(self.version, self.timestamp)
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.topics, at = read_compact_strings(data, at, n)
            message.version, message.timestamp, tags = _S2INT64_BYTE.unpack_from(data, at)
            at += 17
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class StreamsGroupMetadataKey(MessageValue):
    """Group key of type 17, version 0."""

    __slots__ = ("group_id", "unknown_tagged_fields")

    group_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 17
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class LastAssignmentConfig(MessageValue):
    """In `StreamsGroupMetadataValue.last_assignment_configs`, version 0."""

    __slots__ = ("key", "value", "unknown_tagged_fields")

    key: str
    value: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, key: str = "", value: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupMetadataValue(MessageValue):
    """Group value of type 17, version 0."""

    __slots__ = (
        "epoch",
        "metadata_hash",
        "validated_topology_epoch",
        "last_assignment_configs",
        "unknown_tagged_fields",
    )

    epoch: int
    metadata_hash: int
    validated_topology_epoch: int  # tag 0
    last_assignment_configs: list[LastAssignmentConfig] | None  # tag 1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: list[LastAssignmentConfig] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs = [] if last_assignment_configs is UNSET else last_assignment_configs
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 17
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if (
                self.validated_topology_epoch != -1
                or self.last_assignment_configs != []
                or self.unknown_tagged_fields
            ):
                out += _INT32_INT64.pack(self.epoch, self.metadata_hash)
                _write_streams_group_metadata_value_tags(out, self, version)
            else:
                out += _INT32_INT64_ZERO.pack(self.epoch, self.metadata_hash)
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
            message.epoch, message.metadata_hash, tags = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            message.validated_topology_epoch = -1
            message.last_assignment_configs = []
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_streams_group_metadata_value_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class StreamsGroupMemberMetadataKey(MessageValue):
    """Group key of type 19, version 0."""

    __slots__ = ("group_id", "member_id", "unknown_tagged_fields")

    group_id: str
    member_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 19
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


@dataclass(frozen=True, slots=True)
class Endpoint(MessageValue):
    """In `StreamsGroupMemberMetadataValue.user_endpoint`, version 0."""

    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_ENDPOINT: Final = Endpoint()


class KeyValue(MessageValue):
    """In `StreamsGroupMemberMetadataValue.client_tags`, version 0."""

    __slots__ = ("key", "value", "unknown_tagged_fields")

    key: str
    value: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, key: str = "", value: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupMemberMetadataValue(MessageValue):
    """Group value of type 19, version 0."""

    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "rebalance_timeout_ms",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
        "unknown_tagged_fields",
    )

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: list[KeyValue]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is UNSET else client_tags
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 19
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.instance_id is None:
                raw = b""
                n = 0
            else:
                raw = self.instance_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
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
            raw = self.client_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            raw = self.client_host.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            raw = self.process_id.encode()
            n = len(raw) + 1
            if n < 128:
                out += _S2INT32_BYTE.pack(self.rebalance_timeout_ms, self.topology_epoch, n)
            else:
                out += _S2INT32.pack(self.rebalance_timeout_ms, self.topology_epoch)
                write_string_length(out, n)
            out += raw
            n = -1 if self.user_endpoint is None else 1
            out += _INT8.pack(n)
            if self.user_endpoint is not None:
                _write_endpoint(out, (self.user_endpoint,), version)
            n = len(self.client_tags) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_key_value(out, self.client_tags, version)
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
            n = data[at]
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
            n = data[at]
            if 0 < n < 128:
                message.client_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.client_id, at = read_compact_string(data, at)
            n = data[at]
            if 0 < n < 128:
                message.client_host = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.client_host, at = read_compact_string(data, at)
            (
                message.rebalance_timeout_ms,
                message.topology_epoch,
                n,
            ) = _S2INT32_BYTE.unpack_from(data, at)
            at += 8
            if 0 < n < 128:
                message.process_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.process_id, at = read_compact_string(data, at)
            (n,) = _INT8.unpack_from(data, at)
            at += 1
            if n < 0:
                message.user_endpoint = None
            else:
                (message.user_endpoint,), at = _read_endpoint(data, at, version, 1)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.client_tags, at = _read_key_value(data, at, version, n)
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


class StreamsGroupTargetAssignmentMetadataKey(MessageValue):
    """Group key of type 20, version 0."""

    __slots__ = ("group_id", "unknown_tagged_fields")

    group_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 20
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class StreamsGroupTargetAssignmentMetadataValue(MessageValue):
    """Group value of type 20, version 0."""

    __slots__ = ("assignment_epoch", "assignment_timestamp", "unknown_tagged_fields")

    assignment_epoch: int
    assignment_timestamp: int  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 20
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.assignment_timestamp or self.unknown_tagged_fields:
                out += _INT32.pack(self.assignment_epoch)
                _write_streams_group_target_assignment_metadata_value_tags(out, self, version)
            else:
                out += _INT32_ZERO.pack(self.assignment_epoch)
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
            message.assignment_epoch, tags = _INT32_BYTE.unpack_from(data, at)
            at += 5
            message.assignment_timestamp = 0
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_streams_group_target_assignment_metadata_value_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class StreamsGroupTargetAssignmentMemberKey(MessageValue):
    """Group key of type 21, version 0."""

    __slots__ = ("group_id", "member_id", "unknown_tagged_fields")

    group_id: str
    member_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 21
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class StreamsGroupTargetAssignmentMemberValueTaskIds(MessageValue):
    """In `StreamsGroupTargetAssignmentMemberValue.active_tasks` and elsewhere, version 0."""

    __slots__ = ("subtopology_id", "partitions", "unknown_tagged_fields")

    subtopology_id: str
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupTargetAssignmentMemberValue(MessageValue):
    """Group value of type 21, version 0."""

    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks", "unknown_tagged_fields")

    active_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds]
    standby_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds]
    warmup_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        active_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = UNSET,
        standby_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = UNSET,
        warmup_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.active_tasks = [] if active_tasks is UNSET else active_tasks
        self.standby_tasks = [] if standby_tasks is UNSET else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is UNSET else warmup_tasks
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 21
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.active_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_streams_group_target_assignment_member_value_task_ids(out, self.active_tasks, version)
            n = len(self.standby_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_streams_group_target_assignment_member_value_task_ids(out, self.standby_tasks, version)
            n = len(self.warmup_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_streams_group_target_assignment_member_value_task_ids(out, self.warmup_tasks, version)
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.active_tasks, at = _read_streams_group_target_assignment_member_value_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.standby_tasks, at = _read_streams_group_target_assignment_member_value_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.warmup_tasks, at = _read_streams_group_target_assignment_member_value_task_ids(data, at, version, n)
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


class StreamsGroupCurrentMemberAssignmentKey(MessageValue):
    """Group key of type 22, version 0."""

    __slots__ = ("group_id", "member_id", "unknown_tagged_fields")

    group_id: str
    member_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 22
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            raw = self.member_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.member_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class StreamsGroupCurrentMemberAssignmentValueTaskIds(MessageValue):
    """In `StreamsGroupCurrentMemberAssignmentValue.active_tasks` and elsewhere, version 0."""

    __slots__ = ("subtopology_id", "partitions", "assignment_epochs", "unknown_tagged_fields")

    subtopology_id: str
    partitions: list[int]
    assignment_epochs: list[int] | None  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = UNSET,
        assignment_epochs: list[int] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is UNSET else partitions
        self.assignment_epochs = [] if assignment_epochs is UNSET else assignment_epochs
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupCurrentMemberAssignmentValue(MessageValue):
    """Group value of type 22, version 0."""

    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "active_tasks_pending_revocation",
        "standby_tasks_pending_revocation",
        "warmup_tasks_pending_revocation",
        "unknown_tagged_fields",
    )

    member_epoch: int
    previous_member_epoch: int
    state: int
    active_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = UNSET,
        standby_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = UNSET,
        warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = UNSET,
        active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = UNSET,
        standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = UNSET,
        warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks = [] if active_tasks is UNSET else active_tasks
        self.standby_tasks = [] if standby_tasks is UNSET else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is UNSET else warmup_tasks
        self.active_tasks_pending_revocation = [] if active_tasks_pending_revocation is UNSET else active_tasks_pending_revocation
        self.standby_tasks_pending_revocation = [] if standby_tasks_pending_revocation is UNSET else standby_tasks_pending_revocation
        self.warmup_tasks_pending_revocation = [] if warmup_tasks_pending_revocation is UNSET else warmup_tasks_pending_revocation
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 22
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.active_tasks) + 1
            if n < 128:
                out += _S2INT32_INT8_BYTE.pack(
                    self.member_epoch, self.previous_member_epoch, self.state, n
                )
            else:
                out += _S2INT32_INT8.pack(self.member_epoch, self.previous_member_epoch, self.state)
                write_uvarint(out, n)
            _write_streams_group_current_member_assignment_value_task_ids(out, self.active_tasks, version)
            n = len(self.standby_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_streams_group_current_member_assignment_value_task_ids(out, self.standby_tasks, version)
            n = len(self.warmup_tasks) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_streams_group_current_member_assignment_value_task_ids(out, self.warmup_tasks, version)
            n = len(self.active_tasks_pending_revocation) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_streams_group_current_member_assignment_value_task_ids(out, self.active_tasks_pending_revocation, version)
            n = len(self.standby_tasks_pending_revocation) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_streams_group_current_member_assignment_value_task_ids(out, self.standby_tasks_pending_revocation, version)
            n = len(self.warmup_tasks_pending_revocation) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_streams_group_current_member_assignment_value_task_ids(out, self.warmup_tasks_pending_revocation, version)
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
                message.member_epoch,
                message.previous_member_epoch,
                message.state,
                n,
            ) = _S2INT32_INT8_BYTE.unpack_from(data, at)
            at += 9
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.active_tasks, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.standby_tasks, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.warmup_tasks, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.active_tasks_pending_revocation, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.standby_tasks_pending_revocation, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.warmup_tasks_pending_revocation, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
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


class StreamsGroupTopologyKey(MessageValue):
    """Group key of type 23, version 0."""

    __slots__ = ("group_id", "unknown_tagged_fields")

    group_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 23
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if self.unknown_tagged_fields:
                raise tags_refused(version)
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
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            message.group_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class TopicConfig(MessageValue):
    """In `StreamsGroupTopologyValueTopicInfo.topic_configs`, version 0."""

    __slots__ = ("key", "value", "unknown_tagged_fields")

    key: str
    value: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, key: str = "", value: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupTopologyValueTopicInfo(MessageValue):
    """In `Subtopology.state_changelog_topics` and elsewhere, version 0."""

    __slots__ = (
        "name", "partitions", "replication_factor", "topic_configs", "unknown_tagged_fields"
    )

    name: str
    partitions: int
    replication_factor: int
    topic_configs: list[TopicConfig]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: list[TopicConfig] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = [] if topic_configs is UNSET else topic_configs
        self.unknown_tagged_fields = unknown_tagged_fields


class CopartitionGroup(MessageValue):
    """In `Subtopology.copartition_groups`, version 0."""

    __slots__ = (
        "source_topics", "source_topic_regex", "repartition_source_topics", "unknown_tagged_fields"
    )

    source_topics: list[int]
    source_topic_regex: list[int]
    repartition_source_topics: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        source_topics: list[int] = UNSET,
        source_topic_regex: list[int] = UNSET,
        repartition_source_topics: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.source_topics = [] if source_topics is UNSET else source_topics
        self.source_topic_regex = [] if source_topic_regex is UNSET else source_topic_regex
        self.repartition_source_topics = [] if repartition_source_topics is UNSET else repartition_source_topics
        self.unknown_tagged_fields = unknown_tagged_fields


class Subtopology(MessageValue):
    """In `StreamsGroupTopologyValue.subtopologies`, version 0."""

    __slots__ = (
        "subtopology_id",
        "source_topics",
        "source_topic_regex",
        "state_changelog_topics",
        "repartition_sink_topics",
        "repartition_source_topics",
        "copartition_groups",
        "unknown_tagged_fields",
    )

    subtopology_id: str
    source_topics: list[str]
    source_topic_regex: list[str]
    state_changelog_topics: list[StreamsGroupTopologyValueTopicInfo]
    repartition_sink_topics: list[str]
    repartition_source_topics: list[StreamsGroupTopologyValueTopicInfo]
    copartition_groups: list[CopartitionGroup]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] = UNSET,
        source_topic_regex: list[str] = UNSET,
        state_changelog_topics: list[StreamsGroupTopologyValueTopicInfo] = UNSET,
        repartition_sink_topics: list[str] = UNSET,
        repartition_source_topics: list[StreamsGroupTopologyValueTopicInfo] = UNSET,
        copartition_groups: list[CopartitionGroup] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is UNSET else source_topics
        self.source_topic_regex = [] if source_topic_regex is UNSET else source_topic_regex
        self.state_changelog_topics = [] if state_changelog_topics is UNSET else state_changelog_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is UNSET else repartition_sink_topics
        self.repartition_source_topics = [] if repartition_source_topics is UNSET else repartition_source_topics
        self.copartition_groups = [] if copartition_groups is UNSET else copartition_groups
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupTopologyValue(MessageValue):
    """Group value of type 23, version 0."""

    __slots__ = ("epoch", "subtopologies", "unknown_tagged_fields")

    epoch: int
    subtopologies: list[Subtopology]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: list[Subtopology] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is UNSET else subtopologies
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 23
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.subtopologies) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.epoch, n)
            else:
                out += _INT32.pack(self.epoch)
                write_uvarint(out, n)
            _write_subtopology(out, self.subtopologies, version)
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
            message.epoch, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 8 <= limit - at:
                raise count_refused(n, limit - at)
            message.subtopologies, at = _read_subtopology(data, at, version, n)
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


def _read_offset_commit_value_tags(
    item: OffsetCommitValue, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.topic_id,) = _UUID.unpack_from(data, at)
            at += 16
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_offset_commit_value_tags(
    section: bytearray, item: OffsetCommitValue, version: int
) -> None:
    known: list[TaggedField] = []
    if item.topic_id != ZERO_UUID:
        out = bytearray()
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        out += _UUID.pack(item.topic_id)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_member_metadata(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[MemberMetadata], int]:
    items: list[MemberMetadata] = []
    for _ in range(count):
        item = _new(MemberMetadata)
        if version >= 4:
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
        if version >= 4:
            n = data[at]
            if 0 < n < 128:
                item.group_instance_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.group_instance_id, at = read_compact_string_or_null(data, at)
        elif version >= 3:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                item.group_instance_id = None
            else:
                item.group_instance_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        else:
            item.group_instance_id = None
        if version >= 4:
            n = data[at]
            if 0 < n < 128:
                item.client_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.client_id, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.client_id = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 4:
            n = data[at]
            if 0 < n < 128:
                item.client_host = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.client_host, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.client_host = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 4:
            item.rebalance_timeout, item.session_timeout, n = _S2INT32_BYTE.unpack_from(data, at)
            at += 8
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        elif version >= 1:
            item.rebalance_timeout, item.session_timeout, n = _S3INT32.unpack_from(data, at)
            at += 12
        else:
            item.session_timeout, n = _S2INT32.unpack_from(data, at)
            at += 8
            item.rebalance_timeout = -1
        if n < 0:
            raise null_refused()
        item.subscription = data[at : at + n]
        at += n
        if version >= 4:
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
        item.assignment = data[at : at + n]
        at += n
        if version >= 4:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_member_metadata(out: bytearray, items: Iterable[MemberMetadata], version: int) -> None:
    for item in items:
        raw = item.member_id.encode()
        n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 3:
            if item.group_instance_id is None:
                raw = b""
                n = 0
            else:
                raw = item.group_instance_id.encode()
                n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        elif version >= 3:
            out += _INT16.pack(n - 1)
        if version >= 3:
            out += raw
        raw = item.client_id.encode()
        n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        raw = item.client_host.encode()
        n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.subscription) + 1
        if version >= 4:
            if n < 128:
                out += _S2INT32_BYTE.pack(item.rebalance_timeout, item.session_timeout, n)
            else:
                out += _S2INT32.pack(item.rebalance_timeout, item.session_timeout)
                write_uvarint(out, n)
        elif version >= 1:
            out += _S3INT32.pack(item.rebalance_timeout, item.session_timeout, n - 1)
        else:
            out += _S2INT32.pack(item.session_timeout, n - 1)
        out += item.subscription
        n = len(item.assignment) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        out += item.assignment
        if version >= 4:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_consumer_group_metadata_value_tags(
    item: ConsumerGroupMetadataValue, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.metadata_hash,) = _INT64.unpack_from(data, at)
            at += 8
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_consumer_group_metadata_value_tags(
    section: bytearray, item: ConsumerGroupMetadataValue, version: int
) -> None:
    known: list[TaggedField] = []
    if item.metadata_hash:
        out = bytearray()
        out += _INT64.pack(item.metadata_hash)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_partition_metadata(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[PartitionMetadata], int]:
    items: list[PartitionMetadata] = []
    for _ in range(count):
        item = _new(PartitionMetadata)
        item.partition, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.racks, at = read_compact_strings(data, at, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_partition_metadata(
    out: bytearray, items: Iterable[PartitionMetadata], version: int
) -> None:
    for item in items:
        n = len(item.racks) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.partition, n)
        else:
            out += _INT32.pack(item.partition)
            write_uvarint(out, n)
        write_compact_strings(out, item.racks)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topic_metadata(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicMetadata], int]:
    items: list[TopicMetadata] = []
    limit = len(data)
    for _ in range(count):
        item = _new(TopicMetadata)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        item.num_partitions, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.partition_metadata, at = _read_partition_metadata(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_metadata(out: bytearray, items: Iterable[TopicMetadata], version: int) -> None:
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
        n = len(item.partition_metadata) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.num_partitions, n)
        else:
            out += _INT32.pack(item.num_partitions)
            write_uvarint(out, n)
        _write_partition_metadata(out, item.partition_metadata, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_classic_protocol(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ClassicProtocol], int]:
    items: list[ClassicProtocol] = []
    for _ in range(count):
        item = _new(ClassicProtocol)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if n < 0:
            raise null_refused()
        item.metadata = data[at : at + n]
        at += n
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_classic_protocol(out: bytearray, items: Iterable[ClassicProtocol], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.metadata) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += item.metadata
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_classic_member_metadata(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ClassicMemberMetadata], int]:
    items: list[ClassicMemberMetadata] = []
    limit = len(data)
    for _ in range(count):
        item = _new(ClassicMemberMetadata)
        item.session_timeout_ms, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.supported_protocols, at = _read_classic_protocol(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_classic_member_metadata(
    out: bytearray, items: Iterable[ClassicMemberMetadata], version: int
) -> None:
    for item in items:
        n = len(item.supported_protocols) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.session_timeout_ms, n)
        else:
            out += _INT32.pack(item.session_timeout_ms)
            write_uvarint(out, n)
        _write_classic_protocol(out, item.supported_protocols, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_consumer_group_member_metadata_value_tags(
    item: ConsumerGroupMemberMetadataValue, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n, at = read_uvarint(data, at)
            if 0 < n <= 0x7FFFFFFF:
                (item.classic_member_metadata,), at = _read_classic_member_metadata(data, at, version, 1)
            else:
                item.classic_member_metadata = None
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_consumer_group_member_metadata_value_tags(
    section: bytearray, item: ConsumerGroupMemberMetadataValue, version: int
) -> None:
    known: list[TaggedField] = []
    if item.classic_member_metadata != ClassicMemberMetadata():
        out = bytearray()
        if item.classic_member_metadata is None:
            out.append(0)
        else:
            out.append(1)
            _write_classic_member_metadata(out, (item.classic_member_metadata,), version)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_consumer_group_target_assignment_metadata_value_tags(
    item: ConsumerGroupTargetAssignmentMetadataValue, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.assignment_timestamp,) = _INT64.unpack_from(data, at)
            at += 8
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_consumer_group_target_assignment_metadata_value_tags(
    section: bytearray, item: ConsumerGroupTargetAssignmentMetadataValue, version: int
) -> None:
    known: list[TaggedField] = []
    if item.assignment_timestamp:
        out = bytearray()
        out += _INT64.pack(item.assignment_timestamp)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_topic_partition(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicPartition], int]:
    items: list[TopicPartition] = []
    for _ in range(count):
        item = _new(TopicPartition)
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


def _write_topic_partition(out: bytearray, items: Iterable[TopicPartition], version: int) -> None:
    for item in items:
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        out += _UUID.pack(item.topic_id)
        write_compact_int32s(out, item.partitions)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_consumer_group_current_member_assignment_value_topic_partitions(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions], int]:
    items: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions] = []
    for _ in range(count):
        item = _new(ConsumerGroupCurrentMemberAssignmentValueTopicPartitions)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if 0 < n < 17:
            item.partitions = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.partitions, at = read_compact_int32s(data, at)
        tags = data[at]
        at += 1
        item.assignment_epochs = []
        item.unknown_tagged_fields = ()
        if tags:
            at = _read_consumer_group_current_member_assignment_value_topic_partitions_tags(item, data, at - 1, version)
        items.append(item)
    return items, at


def _write_consumer_group_current_member_assignment_value_topic_partitions(
    out: bytearray,
    items: Iterable[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions],
    version: int,
) -> None:
    for item in items:
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        out += _UUID.pack(item.topic_id)
        write_compact_int32s(out, item.partitions)
        if item.assignment_epochs != [] or item.unknown_tagged_fields:
            _write_consumer_group_current_member_assignment_value_topic_partitions_tags(out, item, version)
        else:
            out.append(0)


def _read_consumer_group_current_member_assignment_value_topic_partitions_tags(
    item: ConsumerGroupCurrentMemberAssignmentValueTopicPartitions,
    data: bytes,
    at: int,
    version: int,
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n = data[at]
            if 0 < n < 17:
                item.assignment_epochs = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.assignment_epochs, at = read_compact_int32s_or_null(data, at)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_consumer_group_current_member_assignment_value_topic_partitions_tags(
    section: bytearray, item: ConsumerGroupCurrentMemberAssignmentValueTopicPartitions, version: int
) -> None:
    known: list[TaggedField] = []
    if item.assignment_epochs != []:
        out = bytearray()
        if item.assignment_epochs is None:
            out.append(0)
        else:
            write_compact_int32s(out, item.assignment_epochs)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_share_group_target_assignment_metadata_value_tags(
    item: ShareGroupTargetAssignmentMetadataValue, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.assignment_timestamp,) = _INT64.unpack_from(data, at)
            at += 8
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_share_group_target_assignment_metadata_value_tags(
    section: bytearray, item: ShareGroupTargetAssignmentMetadataValue, version: int
) -> None:
    known: list[TaggedField] = []
    if item.assignment_timestamp:
        out = bytearray()
        out += _INT64.pack(item.assignment_timestamp)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_share_group_current_member_assignment_value_topic_partitions(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ShareGroupCurrentMemberAssignmentValueTopicPartitions], int]:
    items: list[ShareGroupCurrentMemberAssignmentValueTopicPartitions] = []
    for _ in range(count):
        item = _new(ShareGroupCurrentMemberAssignmentValueTopicPartitions)
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


def _write_share_group_current_member_assignment_value_topic_partitions(
    out: bytearray,
    items: Iterable[ShareGroupCurrentMemberAssignmentValueTopicPartitions],
    version: int,
) -> None:
    for item in items:
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        out += _UUID.pack(item.topic_id)
        write_compact_int32s(out, item.partitions)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topic_partitions_info(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicPartitionsInfo], int]:
    items: list[TopicPartitionsInfo] = []
    for _ in range(count):
        item = _new(TopicPartitionsInfo)
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


def _write_topic_partitions_info(
    out: bytearray, items: Iterable[TopicPartitionsInfo], version: int
) -> None:
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


def _read_share_group_state_partition_metadata_value_topic_info(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ShareGroupStatePartitionMetadataValueTopicInfo], int]:
    items: list[ShareGroupStatePartitionMetadataValueTopicInfo] = []
    for _ in range(count):
        item = _new(ShareGroupStatePartitionMetadataValueTopicInfo)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_share_group_state_partition_metadata_value_topic_info(
    out: bytearray, items: Iterable[ShareGroupStatePartitionMetadataValueTopicInfo], version: int
) -> None:
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
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_last_assignment_config(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[LastAssignmentConfig], int]:
    items: list[LastAssignmentConfig] = []
    for _ in range(count):
        item = _new(LastAssignmentConfig)
        n = data[at]
        if 0 < n < 128:
            item.key = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.key, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.value = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.value, at = read_compact_string(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_last_assignment_config(
    out: bytearray, items: Iterable[LastAssignmentConfig], version: int
) -> None:
    for item in items:
        raw = item.key.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.value.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_streams_group_metadata_value_tags(
    item: StreamsGroupMetadataValue, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.validated_topology_epoch,) = _INT32.unpack_from(data, at)
            at += 4
        elif tag == 1:
            n, at = read_length(data, at)
            limit = len(data)
            if n < 0:
                item.last_assignment_configs = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.last_assignment_configs, at = _read_last_assignment_config(data, at, version, n)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_streams_group_metadata_value_tags(
    section: bytearray, item: StreamsGroupMetadataValue, version: int
) -> None:
    known: list[TaggedField] = []
    if item.validated_topology_epoch != -1:
        out = bytearray()
        out += _INT32.pack(item.validated_topology_epoch)
        known.append(TaggedField(0, bytes(out)))
    if item.last_assignment_configs != []:
        out = bytearray()
        if item.last_assignment_configs is None:
            out.append(0)
        else:
            write_uvarint(out, len(item.last_assignment_configs) + 1)
            _write_last_assignment_config(out, item.last_assignment_configs, version)
        known.append(TaggedField(1, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_endpoint(data: bytes, at: int, version: int, count: int) -> tuple[list[Endpoint], int]:
    items: list[Endpoint] = []
    for _ in range(count):
        n = data[at]
        if 0 < n < 128:
            host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            host, at = read_compact_string(data, at)
        port, tags = _UINT16_BYTE.unpack_from(data, at)
        at += 3
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(Endpoint(host, port, unknown))
    return items, at


def _write_endpoint(out: bytearray, items: Iterable[Endpoint], version: int) -> None:
    for item in items:
        raw = item.host.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _UINT16.pack(item.port)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UINT16_ZERO.pack(item.port)


def _read_key_value(data: bytes, at: int, version: int, count: int) -> tuple[list[KeyValue], int]:
    items: list[KeyValue] = []
    for _ in range(count):
        item = _new(KeyValue)
        n = data[at]
        if 0 < n < 128:
            item.key = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.key, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.value = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.value, at = read_compact_string(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_key_value(out: bytearray, items: Iterable[KeyValue], version: int) -> None:
    for item in items:
        raw = item.key.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.value.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_streams_group_target_assignment_metadata_value_tags(
    item: StreamsGroupTargetAssignmentMetadataValue, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.assignment_timestamp,) = _INT64.unpack_from(data, at)
            at += 8
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_streams_group_target_assignment_metadata_value_tags(
    section: bytearray, item: StreamsGroupTargetAssignmentMetadataValue, version: int
) -> None:
    known: list[TaggedField] = []
    if item.assignment_timestamp:
        out = bytearray()
        out += _INT64.pack(item.assignment_timestamp)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_streams_group_target_assignment_member_value_task_ids(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[StreamsGroupTargetAssignmentMemberValueTaskIds], int]:
    items: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = []
    for _ in range(count):
        item = _new(StreamsGroupTargetAssignmentMemberValueTaskIds)
        n = data[at]
        if 0 < n < 128:
            item.subtopology_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.subtopology_id, at = read_compact_string(data, at)
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


def _write_streams_group_target_assignment_member_value_task_ids(
    out: bytearray, items: Iterable[StreamsGroupTargetAssignmentMemberValueTaskIds], version: int
) -> None:
    for item in items:
        raw = item.subtopology_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        write_compact_int32s(out, item.partitions)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_streams_group_current_member_assignment_value_task_ids(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[StreamsGroupCurrentMemberAssignmentValueTaskIds], int]:
    items: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = []
    for _ in range(count):
        item = _new(StreamsGroupCurrentMemberAssignmentValueTaskIds)
        n = data[at]
        if 0 < n < 128:
            item.subtopology_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.subtopology_id, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 17:
            item.partitions = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.partitions, at = read_compact_int32s(data, at)
        tags = data[at]
        at += 1
        item.assignment_epochs = []
        item.unknown_tagged_fields = ()
        if tags:
            at = _read_streams_group_current_member_assignment_value_task_ids_tags(item, data, at - 1, version)
        items.append(item)
    return items, at


def _write_streams_group_current_member_assignment_value_task_ids(
    out: bytearray, items: Iterable[StreamsGroupCurrentMemberAssignmentValueTaskIds], version: int
) -> None:
    for item in items:
        raw = item.subtopology_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        write_compact_int32s(out, item.partitions)
        if item.assignment_epochs != [] or item.unknown_tagged_fields:
            _write_streams_group_current_member_assignment_value_task_ids_tags(out, item, version)
        else:
            out.append(0)


def _read_streams_group_current_member_assignment_value_task_ids_tags(
    item: StreamsGroupCurrentMemberAssignmentValueTaskIds, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n = data[at]
            if 0 < n < 17:
                item.assignment_epochs = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.assignment_epochs, at = read_compact_int32s_or_null(data, at)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_streams_group_current_member_assignment_value_task_ids_tags(
    section: bytearray, item: StreamsGroupCurrentMemberAssignmentValueTaskIds, version: int
) -> None:
    known: list[TaggedField] = []
    if item.assignment_epochs != []:
        out = bytearray()
        if item.assignment_epochs is None:
            out.append(0)
        else:
            write_compact_int32s(out, item.assignment_epochs)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_topic_config(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TopicConfig], int]:
    items: list[TopicConfig] = []
    for _ in range(count):
        item = _new(TopicConfig)
        n = data[at]
        if 0 < n < 128:
            item.key = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.key, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.value = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.value, at = read_compact_string(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_config(out: bytearray, items: Iterable[TopicConfig], version: int) -> None:
    for item in items:
        raw = item.key.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.value.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_streams_group_topology_value_topic_info(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[StreamsGroupTopologyValueTopicInfo], int]:
    items: list[StreamsGroupTopologyValueTopicInfo] = []
    limit = len(data)
    for _ in range(count):
        item = _new(StreamsGroupTopologyValueTopicInfo)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        item.partitions, item.replication_factor, n = _INT32_INT16_BYTE.unpack_from(data, at)
        at += 6
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topic_configs, at = _read_topic_config(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_streams_group_topology_value_topic_info(
    out: bytearray, items: Iterable[StreamsGroupTopologyValueTopicInfo], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.topic_configs) + 1
        if n < 128:
            out += _INT32_INT16_BYTE.pack(item.partitions, item.replication_factor, n)
        else:
            out += _INT32_INT16.pack(item.partitions, item.replication_factor)
            write_uvarint(out, n)
        _write_topic_config(out, item.topic_configs, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_copartition_group(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CopartitionGroup], int]:
    items: list[CopartitionGroup] = []
    for _ in range(count):
        item = _new(CopartitionGroup)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.source_topics, at = read_integers(data, at, n, "h", 2)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.source_topic_regex, at = read_integers(data, at, n, "h", 2)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.repartition_source_topics, at = read_integers(data, at, n, "h", 2)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_copartition_group(
    out: bytearray, items: Iterable[CopartitionGroup], version: int
) -> None:
    for item in items:
        n = len(item.source_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_integers(out, item.source_topics, "h")
        n = len(item.source_topic_regex) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_integers(out, item.source_topic_regex, "h")
        n = len(item.repartition_source_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_integers(out, item.repartition_source_topics, "h")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_subtopology(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[Subtopology], int]:
    items: list[Subtopology] = []
    limit = len(data)
    for _ in range(count):
        item = _new(Subtopology)
        n = data[at]
        if 0 < n < 128:
            item.subtopology_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.subtopology_id, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.source_topics, at = read_compact_strings(data, at, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.source_topic_regex, at = read_compact_strings(data, at, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.state_changelog_topics, at = _read_streams_group_topology_value_topic_info(data, at, version, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        item.repartition_sink_topics, at = read_compact_strings(data, at, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.repartition_source_topics, at = _read_streams_group_topology_value_topic_info(data, at, version, n)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 4 <= limit - at:
            raise count_refused(n, limit - at)
        item.copartition_groups, at = _read_copartition_group(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_subtopology(out: bytearray, items: Iterable[Subtopology], version: int) -> None:
    for item in items:
        raw = item.subtopology_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.source_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_compact_strings(out, item.source_topics)
        n = len(item.source_topic_regex) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_compact_strings(out, item.source_topic_regex)
        n = len(item.state_changelog_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_streams_group_topology_value_topic_info(out, item.state_changelog_topics, version)
        n = len(item.repartition_sink_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        write_compact_strings(out, item.repartition_sink_topics)
        n = len(item.repartition_source_topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_streams_group_topology_value_topic_info(out, item.repartition_source_topics, version)
        n = len(item.copartition_groups) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_copartition_group(out, item.copartition_groups, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

GroupKey = (
    LegacyOffsetCommitKey
    | OffsetCommitKey
    | GroupMetadataKey
    | ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ShareGroupMemberMetadataKey
    | ShareGroupMetadataKey
    | ShareGroupTargetAssignmentMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupCurrentMemberAssignmentKey
    | ShareGroupStatePartitionMetadataKey
    | ConsumerGroupRegularExpressionKey
    | StreamsGroupMetadataKey
    | StreamsGroupMemberMetadataKey
    | StreamsGroupTargetAssignmentMetadataKey
    | StreamsGroupTargetAssignmentMemberKey
    | StreamsGroupCurrentMemberAssignmentKey
    | StreamsGroupTopologyKey
)

GROUP_KEYS: Final[dict[int, type[GroupKey]]] = {
    0: LegacyOffsetCommitKey,
    1: OffsetCommitKey,
    2: GroupMetadataKey,
    3: ConsumerGroupMetadataKey,
    4: ConsumerGroupPartitionMetadataKey,
    5: ConsumerGroupMemberMetadataKey,
    6: ConsumerGroupTargetAssignmentMetadataKey,
    7: ConsumerGroupTargetAssignmentMemberKey,
    8: ConsumerGroupCurrentMemberAssignmentKey,
    10: ShareGroupMemberMetadataKey,
    11: ShareGroupMetadataKey,
    12: ShareGroupTargetAssignmentMetadataKey,
    13: ShareGroupTargetAssignmentMemberKey,
    14: ShareGroupCurrentMemberAssignmentKey,
    15: ShareGroupStatePartitionMetadataKey,
    16: ConsumerGroupRegularExpressionKey,
    17: StreamsGroupMetadataKey,
    19: StreamsGroupMemberMetadataKey,
    20: StreamsGroupTargetAssignmentMetadataKey,
    21: StreamsGroupTargetAssignmentMemberKey,
    22: StreamsGroupCurrentMemberAssignmentKey,
    23: StreamsGroupTopologyKey,
}

GroupValue = (
    LegacyOffsetCommitValue
    | OffsetCommitValue
    | GroupMetadataValue
    | ConsumerGroupMetadataValue
    | ConsumerGroupPartitionMetadataValue
    | ConsumerGroupMemberMetadataValue
    | ConsumerGroupTargetAssignmentMetadataValue
    | ConsumerGroupTargetAssignmentMemberValue
    | ConsumerGroupCurrentMemberAssignmentValue
    | ShareGroupMemberMetadataValue
    | ShareGroupMetadataValue
    | ShareGroupTargetAssignmentMetadataValue
    | ShareGroupTargetAssignmentMemberValue
    | ShareGroupCurrentMemberAssignmentValue
    | ShareGroupStatePartitionMetadataValue
    | ConsumerGroupRegularExpressionValue
    | StreamsGroupMetadataValue
    | StreamsGroupMemberMetadataValue
    | StreamsGroupTargetAssignmentMetadataValue
    | StreamsGroupTargetAssignmentMemberValue
    | StreamsGroupCurrentMemberAssignmentValue
    | StreamsGroupTopologyValue
)

GROUP_VALUES: Final[dict[int, type[GroupValue]]] = {
    0: LegacyOffsetCommitValue,
    1: OffsetCommitValue,
    2: GroupMetadataValue,
    3: ConsumerGroupMetadataValue,
    4: ConsumerGroupPartitionMetadataValue,
    5: ConsumerGroupMemberMetadataValue,
    6: ConsumerGroupTargetAssignmentMetadataValue,
    7: ConsumerGroupTargetAssignmentMemberValue,
    8: ConsumerGroupCurrentMemberAssignmentValue,
    10: ShareGroupMemberMetadataValue,
    11: ShareGroupMetadataValue,
    12: ShareGroupTargetAssignmentMetadataValue,
    13: ShareGroupTargetAssignmentMemberValue,
    14: ShareGroupCurrentMemberAssignmentValue,
    15: ShareGroupStatePartitionMetadataValue,
    16: ConsumerGroupRegularExpressionValue,
    17: StreamsGroupMetadataValue,
    19: StreamsGroupMemberMetadataValue,
    20: StreamsGroupTargetAssignmentMetadataValue,
    21: StreamsGroupTargetAssignmentMemberValue,
    22: StreamsGroupCurrentMemberAssignmentValue,
    23: StreamsGroupTopologyValue,
}

SCHEMA: Final = """\
group-key LegacyOffsetCommitKey key=0 versions=0
  group      string
  topic      string
  partition  int32

group-value LegacyOffsetCommitValue key=0 versions=0
  offset           int64
  metadata         string
  commitTimestamp  int64

group-key OffsetCommitKey key=1 versions=0
  group      string
  topic      string
  partition  int32

group-value OffsetCommitValue key=1 versions=0-4 flexible=4+
  offset           int64
  leaderEpoch      int32   3+ default=-1 ignorable
  metadata         string
  commitTimestamp  int64
  expireTimestamp  int64   1 default=-1 ignorable
  topicId          uuid    4 tag=0 ignorable

group-key GroupMetadataKey key=2 versions=0
  group  string

group-value GroupMetadataValue key=2 versions=0-4 flexible=4+
  protocolType           string
  generation             int32
  protocol               string            nullable
  leader                 string            nullable
  currentStateTimestamp  int64             2+ default=-1 ignorable
  members                []MemberMetadata
    memberId             string
    groupInstanceId      string            3+ nullable default=null ignorable
    clientId             string
    clientHost           string
    rebalanceTimeout     int32             1+ default=-1 ignorable
    sessionTimeout       int32
    subscription         bytes
    assignment           bytes

group-key ConsumerGroupMetadataKey key=3 versions=0
  groupId  string

group-value ConsumerGroupMetadataValue key=3 versions=0 flexible=0+
  epoch         int32
  metadataHash  int64  tag=0

group-key ConsumerGroupPartitionMetadataKey key=4 versions=0
  groupId  string

group-value ConsumerGroupPartitionMetadataValue key=4 versions=0 flexible=0+
  topics               []TopicMetadata
    topicId            uuid
    topicName          string
    numPartitions      int32
    partitionMetadata  []PartitionMetadata
      partition        int32
      racks            []string

group-key ConsumerGroupMemberMetadataKey key=5 versions=0
  groupId   string
  memberId  string

group-value ConsumerGroupMemberMetadataValue key=5 versions=0 flexible=0+
  instanceId             string                 nullable
  rackId                 string                 nullable
  clientId               string
  clientHost             string
  subscribedTopicNames   []string
  subscribedTopicRegex   string                 nullable
  rebalanceTimeoutMs     int32                  default=-1
  serverAssignor         string                 nullable
  classicMemberMetadata  ClassicMemberMetadata  nullable tag=0
    sessionTimeoutMs     int32
    supportedProtocols   []ClassicProtocol
      name               string
      metadata           bytes

group-key ConsumerGroupTargetAssignmentMetadataKey key=6 versions=0
  groupId  string

group-value ConsumerGroupTargetAssignmentMetadataValue key=6 versions=0 flexible=0+
  assignmentEpoch      int32
  assignmentTimestamp  int64  tag=0

group-key ConsumerGroupTargetAssignmentMemberKey key=7 versions=0
  groupId   string
  memberId  string

group-value ConsumerGroupTargetAssignmentMemberValue key=7 versions=0 flexible=0+
  topicPartitions  []TopicPartition
    topicId        uuid
    partitions     []int32

group-key ConsumerGroupCurrentMemberAssignmentKey key=8 versions=0
  groupId   string
  memberId  string

group-value ConsumerGroupCurrentMemberAssignmentValue key=8 versions=0 flexible=0+
  memberEpoch                  int32
  previousMemberEpoch          int32
  state                        int8
  assignedPartitions           []TopicPartitions
    topicId                    uuid
    partitions                 []int32
    assignmentEpochs           []int32            nullable tag=0
  partitionsPendingRevocation  []TopicPartitions

group-key ShareGroupMemberMetadataKey key=10 versions=0
  groupId   string
  memberId  string

group-value ShareGroupMemberMetadataValue key=10 versions=0 flexible=0+
  rackId                string    nullable
  clientId              string
  clientHost            string
  subscribedTopicNames  []string

group-key ShareGroupMetadataKey key=11 versions=0
  groupId  string

group-value ShareGroupMetadataValue key=11 versions=0 flexible=0+
  epoch         int32
  metadataHash  int64

group-key ShareGroupTargetAssignmentMetadataKey key=12 versions=0
  groupId  string

group-value ShareGroupTargetAssignmentMetadataValue key=12 versions=0 flexible=0+
  assignmentEpoch      int32
  assignmentTimestamp  int64  tag=0

group-key ShareGroupTargetAssignmentMemberKey key=13 versions=0
  groupId   string
  memberId  string

group-value ShareGroupTargetAssignmentMemberValue key=13 versions=0 flexible=0+
  topicPartitions  []TopicPartition
    topicId        uuid
    partitions     []int32

group-key ShareGroupCurrentMemberAssignmentKey key=14 versions=0
  groupId   string
  memberId  string

group-value ShareGroupCurrentMemberAssignmentValue key=14 versions=0 flexible=0+
  memberEpoch          int32
  previousMemberEpoch  int32
  state                int8
  assignedPartitions   []TopicPartitions
    topicId            uuid
    partitions         []int32

group-key ShareGroupStatePartitionMetadataKey key=15 versions=0
  groupId  string

group-value ShareGroupStatePartitionMetadataValue key=15 versions=0 flexible=0+
  initializingTopics  []TopicPartitionsInfo
    topicId           uuid
    topicName         string
    partitions        []int32
  initializedTopics   []TopicPartitionsInfo
  deletingTopics      []TopicInfo
    topicId           uuid
    topicName         string

group-key ConsumerGroupRegularExpressionKey key=16 versions=0
  groupId            string
  regularExpression  string

group-value ConsumerGroupRegularExpressionValue key=16 versions=0 flexible=0+
  topics     []string
  version    int64
  timestamp  int64

group-key StreamsGroupMetadataKey key=17 versions=0
  groupId  string

group-value StreamsGroupMetadataValue key=17 versions=0 flexible=0+
  epoch                   int32
  metadataHash            int64
  validatedTopologyEpoch  int32                   tag=0 default=-1
  lastAssignmentConfigs   []LastAssignmentConfig  nullable tag=1
    key                   string
    value                 string

group-key StreamsGroupMemberMetadataKey key=19 versions=0
  groupId   string
  memberId  string

group-value StreamsGroupMemberMetadataValue key=19 versions=0 flexible=0+
  instanceId          string      nullable
  rackId              string      nullable
  clientId            string
  clientHost          string
  rebalanceTimeoutMs  int32       default=-1
  topologyEpoch       int32
  processId           string
  userEndpoint        Endpoint    nullable default=null
    host              string
    port              uint16
  clientTags          []KeyValue
    key               string
    value             string

group-key StreamsGroupTargetAssignmentMetadataKey key=20 versions=0
  groupId  string

group-value StreamsGroupTargetAssignmentMetadataValue key=20 versions=0 flexible=0+
  assignmentEpoch      int32
  assignmentTimestamp  int64  tag=0

group-key StreamsGroupTargetAssignmentMemberKey key=21 versions=0
  groupId   string
  memberId  string

group-value StreamsGroupTargetAssignmentMemberValue key=21 versions=0 flexible=0+
  activeTasks      []TaskIds
    subtopologyId  string
    partitions     []int32
  standbyTasks     []TaskIds
  warmupTasks      []TaskIds

group-key StreamsGroupCurrentMemberAssignmentKey key=22 versions=0
  groupId   string
  memberId  string

group-value StreamsGroupCurrentMemberAssignmentValue key=22 versions=0 flexible=0+
  memberEpoch                    int32
  previousMemberEpoch            int32
  state                          int8
  activeTasks                    []TaskIds
    subtopologyId                string
    partitions                   []int32
    assignmentEpochs             []int32    nullable tag=0
  standbyTasks                   []TaskIds
  warmupTasks                    []TaskIds
  activeTasksPendingRevocation   []TaskIds
  standbyTasksPendingRevocation  []TaskIds
  warmupTasksPendingRevocation   []TaskIds

group-key StreamsGroupTopologyKey key=23 versions=0
  groupId  string

group-value StreamsGroupTopologyValue key=23 versions=0 flexible=0+
  epoch                        int32
  subtopologies                []Subtopology
    subtopologyId              string
    sourceTopics               []string
    sourceTopicRegex           []string
    stateChangelogTopics       []TopicInfo
      name                     string
      partitions               int32
      replicationFactor        int16
      topicConfigs             []TopicConfig
        key                    string
        value                  string
    repartitionSinkTopics      []string
    repartitionSourceTopics    []TopicInfo
    copartitionGroups          []CopartitionGroup
      sourceTopics             []int16
      sourceTopicRegex         []int16
      repartitionSourceTopics  []int16
"""
