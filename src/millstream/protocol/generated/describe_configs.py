"""DescribeConfigs, API key 32, versions 1-4: request and response.

Written by `make codegen` from codegen/schemas/describe_configs.txt.
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

_S_2BOOL: Final = Struct(">??")
_S_2BOOL_BYTE: Final = Struct(">??B")
_S_2INT16: Final = Struct(">hh")
_S_2INT32: Final = Struct(">ii")
_S_BOOL: Final = Struct(">?")
_S_BOOL_INT8_BOOL: Final = Struct(">?b?")
_S_BOOL_INT8_BOOL_BYTE: Final = Struct(">?b?B")
_S_BOOL_INT8_BOOL_INT32: Final = Struct(">?b?i")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_S_INT8_INT16: Final = Struct(">bh")
_new: Final = object.__new__


@dataclass(slots=True)
class DescribeConfigsResource:
    resource_type: int = 0
    resource_name: str = ""
    configuration_keys: list[str] | None = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeConfigsRequest:
    resources: list[DescribeConfigsResource] = field(default_factory=list)
    include_synonyms: bool = False
    include_documentation: bool = False  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 32
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 4:
                write_length(out, len(item.resources))
            else:
                out += _S_INT32.pack(len(item.resources))
            _write_describe_configs_resource(out, item.resources, version)
            if version >= 3:
                out += _S_2BOOL.pack(item.include_synonyms, item.include_documentation)
            else:
                out += _S_BOOL.pack(item.include_synonyms)
                if item.include_documentation:
                    raise not_in_version("include_documentation", version)
            if item.unknown_tagged_fields:
                if version < 4:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 4:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
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
            item.resources, at = _read_describe_configs_resource(data, at, version, n)
            if version >= 4:
                item.include_synonyms, item.include_documentation, tags = _S_2BOOL_BYTE.unpack_from(data, at)
                at += 3
            elif version >= 3:
                item.include_synonyms, item.include_documentation = _S_2BOOL.unpack_from(data, at)
                at += 2
                tags = 0
            else:
                (item.include_synonyms,) = _S_BOOL.unpack_from(data, at)
                at += 1
                tags = 0
                item.include_documentation = False
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class DescribeConfigsSynonym:
    name: str = ""
    value: str | None = ""
    source: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeConfigsResourceResult:
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    synonyms: list[DescribeConfigsSynonym] = field(default_factory=list)
    config_type: int = 0  # 3+
    documentation: str | None = ""  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeConfigsResult:
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeConfigsResponse:
    throttle_time_ms: int = 0
    results: list[DescribeConfigsResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 32
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 4

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 4:
                write_length(out, len(item.results))
            else:
                out += _S_INT32.pack(len(item.results))
            _write_describe_configs_result(out, item.results, version)
            if item.unknown_tagged_fields:
                if version < 4:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 4:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 7 <= limit - at:
                raise count_refused(n, limit - at)
            item.results, at = _read_describe_configs_result(data, at, version, n)
            if version >= 4:
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


def _read_describe_configs_resource(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeConfigsResource], int]:
    items: list[DescribeConfigsResource] = []
    for _ in range(count):
        item = _new(DescribeConfigsResource)
        if version >= 4:
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
        if version >= 4:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
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


def _write_describe_configs_resource(out: bytearray, items: Iterable[DescribeConfigsResource], version: int) -> None:
    for item in items:
        out += _S_INT8.pack(item.resource_type)
        if version >= 4:
            write_compact_string(out, item.resource_name)
        else:
            write_string(out, item.resource_name)
        if item.configuration_keys is None:
            if version >= 4:
                out.append(0)
            else:
                out += b"\xff\xff\xff\xff"
        else:
            if version >= 4:
                write_length(out, len(item.configuration_keys))
            else:
                out += _S_INT32.pack(len(item.configuration_keys))
            for text in item.configuration_keys:
                if version >= 4:
                    write_compact_string(out, text)
                else:
                    write_string(out, text)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)


def _read_describe_configs_synonym(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeConfigsSynonym], int]:
    items: list[DescribeConfigsSynonym] = []
    for _ in range(count):
        item = _new(DescribeConfigsSynonym)
        if version >= 4:
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
        if version >= 4:
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
            item.value = None
        else:
            at += n
            item.value = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 4:
            item.source, tags = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
        else:
            (item.source,) = _S_INT8.unpack_from(data, at)
            at += 1
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_configs_synonym(out: bytearray, items: Iterable[DescribeConfigsSynonym], version: int) -> None:
    for item in items:
        if version >= 4:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if item.value is None:
            if version >= 4:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 4:
                write_compact_string(out, item.value)
            else:
                write_string(out, item.value)
        out += _S_INT8.pack(item.source)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)


def _read_describe_configs_resource_result(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeConfigsResourceResult], int]:
    limit = len(data)
    items: list[DescribeConfigsResourceResult] = []
    for _ in range(count):
        item = _new(DescribeConfigsResourceResult)
        if version >= 4:
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
        if version >= 4:
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
            item.value = None
        else:
            at += n
            item.value = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 4:
            item.read_only, item.config_source, item.is_sensitive, n = _S_BOOL_INT8_BOOL_BYTE.unpack_from(data, at)
            at += 4
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            item.read_only, item.config_source, item.is_sensitive, n = _S_BOOL_INT8_BOOL_INT32.unpack_from(data, at)
            at += 7
        if not 0 <= n * 4 <= limit - at:
            raise count_refused(n, limit - at)
        item.synonyms, at = _read_describe_configs_synonym(data, at, version, n)
        if version >= 4:
            item.config_type, n = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        elif version >= 3:
            item.config_type, n = _S_INT8_INT16.unpack_from(data, at)
            at += 3
        else:
            item.config_type = 0
        if version >= 3:
            if n < 0:
                item.documentation = None
            else:
                at += n
                item.documentation = data[at - n : at].decode("utf-8", LENIENT)
        else:
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


def _write_describe_configs_resource_result(out: bytearray, items: Iterable[DescribeConfigsResourceResult], version: int) -> None:
    for item in items:
        if version >= 4:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if item.value is None:
            if version >= 4:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 4:
                write_compact_string(out, item.value)
            else:
                write_string(out, item.value)
        out += _S_BOOL_INT8_BOOL.pack(item.read_only, item.config_source, item.is_sensitive)
        if version >= 4:
            write_length(out, len(item.synonyms))
        else:
            out += _S_INT32.pack(len(item.synonyms))
        _write_describe_configs_synonym(out, item.synonyms, version)
        if version >= 3:
            out += _S_INT8.pack(item.config_type)
        else:
            pass
        if version >= 3:
            if item.documentation is None:
                if version >= 4:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 4:
                    write_compact_string(out, item.documentation)
                else:
                    write_string(out, item.documentation)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)


def _read_describe_configs_result(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeConfigsResult], int]:
    limit = len(data)
    items: list[DescribeConfigsResult] = []
    for _ in range(count):
        item = _new(DescribeConfigsResult)
        if version >= 4:
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
        if version >= 4:
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
        if version >= 4:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
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


def _write_describe_configs_result(out: bytearray, items: Iterable[DescribeConfigsResult], version: int) -> None:
    for item in items:
        out += _S_INT16.pack(item.error_code)
        if item.error_message is None:
            if version >= 4:
                out.append(0)
            else:
                out += b"\xff\xff"
        else:
            if version >= 4:
                write_compact_string(out, item.error_message)
            else:
                write_string(out, item.error_message)
        out += _S_INT8.pack(item.resource_type)
        if version >= 4:
            write_compact_string(out, item.resource_name)
        else:
            write_string(out, item.resource_name)
        if version >= 4:
            write_length(out, len(item.configs))
        else:
            out += _S_INT32.pack(len(item.configs))
        _write_describe_configs_resource_result(out, item.configs, version)
        if item.unknown_tagged_fields:
            if version < 4:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 4:
            out.append(0)

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
