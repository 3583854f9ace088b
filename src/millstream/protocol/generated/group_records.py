"""group messages: LegacyOffsetCommitKey to StreamsGroupTopologyValue.

Written by `make codegen` from codegen/schemas/group_records.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_compact_strings, read_integers, read_length, read_string_length, read_strings, read_uvarint
from millstream.protocol.tagged_fields import TaggedField, read_tag_count, read_unknown_field, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_2INT32_BYTE: Final = Struct(">iiB")
_S_2INT32_INT8: Final = Struct(">iib")
_S_2INT32_INT8_BYTE: Final = Struct(">iibB")
_S_2INT64: Final = Struct(">qq")
_S_2INT64_BYTE: Final = Struct(">qqB")
_S_3INT32: Final = Struct(">iii")
_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_BYTE: Final = Struct(">iqB")
_S_INT64: Final = Struct(">q")
_S_INT64_BYTE: Final = Struct(">qB")
_S_INT64_INT16: Final = Struct(">qh")
_S_INT64_INT32: Final = Struct(">qi")
_S_INT64_INT32_BYTE: Final = Struct(">qiB")
_S_INT64_INT32_INT16: Final = Struct(">qih")
_S_INT8: Final = Struct(">b")
_S_UINT16: Final = Struct(">H")
_S_UINT16_BYTE: Final = Struct(">HB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class LegacyOffsetCommitKey:
    group: str = ""
    topic: str = ""
    partition: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group)
            write_string(out, item.topic)
            out += _S_INT32.pack(item.partition)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.topic = data[at - n : at].decode("utf-8", LENIENT)
            (item.partition,) = _S_INT32.unpack_from(data, at)
            at += 4
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class LegacyOffsetCommitValue:
    offset: int = 0
    metadata: str = ""
    commit_timestamp: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT64.pack(item.offset)
            write_string(out, item.metadata)
            out += _S_INT64.pack(item.commit_timestamp)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.offset, n = _S_INT64_INT16.unpack_from(data, at)
            at += 10
            if n < 0:
                raise null_refused()
            at += n
            item.metadata = data[at - n : at].decode("utf-8", LENIENT)
            (item.commit_timestamp,) = _S_INT64.unpack_from(data, at)
            at += 8
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class OffsetCommitKey:
    group: str = ""
    topic: str = ""
    partition: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group)
            write_string(out, item.topic)
            out += _S_INT32.pack(item.partition)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.topic = data[at - n : at].decode("utf-8", LENIENT)
            (item.partition,) = _S_INT32.unpack_from(data, at)
            at += 4
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class OffsetCommitValue:
    offset: int = 0
    leader_epoch: int = -1  # 3+
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int = -1  # 1
    topic_id: Uuid = ZERO_UUID  # 4, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                out += _S_INT64_INT32.pack(item.offset, item.leader_epoch)
            else:
                out += _S_INT64.pack(item.offset)
            if version >= 4:
                write_compact_string(out, item.metadata)
            else:
                write_string(out, item.metadata)
            if version >= 2:
                out += _S_INT64.pack(item.commit_timestamp)
            elif version >= 1:
                out += _S_2INT64.pack(item.commit_timestamp, item.expire_timestamp)
            else:
                out += _S_INT64.pack(item.commit_timestamp)
            if item.topic_id != ZERO_UUID or item.unknown_tagged_fields:
                _write_offset_commit_value_tags(out, item, version)
            elif version >= 4:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
                item.offset, item.leader_epoch, n = _S_INT64_INT32_BYTE.unpack_from(data, at)
                at += 13
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 3:
                item.offset, item.leader_epoch, n = _S_INT64_INT32_INT16.unpack_from(data, at)
                at += 14
            else:
                item.offset, n = _S_INT64_INT16.unpack_from(data, at)
                at += 10
                item.leader_epoch = -1
            if n < 0:
                raise null_refused()
            at += n
            item.metadata = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 4:
                item.commit_timestamp, tags = _S_INT64_BYTE.unpack_from(data, at)
                at += 9
                item.expire_timestamp = -1
            elif version >= 2:
                (item.commit_timestamp,) = _S_INT64.unpack_from(data, at)
                at += 8
                tags = 0
                item.expire_timestamp = -1
            elif version >= 1:
                item.commit_timestamp, item.expire_timestamp = _S_2INT64.unpack_from(data, at)
                at += 16
                tags = 0
            else:
                (item.commit_timestamp,) = _S_INT64.unpack_from(data, at)
                at += 8
                tags = 0
                item.expire_timestamp = -1
            item.topic_id = ZERO_UUID
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_offset_commit_value_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class GroupMetadataKey:
    group: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class MemberMetadata:
    member_id: str = ""
    group_instance_id: str | None = None  # 3+
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: int = -1  # 1+
    session_timeout: int = 0
    subscription: bytes = b""
    assignment: bytes = b""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class GroupMetadataValue:
    protocol_type: str = ""
    generation: int = 0
    protocol: str | None = ""
    leader: str | None = ""
    current_state_timestamp: int = -1  # 2+
    members: list[MemberMetadata] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 4:
                write_compact_string(out, item.protocol_type)
            else:
                write_string(out, item.protocol_type)
            out += _S_INT32.pack(item.generation)
            if item.protocol is None:
                if version >= 4:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 4:
                    write_compact_string(out, item.protocol)
                else:
                    write_string(out, item.protocol)
            if item.leader is None:
                if version >= 4:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 4:
                    write_compact_string(out, item.leader)
                else:
                    write_string(out, item.leader)
            if version >= 2:
                out += _S_INT64.pack(item.current_state_timestamp)
            else:
                pass
            if version >= 4:
                write_length(out, len(item.members))
            else:
                out += _S_INT32.pack(len(item.members))
            _write_member_metadata(out, item.members, version)
            if item.unknown_tagged_fields:
                if version < 4:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 4:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
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
            if version >= 4:
                item.generation, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.generation, n = _S_INT32_INT16.unpack_from(data, at)
                at += 6
            if n < 0:
                item.protocol = None
            else:
                at += n
                item.protocol = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 4:
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
                item.leader = None
            else:
                at += n
                item.leader = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 4:
                item.current_state_timestamp, n = _S_INT64_BYTE.unpack_from(data, at)
                at += 9
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 2:
                item.current_state_timestamp, n = _S_INT64_INT32.unpack_from(data, at)
                at += 12
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.current_state_timestamp = -1
            if not 0 <= n * 15 <= limit - at:
                raise count_refused(n, limit - at)
            item.members, at = _read_member_metadata(data, at, version, n)
            if version >= 4:
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
class ConsumerGroupMetadataKey:
    group_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ConsumerGroupMetadataValue:
    epoch: int = 0
    metadata_hash: int = 0  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.epoch)
            if item.metadata_hash or item.unknown_tagged_fields:
                _write_consumer_group_metadata_value_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.epoch, tags = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            item.metadata_hash = 0
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_consumer_group_metadata_value_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ConsumerGroupPartitionMetadataKey:
    group_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 4
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class PartitionMetadata:
    partition: int = 0
    racks: list[str] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TopicMetadata:
    topic_id: Uuid = ZERO_UUID
    topic_name: str = ""
    num_partitions: int = 0
    partition_metadata: list[PartitionMetadata] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ConsumerGroupPartitionMetadataValue:
    topics: list[TopicMetadata] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 4
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.topics))
            _write_topic_metadata(out, item.topics, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
            if not 0 <= n * 23 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_topic_metadata(data, at, version, n)
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
class ConsumerGroupMemberMetadataKey:
    group_id: str = ""
    member_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 5
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            write_string(out, item.member_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ClassicProtocol:
    name: str = ""
    metadata: bytes = b""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ClassicMemberMetadata:
    session_timeout_ms: int = 0
    supported_protocols: list[ClassicProtocol] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ConsumerGroupMemberMetadataValue:
    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = field(default_factory=list)
    subscribed_topic_regex: str | None = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = ""
    classic_member_metadata: ClassicMemberMetadata | None = field(default_factory=ClassicMemberMetadata)  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 5
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            if item.instance_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.instance_id)
            if item.rack_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.rack_id)
            write_compact_string(out, item.client_id)
            write_compact_string(out, item.client_host)
            write_length(out, len(item.subscribed_topic_names))
            for text in item.subscribed_topic_names:
                write_compact_string(out, text)
            if item.subscribed_topic_regex is None:
                out.append(0)
            else:
                write_compact_string(out, item.subscribed_topic_regex)
            out += _S_INT32.pack(item.rebalance_timeout_ms)
            if item.server_assignor is None:
                out.append(0)
            else:
                write_compact_string(out, item.server_assignor)
            if item.classic_member_metadata != ClassicMemberMetadata() or item.unknown_tagged_fields:
                _write_consumer_group_member_metadata_value_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
                item.instance_id = None
            else:
                at += n
                item.instance_id = data[at - n : at].decode("utf-8", LENIENT)
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
            n = data[at]
            at += 1
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
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.subscribed_topic_regex = None
            else:
                at += n
                item.subscribed_topic_regex = data[at - n : at].decode("utf-8", LENIENT)
            item.rebalance_timeout_ms, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.server_assignor = None
            else:
                at += n
                item.server_assignor = data[at - n : at].decode("utf-8", LENIENT)
            tags = data[at]
            at += 1
            item.classic_member_metadata = ClassicMemberMetadata()
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_consumer_group_member_metadata_value_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ConsumerGroupTargetAssignmentMetadataKey:
    group_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 6
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ConsumerGroupTargetAssignmentMetadataValue:
    assignment_epoch: int = 0
    assignment_timestamp: int = 0  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 6
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.assignment_epoch)
            if item.assignment_timestamp or item.unknown_tagged_fields:
                _write_consumer_group_target_assignment_metadata_value_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.assignment_epoch, tags = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            item.assignment_timestamp = 0
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_consumer_group_target_assignment_metadata_value_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ConsumerGroupTargetAssignmentMemberKey:
    group_id: str = ""
    member_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 7
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            write_string(out, item.member_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class TopicPartition:
    topic_id: Uuid = ZERO_UUID
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ConsumerGroupTargetAssignmentMemberValue:
    topic_partitions: list[TopicPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 7
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.topic_partitions))
            _write_topic_partition(out, item.topic_partitions, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.topic_partitions, at = _read_topic_partition(data, at, version, n)
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
class ConsumerGroupCurrentMemberAssignmentKey:
    group_id: str = ""
    member_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 8
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            write_string(out, item.member_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ConsumerGroupCurrentMemberAssignmentValueTopicPartitions:
    topic_id: Uuid = ZERO_UUID
    partitions: list[int] = field(default_factory=list)
    assignment_epochs: list[int] | None = field(default_factory=list)  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ConsumerGroupCurrentMemberAssignmentValue:
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions] = field(default_factory=list)
    partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 8
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_2INT32_INT8.pack(item.member_epoch, item.previous_member_epoch, item.state)
            write_length(out, len(item.assigned_partitions))
            _write_consumer_group_current_member_assignment_value_topic_partitions(out, item.assigned_partitions, version)
            write_length(out, len(item.partitions_pending_revocation))
            _write_consumer_group_current_member_assignment_value_topic_partitions(out, item.partitions_pending_revocation, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.member_epoch, item.previous_member_epoch, item.state, n = _S_2INT32_INT8_BYTE.unpack_from(data, at)
            at += 10
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.assigned_partitions, at = _read_consumer_group_current_member_assignment_value_topic_partitions(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.partitions_pending_revocation, at = _read_consumer_group_current_member_assignment_value_topic_partitions(data, at, version, n)
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
class ShareGroupMemberMetadataKey:
    group_id: str = ""
    member_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 10
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            write_string(out, item.member_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ShareGroupMemberMetadataValue:
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 10
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            if item.rack_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.rack_id)
            write_compact_string(out, item.client_id)
            write_compact_string(out, item.client_host)
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
        if version != 0:
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
                item.rack_id = None
            else:
                at += n
                item.rack_id = data[at - n : at].decode("utf-8", LENIENT)
            n = data[at]
            at += 1
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
class ShareGroupMetadataKey:
    group_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 11
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ShareGroupMetadataValue:
    epoch: int = 0
    metadata_hash: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 11
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT64.pack(item.epoch, item.metadata_hash)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.epoch, item.metadata_hash, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ShareGroupTargetAssignmentMetadataKey:
    group_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 12
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ShareGroupTargetAssignmentMetadataValue:
    assignment_epoch: int = 0
    assignment_timestamp: int = 0  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 12
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.assignment_epoch)
            if item.assignment_timestamp or item.unknown_tagged_fields:
                _write_share_group_target_assignment_metadata_value_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.assignment_epoch, tags = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            item.assignment_timestamp = 0
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_share_group_target_assignment_metadata_value_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ShareGroupTargetAssignmentMemberKey:
    group_id: str = ""
    member_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 13
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            write_string(out, item.member_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ShareGroupTargetAssignmentMemberValue:
    topic_partitions: list[TopicPartition] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 13
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.topic_partitions))
            _write_topic_partition(out, item.topic_partitions, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.topic_partitions, at = _read_topic_partition(data, at, version, n)
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
class ShareGroupCurrentMemberAssignmentKey:
    group_id: str = ""
    member_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 14
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            write_string(out, item.member_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ShareGroupCurrentMemberAssignmentValueTopicPartitions:
    topic_id: Uuid = ZERO_UUID
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ShareGroupCurrentMemberAssignmentValue:
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[ShareGroupCurrentMemberAssignmentValueTopicPartitions] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 14
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_2INT32_INT8.pack(item.member_epoch, item.previous_member_epoch, item.state)
            write_length(out, len(item.assigned_partitions))
            _write_share_group_current_member_assignment_value_topic_partitions(out, item.assigned_partitions, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.member_epoch, item.previous_member_epoch, item.state, n = _S_2INT32_INT8_BYTE.unpack_from(data, at)
            at += 10
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.assigned_partitions, at = _read_share_group_current_member_assignment_value_topic_partitions(data, at, version, n)
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
class ShareGroupStatePartitionMetadataKey:
    group_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 15
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class TopicPartitionsInfo:
    topic_id: Uuid = ZERO_UUID
    topic_name: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ShareGroupStatePartitionMetadataValueTopicInfo:
    topic_id: Uuid = ZERO_UUID
    topic_name: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ShareGroupStatePartitionMetadataValue:
    initializing_topics: list[TopicPartitionsInfo] = field(default_factory=list)
    initialized_topics: list[TopicPartitionsInfo] = field(default_factory=list)
    deleting_topics: list[ShareGroupStatePartitionMetadataValueTopicInfo] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 15
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.initializing_topics))
            _write_topic_partitions_info(out, item.initializing_topics, version)
            write_length(out, len(item.initialized_topics))
            _write_topic_partitions_info(out, item.initialized_topics, version)
            write_length(out, len(item.deleting_topics))
            _write_share_group_state_partition_metadata_value_topic_info(out, item.deleting_topics, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
            if not 0 <= n * 19 <= limit - at:
                raise count_refused(n, limit - at)
            item.initializing_topics, at = _read_topic_partitions_info(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 19 <= limit - at:
                raise count_refused(n, limit - at)
            item.initialized_topics, at = _read_topic_partitions_info(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.deleting_topics, at = _read_share_group_state_partition_metadata_value_topic_info(data, at, version, n)
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
class ConsumerGroupRegularExpressionKey:
    group_id: str = ""
    regular_expression: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 16
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            write_string(out, item.regular_expression)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.regular_expression = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ConsumerGroupRegularExpressionValue:
    topics: list[str] = field(default_factory=list)
    version: int = 0
    timestamp: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 16
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.topics))
            for text in item.topics:
                write_compact_string(out, text)
            out += _S_2INT64.pack(item.version, item.timestamp)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
            item.topics, at = read_compact_strings(data, at, n)
            item.version, item.timestamp, tags = _S_2INT64_BYTE.unpack_from(data, at)
            at += 17
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class StreamsGroupMetadataKey:
    group_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 17
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class LastAssignmentConfig:
    key: str = ""
    value: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class StreamsGroupMetadataValue:
    epoch: int = 0
    metadata_hash: int = 0
    validated_topology_epoch: int = -1  # tag 0
    last_assignment_configs: list[LastAssignmentConfig] | None = field(default_factory=list)  # tag 1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 17
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT64.pack(item.epoch, item.metadata_hash)
            if item.validated_topology_epoch != -1 or item.last_assignment_configs != [] or item.unknown_tagged_fields:
                _write_streams_group_metadata_value_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.epoch, item.metadata_hash, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            item.validated_topology_epoch = -1
            item.last_assignment_configs = []
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_streams_group_metadata_value_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class StreamsGroupMemberMetadataKey:
    group_id: str = ""
    member_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 19
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            write_string(out, item.member_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(frozen=True, slots=True)
class Endpoint:
    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_ENDPOINT: Final = Endpoint()


@dataclass(slots=True)
class KeyValue:
    key: str = ""
    value: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class StreamsGroupMemberMetadataValue:
    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 19
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            if item.instance_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.instance_id)
            if item.rack_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.rack_id)
            write_compact_string(out, item.client_id)
            write_compact_string(out, item.client_host)
            out += _S_2INT32.pack(item.rebalance_timeout_ms, item.topology_epoch)
            write_compact_string(out, item.process_id)
            if item.user_endpoint is None:
                out.append(255)
            else:
                out.append(1)
                _write_endpoint(out, (item.user_endpoint,), version)
            write_length(out, len(item.client_tags))
            _write_key_value(out, item.client_tags, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
                item.instance_id = None
            else:
                at += n
                item.instance_id = data[at - n : at].decode("utf-8", LENIENT)
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
            n = data[at]
            at += 1
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
            item.rebalance_timeout_ms, item.topology_epoch, n = _S_2INT32_BYTE.unpack_from(data, at)
            at += 9
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.process_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT8.unpack_from(data, at)
            at += 1
            if n < 0:
                item.user_endpoint = None
            else:
                (item.user_endpoint,), at = _read_endpoint(data, at, version, 1)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.client_tags, at = _read_key_value(data, at, version, n)
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
class StreamsGroupTargetAssignmentMetadataKey:
    group_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 20
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class StreamsGroupTargetAssignmentMetadataValue:
    assignment_epoch: int = 0
    assignment_timestamp: int = 0  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 20
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.assignment_epoch)
            if item.assignment_timestamp or item.unknown_tagged_fields:
                _write_streams_group_target_assignment_metadata_value_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.assignment_epoch, tags = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            item.assignment_timestamp = 0
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_streams_group_target_assignment_metadata_value_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class StreamsGroupTargetAssignmentMemberKey:
    group_id: str = ""
    member_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 21
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            write_string(out, item.member_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class StreamsGroupTargetAssignmentMemberValueTaskIds:
    subtopology_id: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class StreamsGroupTargetAssignmentMemberValue:
    active_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = field(default_factory=list)
    standby_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = field(default_factory=list)
    warmup_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 21
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.active_tasks))
            _write_streams_group_target_assignment_member_value_task_ids(out, item.active_tasks, version)
            write_length(out, len(item.standby_tasks))
            _write_streams_group_target_assignment_member_value_task_ids(out, item.standby_tasks, version)
            write_length(out, len(item.warmup_tasks))
            _write_streams_group_target_assignment_member_value_task_ids(out, item.warmup_tasks, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.active_tasks, at = _read_streams_group_target_assignment_member_value_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.standby_tasks, at = _read_streams_group_target_assignment_member_value_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.warmup_tasks, at = _read_streams_group_target_assignment_member_value_task_ids(data, at, version, n)
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
class StreamsGroupCurrentMemberAssignmentKey:
    group_id: str = ""
    member_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 22
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            write_string(out, item.member_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.member_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class StreamsGroupCurrentMemberAssignmentValueTaskIds:
    subtopology_id: str = ""
    partitions: list[int] = field(default_factory=list)
    assignment_epochs: list[int] | None = field(default_factory=list)  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class StreamsGroupCurrentMemberAssignmentValue:
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    active_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field(default_factory=list)
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field(default_factory=list)
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field(default_factory=list)
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field(default_factory=list)
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field(default_factory=list)
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 22
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_2INT32_INT8.pack(item.member_epoch, item.previous_member_epoch, item.state)
            write_length(out, len(item.active_tasks))
            _write_streams_group_current_member_assignment_value_task_ids(out, item.active_tasks, version)
            write_length(out, len(item.standby_tasks))
            _write_streams_group_current_member_assignment_value_task_ids(out, item.standby_tasks, version)
            write_length(out, len(item.warmup_tasks))
            _write_streams_group_current_member_assignment_value_task_ids(out, item.warmup_tasks, version)
            write_length(out, len(item.active_tasks_pending_revocation))
            _write_streams_group_current_member_assignment_value_task_ids(out, item.active_tasks_pending_revocation, version)
            write_length(out, len(item.standby_tasks_pending_revocation))
            _write_streams_group_current_member_assignment_value_task_ids(out, item.standby_tasks_pending_revocation, version)
            write_length(out, len(item.warmup_tasks_pending_revocation))
            _write_streams_group_current_member_assignment_value_task_ids(out, item.warmup_tasks_pending_revocation, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.member_epoch, item.previous_member_epoch, item.state, n = _S_2INT32_INT8_BYTE.unpack_from(data, at)
            at += 10
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.active_tasks, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.standby_tasks, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.warmup_tasks, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.active_tasks_pending_revocation, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.standby_tasks_pending_revocation, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.warmup_tasks_pending_revocation, at = _read_streams_group_current_member_assignment_value_task_ids(data, at, version, n)
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
class StreamsGroupTopologyKey:
    group_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 23
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_string(out, item.group_id)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            at += n
            item.group_id = data[at - n : at].decode("utf-8", LENIENT)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class TopicConfig:
    key: str = ""
    value: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class StreamsGroupTopologyValueTopicInfo:
    name: str = ""
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: list[TopicConfig] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CopartitionGroup:
    source_topics: list[int] = field(default_factory=list)
    source_topic_regex: list[int] = field(default_factory=list)
    repartition_source_topics: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class Subtopology:
    subtopology_id: str = ""
    source_topics: list[str] = field(default_factory=list)
    source_topic_regex: list[str] = field(default_factory=list)
    state_changelog_topics: list[StreamsGroupTopologyValueTopicInfo] = field(default_factory=list)
    repartition_sink_topics: list[str] = field(default_factory=list)
    repartition_source_topics: list[StreamsGroupTopologyValueTopicInfo] = field(default_factory=list)
    copartition_groups: list[CopartitionGroup] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class StreamsGroupTopologyValue:
    epoch: int = 0
    subtopologies: list[Subtopology] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 23
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.epoch)
            write_length(out, len(item.subtopologies))
            _write_subtopology(out, item.subtopologies, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.epoch, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 8 <= limit - at:
                raise count_refused(n, limit - at)
            item.subtopologies, at = _read_subtopology(data, at, version, n)
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


def _read_offset_commit_value_tags(item: OffsetCommitValue, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.topic_id,) = _S_UUID.unpack_from(data, at)
            at += 16
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_offset_commit_value_tags(target: bytearray, item: OffsetCommitValue, version: int) -> None:
    known: list[TaggedField] = []
    if item.topic_id != ZERO_UUID:
        if version >= 4:
            out = bytearray()
            out += _S_UUID.pack(item.topic_id)
            known.append(TaggedField(0, bytes(out)))
    if version < 4:
        if item.unknown_tagged_fields:
            raise tags_refused(version)
        return
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_member_metadata(data: bytes, at: int, version: int, count: int) -> tuple[list[MemberMetadata], int]:
    items: list[MemberMetadata] = []
    for _ in range(count):
        item = _new(MemberMetadata)
        if version >= 4:
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
        if version >= 4:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 3:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        else:
            pass
        if version >= 3:
            if n < 0:
                item.group_instance_id = None
            else:
                at += n
                item.group_instance_id = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.group_instance_id = None
        if version >= 4:
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
        item.client_id = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 4:
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
        item.client_host = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 4:
            item.rebalance_timeout, item.session_timeout, n = _S_2INT32_BYTE.unpack_from(data, at)
            at += 9
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        elif version >= 1:
            item.rebalance_timeout, item.session_timeout, n = _S_3INT32.unpack_from(data, at)
            at += 12
        else:
            item.session_timeout, n = _S_2INT32.unpack_from(data, at)
            at += 8
            item.rebalance_timeout = -1
        if n < 0:
            raise null_refused()
        at += n
        item.subscription = data[at - n : at]
        if version >= 4:
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
        item.assignment = data[at - n : at]
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
        if version >= 4:
            write_compact_string(out, item.member_id)
        else:
            write_string(out, item.member_id)
        if version >= 3:
            if item.group_instance_id is None:
                if version >= 4:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 4:
                    write_compact_string(out, item.group_instance_id)
                else:
                    write_string(out, item.group_instance_id)
        if version >= 4:
            write_compact_string(out, item.client_id)
        else:
            write_string(out, item.client_id)
        if version >= 4:
            write_compact_string(out, item.client_host)
        else:
            write_string(out, item.client_host)
        if version >= 1:
            out += _S_2INT32.pack(item.rebalance_timeout, item.session_timeout)
        else:
            out += _S_INT32.pack(item.session_timeout)
        if version >= 4:
            write_length(out, len(item.subscription))
        else:
            out += _S_INT32.pack(len(item.subscription))
        out += item.subscription
        if version >= 4:
            write_length(out, len(item.assignment))
        else:
            out += _S_INT32.pack(len(item.assignment))
        out += item.assignment
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)


def _read_consumer_group_metadata_value_tags(item: ConsumerGroupMetadataValue, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.metadata_hash,) = _S_INT64.unpack_from(data, at)
            at += 8
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_consumer_group_metadata_value_tags(target: bytearray, item: ConsumerGroupMetadataValue, version: int) -> None:
    known: list[TaggedField] = []
    if item.metadata_hash:
        out = bytearray()
        out += _S_INT64.pack(item.metadata_hash)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_partition_metadata(data: bytes, at: int, version: int, count: int) -> tuple[list[PartitionMetadata], int]:
    items: list[PartitionMetadata] = []
    for _ in range(count):
        item = _new(PartitionMetadata)
        item.partition, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.racks, at = read_compact_strings(data, at, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_partition_metadata(out: bytearray, items: Iterable[PartitionMetadata], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.partition)
        write_length(out, len(item.racks))
        for text in item.racks:
            write_compact_string(out, text)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topic_metadata(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicMetadata], int]:
    limit = len(data)
    items: list[TopicMetadata] = []
    for _ in range(count):
        item = _new(TopicMetadata)
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
        item.num_partitions, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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
        out += _S_UUID.pack(item.topic_id)
        write_compact_string(out, item.topic_name)
        out += _S_INT32.pack(item.num_partitions)
        write_length(out, len(item.partition_metadata))
        _write_partition_metadata(out, item.partition_metadata, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_classic_protocol(data: bytes, at: int, version: int, count: int) -> tuple[list[ClassicProtocol], int]:
    items: list[ClassicProtocol] = []
    for _ in range(count):
        item = _new(ClassicProtocol)
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
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.metadata = data[at - n : at]
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_classic_protocol(out: bytearray, items: Iterable[ClassicProtocol], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_length(out, len(item.metadata))
        out += item.metadata
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_classic_member_metadata(data: bytes, at: int, version: int, count: int) -> tuple[list[ClassicMemberMetadata], int]:
    limit = len(data)
    items: list[ClassicMemberMetadata] = []
    for _ in range(count):
        item = _new(ClassicMemberMetadata)
        item.session_timeout_ms, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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


def _write_classic_member_metadata(out: bytearray, items: Iterable[ClassicMemberMetadata], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.session_timeout_ms)
        write_length(out, len(item.supported_protocols))
        _write_classic_protocol(out, item.supported_protocols, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_consumer_group_member_metadata_value_tags(item: ConsumerGroupMemberMetadataValue, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
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


def _write_consumer_group_member_metadata_value_tags(target: bytearray, item: ConsumerGroupMemberMetadataValue, version: int) -> None:
    known: list[TaggedField] = []
    if item.classic_member_metadata != ClassicMemberMetadata():
        out = bytearray()
        if item.classic_member_metadata is None:
            out.append(0)
        else:
            out.append(1)
            _write_classic_member_metadata(out, (item.classic_member_metadata,), version)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_consumer_group_target_assignment_metadata_value_tags(item: ConsumerGroupTargetAssignmentMetadataValue, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.assignment_timestamp,) = _S_INT64.unpack_from(data, at)
            at += 8
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_consumer_group_target_assignment_metadata_value_tags(target: bytearray, item: ConsumerGroupTargetAssignmentMetadataValue, version: int) -> None:
    known: list[TaggedField] = []
    if item.assignment_timestamp:
        out = bytearray()
        out += _S_INT64.pack(item.assignment_timestamp)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_topic_partition(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicPartition], int]:
    items: list[TopicPartition] = []
    for _ in range(count):
        item = _new(TopicPartition)
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


def _write_topic_partition(out: bytearray, items: Iterable[TopicPartition], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_consumer_group_current_member_assignment_value_topic_partitions(data: bytes, at: int, version: int, count: int) -> tuple[list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions], int]:
    items: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions] = []
    for _ in range(count):
        item = _new(ConsumerGroupCurrentMemberAssignmentValueTopicPartitions)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.partitions, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.assignment_epochs = []
        item.unknown_tagged_fields = ()
        if tags:
            at = _read_consumer_group_current_member_assignment_value_topic_partitions_tags(item, data, at - 1, version)
        items.append(item)
    return items, at


def _write_consumer_group_current_member_assignment_value_topic_partitions(out: bytearray, items: Iterable[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.assignment_epochs != [] or item.unknown_tagged_fields:
            _write_consumer_group_current_member_assignment_value_topic_partitions_tags(out, item, version)
        else:
            out.append(0)


def _read_consumer_group_current_member_assignment_value_topic_partitions_tags(item: ConsumerGroupCurrentMemberAssignmentValueTopicPartitions, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n, at = read_length(data, at)
            if n < 0:
                item.assignment_epochs = None
            else:
                item.assignment_epochs, at = read_integers(data, at, n, "i", 4)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_consumer_group_current_member_assignment_value_topic_partitions_tags(target: bytearray, item: ConsumerGroupCurrentMemberAssignmentValueTopicPartitions, version: int) -> None:
    known: list[TaggedField] = []
    if item.assignment_epochs != []:
        out = bytearray()
        if item.assignment_epochs is None:
            out.append(0)
        else:
            write_length(out, len(item.assignment_epochs))
            write_integers(out, item.assignment_epochs, "i")
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_share_group_target_assignment_metadata_value_tags(item: ShareGroupTargetAssignmentMetadataValue, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.assignment_timestamp,) = _S_INT64.unpack_from(data, at)
            at += 8
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_share_group_target_assignment_metadata_value_tags(target: bytearray, item: ShareGroupTargetAssignmentMetadataValue, version: int) -> None:
    known: list[TaggedField] = []
    if item.assignment_timestamp:
        out = bytearray()
        out += _S_INT64.pack(item.assignment_timestamp)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_share_group_current_member_assignment_value_topic_partitions(data: bytes, at: int, version: int, count: int) -> tuple[list[ShareGroupCurrentMemberAssignmentValueTopicPartitions], int]:
    items: list[ShareGroupCurrentMemberAssignmentValueTopicPartitions] = []
    for _ in range(count):
        item = _new(ShareGroupCurrentMemberAssignmentValueTopicPartitions)
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


def _write_share_group_current_member_assignment_value_topic_partitions(out: bytearray, items: Iterable[ShareGroupCurrentMemberAssignmentValueTopicPartitions], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_topic_partitions_info(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicPartitionsInfo], int]:
    items: list[TopicPartitionsInfo] = []
    for _ in range(count):
        item = _new(TopicPartitionsInfo)
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


def _write_topic_partitions_info(out: bytearray, items: Iterable[TopicPartitionsInfo], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_compact_string(out, item.topic_name)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_share_group_state_partition_metadata_value_topic_info(data: bytes, at: int, version: int, count: int) -> tuple[list[ShareGroupStatePartitionMetadataValueTopicInfo], int]:
    items: list[ShareGroupStatePartitionMetadataValueTopicInfo] = []
    for _ in range(count):
        item = _new(ShareGroupStatePartitionMetadataValueTopicInfo)
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
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_share_group_state_partition_metadata_value_topic_info(out: bytearray, items: Iterable[ShareGroupStatePartitionMetadataValueTopicInfo], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_compact_string(out, item.topic_name)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_last_assignment_config(data: bytes, at: int, version: int, count: int) -> tuple[list[LastAssignmentConfig], int]:
    items: list[LastAssignmentConfig] = []
    for _ in range(count):
        item = _new(LastAssignmentConfig)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.key = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.value = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_last_assignment_config(out: bytearray, items: Iterable[LastAssignmentConfig], version: int) -> None:
    for item in items:
        write_compact_string(out, item.key)
        write_compact_string(out, item.value)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_streams_group_metadata_value_tags(item: StreamsGroupMetadataValue, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.validated_topology_epoch,) = _S_INT32.unpack_from(data, at)
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


def _write_streams_group_metadata_value_tags(target: bytearray, item: StreamsGroupMetadataValue, version: int) -> None:
    known: list[TaggedField] = []
    if item.validated_topology_epoch != -1:
        out = bytearray()
        out += _S_INT32.pack(item.validated_topology_epoch)
        known.append(TaggedField(0, bytes(out)))
    if item.last_assignment_configs != []:
        out = bytearray()
        if item.last_assignment_configs is None:
            out.append(0)
        else:
            write_length(out, len(item.last_assignment_configs))
            _write_last_assignment_config(out, item.last_assignment_configs, version)
        known.append(TaggedField(1, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_endpoint(data: bytes, at: int, version: int, count: int) -> tuple[list[Endpoint], int]:
    items: list[Endpoint] = []
    for _ in range(count):
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        host = data[at - n : at].decode("utf-8", LENIENT)
        port, tags = _S_UINT16_BYTE.unpack_from(data, at)
        at += 3
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(Endpoint(host, port, unknown))
    return items, at


def _write_endpoint(out: bytearray, items: Iterable[Endpoint], version: int) -> None:
    for item in items:
        write_compact_string(out, item.host)
        out += _S_UINT16.pack(item.port)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_key_value(data: bytes, at: int, version: int, count: int) -> tuple[list[KeyValue], int]:
    items: list[KeyValue] = []
    for _ in range(count):
        item = _new(KeyValue)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.key = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.value = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_key_value(out: bytearray, items: Iterable[KeyValue], version: int) -> None:
    for item in items:
        write_compact_string(out, item.key)
        write_compact_string(out, item.value)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_streams_group_target_assignment_metadata_value_tags(item: StreamsGroupTargetAssignmentMetadataValue, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.assignment_timestamp,) = _S_INT64.unpack_from(data, at)
            at += 8
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_streams_group_target_assignment_metadata_value_tags(target: bytearray, item: StreamsGroupTargetAssignmentMetadataValue, version: int) -> None:
    known: list[TaggedField] = []
    if item.assignment_timestamp:
        out = bytearray()
        out += _S_INT64.pack(item.assignment_timestamp)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_streams_group_target_assignment_member_value_task_ids(data: bytes, at: int, version: int, count: int) -> tuple[list[StreamsGroupTargetAssignmentMemberValueTaskIds], int]:
    items: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = []
    for _ in range(count):
        item = _new(StreamsGroupTargetAssignmentMemberValueTaskIds)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.subtopology_id = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_streams_group_target_assignment_member_value_task_ids(out: bytearray, items: Iterable[StreamsGroupTargetAssignmentMemberValueTaskIds], version: int) -> None:
    for item in items:
        write_compact_string(out, item.subtopology_id)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_streams_group_current_member_assignment_value_task_ids(data: bytes, at: int, version: int, count: int) -> tuple[list[StreamsGroupCurrentMemberAssignmentValueTaskIds], int]:
    items: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = []
    for _ in range(count):
        item = _new(StreamsGroupCurrentMemberAssignmentValueTaskIds)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.subtopology_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.partitions, at = read_integers(data, at, n, "i", 4)
        tags = data[at]
        at += 1
        item.assignment_epochs = []
        item.unknown_tagged_fields = ()
        if tags:
            at = _read_streams_group_current_member_assignment_value_task_ids_tags(item, data, at - 1, version)
        items.append(item)
    return items, at


def _write_streams_group_current_member_assignment_value_task_ids(out: bytearray, items: Iterable[StreamsGroupCurrentMemberAssignmentValueTaskIds], version: int) -> None:
    for item in items:
        write_compact_string(out, item.subtopology_id)
        write_length(out, len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.assignment_epochs != [] or item.unknown_tagged_fields:
            _write_streams_group_current_member_assignment_value_task_ids_tags(out, item, version)
        else:
            out.append(0)


def _read_streams_group_current_member_assignment_value_task_ids_tags(item: StreamsGroupCurrentMemberAssignmentValueTaskIds, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n, at = read_length(data, at)
            if n < 0:
                item.assignment_epochs = None
            else:
                item.assignment_epochs, at = read_integers(data, at, n, "i", 4)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_streams_group_current_member_assignment_value_task_ids_tags(target: bytearray, item: StreamsGroupCurrentMemberAssignmentValueTaskIds, version: int) -> None:
    known: list[TaggedField] = []
    if item.assignment_epochs != []:
        out = bytearray()
        if item.assignment_epochs is None:
            out.append(0)
        else:
            write_length(out, len(item.assignment_epochs))
            write_integers(out, item.assignment_epochs, "i")
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_topic_config(data: bytes, at: int, version: int, count: int) -> tuple[list[TopicConfig], int]:
    items: list[TopicConfig] = []
    for _ in range(count):
        item = _new(TopicConfig)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.key = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.value = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_topic_config(out: bytearray, items: Iterable[TopicConfig], version: int) -> None:
    for item in items:
        write_compact_string(out, item.key)
        write_compact_string(out, item.value)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_streams_group_topology_value_topic_info(data: bytes, at: int, version: int, count: int) -> tuple[list[StreamsGroupTopologyValueTopicInfo], int]:
    limit = len(data)
    items: list[StreamsGroupTopologyValueTopicInfo] = []
    for _ in range(count):
        item = _new(StreamsGroupTopologyValueTopicInfo)
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
        item.partitions, item.replication_factor, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
        at += 7
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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


def _write_streams_group_topology_value_topic_info(out: bytearray, items: Iterable[StreamsGroupTopologyValueTopicInfo], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _S_INT32_INT16.pack(item.partitions, item.replication_factor)
        write_length(out, len(item.topic_configs))
        _write_topic_config(out, item.topic_configs, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_copartition_group(data: bytes, at: int, version: int, count: int) -> tuple[list[CopartitionGroup], int]:
    items: list[CopartitionGroup] = []
    for _ in range(count):
        item = _new(CopartitionGroup)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.source_topics, at = read_integers(data, at, n, "h", 2)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.source_topic_regex, at = read_integers(data, at, n, "h", 2)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.repartition_source_topics, at = read_integers(data, at, n, "h", 2)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_copartition_group(out: bytearray, items: Iterable[CopartitionGroup], version: int) -> None:
    for item in items:
        write_length(out, len(item.source_topics))
        write_integers(out, item.source_topics, "h")
        write_length(out, len(item.source_topic_regex))
        write_integers(out, item.source_topic_regex, "h")
        write_length(out, len(item.repartition_source_topics))
        write_integers(out, item.repartition_source_topics, "h")
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_subtopology(data: bytes, at: int, version: int, count: int) -> tuple[list[Subtopology], int]:
    limit = len(data)
    items: list[Subtopology] = []
    for _ in range(count):
        item = _new(Subtopology)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.subtopology_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.source_topics, at = read_compact_strings(data, at, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.source_topic_regex, at = read_compact_strings(data, at, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.state_changelog_topics, at = _read_streams_group_topology_value_topic_info(data, at, version, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.repartition_sink_topics, at = read_compact_strings(data, at, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.repartition_source_topics, at = _read_streams_group_topology_value_topic_info(data, at, version, n)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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
        write_compact_string(out, item.subtopology_id)
        write_length(out, len(item.source_topics))
        for text in item.source_topics:
            write_compact_string(out, text)
        write_length(out, len(item.source_topic_regex))
        for text in item.source_topic_regex:
            write_compact_string(out, text)
        write_length(out, len(item.state_changelog_topics))
        _write_streams_group_topology_value_topic_info(out, item.state_changelog_topics, version)
        write_length(out, len(item.repartition_sink_topics))
        for text in item.repartition_sink_topics:
            write_compact_string(out, text)
        write_length(out, len(item.repartition_source_topics))
        _write_streams_group_topology_value_topic_info(out, item.repartition_source_topics, version)
        write_length(out, len(item.copartition_groups))
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
