"""DescribeConfigs, API key 32, versions 1-4: request and response.

Written by `make codegen` from codegen/schemas/describe_configs.txt.
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
    read_strings,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    write_compact_strings,
    write_string_length,
    write_strings,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_INT8_BOOL: Final = Struct(">?b?")
_BOOL_INT8_BOOL_BYTE: Final = Struct(">?b?B")
_BOOL_INT8_BOOL_INT32: Final = Struct(">?b?i")
_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_INT16: Final = Struct(">bh")
_INT8_ZERO: Final = Struct(">bx")
_S2BOOL: Final = Struct(">??")
_S2BOOL_BYTE: Final = Struct(">??B")
_S2BOOL_ZERO: Final = Struct(">??x")
_S2INT16: Final = Struct(">hh")
_S2INT32: Final = Struct(">ii")
_new: Final = object.__new__


class DescribeConfigsResource(MessageValue):
    """In `DescribeConfigsRequest.resources`, versions 1-4."""

    __slots__ = ("resource_type", "resource_name", "configuration_keys", "unknown_tagged_fields")

    resource_type: int
    resource_name: str
    configuration_keys: list[str] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = [] if configuration_keys is UNSET else configuration_keys
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeConfigsRequest(MessageValue):
    """Request of API 32, versions 1-4."""

    __slots__ = ("resources", "include_synonyms", "include_documentation", "unknown_tagged_fields")

    resources: list[DescribeConfigsResource]
    include_synonyms: bool
    include_documentation: bool  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        resources: list[DescribeConfigsResource] = UNSET,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resources = [] if resources is UNSET else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 32
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            n = len(self.resources) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_describe_configs_resource(out, self.resources, version)
            if version >= 4:
                if self.unknown_tagged_fields:
                    out += _S2BOOL.pack(self.include_synonyms, self.include_documentation)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _S2BOOL_ZERO.pack(self.include_synonyms, self.include_documentation)
            elif version >= 3:
                out += _S2BOOL.pack(self.include_synonyms, self.include_documentation)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
            else:
                out += _BOOL.pack(self.include_synonyms)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
                if self.include_documentation:
                    raise not_in_version("include_documentation", version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
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
            message.resources, at = _read_describe_configs_resource(data, at, version, n)
            if version >= 4:
                (
                    message.include_synonyms,
                    message.include_documentation,
                    tags,
                ) = _S2BOOL_BYTE.unpack_from(data, at)
                at += 3
            elif version >= 3:
                (
                    message.include_synonyms,
                    message.include_documentation,
                ) = _S2BOOL.unpack_from(data, at)
                at += 2
                tags = 0
            else:
                (message.include_synonyms,) = _BOOL.unpack_from(data, at)
                at += 1
                message.include_documentation = False
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class DescribeConfigsSynonym(MessageValue):
    """In `DescribeConfigsResourceResult.synonyms`, versions 1-4."""

    __slots__ = ("name", "value", "source", "unknown_tagged_fields")

    name: str
    value: str | None
    source: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        source: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeConfigsResourceResult(MessageValue):
    """In `DescribeConfigsResult.configs`, versions 1-4."""

    __slots__ = (
        "name",
        "value",
        "read_only",
        "config_source",
        "is_sensitive",
        "synonyms",
        "config_type",
        "documentation",
        "unknown_tagged_fields",
    )

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    synonyms: list[DescribeConfigsSynonym]
    config_type: int  # 3+
    documentation: str | None  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = UNSET,
        config_type: int = 0,
        documentation: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = [] if synonyms is UNSET else synonyms
        self.config_type = config_type
        self.documentation = documentation
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeConfigsResult(MessageValue):
    """In `DescribeConfigsResponse.results`, versions 1-4."""

    __slots__ = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "configs",
        "unknown_tagged_fields",
    )

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: list[DescribeConfigsResourceResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is UNSET else configs
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeConfigsResponse(MessageValue):
    """Response of API 32, versions 1-4."""

    __slots__ = ("throttle_time_ms", "results", "unknown_tagged_fields")

    throttle_time_ms: int
    results: list[DescribeConfigsResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 32
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            n = len(self.results) + 1
            if version >= 4:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_describe_configs_result(out, self.results, version)
            if version >= 4:
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
        if not 1 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
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
            if not 0 <= n * 7 <= limit - at:
                raise count_refused(n, limit - at)
            message.results, at = _read_describe_configs_result(data, at, version, n)
            if version >= 4:
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


def _read_describe_configs_resource(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeConfigsResource], int]:
    items: list[DescribeConfigsResource] = []
    for _ in range(count):
        item = _new(DescribeConfigsResource)
        if version >= 4:
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
        if version >= 4:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if n < 0:
            item.configuration_keys = None
        else:
            if version >= 4:
                item.configuration_keys, at = read_compact_strings(data, at, n)
            else:
                item.configuration_keys, at = read_strings(data, at, n)
        if version >= 4:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_configs_resource(
    out: bytearray, items: Iterable[DescribeConfigsResource], version: int
) -> None:
    for item in items:
        raw = item.resource_name.encode()
        n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out += _INT8_BYTE.pack(item.resource_type, n)
            else:
                out += _INT8.pack(item.resource_type)
                write_string_length(out, n)
        else:
            out += _INT8_INT16.pack(item.resource_type, n - 1)
        out += raw
        if item.configuration_keys is None:
            n = 0
        else:
            n = len(item.configuration_keys) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        if item.configuration_keys is not None:
            if version >= 4:
                write_compact_strings(out, item.configuration_keys)
            else:
                write_strings(out, item.configuration_keys)
        if version >= 4:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_describe_configs_synonym(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeConfigsSynonym], int]:
    items: list[DescribeConfigsSynonym] = []
    for _ in range(count):
        item = _new(DescribeConfigsSynonym)
        if version >= 4:
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
        if version >= 4:
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
        if version >= 4:
            item.source, tags = _INT8_BYTE.unpack_from(data, at)
            at += 2
        else:
            (item.source,) = _INT8.unpack_from(data, at)
            at += 1
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_configs_synonym(
    out: bytearray, items: Iterable[DescribeConfigsSynonym], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 4:
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
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 4:
            if item.unknown_tagged_fields:
                out += _INT8.pack(item.source)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT8_ZERO.pack(item.source)
        else:
            out += _INT8.pack(item.source)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_describe_configs_resource_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeConfigsResourceResult], int]:
    items: list[DescribeConfigsResourceResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeConfigsResourceResult)
        if version >= 4:
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
        if version >= 4:
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
        if version >= 4:
            (
                item.read_only,
                item.config_source,
                item.is_sensitive,
                n,
            ) = _BOOL_INT8_BOOL_BYTE.unpack_from(data, at)
            at += 3
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (
                item.read_only,
                item.config_source,
                item.is_sensitive,
                n,
            ) = _BOOL_INT8_BOOL_INT32.unpack_from(data, at)
            at += 7
        if not 0 <= n * 4 <= limit - at:
            raise count_refused(n, limit - at)
        item.synonyms, at = _read_describe_configs_synonym(data, at, version, n)
        if version >= 4:
            item.config_type, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if 0 < n < 128:
                item.documentation = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.documentation, at = read_compact_string_or_null(data, at)
        elif version >= 3:
            item.config_type, n = _INT8_INT16.unpack_from(data, at)
            at += 3
            if n < 0:
                item.documentation = None
            else:
                item.documentation = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        else:
            item.config_type = 0
            item.documentation = ""
        if version >= 4:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_configs_resource_result(
    out: bytearray, items: Iterable[DescribeConfigsResourceResult], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 4:
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
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.synonyms) + 1
        if version >= 4:
            if n < 128:
                out += _BOOL_INT8_BOOL_BYTE.pack(
                    item.read_only, item.config_source, item.is_sensitive, n
                )
            else:
                out += _BOOL_INT8_BOOL.pack(item.read_only, item.config_source, item.is_sensitive)
                write_uvarint(out, n)
        else:
            out += _BOOL_INT8_BOOL_INT32.pack(
                item.read_only, item.config_source, item.is_sensitive, n - 1
            )
        _write_describe_configs_synonym(out, item.synonyms, version)
        if version >= 3:
            if item.documentation is None:
                raw = b""
                n = 0
            else:
                raw = item.documentation.encode()
                n = len(raw) + 1
        if version >= 4:
            if n < 128:
                out += _INT8_BYTE.pack(item.config_type, n)
            else:
                out += _INT8.pack(item.config_type)
                write_string_length(out, n)
        elif version >= 3:
            out += _INT8_INT16.pack(item.config_type, n - 1)
        if version >= 3:
            out += raw
        if version >= 4:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_describe_configs_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeConfigsResult], int]:
    items: list[DescribeConfigsResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeConfigsResult)
        if version >= 4:
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
        if version >= 4:
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
        if version >= 4:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 9 <= limit - at:
            raise count_refused(n, limit - at)
        item.configs, at = _read_describe_configs_resource_result(data, at, version, n)
        if version >= 4:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_configs_result(
    out: bytearray, items: Iterable[DescribeConfigsResult], version: int
) -> None:
    for item in items:
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if version >= 4:
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
        if version >= 4:
            if n < 128:
                out += _INT8_BYTE.pack(item.resource_type, n)
            else:
                out += _INT8.pack(item.resource_type)
                write_string_length(out, n)
        else:
            out += _INT8_INT16.pack(item.resource_type, n - 1)
        out += raw
        n = len(item.configs) + 1
        if version >= 4:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_describe_configs_resource_result(out, item.configs, version)
        if version >= 4:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request DescribeConfigsRequest key=32 versions=1-4 flexible=4+ listeners=broker,controller
  resources             []DescribeConfigsResource
    resourceType        int8
    resourceName        string
    configurationKeys   []string                   nullable
  includeSynonyms       bool
  includeDocumentation  bool                       3+

response DescribeConfigsResponse key=32 versions=1-4 flexible=4+ listeners=broker,controller
  throttleTimeMs     int32
  results            []DescribeConfigsResult
    errorCode        int16
    errorMessage     string                           nullable
    resourceType     int8
    resourceName     string
    configs          []DescribeConfigsResourceResult
      name           string
      value          string                           nullable
      readOnly       bool
      configSource   int8                             default=-1
      isSensitive    bool
      synonyms       []DescribeConfigsSynonym
        name         string
        value        string                           nullable
        source       int8
      configType     int8                             3+ ignorable
      documentation  string                           3+ nullable ignorable
"""
