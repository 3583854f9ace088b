"""metadata messages: RegisterBrokerRecord to ClearElrRecord.

Written by `make codegen` from codegen/schemas/metadata_records.txt.
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
    null_refused,
    past_end,
    read_compact_int32s,
    read_compact_int32s_or_null,
    read_compact_string,
    read_compact_string_or_null,
    read_compact_strings,
    read_length,
    read_uuids,
    read_uvarint,
    tag_refused,
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
    not_in_version,
    uuid_refused,
    write_compact_int32s,
    write_compact_string,
    write_compact_strings,
    write_string_length,
    write_uuids,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_FLOAT64_BOOL: Final = Struct(">d?")
_FLOAT64_BOOL_BYTE: Final = Struct(">d?B")
_FLOAT64_BOOL_ZERO: Final = Struct(">d?x")
_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT16_ZERO: Final = Struct(">hx")
_INT32: Final = Struct(">i")
_INT32_2INT64: Final = Struct(">iqq")
_INT32_2INT64_BYTE: Final = Struct(">iqqB")
_INT32_2INT64_ZERO: Final = Struct(">iqqx")
_INT32_BOOL_UUID_INT64: Final = Struct(">i?16sq")
_INT32_BOOL_UUID_INT64_BYTE: Final = Struct(">i?16sqB")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_INT64_ZERO: Final = Struct(">iqx")
_INT32_UUID: Final = Struct(">i16s")
_INT32_UUID_BOOL: Final = Struct(">i16s?")
_INT32_UUID_BOOL_BYTE: Final = Struct(">i16s?B")
_INT32_UUID_BYTE: Final = Struct(">i16sB")
_INT32_UUID_INT64: Final = Struct(">i16sq")
_INT32_UUID_INT64_BYTE: Final = Struct(">i16sqB")
_INT32_UUID_ZERO: Final = Struct(">i16sx")
_INT32_ZERO: Final = Struct(">ix")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_ZERO: Final = Struct(">bx")
_S2BOOL: Final = Struct(">??")
_S2BOOL_BYTE: Final = Struct(">??B")
_S2BOOL_ZERO: Final = Struct(">??x")
_S2INT16: Final = Struct(">hh")
_S2INT16_BYTE: Final = Struct(">hhB")
_S2INT16_ZERO: Final = Struct(">hhx")
_S2INT8: Final = Struct(">bb")
_S2INT8_BYTE: Final = Struct(">bbB")
_S2INT8_ZERO: Final = Struct(">bbx")
_S3INT32: Final = Struct(">iii")
_S3INT32_BYTE: Final = Struct(">iiiB")
_S3INT64: Final = Struct(">qqq")
_S3INT64_BYTE: Final = Struct(">qqqB")
_UINT16_INT16: Final = Struct(">Hh")
_UINT16_INT16_BYTE: Final = Struct(">HhB")
_UINT16_INT16_ZERO: Final = Struct(">Hhx")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_UUID_INT8: Final = Struct(">16sb")
_UUID_INT8_BYTE: Final = Struct(">16sbB")
_UUID_ZERO: Final = Struct(">16sx")
_new: Final = object.__new__


class BrokerEndpoint(MessageValue):
    """In `RegisterBrokerRecord.end_points`, versions 0-4."""

    __slots__ = ("name", "host", "port", "security_protocol", "unknown_tagged_fields")

    name: str
    host: str
    port: int
    security_protocol: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol
        self.unknown_tagged_fields = unknown_tagged_fields


class BrokerFeature(MessageValue):
    """In `RegisterBrokerRecord.features`, versions 0-4."""

    __slots__ = ("name", "min_supported_version", "max_supported_version", "unknown_tagged_fields")

    name: str
    min_supported_version: int
    max_supported_version: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version
        self.unknown_tagged_fields = unknown_tagged_fields


class RegisterBrokerRecord(MessageValue):
    """Metadata of type 0, versions 0-4."""

    __slots__ = (
        "broker_id",
        "is_migrating_zk_broker",
        "incarnation_id",
        "broker_epoch",
        "end_points",
        "features",
        "rack",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
        "unknown_tagged_fields",
    )

    broker_id: int
    is_migrating_zk_broker: bool  # 2+
    incarnation_id: Uuid
    broker_epoch: int
    end_points: list[BrokerEndpoint]
    features: list[BrokerFeature]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool  # 1+
    log_dirs: list[Uuid]  # 3+, tag 0
    cordoned_log_dirs: list[Uuid] | None  # 4, tag 1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: Uuid = ZERO_UUID,
        broker_epoch: int = 0,
        end_points: list[BrokerEndpoint] = UNSET,
        features: list[BrokerFeature] = UNSET,
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: list[Uuid] = UNSET,
        cordoned_log_dirs: list[Uuid] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.incarnation_id = incarnation_id
        self.broker_epoch = broker_epoch
        self.end_points = [] if end_points is UNSET else end_points
        self.features = [] if features is UNSET else features
        self.rack = rack
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is UNSET else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            n = len(self.end_points) + 1
            if version >= 2:
                if len(self.incarnation_id) != 16:
                    raise uuid_refused(self.incarnation_id)
                if n < 128:
                    out += _INT32_BOOL_UUID_INT64_BYTE.pack(
                        self.broker_id,
                        self.is_migrating_zk_broker,
                        self.incarnation_id,
                        self.broker_epoch,
                        n,
                    )
                else:
                    out += _INT32_BOOL_UUID_INT64.pack(
                        self.broker_id,
                        self.is_migrating_zk_broker,
                        self.incarnation_id,
                        self.broker_epoch,
                    )
                    write_uvarint(out, n)
            else:
                if len(self.incarnation_id) != 16:
                    raise uuid_refused(self.incarnation_id)
                if n < 128:
                    out += _INT32_UUID_INT64_BYTE.pack(
                        self.broker_id, self.incarnation_id, self.broker_epoch, n
                    )
                else:
                    out += _INT32_UUID_INT64.pack(
                        self.broker_id, self.incarnation_id, self.broker_epoch
                    )
                    write_uvarint(out, n)
                if self.is_migrating_zk_broker:
                    raise not_in_version("is_migrating_zk_broker", version)
            _write_broker_endpoint(out, self.end_points, version)
            n = len(self.features) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_broker_feature(out, self.features, version)
            if self.rack is None:
                raw = b""
                n = 0
            else:
                raw = self.rack.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if version >= 1:
                if (
                    self.log_dirs
                    or self.cordoned_log_dirs is not None
                    or self.unknown_tagged_fields
                ):
                    out += _S2BOOL.pack(self.fenced, self.in_controlled_shutdown)
                    _write_register_broker_record_tags(out, self, version)
                else:
                    out += _S2BOOL_ZERO.pack(self.fenced, self.in_controlled_shutdown)
            else:
                if (
                    self.log_dirs
                    or self.cordoned_log_dirs is not None
                    or self.unknown_tagged_fields
                ):
                    out += _BOOL.pack(self.fenced)
                    _write_register_broker_record_tags(out, self, version)
                else:
                    out += _BOOL_ZERO.pack(self.fenced)
                if self.in_controlled_shutdown:
                    raise not_in_version("in_controlled_shutdown", version)
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
            if version >= 2:
                (
                    message.broker_id,
                    message.is_migrating_zk_broker,
                    message.incarnation_id,
                    message.broker_epoch,
                    n,
                ) = _INT32_BOOL_UUID_INT64_BYTE.unpack_from(data, at)
                at += 29
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (
                    message.broker_id,
                    message.incarnation_id,
                    message.broker_epoch,
                    n,
                ) = _INT32_UUID_INT64_BYTE.unpack_from(data, at)
                at += 28
                message.is_migrating_zk_broker = False
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            if not 0 <= n * 7 <= limit - at:
                raise count_refused(n, limit - at)
            message.end_points, at = _read_broker_endpoint(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.features, at = _read_broker_feature(data, at, version, n)
            n = data[at]
            if 0 < n < 128:
                message.rack = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.rack, at = read_compact_string_or_null(data, at)
            if version >= 1:
                (
                    message.fenced,
                    message.in_controlled_shutdown,
                    tags,
                ) = _S2BOOL_BYTE.unpack_from(data, at)
                at += 3
            else:
                message.fenced, tags = _BOOL_BYTE.unpack_from(data, at)
                at += 2
                message.in_controlled_shutdown = False
            message.log_dirs = []
            message.cordoned_log_dirs = None
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_register_broker_record_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class UnregisterBrokerRecord(MessageValue):
    """Metadata of type 1, version 0."""

    __slots__ = ("broker_id", "broker_epoch", "unknown_tagged_fields")

    broker_id: int
    broker_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT32_INT64.pack(self.broker_id, self.broker_epoch)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_INT64_ZERO.pack(self.broker_id, self.broker_epoch)
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
            message.broker_id, message.broker_epoch, tags = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class TopicRecord(MessageValue):
    """Metadata of type 2, version 0."""

    __slots__ = ("name", "topic_id", "unknown_tagged_fields")

    name: str
    topic_id: Uuid
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 2
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if len(self.topic_id) != 16:
                raise uuid_refused(self.topic_id)
            if self.unknown_tagged_fields:
                out += _UUID.pack(self.topic_id)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _UUID_ZERO.pack(self.topic_id)
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
                message.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.name, at = read_compact_string(data, at)
            message.topic_id, tags = _UUID_BYTE.unpack_from(data, at)
            at += 17
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class PartitionRecord(MessageValue):
    """Metadata of type 3, versions 0-2."""

    __slots__ = (
        "partition_id",
        "topic_id",
        "replicas",
        "isr",
        "removing_replicas",
        "adding_replicas",
        "leader",
        "leader_recovery_state",
        "leader_epoch",
        "partition_epoch",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
        "unknown_tagged_fields",
    )

    partition_id: int
    topic_id: Uuid
    replicas: list[int]
    isr: list[int]
    removing_replicas: list[int]
    adding_replicas: list[int]
    leader: int
    leader_recovery_state: int  # tag 0
    leader_epoch: int
    partition_epoch: int
    directories: list[Uuid]  # 1+
    eligible_leader_replicas: list[int] | None  # 2, tag 1
    last_known_elr: list[int] | None  # 2, tag 2
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: Uuid = ZERO_UUID,
        replicas: list[int] = UNSET,
        isr: list[int] = UNSET,
        removing_replicas: list[int] = UNSET,
        adding_replicas: list[int] = UNSET,
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: list[Uuid] = UNSET,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.replicas = [] if replicas is UNSET else replicas
        self.isr = [] if isr is UNSET else isr
        self.removing_replicas = [] if removing_replicas is UNSET else removing_replicas
        self.adding_replicas = [] if adding_replicas is UNSET else adding_replicas
        self.leader = leader
        self.leader_recovery_state = leader_recovery_state
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = [] if directories is UNSET else directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 3
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if len(self.topic_id) != 16:
                raise uuid_refused(self.topic_id)
            out += _INT32_UUID.pack(self.partition_id, self.topic_id)
            write_compact_int32s(out, self.replicas)
            write_compact_int32s(out, self.isr)
            write_compact_int32s(out, self.removing_replicas)
            write_compact_int32s(out, self.adding_replicas)
            if version >= 1:
                n = len(self.directories) + 1
            if version >= 1:
                if n < 128:
                    out += _S3INT32_BYTE.pack(
                        self.leader, self.leader_epoch, self.partition_epoch, n
                    )
                else:
                    out += _S3INT32.pack(self.leader, self.leader_epoch, self.partition_epoch)
                    write_uvarint(out, n)
            else:
                out += _S3INT32.pack(self.leader, self.leader_epoch, self.partition_epoch)
                if self.directories:
                    raise not_in_version("directories", version)
            if version >= 1:
                write_uuids(out, self.directories)
            if (
                self.leader_recovery_state
                or self.eligible_leader_replicas is not None
                or self.last_known_elr is not None
                or self.unknown_tagged_fields
            ):
                _write_partition_record_tags(out, self, version)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.partition_id, message.topic_id, n = _INT32_UUID_BYTE.unpack_from(data, at)
            at += 20
            if 0 < n < 17:
                message.replicas = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                message.replicas, at = read_compact_int32s(data, at)
            n = data[at]
            if 0 < n < 17:
                message.isr = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                message.isr, at = read_compact_int32s(data, at)
            n = data[at]
            if 0 < n < 17:
                message.removing_replicas = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                message.removing_replicas, at = read_compact_int32s(data, at)
            n = data[at]
            if 0 < n < 17:
                message.adding_replicas = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                message.adding_replicas, at = read_compact_int32s(data, at)
            if version >= 1:
                (
                    message.leader,
                    message.leader_epoch,
                    message.partition_epoch,
                    n,
                ) = _S3INT32_BYTE.unpack_from(data, at)
                at += 12
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (
                    message.leader,
                    message.leader_epoch,
                    message.partition_epoch,
                ) = _S3INT32.unpack_from(data, at)
                at += 12
                message.directories = []
            if version >= 1:
                message.directories, at = read_uuids(data, at, n)
            tags = data[at]
            at += 1
            message.leader_recovery_state = 0
            message.eligible_leader_replicas = None
            message.last_known_elr = None
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_partition_record_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ConfigRecord(MessageValue):
    """Metadata of type 4, version 0."""

    __slots__ = ("resource_type", "resource_name", "name", "value", "unknown_tagged_fields")

    resource_type: int
    resource_name: str
    name: str
    value: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 4
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.resource_name.encode()
            n = len(raw) + 1
            if n < 128:
                out += _INT8_BYTE.pack(self.resource_type, n)
            else:
                out += _INT8.pack(self.resource_type)
                write_string_length(out, n)
            out += raw
            raw = self.name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.value is None:
                raw = b""
                n = 0
            else:
                raw = self.value.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
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
            message.resource_type, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if 0 < n < 128:
                message.resource_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.resource_name, at = read_compact_string(data, at)
            n = data[at]
            if 0 < n < 128:
                message.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.name, at = read_compact_string(data, at)
            n = data[at]
            if 0 < n < 128:
                message.value = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.value, at = read_compact_string_or_null(data, at)
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


class PartitionChangeRecord(MessageValue):
    """Metadata of type 5, versions 0-2."""

    __slots__ = (
        "partition_id",
        "topic_id",
        "isr",
        "leader",
        "replicas",
        "removing_replicas",
        "adding_replicas",
        "leader_recovery_state",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
        "unknown_tagged_fields",
    )

    partition_id: int
    topic_id: Uuid
    isr: list[int] | None  # tag 0
    leader: int  # tag 1
    replicas: list[int] | None  # tag 2
    removing_replicas: list[int] | None  # tag 3
    adding_replicas: list[int] | None  # tag 4
    leader_recovery_state: int  # tag 5
    directories: list[Uuid] | None  # 1+, tag 8
    eligible_leader_replicas: list[int] | None  # 2, tag 6
    last_known_elr: list[int] | None  # 2, tag 7
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: Uuid = ZERO_UUID,
        isr: list[int] | None = None,
        leader: int = -2,
        replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        leader_recovery_state: int = -1,
        directories: list[Uuid] | None = None,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.isr = isr
        self.leader = leader
        self.replicas = replicas
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.directories = directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 5
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if len(self.topic_id) != 16:
                raise uuid_refused(self.topic_id)
            if (
                self.isr is not None
                or self.leader != -2
                or self.replicas is not None
                or self.removing_replicas is not None
                or self.adding_replicas is not None
                or self.leader_recovery_state != -1
                or self.directories is not None
                or self.eligible_leader_replicas is not None
                or self.last_known_elr is not None
                or self.unknown_tagged_fields
            ):
                out += _INT32_UUID.pack(self.partition_id, self.topic_id)
                _write_partition_change_record_tags(out, self, version)
            else:
                out += _INT32_UUID_ZERO.pack(self.partition_id, self.topic_id)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.partition_id, message.topic_id, tags = _INT32_UUID_BYTE.unpack_from(data, at)
            at += 21
            message.isr = None
            message.leader = -2
            message.replicas = None
            message.removing_replicas = None
            message.adding_replicas = None
            message.leader_recovery_state = -1
            message.directories = None
            message.eligible_leader_replicas = None
            message.last_known_elr = None
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_partition_change_record_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class FenceBrokerRecord(MessageValue):
    """Metadata of type 7, version 0."""

    __slots__ = ("id", "epoch", "unknown_tagged_fields")

    id: int
    epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, id: int = 0, epoch: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.id = id
        self.epoch = epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 7
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT32_INT64.pack(self.id, self.epoch)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_INT64_ZERO.pack(self.id, self.epoch)
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
            message.id, message.epoch, tags = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class UnfenceBrokerRecord(MessageValue):
    """Metadata of type 8, version 0."""

    __slots__ = ("id", "epoch", "unknown_tagged_fields")

    id: int
    epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, id: int = 0, epoch: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.id = id
        self.epoch = epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 8
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT32_INT64.pack(self.id, self.epoch)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_INT64_ZERO.pack(self.id, self.epoch)
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
            message.id, message.epoch, tags = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class RemoveTopicRecord(MessageValue):
    """Metadata of type 9, version 0."""

    __slots__ = ("topic_id", "unknown_tagged_fields")

    topic_id: Uuid
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, topic_id: Uuid = ZERO_UUID, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.topic_id = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 9
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if len(self.topic_id) != 16:
                raise uuid_refused(self.topic_id)
            if self.unknown_tagged_fields:
                out += _UUID.pack(self.topic_id)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _UUID_ZERO.pack(self.topic_id)
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
            message.topic_id, tags = _UUID_BYTE.unpack_from(data, at)
            at += 17
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class DelegationTokenRecord(MessageValue):
    """Metadata of type 10, version 0."""

    __slots__ = (
        "owner",
        "requester",
        "renewers",
        "issue_timestamp",
        "max_timestamp",
        "expiration_timestamp",
        "token_id",
        "unknown_tagged_fields",
    )

    owner: str
    requester: str
    renewers: list[str]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        owner: str = "",
        requester: str = "",
        renewers: list[str] = UNSET,
        issue_timestamp: int = 0,
        max_timestamp: int = 0,
        expiration_timestamp: int = 0,
        token_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.owner = owner
        self.requester = requester
        self.renewers = [] if renewers is UNSET else renewers
        self.issue_timestamp = issue_timestamp
        self.max_timestamp = max_timestamp
        self.expiration_timestamp = expiration_timestamp
        self.token_id = token_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 10
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.owner.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            raw = self.requester.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = len(self.renewers) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            write_compact_strings(out, self.renewers)
            raw = self.token_id.encode()
            n = len(raw) + 1
            if n < 128:
                out += _S3INT64_BYTE.pack(
                    self.issue_timestamp, self.max_timestamp, self.expiration_timestamp, n
                )
            else:
                out += _S3INT64.pack(
                    self.issue_timestamp, self.max_timestamp, self.expiration_timestamp
                )
                write_string_length(out, n)
            out += raw
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
                message.owner = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.owner, at = read_compact_string(data, at)
            n = data[at]
            if 0 < n < 128:
                message.requester = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.requester, at = read_compact_string(data, at)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.renewers, at = read_compact_strings(data, at, n)
            (
                message.issue_timestamp,
                message.max_timestamp,
                message.expiration_timestamp,
                n,
            ) = _S3INT64_BYTE.unpack_from(data, at)
            at += 24
            if 0 < n < 128:
                message.token_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.token_id, at = read_compact_string(data, at)
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


class UserScramCredentialRecord(MessageValue):
    """Metadata of type 11, version 0."""

    __slots__ = (
        "name",
        "mechanism",
        "salt",
        "stored_key",
        "server_key",
        "iterations",
        "unknown_tagged_fields",
    )

    name: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 11
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = len(self.salt) + 1
            if n < 128:
                out += _INT8_BYTE.pack(self.mechanism, n)
            else:
                out += _INT8.pack(self.mechanism)
                write_uvarint(out, n)
            out += self.salt
            n = len(self.stored_key) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += self.stored_key
            n = len(self.server_key) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += self.server_key
            if self.unknown_tagged_fields:
                out += _INT32.pack(self.iterations)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_ZERO.pack(self.iterations)
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
                message.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.name, at = read_compact_string(data, at)
            message.mechanism, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                raise null_refused()
            message.salt = data[at : at + n]
            at += n
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                raise null_refused()
            message.stored_key = data[at : at + n]
            at += n
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                raise null_refused()
            message.server_key = data[at : at + n]
            at += n
            message.iterations, tags = _INT32_BYTE.unpack_from(data, at)
            at += 5
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class FeatureLevelRecord(MessageValue):
    """Metadata of type 12, version 0."""

    __slots__ = ("name", "feature_level", "unknown_tagged_fields")

    name: str
    feature_level: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        feature_level: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.feature_level = feature_level
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 12
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.unknown_tagged_fields:
                out += _INT16.pack(self.feature_level)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT16_ZERO.pack(self.feature_level)
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
                message.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.name, at = read_compact_string(data, at)
            message.feature_level, tags = _INT16_BYTE.unpack_from(data, at)
            at += 3
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class EntityData(MessageValue):
    """In `ClientQuotaRecord.entity`, version 0."""

    __slots__ = ("entity_type", "entity_name", "unknown_tagged_fields")

    entity_type: str
    entity_name: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name
        self.unknown_tagged_fields = unknown_tagged_fields


class ClientQuotaRecord(MessageValue):
    """Metadata of type 14, version 0."""

    __slots__ = ("entity", "key", "value", "remove", "unknown_tagged_fields")

    entity: list[EntityData]
    key: str
    value: float
    remove: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        entity: list[EntityData] = UNSET,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity = [] if entity is UNSET else entity
        self.key = key
        self.value = value
        self.remove = remove
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 14
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.entity) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_entity_data(out, self.entity, version)
            raw = self.key.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.unknown_tagged_fields:
                out += _FLOAT64_BOOL.pack(self.value, self.remove)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _FLOAT64_BOOL_ZERO.pack(self.value, self.remove)
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
            message.entity, at = _read_entity_data(data, at, version, n)
            n = data[at]
            if 0 < n < 128:
                message.key = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.key, at = read_compact_string(data, at)
            message.value, message.remove, tags = _FLOAT64_BOOL_BYTE.unpack_from(data, at)
            at += 10
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ProducerIdsRecord(MessageValue):
    """Metadata of type 15, version 0."""

    __slots__ = ("broker_id", "broker_epoch", "next_producer_id", "unknown_tagged_fields")

    broker_id: int
    broker_epoch: int
    next_producer_id: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        next_producer_id: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.next_producer_id = next_producer_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 15
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT32_2INT64.pack(self.broker_id, self.broker_epoch, self.next_producer_id)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_2INT64_ZERO.pack(
                    self.broker_id, self.broker_epoch, self.next_producer_id
                )
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
                message.broker_id,
                message.broker_epoch,
                message.next_producer_id,
                tags,
            ) = _INT32_2INT64_BYTE.unpack_from(data, at)
            at += 21
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class BrokerRegistrationChangeRecord(MessageValue):
    """Metadata of type 17, versions 0-3."""

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
        "unknown_tagged_fields",
    )

    broker_id: int
    broker_epoch: int
    fenced: int  # tag 0
    in_controlled_shutdown: int  # 1+, tag 1
    log_dirs: list[Uuid]  # 2+, tag 2
    cordoned_log_dirs: list[Uuid] | None  # 3, tag 3
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: list[Uuid] = UNSET,
        cordoned_log_dirs: list[Uuid] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is UNSET else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 17
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            if (
                self.fenced
                or self.in_controlled_shutdown
                or self.log_dirs
                or self.cordoned_log_dirs is not None
                or self.unknown_tagged_fields
            ):
                out += _INT32_INT64.pack(self.broker_id, self.broker_epoch)
                _write_broker_registration_change_record_tags(out, self, version)
            else:
                out += _INT32_INT64_ZERO.pack(self.broker_id, self.broker_epoch)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 3:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.broker_id, message.broker_epoch, tags = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            message.fenced = 0
            message.in_controlled_shutdown = 0
            message.log_dirs = []
            message.cordoned_log_dirs = None
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_broker_registration_change_record_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class AccessControlEntryRecord(MessageValue):
    """Metadata of type 18, version 0."""

    __slots__ = (
        "id",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
        "unknown_tagged_fields",
    )

    id: Uuid
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        id: Uuid = ZERO_UUID,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 0,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.id = id
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 18
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.resource_name.encode()
            n = len(raw) + 1
            if len(self.id) != 16:
                raise uuid_refused(self.id)
            if n < 128:
                out += _UUID_INT8_BYTE.pack(self.id, self.resource_type, n)
            else:
                out += _UUID_INT8.pack(self.id, self.resource_type)
                write_string_length(out, n)
            out += raw
            raw = self.principal.encode()
            n = len(raw) + 1
            if n < 128:
                out += _INT8_BYTE.pack(self.pattern_type, n)
            else:
                out += _INT8.pack(self.pattern_type)
                write_string_length(out, n)
            out += raw
            raw = self.host.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.unknown_tagged_fields:
                out += _S2INT8.pack(self.operation, self.permission_type)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _S2INT8_ZERO.pack(self.operation, self.permission_type)
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
            message.id, message.resource_type, n = _UUID_INT8_BYTE.unpack_from(data, at)
            at += 17
            if 0 < n < 128:
                message.resource_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.resource_name, at = read_compact_string(data, at)
            message.pattern_type, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if 0 < n < 128:
                message.principal = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.principal, at = read_compact_string(data, at)
            n = data[at]
            if 0 < n < 128:
                message.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.host, at = read_compact_string(data, at)
            message.operation, message.permission_type, tags = _S2INT8_BYTE.unpack_from(data, at)
            at += 3
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class RemoveAccessControlEntryRecord(MessageValue):
    """Metadata of type 19, version 0."""

    __slots__ = ("id", "unknown_tagged_fields")

    id: Uuid
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, id: Uuid = ZERO_UUID, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.id = id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 19
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if len(self.id) != 16:
                raise uuid_refused(self.id)
            if self.unknown_tagged_fields:
                out += _UUID.pack(self.id)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _UUID_ZERO.pack(self.id)
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
            message.id, tags = _UUID_BYTE.unpack_from(data, at)
            at += 17
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class NoOpRecord(MessageValue):
    """Metadata of type 20, version 0."""

    __slots__ = ("unknown_tagged_fields",)

    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(self, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 20
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
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


class ZkMigrationStateRecord(MessageValue):
    """Metadata of type 21, version 0."""

    __slots__ = ("zk_migration_state", "unknown_tagged_fields")

    zk_migration_state: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, zk_migration_state: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.zk_migration_state = zk_migration_state
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 21
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT8.pack(self.zk_migration_state)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT8_ZERO.pack(self.zk_migration_state)
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
            message.zk_migration_state, tags = _INT8_BYTE.unpack_from(data, at)
            at += 2
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class RemoveUserScramCredentialRecord(MessageValue):
    """Metadata of type 22, version 0."""

    __slots__ = ("name", "mechanism", "unknown_tagged_fields")

    name: str
    mechanism: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 22
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.unknown_tagged_fields:
                out += _INT8.pack(self.mechanism)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT8_ZERO.pack(self.mechanism)
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
                message.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.name, at = read_compact_string(data, at)
            message.mechanism, tags = _INT8_BYTE.unpack_from(data, at)
            at += 2
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class BeginTransactionRecord(MessageValue):
    """Metadata of type 23, version 0."""

    __slots__ = ("name", "unknown_tagged_fields")

    name: str | None  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, name: str | None = None, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.name = name
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 23
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.name is not None or self.unknown_tagged_fields:
                _write_begin_transaction_record_tags(out, self, version)
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
            tags = data[at]
            at += 1
            message.name = None
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_begin_transaction_record_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class EndTransactionRecord(MessageValue):
    """Metadata of type 24, version 0."""

    __slots__ = ("unknown_tagged_fields",)

    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(self, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 24
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
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


class AbortTransactionRecord(MessageValue):
    """Metadata of type 25, version 0."""

    __slots__ = ("reason", "unknown_tagged_fields")

    reason: str | None  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, reason: str | None = None, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.reason = reason
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 25
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.reason is not None or self.unknown_tagged_fields:
                _write_abort_transaction_record_tags(out, self, version)
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
            tags = data[at]
            at += 1
            message.reason = None
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_abort_transaction_record_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class RemoveDelegationTokenRecord(MessageValue):
    """Metadata of type 26, version 0."""

    __slots__ = ("token_id", "unknown_tagged_fields")

    token_id: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, token_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.token_id = token_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 26
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.token_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
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
                message.token_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.token_id, at = read_compact_string(data, at)
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


class ControllerEndpoint(MessageValue):
    """In `RegisterControllerRecord.end_points`, version 0."""

    __slots__ = ("name", "host", "port", "security_protocol", "unknown_tagged_fields")

    name: str
    host: str
    port: int
    security_protocol: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol
        self.unknown_tagged_fields = unknown_tagged_fields


class ControllerFeature(MessageValue):
    """In `RegisterControllerRecord.features`, version 0."""

    __slots__ = ("name", "min_supported_version", "max_supported_version", "unknown_tagged_fields")

    name: str
    min_supported_version: int
    max_supported_version: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version
        self.unknown_tagged_fields = unknown_tagged_fields


class RegisterControllerRecord(MessageValue):
    """Metadata of type 27, version 0."""

    __slots__ = (
        "controller_id",
        "incarnation_id",
        "zk_migration_ready",
        "end_points",
        "features",
        "unknown_tagged_fields",
    )

    controller_id: int
    incarnation_id: Uuid
    zk_migration_ready: bool
    end_points: list[ControllerEndpoint]
    features: list[ControllerFeature]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: Uuid = ZERO_UUID,
        zk_migration_ready: bool = False,
        end_points: list[ControllerEndpoint] = UNSET,
        features: list[ControllerFeature] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.end_points = [] if end_points is UNSET else end_points
        self.features = [] if features is UNSET else features
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 27
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.end_points) + 1
            if len(self.incarnation_id) != 16:
                raise uuid_refused(self.incarnation_id)
            if n < 128:
                out += _INT32_UUID_BOOL_BYTE.pack(
                    self.controller_id, self.incarnation_id, self.zk_migration_ready, n
                )
            else:
                out += _INT32_UUID_BOOL.pack(
                    self.controller_id, self.incarnation_id, self.zk_migration_ready
                )
                write_uvarint(out, n)
            _write_controller_endpoint(out, self.end_points, version)
            n = len(self.features) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_controller_feature(out, self.features, version)
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
                message.controller_id,
                message.incarnation_id,
                message.zk_migration_ready,
                n,
            ) = _INT32_UUID_BOOL_BYTE.unpack_from(data, at)
            at += 21
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 7 <= limit - at:
                raise count_refused(n, limit - at)
            message.end_points, at = _read_controller_endpoint(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.features, at = _read_controller_feature(data, at, version, n)
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


class ClearElrRecord(MessageValue):
    """Metadata of type 28, version 0."""

    __slots__ = ("topic_name", "unknown_tagged_fields")

    topic_name: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, topic_name: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.topic_name = topic_name
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 28
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.topic_name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
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
                message.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.topic_name, at = read_compact_string(data, at)
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


def _read_broker_endpoint(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[BrokerEndpoint], int]:
    items: list[BrokerEndpoint] = []
    for _ in range(count):
        item = _new(BrokerEndpoint)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.host, at = read_compact_string(data, at)
        item.port, item.security_protocol, tags = _UINT16_INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_broker_endpoint(out: bytearray, items: Iterable[BrokerEndpoint], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.host.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _UINT16_INT16.pack(item.port, item.security_protocol)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UINT16_INT16_ZERO.pack(item.port, item.security_protocol)


def _read_broker_feature(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[BrokerFeature], int]:
    items: list[BrokerFeature] = []
    for _ in range(count):
        item = _new(BrokerFeature)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        (
            item.min_supported_version,
            item.max_supported_version,
            tags,
        ) = _S2INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_broker_feature(out: bytearray, items: Iterable[BrokerFeature], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _S2INT16.pack(item.min_supported_version, item.max_supported_version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _S2INT16_ZERO.pack(item.min_supported_version, item.max_supported_version)


def _read_register_broker_record_tags(
    item: RegisterBrokerRecord, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
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


def _write_register_broker_record_tags(
    section: bytearray, item: RegisterBrokerRecord, version: int
) -> None:
    known: list[TaggedField] = []
    if item.log_dirs:
        if version >= 3:
            out = bytearray()
            write_uvarint(out, len(item.log_dirs) + 1)
            write_uuids(out, item.log_dirs)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("log_dirs", version)
    if item.cordoned_log_dirs is not None:
        if version >= 4:
            out = bytearray()
            write_uvarint(out, len(item.cordoned_log_dirs) + 1)
            write_uuids(out, item.cordoned_log_dirs)
            known.append(TaggedField(1, bytes(out)))
        else:
            raise not_in_version("cordoned_log_dirs", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_partition_record_tags(item: PartitionRecord, data: bytes, at: int, version: int) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.leader_recovery_state,) = _INT8.unpack_from(data, at)
            at += 1
        elif tag == 1:
            if not (version >= 2):
                raise tag_refused(tag, version)
            n = data[at]
            if 0 < n < 17:
                item.eligible_leader_replicas = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.eligible_leader_replicas, at = read_compact_int32s_or_null(data, at)
        elif tag == 2:
            if not (version >= 2):
                raise tag_refused(tag, version)
            n = data[at]
            if 0 < n < 17:
                item.last_known_elr = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.last_known_elr, at = read_compact_int32s_or_null(data, at)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_partition_record_tags(section: bytearray, item: PartitionRecord, version: int) -> None:
    known: list[TaggedField] = []
    if item.leader_recovery_state:
        out = bytearray()
        out += _INT8.pack(item.leader_recovery_state)
        known.append(TaggedField(0, bytes(out)))
    if item.eligible_leader_replicas is not None:
        if version >= 2:
            out = bytearray()
            write_compact_int32s(out, item.eligible_leader_replicas)
            known.append(TaggedField(1, bytes(out)))
        else:
            raise not_in_version("eligible_leader_replicas", version)
    if item.last_known_elr is not None:
        if version >= 2:
            out = bytearray()
            write_compact_int32s(out, item.last_known_elr)
            known.append(TaggedField(2, bytes(out)))
        else:
            raise not_in_version("last_known_elr", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_partition_change_record_tags(
    item: PartitionChangeRecord, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n = data[at]
            if 0 < n < 17:
                item.isr = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.isr, at = read_compact_int32s_or_null(data, at)
        elif tag == 1:
            (item.leader,) = _INT32.unpack_from(data, at)
            at += 4
        elif tag == 2:
            n = data[at]
            if 0 < n < 17:
                item.replicas = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.replicas, at = read_compact_int32s_or_null(data, at)
        elif tag == 3:
            n = data[at]
            if 0 < n < 17:
                item.removing_replicas = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.removing_replicas, at = read_compact_int32s_or_null(data, at)
        elif tag == 4:
            n = data[at]
            if 0 < n < 17:
                item.adding_replicas = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.adding_replicas, at = read_compact_int32s_or_null(data, at)
        elif tag == 5:
            (item.leader_recovery_state,) = _INT8.unpack_from(data, at)
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
            n = data[at]
            if 0 < n < 17:
                item.eligible_leader_replicas = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.eligible_leader_replicas, at = read_compact_int32s_or_null(data, at)
        elif tag == 7:
            if not (version >= 2):
                raise tag_refused(tag, version)
            n = data[at]
            if 0 < n < 17:
                item.last_known_elr = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.last_known_elr, at = read_compact_int32s_or_null(data, at)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_partition_change_record_tags(
    section: bytearray, item: PartitionChangeRecord, version: int
) -> None:
    known: list[TaggedField] = []
    if item.isr is not None:
        out = bytearray()
        write_compact_int32s(out, item.isr)
        known.append(TaggedField(0, bytes(out)))
    if item.leader != -2:
        out = bytearray()
        out += _INT32.pack(item.leader)
        known.append(TaggedField(1, bytes(out)))
    if item.replicas is not None:
        out = bytearray()
        write_compact_int32s(out, item.replicas)
        known.append(TaggedField(2, bytes(out)))
    if item.removing_replicas is not None:
        out = bytearray()
        write_compact_int32s(out, item.removing_replicas)
        known.append(TaggedField(3, bytes(out)))
    if item.adding_replicas is not None:
        out = bytearray()
        write_compact_int32s(out, item.adding_replicas)
        known.append(TaggedField(4, bytes(out)))
    if item.leader_recovery_state != -1:
        out = bytearray()
        out += _INT8.pack(item.leader_recovery_state)
        known.append(TaggedField(5, bytes(out)))
    if item.directories is not None:
        if version >= 1:
            out = bytearray()
            write_uvarint(out, len(item.directories) + 1)
            write_uuids(out, item.directories)
            known.append(TaggedField(8, bytes(out)))
        else:
            raise not_in_version("directories", version)
    if item.eligible_leader_replicas is not None:
        if version >= 2:
            out = bytearray()
            write_compact_int32s(out, item.eligible_leader_replicas)
            known.append(TaggedField(6, bytes(out)))
        else:
            raise not_in_version("eligible_leader_replicas", version)
    if item.last_known_elr is not None:
        if version >= 2:
            out = bytearray()
            write_compact_int32s(out, item.last_known_elr)
            known.append(TaggedField(7, bytes(out)))
        else:
            raise not_in_version("last_known_elr", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_entity_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[EntityData], int]:
    items: list[EntityData] = []
    for _ in range(count):
        item = _new(EntityData)
        n = data[at]
        if 0 < n < 128:
            item.entity_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.entity_type, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.entity_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.entity_name, at = read_compact_string_or_null(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_entity_data(out: bytearray, items: Iterable[EntityData], version: int) -> None:
    for item in items:
        raw = item.entity_type.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.entity_name is None:
            raw = b""
            n = 0
        else:
            raw = item.entity_name.encode()
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


def _read_broker_registration_change_record_tags(
    item: BrokerRegistrationChangeRecord, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.fenced,) = _INT8.unpack_from(data, at)
            at += 1
        elif tag == 1:
            if not (version >= 1):
                raise tag_refused(tag, version)
            (item.in_controlled_shutdown,) = _INT8.unpack_from(data, at)
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


def _write_broker_registration_change_record_tags(
    section: bytearray, item: BrokerRegistrationChangeRecord, version: int
) -> None:
    known: list[TaggedField] = []
    if item.fenced:
        out = bytearray()
        out += _INT8.pack(item.fenced)
        known.append(TaggedField(0, bytes(out)))
    if item.in_controlled_shutdown:
        if version >= 1:
            out = bytearray()
            out += _INT8.pack(item.in_controlled_shutdown)
            known.append(TaggedField(1, bytes(out)))
        else:
            raise not_in_version("in_controlled_shutdown", version)
    if item.log_dirs:
        if version >= 2:
            out = bytearray()
            write_uvarint(out, len(item.log_dirs) + 1)
            write_uuids(out, item.log_dirs)
            known.append(TaggedField(2, bytes(out)))
        else:
            raise not_in_version("log_dirs", version)
    if item.cordoned_log_dirs is not None:
        if version >= 3:
            out = bytearray()
            write_uvarint(out, len(item.cordoned_log_dirs) + 1)
            write_uuids(out, item.cordoned_log_dirs)
            known.append(TaggedField(3, bytes(out)))
        else:
            raise not_in_version("cordoned_log_dirs", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_begin_transaction_record_tags(
    item: BeginTransactionRecord, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string_or_null(data, at)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_begin_transaction_record_tags(
    section: bytearray, item: BeginTransactionRecord, version: int
) -> None:
    known: list[TaggedField] = []
    if item.name is not None:
        out = bytearray()
        write_compact_string(out, item.name)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_abort_transaction_record_tags(
    item: AbortTransactionRecord, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n = data[at]
            if 0 < n < 128:
                item.reason = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.reason, at = read_compact_string_or_null(data, at)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_abort_transaction_record_tags(
    section: bytearray, item: AbortTransactionRecord, version: int
) -> None:
    known: list[TaggedField] = []
    if item.reason is not None:
        out = bytearray()
        write_compact_string(out, item.reason)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_controller_endpoint(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ControllerEndpoint], int]:
    items: list[ControllerEndpoint] = []
    for _ in range(count):
        item = _new(ControllerEndpoint)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        n = data[at]
        if 0 < n < 128:
            item.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.host, at = read_compact_string(data, at)
        item.port, item.security_protocol, tags = _UINT16_INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_controller_endpoint(
    out: bytearray, items: Iterable[ControllerEndpoint], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.host.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _UINT16_INT16.pack(item.port, item.security_protocol)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UINT16_INT16_ZERO.pack(item.port, item.security_protocol)


def _read_controller_feature(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ControllerFeature], int]:
    items: list[ControllerFeature] = []
    for _ in range(count):
        item = _new(ControllerFeature)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        (
            item.min_supported_version,
            item.max_supported_version,
            tags,
        ) = _S2INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_controller_feature(
    out: bytearray, items: Iterable[ControllerFeature], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _S2INT16.pack(item.min_supported_version, item.max_supported_version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _S2INT16_ZERO.pack(item.min_supported_version, item.max_supported_version)

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
