"""AddRaftVoter, API key 80, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/add_raft_voter.txt.
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
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_compact_string, write_length, write_string

_S_2INT32_UUID: Final = Struct(">ii16s")
_S_2INT32_UUID_BYTE: Final = Struct(">ii16sB")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT32: Final = Struct(">i")
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


@dataclass(slots=True)
class AddRaftVoterRequest:
    cluster_id: str | None = ""
    timeout_ms: int = 0
    voter_id: int = 0
    voter_directory_id: Uuid = ZERO_UUID
    listeners: list[Listener] = field(default_factory=list)
    ack_when_committed: bool = True  # 1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 80
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            if item.cluster_id is None:
                out.append(0)
            else:
                write_compact_string(out, item.cluster_id)
            out += _S_2INT32_UUID.pack(item.timeout_ms, item.voter_id, item.voter_directory_id)
            write_length(out, len(item.listeners))
            _write_listener(out, item.listeners, version)
            if version >= 1:
                out += _S_BOOL.pack(item.ack_when_committed)
            else:
                if not item.ack_when_committed:
                    raise not_in_version("ack_when_committed", version)
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
            item.timeout_ms, item.voter_id, item.voter_directory_id, n = _S_2INT32_UUID_BYTE.unpack_from(data, at)
            at += 25
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            item.listeners, at = _read_listener(data, at, version, n)
            if version >= 1:
                item.ack_when_committed, tags = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
            else:
                tags = data[at]
                at += 1
                item.ack_when_committed = True
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class AddRaftVoterResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 80
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
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
        if not 0 <= version <= 1:
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
