"""ListConfigResources, API key 74, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/list_config_resources.txt.
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
    past_end,
    read_compact_string,
    read_integers,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    not_in_version,
    write_integers,
    write_string_length,
    write_uvarint,
)

_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_ZERO: Final = Struct(">bx")
_new: Final = object.__new__


class ListConfigResourcesRequest(MessageValue):
    """Request of API 74, versions 0-1."""

    __slots__ = ("resource_types", "unknown_tagged_fields")

    resource_types: list[int]  # 1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self, resource_types: list[int] = UNSET, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.resource_types = [] if resource_types is UNSET else resource_types
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 74
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            if version >= 1:
                n = len(self.resource_types) + 1
            if version >= 1:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif self.resource_types:
                raise not_in_version("resource_types", version)
            if version >= 1:
                write_integers(out, self.resource_types, "b")
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
            if version >= 1:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.resource_types = []
            if version >= 1:
                message.resource_types, at = read_integers(data, at, n, "b", 1)
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


class ConfigResource(MessageValue):
    """In `ListConfigResourcesResponse.config_resources`, versions 0-1."""

    __slots__ = ("resource_name", "resource_type", "unknown_tagged_fields")

    resource_name: str
    resource_type: int  # 1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        resource_name: str = "",
        resource_type: int = 16,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type
        self.unknown_tagged_fields = unknown_tagged_fields


class ListConfigResourcesResponse(MessageValue):
    """Response of API 74, versions 0-1."""

    __slots__ = ("throttle_time_ms", "error_code", "config_resources", "unknown_tagged_fields")

    throttle_time_ms: int
    error_code: int
    config_resources: list[ConfigResource]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ConfigResource] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources = [] if config_resources is UNSET else config_resources
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 74
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise version_refused(type(self), version)
        try:
            n = len(self.config_resources) + 1
            if n < 128:
                out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_uvarint(out, n)
            _write_config_resource(out, self.config_resources, version)
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
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 2 <= limit - at:
                raise count_refused(n, limit - at)
            message.config_resources, at = _read_config_resource(data, at, version, n)
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


def _read_config_resource(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ConfigResource], int]:
    items: list[ConfigResource] = []
    for _ in range(count):
        item = _new(ConfigResource)
        n = data[at]
        if 0 < n < 128:
            item.resource_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.resource_name, at = read_compact_string(data, at)
        if version >= 1:
            item.resource_type, tags = _INT8_BYTE.unpack_from(data, at)
            at += 2
        else:
            tags = data[at]
            at += 1
            item.resource_type = 16
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_config_resource(out: bytearray, items: Iterable[ConfigResource], version: int) -> None:
    for item in items:
        raw = item.resource_name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if version >= 1:
            if item.unknown_tagged_fields:
                out += _INT8.pack(item.resource_type)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT8_ZERO.pack(item.resource_type)
        else:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)

SCHEMA: Final = """\
request ListConfigResourcesRequest key=74 versions=0-1 flexible=0+ listeners=broker
  resourceTypes  []int8  1

response ListConfigResourcesResponse key=74 versions=0-1 flexible=0+ listeners=broker
  throttleTimeMs   int32
  errorCode        int16
  configResources  []ConfigResource
    resourceName   string
    resourceType   int8              1 default=16 ignorable
"""
