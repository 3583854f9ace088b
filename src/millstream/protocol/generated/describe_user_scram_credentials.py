"""DescribeUserScramCredentials, API key 50, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/describe_user_scram_credentials.txt.
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
    read_compact_string_or_null,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT8_INT32: Final = Struct(">bi")
_INT8_INT32_BYTE: Final = Struct(">biB")
_INT8_INT32_ZERO: Final = Struct(">bix")
_new: Final = object.__new__


class UserName(MessageValue):
    """In `DescribeUserScramCredentialsRequest.users`, version 0."""

    __slots__ = ("name", "unknown_tagged_fields")

    name: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(self, name: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.name = name
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeUserScramCredentialsRequest(MessageValue):
    """Request of API 50, version 0."""

    __slots__ = ("users", "unknown_tagged_fields")

    users: list[UserName] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        users: list[UserName] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.users = [] if users is UNSET else users
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 50
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.users is None:
                n = 0
            else:
                n = len(self.users) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if self.users is not None:
                _write_user_name(out, self.users, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if n < 0:
                message.users = None
            else:
                if not 0 <= n * 2 <= limit - at:
                    raise count_refused(n, limit - at)
                message.users, at = _read_user_name(data, at, version, n)
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


class CredentialInfo(MessageValue):
    """In `DescribeUserScramCredentialsResult.credential_infos`, version 0."""

    __slots__ = ("mechanism", "iterations", "unknown_tagged_fields")

    mechanism: int
    iterations: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        mechanism: int = 0,
        iterations: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeUserScramCredentialsResult(MessageValue):
    """In `DescribeUserScramCredentialsResponse.results`, version 0."""

    __slots__ = ("user", "error_code", "error_message", "credential_infos", "unknown_tagged_fields")

    user: str
    error_code: int
    error_message: str | None
    credential_infos: list[CredentialInfo]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[CredentialInfo] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos = [] if credential_infos is UNSET else credential_infos
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeUserScramCredentialsResponse(MessageValue):
    """Response of API 50, version 0."""

    __slots__ = (
        "throttle_time_ms", "error_code", "error_message", "results", "unknown_tagged_fields"
    )

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[DescribeUserScramCredentialsResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is UNSET else results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 50
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if self.error_message is None:
                raw = b""
                n = 0
            else:
                raw = self.error_message.encode()
                n = len(raw) + 1
            if n < 128:
                out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_string_length(out, n)
            out += raw
            n = len(self.results) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_describe_user_scram_credentials_result(out, self.results, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
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
            if 0 < n < 128:
                message.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                message.error_message, at = read_compact_string_or_null(data, at)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.results, at = _read_describe_user_scram_credentials_result(data, at, version, n)
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


def _read_user_name(data: bytes, at: int, version: int, count: int) -> tuple[list[UserName], int]:
    items: list[UserName] = []
    for _ in range(count):
        item = _new(UserName)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_user_name(out: bytearray, items: Iterable[UserName], version: int) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_credential_info(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CredentialInfo], int]:
    items: list[CredentialInfo] = []
    for _ in range(count):
        item = _new(CredentialInfo)
        item.mechanism, item.iterations, tags = _INT8_INT32_BYTE.unpack_from(data, at)
        at += 6
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_credential_info(out: bytearray, items: Iterable[CredentialInfo], version: int) -> None:
    for item in items:
        if item.unknown_tagged_fields:
            out += _INT8_INT32.pack(item.mechanism, item.iterations)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT8_INT32_ZERO.pack(item.mechanism, item.iterations)


def _read_describe_user_scram_credentials_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeUserScramCredentialsResult], int]:
    items: list[DescribeUserScramCredentialsResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribeUserScramCredentialsResult)
        n = data[at]
        if 0 < n < 128:
            item.user = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.user, at = read_compact_string(data, at)
        item.error_code, n = _INT16_BYTE.unpack_from(data, at)
        at += 2
        if 0 < n < 128:
            item.error_message = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.error_message, at = read_compact_string_or_null(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.credential_infos, at = _read_credential_info(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_user_scram_credentials_result(
    out: bytearray, items: Iterable[DescribeUserScramCredentialsResult], version: int
) -> None:
    for item in items:
        raw = item.user.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.error_message is None:
            raw = b""
            n = 0
        else:
            raw = item.error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT16_BYTE.pack(item.error_code, n)
        else:
            out += _INT16.pack(item.error_code)
            write_string_length(out, n)
        out += raw
        n = len(item.credential_infos) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_credential_info(out, item.credential_infos, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request DescribeUserScramCredentialsRequest key=50 versions=0 flexible=0+ listeners=broker,controller
  users   []UserName  nullable
    name  string

response DescribeUserScramCredentialsResponse key=50 versions=0 flexible=0+ listeners=broker,controller
  throttleTimeMs     int32
  errorCode          int16
  errorMessage       string                                nullable
  results            []DescribeUserScramCredentialsResult
    user             string
    errorCode        int16
    errorMessage     string                                nullable
    credentialInfos  []CredentialInfo
      mechanism      int8
      iterations     int32
"""
