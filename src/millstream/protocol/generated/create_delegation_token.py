"""CreateDelegationToken, API key 38, versions 1-3: request and response.

Written by `make codegen` from codegen/schemas/create_delegation_token.txt.
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
    not_in_version,
    tags_refused,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_ZERO: Final = Struct(">ix")
_INT64: Final = Struct(">q")
_INT64_BYTE: Final = Struct(">qB")
_INT64_ZERO: Final = Struct(">qx")
_S2INT16: Final = Struct(">hh")
_S3INT64: Final = Struct(">qqq")
_S3INT64_BYTE: Final = Struct(">qqqB")
_S3INT64_INT16: Final = Struct(">qqqh")
_new: Final = object.__new__


class CreatableRenewers(MessageValue):
    """In `CreateDelegationTokenRequest.renewers`, versions 1-3."""

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


class CreateDelegationTokenRequest(MessageValue):
    """Request of API 38, versions 1-3."""

    __slots__ = (
        "owner_principal_type",
        "owner_principal_name",
        "renewers",
        "max_lifetime_ms",
        "unknown_tagged_fields",
    )

    owner_principal_type: str | None  # 3
    owner_principal_name: str | None  # 3
    renewers: list[CreatableRenewers]
    max_lifetime_ms: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: list[CreatableRenewers] = UNSET,
        max_lifetime_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers = [] if renewers is UNSET else renewers
        self.max_lifetime_ms = max_lifetime_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 38
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            if version >= 3:
                if self.owner_principal_type is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.owner_principal_type.encode()
                    n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif self.owner_principal_type != "":
                raise not_in_version("owner_principal_type", version)
            if version >= 3:
                out += raw
            if version >= 3:
                if self.owner_principal_name is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.owner_principal_name.encode()
                    n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif self.owner_principal_name != "":
                raise not_in_version("owner_principal_name", version)
            if version >= 3:
                out += raw
            n = len(self.renewers) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            _write_creatable_renewers(out, self.renewers, version)
            if version >= 2:
                if self.unknown_tagged_fields:
                    out += _INT64.pack(self.max_lifetime_ms)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _INT64_ZERO.pack(self.max_lifetime_ms)
            else:
                out += _INT64.pack(self.max_lifetime_ms)
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
            if version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.owner_principal_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.owner_principal_type, at = read_compact_string_or_null(data, at)
            else:
                message.owner_principal_type = ""
            if version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.owner_principal_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.owner_principal_name, at = read_compact_string_or_null(data, at)
            else:
                message.owner_principal_name = ""
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
            message.renewers, at = _read_creatable_renewers(data, at, version, n)
            if version >= 2:
                message.max_lifetime_ms, tags = _INT64_BYTE.unpack_from(data, at)
                at += 9
            else:
                (message.max_lifetime_ms,) = _INT64.unpack_from(data, at)
                at += 8
                tags = 0
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class CreateDelegationTokenResponse(MessageValue):
    """Response of API 38, versions 1-3."""

    __slots__ = (
        "error_code",
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp_ms",
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "token_id",
        "hmac",
        "throttle_time_ms",
        "unknown_tagged_fields",
    )

    error_code: int
    principal_type: str
    principal_name: str
    token_requester_principal_type: str  # 3
    token_requester_principal_name: str  # 3
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int
    token_id: str
    hmac: bytes
    throttle_time_ms: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 38
    LOWEST_VERSION: ClassVar[int] = 1
    HIGHEST_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 2

    def encode(self, out: bytearray, version: int) -> None:
        if not 1 <= version <= 3:
            raise version_refused(type(self), version)
        try:
            raw = self.principal_type.encode()
            n = len(raw) + 1
            if version >= 2:
                if n < 128:
                    out += _INT16_BYTE.pack(self.error_code, n)
                else:
                    out += _INT16.pack(self.error_code)
                    write_string_length(out, n)
            else:
                out += _S2INT16.pack(self.error_code, n - 1)
            out += raw
            raw = self.principal_name.encode()
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
                raw = self.token_requester_principal_type.encode()
                n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif self.token_requester_principal_type:
                raise not_in_version("token_requester_principal_type", version)
            if version >= 3:
                out += raw
            if version >= 3:
                raw = self.token_requester_principal_name.encode()
                n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            elif self.token_requester_principal_name:
                raise not_in_version("token_requester_principal_name", version)
            if version >= 3:
                out += raw
            raw = self.token_id.encode()
            n = len(raw) + 1
            if version >= 2:
                if n < 128:
                    out += _S3INT64_BYTE.pack(
                        self.issue_timestamp_ms, self.expiry_timestamp_ms, self.max_timestamp_ms, n
                    )
                else:
                    out += _S3INT64.pack(
                        self.issue_timestamp_ms, self.expiry_timestamp_ms, self.max_timestamp_ms
                    )
                    write_string_length(out, n)
            else:
                out += _S3INT64_INT16.pack(
                    self.issue_timestamp_ms, self.expiry_timestamp_ms, self.max_timestamp_ms, n - 1
                )
            out += raw
            n = len(self.hmac) + 1
            if version >= 2:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            out += self.hmac
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
                if 0 < n < 128:
                    message.principal_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.principal_type, at = read_compact_string(data, at)
            else:
                message.error_code, n = _S2INT16.unpack_from(data, at)
                at += 4
                if n < 0:
                    raise null_refused()
                message.principal_type = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 2:
                n = data[at]
                if 0 < n < 128:
                    message.principal_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.principal_name, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.principal_name = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.token_requester_principal_type = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.token_requester_principal_type, at = read_compact_string(data, at)
            else:
                message.token_requester_principal_type = ""
            if version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.token_requester_principal_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.token_requester_principal_name, at = read_compact_string(data, at)
            else:
                message.token_requester_principal_name = ""
            if version >= 2:
                (
                    message.issue_timestamp_ms,
                    message.expiry_timestamp_ms,
                    message.max_timestamp_ms,
                    n,
                ) = _S3INT64_BYTE.unpack_from(data, at)
                at += 24
                if 0 < n < 128:
                    message.token_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.token_id, at = read_compact_string(data, at)
            else:
                (
                    message.issue_timestamp_ms,
                    message.expiry_timestamp_ms,
                    message.max_timestamp_ms,
                    n,
                ) = _S3INT64_INT16.unpack_from(data, at)
                at += 26
                if n < 0:
                    raise null_refused()
                message.token_id = data[at : at + n].decode("utf-8", LENIENT)
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
            message.hmac = data[at : at + n]
            at += n
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


def _read_creatable_renewers(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[CreatableRenewers], int]:
    items: list[CreatableRenewers] = []
    for _ in range(count):
        item = _new(CreatableRenewers)
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


def _write_creatable_renewers(
    out: bytearray, items: Iterable[CreatableRenewers], version: int
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
