"""other messages: DefaultPrincipalData to SubscriptionInfoData.

Written by `make codegen` from codegen/schemas/other_records.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_compact_string,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    uuid_refused,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT64: Final = Struct(">iq")
_INT32_UUID_INT32: Final = Struct(">i16si")
_INT32_ZERO: Final = Struct(">ix")
_INT64_INT16_INT32_INT64_INT32_INT64_INT32_INT64: Final = Struct(">qhiqiqiq")
_INT8: Final = Struct(">b")
_INT8_2INT32: Final = Struct(">bii")
_INT8_INT32: Final = Struct(">bi")
_S2INT32: Final = Struct(">ii")
_S2INT32_INT64_INT16: Final = Struct(">iiqh")
_S2INT32_UUID: Final = Struct(">ii16s")
_S2INT32_UUID_INT32: Final = Struct(">ii16si")
_S3INT32_INT64: Final = Struct(">iiiq")
_S3INT32_INT64_BYTE: Final = Struct(">iiiqB")
_S3INT32_UUID: Final = Struct(">iii16s")
_UINT32_INT32: Final = Struct(">Ii")
_new: Final = object.__new__


class DefaultPrincipalData(MessageValue):
    """Other, version 0."""

    __slots__ = ("type", "name", "token_authenticated", "unknown_tagged_fields")

    type: str
    name: str
    token_authenticated: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        type: str = "",
        name: str = "",
        token_authenticated: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            raw = self.type.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            raw = self.name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            if self.unknown_tagged_fields:
                out += _BOOL.pack(self.token_authenticated)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _BOOL_ZERO.pack(self.token_authenticated)
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
                message.type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.type, at = read_compact_string(data, at)
            n = data[at]
            if 0 < n < 128:
                message.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.name, at = read_compact_string(data, at)
            message.token_authenticated, tags = _BOOL_BYTE.unpack_from(data, at)
            at += 2
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ProducerEntry(MessageValue):
    """In `ProducerSnapshot.producer_entries`, version 1."""

    __slots__ = (
        "producer_id",
        "epoch",
        "last_sequence",
        "last_offset",
        "offset_delta",
        "timestamp",
        "coordinator_epoch",
        "current_txn_first_offset",
        "unknown_tagged_fields",
    )

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        producer_id: int = 0,
        epoch: int = 0,
        last_sequence: int = 0,
        last_offset: int = 0,
        offset_delta: int = 0,
        timestamp: int = 0,
        coordinator_epoch: int = 0,
        current_txn_first_offset: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.last_sequence = last_sequence
        self.last_offset = last_offset
        self.offset_delta = offset_delta
        self.timestamp = timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_first_offset = current_txn_first_offset
        self.unknown_tagged_fields = unknown_tagged_fields


class ProducerSnapshot(MessageValue):
    """Other, version 1."""

    __slots__ = ("crc", "producer_entries", "unknown_tagged_fields")

    crc: int
    producer_entries: list[ProducerEntry]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        crc: int = 0,
        producer_entries: list[ProducerEntry] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.crc = crc
        self.producer_entries = [] if producer_entries is UNSET else producer_entries
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.producer_entries) + 1
            out += _UINT32_INT32.pack(self.crc, n - 1)
            _write_producer_entry(out, self.producer_entries, version)
            if self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 1:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.crc, n = _UINT32_INT32.unpack_from(data, at)
            at += 8
            if not 0 <= n * 46 <= limit - at:
                raise count_refused(n, limit - at)
            message.producer_entries, at = _read_producer_entry(data, at, version, n)
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class Voter(MessageValue):
    """In `QuorumStateData.current_voters`, version 0."""

    __slots__ = ("voter_id", "unknown_tagged_fields")

    voter_id: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, voter_id: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.voter_id = voter_id
        self.unknown_tagged_fields = unknown_tagged_fields


class QuorumStateData(MessageValue):
    """Other, versions 0-1."""

    __slots__ = (
        "cluster_id",
        "leader_id",
        "leader_epoch",
        "voted_id",
        "voted_directory_id",
        "applied_offset",
        "current_voters",
        "unknown_tagged_fields",
    )

    cluster_id: str  # 0
    leader_id: int
    leader_epoch: int
    voted_id: int
    voted_directory_id: Uuid  # 1
    applied_offset: int  # 0
    current_voters: list[Voter] | None  # 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        cluster_id: str = "",
        leader_id: int = -1,
        leader_epoch: int = -1,
        voted_id: int = -1,
        voted_directory_id: Uuid = ZERO_UUID,
        applied_offset: int = 0,
        current_voters: list[Voter] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.voted_id = voted_id
        self.voted_directory_id = voted_directory_id
        self.applied_offset = applied_offset
        self.current_voters = [] if current_voters is UNSET else current_voters
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            if version <= 0:
                raw = self.cluster_id.encode()
                n = len(raw) + 1
            if version >= 1:
                if self.cluster_id:
                    raise not_in_version("cluster_id", version)
            else:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            if version <= 0:
                out += raw
            if version <= 0:
                if self.current_voters is None:
                    n = 0
                else:
                    n = len(self.current_voters) + 1
            if version >= 1:
                if len(self.voted_directory_id) != 16:
                    raise uuid_refused(self.voted_directory_id)
                out += _S3INT32_UUID.pack(
                    self.leader_id, self.leader_epoch, self.voted_id, self.voted_directory_id
                )
                if self.applied_offset:
                    raise not_in_version("applied_offset", version)
                if self.current_voters != []:
                    raise not_in_version("current_voters", version)
            else:
                if n < 128:
                    out += _S3INT32_INT64_BYTE.pack(
                        self.leader_id, self.leader_epoch, self.voted_id, self.applied_offset, n
                    )
                else:
                    out += _S3INT32_INT64.pack(
                        self.leader_id, self.leader_epoch, self.voted_id, self.applied_offset
                    )
                    write_uvarint(out, n)
                if self.voted_directory_id != ZERO_UUID:
                    raise not_in_version("voted_directory_id", version)
            if version <= 0:
                if self.current_voters is not None:
                    _write_voter(out, self.current_voters, version)
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
            if version >= 1:
                message.cluster_id = ""
            else:
                n = data[at]
                if 0 < n < 128:
                    message.cluster_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.cluster_id, at = read_compact_string(data, at)
            if version >= 1:
                (
                    message.leader_id,
                    message.leader_epoch,
                    message.voted_id,
                    message.voted_directory_id,
                ) = _S3INT32_UUID.unpack_from(data, at)
                at += 28
                message.applied_offset = 0
                message.current_voters = []
            else:
                (
                    message.leader_id,
                    message.leader_epoch,
                    message.voted_id,
                    message.applied_offset,
                    n,
                ) = _S3INT32_INT64_BYTE.unpack_from(data, at)
                at += 20
                message.voted_directory_id = ZERO_UUID
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            if version <= 0:
                if n < 0:
                    message.current_voters = None
                else:
                    if not 0 <= n * 5 <= limit - at:
                        raise count_refused(n, limit - at)
                    message.current_voters, at = _read_voter(data, at, version, n)
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


class TaskId(MessageValue):
    """In `SubscriptionInfoData.prev_tasks` and elsewhere, versions 1-6."""

    __slots__ = ("topic_group_id", "partition", "unknown_tagged_fields")

    topic_group_id: int
    partition: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_group_id: int = 0,
        partition: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_group_id = topic_group_id
        self.partition = partition
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionToOffsetSum(MessageValue):
    """In `TaskOffsetSum.partition_to_offset_sum`, versions 7-9."""

    __slots__ = ("partition", "offset_sum", "unknown_tagged_fields")

    partition: int
    offset_sum: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition: int = 0,
        offset_sum: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition = partition
        self.offset_sum = offset_sum
        self.unknown_tagged_fields = unknown_tagged_fields


class TaskOffsetSum(MessageValue):
    """In `SubscriptionInfoData.task_offset_sums`, versions 7-11."""

    __slots__ = (
        "topic_group_id",
        "partition",
        "offset_sum",
        "named_topology",
        "partition_to_offset_sum",
        "unknown_tagged_fields",
    )

    topic_group_id: int
    partition: int  # 10+
    offset_sum: int  # 10+
    named_topology: str | None  # 10+
    partition_to_offset_sum: list[PartitionToOffsetSum]  # 7-9
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_group_id: int = 0,
        partition: int = 0,
        offset_sum: int = 0,
        named_topology: str | None = "",
        partition_to_offset_sum: list[PartitionToOffsetSum] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_group_id = topic_group_id
        self.partition = partition
        self.offset_sum = offset_sum
        self.named_topology = named_topology
        self.partition_to_offset_sum = [] if partition_to_offset_sum is UNSET else partition_to_offset_sum
        self.unknown_tagged_fields = unknown_tagged_fields


class ClientTag(MessageValue):
    """In `SubscriptionInfoData.client_tags`, version 11."""

    __slots__ = ("key", "value", "unknown_tagged_fields")

    key: bytes
    value: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        key: bytes = b"",
        value: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class SubscriptionInfoData(MessageValue):
    """Other, versions 1-11."""

    __slots__ = (
        "version",
        "latest_supported_version",
        "process_id",
        "prev_tasks",
        "standby_tasks",
        "user_end_point",
        "task_offset_sums",
        "unique_field",
        "error_code",
        "client_tags",
        "unknown_tagged_fields",
    )

    version: int
    latest_supported_version: int  # 3+
    process_id: Uuid
    prev_tasks: list[TaskId]  # 1-6
    standby_tasks: list[TaskId]  # 1-6
    user_end_point: bytes  # 2+
    task_offset_sums: list[TaskOffsetSum]  # 7+
    unique_field: int  # 8+
    error_code: int  # 9+
    client_tags: list[ClientTag]  # 11
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        version: int = 0,
        latest_supported_version: int = -1,
        process_id: Uuid = ZERO_UUID,
        prev_tasks: list[TaskId] = UNSET,
        standby_tasks: list[TaskId] = UNSET,
        user_end_point: bytes = b"",
        task_offset_sums: list[TaskOffsetSum] = UNSET,
        unique_field: int = 0,
        error_code: int = 0,
        client_tags: list[ClientTag] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.version = version
        self.latest_supported_version = latest_supported_version
        self.process_id = process_id
        self.prev_tasks = [] if prev_tasks is UNSET else prev_tasks
        self.standby_tasks = [] if standby_tasks is UNSET else standby_tasks
        self.user_end_point = user_end_point
        self.task_offset_sums = [] if task_offset_sums is UNSET else task_offset_sums
        self.unique_field = unique_field
        self.error_code = error_code
        self.client_tags = [] if client_tags is UNSET else client_tags
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 11
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 11:
            raise version_refused(type(self), version)
        try:
            if version <= 6:
                n = len(self.prev_tasks) + 1
            if version >= 7:
                if len(self.process_id) != 16:
                    raise uuid_refused(self.process_id)
                out += _S2INT32_UUID.pack(
                    self.version, self.latest_supported_version, self.process_id
                )
                if self.prev_tasks:
                    raise not_in_version("prev_tasks", version)
            elif version >= 3:
                if len(self.process_id) != 16:
                    raise uuid_refused(self.process_id)
                out += _S2INT32_UUID_INT32.pack(
                    self.version, self.latest_supported_version, self.process_id, n - 1
                )
            else:
                if len(self.process_id) != 16:
                    raise uuid_refused(self.process_id)
                out += _INT32_UUID_INT32.pack(self.version, self.process_id, n - 1)
                if self.latest_supported_version != -1:
                    raise not_in_version("latest_supported_version", version)
            if version <= 6:
                _write_task_id(out, self.prev_tasks, version)
            if version <= 6:
                n = len(self.standby_tasks) + 1
            if version >= 7:
                if self.standby_tasks:
                    raise not_in_version("standby_tasks", version)
            else:
                out += _INT32.pack(n - 1)
            if version <= 6:
                _write_task_id(out, self.standby_tasks, version)
            if version >= 2:
                n = len(self.user_end_point) + 1
            if version >= 2:
                out += _INT32.pack(n - 1)
            elif self.user_end_point:
                raise not_in_version("user_end_point", version)
            if version >= 2:
                out += self.user_end_point
            if version >= 7:
                n = len(self.task_offset_sums) + 1
            if version >= 7:
                out += _INT32.pack(n - 1)
            elif self.task_offset_sums:
                raise not_in_version("task_offset_sums", version)
            if version >= 7:
                _write_task_offset_sum(out, self.task_offset_sums, version)
            if version >= 11:
                n = len(self.client_tags) + 1
            if version >= 11:
                out += _INT8_2INT32.pack(self.unique_field, self.error_code, n - 1)
            elif version >= 9:
                out += _INT8_INT32.pack(self.unique_field, self.error_code)
                if self.client_tags:
                    raise not_in_version("client_tags", version)
            elif version >= 8:
                out += _INT8.pack(self.unique_field)
                if self.error_code:
                    raise not_in_version("error_code", version)
                if self.client_tags:
                    raise not_in_version("client_tags", version)
            else:
                if self.unique_field:
                    raise not_in_version("unique_field", version)
                if self.error_code:
                    raise not_in_version("error_code", version)
                if self.client_tags:
                    raise not_in_version("client_tags", version)
            if version >= 11:
                _write_client_tag(out, self.client_tags, version)
            if self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 11:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 7:
                (
                    message.version,
                    message.latest_supported_version,
                    message.process_id,
                ) = _S2INT32_UUID.unpack_from(data, at)
                at += 24
                message.prev_tasks = []
            elif version >= 3:
                (
                    message.version,
                    message.latest_supported_version,
                    message.process_id,
                    n,
                ) = _S2INT32_UUID_INT32.unpack_from(data, at)
                at += 28
            else:
                message.version, message.process_id, n = _INT32_UUID_INT32.unpack_from(data, at)
                at += 24
                message.latest_supported_version = -1
            if version <= 6:
                if not 0 <= n * 8 <= limit - at:
                    raise count_refused(n, limit - at)
                message.prev_tasks, at = _read_task_id(data, at, version, n)
            if version >= 7:
                message.standby_tasks = []
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if version <= 6:
                if not 0 <= n * 8 <= limit - at:
                    raise count_refused(n, limit - at)
                message.standby_tasks, at = _read_task_id(data, at, version, n)
            if version >= 2:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            else:
                message.user_end_point = b""
            if version >= 2:
                if n < 0:
                    raise null_refused()
                message.user_end_point = data[at : at + n]
                at += n
            if version >= 7:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            else:
                message.task_offset_sums = []
            if version >= 7:
                if not 0 <= n * 8 <= limit - at:
                    raise count_refused(n, limit - at)
                message.task_offset_sums, at = _read_task_offset_sum(data, at, version, n)
            if version >= 11:
                message.unique_field, message.error_code, n = _INT8_2INT32.unpack_from(data, at)
                at += 9
            elif version >= 9:
                message.unique_field, message.error_code = _INT8_INT32.unpack_from(data, at)
                at += 5
                message.client_tags = []
            elif version >= 8:
                (message.unique_field,) = _INT8.unpack_from(data, at)
                at += 1
                message.error_code = 0
                message.client_tags = []
            else:
                message.unique_field = 0
                message.error_code = 0
                message.client_tags = []
            if version >= 11:
                if not 0 <= n * 8 <= limit - at:
                    raise count_refused(n, limit - at)
                message.client_tags, at = _read_client_tag(data, at, version, n)
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_producer_entry(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ProducerEntry], int]:
    items: list[ProducerEntry] = []
    for _ in range(count):
        item = _new(ProducerEntry)
        (
            item.producer_id,
            item.epoch,
            item.last_sequence,
            item.last_offset,
            item.offset_delta,
            item.timestamp,
            item.coordinator_epoch,
            item.current_txn_first_offset,
        ) = _INT64_INT16_INT32_INT64_INT32_INT64_INT32_INT64.unpack_from(data, at)
        at += 46
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_producer_entry(out: bytearray, items: Iterable[ProducerEntry], version: int) -> None:
    for item in items:
        out += _INT64_INT16_INT32_INT64_INT32_INT64_INT32_INT64.pack(
            item.producer_id,
            item.epoch,
            item.last_sequence,
            item.last_offset,
            item.offset_delta,
            item.timestamp,
            item.coordinator_epoch,
            item.current_txn_first_offset,
        )
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_voter(data: bytes, at: int, version: int, count: int) -> tuple[list[Voter], int]:
    items: list[Voter] = []
    for _ in range(count):
        item = _new(Voter)
        item.voter_id, tags = _INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_voter(out: bytearray, items: Iterable[Voter], version: int) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT32.pack(item.voter_id)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_ZERO.pack(item.voter_id)


def _read_task_id(data: bytes, at: int, version: int, count: int) -> tuple[list[TaskId], int]:
    items: list[TaskId] = []
    for _ in range(count):
        item = _new(TaskId)
        item.topic_group_id, item.partition = _S2INT32.unpack_from(data, at)
        at += 8
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_task_id(out: bytearray, items: Iterable[TaskId], version: int) -> None:
    for item in items:
        out += _S2INT32.pack(item.topic_group_id, item.partition)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_partition_to_offset_sum(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[PartitionToOffsetSum], int]:
    items: list[PartitionToOffsetSum] = []
    for _ in range(count):
        item = _new(PartitionToOffsetSum)
        item.partition, item.offset_sum = _INT32_INT64.unpack_from(data, at)
        at += 12
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_partition_to_offset_sum(
    out: bytearray, items: Iterable[PartitionToOffsetSum], version: int
) -> None:
    for item in items:
        out += _INT32_INT64.pack(item.partition, item.offset_sum)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_task_offset_sum(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TaskOffsetSum], int]:
    items: list[TaskOffsetSum] = []
    limit = len(data)
    for _ in range(count):
        item = _new(TaskOffsetSum)
        if version >= 10:
            (
                item.topic_group_id,
                item.partition,
                item.offset_sum,
                n,
            ) = _S2INT32_INT64_INT16.unpack_from(data, at)
            at += 18
            if n < 0:
                item.named_topology = None
            else:
                item.named_topology = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        else:
            (item.topic_group_id,) = _INT32.unpack_from(data, at)
            at += 4
            item.partition = 0
            item.offset_sum = 0
            item.named_topology = ""
        if version >= 10:
            item.partition_to_offset_sum = []
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if version <= 9:
            if not 0 <= n * 12 <= limit - at:
                raise count_refused(n, limit - at)
            item.partition_to_offset_sum, at = _read_partition_to_offset_sum(data, at, version, n)
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_task_offset_sum(out: bytearray, items: Iterable[TaskOffsetSum], version: int) -> None:
    for item in items:
        if version >= 10:
            if item.named_topology is None:
                raw = b""
                n = 0
            else:
                raw = item.named_topology.encode()
                n = len(raw) + 1
        if version >= 10:
            out += _S2INT32_INT64_INT16.pack(
                item.topic_group_id, item.partition, item.offset_sum, n - 1
            )
        else:
            out += _INT32.pack(item.topic_group_id)
            if item.partition:
                raise not_in_version("partition", version)
            if item.offset_sum:
                raise not_in_version("offset_sum", version)
            if item.named_topology != "":
                raise not_in_version("named_topology", version)
        if version >= 10:
            out += raw
        if version <= 9:
            n = len(item.partition_to_offset_sum) + 1
        if version >= 10:
            if item.partition_to_offset_sum:
                raise not_in_version("partition_to_offset_sum", version)
        else:
            out += _INT32.pack(n - 1)
        if version <= 9:
            _write_partition_to_offset_sum(out, item.partition_to_offset_sum, version)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_client_tag(data: bytes, at: int, version: int, count: int) -> tuple[list[ClientTag], int]:
    items: list[ClientTag] = []
    for _ in range(count):
        item = _new(ClientTag)
        (n,) = _INT32.unpack_from(data, at)
        at += 4
        if n < 0:
            raise null_refused()
        item.key = data[at : at + n]
        at += n
        (n,) = _INT32.unpack_from(data, at)
        at += 4
        if n < 0:
            raise null_refused()
        item.value = data[at : at + n]
        at += n
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_client_tag(out: bytearray, items: Iterable[ClientTag], version: int) -> None:
    for item in items:
        n = len(item.key) + 1
        out += _INT32.pack(n - 1)
        out += item.key
        n = len(item.value) + 1
        out += _INT32.pack(n - 1)
        out += item.value
        if item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
other DefaultPrincipalData versions=0 flexible=0+
  type                string
  name                string
  tokenAuthenticated  bool

other ProducerSnapshot versions=1
  crc                      uint32
  producerEntries          []ProducerEntry
    producerId             int64
    epoch                  int16
    lastSequence           int32
    lastOffset             int64
    offsetDelta            int32
    timestamp              int64
    coordinatorEpoch       int32
    currentTxnFirstOffset  int64

other QuorumStateData versions=0-1 flexible=0+
  clusterId         string   0
  leaderId          int32    default=-1
  leaderEpoch       int32    default=-1
  votedId           int32    default=-1
  votedDirectoryId  uuid     1
  appliedOffset     int64    0
  currentVoters     []Voter  0 nullable
    voterId         int32

other SubscriptionInfoData versions=1-11
  version                 int32
  latestSupportedVersion  int32                   3+ default=-1
  processId               uuid
  prevTasks               []TaskId                1-6
    topicGroupId          int32
    partition             int32
  standbyTasks            []TaskId                1-6
  userEndPoint            bytes                   2+
  taskOffsetSums          []TaskOffsetSum         7+
    topicGroupId          int32
    partition             int32                   10+
    offsetSum             int64                   10+
    namedTopology         string                  10+ nullable
    partitionToOffsetSum  []PartitionToOffsetSum  7-9
      partition           int32
      offsetSum           int64
  uniqueField             int8                    8+
  errorCode               int32                   9+
  clientTags              []ClientTag             11
    key                   bytes
    value                 bytes
"""
