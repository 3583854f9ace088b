"""ListConfigResources, API key 74, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/list_config_resources.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_compact_string, write_integers, write_length, write_string

_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_new: Final = object.__new__


@dataclass(slots=True)
class ListConfigResourcesRequest:
    resource_types: list[int] = field(default_factory=list)  # 1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 74
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                write_length(out, len(item.resource_types))
                write_integers(out, item.resource_types, "b")
            elif item.resource_types:
                raise not_in_version("resource_types", version)
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
            if version >= 1:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 1:
                item.resource_types, at = read_integers(data, at, n, "b", 1)
            else:
                item.resource_types = []
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
class ConfigResource:
    resource_name: str = ""
    resource_type: int = 16  # 1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ListConfigResourcesResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    config_resources: list[ConfigResource] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 74
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            write_length(out, len(item.config_resources))
            _write_config_resource(out, item.config_resources, version)
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
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 2 <= limit - at:
                raise count_refused(n, limit - at)
            item.config_resources, at = _read_config_resource(data, at, version, n)
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


def _read_config_resource(data: bytes, at: int, version: int, count: int) -> tuple[list[ConfigResource], int]:
    items: list[ConfigResource] = []
    for _ in range(count):
        item = _new(ConfigResource)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.resource_name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            item.resource_type, tags = _S_INT8_BYTE.unpack_from(data, at)
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
        write_compact_string(out, item.resource_name)
        if version >= 1:
            out += _S_INT8.pack(item.resource_type)
        else:
            pass
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
