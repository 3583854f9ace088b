"""metadata messages: RegisterBrokerRecord to ClearElrRecord.

Written by `make codegen` from codegen/schemas/metadata_records.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_compact_strings, read_integers, read_length, read_string_length, read_strings, read_uuids, read_uvarint, tag_refused
from millstream.protocol.tagged_fields import TaggedField, read_tag_count, read_unknown_field, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_compact_string, write_integers, write_length, write_string, write_uuids

_S_2BOOL: Final = Struct(">??")
_S_2BOOL_BYTE: Final = Struct(">??B")
_S_2INT16: Final = Struct(">hh")
_S_2INT16_BYTE: Final = Struct(">hhB")
_S_2INT8: Final = Struct(">bb")
_S_2INT8_BYTE: Final = Struct(">bbB")
_S_3INT32: Final = Struct(">iii")
_S_3INT32_BYTE: Final = Struct(">iiiB")
_S_3INT64: Final = Struct(">qqq")
_S_3INT64_BYTE: Final = Struct(">qqqB")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_FLOAT64_BOOL: Final = Struct(">d?")
_S_FLOAT64_BOOL_BYTE: Final = Struct(">d?B")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_2INT64: Final = Struct(">iqq")
_S_INT32_2INT64_BYTE: Final = Struct(">iqqB")
_S_INT32_BOOL_UUID_INT64: Final = Struct(">i?16sq")
_S_INT32_BOOL_UUID_INT64_BYTE: Final = Struct(">i?16sqB")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_BYTE: Final = Struct(">iqB")
_S_INT32_UUID: Final = Struct(">i16s")
_S_INT32_UUID_BOOL: Final = Struct(">i16s?")
_S_INT32_UUID_BOOL_BYTE: Final = Struct(">i16s?B")
_S_INT32_UUID_BYTE: Final = Struct(">i16sB")
_S_INT32_UUID_INT64: Final = Struct(">i16sq")
_S_INT32_UUID_INT64_BYTE: Final = Struct(">i16sqB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_S_UINT16_INT16: Final = Struct(">Hh")
_S_UINT16_INT16_BYTE: Final = Struct(">HhB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_S_UUID_INT8: Final = Struct(">16sb")
_S_UUID_INT8_BYTE: Final = Struct(">16sbB")
_new: Final = object.__new__


@dataclass(slots=True)
class BrokerEndpoint:
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class BrokerFeature:
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class RegisterBrokerRecord:
    broker_id: int = 0
    is_migrating_zk_broker: bool = False  # 2+
    incarnation_id: Uuid = ZERO_UUID
    broker_epoch: int = 0
    end_points: list[BrokerEndpoint] = field(default_factory=list)
    features: list[BrokerFeature] = field(default_factory=list)
    rack: str | None = ""
    fenced: bool = True
    in_controlled_shutdown: bool = False  # 1+
    log_dirs: list[Uuid] = field(default_factory=list)  # 3+, tag 0
    cordoned_log_dirs: list[Uuid] | None = None  # 4, tag 1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                out += _S_INT32_BOOL_UUID_INT64.pack(item.broker_id, item.is_migrating_zk_broker, item.incarnation_id, item.broker_epoch)
            else:
                out += _S_INT32_UUID_INT64.pack(item.broker_id, item.incarnation_id, item.broker_epoch)
                if item.is_migrating_zk_broker:
                    raise not_in_version("is_migrating_zk_broker", version)
            write_length(out, len(item.end_points))
            _write_broker_endpoint(out, item.end_points, version)
            write_length(out, len(item.features))
            _write_broker_feature(out, item.features, version)
            if item.rack is None:
                out.append(0)
            else:
                write_compact_string(out, item.rack)
            if version >= 1:
                out += _S_2BOOL.pack(item.fenced, item.in_controlled_shutdown)
            else:
                out += _S_BOOL.pack(item.fenced)
                if item.in_controlled_shutdown:
                    raise not_in_version("in_controlled_shutdown", version)
            if item.log_dirs or item.cordoned_log_dirs is not None or item.unknown_tagged_fields:
                _write_register_broker_record_tags(out, item, version)
            else:
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
            if version >= 2:
                item.broker_id, item.is_migrating_zk_broker, item.incarnation_id, item.broker_epoch, n = _S_INT32_BOOL_UUID_INT64_BYTE.unpack_from(data, at)
                at += 30
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.broker_id, item.incarnation_id, item.broker_epoch, n = _S_INT32_UUID_INT64_BYTE.unpack_from(data, at)
                at += 29
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
                item.is_migrating_zk_broker = False
            if not 0 <= n * 7 <= limit - at:
                raise count_refused(n, limit - at)
            item.end_points, at = _read_broker_endpoint(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.features, at = _read_broker_feature(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.rack = None
            else:
                at += n
                item.rack = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 1:
                item.fenced, item.in_controlled_shutdown, tags = _S_2BOOL_BYTE.unpack_from(data, at)
                at += 3
            else:
                item.fenced, tags = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
                item.in_controlled_shutdown = False
            item.log_dirs = []
            item.cordoned_log_dirs = None
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_register_broker_record_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class UnregisterBrokerRecord:
    broker_id: int = 0
    broker_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT64.pack(item.broker_id, item.broker_epoch)
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
            item.broker_id, item.broker_epoch, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
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
class TopicRecord:
    name: str = ""
    topic_id: Uuid = ZERO_UUID
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_compact_string(out, item.name)
            out += _S_UUID.pack(item.topic_id)
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
                raise null_refused()
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
            item.topic_id, tags = _S_UUID_BYTE.unpack_from(data, at)
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
class PartitionRecord:
    partition_id: int = -1
    topic_id: Uuid = ZERO_UUID
    replicas: list[int] = field(default_factory=list)
    isr: list[int] = field(default_factory=list)
    removing_replicas: list[int] = field(default_factory=list)
    adding_replicas: list[int] = field(default_factory=list)
    leader: int = -1
    leader_recovery_state: int = 0  # tag 0
    leader_epoch: int = -1
    partition_epoch: int = -1
    directories: list[Uuid] = field(default_factory=list)  # 1+
    eligible_leader_replicas: list[int] | None = None  # 2, tag 1
    last_known_elr: list[int] | None = None  # 2, tag 2
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_UUID.pack(item.partition_id, item.topic_id)
            write_length(out, len(item.replicas))
            write_integers(out, item.replicas, "i")
            write_length(out, len(item.isr))
            write_integers(out, item.isr, "i")
            write_length(out, len(item.removing_replicas))
            write_integers(out, item.removing_replicas, "i")
            write_length(out, len(item.adding_replicas))
            write_integers(out, item.adding_replicas, "i")
            out += _S_3INT32.pack(item.leader, item.leader_epoch, item.partition_epoch)
            if version >= 1:
                write_length(out, len(item.directories))
                write_uuids(out, item.directories)
            elif item.directories:
                raise not_in_version("directories", version)
            if item.leader_recovery_state or item.eligible_leader_replicas is not None or item.last_known_elr is not None or item.unknown_tagged_fields:
                _write_partition_record_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.partition_id, item.topic_id, n = _S_INT32_UUID_BYTE.unpack_from(data, at)
            at += 21
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.replicas, at = read_integers(data, at, n, "i", 4)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.isr, at = read_integers(data, at, n, "i", 4)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.removing_replicas, at = read_integers(data, at, n, "i", 4)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.adding_replicas, at = read_integers(data, at, n, "i", 4)
            if version >= 1:
                item.leader, item.leader_epoch, item.partition_epoch, n = _S_3INT32_BYTE.unpack_from(data, at)
                at += 13
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.leader, item.leader_epoch, item.partition_epoch = _S_3INT32.unpack_from(data, at)
                at += 12
            if version >= 1:
                item.directories, at = read_uuids(data, at, n)
            else:
                item.directories = []
            tags = data[at]
            at += 1
            item.leader_recovery_state = 0
            item.eligible_leader_replicas = None
            item.last_known_elr = None
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_partition_record_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ConfigRecord:
    resource_type: int = 0
    resource_name: str = ""
    name: str = ""
    value: str | None = ""
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
            out += _S_INT8.pack(item.resource_type)
            write_compact_string(out, item.resource_name)
            write_compact_string(out, item.name)
            if item.value is None:
                out.append(0)
            else:
                write_compact_string(out, item.value)
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
            item.resource_type, n = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.resource_name = data[at - n : at].decode("utf-8", LENIENT)
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
class PartitionChangeRecord:
    partition_id: int = -1
    topic_id: Uuid = ZERO_UUID
    isr: list[int] | None = None  # tag 0
    leader: int = -2  # tag 1
    replicas: list[int] | None = None  # tag 2
    removing_replicas: list[int] | None = None  # tag 3
    adding_replicas: list[int] | None = None  # tag 4
    leader_recovery_state: int = -1  # tag 5
    directories: list[Uuid] | None = None  # 1+, tag 8
    eligible_leader_replicas: list[int] | None = None  # 2, tag 6
    last_known_elr: list[int] | None = None  # 2, tag 7
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 5
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_UUID.pack(item.partition_id, item.topic_id)
            if item.isr is not None or item.leader != -2 or item.replicas is not None or item.removing_replicas is not None or item.adding_replicas is not None or item.leader_recovery_state != -1 or item.directories is not None or item.eligible_leader_replicas is not None or item.last_known_elr is not None or item.unknown_tagged_fields:
                _write_partition_change_record_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.partition_id, item.topic_id, tags = _S_INT32_UUID_BYTE.unpack_from(data, at)
            at += 21
            item.isr = None
            item.leader = -2
            item.replicas = None
            item.removing_replicas = None
            item.adding_replicas = None
            item.leader_recovery_state = -1
            item.directories = None
            item.eligible_leader_replicas = None
            item.last_known_elr = None
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_partition_change_record_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class FenceBrokerRecord:
    id: int = 0
    epoch: int = 0
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
            out += _S_INT32_INT64.pack(item.id, item.epoch)
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
            item.id, item.epoch, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
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
class UnfenceBrokerRecord:
    id: int = 0
    epoch: int = 0
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
            out += _S_INT32_INT64.pack(item.id, item.epoch)
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
            item.id, item.epoch, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
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
class RemoveTopicRecord:
    topic_id: Uuid = ZERO_UUID
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 9
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_UUID.pack(item.topic_id)
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
            item.topic_id, tags = _S_UUID_BYTE.unpack_from(data, at)
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
class DelegationTokenRecord:
    owner: str = ""
    requester: str = ""
    renewers: list[str] = field(default_factory=list)
    issue_timestamp: int = 0
    max_timestamp: int = 0
    expiration_timestamp: int = 0
    token_id: str = ""
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
            write_compact_string(out, item.owner)
            write_compact_string(out, item.requester)
            write_length(out, len(item.renewers))
            for text in item.renewers:
                write_compact_string(out, text)
            out += _S_3INT64.pack(item.issue_timestamp, item.max_timestamp, item.expiration_timestamp)
            write_compact_string(out, item.token_id)
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
                raise null_refused()
            at += n
            item.owner = data[at - n : at].decode("utf-8", LENIENT)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.requester = data[at - n : at].decode("utf-8", LENIENT)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.renewers, at = read_compact_strings(data, at, n)
            item.issue_timestamp, item.max_timestamp, item.expiration_timestamp, n = _S_3INT64_BYTE.unpack_from(data, at)
            at += 25
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.token_id = data[at - n : at].decode("utf-8", LENIENT)
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
class UserScramCredentialRecord:
    name: str = ""
    mechanism: int = 0
    salt: bytes = b""
    stored_key: bytes = b""
    server_key: bytes = b""
    iterations: int = 0
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
            write_compact_string(out, item.name)
            out += _S_INT8.pack(item.mechanism)
            write_length(out, len(item.salt))
            out += item.salt
            write_length(out, len(item.stored_key))
            out += item.stored_key
            write_length(out, len(item.server_key))
            out += item.server_key
            out += _S_INT32.pack(item.iterations)
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
                raise null_refused()
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
            item.mechanism, n = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.salt = data[at - n : at]
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.stored_key = data[at - n : at]
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.server_key = data[at - n : at]
            item.iterations, tags = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class FeatureLevelRecord:
    name: str = ""
    feature_level: int = 0
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
            write_compact_string(out, item.name)
            out += _S_INT16.pack(item.feature_level)
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
                raise null_refused()
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
            item.feature_level, tags = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class EntityData:
    entity_type: str = ""
    entity_name: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ClientQuotaRecord:
    entity: list[EntityData] = field(default_factory=list)
    key: str = ""
    value: float = 0.0
    remove: bool = False
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
            write_length(out, len(item.entity))
            _write_entity_data(out, item.entity, version)
            write_compact_string(out, item.key)
            out += _S_FLOAT64_BOOL.pack(item.value, item.remove)
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
            item.entity, at = _read_entity_data(data, at, version, n)
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
            item.value, item.remove, tags = _S_FLOAT64_BOOL_BYTE.unpack_from(data, at)
            at += 10
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class ProducerIdsRecord:
    broker_id: int = 0
    broker_epoch: int = -1
    next_producer_id: int = 0
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
            out += _S_INT32_2INT64.pack(item.broker_id, item.broker_epoch, item.next_producer_id)
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
            item.broker_id, item.broker_epoch, item.next_producer_id, tags = _S_INT32_2INT64_BYTE.unpack_from(data, at)
            at += 21
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class BrokerRegistrationChangeRecord:
    broker_id: int = 0
    broker_epoch: int = 0
    fenced: int = 0  # tag 0
    in_controlled_shutdown: int = 0  # 1+, tag 1
    log_dirs: list[Uuid] = field(default_factory=list)  # 2+, tag 2
    cordoned_log_dirs: list[Uuid] | None = None  # 3, tag 3
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 17
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT64.pack(item.broker_id, item.broker_epoch)
            if item.fenced or item.in_controlled_shutdown or item.log_dirs or item.cordoned_log_dirs is not None or item.unknown_tagged_fields:
                _write_broker_registration_change_record_tags(out, item, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 3:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.broker_id, item.broker_epoch, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            item.fenced = 0
            item.in_controlled_shutdown = 0
            item.log_dirs = []
            item.cordoned_log_dirs = None
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_broker_registration_change_record_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class AccessControlEntryRecord:
    id: Uuid = ZERO_UUID
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 0
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 18
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_UUID_INT8.pack(item.id, item.resource_type)
            write_compact_string(out, item.resource_name)
            out += _S_INT8.pack(item.pattern_type)
            write_compact_string(out, item.principal)
            write_compact_string(out, item.host)
            out += _S_2INT8.pack(item.operation, item.permission_type)
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
            item.id, item.resource_type, n = _S_UUID_INT8_BYTE.unpack_from(data, at)
            at += 18
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.resource_name = data[at - n : at].decode("utf-8", LENIENT)
            item.pattern_type, n = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.principal = data[at - n : at].decode("utf-8", LENIENT)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                raise null_refused()
            at += n
            item.host = data[at - n : at].decode("utf-8", LENIENT)
            item.operation, item.permission_type, tags = _S_2INT8_BYTE.unpack_from(data, at)
            at += 3
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class RemoveAccessControlEntryRecord:
    id: Uuid = ZERO_UUID
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
            out += _S_UUID.pack(item.id)
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
            item.id, tags = _S_UUID_BYTE.unpack_from(data, at)
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
class NoOpRecord:
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
class ZkMigrationStateRecord:
    zk_migration_state: int = 0
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
            out += _S_INT8.pack(item.zk_migration_state)
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
            item.zk_migration_state, tags = _S_INT8_BYTE.unpack_from(data, at)
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
class RemoveUserScramCredentialRecord:
    name: str = ""
    mechanism: int = 0
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
            write_compact_string(out, item.name)
            out += _S_INT8.pack(item.mechanism)
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
                raise null_refused()
            at += n
            item.name = data[at - n : at].decode("utf-8", LENIENT)
            item.mechanism, tags = _S_INT8_BYTE.unpack_from(data, at)
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
class BeginTransactionRecord:
    name: str | None = None  # tag 0
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
            if item.name is not None or item.unknown_tagged_fields:
                _write_begin_transaction_record_tags(out, item, version)
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
            tags = data[at]
            at += 1
            item.name = None
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_begin_transaction_record_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class EndTransactionRecord:
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 24
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
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
class AbortTransactionRecord:
    reason: str | None = None  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 25
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            if item.reason is not None or item.unknown_tagged_fields:
                _write_abort_transaction_record_tags(out, item, version)
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
            tags = data[at]
            at += 1
            item.reason = None
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_abort_transaction_record_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class RemoveDelegationTokenRecord:
    token_id: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 26
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_compact_string(out, item.token_id)
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
                raise null_refused()
            at += n
            item.token_id = data[at - n : at].decode("utf-8", LENIENT)
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
class ControllerEndpoint:
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ControllerFeature:
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class RegisterControllerRecord:
    controller_id: int = 0
    incarnation_id: Uuid = ZERO_UUID
    zk_migration_ready: bool = False
    end_points: list[ControllerEndpoint] = field(default_factory=list)
    features: list[ControllerFeature] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 27
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_UUID_BOOL.pack(item.controller_id, item.incarnation_id, item.zk_migration_ready)
            write_length(out, len(item.end_points))
            _write_controller_endpoint(out, item.end_points, version)
            write_length(out, len(item.features))
            _write_controller_feature(out, item.features, version)
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
            item.controller_id, item.incarnation_id, item.zk_migration_ready, n = _S_INT32_UUID_BOOL_BYTE.unpack_from(data, at)
            at += 22
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 7 <= limit - at:
                raise count_refused(n, limit - at)
            item.end_points, at = _read_controller_endpoint(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.features, at = _read_controller_feature(data, at, version, n)
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
class ClearElrRecord:
    topic_name: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 28
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_compact_string(out, item.topic_name)
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
                raise null_refused()
            at += n
            item.topic_name = data[at - n : at].decode("utf-8", LENIENT)
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


def _read_broker_endpoint(data: bytes, at: int, version: int, count: int) -> tuple[list[BrokerEndpoint], int]:
    items: list[BrokerEndpoint] = []
    for _ in range(count):
        item = _new(BrokerEndpoint)
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
            raise null_refused()
        at += n
        item.host = data[at - n : at].decode("utf-8", LENIENT)
        item.port, item.security_protocol, tags = _S_UINT16_INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_broker_endpoint(out: bytearray, items: Iterable[BrokerEndpoint], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_string(out, item.host)
        out += _S_UINT16_INT16.pack(item.port, item.security_protocol)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_broker_feature(data: bytes, at: int, version: int, count: int) -> tuple[list[BrokerFeature], int]:
    items: list[BrokerFeature] = []
    for _ in range(count):
        item = _new(BrokerFeature)
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
        item.min_supported_version, item.max_supported_version, tags = _S_2INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_broker_feature(out: bytearray, items: Iterable[BrokerFeature], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _S_2INT16.pack(item.min_supported_version, item.max_supported_version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_register_broker_record_tags(item: RegisterBrokerRecord, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            if not (version >= 3):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            item.log_dirs, at = read_uuids(data, at, n)
        elif tag == 1:
            if not (version >= 4):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            if n < 0:
                item.cordoned_log_dirs = None
            else:
                item.cordoned_log_dirs, at = read_uuids(data, at, n)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_register_broker_record_tags(target: bytearray, item: RegisterBrokerRecord, version: int) -> None:
    known: list[TaggedField] = []
    if item.log_dirs:
        if version >= 3:
            out = bytearray()
            write_length(out, len(item.log_dirs))
            write_uuids(out, item.log_dirs)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("log_dirs", version)
    if item.cordoned_log_dirs is not None:
        if version >= 4:
            out = bytearray()
            write_length(out, len(item.cordoned_log_dirs))
            write_uuids(out, item.cordoned_log_dirs)
            known.append(TaggedField(1, bytes(out)))
        else:
            raise not_in_version("cordoned_log_dirs", version)
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_partition_record_tags(item: PartitionRecord, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.leader_recovery_state,) = _S_INT8.unpack_from(data, at)
            at += 1
        elif tag == 1:
            if not (version >= 2):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            if n < 0:
                item.eligible_leader_replicas = None
            else:
                item.eligible_leader_replicas, at = read_integers(data, at, n, "i", 4)
        elif tag == 2:
            if not (version >= 2):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            if n < 0:
                item.last_known_elr = None
            else:
                item.last_known_elr, at = read_integers(data, at, n, "i", 4)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_partition_record_tags(target: bytearray, item: PartitionRecord, version: int) -> None:
    known: list[TaggedField] = []
    if item.leader_recovery_state:
        out = bytearray()
        out += _S_INT8.pack(item.leader_recovery_state)
        known.append(TaggedField(0, bytes(out)))
    if item.eligible_leader_replicas is not None:
        if version >= 2:
            out = bytearray()
            write_length(out, len(item.eligible_leader_replicas))
            write_integers(out, item.eligible_leader_replicas, "i")
            known.append(TaggedField(1, bytes(out)))
        else:
            raise not_in_version("eligible_leader_replicas", version)
    if item.last_known_elr is not None:
        if version >= 2:
            out = bytearray()
            write_length(out, len(item.last_known_elr))
            write_integers(out, item.last_known_elr, "i")
            known.append(TaggedField(2, bytes(out)))
        else:
            raise not_in_version("last_known_elr", version)
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_partition_change_record_tags(item: PartitionChangeRecord, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n, at = read_length(data, at)
            if n < 0:
                item.isr = None
            else:
                item.isr, at = read_integers(data, at, n, "i", 4)
        elif tag == 1:
            (item.leader,) = _S_INT32.unpack_from(data, at)
            at += 4
        elif tag == 2:
            n, at = read_length(data, at)
            if n < 0:
                item.replicas = None
            else:
                item.replicas, at = read_integers(data, at, n, "i", 4)
        elif tag == 3:
            n, at = read_length(data, at)
            if n < 0:
                item.removing_replicas = None
            else:
                item.removing_replicas, at = read_integers(data, at, n, "i", 4)
        elif tag == 4:
            n, at = read_length(data, at)
            if n < 0:
                item.adding_replicas = None
            else:
                item.adding_replicas, at = read_integers(data, at, n, "i", 4)
        elif tag == 5:
            (item.leader_recovery_state,) = _S_INT8.unpack_from(data, at)
            at += 1
        elif tag == 8:
            if not (version >= 1):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            if n < 0:
                item.directories = None
            else:
                item.directories, at = read_uuids(data, at, n)
        elif tag == 6:
            if not (version >= 2):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            if n < 0:
                item.eligible_leader_replicas = None
            else:
                item.eligible_leader_replicas, at = read_integers(data, at, n, "i", 4)
        elif tag == 7:
            if not (version >= 2):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            if n < 0:
                item.last_known_elr = None
            else:
                item.last_known_elr, at = read_integers(data, at, n, "i", 4)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_partition_change_record_tags(target: bytearray, item: PartitionChangeRecord, version: int) -> None:
    known: list[TaggedField] = []
    if item.isr is not None:
        out = bytearray()
        write_length(out, len(item.isr))
        write_integers(out, item.isr, "i")
        known.append(TaggedField(0, bytes(out)))
    if item.leader != -2:
        out = bytearray()
        out += _S_INT32.pack(item.leader)
        known.append(TaggedField(1, bytes(out)))
    if item.replicas is not None:
        out = bytearray()
        write_length(out, len(item.replicas))
        write_integers(out, item.replicas, "i")
        known.append(TaggedField(2, bytes(out)))
    if item.removing_replicas is not None:
        out = bytearray()
        write_length(out, len(item.removing_replicas))
        write_integers(out, item.removing_replicas, "i")
        known.append(TaggedField(3, bytes(out)))
    if item.adding_replicas is not None:
        out = bytearray()
        write_length(out, len(item.adding_replicas))
        write_integers(out, item.adding_replicas, "i")
        known.append(TaggedField(4, bytes(out)))
    if item.leader_recovery_state != -1:
        out = bytearray()
        out += _S_INT8.pack(item.leader_recovery_state)
        known.append(TaggedField(5, bytes(out)))
    if item.directories is not None:
        if version >= 1:
            out = bytearray()
            write_length(out, len(item.directories))
            write_uuids(out, item.directories)
            known.append(TaggedField(8, bytes(out)))
        else:
            raise not_in_version("directories", version)
    if item.eligible_leader_replicas is not None:
        if version >= 2:
            out = bytearray()
            write_length(out, len(item.eligible_leader_replicas))
            write_integers(out, item.eligible_leader_replicas, "i")
            known.append(TaggedField(6, bytes(out)))
        else:
            raise not_in_version("eligible_leader_replicas", version)
    if item.last_known_elr is not None:
        if version >= 2:
            out = bytearray()
            write_length(out, len(item.last_known_elr))
            write_integers(out, item.last_known_elr, "i")
            known.append(TaggedField(7, bytes(out)))
        else:
            raise not_in_version("last_known_elr", version)
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_entity_data(data: bytes, at: int, version: int, count: int) -> tuple[list[EntityData], int]:
    items: list[EntityData] = []
    for _ in range(count):
        item = _new(EntityData)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.entity_type = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.entity_name = None
        else:
            at += n
            item.entity_name = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_entity_data(out: bytearray, items: Iterable[EntityData], version: int) -> None:
    for item in items:
        write_compact_string(out, item.entity_type)
        if item.entity_name is None:
            out.append(0)
        else:
            write_compact_string(out, item.entity_name)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_broker_registration_change_record_tags(item: BrokerRegistrationChangeRecord, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.fenced,) = _S_INT8.unpack_from(data, at)
            at += 1
        elif tag == 1:
            if not (version >= 1):
                raise tag_refused(tag, version)
            (item.in_controlled_shutdown,) = _S_INT8.unpack_from(data, at)
            at += 1
        elif tag == 2:
            if not (version >= 2):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            item.log_dirs, at = read_uuids(data, at, n)
        elif tag == 3:
            if not (version >= 3):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            if n < 0:
                item.cordoned_log_dirs = None
            else:
                item.cordoned_log_dirs, at = read_uuids(data, at, n)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_broker_registration_change_record_tags(target: bytearray, item: BrokerRegistrationChangeRecord, version: int) -> None:
    known: list[TaggedField] = []
    if item.fenced:
        out = bytearray()
        out += _S_INT8.pack(item.fenced)
        known.append(TaggedField(0, bytes(out)))
    if item.in_controlled_shutdown:
        if version >= 1:
            out = bytearray()
            out += _S_INT8.pack(item.in_controlled_shutdown)
            known.append(TaggedField(1, bytes(out)))
        else:
            raise not_in_version("in_controlled_shutdown", version)
    if item.log_dirs:
        if version >= 2:
            out = bytearray()
            write_length(out, len(item.log_dirs))
            write_uuids(out, item.log_dirs)
            known.append(TaggedField(2, bytes(out)))
        else:
            raise not_in_version("log_dirs", version)
    if item.cordoned_log_dirs is not None:
        if version >= 3:
            out = bytearray()
            write_length(out, len(item.cordoned_log_dirs))
            write_uuids(out, item.cordoned_log_dirs)
            known.append(TaggedField(3, bytes(out)))
        else:
            raise not_in_version("cordoned_log_dirs", version)
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_begin_transaction_record_tags(item: BeginTransactionRecord, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n, at = read_string_length(data, at)
            if n < 0:
                item.name = None
            else:
                at += n
                item.name = data[at - n : at].decode("utf-8", LENIENT)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_begin_transaction_record_tags(target: bytearray, item: BeginTransactionRecord, version: int) -> None:
    known: list[TaggedField] = []
    if item.name is not None:
        out = bytearray()
        write_compact_string(out, item.name)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_abort_transaction_record_tags(item: AbortTransactionRecord, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n, at = read_string_length(data, at)
            if n < 0:
                item.reason = None
            else:
                at += n
                item.reason = data[at - n : at].decode("utf-8", LENIENT)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_abort_transaction_record_tags(target: bytearray, item: AbortTransactionRecord, version: int) -> None:
    known: list[TaggedField] = []
    if item.reason is not None:
        out = bytearray()
        write_compact_string(out, item.reason)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)


def _read_controller_endpoint(data: bytes, at: int, version: int, count: int) -> tuple[list[ControllerEndpoint], int]:
    items: list[ControllerEndpoint] = []
    for _ in range(count):
        item = _new(ControllerEndpoint)
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
            raise null_refused()
        at += n
        item.host = data[at - n : at].decode("utf-8", LENIENT)
        item.port, item.security_protocol, tags = _S_UINT16_INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_controller_endpoint(out: bytearray, items: Iterable[ControllerEndpoint], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_string(out, item.host)
        out += _S_UINT16_INT16.pack(item.port, item.security_protocol)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_controller_feature(data: bytes, at: int, version: int, count: int) -> tuple[list[ControllerFeature], int]:
    items: list[ControllerFeature] = []
    for _ in range(count):
        item = _new(ControllerFeature)
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
        item.min_supported_version, item.max_supported_version, tags = _S_2INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_controller_feature(out: bytearray, items: Iterable[ControllerFeature], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _S_2INT16.pack(item.min_supported_version, item.max_supported_version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

MetadataRecord = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | PartitionRecord
    | ConfigRecord
    | PartitionChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RemoveTopicRecord
    | DelegationTokenRecord
    | UserScramCredentialRecord
    | FeatureLevelRecord
    | ClientQuotaRecord
    | ProducerIdsRecord
    | BrokerRegistrationChangeRecord
    | AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | NoOpRecord
    | ZkMigrationStateRecord
    | RemoveUserScramCredentialRecord
    | BeginTransactionRecord
    | EndTransactionRecord
    | AbortTransactionRecord
    | RemoveDelegationTokenRecord
    | RegisterControllerRecord
    | ClearElrRecord
)

METADATA_RECORDS: Final[dict[int, type[MetadataRecord]]] = {
    0: RegisterBrokerRecord,
    1: UnregisterBrokerRecord,
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    7: FenceBrokerRecord,
    8: UnfenceBrokerRecord,
    9: RemoveTopicRecord,
    10: DelegationTokenRecord,
    11: UserScramCredentialRecord,
    12: FeatureLevelRecord,
    14: ClientQuotaRecord,
    15: ProducerIdsRecord,
    17: BrokerRegistrationChangeRecord,
    18: AccessControlEntryRecord,
    19: RemoveAccessControlEntryRecord,
    20: NoOpRecord,
    21: ZkMigrationStateRecord,
    22: RemoveUserScramCredentialRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    25: AbortTransactionRecord,
    26: RemoveDelegationTokenRecord,
    27: RegisterControllerRecord,
    28: ClearElrRecord,
}

SCHEMA: Final = """\
metadata RegisterBrokerRecord key=0 versions=0-4 flexible=0+
  brokerId               int32
  isMigratingZkBroker    bool              2+
  incarnationId          uuid
  brokerEpoch            int64
  endPoints              []BrokerEndpoint
    name                 string
    host                 string
    port                 uint16
    securityProtocol     int16
  features               []BrokerFeature
    name                 string
    minSupportedVersion  int16
    maxSupportedVersion  int16
  rack                   string            nullable
  fenced                 bool              default=true
  inControlledShutdown   bool              1+
  logDirs                []uuid            3+ tag=0
  cordonedLogDirs        []uuid            4 nullable tag=1 default=null

metadata UnregisterBrokerRecord key=1 versions=0 flexible=0+
  brokerId     int32
  brokerEpoch  int64

metadata TopicRecord key=2 versions=0 flexible=0+
  name     string
  topicId  uuid

metadata PartitionRecord key=3 versions=0-2 flexible=0+
  partitionId             int32    default=-1
  topicId                 uuid
  replicas                []int32
  isr                     []int32
  removingReplicas        []int32
  addingReplicas          []int32
  leader                  int32    default=-1
  leaderRecoveryState     int8     tag=0
  leaderEpoch             int32    default=-1
  partitionEpoch          int32    default=-1
  directories             []uuid   1+
  eligibleLeaderReplicas  []int32  2 nullable tag=1 default=null
  lastKnownElr            []int32  2 nullable tag=2 default=null

metadata ConfigRecord key=4 versions=0 flexible=0+
  resourceType  int8
  resourceName  string
  name          string
  value         string  nullable

metadata PartitionChangeRecord key=5 versions=0-2 flexible=0+
  partitionId             int32    default=-1
  topicId                 uuid
  isr                     []int32  nullable tag=0 default=null
  leader                  int32    tag=1 default=-2
  replicas                []int32  nullable tag=2 default=null
  removingReplicas        []int32  nullable tag=3 default=null
  addingReplicas          []int32  nullable tag=4 default=null
  leaderRecoveryState     int8     tag=5 default=-1
  directories             []uuid   1+ nullable tag=8 default=null
  eligibleLeaderReplicas  []int32  2 nullable tag=6 default=null
  lastKnownElr            []int32  2 nullable tag=7 default=null

metadata FenceBrokerRecord key=7 versions=0 flexible=0+
  id     int32
  epoch  int64

metadata UnfenceBrokerRecord key=8 versions=0 flexible=0+
  id     int32
  epoch  int64

metadata RemoveTopicRecord key=9 versions=0 flexible=0+
  topicId  uuid

metadata DelegationTokenRecord key=10 versions=0 flexible=0+
  owner                string
  requester            string
  renewers             []string
  issueTimestamp       int64
  maxTimestamp         int64
  expirationTimestamp  int64
  tokenId              string

metadata UserScramCredentialRecord key=11 versions=0 flexible=0+
  name        string
  mechanism   int8
  salt        bytes
  storedKey   bytes
  serverKey   bytes
  iterations  int32

metadata FeatureLevelRecord key=12 versions=0 flexible=0+
  name          string
  featureLevel  int16

metadata ClientQuotaRecord key=14 versions=0 flexible=0+
  entity        []EntityData
    entityType  string
    entityName  string        nullable
  key           string
  value         float64
  remove        bool

metadata ProducerIdsRecord key=15 versions=0 flexible=0+
  brokerId        int32
  brokerEpoch     int64  default=-1
  nextProducerId  int64

metadata BrokerRegistrationChangeRecord key=17 versions=0-3 flexible=0+
  brokerId              int32
  brokerEpoch           int64
  fenced                int8    tag=0
  inControlledShutdown  int8    1+ tag=1
  logDirs               []uuid  2+ tag=2
  cordonedLogDirs       []uuid  3 nullable tag=3 default=null

metadata AccessControlEntryRecord key=18 versions=0 flexible=0+
  id              uuid
  resourceType    int8
  resourceName    string
  patternType     int8
  principal       string
  host            string
  operation       int8
  permissionType  int8

metadata RemoveAccessControlEntryRecord key=19 versions=0 flexible=0+
  id  uuid

metadata NoOpRecord key=20 versions=0 flexible=0+

metadata ZkMigrationStateRecord key=21 versions=0 flexible=0+
  zkMigrationState  int8

metadata RemoveUserScramCredentialRecord key=22 versions=0 flexible=0+
  name       string
  mechanism  int8

metadata BeginTransactionRecord key=23 versions=0 flexible=0+
  name  string  nullable tag=0 default=null

metadata EndTransactionRecord key=24 versions=0 flexible=0+

metadata AbortTransactionRecord key=25 versions=0 flexible=0+
  reason  string  nullable tag=0 default=null

metadata RemoveDelegationTokenRecord key=26 versions=0 flexible=0+
  tokenId  string

metadata RegisterControllerRecord key=27 versions=0 flexible=0+
  controllerId           int32
  incarnationId          uuid
  zkMigrationReady       bool
  endPoints              []ControllerEndpoint
    name                 string
    host                 string
    port                 uint16
    securityProtocol     int16
  features               []ControllerFeature
    name                 string
    minSupportedVersion  int16
    maxSupportedVersion  int16

metadata ClearElrRecord key=28 versions=0 flexible=0+
  topicName  string
"""
