"""AlterPartition, API key 56, versions 2-3: request and response.

Written by `make codegen` from codegen/schemas/alter_partition.txt.
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
    READ_FAILURES,
    count_refused,
    past_end,
    read_compact_int32s,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    not_in_version,
    uuid_refused,
    write_compact_int32s,
    write_uvarint,
)

_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_2INT32: Final = Struct(">ihii")
_INT32_INT16_2INT32_BYTE: Final = Struct(">ihiiB")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT64: Final = Struct(">iq")
_INT32_INT64_BYTE: Final = Struct(">iqB")
_INT32_INT64_ZERO: Final = Struct(">iqx")
_INT8_INT32: Final = Struct(">bi")
_INT8_INT32_BYTE: Final = Struct(">biB")
_INT8_INT32_ZERO: Final = Struct(">bix")
_S2INT32: Final = Struct(">ii")
_S2INT32_BYTE: Final = Struct(">iiB")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


class BrokerState(MessageValue):
    """In `AlterPartitionRequestPartitionData.new_isr_with_epochs`, version 3."""

    __slots__ = ("broker_id", "broker_epoch", "unknown_tagged_fields")

    broker_id: int
    broker_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterPartitionRequestPartitionData(MessageValue):
    """In `AlterPartitionRequestTopicData.partitions`, versions 2-3."""

    __slots__ = (
        "partition_index",
        "leader_epoch",
        "new_isr",
        "new_isr_with_epochs",
        "leader_recovery_state",
        "partition_epoch",
        "unknown_tagged_fields",
    )

    partition_index: int
    leader_epoch: int
    new_isr: list[int]  # 2
    new_isr_with_epochs: list[BrokerState]  # 3
    leader_recovery_state: int
    partition_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] = UNSET,
        new_isr_with_epochs: list[BrokerState] = UNSET,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr = [] if new_isr is UNSET else new_isr
        self.new_isr_with_epochs = [] if new_isr_with_epochs is UNSET else new_isr_with_epochs
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterPartitionRequestTopicData(MessageValue):
    """In `AlterPartitionRequest.topics`, versions 2-3."""

    __slots__ = ("topic_id", "partitions", "unknown_tagged_fields")

    topic_id: Uuid
    partitions: list[AlterPartitionRequestPartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[AlterPartitionRequestPartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterPartitionRequest(MessageValue):
    """Request of API 56, versions 2-3."""

    __slots__ = ("broker_id", "broker_epoch", "topics", "unknown_tagged_fields")

    broker_id: int
    broker_epoch: int
    topics: list[AlterPartitionRequestTopicData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: list[AlterPartitionRequestTopicData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 56
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out += _INT32_INT64_BYTE.pack(self.broker_id, self.broker_epoch, n)
            else:
                out += _INT32_INT64.pack(self.broker_id, self.broker_epoch)
                write_uvarint(out, n)
            _write_alter_partition_request_topic_data(out, self.topics, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 3:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.broker_id, message.broker_epoch, n = _INT32_INT64_BYTE.unpack_from(data, at)
            at += 12
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_alter_partition_request_topic_data(data, at, version, n)
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


class AlterPartitionResponsePartitionData(MessageValue):
    """In `AlterPartitionResponseTopicData.partitions`, versions 2-3."""

    __slots__ = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "leader_recovery_state",
        "partition_epoch",
        "unknown_tagged_fields",
    )

    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    isr: list[int]
    leader_recovery_state: int
    partition_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = UNSET,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is UNSET else isr
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterPartitionResponseTopicData(MessageValue):
    """In `AlterPartitionResponse.topics`, versions 2-3."""

    __slots__ = ("topic_id", "partitions", "unknown_tagged_fields")

    topic_id: Uuid
    partitions: list[AlterPartitionResponsePartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[AlterPartitionResponsePartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterPartitionResponse(MessageValue):
    """Response of API 56, versions 2-3."""

    __slots__ = ("throttle_time_ms", "error_code", "topics", "unknown_tagged_fields")

    throttle_time_ms: int
    error_code: int
    topics: list[AlterPartitionResponseTopicData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[AlterPartitionResponseTopicData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 56
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_uvarint(out, n)
            _write_alter_partition_response_topic_data(out, self.topics, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 3:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (
                message.throttle_time_ms,
                message.error_code,
                n,
            ) = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 6
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_alter_partition_response_topic_data(data, at, version, n)
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


def _read_broker_state(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[BrokerState], int]:
    items: list[BrokerState] = []
    for _ in range(count):
        item = _new(BrokerState)
        item.broker_id, item.broker_epoch, tags = _INT32_INT64_BYTE.unpack_from(data, at)
        at += 13
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_broker_state(out: bytearray, items: Iterable[BrokerState], version: int) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT32_INT64.pack(item.broker_id, item.broker_epoch)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_INT64_ZERO.pack(item.broker_id, item.broker_epoch)


def _read_alter_partition_request_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterPartitionRequestPartitionData], int]:
    items: list[AlterPartitionRequestPartitionData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AlterPartitionRequestPartitionData)
        if version >= 3:
            item.partition_index, item.leader_epoch = _S2INT32.unpack_from(data, at)
            at += 8
            item.new_isr = []
        else:
            item.partition_index, item.leader_epoch, n = _S2INT32_BYTE.unpack_from(data, at)
            at += 8
            if 0 < n < 17:
                item.new_isr = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.new_isr, at = read_compact_int32s(data, at)
        if version >= 3:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            item.new_isr_with_epochs = []
        if version >= 3:
            if not 0 <= n * 13 <= limit - at:
                raise count_refused(n, limit - at)
            item.new_isr_with_epochs, at = _read_broker_state(data, at, version, n)
        (
            item.leader_recovery_state,
            item.partition_epoch,
            tags,
        ) = _INT8_INT32_BYTE.unpack_from(data, at)
        at += 6
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_partition_request_partition_data(
    out: bytearray, items: Iterable[AlterPartitionRequestPartitionData], version: int
) -> None:
    for item in items:
        if version >= 3:
            out += _S2INT32.pack(item.partition_index, item.leader_epoch)
            if item.new_isr:
                raise not_in_version("new_isr", version)
        else:
            out += _S2INT32.pack(item.partition_index, item.leader_epoch)
        if version <= 2:
            write_compact_int32s(out, item.new_isr)
        if version >= 3:
            n = len(item.new_isr_with_epochs) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        elif item.new_isr_with_epochs:
            raise not_in_version("new_isr_with_epochs", version)
        if version >= 3:
            _write_broker_state(out, item.new_isr_with_epochs, version)
        if item.unknown_tagged_fields:
            out += _INT8_INT32.pack(item.leader_recovery_state, item.partition_epoch)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT8_INT32_ZERO.pack(item.leader_recovery_state, item.partition_epoch)


def _read_alter_partition_request_topic_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterPartitionRequestTopicData], int]:
    items: list[AlterPartitionRequestTopicData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AlterPartitionRequestTopicData)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 15 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_alter_partition_request_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_partition_request_topic_data(
    out: bytearray, items: Iterable[AlterPartitionRequestTopicData], version: int
) -> None:
    for item in items:
        n = len(item.partitions) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BYTE.pack(item.topic_id, n)
        else:
            out += _UUID.pack(item.topic_id)
            write_uvarint(out, n)
        _write_alter_partition_request_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_alter_partition_response_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterPartitionResponsePartitionData], int]:
    items: list[AlterPartitionResponsePartitionData] = []
    for _ in range(count):
        item = _new(AlterPartitionResponsePartitionData)
        (
            item.partition_index,
            item.error_code,
            item.leader_id,
            item.leader_epoch,
            n,
        ) = _INT32_INT16_2INT32_BYTE.unpack_from(data, at)
        at += 14
        if 0 < n < 17:
            item.isr = list(COMPACT_INT32S[n](data, at))
            at += 4 * n - 3
        else:
            item.isr, at = read_compact_int32s(data, at)
        (
            item.leader_recovery_state,
            item.partition_epoch,
            tags,
        ) = _INT8_INT32_BYTE.unpack_from(data, at)
        at += 6
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_partition_response_partition_data(
    out: bytearray, items: Iterable[AlterPartitionResponsePartitionData], version: int
) -> None:
    for item in items:
        out += _INT32_INT16_2INT32.pack(
            item.partition_index, item.error_code, item.leader_id, item.leader_epoch
        )
        write_compact_int32s(out, item.isr)
        if item.unknown_tagged_fields:
            out += _INT8_INT32.pack(item.leader_recovery_state, item.partition_epoch)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT8_INT32_ZERO.pack(item.leader_recovery_state, item.partition_epoch)


def _read_alter_partition_response_topic_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterPartitionResponseTopicData], int]:
    items: list[AlterPartitionResponseTopicData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AlterPartitionResponseTopicData)
        item.topic_id, n = _UUID_BYTE.unpack_from(data, at)
        at += 16
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 21 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_alter_partition_response_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_partition_response_topic_data(
    out: bytearray, items: Iterable[AlterPartitionResponseTopicData], version: int
) -> None:
    for item in items:
        n = len(item.partitions) + 1
        if len(item.topic_id) != 16:
            raise uuid_refused(item.topic_id)
        if n < 128:
            out += _UUID_BYTE.pack(item.topic_id, n)
        else:
            out += _UUID.pack(item.topic_id)
            write_uvarint(out, n)
        _write_alter_partition_response_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request AlterPartitionRequest key=56 versions=2-3 flexible=2+ listeners=controller
  brokerId                 int32
  brokerEpoch              int64            default=-1
  topics                   []TopicData
    topicId                uuid
    partitions             []PartitionData
      partitionIndex       int32
      leaderEpoch          int32
      newIsr               []int32          2
      newIsrWithEpochs     []BrokerState    3
        brokerId           int32
        brokerEpoch        int64            default=-1
      leaderRecoveryState  int8
      partitionEpoch       int32

response AlterPartitionResponse key=56 versions=2-3 flexible=2+ listeners=controller
  throttleTimeMs           int32
  errorCode                int16
  topics                   []TopicData
    topicId                uuid
    partitions             []PartitionData
      partitionIndex       int32
      errorCode            int16
      leaderId             int32
      leaderEpoch          int32
      isr                  []int32
      leaderRecoveryState  int8
      partitionEpoch       int32
"""
