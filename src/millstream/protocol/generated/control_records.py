"""control messages: ControlRecordTypeSchema to VotersRecord.

Written by `make codegen` from codegen/schemas/control_records.txt.
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

_S_2INT16: Final = Struct(">hh")
_S_2INT16_BYTE: Final = Struct(">hhB")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT16_INT32: Final = Struct(">hi")
_S_INT16_INT32_BYTE: Final = Struct(">hiB")
_S_INT16_INT64: Final = Struct(">hq")
_S_INT16_INT64_BYTE: Final = Struct(">hqB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_UUID: Final = Struct(">i16s")
_S_INT32_UUID_BYTE: Final = Struct(">i16sB")
_S_UINT16: Final = Struct(">H")
_S_UINT16_BYTE: Final = Struct(">HB")
_new: Final = object.__new__


@dataclass(slots=True)
class ControlRecordTypeSchema:
    type: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16.pack(item.type)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
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
            (item.type,) = _S_INT16.unpack_from(data, at)
            at += 2
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class EndTxnMarker:
    coordinator_epoch: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = None

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.coordinator_epoch)
            if item.unknown_tagged_fields:
                raise tags_refused(version)
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
            (item.coordinator_epoch,) = _S_INT32.unpack_from(data, at)
            at += 4
            tags = 0
            item.unknown_tagged_fields = ()
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class KRaftVersionRecord:
    version: int = 0
    kraft_version: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_2INT16.pack(item.version, item.kraft_version)
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
            item.version, item.kraft_version, tags = _S_2INT16_BYTE.unpack_from(data, at)
            at += 5
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class LeaderChangeMessageVoter:
    voter_id: int = 0
    voter_directory_id: Uuid = ZERO_UUID  # 1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class LeaderChangeMessage:
    version: int = 0
    leader_id: int = 0
    voters: list[LeaderChangeMessageVoter] = field(default_factory=list)
    granting_voters: list[LeaderChangeMessageVoter] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16_INT32.pack(item.version, item.leader_id)
            write_length(out, len(item.voters))
            _write_leader_change_message_voter(out, item.voters, version)
            write_length(out, len(item.granting_voters))
            _write_leader_change_message_voter(out, item.granting_voters, version)
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
            item.version, item.leader_id, n = _S_INT16_INT32_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            item.voters, at = _read_leader_change_message_voter(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            item.granting_voters, at = _read_leader_change_message_voter(data, at, version, n)
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
class SnapshotFooterRecord:
    version: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16.pack(item.version)
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
            item.version, tags = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class SnapshotHeaderRecord:
    version: int = 0
    last_contained_log_timestamp: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16_INT64.pack(item.version, item.last_contained_log_timestamp)
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
            item.version, item.last_contained_log_timestamp, tags = _S_INT16_INT64_BYTE.unpack_from(data, at)
            at += 11
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class Endpoint:
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
class VotersRecordVoter:
    voter_id: int = 0
    voter_directory_id: Uuid = ZERO_UUID
    endpoints: list[Endpoint] = field(default_factory=list)
    kraft_version_feature: KRaftVersionFeature = _NO_KRAFT_VERSION_FEATURE
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class VotersRecord:
    version: int = 0
    voters: list[VotersRecordVoter] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16.pack(item.version)
            write_length(out, len(item.voters))
            _write_voters_record_voter(out, item.voters, version)
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
            item.version, n = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 27 <= limit - at:
                raise count_refused(n, limit - at)
            item.voters, at = _read_voters_record_voter(data, at, version, n)
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


def _read_leader_change_message_voter(data: bytes, at: int, version: int, count: int) -> tuple[list[LeaderChangeMessageVoter], int]:
    items: list[LeaderChangeMessageVoter] = []
    for _ in range(count):
        item = _new(LeaderChangeMessageVoter)
        if version >= 1:
            item.voter_id, item.voter_directory_id, tags = _S_INT32_UUID_BYTE.unpack_from(data, at)
            at += 21
        else:
            item.voter_id, tags = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            item.voter_directory_id = ZERO_UUID
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_leader_change_message_voter(out: bytearray, items: Iterable[LeaderChangeMessageVoter], version: int) -> None:
    for item in items:
        if version >= 1:
            out += _S_INT32_UUID.pack(item.voter_id, item.voter_directory_id)
        else:
            out += _S_INT32.pack(item.voter_id)
            if item.voter_directory_id != ZERO_UUID:
                raise not_in_version("voter_directory_id", version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_endpoint(data: bytes, at: int, version: int, count: int) -> tuple[list[Endpoint], int]:
    items: list[Endpoint] = []
    for _ in range(count):
        item = _new(Endpoint)
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


def _write_endpoint(out: bytearray, items: Iterable[Endpoint], version: int) -> None:
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


def _read_voters_record_voter(data: bytes, at: int, version: int, count: int) -> tuple[list[VotersRecordVoter], int]:
    limit = len(data)
    items: list[VotersRecordVoter] = []
    for _ in range(count):
        item = _new(VotersRecordVoter)
        item.voter_id, item.voter_directory_id, n = _S_INT32_UUID_BYTE.unpack_from(data, at)
        at += 21
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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


def _write_voters_record_voter(out: bytearray, items: Iterable[VotersRecordVoter], version: int) -> None:
    for item in items:
        out += _S_INT32_UUID.pack(item.voter_id, item.voter_directory_id)
        write_length(out, len(item.endpoints))
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
