"""IncrementalAlterConfigs, API key 44, versions 0-1: request and response.

Written by `make codegen` from codegen/schemas/incremental_alter_configs.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_length, write_string

_S_2INT16: Final = Struct(">hh")
_S_2INT32: Final = Struct(">ii")
_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_S_INT8_INT16: Final = Struct(">bh")
_new: Final = object.__new__


@dataclass(slots=True)
class AlterableConfig:
    name: str = ""
    config_operation: int = 0
    value: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterConfigsResource:
    resource_type: int = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class IncrementalAlterConfigsRequest:
    resources: list[AlterConfigsResource] = field(default_factory=list)
    validate_only: bool = False
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 44
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 1:
                write_length(out, len(item.resources))
            else:
                out += _S_INT32.pack(len(item.resources))
            _write_alter_configs_resource(out, item.resources, version)
            out += _S_BOOL.pack(item.validate_only)
            if item.unknown_tagged_fields:
                if version < 1:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 1:
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
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            item.resources, at = _read_alter_configs_resource(data, at, version, n)
            if version >= 1:
                item.validate_only, tags = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
            else:
                (item.validate_only,) = _S_BOOL.unpack_from(data, at)
                at += 1
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
class AlterConfigsResourceResponse:
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class IncrementalAlterConfigsResponse:
    throttle_time_ms: int = 0
    responses: list[AlterConfigsResourceResponse] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 44
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 1

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 1:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 1:
                write_length(out, len(item.responses))
            else:
                out += _S_INT32.pack(len(item.responses))
            _write_alter_configs_resource_response(out, item.responses, version)
            if item.unknown_tagged_fields:
                if version < 1:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 1:
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
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.responses, at = _read_alter_configs_resource_response(data, at, version, n)
            if version >= 1:
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


def _read_alterable_config(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterableConfig], int]:
    items: list[AlterableConfig] = []
    for _ in range(count):
        item = _new(AlterableConfig)
        if version >= 1:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            item.config_operation, n = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.config_operation, n = _S_INT8_INT16.unpack_from(data, at)
            at += 3
        if n < 0:
            item.value = None
        else:
            at += n
            item.value = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alterable_config(out: bytearray, items: Iterable[AlterableConfig], version: int) -> None:
    for item in items:
        if version >= 1:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        out += _S_INT8.pack(item.config_operation)
        if item.value is None:
            if version >= 1:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 1:
                write_compact_string(out, item.value)
            else:
                write_string(out, item.value)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_alter_configs_resource(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterConfigsResource], int]:
    limit = len(data)
    items: list[AlterConfigsResource] = []
    for _ in range(count):
        item = _new(AlterConfigsResource)
        if version >= 1:
            item.resource_type, n = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.resource_type, n = _S_INT8_INT16.unpack_from(data, at)
            at += 3
        if n < 0:
            raise null_refused()
        at += n
        item.resource_name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 4 <= limit - at:
            raise count_refused(n, limit - at)
        item.configs, at = _read_alterable_config(data, at, version, n)
        if version >= 1:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_configs_resource(out: bytearray, items: Iterable[AlterConfigsResource], version: int) -> None:
    for item in items:
        out += _S_INT8.pack(item.resource_type)
        if version >= 1:
            write_compact_string(out, item.resource_name)
        else:
            write_string(out, item.resource_name)
        if version >= 1:
            write_length(out, len(item.configs))
        else:
            out += _S_INT32.pack(len(item.configs))
        _write_alterable_config(out, item.configs, version)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)


def _read_alter_configs_resource_response(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterConfigsResourceResponse], int]:
    items: list[AlterConfigsResourceResponse] = []
    for _ in range(count):
        item = _new(AlterConfigsResourceResponse)
        if version >= 1:
            item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
            at += 3
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.error_code, n = _S_2INT16.unpack_from(data, at)
            at += 4
        if n < 0:
            item.error_message = None
        else:
            at += n
            item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            item.resource_type, n = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.resource_type, n = _S_INT8_INT16.unpack_from(data, at)
            at += 3
        if n < 0:
            raise null_refused()
        at += n
        item.resource_name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_configs_resource_response(out: bytearray, items: Iterable[AlterConfigsResourceResponse], version: int) -> None:
    for item in items:
        out += _S_INT16.pack(item.error_code)
        if item.error_message is None:
            if version >= 1:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 1:
                write_compact_string(out, item.error_message)
            else:
                write_string(out, item.error_message)
        out += _S_INT8.pack(item.resource_type)
        if version >= 1:
            write_compact_string(out, item.resource_name)
        else:
            write_string(out, item.resource_name)
        if item.unknown_tagged_fields:
            if version < 1:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 1:
            out.append(0)

SCHEMA: Final = """\
request IncrementalAlterConfigsRequest key=44 versions=0-1 flexible=1+ listeners=broker,controller
  resources            []AlterConfigsResource
    resourceType       int8
    resourceName       string
    configs            []AlterableConfig
      name             string
      configOperation  int8
      value            string                  nullable
  validateOnly         bool

response IncrementalAlterConfigsResponse key=44 versions=0-1 flexible=1+ listeners=broker,controller
  throttleTimeMs  int32
  responses       []AlterConfigsResourceResponse
    errorCode     int16
    errorMessage  string                          nullable
    resourceType  int8
    resourceName  string
"""
