"""other messages: DefaultPrincipalData to SubscriptionInfoData.

Written by `make codegen` from codegen/schemas/other_records.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_length, write_string

_S_2INT32: Final = Struct(">ii")
_S_2INT32_INT64: Final = Struct(">iiq")
_S_2INT32_INT64_INT16: Final = Struct(">iiqh")
_S_2INT32_UUID: Final = Struct(">ii16s")
_S_2INT32_UUID_INT32: Final = Struct(">ii16si")
_S_3INT32_INT64: Final = Struct(">iiiq")
_S_3INT32_INT64_BYTE: Final = Struct(">iiiqB")
_S_3INT32_UUID: Final = Struct(">iii16s")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT64: Final = Struct(">iq")
_S_INT32_UUID: Final = Struct(">i16s")
_S_INT32_UUID_INT32: Final = Struct(">i16si")
_S_INT64_INT16_INT32_INT64_INT32_INT64_INT32_INT64: Final = Struct(">qhiqiqiq")
_S_INT8: Final = Struct(">b")
_S_INT8_2INT32: Final = Struct(">bii")
_S_INT8_INT32: Final = Struct(">bi")
_S_UINT32: Final = Struct(">I")
_S_UINT32_INT32: Final = Struct(">Ii")
_new: Final = object.__new__


@dataclass(slots=True)
class DefaultPrincipalData:
    type: str = ""
    name: str = ""
    token_authenticated: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_compact_string(out, item.type)
            write_compact_string(out, item.name)
            out += _S_BOOL.pack(item.token_authenticated)
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
            item.type = data[at - n : at].decode("utf-8", LENIENT)
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
            item.token_authenticated, tags = _S_BOOL_BYTE.unpack_from(data, at)
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
class ProducerEntry:
    producer_id: int = 0
    epoch: int = 0
    last_sequence: int = 0
    last_offset: int = 0
    offset_delta: int = 0
    timestamp: int = 0
    coordinator_epoch: int = 0
    current_txn_first_offset: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ProducerSnapshot:
    crc: int = 0
    producer_entries: list[ProducerEntry] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_UINT32.pack(item.crc)
            out += _S_INT32.pack(len(item.producer_entries))
            _write_producer_entry(out, item.producer_entries, version)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 1:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.crc, n = _S_UINT32_INT32.unpack_from(data, at)
            at += 8
            if not 0 <= n * 46 <= limit - at:
                raise count_refused(n, limit - at)
            item.producer_entries, at = _read_producer_entry(data, at, version, n)
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class Voter:
    voter_id: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class QuorumStateData:
    cluster_id: str = ""  # 0
    leader_id: int = -1
    leader_epoch: int = -1
    voted_id: int = -1
    voted_directory_id: Uuid = ZERO_UUID  # 1
    applied_offset: int = 0  # 0
    current_voters: list[Voter] | None = field(default_factory=list)  # 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            if version <= 0:
                write_compact_string(out, item.cluster_id)
            elif item.cluster_id:
                raise not_in_version("cluster_id", version)
            if version >= 1:
                out += _S_3INT32_UUID.pack(item.leader_id, item.leader_epoch, item.voted_id, item.voted_directory_id)
                if item.applied_offset:
                    raise not_in_version("applied_offset", version)
            else:
                out += _S_3INT32_INT64.pack(item.leader_id, item.leader_epoch, item.voted_id, item.applied_offset)
                if item.voted_directory_id != ZERO_UUID:
                    raise not_in_version("voted_directory_id", version)
            if version <= 0:
                if item.current_voters is None:
                    out.append(0)
                else:
                    write_length(out, len(item.current_voters))
                    _write_voter(out, item.current_voters, version)
            elif item.current_voters != []:
                raise not_in_version("current_voters", version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 1:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 1:
                pass
            else:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            if version <= 0:
                if n < 0:
                    raise null_refused()
                at += n
                item.cluster_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.cluster_id = ""
            if version >= 1:
                item.leader_id, item.leader_epoch, item.voted_id, item.voted_directory_id = _S_3INT32_UUID.unpack_from(data, at)
                at += 28
                item.applied_offset = 0
            else:
                item.leader_id, item.leader_epoch, item.voted_id, item.applied_offset, n = _S_3INT32_INT64_BYTE.unpack_from(data, at)
                at += 21
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
                item.voted_directory_id = ZERO_UUID
            if version <= 0:
                if n < 0:
                    item.current_voters = None
                else:
                    if not 0 <= n * 5 <= limit - at:
                        raise count_refused(n, limit - at)
                    item.current_voters, at = _read_voter(data, at, version, n)
            else:
                item.current_voters = []
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
class TaskId:
    topic_group_id: int = 0
    partition: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class PartitionToOffsetSum:
    partition: int = 0
    offset_sum: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class TaskOffsetSum:
    topic_group_id: int = 0
    partition: int = 0  # 10+
    offset_sum: int = 0  # 10+
    named_topology: str | None = ""  # 10+
    partition_to_offset_sum: list[PartitionToOffsetSum] = field(default_factory=list)  # 7-9
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ClientTag:
    key: bytes = b""
    value: bytes = b""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class SubscriptionInfoData:
    version: int = 0
    latest_supported_version: int = -1  # 3+
    process_id: Uuid = ZERO_UUID
    prev_tasks: list[TaskId] = field(default_factory=list)  # 1-6
    standby_tasks: list[TaskId] = field(default_factory=list)  # 1-6
    user_end_point: bytes = b""  # 2+
    task_offset_sums: list[TaskOffsetSum] = field(default_factory=list)  # 7+
    unique_field: int = 0  # 8+
    error_code: int = 0  # 9+
    client_tags: list[ClientTag] = field(default_factory=list)  # 11
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 11
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 11:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                out += _S_2INT32_UUID.pack(item.version, item.latest_supported_version, item.process_id)
            else:
                out += _S_INT32_UUID.pack(item.version, item.process_id)
                if item.latest_supported_version != -1:
                    raise not_in_version("latest_supported_version", version)
            if version <= 6:
                out += _S_INT32.pack(len(item.prev_tasks))
                _write_task_id(out, item.prev_tasks, version)
            elif item.prev_tasks:
                raise not_in_version("prev_tasks", version)
            if version <= 6:
                out += _S_INT32.pack(len(item.standby_tasks))
                _write_task_id(out, item.standby_tasks, version)
            elif item.standby_tasks:
                raise not_in_version("standby_tasks", version)
            if version >= 2:
                out += _S_INT32.pack(len(item.user_end_point))
                out += item.user_end_point
            elif item.user_end_point:
                raise not_in_version("user_end_point", version)
            if version >= 7:
                out += _S_INT32.pack(len(item.task_offset_sums))
                _write_task_offset_sum(out, item.task_offset_sums, version)
            elif item.task_offset_sums:
                raise not_in_version("task_offset_sums", version)
            if version >= 9:
                out += _S_INT8_INT32.pack(item.unique_field, item.error_code)
            elif version >= 8:
                out += _S_INT8.pack(item.unique_field)
                if item.error_code:
                    raise not_in_version("error_code", version)
            else:
                if item.unique_field:
                    raise not_in_version("unique_field", version)
                if item.error_code:
                    raise not_in_version("error_code", version)
            if version >= 11:
                out += _S_INT32.pack(len(item.client_tags))
                _write_client_tag(out, item.client_tags, version)
            elif item.client_tags:
                raise not_in_version("client_tags", version)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 11:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 7:
                item.version, item.latest_supported_version, item.process_id = _S_2INT32_UUID.unpack_from(data, at)
                at += 24
            elif version >= 3:
                item.version, item.latest_supported_version, item.process_id, n = _S_2INT32_UUID_INT32.unpack_from(data, at)
                at += 28
            else:
                item.version, item.process_id, n = _S_INT32_UUID_INT32.unpack_from(data, at)
                at += 24
                item.latest_supported_version = -1
            if version <= 6:
                if not 0 <= n * 8 <= limit - at:
                    raise count_refused(n, limit - at)
                item.prev_tasks, at = _read_task_id(data, at, version, n)
            else:
                item.prev_tasks = []
            if version >= 7:
                pass
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if version <= 6:
                if not 0 <= n * 8 <= limit - at:
                    raise count_refused(n, limit - at)
                item.standby_tasks, at = _read_task_id(data, at, version, n)
            else:
                item.standby_tasks = []
            if version >= 2:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            else:
                pass
            if version >= 2:
                if n < 0:
                    raise null_refused()
                at += n
                item.user_end_point = data[at - n : at]
            else:
                item.user_end_point = b""
            if version >= 7:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            else:
                pass
            if version >= 7:
                if not 0 <= n * 8 <= limit - at:
                    raise count_refused(n, limit - at)
                item.task_offset_sums, at = _read_task_offset_sum(data, at, version, n)
            else:
                item.task_offset_sums = []
            if version >= 11:
                item.unique_field, item.error_code, n = _S_INT8_2INT32.unpack_from(data, at)
                at += 9
            elif version >= 9:
                item.unique_field, item.error_code = _S_INT8_INT32.unpack_from(data, at)
                at += 5
            elif version >= 8:
                (item.unique_field,) = _S_INT8.unpack_from(data, at)
                at += 1
                item.error_code = 0
            else:
                item.unique_field = 0
                item.error_code = 0
            if version >= 11:
                if not 0 <= n * 8 <= limit - at:
                    raise count_refused(n, limit - at)
                item.client_tags, at = _read_client_tag(data, at, version, n)
            else:
                item.client_tags = []
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_producer_entry(data: bytes, at: int, version: int, count: int) -> tuple[list[ProducerEntry], int]:
    items: list[ProducerEntry] = []
    for _ in range(count):
        item = _new(ProducerEntry)
        item.producer_id, item.epoch, item.last_sequence, item.last_offset, item.offset_delta, item.timestamp, item.coordinator_epoch, item.current_txn_first_offset = _S_INT64_INT16_INT32_INT64_INT32_INT64_INT32_INT64.unpack_from(data, at)
        at += 46
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_producer_entry(out: bytearray, items: Iterable[ProducerEntry], version: int) -> None:
    for item in items:
        out += _S_INT64_INT16_INT32_INT64_INT32_INT64_INT32_INT64.pack(item.producer_id, item.epoch, item.last_sequence, item.last_offset, item.offset_delta, item.timestamp, item.coordinator_epoch, item.current_txn_first_offset)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_voter(data: bytes, at: int, version: int, count: int) -> tuple[list[Voter], int]:
    items: list[Voter] = []
    for _ in range(count):
        item = _new(Voter)
        item.voter_id, tags = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_voter(out: bytearray, items: Iterable[Voter], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.voter_id)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_task_id(data: bytes, at: int, version: int, count: int) -> tuple[list[TaskId], int]:
    items: list[TaskId] = []
    for _ in range(count):
        item = _new(TaskId)
        item.topic_group_id, item.partition = _S_2INT32.unpack_from(data, at)
        at += 8
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_task_id(out: bytearray, items: Iterable[TaskId], version: int) -> None:
    for item in items:
        out += _S_2INT32.pack(item.topic_group_id, item.partition)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_partition_to_offset_sum(data: bytes, at: int, version: int, count: int) -> tuple[list[PartitionToOffsetSum], int]:
    items: list[PartitionToOffsetSum] = []
    for _ in range(count):
        item = _new(PartitionToOffsetSum)
        item.partition, item.offset_sum = _S_INT32_INT64.unpack_from(data, at)
        at += 12
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_partition_to_offset_sum(out: bytearray, items: Iterable[PartitionToOffsetSum], version: int) -> None:
    for item in items:
        out += _S_INT32_INT64.pack(item.partition, item.offset_sum)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_task_offset_sum(data: bytes, at: int, version: int, count: int) -> tuple[list[TaskOffsetSum], int]:
    limit = len(data)
    items: list[TaskOffsetSum] = []
    for _ in range(count):
        item = _new(TaskOffsetSum)
        if version >= 10:
            item.topic_group_id, item.partition, item.offset_sum, n = _S_2INT32_INT64_INT16.unpack_from(data, at)
            at += 18
        else:
            (item.topic_group_id,) = _S_INT32.unpack_from(data, at)
            at += 4
            item.partition = 0
            item.offset_sum = 0
        if version >= 10:
            if n < 0:
                item.named_topology = None
            else:
                at += n
                item.named_topology = data[at - n : at].decode("utf-8", LENIENT)
        else:
            item.named_topology = ""
        if version >= 10:
            pass
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        if version <= 9:
            if not 0 <= n * 12 <= limit - at:
                raise count_refused(n, limit - at)
            item.partition_to_offset_sum, at = _read_partition_to_offset_sum(data, at, version, n)
        else:
            item.partition_to_offset_sum = []
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_task_offset_sum(out: bytearray, items: Iterable[TaskOffsetSum], version: int) -> None:
    for item in items:
        if version >= 10:
            out += _S_2INT32_INT64.pack(item.topic_group_id, item.partition, item.offset_sum)
        else:
            out += _S_INT32.pack(item.topic_group_id)
            if item.partition:
                raise not_in_version("partition", version)
            if item.offset_sum:
                raise not_in_version("offset_sum", version)
        if version >= 10:
            if item.named_topology is None:
                out += b"\xff\xff"
            else:
                write_string(out, item.named_topology)
        elif item.named_topology != "":
            raise not_in_version("named_topology", version)
        if version <= 9:
            out += _S_INT32.pack(len(item.partition_to_offset_sum))
            _write_partition_to_offset_sum(out, item.partition_to_offset_sum, version)
        elif item.partition_to_offset_sum:
            raise not_in_version("partition_to_offset_sum", version)
        if item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_client_tag(data: bytes, at: int, version: int, count: int) -> tuple[list[ClientTag], int]:
    items: list[ClientTag] = []
    for _ in range(count):
        item = _new(ClientTag)
        (n,) = _S_INT32.unpack_from(data, at)
        at += 4
        if n < 0:
            raise null_refused()
        at += n
        item.key = data[at - n : at]
        (n,) = _S_INT32.unpack_from(data, at)
        at += 4
        if n < 0:
            raise null_refused()
        at += n
        item.value = data[at - n : at]
        tags = 0
        item.unknown_tagged_fields = ()
        items.append(item)
    return items, at


def _write_client_tag(out: bytearray, items: Iterable[ClientTag], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(len(item.key))
        out += item.key
        out += _S_INT32.pack(len(item.value))
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
