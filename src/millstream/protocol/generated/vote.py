"""Vote, API key 52, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/vote.txt.
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
    past_end,
    read_compact_string,
    read_compact_string_or_null,
    read_length,
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
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16_2INT32_BOOL: Final = Struct(">ihii?")
_INT32_INT16_2INT32_BOOL_BYTE: Final = Struct(">ihii?B")
_INT32_INT16_2INT32_BOOL_ZERO: Final = Struct(">ihii?x")
_S3INT32_2UUID_INT32_INT64: Final = Struct(">iii16s16siq")
_S3INT32_2UUID_INT32_INT64_BOOL: Final = Struct(">iii16s16siq?")
_S3INT32_2UUID_INT32_INT64_BOOL_BYTE: Final = Struct(">iii16s16siq?B")
_S3INT32_2UUID_INT32_INT64_BOOL_ZERO: Final = Struct(">iii16s16siq?x")
_S3INT32_2UUID_INT32_INT64_BYTE: Final = Struct(">iii16s16siqB")
_S3INT32_2UUID_INT32_INT64_ZERO: Final = Struct(">iii16s16siqx")
_S4INT32_INT64: Final = Struct(">iiiiq")
_S4INT32_INT64_BYTE: Final = Struct(">iiiiqB")
_S4INT32_INT64_ZERO: Final = Struct(">iiiiqx")
_UINT16: Final = Struct(">H")
_UINT16_BYTE: Final = Struct(">HB")
_UINT16_ZERO: Final = Struct(">Hx")
_new: Final = object.__new__


class VoteRequestPartitionData(MessageValue):
    """In `VoteRequestTopicData.partitions`, versions 0-2."""

    __slots__ = (
        "partition_index",
        "replica_epoch",
        "replica_id",
        "replica_directory_id",
        "voter_directory_id",
        "last_offset_epoch",
        "last_offset",
        "pre_vote",
        "unknown_tagged_fields",
    )

    partition_index: int
    replica_epoch: int
    replica_id: int
    replica_directory_id: Uuid  # 1+
    voter_directory_id: Uuid  # 1+
    last_offset_epoch: int
    last_offset: int
    pre_vote: bool  # 2
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: Uuid = ZERO_UUID,
        voter_directory_id: Uuid = ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote
        self.unknown_tagged_fields = unknown_tagged_fields


class VoteRequestTopicData(MessageValue):
    """In `VoteRequest.topics`, versions 0-2."""

    __slots__ = ("topic_name", "partitions", "unknown_tagged_fields")

    topic_name: str
    partitions: list[VoteRequestPartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[VoteRequestPartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class VoteRequest(MessageValue):
    """Request of API 52, versions 0-2."""

    __slots__ = ("cluster_id", "voter_id", "topics", "unknown_tagged_fields")

    cluster_id: str | None
    voter_id: int  # 1+
    topics: list[VoteRequestTopicData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[VoteRequestTopicData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 52
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if self.cluster_id is None:
                raw = b""
                n = 0
            else:
                raw = self.cluster_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
            out += raw
            n = len(self.topics) + 1
            if version >= 1:
                if n < 128:
                    out += _INT32_BYTE.pack(self.voter_id, n)
                else:
                    out += _INT32.pack(self.voter_id)
                    write_uvarint(out, n)
            else:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            _write_vote_request_topic_data(out, self.topics, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
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
            n = data[at]
            if 0 < n < 128:
                message.cluster_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.cluster_id, at = read_compact_string_or_null(data, at)
            if version >= 1:
                message.voter_id, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                n = data[at]
                message.voter_id = -1
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_vote_request_topic_data(data, at, version, n)
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


class VoteResponsePartitionData(MessageValue):
    """In `VoteResponseTopicData.partitions`, versions 0-2."""

    __slots__ = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "vote_granted",
        "unknown_tagged_fields",
    )

    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    vote_granted: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        vote_granted: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.vote_granted = vote_granted
        self.unknown_tagged_fields = unknown_tagged_fields


class VoteResponseTopicData(MessageValue):
    """In `VoteResponse.topics`, versions 0-2."""

    __slots__ = ("topic_name", "partitions", "unknown_tagged_fields")

    topic_name: str
    partitions: list[VoteResponsePartitionData]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[VoteResponsePartitionData] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class NodeEndpoint(MessageValue):
    """In `VoteResponse.node_endpoints`, versions 1-2."""

    __slots__ = ("node_id", "host", "port", "unknown_tagged_fields")

    node_id: int
    host: str
    port: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.unknown_tagged_fields = unknown_tagged_fields


class VoteResponse(MessageValue):
    """Response of API 52, versions 0-2."""

    __slots__ = ("error_code", "topics", "node_endpoints", "unknown_tagged_fields")

    error_code: int
    topics: list[VoteResponseTopicData]
    node_endpoints: list[NodeEndpoint]  # 1+, tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        topics: list[VoteResponseTopicData] = UNSET,
        node_endpoints: list[NodeEndpoint] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is UNSET else topics
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 52
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.topics) + 1
            if n < 128:
                out += _INT16_BYTE.pack(self.error_code, n)
            else:
                out += _INT16.pack(self.error_code)
                write_uvarint(out, n)
            _write_vote_response_topic_data(out, self.topics, version)
            if self.node_endpoints or self.unknown_tagged_fields:
                _write_vote_response_tags(out, self, version)
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
            message.error_code, n = _INT16_BYTE.unpack_from(data, at)
            at += 2
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.topics, at = _read_vote_response_topic_data(data, at, version, n)
            tags = data[at]
            at += 1
            message.node_endpoints = []
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_vote_response_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_vote_request_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[VoteRequestPartitionData], int]:
    items: list[VoteRequestPartitionData] = []
    for _ in range(count):
        item = _new(VoteRequestPartitionData)
        if version >= 2:
            (
                item.partition_index,
                item.replica_epoch,
                item.replica_id,
                item.replica_directory_id,
                item.voter_directory_id,
                item.last_offset_epoch,
                item.last_offset,
                item.pre_vote,
                tags,
            ) = _S3INT32_2UUID_INT32_INT64_BOOL_BYTE.unpack_from(data, at)
            at += 58
        elif version >= 1:
            (
                item.partition_index,
                item.replica_epoch,
                item.replica_id,
                item.replica_directory_id,
                item.voter_directory_id,
                item.last_offset_epoch,
                item.last_offset,
                tags,
            ) = _S3INT32_2UUID_INT32_INT64_BYTE.unpack_from(data, at)
            at += 57
            item.pre_vote = False
        else:
            (
                item.partition_index,
                item.replica_epoch,
                item.replica_id,
                item.last_offset_epoch,
                item.last_offset,
                tags,
            ) = _S4INT32_INT64_BYTE.unpack_from(data, at)
            at += 25
            item.replica_directory_id = ZERO_UUID
            item.voter_directory_id = ZERO_UUID
            item.pre_vote = False
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_vote_request_partition_data(
    out: bytearray, items: Iterable[VoteRequestPartitionData], version: int
) -> None:
    for item in items:
        if version >= 2:
            if len(item.replica_directory_id) != 16:
                raise uuid_refused(item.replica_directory_id)
            if len(item.voter_directory_id) != 16:
                raise uuid_refused(item.voter_directory_id)
            if item.unknown_tagged_fields:
                out += _S3INT32_2UUID_INT32_INT64_BOOL.pack(
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.replica_directory_id,
                    item.voter_directory_id,
                    item.last_offset_epoch,
                    item.last_offset,
                    item.pre_vote,
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _S3INT32_2UUID_INT32_INT64_BOOL_ZERO.pack(
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.replica_directory_id,
                    item.voter_directory_id,
                    item.last_offset_epoch,
                    item.last_offset,
                    item.pre_vote,
                )
        elif version >= 1:
            if len(item.replica_directory_id) != 16:
                raise uuid_refused(item.replica_directory_id)
            if len(item.voter_directory_id) != 16:
                raise uuid_refused(item.voter_directory_id)
            if item.unknown_tagged_fields:
                out += _S3INT32_2UUID_INT32_INT64.pack(
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.replica_directory_id,
                    item.voter_directory_id,
                    item.last_offset_epoch,
                    item.last_offset,
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _S3INT32_2UUID_INT32_INT64_ZERO.pack(
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.replica_directory_id,
                    item.voter_directory_id,
                    item.last_offset_epoch,
                    item.last_offset,
                )
            if item.pre_vote:
                raise not_in_version("pre_vote", version)
        else:
            if item.unknown_tagged_fields:
                out += _S4INT32_INT64.pack(
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.last_offset_epoch,
                    item.last_offset,
                )
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _S4INT32_INT64_ZERO.pack(
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.last_offset_epoch,
                    item.last_offset,
                )
            if item.pre_vote:
                raise not_in_version("pre_vote", version)


def _read_vote_request_topic_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[VoteRequestTopicData], int]:
    items: list[VoteRequestTopicData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(VoteRequestTopicData)
        n = data[at]
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 25 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_vote_request_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_vote_request_topic_data(
    out: bytearray, items: Iterable[VoteRequestTopicData], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_vote_request_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_vote_response_partition_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[VoteResponsePartitionData], int]:
    items: list[VoteResponsePartitionData] = []
    for _ in range(count):
        item = _new(VoteResponsePartitionData)
        (
            item.partition_index,
            item.error_code,
            item.leader_id,
            item.leader_epoch,
            item.vote_granted,
            tags,
        ) = _INT32_INT16_2INT32_BOOL_BYTE.unpack_from(data, at)
        at += 16
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_vote_response_partition_data(
    out: bytearray, items: Iterable[VoteResponsePartitionData], version: int
) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT32_INT16_2INT32_BOOL.pack(
                item.partition_index,
                item.error_code,
                item.leader_id,
                item.leader_epoch,
                item.vote_granted,
            )
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_INT16_2INT32_BOOL_ZERO.pack(
                item.partition_index,
                item.error_code,
                item.leader_id,
                item.leader_epoch,
                item.vote_granted,
            )


def _read_vote_response_topic_data(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[VoteResponseTopicData], int]:
    items: list[VoteResponseTopicData] = []
    limit = len(data)
    for _ in range(count):
        item = _new(VoteResponseTopicData)
        n = data[at]
        if 0 < n < 128:
            item.topic_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.topic_name, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 16 <= limit - at:
            raise count_refused(n, limit - at)
        item.partitions, at = _read_vote_response_partition_data(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_vote_response_topic_data(
    out: bytearray, items: Iterable[VoteResponseTopicData], version: int
) -> None:
    for item in items:
        raw = item.topic_name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_vote_response_partition_data(out, item.partitions, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_node_endpoint(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[NodeEndpoint], int]:
    items: list[NodeEndpoint] = []
    for _ in range(count):
        item = _new(NodeEndpoint)
        item.node_id, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.host, at = read_compact_string(data, at)
        item.port, tags = _UINT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_node_endpoint(out: bytearray, items: Iterable[NodeEndpoint], version: int) -> None:
    for item in items:
        raw = item.host.encode()
        n = len(raw) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.node_id, n)
        else:
            out += _INT32.pack(item.node_id)
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _UINT16.pack(item.port)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UINT16_ZERO.pack(item.port)


def _read_vote_response_tags(item: VoteResponse, data: bytes, at: int, version: int) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            if not (version >= 1):
                raise tag_refused(tag, version)
            n, at = read_length(data, at)
            limit = len(data)
            if not 0 <= n * 8 <= limit - at:
                raise count_refused(n, limit - at)
            item.node_endpoints, at = _read_node_endpoint(data, at, version, n)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_vote_response_tags(section: bytearray, item: VoteResponse, version: int) -> None:
    known: list[TaggedField] = []
    if item.node_endpoints:
        if version >= 1:
            out = bytearray()
            write_uvarint(out, len(item.node_endpoints) + 1)
            _write_node_endpoint(out, item.node_endpoints, version)
            known.append(TaggedField(0, bytes(out)))
        else:
            raise not_in_version("node_endpoints", version)
    write_tagged_fields(section, known, item.unknown_tagged_fields)

SCHEMA: Final = """\
request VoteRequest key=52 versions=0-2 flexible=0+ listeners=controller
  clusterId               string           nullable default=null
  voterId                 int32            1+ default=-1 ignorable
  topics                  []TopicData
    topicName             string
    partitions            []PartitionData
      partitionIndex      int32
      replicaEpoch        int32
      replicaId           int32
      replicaDirectoryId  uuid             1+ ignorable
      voterDirectoryId    uuid             1+ ignorable
      lastOffsetEpoch     int32
      lastOffset          int64
      preVote             bool             2

response VoteResponse key=52 versions=0-2 flexible=0+ listeners=controller
  errorCode           int16
  topics              []TopicData
    topicName         string
    partitions        []PartitionData
      partitionIndex  int32
      errorCode       int16
      leaderId        int32
      leaderEpoch     int32
      voteGranted     bool
  nodeEndpoints       []NodeEndpoint   1+ tag=0
    nodeId            int32
    host              string
    port              uint16
"""
