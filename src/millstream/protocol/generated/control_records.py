"""control messages: ControlRecordTypeSchema to VotersRecord.

Written by `make codegen` from codegen/schemas/control_records.txt.
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
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    not_in_version,
    tags_refused,
    uuid_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT16_INT32: Final = Struct(">hi")
_INT16_INT32_BYTE: Final = Struct(">hiB")
_INT16_INT64: Final = Struct(">hq")
_INT16_INT64_BYTE: Final = Struct(">hqB")
_INT16_INT64_ZERO: Final = Struct(">hqx")
_INT16_ZERO: Final = Struct(">hx")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_UUID: Final = Struct(">i16s")
_INT32_UUID_BYTE: Final = Struct(">i16sB")
_INT32_UUID_ZERO: Final = Struct(">i16sx")
_INT32_ZERO: Final = Struct(">ix")
_S2INT16: Final = Struct(">hh")
_S2INT16_BYTE: Final = Struct(">hhB")
_S2INT16_ZERO: Final = Struct(">hhx")
_UINT16: Final = Struct(">H")
_UINT16_BYTE: Final = Struct(">HB")
_UINT16_ZERO: Final = Struct(">Hx")
_new: Final = object.__new__


class ControlRecordTypeSchema(MessageValue):
    """Control, version 0."""

    __slots__ = ("type", "unknown_tagged_fields")

    type: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(self, type: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.type = type
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            out += _INT16.pack(self.type)
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
            (message.type,) = _INT16.unpack_from(data, at)
            at += 2
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class EndTxnMarker(MessageValue):
    """Control, version 0."""

    __slots__ = ("coordinator_epoch", "unknown_tagged_fields")

    coordinator_epoch: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, coordinator_epoch: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            out += _INT32.pack(self.coordinator_epoch)
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
            (message.coordinator_epoch,) = _INT32.unpack_from(data, at)
            at += 4
            message.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class KRaftVersionRecord(MessageValue):
    """Control, version 0."""

    __slots__ = ("version", "kraft_version", "unknown_tagged_fields")

    version: int
    kraft_version: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        version: int = 0,
        kraft_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.version = version
        self.kraft_version = kraft_version
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _S2INT16.pack(self.version, self.kraft_version)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _S2INT16_ZERO.pack(self.version, self.kraft_version)
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
            message.version, message.kraft_version, tags = _S2INT16_BYTE.unpack_from(data, at)
            at += 5
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class LeaderChangeMessageVoter(MessageValue):
    """In `LeaderChangeMessage.voters` and elsewhere, versions 0-1."""

    __slots__ = ("voter_id", "voter_directory_id", "unknown_tagged_fields")

    voter_id: int
    voter_directory_id: Uuid  # 1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: Uuid = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields


class LeaderChangeMessage(MessageValue):
    """Control, versions 0-1."""

    __slots__ = ("version", "leader_id", "voters", "granting_voters", "unknown_tagged_fields")

    version: int
    leader_id: int
    voters: list[LeaderChangeMessageVoter]
    granting_voters: list[LeaderChangeMessageVoter]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        version: int = 0,
        leader_id: int = 0,
        voters: list[LeaderChangeMessageVoter] = UNSET,
        granting_voters: list[LeaderChangeMessageVoter] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters = [] if voters is UNSET else voters
        self.granting_voters = [] if granting_voters is UNSET else granting_voters
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.voters) + 1
            if n < 128:
                out += _INT16_INT32_BYTE.pack(self.version, self.leader_id, n)
            else:
                out += _INT16_INT32.pack(self.version, self.leader_id)
                write_uvarint(out, n)
            _write_leader_change_message_voter(out, self.voters, version)
            n = len(self.granting_voters) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_leader_change_message_voter(out, self.granting_voters, version)
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
            message.version, message.leader_id, n = _INT16_INT32_BYTE.unpack_from(data, at)
            at += 6
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            message.voters, at = _read_leader_change_message_voter(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            message.granting_voters, at = _read_leader_change_message_voter(data, at, version, n)
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


class SnapshotFooterRecord(MessageValue):
    """Control, version 0."""

    __slots__ = ("version", "unknown_tagged_fields")

    version: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, version: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.version = version
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT16.pack(self.version)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT16_ZERO.pack(self.version)
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
            message.version, tags = _INT16_BYTE.unpack_from(data, at)
            at += 3
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class SnapshotHeaderRecord(MessageValue):
    """Control, version 0."""

    __slots__ = ("version", "last_contained_log_timestamp", "unknown_tagged_fields")

    version: int
    last_contained_log_timestamp: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        version: int = 0,
        last_contained_log_timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.unknown_tagged_fields:
                out += _INT16_INT64.pack(self.version, self.last_contained_log_timestamp)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT16_INT64_ZERO.pack(self.version, self.last_contained_log_timestamp)
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
                message.version,
                message.last_contained_log_timestamp,
                tags,
            ) = _INT16_INT64_BYTE.unpack_from(data, at)
            at += 11
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class Endpoint(MessageValue):
    """In `VotersRecordVoter.endpoints`, version 0."""

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
    """In `VotersRecordVoter.kraft_version_feature`, version 0."""

    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


_NO_KRAFT_VERSION_FEATURE: Final = KRaftVersionFeature()


class VotersRecordVoter(MessageValue):
    """In `VotersRecord.voters`, version 0."""

    __slots__ = (
        "voter_id",
        "voter_directory_id",
        "endpoints",
        "kraft_version_feature",
        "unknown_tagged_fields",
    )

    voter_id: int
    voter_directory_id: Uuid
    endpoints: list[Endpoint]
    kraft_version_feature: KRaftVersionFeature
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: Uuid = ZERO_UUID,
        endpoints: list[Endpoint] = UNSET,
        kraft_version_feature: KRaftVersionFeature = _NO_KRAFT_VERSION_FEATURE,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints = [] if endpoints is UNSET else endpoints
        self.kraft_version_feature = kraft_version_feature
        self.unknown_tagged_fields = unknown_tagged_fields


class VotersRecord(MessageValue):
    """Control, version 0."""

    __slots__ = ("version", "voters", "unknown_tagged_fields")

    version: int
    voters: list[VotersRecordVoter]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        version: int = 0,
        voters: list[VotersRecordVoter] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.version = version
        self.voters = [] if voters is UNSET else voters
        self.unknown_tagged_fields = unknown_tagged_fields

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.voters) + 1
            if n < 128:
                out += _INT16_BYTE.pack(self.version, n)
            else:
                out += _INT16.pack(self.version)
                write_uvarint(out, n)
            _write_voters_record_voter(out, self.voters, version)
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
            message.version, n = _INT16_BYTE.unpack_from(data, at)
            at += 2
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 27 <= limit - at:
                raise count_refused(n, limit - at)
            message.voters, at = _read_voters_record_voter(data, at, version, n)
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


def _read_leader_change_message_voter(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[LeaderChangeMessageVoter], int]:
    items: list[LeaderChangeMessageVoter] = []
    for _ in range(count):
        item = _new(LeaderChangeMessageVoter)
        if version >= 1:
            item.voter_id, item.voter_directory_id, tags = _INT32_UUID_BYTE.unpack_from(data, at)
            at += 21
        else:
            item.voter_id, tags = _INT32_BYTE.unpack_from(data, at)
            at += 5
            item.voter_directory_id = ZERO_UUID
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_leader_change_message_voter(
    out: bytearray, items: Iterable[LeaderChangeMessageVoter], version: int
) -> None:
    for item in items:
        if version >= 1:
            if len(item.voter_directory_id) != 16:
                raise uuid_refused(item.voter_directory_id)
            if item.unknown_tagged_fields:
                out += _INT32_UUID.pack(item.voter_id, item.voter_directory_id)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_UUID_ZERO.pack(item.voter_id, item.voter_directory_id)
        else:
            if item.unknown_tagged_fields:
                out += _INT32.pack(item.voter_id)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_ZERO.pack(item.voter_id)
            if item.voter_directory_id != ZERO_UUID:
                raise not_in_version("voter_directory_id", version)


def _read_endpoint(data: bytes, at: int, version: int, count: int) -> tuple[list[Endpoint], int]:
    items: list[Endpoint] = []
    for _ in range(count):
        item = _new(Endpoint)
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


def _write_endpoint(out: bytearray, items: Iterable[Endpoint], version: int) -> None:
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


def _read_voters_record_voter(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[VotersRecordVoter], int]:
    items: list[VotersRecordVoter] = []
    limit = len(data)
    for _ in range(count):
        item = _new(VotersRecordVoter)
        item.voter_id, item.voter_directory_id, n = _INT32_UUID_BYTE.unpack_from(data, at)
        at += 20
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 5 <= limit - at:
            raise count_refused(n, limit - at)
        item.endpoints, at = _read_endpoint(data, at, version, n)
        (item.kraft_version_feature,), at = _read_kraft_version_feature(data, at, version, 1)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_voters_record_voter(
    out: bytearray, items: Iterable[VotersRecordVoter], version: int
) -> None:
    for item in items:
        n = len(item.endpoints) + 1
        if len(item.voter_directory_id) != 16:
            raise uuid_refused(item.voter_directory_id)
        if n < 128:
            out += _INT32_UUID_BYTE.pack(item.voter_id, item.voter_directory_id, n)
        else:
            out += _INT32_UUID.pack(item.voter_id, item.voter_directory_id)
            write_uvarint(out, n)
        _write_endpoint(out, item.endpoints, version)
        _write_kraft_version_feature(out, (item.kraft_version_feature,), version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
control ControlRecordTypeSchema versions=0
  type  int16

control EndTxnMarker versions=0
  coordinatorEpoch  int32

control KRaftVersionRecord versions=0 flexible=0+
  version       int16
  kRaftVersion  int16

control LeaderChangeMessage versions=0-1 flexible=0+
  version             int16
  leaderId            int32
  voters              []Voter
    voterId           int32
    voterDirectoryId  uuid     1
  grantingVoters      []Voter

control SnapshotFooterRecord versions=0 flexible=0+
  version  int16

control SnapshotHeaderRecord versions=0 flexible=0+
  version                    int16
  lastContainedLogTimestamp  int64

control VotersRecord versions=0 flexible=0+
  version                  int16
  voters                   []Voter
    voterId                int32
    voterDirectoryId       uuid
    endpoints              []Endpoint
      name                 string
      host                 string
      port                 uint16
    kRaftVersionFeature    KRaftVersionFeature
      minSupportedVersion  int16
      maxSupportedVersion  int16
"""
