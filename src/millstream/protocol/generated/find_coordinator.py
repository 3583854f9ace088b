"""FindCoordinator, API key 10, versions 0-6: request and response.

Written by `make codegen` from codegen/schemas/find_coordinator.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_compact_strings, read_length, read_string_length, read_strings
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_length, write_string

_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_2INT16: Final = Struct(">ihh")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_new: Final = object.__new__


@dataclass(slots=True)
class FindCoordinatorRequest:
    key: str = ""  # 0-3
    key_type: int = 0  # 1+
    coordinator_keys: list[str] = field(default_factory=list)  # 4+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 10
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise unsupported(self, version)
        item = self
        try:
            if version <= 3:
                if version >= 3:
                    write_compact_string(out, item.key)
                else:
                    write_string(out, item.key)
            elif item.key:
                raise not_in_version("key", version)
            if version >= 1:
                out += _S_INT8.pack(item.key_type)
            else:
                if item.key_type:
                    raise not_in_version("key_type", version)
            if version >= 4:
                write_length(out, len(item.coordinator_keys))
                for text in item.coordinator_keys:
                    write_compact_string(out, text)
            elif item.coordinator_keys:
                raise not_in_version("coordinator_keys", version)
            if item.unknown_tagged_fields:
                if version < 3:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 3:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 6:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
                pass
            elif version >= 3:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT16.unpack_from(data, at)
                at += 2
            if version <= 3:
                if n < 0:
                    raise null_refused()
                at += n
                item.key = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.key = ""
            if version >= 4:
                item.key_type, n = _S_INT8_BYTE.unpack_from(data, at)
                at += 2
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                (item.key_type,) = _S_INT8.unpack_from(data, at)
                at += 1
            else:
                item.key_type = 0
            if version >= 4:
                item.coordinator_keys, at = read_compact_strings(data, at, n)
            else:
                item.coordinator_keys = []
            if version >= 3:
                tags = data[at]
                at += 1
            else:
                tags = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class Coordinator:
    key: str = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class FindCoordinatorResponse:
    throttle_time_ms: int = 0  # 1+
    error_code: int = 0  # 0-3
    error_message: str | None = ""  # 1-3
    node_id: int = 0  # 0-3
    host: str = ""  # 0-3
    port: int = 0  # 0-3
    coordinators: list[Coordinator] = field(default_factory=list)  # 4+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 10
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 4:
                out += _S_INT32.pack(item.throttle_time_ms)
                if item.error_code:
                    raise not_in_version("error_code", version)
            elif version >= 1:
                out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            else:
                out += _S_INT16.pack(item.error_code)
            if 1 <= version <= 3:
                if item.error_message is None:
                    if version >= 3:
                        out.append(0)
                    else:
                        out += b"\xff\xff"
                else:
                    if version >= 3:
                        write_compact_string(out, item.error_message)
                    else:
                        write_string(out, item.error_message)
            if version >= 4:
                if item.node_id:
                    raise not_in_version("node_id", version)
            else:
                out += _S_INT32.pack(item.node_id)
            if version <= 3:
                if version >= 3:
                    write_compact_string(out, item.host)
                else:
                    write_string(out, item.host)
            elif item.host:
                raise not_in_version("host", version)
            if version >= 4:
                if item.port:
                    raise not_in_version("port", version)
            else:
                out += _S_INT32.pack(item.port)
            if version >= 4:
                write_length(out, len(item.coordinators))
                _write_coordinator(out, item.coordinators, version)
            elif item.coordinators:
                raise not_in_version("coordinators", version)
            if item.unknown_tagged_fields:
                if version < 3:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 3:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 6:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
                (item.throttle_time_ms,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.error_code = 0
            elif version >= 3:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                item.throttle_time_ms, item.error_code, n = _S_INT32_2INT16.unpack_from(data, at)
                at += 8
            else:
                (item.error_code,) = _S_INT16.unpack_from(data, at)
                at += 2
                item.throttle_time_ms = 0
            if 1 <= version <= 3:
                if n < 0:
                    item.error_message = None
                else:
                    at += n
                    item.error_message = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.error_message = ""
            if version >= 4:
                item.node_id = 0
            elif version >= 3:
                item.node_id, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.node_id, n = _S_INT32_INT16.unpack_from(data, at)
                at += 6
            if version <= 3:
                if n < 0:
                    raise null_refused()
                at += n
                item.host = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.host = ""
            if version >= 4:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
                item.port = 0
            else:
                (item.port,) = _S_INT32.unpack_from(data, at)
                at += 4
            if version >= 4:
                if not 0 <= n * 14 <= limit - at:
                    raise count_refused(n, limit - at)
                item.coordinators, at = _read_coordinator(data, at, version, n)
            else:
                item.coordinators = []
            if version >= 3:
                tags = data[at]
                at += 1
            else:
                tags = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_coordinator(data: bytes, at: int, version: int, count: int) -> tuple[list[Coordinator], int]:
    items: list[Coordinator] = []
    for _ in range(count):
        item = _new(Coordinator)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.key = data[at - n : at].decode("utf-8", LENIENT)
        item.node_id, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.host = data[at - n : at].decode("utf-8", LENIENT)
        item.port, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
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
        items.append(item)
    return items, at


def _write_coordinator(out: bytearray, items: Iterable[Coordinator], version: int) -> None:
    for item in items:
        write_compact_string(out, item.key)
        out += _S_INT32.pack(item.node_id)
        write_compact_string(out, item.host)
        out += _S_INT32_INT16.pack(item.port, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            write_compact_string(out, item.error_message)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request FindCoordinatorRequest key=10 versions=0-6 flexible=3+ listeners=broker
  key              string    0-3
  keyType          int8      1+
  coordinatorKeys  []string  4+

response FindCoordinatorResponse key=10 versions=0-6 flexible=3+ listeners=broker
  throttleTimeMs  int32          1+ ignorable
  errorCode       int16          0-3
  errorMessage    string         1-3 nullable ignorable
  nodeId          int32          0-3
  host            string         0-3
  port            int32          0-3
  coordinators    []Coordinator  4+
    key           string
    nodeId        int32
    host          string
    port          int32
    errorCode     int16
    errorMessage  string         nullable
"""
