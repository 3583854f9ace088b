"""FindCoordinator, API key 10, versions 0-6: request and response.

Written by `make codegen` from codegen/schemas/find_coordinator.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_compact_string,
    read_compact_string_or_null,
    read_compact_strings,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    write_compact_strings,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_2INT16: Final = Struct(">ihh")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_new: Final = object.__new__


class FindCoordinatorRequest(MessageValue):
    """Request of API 10, versions 0-6."""

    __slots__ = ("key", "key_type", "coordinator_keys", "unknown_tagged_fields")

    key: str  # 0-3
    key_type: int  # 1+
    coordinator_keys: list[str]  # 4+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is UNSET else coordinator_keys
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 10
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise version_refused(type(self), version)
        try:
            if version <= 3:
                raw = self.key.encode()
                n = len(raw) + 1
            if version >= 4:
                if self.key:
                    raise not_in_version("key", version)
            elif version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            if version <= 3:
                out += raw
            if version >= 4:
                n = len(self.coordinator_keys) + 1
            if version >= 4:
                if n < 128:
                    out += _INT8_BYTE.pack(self.key_type, n)
                else:
                    out += _INT8.pack(self.key_type)
                    write_uvarint(out, n)
            elif version >= 1:
                out += _INT8.pack(self.key_type)
                if self.coordinator_keys:
                    raise not_in_version("coordinator_keys", version)
            else:
                if self.key_type:
                    raise not_in_version("key_type", version)
                if self.coordinator_keys:
                    raise not_in_version("coordinator_keys", version)
            if version >= 4:
                write_compact_strings(out, self.coordinator_keys)
            if version >= 3:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
            elif self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 6:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
                message.key = ""
            elif version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.key = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.key, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.key = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 4:
                message.key_type, n = _INT8_BYTE.unpack_from(data, at)
                at += 1
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            elif version >= 1:
                (message.key_type,) = _INT8.unpack_from(data, at)
                at += 1
                message.coordinator_keys = []
            else:
                message.key_type = 0
                message.coordinator_keys = []
            if version >= 4:
                message.coordinator_keys, at = read_compact_strings(data, at, n)
            if version >= 3:
                tags = data[at]
                at += 1
            else:
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class Coordinator(MessageValue):
    """In `FindCoordinatorResponse.coordinators`, versions 4-6."""

    __slots__ = (
        "key", "node_id", "host", "port", "error_code", "error_message", "unknown_tagged_fields"
    )

    key: str
    node_id: int
    host: str
    port: int
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class FindCoordinatorResponse(MessageValue):
    """Response of API 10, versions 0-6."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "node_id",
        "host",
        "port",
        "coordinators",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int  # 1+
    error_code: int  # 0-3
    error_message: str | None  # 1-3
    node_id: int  # 0-3
    host: str  # 0-3
    port: int  # 0-3
    coordinators: list[Coordinator]  # 4+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = [] if coordinators is UNSET else coordinators
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 10
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 6:
            raise version_refused(type(self), version)
        try:
            if 1 <= version <= 3:
                if self.error_message is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.error_message.encode()
                    n = len(raw) + 1
            if version >= 4:
                out += _INT32.pack(self.throttle_time_ms)
                if self.error_code:
                    raise not_in_version("error_code", version)
            elif version >= 3:
                if n < 128:
                    out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
                else:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_string_length(out, n)
            elif version >= 1:
                out += _INT32_2INT16.pack(self.throttle_time_ms, self.error_code, n - 1)
            else:
                out += _INT16.pack(self.error_code)
            if 1 <= version <= 3:
                out += raw
            if version <= 3:
                raw = self.host.encode()
                n = len(raw) + 1
            if version >= 4:
                if self.node_id:
                    raise not_in_version("node_id", version)
                if self.host:
                    raise not_in_version("host", version)
            elif version >= 3:
                if n < 128:
                    out += _INT32_BYTE.pack(self.node_id, n)
                else:
                    out += _INT32.pack(self.node_id)
                    write_string_length(out, n)
            else:
                out += _INT32_INT16.pack(self.node_id, n - 1)
            if version <= 3:
                out += raw
            if version >= 4:
                n = len(self.coordinators) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                if self.port:
                    raise not_in_version("port", version)
            else:
                out += _INT32.pack(self.port)
                if self.coordinators:
                    raise not_in_version("coordinators", version)
            if version >= 4:
                _write_coordinator(out, self.coordinators, version)
            if version >= 3:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
            elif self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 6:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
                (message.throttle_time_ms,) = _INT32.unpack_from(data, at)
                at += 4
                message.error_code = 0
                message.error_message = ""
            elif version >= 3:
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
            elif version >= 1:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    n,
                ) = _INT32_2INT16.unpack_from(data, at)
                at += 8
                if n < 0:
                    message.error_message = None
                else:
                    message.error_message = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            else:
                (message.error_code,) = _INT16.unpack_from(data, at)
                at += 2
                message.throttle_time_ms = 0
                message.error_message = ""
            if version >= 4:
                message.node_id = 0
                message.host = ""
            elif version >= 3:
                message.node_id, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if 0 < n < 128:
                    message.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.host, at = read_compact_string(data, at)
            else:
                message.node_id, n = _INT32_INT16.unpack_from(data, at)
                at += 6
                if n < 0:
                    raise null_refused()
                message.host = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 4:
                n = data[at]
                message.port = 0
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (message.port,) = _INT32.unpack_from(data, at)
                at += 4
                message.coordinators = []
            if version >= 4:
                if not 0 <= n * 14 <= limit - at:
                    raise count_refused(n, limit - at)
                message.coordinators, at = _read_coordinator(data, at, version, n)
            if version >= 3:
                tags = data[at]
                at += 1
            else:
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_coordinator(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[Coordinator], int]:
    items: list[Coordinator] = []
    for _ in range(count):
        item = _new(Coordinator)
        n = data[at]
        if 0 < n < 128:
            item.key = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.key, at = read_compact_string(data, at)
        item.node_id, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.host, at = read_compact_string(data, at)
        item.port, item.error_code, n = _INT32_INT16_BYTE.unpack_from(data, at)
        at += 6
        if 0 < n < 128:
            item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.error_message, at = read_compact_string_or_null(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_coordinator(out: bytearray, items: Iterable[Coordinator], version: int) -> None:
    for item in items:
        raw = item.key.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.host.encode()
        n = len(raw) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.node_id, n)
        else:
            out += _INT32.pack(item.node_id)
            write_string_length(out, n)
        out += raw
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT32_INT16_BYTE.pack(item.port, item.error_code, n)
        else:
            out += _INT32_INT16.pack(item.port, item.error_code)
            write_string_length(out, n)
        out += raw
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
