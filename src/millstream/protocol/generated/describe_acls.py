"""DescribeAcls, API key 29, versions 1-3: request and response.

Written by `make codegen` from codegen/schemas/describe_acls.txt.
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

_S_2INT8: Final = Struct(">bb")
_S_2INT8_BYTE: Final = Struct(">bbB")
_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_2INT16: Final = Struct(">ihh")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_S_INT8_INT16: Final = Struct(">bh")
_S_INT8_INT32: Final = Struct(">bi")
_new: Final = object.__new__


@dataclass(slots=True)
class DescribeAclsRequest:
    resource_type_filter: int = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: int = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 29
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT8.pack(item.resource_type_filter)
            if item.resource_name_filter is None:
                if version >= 2:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 2:
                    write_compact_string(out, item.resource_name_filter)
                else:
                    write_string(out, item.resource_name_filter)
            out += _S_INT8.pack(item.pattern_type_filter)
            if item.principal_filter is None:
                if version >= 2:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 2:
                    write_compact_string(out, item.principal_filter)
                else:
                    write_string(out, item.principal_filter)
            if item.host_filter is None:
                if version >= 2:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 2:
                    write_compact_string(out, item.host_filter)
                else:
                    write_string(out, item.host_filter)
            out += _S_2INT8.pack(item.operation, item.permission_type)
            if item.unknown_tagged_fields:
                if version < 2:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 2:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 3:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                item.resource_type_filter, n = _S_INT8_BYTE.unpack_from(data, at)
                at += 2
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.resource_type_filter, n = _S_INT8_INT16.unpack_from(data, at)
                at += 3
            if n < 0:
                item.resource_name_filter = None
            else:
                at += n
                item.resource_name_filter = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 2:
                item.pattern_type_filter, n = _S_INT8_BYTE.unpack_from(data, at)
                at += 2
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.pattern_type_filter, n = _S_INT8_INT16.unpack_from(data, at)
                at += 3
            if n < 0:
                item.principal_filter = None
            else:
                at += n
                item.principal_filter = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 2:
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
                item.host_filter = None
            else:
                at += n
                item.host_filter = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 2:
                item.operation, item.permission_type, tags = _S_2INT8_BYTE.unpack_from(data, at)
                at += 3
            else:
                item.operation, item.permission_type = _S_2INT8.unpack_from(data, at)
                at += 2
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
class AclDescription:
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeAclsResource:
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 3
    acls: list[AclDescription] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeAclsResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    resources: list[DescribeAclsResource] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 29
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.error_message is None:
                if version >= 2:
                    out.append(0)
                else:
                    out += b"\xff\xff"
            else:
                if version >= 2:
                    write_compact_string(out, item.error_message)
                else:
                    write_string(out, item.error_message)
            if version >= 2:
                write_length(out, len(item.resources))
            else:
                out += _S_INT32.pack(len(item.resources))
            _write_describe_acls_resource(out, item.resources, version)
            if item.unknown_tagged_fields:
                if version < 2:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 2:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 3:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 2:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, item.error_code, n = _S_INT32_2INT16.unpack_from(data, at)
                at += 8
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 2:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            item.resources, at = _read_describe_acls_resource(data, at, version, n)
            if version >= 2:
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


def _read_acl_description(data: bytes, at: int, version: int, count: int) -> tuple[list[AclDescription], int]:
    items: list[AclDescription] = []
    for _ in range(count):
        item = _new(AclDescription)
        if version >= 2:
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
        item.principal = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 2:
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
        item.host = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 2:
            item.operation, item.permission_type, tags = _S_2INT8_BYTE.unpack_from(data, at)
            at += 3
        else:
            item.operation, item.permission_type = _S_2INT8.unpack_from(data, at)
            at += 2
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_acl_description(out: bytearray, items: Iterable[AclDescription], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.principal)
        else:
            write_string(out, item.principal)
        if version >= 2:
            write_compact_string(out, item.host)
        else:
            write_string(out, item.host)
        out += _S_2INT8.pack(item.operation, item.permission_type)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)


def _read_describe_acls_resource(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeAclsResource], int]:
    limit = len(data)
    items: list[DescribeAclsResource] = []
    for _ in range(count):
        item = _new(DescribeAclsResource)
        if version >= 2:
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
        if version >= 2:
            item.pattern_type, n = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            item.pattern_type, n = _S_INT8_INT32.unpack_from(data, at)
            at += 5
        if not 0 <= n * 5 <= limit - at:
            raise count_refused(n, limit - at)
        item.acls, at = _read_acl_description(data, at, version, n)
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


def _write_describe_acls_resource(out: bytearray, items: Iterable[DescribeAclsResource], version: int) -> None:
    for item in items:
        out += _S_INT8.pack(item.resource_type)
        if version >= 2:
            write_compact_string(out, item.resource_name)
        else:
            write_string(out, item.resource_name)
        out += _S_INT8.pack(item.pattern_type)
        if version >= 2:
            write_length(out, len(item.acls))
        else:
            out += _S_INT32.pack(len(item.acls))
        _write_acl_description(out, item.acls, version)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)

SCHEMA: Final = """\
request DescribeAclsRequest key=29 versions=1-3 flexible=2+ listeners=broker,controller
  resourceTypeFilter  int8
  resourceNameFilter  string  nullable
  patternTypeFilter   int8    default=3
  principalFilter     string  nullable
  hostFilter          string  nullable
  operation           int8
  permissionType      int8

response DescribeAclsResponse key=29 versions=1-3 flexible=2+ listeners=broker,controller
  throttleTimeMs      int32
  errorCode           int16
  errorMessage        string                  nullable
  resources           []DescribeAclsResource
    resourceType      int8
    resourceName      string
    patternType       int8                    default=3
    acls              []AclDescription
      principal       string
      host            string
      operation       int8
      permissionType  int8
"""
