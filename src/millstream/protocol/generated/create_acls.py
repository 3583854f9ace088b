"""CreateAcls, API key 30, versions 1-3: request and response.

Written by `make codegen` from codegen/schemas/create_acls.txt.
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
_S_2INT8: Final = Struct(">bb")
_S_2INT8_BYTE: Final = Struct(">bbB")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_S_INT8_INT16: Final = Struct(">bh")
_new: Final = object.__new__


@dataclass(slots=True)
class AclCreation:
    resource_type: int = 0
    resource_name: str = ""
    resource_pattern_type: int = 3
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreateAclsRequest:
    creations: list[AclCreation] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 30
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                write_length(out, len(item.creations))
            else:
                out += _S_INT32.pack(len(item.creations))
            _write_acl_creation(out, item.creations, version)
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
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if not 0 <= n * 8 <= limit - at:
                raise count_refused(n, limit - at)
            item.creations, at = _read_acl_creation(data, at, version, n)
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


@dataclass(slots=True)
class AclCreationResult:
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreateAclsResponse:
    throttle_time_ms: int = 0
    results: list[AclCreationResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 30
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 2:
                write_length(out, len(item.results))
            else:
                out += _S_INT32.pack(len(item.results))
            _write_acl_creation_result(out, item.results, version)
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
                item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.throttle_time_ms, n = _S_2INT32.unpack_from(data, at)
                at += 8
            if not 0 <= n * 4 <= limit - at:
                raise count_refused(n, limit - at)
            item.results, at = _read_acl_creation_result(data, at, version, n)
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


def _read_acl_creation(data: bytes, at: int, version: int, count: int) -> tuple[list[AclCreation], int]:
    items: list[AclCreation] = []
    for _ in range(count):
        item = _new(AclCreation)
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
            item.resource_pattern_type, n = _S_INT8_BYTE.unpack_from(data, at)
            at += 2
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.resource_pattern_type, n = _S_INT8_INT16.unpack_from(data, at)
            at += 3
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


def _write_acl_creation(out: bytearray, items: Iterable[AclCreation], version: int) -> None:
    for item in items:
        out += _S_INT8.pack(item.resource_type)
        if version >= 2:
            write_compact_string(out, item.resource_name)
        else:
            write_string(out, item.resource_name)
        out += _S_INT8.pack(item.resource_pattern_type)
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


def _read_acl_creation_result(data: bytes, at: int, version: int, count: int) -> tuple[list[AclCreationResult], int]:
    items: list[AclCreationResult] = []
    for _ in range(count):
        item = _new(AclCreationResult)
        if version >= 2:
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


def _write_acl_creation_result(out: bytearray, items: Iterable[AclCreationResult], version: int) -> None:
    for item in items:
        out += _S_INT16.pack(item.error_code)
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
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)

SCHEMA: Final = """\
request CreateAclsRequest key=30 versions=1-3 flexible=2+ listeners=broker,controller
  creations              []AclCreation
    resourceType         int8
    resourceName         string
    resourcePatternType  int8           default=3
    principal            string
    host                 string
    operation            int8
    permissionType       int8

response CreateAclsResponse key=30 versions=1-3 flexible=2+ listeners=broker,controller
  throttleTimeMs  int32
  results         []AclCreationResult
    errorCode     int16
    errorMessage  string               nullable
"""
