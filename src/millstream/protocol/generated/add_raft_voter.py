"""AddRaftVoter, API key 80, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/add_raft_voter.txt.
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
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    uuid_refused,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_S2INT32_UUID: Final = Struct(">ii16s")
_S2INT32_UUID_BYTE: Final = Struct(">ii16sB")
_UINT16: Final = Struct(">H")
_UINT16_BYTE: Final = Struct(">HB")
_UINT16_ZERO: Final = Struct(">Hx")
_new: Final = object.__new__


class Listener(MessageValue):
    """In `AddRaftVoterRequest.listeners`, versions 0-1."""

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


class AddRaftVoterRequest(MessageValue):
    """Request of API 80, versions 0-1."""

    __slots__ = (
        "cluster_id",
        "timeout_ms",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "ack_when_committed",
        "unknown_tagged_fields",
    )

    cluster_id: str | None
    timeout_ms: int
    voter_id: int
    voter_directory_id: Uuid
    listeners: list[Listener]
    ack_when_committed: bool  # 1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: Uuid = ZERO_UUID,
        listeners: list[Listener] = UNSET,
        ack_when_committed: bool = True,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is UNSET else listeners
        self.ack_when_committed = ack_when_committed
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 80
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
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
                    self.timeout_ms, self.voter_id, self.voter_directory_id, n
                )
            else:
                out += _S2INT32_UUID.pack(self.timeout_ms, self.voter_id, self.voter_directory_id)
                write_uvarint(out, n)
            _write_listener(out, self.listeners, version)
            if version >= 1:
                if self.unknown_tagged_fields:
                    out += _BOOL.pack(self.ack_when_committed)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _BOOL_ZERO.pack(self.ack_when_committed)
            else:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
                if not self.ack_when_committed:
                    raise not_in_version("ack_when_committed", version)
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
            n = data[at]
            if 0 < n < 128:
                message.cluster_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.cluster_id, at = read_compact_string_or_null(data, at)
            (
                message.timeout_ms,
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
            if version >= 1:
                message.ack_when_committed, tags = _BOOL_BYTE.unpack_from(data, at)
                at += 2
            else:
                tags = data[at]
                at += 1
                message.ack_when_committed = True
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class AddRaftVoterResponse(MessageValue):
    """Response of API 80, versions 0-1."""

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

    KEY: ClassVar[int] = 80
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
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
        if not 0 <= version <= 1:
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

SCHEMA: Final = """\
request AddRaftVoterRequest key=80 versions=0-1 flexible=0+ listeners=broker,controller
  clusterId         string      nullable
  timeoutMs         int32
  voterId           int32
  voterDirectoryId  uuid
  listeners         []Listener
    name            string
    host            string
    port            uint16
  ackWhenCommitted  bool        1 default=true

response AddRaftVoterResponse key=80 versions=0-1 flexible=0+ listeners=broker,controller
  throttleTimeMs  int32
  errorCode       int16
  errorMessage    string  nullable
"""
