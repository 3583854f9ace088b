"""DescribeAcls, API key 29, versions 1-3: request and response.

Written by `make codegen` from codegen/schemas/describe_acls.txt.
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

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_2INT16: Final = Struct(">ihh")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_INT16: Final = Struct(">bh")
_INT8_INT32: Final = Struct(">bi")
_S2INT8: Final = Struct(">bb")
_S2INT8_BYTE: Final = Struct(">bbB")
_S2INT8_ZERO: Final = Struct(">bbx")
_new: Final = object.__new__


class DescribeAclsRequest(MessageValue):
    """Request of API 29, versions 1-3."""

    __slots__ = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
        "unknown_tagged_fields",
    )

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 29
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            if self.resource_name_filter is None:
                raw = b""
                n = 0
            else:
                raw = self.resource_name_filter.encode()
                n = len(raw) + 1
            if version >= 2:
                if n < 128:
                    out += _INT8_BYTE.pack(self.resource_type_filter, n)
                else:
                    out += _INT8.pack(self.resource_type_filter)
                    write_string_length(out, n)
            else:
                out += _INT8_INT16.pack(self.resource_type_filter, n - 1)
            out += raw
            if self.principal_filter is None:
                raw = b""
                n = 0
            else:
                raw = self.principal_filter.encode()
                n = len(raw) + 1
            if version >= 2:
                if n < 128:
                    out += _INT8_BYTE.pack(self.pattern_type_filter, n)
                else:
                    out += _INT8.pack(self.pattern_type_filter)
                    write_string_length(out, n)
            else:
                out += _INT8_INT16.pack(self.pattern_type_filter, n - 1)
            out += raw
            if self.host_filter is None:
                raw = b""
                n = 0
            else:
                raw = self.host_filter.encode()
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
                if self.unknown_tagged_fields:
                    out += _S2INT8.pack(self.operation, self.permission_type)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _S2INT8_ZERO.pack(self.operation, self.permission_type)
            else:
                out += _S2INT8.pack(self.operation, self.permission_type)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 1 <= version <= 3:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
                message.resource_type_filter, n = _INT8_BYTE.unpack_from(data, at)
                at += 1
                if 0 < n < 128:
                    message.resource_name_filter = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.resource_name_filter, at = read_compact_string_or_null(data, at)
            else:
                message.resource_type_filter, n = _INT8_INT16.unpack_from(data, at)
                at += 3
                if n < 0:
                    message.resource_name_filter = None
                else:
                    message.resource_name_filter = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            if version >= 2:
                message.pattern_type_filter, n = _INT8_BYTE.unpack_from(data, at)
                at += 1
                if 0 < n < 128:
                    message.principal_filter = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.principal_filter, at = read_compact_string_or_null(data, at)
            else:
                message.pattern_type_filter, n = _INT8_INT16.unpack_from(data, at)
                at += 3
                if n < 0:
                    message.principal_filter = None
                else:
                    message.principal_filter = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            if version >= 2:
                n = data[at]
                if 0 < n < 128:
                    message.host_filter = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.host_filter, at = read_compact_string_or_null(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    message.host_filter = None
                else:
                    message.host_filter = data[at : at + n].decode("utf-8", LENIENT)
                    at += n
            if version >= 2:
                (
                    message.operation,
                    message.permission_type,
                    tags,
                ) = _S2INT8_BYTE.unpack_from(data, at)
                at += 3
            else:
                message.operation, message.permission_type = _S2INT8.unpack_from(data, at)
                at += 2
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class AclDescription(MessageValue):
    """In `DescribeAclsResource.acls`, versions 1-3."""

    __slots__ = ("principal", "host", "operation", "permission_type", "unknown_tagged_fields")

    principal: str
    host: str
    operation: int
    permission_type: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeAclsResource(MessageValue):
    """In `DescribeAclsResponse.resources`, versions 1-3."""

    __slots__ = ("resource_type", "resource_name", "pattern_type", "acls", "unknown_tagged_fields")

    resource_type: int
    resource_name: str
    pattern_type: int
    acls: list[AclDescription]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: list[AclDescription] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls = [] if acls is UNSET else acls
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeAclsResponse(MessageValue):
    """Response of API 29, versions 1-3."""

    __slots__ = (
        "throttle_time_ms", "error_code", "error_message", "resources", "unknown_tagged_fields"
    )

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    resources: list[DescribeAclsResource]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResource] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources = [] if resources is UNSET else resources
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 29
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            if self.error_message is None:
                raw = b""
                n = 0
            else:
                raw = self.error_message.encode()
                n = len(raw) + 1
            if version >= 2:
                if n < 128:
                    out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
                else:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_string_length(out, n)
            else:
                out += _INT32_2INT16.pack(self.throttle_time_ms, self.error_code, n - 1)
            out += raw
            n = len(self.resources) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_describe_acls_resource(out, self.resources, version)
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
        if not 1 <= version <= 3:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 2:
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
            else:
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
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            message.resources, at = _read_describe_acls_resource(data, at, version, n)
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


def _read_acl_description(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AclDescription], int]:
    items: list[AclDescription] = []
    for _ in range(count):
        item = _new(AclDescription)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.principal = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.principal, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.principal = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.host, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.host = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            item.operation, item.permission_type, tags = _S2INT8_BYTE.unpack_from(data, at)
            at += 3
        else:
            item.operation, item.permission_type = _S2INT8.unpack_from(data, at)
            at += 2
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_acl_description(out: bytearray, items: Iterable[AclDescription], version: int) -> None:
    for item in items:
        raw = item.principal.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        raw = item.host.encode()
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
                out += _S2INT8.pack(item.operation, item.permission_type)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _S2INT8_ZERO.pack(item.operation, item.permission_type)
        else:
            out += _S2INT8.pack(item.operation, item.permission_type)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_describe_acls_resource(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeAclsResource], int]:
    items: list[DescribeAclsResource] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeAclsResource)
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
            item.pattern_type, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            item.pattern_type, n = _INT8_INT32.unpack_from(data, at)
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


def _write_describe_acls_resource(
    out: bytearray, items: Iterable[DescribeAclsResource], version: int
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
        n = len(item.acls) + 1
        if version >= 2:
            if n < 128:
                out += _INT8_BYTE.pack(item.pattern_type, n)
            else:
                out += _INT8.pack(item.pattern_type)
                write_uvarint(out, n)
        else:
            out += _INT8_INT32.pack(item.pattern_type, n - 1)
        _write_acl_description(out, item.acls, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

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
