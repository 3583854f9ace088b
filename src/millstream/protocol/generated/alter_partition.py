"""AlterPartition, API key 56, versions 2-3: request and response.

Written by `make codegen` from codegen/schemas/alter_partition.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import READ_FAILURES, count_refused, past_end, read_integers, read_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_integers, write_length

_S_2INT32: Final = Struct(">ii")
_S_2INT32_BYTE: Final = Struct(">iiB")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_2INT32: Final = Struct(">ihii")
_S_INT32_INT16_2INT32_BYTE: Final = Struct(">ihiiB")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_INT64_BYTE: Final = Struct(">iqB")
_S_INT8_INT32: Final = Struct(">bi")
_S_INT8_INT32_BYTE: Final = Struct(">biB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class BrokerState:
    broker_id: int = 0
    broker_epoch: int = -1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterPartitionRequestPartitionData:
    partition_index: int = 0
    leader_epoch: int = 0
    new_isr: list[int] = field(default_factory=list)  # 2
    new_isr_with_epochs: list[BrokerState] = field(default_factory=list)  # 3
    leader_recovery_state: int = 0
    partition_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterPartitionRequestTopicData:
    topic_id: Uuid = ZERO_UUID
    partitions: list[AlterPartitionRequestPartitionData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterPartitionRequest:
    broker_id: int = 0
    broker_epoch: int = -1
    topics: list[AlterPartitionRequestTopicData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 56
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT64.pack(item.broker_id, item.broker_epoch)
            write_length(out, len(item.topics))
            _write_alter_partition_request_topic_data(out, item.topics, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 3:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.broker_id, item.broker_epoch, n = _S_INT32_INT64_BYTE.unpack_from(data, at)
            at += 13
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_alter_partition_request_topic_data(data, at, version, n)
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
class AlterPartitionResponsePartitionData:
    partition_index: int = 0
    error_code: int = 0
    leader_id: int = 0
    leader_epoch: int = 0
    isr: list[int] = field(default_factory=list)
    leader_recovery_state: int = 0
    partition_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterPartitionResponseTopicData:
    topic_id: Uuid = ZERO_UUID
    partitions: list[AlterPartitionResponsePartitionData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterPartitionResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    topics: list[AlterPartitionResponseTopicData] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 56
    LOWEST_VERSION: ClassVar[int] = 2
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 2 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            write_length(out, len(item.topics))
            _write_alter_partition_response_topic_data(out, item.topics, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 2 <= version <= 3:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 18 <= limit - at:
                raise count_refused(n, limit - at)
            item.topics, at = _read_alter_partition_response_topic_data(data, at, version, n)
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


def _read_broker_state(data: bytes, at: int, version: int, count: int) -> tuple[list[BrokerState], int]:
    items: list[BrokerState] = []
    for _ in range(count):
        item = _new(BrokerState)
        item.broker_id, item.broker_epoch, tags = _S_INT32_INT64_BYTE.unpack_from(data, at)
        at += 13
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_broker_state(out: bytearray, items: Iterable[BrokerState], version: int) -> None:
    for item in items:
        out += _S_INT32_INT64.pack(item.broker_id, item.broker_epoch)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_alter_partition_request_partition_data(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterPartitionRequestPartitionData], int]:
    limit = len(data)
    items: list[AlterPartitionRequestPartitionData] = []
    for _ in range(count):
        item = _new(AlterPartitionRequestPartitionData)
        if version >= 3:
            item.partition_index, item.leader_epoch = _S_2INT32.unpack_from(data, at)
            at += 8
        else:
            item.partition_index, item.leader_epoch, n = _S_2INT32_BYTE.unpack_from(data, at)
            at += 9
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        if version <= 2:
            item.new_isr, at = read_integers(data, at, n, "i", 4)
        else:
            item.new_isr = []
        if version >= 3:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            pass
        if version >= 3:
            if not 0 <= n * 13 <= limit - at:
                raise count_refused(n, limit - at)
            item.new_isr_with_epochs, at = _read_broker_state(data, at, version, n)
        else:
            item.new_isr_with_epochs = []
        item.leader_recovery_state, item.partition_epoch, tags = _S_INT8_INT32_BYTE.unpack_from(data, at)
        at += 6
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_partition_request_partition_data(out: bytearray, items: Iterable[AlterPartitionRequestPartitionData], version: int) -> None:
    for item in items:
        out += _S_2INT32.pack(item.partition_index, item.leader_epoch)
        if version <= 2:
            write_length(out, len(item.new_isr))
            write_integers(out, item.new_isr, "i")
        elif item.new_isr:
            raise not_in_version("new_isr", version)
        if version >= 3:
            write_length(out, len(item.new_isr_with_epochs))
            _write_broker_state(out, item.new_isr_with_epochs, version)
        elif item.new_isr_with_epochs:
            raise not_in_version("new_isr_with_epochs", version)
        out += _S_INT8_INT32.pack(item.leader_recovery_state, item.partition_epoch)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_alter_partition_request_topic_data(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterPartitionRequestTopicData], int]:
    limit = len(data)
    items: list[AlterPartitionRequestTopicData] = []
    for _ in range(count):
        item = _new(AlterPartitionRequestTopicData)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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


def _write_alter_partition_request_topic_data(out: bytearray, items: Iterable[AlterPartitionRequestTopicData], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
        _write_alter_partition_request_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_alter_partition_response_partition_data(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterPartitionResponsePartitionData], int]:
    items: list[AlterPartitionResponsePartitionData] = []
    for _ in range(count):
        item = _new(AlterPartitionResponsePartitionData)
        item.partition_index, item.error_code, item.leader_id, item.leader_epoch, n = _S_INT32_INT16_2INT32_BYTE.unpack_from(data, at)
        at += 15
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        item.isr, at = read_integers(data, at, n, "i", 4)
        item.leader_recovery_state, item.partition_epoch, tags = _S_INT8_INT32_BYTE.unpack_from(data, at)
        at += 6
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_partition_response_partition_data(out: bytearray, items: Iterable[AlterPartitionResponsePartitionData], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16_2INT32.pack(item.partition_index, item.error_code, item.leader_id, item.leader_epoch)
        write_length(out, len(item.isr))
        write_integers(out, item.isr, "i")
        out += _S_INT8_INT32.pack(item.leader_recovery_state, item.partition_epoch)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_alter_partition_response_topic_data(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterPartitionResponseTopicData], int]:
    limit = len(data)
    items: list[AlterPartitionResponseTopicData] = []
    for _ in range(count):
        item = _new(AlterPartitionResponseTopicData)
        item.topic_id, n = _S_UUID_BYTE.unpack_from(data, at)
        at += 17
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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


def _write_alter_partition_response_topic_data(out: bytearray, items: Iterable[AlterPartitionResponseTopicData], version: int) -> None:
    for item in items:
        out += _S_UUID.pack(item.topic_id)
        write_length(out, len(item.partitions))
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
