"""UpdateRaftVoter, API key 82, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/update_raft_voter.txt.
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
    LENIENT,
    READ_FAILURES,
    count_refused,
    past_end,
    read_compact_string,
    read_compact_string_or_null,
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
    uuid_refused,
    write_string_length,
    write_uvarint,
)

_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_ZERO: Final = Struct(">ihx")
_INT32_ZERO: Final = Struct(">ix")
_S2INT16: Final = Struct(">hh")
_S2INT16_BYTE: Final = Struct(">hhB")
_S2INT16_ZERO: Final = Struct(">hhx")
_S2INT32: Final = Struct(">ii")
_S2INT32_BYTE: Final = Struct(">iiB")
_S2INT32_UUID: Final = Struct(">ii16s")
_S2INT32_UUID_BYTE: Final = Struct(">ii16sB")
_UINT16: Final = Struct(">H")
_UINT16_BYTE: Final = Struct(">HB")
_UINT16_ZERO: Final = Struct(">Hx")
_new: Final = object.__new__


class Listener(MessageValue):
    """In `UpdateRaftVoterRequest.listeners`, version 0."""

    __slots__ = ("name", "host", "port", "unknown_tagged_fields")

    name: str
    host: str
    port: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.unknown_tagged_fields = unknown_tagged_fields


@dataclass(frozen=True, slots=True)
class KRaftVersionFeature(MessageValue):
    """In `UpdateRaftVoterRequest.kraft_version_feature`, version 0."""

    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_KRAFT_VERSION_FEATURE: Final = KRaftVersionFeature()


class UpdateRaftVoterRequest(MessageValue):
    """Request of API 82, version 0."""

    __slots__ = (
        "cluster_id",
        "current_leader_epoch",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "kraft_version_feature",
        "unknown_tagged_fields",
    )

    cluster_id: str | None
    current_leader_epoch: int
    voter_id: int
    voter_directory_id: Uuid
    listeners: list[Listener]
    kraft_version_feature: KRaftVersionFeature
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: Uuid = ZERO_UUID,
        listeners: list[Listener] = UNSET,
        kraft_version_feature: KRaftVersionFeature = _NO_KRAFT_VERSION_FEATURE,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.current_leader_epoch = current_leader_epoch
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is UNSET else listeners
        self.kraft_version_feature = kraft_version_feature
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 82
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
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
            n = len(self.listeners) + 1
            if len(self.voter_directory_id) != 16:
                raise uuid_refused(self.voter_directory_id)
            if n < 128:
                out += _S2INT32_UUID_BYTE.pack(
                    self.current_leader_epoch, self.voter_id, self.voter_directory_id, n
                )
            else:
                out += _S2INT32_UUID.pack(
                    self.current_leader_epoch, self.voter_id, self.voter_directory_id
                )
                write_uvarint(out, n)
            _write_listener(out, self.listeners, version)
            _write_kraft_version_feature(out, (self.kraft_version_feature,), version)
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
                message.cluster_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.cluster_id, at = read_compact_string_or_null(data, at)
            (
                message.current_leader_epoch,
                message.voter_id,
                message.voter_directory_id,
                n,
            ) = _S2INT32_UUID_BYTE.unpack_from(data, at)
            at += 24
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            message.listeners, at = _read_listener(data, at, version, n)
            (message.kraft_version_feature,), at = _read_kraft_version_feature(data, at, version, 1)
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


@dataclass(frozen=True, slots=True)
class CurrentLeader(MessageValue):
    """In `UpdateRaftVoterResponse.current_leader`, version 0."""

    leader_id: int = -1
    leader_epoch: int = -1
    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_CURRENT_LEADER: Final = CurrentLeader()


class UpdateRaftVoterResponse(MessageValue):
    """Response of API 82, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "current_leader", "unknown_tagged_fields")

    throttle_time_ms: int
    error_code: int
    current_leader: CurrentLeader  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: CurrentLeader = _NO_CURRENT_LEADER,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader = current_leader
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 82
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.current_leader is not _NO_CURRENT_LEADER or self.unknown_tagged_fields:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                _write_update_raft_voter_response_tags(out, self, version)
            else:
                out += _INT32_INT16_ZERO.pack(self.throttle_time_ms, self.error_code)
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
                message.throttle_time_ms,
                message.error_code,
                tags,
            ) = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            message.current_leader = _NO_CURRENT_LEADER
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_update_raft_voter_response_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_listener(data: bytes, at: int, version: int, count: int) -> tuple[list[Listener], int]:
    items: list[Listener] = []
    for _ in range(count):
        item = _new(Listener)
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
        item.port, tags = _UINT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_listener(out: bytearray, items: Iterable[Listener], version: int) -> None:
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
            out += _UINT16.pack(item.port)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _UINT16_ZERO.pack(item.port)


def _read_kraft_version_feature(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[KRaftVersionFeature], int]:
    items: list[KRaftVersionFeature] = []
    for _ in range(count):
        min_supported_version, max_supported_version, tags = _S2INT16_BYTE.unpack_from(data, at)
        at += 5
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(KRaftVersionFeature(min_supported_version, max_supported_version, unknown))
    return items, at


def _write_kraft_version_feature(
    out: bytearray, items: Iterable[KRaftVersionFeature], version: int
) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _S2INT16.pack(item.min_supported_version, item.max_supported_version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _S2INT16_ZERO.pack(item.min_supported_version, item.max_supported_version)


def _read_current_leader(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CurrentLeader], int]:
    items: list[CurrentLeader] = []
    for _ in range(count):
        leader_id, leader_epoch, n = _S2INT32_BYTE.unpack_from(data, at)
        at += 8
        if 0 < n < 128:
            host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            host, at = read_compact_string(data, at)
        port, tags = _INT32_BYTE.unpack_from(data, at)
        at += 5
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(CurrentLeader(leader_id, leader_epoch, host, port, unknown))
    return items, at


def _write_current_leader(out: bytearray, items: Iterable[CurrentLeader], version: int) -> None:
    for item in items:
        raw = item.host.encode()
        n = len(raw) + 1
        if n < 128:
            out += _S2INT32_BYTE.pack(item.leader_id, item.leader_epoch, n)
        else:
            out += _S2INT32.pack(item.leader_id, item.leader_epoch)
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _INT32.pack(item.port)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT32_ZERO.pack(item.port)


def _read_update_raft_voter_response_tags(
    item: UpdateRaftVoterResponse, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.current_leader,), at = _read_current_leader(data, at, version, 1)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_update_raft_voter_response_tags(
    section: bytearray, item: UpdateRaftVoterResponse, version: int
) -> None:
    known: list[TaggedField] = []
    if item.current_leader is not _NO_CURRENT_LEADER and item.current_leader != _NO_CURRENT_LEADER:
        out = bytearray()
        _write_current_leader(out, (item.current_leader,), version)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)

SCHEMA: Final = """\
request UpdateRaftVoterRequest key=82 versions=0 flexible=0+ listeners=controller
  clusterId              string               nullable
  currentLeaderEpoch     int32
  voterId                int32
  voterDirectoryId       uuid
  listeners              []Listener
    name                 string
    host                 string
    port                 uint16
  kRaftVersionFeature    KRaftVersionFeature
    minSupportedVersion  int16
    maxSupportedVersion  int16

response UpdateRaftVoterResponse key=82 versions=0 flexible=0+ listeners=controller
  throttleTimeMs  int32
  errorCode       int16
  currentLeader   CurrentLeader  tag=0
    leaderId      int32          default=-1
    leaderEpoch   int32          default=-1
    host          string
    port          int32
"""
