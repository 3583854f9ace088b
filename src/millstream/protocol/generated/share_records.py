"""share messages: ShareSnapshotKey to ShareUpdateValue.

Written by `make codegen` from codegen/schemas/share_records.txt.
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
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, uuid_refused, write_uvarint

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_S2INT32_INT64: Final = Struct(">iiq")
_S2INT32_INT64_BYTE: Final = Struct(">iiqB")
_S2INT64_INT8_INT16: Final = Struct(">qqbh")
_S2INT64_INT8_INT16_BYTE: Final = Struct(">qqbhB")
_S2INT64_INT8_INT16_ZERO: Final = Struct(">qqbhx")
_S3INT32_3INT64: Final = Struct(">iiiqqq")
_S3INT32_3INT64_BYTE: Final = Struct(">iiiqqqB")
_UUID_INT32: Final = Struct(">16si")
_new: Final = object.__new__


class ShareSnapshotKey(MessageValue):
    """Share key of type 0, version 0."""

    __slots__ = ("group_id", "topic_id", "partition", "unknown_tagged_fields")

    group_id: str
    topic_id: Uuid
    partition: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
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
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if len(self.topic_id) != 16:
                raise uuid_refused(self.topic_id)
            out += _UUID_INT32.pack(self.topic_id, self.partition)
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
            message.topic_id, message.partition = _UUID_INT32.unpack_from(data, at)
            at += 20
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class StateBatch(MessageValue):
    """In `ShareSnapshotValue.state_batches`, version 0."""

    __slots__ = (
        "first_offset", "last_offset", "delivery_state", "delivery_count", "unknown_tagged_fields"
    )

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count
        self.unknown_tagged_fields = unknown_tagged_fields


class ShareSnapshotValue(MessageValue):
    """Share value of type 0, version 0."""

    __slots__ = (
        "snapshot_epoch",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "create_timestamp",
        "write_timestamp",
        "state_batches",
        "unknown_tagged_fields",
    )

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int  # tag 0
    create_timestamp: int
    write_timestamp: int
    state_batches: list[StateBatch]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        snapshot_epoch: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        create_timestamp: int = 0,
        write_timestamp: int = 0,
        state_batches: list[StateBatch] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.create_timestamp = create_timestamp
        self.write_timestamp = write_timestamp
        self.state_batches = [] if state_batches is UNSET else state_batches
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 0
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.state_batches) + 1
            if n < 128:
                out += _S3INT32_3INT64_BYTE.pack(
                    self.snapshot_epoch,
                    self.state_epoch,
                    self.leader_epoch,
                    self.start_offset,
                    self.create_timestamp,
                    self.write_timestamp,
                    n,
                )
            else:
                out += _S3INT32_3INT64.pack(
                    self.snapshot_epoch,
                    self.state_epoch,
                    self.leader_epoch,
                    self.start_offset,
                    self.create_timestamp,
                    self.write_timestamp,
                )
                write_uvarint(out, n)
            _write_state_batch(out, self.state_batches, version)
            if self.delivery_complete_count != -1 or self.unknown_tagged_fields:
                _write_share_snapshot_value_tags(out, self, version)
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
                message.snapshot_epoch,
                message.state_epoch,
                message.leader_epoch,
                message.start_offset,
                message.create_timestamp,
                message.write_timestamp,
                n,
            ) = _S3INT32_3INT64_BYTE.unpack_from(data, at)
            at += 36
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 20 <= limit - at:
                raise count_refused(n, limit - at)
            message.state_batches, at = _read_state_batch(data, at, version, n)
            tags = data[at]
            at += 1
            message.delivery_complete_count = -1
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_share_snapshot_value_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ShareUpdateKey(MessageValue):
    """Share key of type 1, version 0."""

    __slots__ = ("group_id", "topic_id", "partition", "unknown_tagged_fields")

    group_id: str
    topic_id: Uuid
    partition: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        group_id: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
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
            raw = self.group_id.encode()
            n = len(raw) + 1
            out += _INT16.pack(n - 1)
            out += raw
            if len(self.topic_id) != 16:
                raise uuid_refused(self.topic_id)
            out += _UUID_INT32.pack(self.topic_id, self.partition)
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
            message.topic_id, message.partition = _UUID_INT32.unpack_from(data, at)
            at += 20
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class ShareUpdateValue(MessageValue):
    """Share value of type 1, version 0."""

    __slots__ = (
        "snapshot_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "state_batches",
        "unknown_tagged_fields",
    )

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int  # tag 0
    state_batches: list[StateBatch]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        snapshot_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[StateBatch] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = [] if state_batches is UNSET else state_batches
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 1
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.state_batches) + 1
            if n < 128:
                out += _S2INT32_INT64_BYTE.pack(
                    self.snapshot_epoch, self.leader_epoch, self.start_offset, n
                )
            else:
                out += _S2INT32_INT64.pack(
                    self.snapshot_epoch, self.leader_epoch, self.start_offset
                )
                write_uvarint(out, n)
            _write_state_batch(out, self.state_batches, version)
            if self.delivery_complete_count != -1 or self.unknown_tagged_fields:
                _write_share_update_value_tags(out, self, version)
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
                message.snapshot_epoch,
                message.leader_epoch,
                message.start_offset,
                n,
            ) = _S2INT32_INT64_BYTE.unpack_from(data, at)
            at += 16
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 20 <= limit - at:
                raise count_refused(n, limit - at)
            message.state_batches, at = _read_state_batch(data, at, version, n)
            tags = data[at]
            at += 1
            message.delivery_complete_count = -1
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_share_update_value_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_state_batch(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[StateBatch], int]:
    items: list[StateBatch] = []
    for _ in range(count):
        item = _new(StateBatch)
        (
            item.first_offset,
            item.last_offset,
            item.delivery_state,
            item.delivery_count,
            tags,
        ) = _S2INT64_INT8_INT16_BYTE.unpack_from(data, at)
        at += 20
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_state_batch(out: bytearray, items: Iterable[StateBatch], version: int) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _S2INT64_INT8_INT16.pack(
                item.first_offset, item.last_offset, item.delivery_state, item.delivery_count
            )
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _S2INT64_INT8_INT16_ZERO.pack(
                item.first_offset, item.last_offset, item.delivery_state, item.delivery_count
            )


def _read_share_snapshot_value_tags(
    item: ShareSnapshotValue, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.delivery_complete_count,) = _INT32.unpack_from(data, at)
            at += 4
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_share_snapshot_value_tags(
    section: bytearray, item: ShareSnapshotValue, version: int
) -> None:
    known: list[TaggedField] = []
    if item.delivery_complete_count != -1:
        out = bytearray()
        out += _INT32.pack(item.delivery_complete_count)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)


def _read_share_update_value_tags(
    item: ShareUpdateValue, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.delivery_complete_count,) = _INT32.unpack_from(data, at)
            at += 4
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_share_update_value_tags(
    section: bytearray, item: ShareUpdateValue, version: int
) -> None:
    known: list[TaggedField] = []
    if item.delivery_complete_count != -1:
        out = bytearray()
        out += _INT32.pack(item.delivery_complete_count)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)

ShareKey = (
    ShareSnapshotKey
    | ShareUpdateKey
)

SHARE_KEYS: Final[dict[int, type[ShareKey]]] = {
    0: ShareSnapshotKey,
    1: ShareUpdateKey,
}

ShareValue = (
    ShareSnapshotValue
    | ShareUpdateValue
)

SHARE_VALUES: Final[dict[int, type[ShareValue]]] = {
    0: ShareSnapshotValue,
    1: ShareUpdateValue,
}

SCHEMA: Final = """\
share-key ShareSnapshotKey key=0 versions=0
  groupId    string
  topicId    uuid
  partition  int32

share-value ShareSnapshotValue key=0 versions=0 flexible=0+
  snapshotEpoch          int32
  stateEpoch             int32
  leaderEpoch            int32
  startOffset            int64
  deliveryCompleteCount  int32         tag=0 default=-1
  createTimestamp        int64
  writeTimestamp         int64
  stateBatches           []StateBatch
    firstOffset          int64
    lastOffset           int64
    deliveryState        int8
    deliveryCount        int16

share-key ShareUpdateKey key=1 versions=0
  groupId    string
  topicId    uuid
  partition  int32

share-value ShareUpdateValue key=1 versions=0 flexible=0+
  snapshotEpoch          int32
  leaderEpoch            int32
  startOffset            int64
  deliveryCompleteCount  int32         tag=0 default=-1
  stateBatches           []StateBatch
    firstOffset          int64
    lastOffset           int64
    deliveryState        int8
    deliveryCount        int16
"""
