"""DescribeDelegationToken, API key 41, versions 1-3: request and response.

Written by `make codegen` from codegen/schemas/describe_delegation_token.txt.
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

_S_3INT64: Final = Struct(">qqq")
_S_3INT64_BYTE: Final = Struct(">qqqB")
_S_3INT64_INT16: Final = Struct(">qqqh")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT16_INT32: Final = Struct(">hi")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_new: Final = object.__new__


@dataclass(slots=True)
class DescribeDelegationTokenOwner:
    principal_type: str = ""
    principal_name: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeDelegationTokenRequest:
    owners: list[DescribeDelegationTokenOwner] | None = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 41
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise unsupported(self, version)
        item = self
        try:
            if item.owners is None:
                if version >= 2:
                    out.append(0)
                else:
                    out += b"\xff\xff\xff\xff"
            else:
                if version >= 2:
                    write_length(out, len(item.owners))
                else:
                    out += _S_INT32.pack(len(item.owners))
                _write_describe_delegation_token_owner(out, item.owners, version)
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
            if n < 0:
                item.owners = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.owners, at = _read_describe_delegation_token_owner(data, at, version, n)
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
class DescribedDelegationTokenRenewer:
    principal_type: str = ""
    principal_name: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribedDelegationToken:
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = ""  # 3
    token_requester_principal_name: str = ""  # 3
    issue_timestamp: int = 0
    expiry_timestamp: int = 0
    max_timestamp: int = 0
    token_id: str = ""
    hmac: bytes = b""
    renewers: list[DescribedDelegationTokenRenewer] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeDelegationTokenResponse:
    error_code: int = 0
    tokens: list[DescribedDelegationToken] = field(default_factory=list)
    throttle_time_ms: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 41
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
                write_length(out, len(item.tokens))
            else:
                out += _S_INT32.pack(len(item.tokens))
            _write_described_delegation_token(out, item.tokens, version)
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
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.error_code, n = _S_INT16_INT32.unpack_from(data, at)
                at += 6
            if not 0 <= n * 30 <= limit - at:
                raise count_refused(n, limit - at)
            item.tokens, at = _read_described_delegation_token(data, at, version, n)
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


def _read_describe_delegation_token_owner(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeDelegationTokenOwner], int]:
    items: list[DescribeDelegationTokenOwner] = []
    for _ in range(count):
        item = _new(DescribeDelegationTokenOwner)
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


def _write_describe_delegation_token_owner(out: bytearray, items: Iterable[DescribeDelegationTokenOwner], version: int) -> None:
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


def _read_described_delegation_token_renewer(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribedDelegationTokenRenewer], int]:
    items: list[DescribedDelegationTokenRenewer] = []
    for _ in range(count):
        item = _new(DescribedDelegationTokenRenewer)
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


def _write_described_delegation_token_renewer(out: bytearray, items: Iterable[DescribedDelegationTokenRenewer], version: int) -> None:
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


def _read_described_delegation_token(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribedDelegationToken], int]:
    limit = len(data)
    items: list[DescribedDelegationToken] = []
    for _ in range(count):
        item = _new(DescribedDelegationToken)
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
            item.issue_timestamp, item.expiry_timestamp, item.max_timestamp, n = _S_3INT64_BYTE.unpack_from(data, at)
            at += 25
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            item.issue_timestamp, item.expiry_timestamp, item.max_timestamp, n = _S_3INT64_INT16.unpack_from(data, at)
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
        item.renewers, at = _read_described_delegation_token_renewer(data, at, version, n)
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


def _write_described_delegation_token(out: bytearray, items: Iterable[DescribedDelegationToken], version: int) -> None:
    for item in items:
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
        out += _S_3INT64.pack(item.issue_timestamp, item.expiry_timestamp, item.max_timestamp)
        if version >= 2:
            write_compact_string(out, item.token_id)
        else:
            write_string(out, item.token_id)
        if version >= 2:
            write_length(out, len(item.hmac))
        else:
            out += _S_INT32.pack(len(item.hmac))
        out += item.hmac
        if version >= 2:
            write_length(out, len(item.renewers))
        else:
            out += _S_INT32.pack(len(item.renewers))
        _write_described_delegation_token_renewer(out, item.renewers, version)
        if item.unknown_tagged_fields:
            if version < 2:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 2:
            out.append(0)

SCHEMA: Final = """\
request DescribeDelegationTokenRequest key=41 versions=1-3 flexible=2+ listeners=broker,controller
  owners           []DescribeDelegationTokenOwner  nullable
    principalType  string
    principalName  string

response DescribeDelegationTokenResponse key=41 versions=1-3 flexible=2+ listeners=broker,controller
  errorCode                      int16
  tokens                         []DescribedDelegationToken
    principalType                string
    principalName                string
    tokenRequesterPrincipalType  string                             3
    tokenRequesterPrincipalName  string                             3
    issueTimestamp               int64
    expiryTimestamp              int64
    maxTimestamp                 int64
    tokenId                      string
    hmac                         bytes
    renewers                     []DescribedDelegationTokenRenewer
      principalType              string
      principalName              string
  throttleTimeMs                 int32
"""
