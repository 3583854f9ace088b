"""AlterUserScramCredentials, API key 51, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/alter_user_scram_credentials.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_length, write_string

_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_S_INT8_INT32: Final = Struct(">bi")
_S_INT8_INT32_BYTE: Final = Struct(">biB")
_new: Final = object.__new__


@dataclass(slots=True)
class ScramCredentialDeletion:
    name: str = ""
    mechanism: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ScramCredentialUpsertion:
    name: str = ""
    mechanism: int = 0
    iterations: int = 0
    salt: bytes = b""
    salted_password: bytes = b""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterUserScramCredentialsRequest:
    deletions: list[ScramCredentialDeletion] = field(default_factory=list)
    upsertions: list[ScramCredentialUpsertion] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 51
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.deletions))
            _write_scram_credential_deletion(out, item.deletions, version)
            write_length(out, len(item.upsertions))
            _write_scram_credential_upsertion(out, item.upsertions, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.deletions, at = _read_scram_credential_deletion(data, at, version, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 9 <= limit - at:
                raise count_refused(n, limit - at)
            item.upsertions, at = _read_scram_credential_upsertion(data, at, version, n)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class AlterUserScramCredentialsResult:
    user: str = ""
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AlterUserScramCredentialsResponse:
    throttle_time_ms: int = 0
    results: list[AlterUserScramCredentialsResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 51
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.throttle_time_ms)
            write_length(out, len(item.results))
            _write_alter_user_scram_credentials_result(out, item.results, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.throttle_time_ms, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            item.results, at = _read_alter_user_scram_credentials_result(data, at, version, n)
            tags = data[at]
            at += 1
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_scram_credential_deletion(data: bytes, at: int, version: int, count: int) -> tuple[list[ScramCredentialDeletion], int]:
    items: list[ScramCredentialDeletion] = []
    for _ in range(count):
        item = _new(ScramCredentialDeletion)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        item.mechanism, tags = _S_INT8_BYTE.unpack_from(data, at)
        at += 2
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_scram_credential_deletion(out: bytearray, items: Iterable[ScramCredentialDeletion], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _S_INT8.pack(item.mechanism)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_scram_credential_upsertion(data: bytes, at: int, version: int, count: int) -> tuple[list[ScramCredentialUpsertion], int]:
    items: list[ScramCredentialUpsertion] = []
    for _ in range(count):
        item = _new(ScramCredentialUpsertion)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        item.mechanism, item.iterations, n = _S_INT8_INT32_BYTE.unpack_from(data, at)
        at += 6
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.salt = data[at - n : at]
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.salted_password = data[at - n : at]
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_scram_credential_upsertion(out: bytearray, items: Iterable[ScramCredentialUpsertion], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _S_INT8_INT32.pack(item.mechanism, item.iterations)
        write_length(out, len(item.salt))
        out += item.salt
        write_length(out, len(item.salted_password))
        out += item.salted_password
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_alter_user_scram_credentials_result(data: bytes, at: int, version: int, count: int) -> tuple[list[AlterUserScramCredentialsResult], int]:
    items: list[AlterUserScramCredentialsResult] = []
    for _ in range(count):
        item = _new(AlterUserScramCredentialsResult)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.user = data[at - n : at].decode("utf-8", LENIENT)
        item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
        at += 3
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.error_message = None
        else:
            at += n
            item.error_message = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_alter_user_scram_credentials_result(out: bytearray, items: Iterable[AlterUserScramCredentialsResult], version: int) -> None:
    for item in items:
        write_compact_string(out, item.user)
        out += _S_INT16.pack(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            write_compact_string(out, item.error_message)
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
