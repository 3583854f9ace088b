"""RemoveRaftVoter, API key 81, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/remove_raft_voter.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    past_end,
    read_compact_string_or_null,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    uuid_refused,
    write_string_length,
)

_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_UUID: Final = Struct(">i16s")
_INT32_UUID_BYTE: Final = Struct(">i16sB")
_INT32_UUID_ZERO: Final = Struct(">i16sx")
_new: Final = object.__new__


class RemoveRaftVoterRequest(MessageValue):
    """Request of API 81, version 0."""

    __slots__ = ("cluster_id", "voter_id", "voter_directory_id", "unknown_tagged_fields")

    cluster_id: str | None
    voter_id: int
    voter_directory_id: Uuid
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: Uuid = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 81
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
            if len(self.voter_directory_id) != 16:
                raise uuid_refused(self.voter_directory_id)
            if self.unknown_tagged_fields:
                out += _INT32_UUID.pack(self.voter_id, self.voter_directory_id)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_UUID_ZERO.pack(self.voter_id, self.voter_directory_id)
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
                message.voter_id,
                message.voter_directory_id,
                tags,
            ) = _INT32_UUID_BYTE.unpack_from(data, at)
            at += 21
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class RemoveRaftVoterResponse(MessageValue):
    """Response of API 81, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "unknown_tagged_fields")

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 81
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.error_message is None:
                raw = b""
                n = 0
            else:
                raw = self.error_message.encode()
                n = len(raw) + 1
            if n < 128:
                out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_string_length(out, n)
            out += raw
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
            (
                message.throttle_time_ms,
                message.error_code,
                n,
            ) = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 6
            if 0 < n < 128:
                message.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.error_message, at = read_compact_string_or_null(data, at)
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
