"""RemoveRaftVoter, API key 81, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/remove_raft_voter.txt.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, past_end, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_string

_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT32_UUID: Final = Struct(">i16s")
_S_INT32_UUID_BYTE: Final = Struct(">i16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class RemoveRaftVoterRequest:
    cluster_id: str | None = ""
    voter_id: int = 0
    voter_directory_id: Uuid = ZERO_UUID
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 81
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
            out += _S_INT32_UUID.pack(item.voter_id, item.voter_directory_id)
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
            item.voter_id, item.voter_directory_id, tags = _S_INT32_UUID_BYTE.unpack_from(data, at)
            at += 21
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class RemoveRaftVoterResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 81
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
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
            item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
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


SCHEMA: Final = """\
request RemoveRaftVoterRequest key=81 versions=0 flexible=0+ listeners=broker,controller
  clusterId         string  nullable
  voterId           int32
  voterDirectoryId  uuid

response RemoveRaftVoterResponse key=81 versions=0 flexible=0+ listeners=broker,controller
  throttleTimeMs  int32
  errorCode       int16
  errorMessage    string  nullable
"""
