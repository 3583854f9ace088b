"""AlterConfigs, API key 33, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/alter_configs.txt.
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
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    tags_refused,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_INT16: Final = Struct(">bh")
_S2INT16: Final = Struct(">hh")
_S2INT32: Final = Struct(">ii")
_new: Final = object.__new__


class AlterableConfig(MessageValue):
    """In `AlterConfigsResource.configs`, versions 0-2."""

    __slots__ = ("name", "value", "unknown_tagged_fields")

    name: str
    value: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterConfigsResource(MessageValue):
    """In `AlterConfigsRequest.resources`, versions 0-2."""

    __slots__ = ("resource_type", "resource_name", "configs", "unknown_tagged_fields")

    resource_type: int
    resource_name: str
    configs: list[AlterableConfig]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is UNSET else configs
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterConfigsRequest(MessageValue):
    """Request of API 33, versions 0-2."""

    __slots__ = ("resources", "validate_only", "unknown_tagged_fields")

    resources: list[AlterConfigsResource]
    validate_only: bool
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        resources: list[AlterConfigsResource] = UNSET,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resources = [] if resources is UNSET else resources
        self.validate_only = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 33
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.resources) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_alter_configs_resource(out, self.resources, version)
            if version >= 2:
                if self.unknown_tagged_fields:
                    out += _BOOL.pack(self.validate_only)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _BOOL_ZERO.pack(self.validate_only)
            else:
                out += _BOOL.pack(self.validate_only)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            message.resources, at = _read_alter_configs_resource(data, at, version, n)
            if version >= 2:
                message.validate_only, tags = _BOOL_BYTE.unpack_from(data, at)
                at += 2
            else:
                (message.validate_only,) = _BOOL.unpack_from(data, at)
                at += 1
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class AlterConfigsResourceResponse(MessageValue):
    """In `AlterConfigsResponse.responses`, versions 0-2."""

    __slots__ = (
        "error_code", "error_message", "resource_type", "resource_name", "unknown_tagged_fields"
    )

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterConfigsResponse(MessageValue):
    """Response of API 33, versions 0-2."""

    __slots__ = ("throttle_time_ms", "responses", "unknown_tagged_fields")

    throttle_time_ms: int
    responses: list[AlterConfigsResourceResponse]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResourceResponse] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is UNSET else responses
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 33
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.responses) + 1
            if version >= 2:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_alter_configs_resource_response(out, self.responses, version)
            if version >= 2:
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
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
                at += 4
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.throttle_time_ms, n = _S2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.responses, at = _read_alter_configs_resource_response(data, at, version, n)
            if version >= 2:
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


def _read_alterable_config(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterableConfig], int]:
    items: list[AlterableConfig] = []
    for _ in range(count):
        item = _new(AlterableConfig)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.value = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.value, at = read_compact_string_or_null(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                item.value = None
            else:
                item.value = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 2:
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
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if item.value is None:
            raw = b""
            n = 0
        else:
            raw = item.value.encode()
            n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_alter_configs_resource(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterConfigsResource], int]:
    items: list[AlterConfigsResource] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AlterConfigsResource)
        if version >= 2:
            item.resource_type, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if 0 < n < 128:
                item.resource_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.resource_name, at = read_compact_string(data, at)
        else:
            item.resource_type, n = _INT8_INT16.unpack_from(data, at)
            at += 3
            if n < 0:
                raise null_refused()
            item.resource_name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.configs, at = _read_alterable_config(data, at, version, n)
        if version >= 2:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_configs_resource(
    out: bytearray, items: Iterable[AlterConfigsResource], version: int
) -> None:
    for item in items:
        raw = item.resource_name.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _INT8_BYTE.pack(item.resource_type, n)
            else:
                out += _INT8.pack(item.resource_type)
                write_string_length(out, n)
        else:
            out += _INT8_INT16.pack(item.resource_type, n - 1)
        out += raw
        n = len(item.configs) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_alterable_config(out, item.configs, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_alter_configs_resource_response(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterConfigsResourceResponse], int]:
    items: list[AlterConfigsResourceResponse] = []
    for _ in range(count):
        item = _new(AlterConfigsResourceResponse)
        if version >= 2:
            item.error_code, n = _INT16_BYTE.unpack_from(data, at)
            at += 2
            if 0 < n < 128:
                item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.error_message, at = read_compact_string_or_null(data, at)
        else:
            item.error_code, n = _S2INT16.unpack_from(data, at)
            at += 4
            if n < 0:
                item.error_message = None
            else:
                item.error_message = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 2:
            item.resource_type, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if 0 < n < 128:
                item.resource_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.resource_name, at = read_compact_string(data, at)
        else:
            item.resource_type, n = _INT8_INT16.unpack_from(data, at)
            at += 3
            if n < 0:
                raise null_refused()
            item.resource_name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_configs_resource_response(
    out: bytearray, items: Iterable[AlterConfigsResourceResponse], version: int
) -> None:
    for item in items:
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _INT16_BYTE.pack(item.error_code, n)
            else:
                out += _INT16.pack(item.error_code)
                write_string_length(out, n)
        else:
            out += _S2INT16.pack(item.error_code, n - 1)
        out += raw
        raw = item.resource_name.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _INT8_BYTE.pack(item.resource_type, n)
            else:
                out += _INT8.pack(item.resource_type)
                write_string_length(out, n)
        else:
            out += _INT8_INT16.pack(item.resource_type, n - 1)
        out += raw
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request AlterConfigsRequest key=33 versions=0-2 flexible=2+ listeners=broker,controller
  resources       []AlterConfigsResource
    resourceType  int8
    resourceName  string
    configs       []AlterableConfig
      name        string
      value       string                  nullable
  validateOnly    bool

response AlterConfigsResponse key=33 versions=0-2 flexible=2+ listeners=broker,controller
  throttleTimeMs  int32
  responses       []AlterConfigsResourceResponse
    errorCode     int16
    errorMessage  string                          nullable
    resourceType  int8
    resourceName  string
"""
