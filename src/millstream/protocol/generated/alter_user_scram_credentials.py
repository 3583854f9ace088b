"""AlterUserScramCredentials, API key 51, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/alter_user_scram_credentials.txt.
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
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_INT8_INT32: Final = Struct(">bi")
_INT8_INT32_BYTE: Final = Struct(">biB")
_INT8_ZERO: Final = Struct(">bx")
_new: Final = object.__new__


class ScramCredentialDeletion(MessageValue):
    """In `AlterUserScramCredentialsRequest.deletions`, version 0."""

    __slots__ = ("name", "mechanism", "unknown_tagged_fields")

    name: str
    mechanism: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.unknown_tagged_fields = unknown_tagged_fields


class ScramCredentialUpsertion(MessageValue):
    """In `AlterUserScramCredentialsRequest.upsertions`, version 0."""

    __slots__ = (
        "name", "mechanism", "iterations", "salt", "salted_password", "unknown_tagged_fields"
    )

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterUserScramCredentialsRequest(MessageValue):
    """Request of API 51, version 0."""

    __slots__ = ("deletions", "upsertions", "unknown_tagged_fields")

    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        deletions: list[ScramCredentialDeletion] = UNSET,
        upsertions: list[ScramCredentialUpsertion] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.deletions = [] if deletions is UNSET else deletions
        self.upsertions = [] if upsertions is UNSET else upsertions
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 51
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.deletions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_scram_credential_deletion(out, self.deletions, version)
            n = len(self.upsertions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_scram_credential_upsertion(out, self.upsertions, version)
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            message.deletions, at = _read_scram_credential_deletion(data, at, version, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 9 <= limit - at:
                raise count_refused(n, limit - at)
            message.upsertions, at = _read_scram_credential_upsertion(data, at, version, n)
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


class AlterUserScramCredentialsResult(MessageValue):
    """In `AlterUserScramCredentialsResponse.results`, version 0."""

    __slots__ = ("user", "error_code", "error_message", "unknown_tagged_fields")

    user: str
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterUserScramCredentialsResponse(MessageValue):
    """Response of API 51, version 0."""

    __slots__ = ("throttle_time_ms", "results", "unknown_tagged_fields")

    throttle_time_ms: int
    results: list[AlterUserScramCredentialsResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 51
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.results) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.throttle_time_ms, n)
            else:
                out += _INT32.pack(self.throttle_time_ms)
                write_uvarint(out, n)
            _write_alter_user_scram_credentials_result(out, self.results, version)
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
            message.throttle_time_ms, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            message.results, at = _read_alter_user_scram_credentials_result(data, at, version, n)
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


def _read_scram_credential_deletion(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ScramCredentialDeletion], int]:
    items: list[ScramCredentialDeletion] = []
    for _ in range(count):
        item = _new(ScramCredentialDeletion)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        item.mechanism, tags = _INT8_BYTE.unpack_from(data, at)
        at += 2
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_scram_credential_deletion(
    out: bytearray, items: Iterable[ScramCredentialDeletion], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if item.unknown_tagged_fields:
            out += _INT8.pack(item.mechanism)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _INT8_ZERO.pack(item.mechanism)


def _read_scram_credential_upsertion(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ScramCredentialUpsertion], int]:
    items: list[ScramCredentialUpsertion] = []
    for _ in range(count):
        item = _new(ScramCredentialUpsertion)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        item.mechanism, item.iterations, n = _INT8_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if n < 0:
            raise null_refused()
        item.salt = data[at : at + n]
        at += n
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if n < 0:
            raise null_refused()
        item.salted_password = data[at : at + n]
        at += n
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_scram_credential_upsertion(
    out: bytearray, items: Iterable[ScramCredentialUpsertion], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.salt) + 1
        if n < 128:
            out += _INT8_INT32_BYTE.pack(item.mechanism, item.iterations, n)
        else:
            out += _INT8_INT32.pack(item.mechanism, item.iterations)
            write_uvarint(out, n)
        out += item.salt
        n = len(item.salted_password) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += item.salted_password
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_alter_user_scram_credentials_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AlterUserScramCredentialsResult], int]:
    items: list[AlterUserScramCredentialsResult] = []
    for _ in range(count):
        item = _new(AlterUserScramCredentialsResult)
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
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_user_scram_credentials_result(
    out: bytearray, items: Iterable[AlterUserScramCredentialsResult], version: int
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
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request AlterUserScramCredentialsRequest key=51 versions=0 flexible=0+ listeners=broker,controller
  deletions         []ScramCredentialDeletion
    name            string
    mechanism       int8
  upsertions        []ScramCredentialUpsertion
    name            string
    mechanism       int8
    iterations      int32
    salt            bytes
    saltedPassword  bytes

response AlterUserScramCredentialsResponse key=51 versions=0 flexible=0+ listeners=broker,controller
  throttleTimeMs  int32
  results         []AlterUserScramCredentialsResult
    user          string
    errorCode     int16
    errorMessage  string                             nullable
"""
