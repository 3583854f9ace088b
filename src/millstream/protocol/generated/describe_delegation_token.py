"""DescribeDelegationToken, API key 41, versions 1-3: request and response.

Written by `make codegen` from codegen/schemas/describe_delegation_token.txt.
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
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    tags_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT16_INT32: Final = Struct(">hi")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_ZERO: Final = Struct(">ix")
_S3INT64: Final = Struct(">qqq")
_S3INT64_BYTE: Final = Struct(">qqqB")
_S3INT64_INT16: Final = Struct(">qqqh")
_new: Final = object.__new__


class DescribeDelegationTokenOwner(MessageValue):
    """In `DescribeDelegationTokenRequest.owners`, versions 1-3."""

    __slots__ = ("principal_type", "principal_name", "unknown_tagged_fields")

    principal_type: str
    principal_name: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeDelegationTokenRequest(MessageValue):
    """Request of API 41, versions 1-3."""

    __slots__ = ("owners", "unknown_tagged_fields")

    owners: list[DescribeDelegationTokenOwner] | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        owners: list[DescribeDelegationTokenOwner] | None = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.owners = [] if owners is UNSET else owners
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 41
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            if self.owners is None:
                n = 0
            else:
                n = len(self.owners) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            if self.owners is not None:
                _write_describe_delegation_token_owner(out, self.owners, version)
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
            if n < 0:
                message.owners = None
            else:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.owners, at = _read_describe_delegation_token_owner(data, at, version, n)
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


class DescribedDelegationTokenRenewer(MessageValue):
    """In `DescribedDelegationToken.renewers`, versions 1-3."""

    __slots__ = ("principal_type", "principal_name", "unknown_tagged_fields")

    principal_type: str
    principal_name: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribedDelegationToken(MessageValue):
    """In `DescribeDelegationTokenResponse.tokens`, versions 1-3."""

    __slots__ = (
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp",
        "expiry_timestamp",
        "max_timestamp",
        "token_id",
        "hmac",
        "renewers",
        "unknown_tagged_fields",
    )

    principal_type: str
    principal_name: str
    token_requester_principal_type: str  # 3
    token_requester_principal_name: str  # 3
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    token_id: str
    hmac: bytes
    renewers: list[DescribedDelegationTokenRenewer]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        renewers: list[DescribedDelegationTokenRenewer] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp = issue_timestamp
        self.expiry_timestamp = expiry_timestamp
        self.max_timestamp = max_timestamp
        self.token_id = token_id
        self.hmac = hmac
        self.renewers = [] if renewers is UNSET else renewers
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeDelegationTokenResponse(MessageValue):
    """Response of API 41, versions 1-3."""

    __slots__ = ("error_code", "tokens", "throttle_time_ms", "unknown_tagged_fields")

    error_code: int
    tokens: list[DescribedDelegationToken]
    throttle_time_ms: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        tokens: list[DescribedDelegationToken] = UNSET,
        throttle_time_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.tokens = [] if tokens is UNSET else tokens
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 41
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            n = len(self.tokens) + 1
            if version >= 2:
                if n < 128:
                    out += _INT16_BYTE.pack(self.error_code, n)
                else:
                    out += _INT16.pack(self.error_code)
                    write_uvarint(out, n)
            else:
                out += _INT16_INT32.pack(self.error_code, n - 1)
            _write_described_delegation_token(out, self.tokens, version)
            if version >= 2:
                if self.unknown_tagged_fields:
                    out += _INT32.pack(self.throttle_time_ms)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT32_ZERO.pack(self.throttle_time_ms)
            else:
                out += _INT32.pack(self.throttle_time_ms)
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
                message.error_code, n = _INT16_BYTE.unpack_from(data, at)
                at += 2
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.error_code, n = _INT16_INT32.unpack_from(data, at)
                at += 6
            if not 0 <= n * 30 <= limit - at:
                raise count_refused(n, limit - at)
            message.tokens, at = _read_described_delegation_token(data, at, version, n)
            if version >= 2:
                message.throttle_time_ms, tags = _INT32_BYTE.unpack_from(data, at)
                at += 5
            else:
                (message.throttle_time_ms,) = _INT32.unpack_from(data, at)
                at += 4
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_describe_delegation_token_owner(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeDelegationTokenOwner], int]:
    items: list[DescribeDelegationTokenOwner] = []
    for _ in range(count):
        item = _new(DescribeDelegationTokenOwner)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.principal_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.principal_type, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.principal_type = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.principal_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.principal_name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.principal_name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
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


def _write_describe_delegation_token_owner(
    out: bytearray, items: Iterable[DescribeDelegationTokenOwner], version: int
) -> None:
    for item in items:
        raw = item.principal_type.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        raw = item.principal_name.encode()
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
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_described_delegation_token_renewer(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribedDelegationTokenRenewer], int]:
    items: list[DescribedDelegationTokenRenewer] = []
    for _ in range(count):
        item = _new(DescribedDelegationTokenRenewer)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.principal_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.principal_type, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.principal_type = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.principal_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.principal_name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.principal_name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
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


def _write_described_delegation_token_renewer(
    out: bytearray, items: Iterable[DescribedDelegationTokenRenewer], version: int
) -> None:
    for item in items:
        raw = item.principal_type.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        raw = item.principal_name.encode()
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
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_described_delegation_token(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribedDelegationToken], int]:
    items: list[DescribedDelegationToken] = []
    limit = len(data)
    for _ in range(count):
        item = _new(DescribedDelegationToken)
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.principal_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.principal_type, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.principal_type = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 2:
            n = data[at]
            if 0 < n < 128:
                item.principal_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.principal_name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.principal_name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 3:
            n = data[at]
            if 0 < n < 128:
                item.token_requester_principal_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.token_requester_principal_type, at = read_compact_string(data, at)
        else:
            item.token_requester_principal_type = ""
        if version >= 3:
            n = data[at]
            if 0 < n < 128:
                item.token_requester_principal_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.token_requester_principal_name, at = read_compact_string(data, at)
        else:
            item.token_requester_principal_name = ""
        if version >= 2:
            (
                item.issue_timestamp,
                item.expiry_timestamp,
                item.max_timestamp,
                n,
            ) = _S3INT64_BYTE.unpack_from(data, at)
            at += 24
            if 0 < n < 128:
                item.token_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.token_id, at = read_compact_string(data, at)
        else:
            (
                item.issue_timestamp,
                item.expiry_timestamp,
                item.max_timestamp,
                n,
            ) = _S3INT64_INT16.unpack_from(data, at)
            at += 26
            if n < 0:
                raise null_refused()
            item.token_id = data[at : at + n].decode("utf-8", LENIENT)
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
        if n < 0:
            raise null_refused()
        item.hmac = data[at : at + n]
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


def _write_described_delegation_token(
    out: bytearray, items: Iterable[DescribedDelegationToken], version: int
) -> None:
    for item in items:
        raw = item.principal_type.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        raw = item.principal_name.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 3:
            raw = item.token_requester_principal_type.encode()
            n = len(raw) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        elif item.token_requester_principal_type:
            raise not_in_version("token_requester_principal_type", version)
        if version >= 3:
            out += raw
        if version >= 3:
            raw = item.token_requester_principal_name.encode()
            n = len(raw) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        elif item.token_requester_principal_name:
            raise not_in_version("token_requester_principal_name", version)
        if version >= 3:
            out += raw
        raw = item.token_id.encode()
        n = len(raw) + 1
        if version >= 2:
            if n < 128:
                out += _S3INT64_BYTE.pack(
                    item.issue_timestamp, item.expiry_timestamp, item.max_timestamp, n
                )
            else:
                out += _S3INT64.pack(
                    item.issue_timestamp, item.expiry_timestamp, item.max_timestamp
                )
                write_string_length(out, n)
        else:
            out += _S3INT64_INT16.pack(
                item.issue_timestamp, item.expiry_timestamp, item.max_timestamp, n - 1
            )
        out += raw
        n = len(item.hmac) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        out += item.hmac
        n = len(item.renewers) + 1
        if version >= 2:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_described_delegation_token_renewer(out, item.renewers, version)
        if version >= 2:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)

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
