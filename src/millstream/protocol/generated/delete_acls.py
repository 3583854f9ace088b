"""DeleteAcls, API key 31, versions 1-3: request and response.

Written by `make codegen` from codegen/schemas/delete_acls.txt.
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
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_INT16: Final = Struct(">bh")
_S2INT16: Final = Struct(">hh")
_S2INT32: Final = Struct(">ii")
_S2INT8: Final = Struct(">bb")
_S2INT8_BYTE: Final = Struct(">bbB")
_S2INT8_ZERO: Final = Struct(">bbx")
_new: Final = object.__new__


class DeleteAclsFilter(MessageValue):
    """In `DeleteAclsRequest.filters`, versions 1-3."""

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


class DeleteAclsRequest(MessageValue):
    """Request of API 31, versions 1-3."""

    __slots__ = ("filters", "unknown_tagged_fields")

    filters: list[DeleteAclsFilter]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        filters: list[DeleteAclsFilter] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.filters = [] if filters is UNSET else filters
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 31
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            n = len(self.filters) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_delete_acls_filter(out, self.filters, version)
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
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 8 <= limit - at:
                raise count_refused(n, limit - at)
            message.filters, at = _read_delete_acls_filter(data, at, version, n)
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


class DeleteAclsMatchingAcl(MessageValue):
    """In `DeleteAclsFilterResult.matching_acls`, versions 1-3."""

    __slots__ = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
        "unknown_tagged_fields",
    )

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteAclsFilterResult(MessageValue):
    """In `DeleteAclsResponse.filter_results`, versions 1-3."""

    __slots__ = ("error_code", "error_message", "matching_acls", "unknown_tagged_fields")

    error_code: int
    error_message: str | None
    matching_acls: list[DeleteAclsMatchingAcl]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: list[DeleteAclsMatchingAcl] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls = [] if matching_acls is UNSET else matching_acls
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteAclsResponse(MessageValue):
    """Response of API 31, versions 1-3."""

    __slots__ = ("throttle_time_ms", "filter_results", "unknown_tagged_fields")

    throttle_time_ms: int
    filter_results: list[DeleteAclsFilterResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsFilterResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results = [] if filter_results is UNSET else filter_results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 31
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            n = len(self.filter_results) + 1
            if version >= 2:
                if n < 128:
                    out += _INT32_BYTE.pack(self.throttle_time_ms, n)
                else:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_uvarint(out, n)
            else:
                out += _S2INT32.pack(self.throttle_time_ms, n - 1)
            _write_delete_acls_filter_result(out, self.filter_results, version)
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
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            message.filter_results, at = _read_delete_acls_filter_result(data, at, version, n)
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


def _read_delete_acls_filter(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeleteAclsFilter], int]:
    items: list[DeleteAclsFilter] = []
    for _ in range(count):
        item = _new(DeleteAclsFilter)
        if version >= 2:
            item.resource_type_filter, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if 0 < n < 128:
                item.resource_name_filter = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.resource_name_filter, at = read_compact_string_or_null(data, at)
        else:
            item.resource_type_filter, n = _INT8_INT16.unpack_from(data, at)
            at += 3
            if n < 0:
                item.resource_name_filter = None
            else:
                item.resource_name_filter = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 2:
            item.pattern_type_filter, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if 0 < n < 128:
                item.principal_filter = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.principal_filter, at = read_compact_string_or_null(data, at)
        else:
            item.pattern_type_filter, n = _INT8_INT16.unpack_from(data, at)
            at += 3
            if n < 0:
                item.principal_filter = None
            else:
                item.principal_filter = data[at : at + n].decode("utf-8", LENIENT)
                at += n
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.host_filter = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.host_filter, at = read_compact_string_or_null(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                item.host_filter = None
            else:
                item.host_filter = data[at : at + n].decode("utf-8", LENIENT)
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


def _write_delete_acls_filter(
    out: bytearray, items: Iterable[DeleteAclsFilter], version: int
) -> None:
    for item in items:
        if item.resource_name_filter is None:
            raw = b""
            n = 0
        else:
            raw = item.resource_name_filter.encode()
            n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _INT8_BYTE.pack(item.resource_type_filter, n)
            else:
                out += _INT8.pack(item.resource_type_filter)
                write_string_length(out, n)
        else:
            out += _INT8_INT16.pack(item.resource_type_filter, n - 1)
        out += raw
        if item.principal_filter is None:
            raw = b""
            n = 0
        else:
            raw = item.principal_filter.encode()
            n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _INT8_BYTE.pack(item.pattern_type_filter, n)
            else:
                out += _INT8.pack(item.pattern_type_filter)
                write_string_length(out, n)
        else:
            out += _INT8_INT16.pack(item.pattern_type_filter, n - 1)
        out += raw
        if item.host_filter is None:
            raw = b""
            n = 0
        else:
            raw = item.host_filter.encode()
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


def _read_delete_acls_matching_acl(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeleteAclsMatchingAcl], int]:
    items: list[DeleteAclsMatchingAcl] = []
    for _ in range(count):
        item = _new(DeleteAclsMatchingAcl)
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
            item.pattern_type, n = _INT8_BYTE.unpack_from(data, at)
            at += 1
            if 0 < n < 128:
                item.principal = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.principal, at = read_compact_string(data, at)
        else:
            item.pattern_type, n = _INT8_INT16.unpack_from(data, at)
            at += 3
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


def _write_delete_acls_matching_acl(
    out: bytearray, items: Iterable[DeleteAclsMatchingAcl], version: int
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
        raw = item.principal.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _INT8_BYTE.pack(item.pattern_type, n)
            else:
                out += _INT8.pack(item.pattern_type)
                write_string_length(out, n)
        else:
            out += _INT8_INT16.pack(item.pattern_type, n - 1)
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


def _read_delete_acls_filter_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DeleteAclsFilterResult], int]:
    items: list[DeleteAclsFilterResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DeleteAclsFilterResult)
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 11 <= limit - at:
            raise count_refused(n, limit - at)
        item.matching_acls, at = _read_delete_acls_matching_acl(data, at, version, n)
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


def _write_delete_acls_filter_result(
    out: bytearray, items: Iterable[DeleteAclsFilterResult], version: int
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
        n = len(item.matching_acls) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_delete_acls_matching_acl(out, item.matching_acls, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

SCHEMA: Final = """\
request DeleteAclsRequest key=31 versions=1-3 flexible=2+ listeners=broker,controller
  filters               []DeleteAclsFilter
    resourceTypeFilter  int8
    resourceNameFilter  string              nullable
    patternTypeFilter   int8                default=3
    principalFilter     string              nullable
    hostFilter          string              nullable
    operation           int8
    permissionType      int8

response DeleteAclsResponse key=31 versions=1-3 flexible=2+ listeners=broker,controller
  throttleTimeMs      int32
  filterResults       []DeleteAclsFilterResult
    errorCode         int16
    errorMessage      string                    nullable
    matchingAcls      []DeleteAclsMatchingAcl
      errorCode       int16
      errorMessage    string                    nullable
      resourceType    int8
      resourceName    string
      patternType     int8                      default=3
      principal       string
      host            string
      operation       int8
      permissionType  int8
"""
