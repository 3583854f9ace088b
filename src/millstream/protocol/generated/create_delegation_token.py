"""CreateDelegationToken, API key 38, versions 1-3: request and response.

Written by `make codegen` from codegen/schemas/create_delegation_token.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_length, write_string

_S_2INT16: Final = Struct(">hh")
_S_3INT64: Final = Struct(">qqq")
_S_3INT64_BYTE: Final = Struct(">qqqB")
_S_3INT64_INT16: Final = Struct(">qqqh")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT64: Final = Struct(">q")
_S_INT64_BYTE: Final = Struct(">qB")
_new: Final = object.__new__


@dataclass(slots=True)
class CreatableRenewers:
    principal_type: str = ""
    principal_name: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class CreateDelegationTokenRequest:
    owner_principal_type: str | None = ""  # 3
    owner_principal_name: str | None = ""  # 3
    renewers: list[CreatableRenewers] = field(default_factory=list)
    max_lifetime_ms: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 38
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                if item.owner_principal_type is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.owner_principal_type)
            elif item.owner_principal_type != "":
                raise not_in_version("owner_principal_type", version)
            if version >= 3:
                if item.owner_principal_name is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.owner_principal_name)
            elif item.owner_principal_name != "":
                raise not_in_version("owner_principal_name", version)
            if version >= 2:
                write_length(out, len(item.renewers))
            else:
                out += _S_INT32.pack(len(item.renewers))
            _write_creatable_renewers(out, item.renewers, version)
            out += _S_INT64.pack(item.max_lifetime_ms)
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
            if version >= 3:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 3:
                if n < 0:
                    item.owner_principal_type = None
                else:
                    at += n
                    item.owner_principal_type = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.owner_principal_type = ""
            if version >= 3:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 3:
                if n < 0:
                    item.owner_principal_name = None
                else:
                    at += n
                    item.owner_principal_name = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.owner_principal_name = ""
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
            if not 0 <= n * 3 <= limit - at:
                raise count_refused(n, limit - at)
            item.renewers, at = _read_creatable_renewers(data, at, version, n)
            if version >= 2:
                item.max_lifetime_ms, tags = _S_INT64_BYTE.unpack_from(data, at)
                at += 9
            else:
                (item.max_lifetime_ms,) = _S_INT64.unpack_from(data, at)
                at += 8
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
class CreateDelegationTokenResponse:
    error_code: int = 0
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = ""  # 3
    token_requester_principal_name: str = ""  # 3
    issue_timestamp_ms: int = 0
    expiry_timestamp_ms: int = 0
    max_timestamp_ms: int = 0
    token_id: str = ""
    hmac: bytes = b""
    throttle_time_ms: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 38
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16.pack(item.error_code)
            if version >= 2:
                write_compact_string(out, item.principal_type)
            else:
                write_string(out, item.principal_type)
            if version >= 2:
                write_compact_string(out, item.principal_name)
            else:
                write_string(out, item.principal_name)
            if version >= 3:
                write_compact_string(out, item.token_requester_principal_type)
            elif item.token_requester_principal_type:
                raise not_in_version("token_requester_principal_type", version)
            if version >= 3:
                write_compact_string(out, item.token_requester_principal_name)
            elif item.token_requester_principal_name:
                raise not_in_version("token_requester_principal_name", version)
            out += _S_3INT64.pack(item.issue_timestamp_ms, item.expiry_timestamp_ms, item.max_timestamp_ms)
            if version >= 2:
                write_compact_string(out, item.token_id)
            else:
                write_string(out, item.token_id)
            if version >= 2:
                write_length(out, len(item.hmac))
            else:
                out += _S_INT32.pack(len(item.hmac))
            out += item.hmac
            out += _S_INT32.pack(item.throttle_time_ms)
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
                raise null_refused()
            at += n
            item.principal_type = data[at - n : at].decode("utf-8", LENIENT)
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
            item.principal_name = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 3:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 3:
                if n < 0:
                    raise null_refused()
                at += n
                item.token_requester_principal_type = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.token_requester_principal_type = ""
            if version >= 3:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 3:
                if n < 0:
                    raise null_refused()
                at += n
                item.token_requester_principal_name = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.token_requester_principal_name = ""
            if version >= 2:
                item.issue_timestamp_ms, item.expiry_timestamp_ms, item.max_timestamp_ms, n = _S_3INT64_BYTE.unpack_from(data, at)
                at += 25
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.issue_timestamp_ms, item.expiry_timestamp_ms, item.max_timestamp_ms, n = _S_3INT64_INT16.unpack_from(data, at)
                at += 26
            if n < 0:
                raise null_refused()
            at += n
            item.token_id = data[at - n : at].decode("utf-8", LENIENT)
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
            if n < 0:
                raise null_refused()
            at += n
            item.hmac = data[at - n : at]
            if version >= 2:
                item.throttle_time_ms, tags = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
            else:
                (item.throttle_time_ms,) = _S_INT32.unpack_from(data, at)
                at += 4
                tags = 0
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_creatable_renewers(data: bytes, at: int, version: int, count: int) -> tuple[list[CreatableRenewers], int]:
    items: list[CreatableRenewers] = []
    for _ in range(count):
        item = _new(CreatableRenewers)
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
        item.principal_type = data[at - n : at].decode("utf-8", LENIENT)
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
        item.principal_name = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_creatable_renewers(out: bytearray, items: Iterable[CreatableRenewers], version: int) -> None:
    for item in items:
        if version >= 2:
            write_compact_string(out, item.principal_type)
        else:
            write_string(out, item.principal_type)
        if version >= 2:
            write_compact_string(out, item.principal_name)
        else:
            write_string(out, item.principal_name)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)

SCHEMA: Final = """\
request CreateDelegationTokenRequest key=38 versions=1-3 flexible=2+ listeners=broker,controller
  ownerPrincipalType  string               3 nullable
  ownerPrincipalName  string               3 nullable
  renewers            []CreatableRenewers
    principalType     string
    principalName     string
  maxLifetimeMs       int64

response CreateDelegationTokenResponse key=38 versions=1-3 flexible=2+ listeners=broker,controller
  errorCode                    int16
  principalType                string
  principalName                string
  tokenRequesterPrincipalType  string  3
  tokenRequesterPrincipalName  string  3
  issueTimestampMs             int64
  expiryTimestampMs            int64
  maxTimestampMs               int64
  tokenId                      string
  hmac                         bytes
  throttleTimeMs               int32
"""
