"""UpdateRaftVoter, API key 82, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/update_raft_voter.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length, read_uvarint
from millstream.protocol.tagged_fields import TaggedField, read_tag_count, read_unknown_field, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_length, write_string

_S_2INT16: Final = Struct(">hh")
_S_2INT16_BYTE: Final = Struct(">hhB")
_S_2INT32: Final = Struct(">ii")
_S_2INT32_BYTE: Final = Struct(">iiB")
_S_2INT32_UUID: Final = Struct(">ii16s")
_S_2INT32_UUID_BYTE: Final = Struct(">ii16sB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_UINT16: Final = Struct(">H")
_S_UINT16_BYTE: Final = Struct(">HB")
_new: Final = object.__new__


@dataclass(slots=True)
class Listener:
    name: str = ""
    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(frozen=True, slots=True)
class KRaftVersionFeature:
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_KRAFT_VERSION_FEATURE: Final = KRaftVersionFeature()


@dataclass(slots=True)
class UpdateRaftVoterRequest:
    cluster_id: str | None = ""
    current_leader_epoch: int = 0
    voter_id: int = 0
    voter_directory_id: Uuid = ZERO_UUID
    listeners: list[Listener] = field(default_factory=list)
    kraft_version_feature: KRaftVersionFeature = _NO_KRAFT_VERSION_FEATURE
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 82
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            if item.cluster_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.cluster_id)
            out += _S_2INT32_UUID.pack(item.current_leader_epoch, item.voter_id, item.voter_directory_id)
            write_length(out, len(item.listeners))
            _write_listener(out, item.listeners, version)
            _write_kraft_version_feature(out, (item.kraft_version_feature,), version)
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
                item.cluster_id = None
            else:
                at += n
                item.cluster_id = data[at - n : at].decode("utf-8", LENIENT)
            item.current_leader_epoch, item.voter_id, item.voter_directory_id, n = _S_2INT32_UUID_BYTE.unpack_from(data, at)
            at += 25
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            item.listeners, at = _read_listener(data, at, version, n)
            (item.kraft_version_feature,), at = _read_kraft_version_feature(data, at, version, 1)
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


@dataclass(frozen=True, slots=True)
class CurrentLeader:
    leader_id: int = -1
    leader_epoch: int = -1
    host: str = ""
    port: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_CURRENT_LEADER: Final = CurrentLeader()


@dataclass(slots=True)
class UpdateRaftVoterResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    current_leader: CurrentLeader = _NO_CURRENT_LEADER  # tag 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 82
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.current_leader is not _NO_CURRENT_LEADER or item.unknown_tagged_fields:
                _write_update_raft_voter_response_tags(out, item, version)
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
            item.throttle_time_ms, item.error_code, tags = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            item.current_leader = _NO_CURRENT_LEADER
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_update_raft_voter_response_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_listener(data: bytes, at: int, version: int, count: int) -> tuple[list[Listener], int]:
    items: list[Listener] = []
    for _ in range(count):
        item = _new(Listener)
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
        item.port, tags = _S_UINT16_BYTE.unpack_from(data, at)
        at += 3
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_listener(out: bytearray, items: Iterable[Listener], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_string(out, item.host)
        out += _S_UINT16.pack(item.port)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_kraft_version_feature(data: bytes, at: int, version: int, count: int) -> tuple[list[KRaftVersionFeature], int]:
    items: list[KRaftVersionFeature] = []
    for _ in range(count):
        min_supported_version, max_supported_version, tags = _S_2INT16_BYTE.unpack_from(data, at)
        at += 5
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(KRaftVersionFeature(min_supported_version, max_supported_version, unknown))
    return items, at


def _write_kraft_version_feature(out: bytearray, items: Iterable[KRaftVersionFeature], version: int) -> None:
    for item in items:
        out += _S_2INT16.pack(item.min_supported_version, item.max_supported_version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_current_leader(data: bytes, at: int, version: int, count: int) -> tuple[list[CurrentLeader], int]:
    items: list[CurrentLeader] = []
    for _ in range(count):
        leader_id, leader_epoch, n = _S_2INT32_BYTE.unpack_from(data, at)
        at += 9
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        host = data[at - n : at].decode("utf-8", LENIENT)
        port, tags = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        unknown: tuple[TaggedField, ...] = ()
        if tags:
            unknown, at = read_unknown_fields(data, at - 1)
        items.append(CurrentLeader(leader_id, leader_epoch, host, port, unknown))
    return items, at


def _write_current_leader(out: bytearray, items: Iterable[CurrentLeader], version: int) -> None:
    for item in items:
        out += _S_2INT32.pack(item.leader_id, item.leader_epoch)
        write_compact_string(out, item.host)
        out += _S_INT32.pack(item.port)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_update_raft_voter_response_tags(item: UpdateRaftVoterResponse, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            (item.current_leader,), at = _read_current_leader(data, at, version, 1)
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_update_raft_voter_response_tags(target: bytearray, item: UpdateRaftVoterResponse, version: int) -> None:
    known: list[TaggedField] = []
    if item.current_leader != _NO_CURRENT_LEADER:
        out = bytearray()
        _write_current_leader(out, (item.current_leader,), version)
        known.append(TaggedField(0, bytes(out)))
    write_tagged_fields(target, known, item.unknown_tagged_fields)

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
