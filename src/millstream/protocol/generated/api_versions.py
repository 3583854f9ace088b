"""ApiVersions, API key 18, versions 0-4: request and response.

Written by `make codegen` from codegen/schemas/api_versions.txt.
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
    read_length,
    read_uvarint,
)
from millstream.protocol.tagged_fields import (
    TaggedField,
    read_tag_count,
    read_unknown_field,
    read_unknown_fields,
    write_tagged_fields,
)
from millstream.protocol.writing import (
    WRITE_FAILURES,
    tags_refused,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_INT16: Final = Struct(">h")
_INT16_BYTE: Final = Struct(">hB")
_INT16_INT32: Final = Struct(">hi")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_ZERO: Final = Struct(">ix")
_INT64: Final = Struct(">q")
_S2INT16: Final = Struct(">hh")
_S2INT16_BYTE: Final = Struct(">hhB")
_S2INT16_ZERO: Final = Struct(">hhx")
_S3INT16: Final = Struct(">hhh")
_S3INT16_BYTE: Final = Struct(">hhhB")
_S3INT16_ZERO: Final = Struct(">hhhx")
_new: Final = object.__new__


class ApiVersionsRequest(MessageValue):
    """Request of API 18, versions 0-4."""

    __slots__ = ("client_software_name", "client_software_version", "unknown_tagged_fields")

    client_software_name: str  # 3+
    client_software_version: str  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 18
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            if version >= 3:
                raw = self.client_software_name.encode()
                n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            if version >= 3:
                out += raw
            if version >= 3:
                raw = self.client_software_version.encode()
                n = len(raw) + 1
            if version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            if version >= 3:
                out += raw
            if version >= 3:
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
        if not 0 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.client_software_name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.client_software_name, at = read_compact_string(data, at)
            else:
                message.client_software_name = ""
            if version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.client_software_version = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.client_software_version, at = read_compact_string(data, at)
            else:
                message.client_software_version = ""
            if version >= 3:
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


class ApiVersion(MessageValue):
    """In `ApiVersionsResponse.api_keys`, versions 0-4."""

    __slots__ = ("api_key", "min_version", "max_version", "unknown_tagged_fields")

    api_key: int
    min_version: int
    max_version: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version
        self.unknown_tagged_fields = unknown_tagged_fields


class SupportedFeatureKey(MessageValue):
    """In `ApiVersionsResponse.supported_features`, versions 3-4."""

    __slots__ = ("name", "min_version", "max_version", "unknown_tagged_fields")

    name: str
    min_version: int
    max_version: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version
        self.unknown_tagged_fields = unknown_tagged_fields


class FinalizedFeatureKey(MessageValue):
    """In `ApiVersionsResponse.finalized_features`, versions 3-4."""

    __slots__ = ("name", "max_version_level", "min_version_level", "unknown_tagged_fields")

    name: str
    max_version_level: int
    min_version_level: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level
        self.unknown_tagged_fields = unknown_tagged_fields


class ApiVersionsResponse(MessageValue):
    """Response of API 18, versions 0-4."""

    __slots__ = (
        "error_code",
        "api_keys",
        "throttle_time_ms",
        "supported_features",
        "finalized_features_epoch",
        "finalized_features",
        "zk_migration_ready",
        "unknown_tagged_fields",
    )

    error_code: int
    api_keys: list[ApiVersion]
    throttle_time_ms: int  # 1+
    supported_features: list[SupportedFeatureKey]  # 3+, tag 0
    finalized_features_epoch: int  # 3+, tag 1
    finalized_features: list[FinalizedFeatureKey]  # 3+, tag 2
    zk_migration_ready: bool  # 3+, tag 3
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersion] = UNSET,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = UNSET,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = UNSET,
        zk_migration_ready: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is UNSET else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is UNSET else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is UNSET else finalized_features
        self.zk_migration_ready = zk_migration_ready
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 18
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise version_refused(type(self), version)
        try:
            n = len(self.api_keys) + 1
            if version >= 3:
                if n < 128:
                    out += _INT16_BYTE.pack(self.error_code, n)
                else:
                    out += _INT16.pack(self.error_code)
                    write_uvarint(out, n)
            else:
                out += _INT16_INT32.pack(self.error_code, n - 1)
            _write_api_version(out, self.api_keys, version)
            if version >= 3:
                if (
                    self.supported_features
                    or self.finalized_features_epoch != -1
                    or self.finalized_features
                    or self.zk_migration_ready
                    or self.unknown_tagged_fields
                ):
                    out += _INT32.pack(self.throttle_time_ms)
                    _write_api_versions_response_tags(out, self, version)
                else:
                    out += _INT32_ZERO.pack(self.throttle_time_ms)
            elif version >= 1:
                out += _INT32.pack(self.throttle_time_ms)
                if self.unknown_tagged_fields:
                    raise tags_refused(version)
            elif self.unknown_tagged_fields:
                raise tags_refused(version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 3:
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
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            message.api_keys, at = _read_api_version(data, at, version, n)
            if version >= 3:
                message.throttle_time_ms, tags = _INT32_BYTE.unpack_from(data, at)
                at += 5
            elif version >= 1:
                (message.throttle_time_ms,) = _INT32.unpack_from(data, at)
                at += 4
                tags = 0
            else:
                message.throttle_time_ms = 0
                tags = 0
            message.supported_features = []
            message.finalized_features_epoch = -1
            message.finalized_features = []
            message.zk_migration_ready = False
            message.unknown_tagged_fields = ()
            if tags:
                at = _read_api_versions_response_tags(message, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_api_version(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[ApiVersion], int]:
    items: list[ApiVersion] = []
    for _ in range(count):
        item = _new(ApiVersion)
        if version >= 3:
            (
                item.api_key,
                item.min_version,
                item.max_version,
                tags,
            ) = _S3INT16_BYTE.unpack_from(data, at)
            at += 7
        else:
            item.api_key, item.min_version, item.max_version = _S3INT16.unpack_from(data, at)
            at += 6
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_api_version(out: bytearray, items: Iterable[ApiVersion], version: int) -> None:
    for item in items:
        if version >= 3:
            if item.unknown_tagged_fields:
                out += _S3INT16.pack(item.api_key, item.min_version, item.max_version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _S3INT16_ZERO.pack(item.api_key, item.min_version, item.max_version)
        else:
            out += _S3INT16.pack(item.api_key, item.min_version, item.max_version)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_supported_feature_key(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[SupportedFeatureKey], int]:
    items: list[SupportedFeatureKey] = []
    for _ in range(count):
        item = _new(SupportedFeatureKey)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        item.min_version, item.max_version, tags = _S2INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_supported_feature_key(
    out: bytearray, items: Iterable[SupportedFeatureKey], version: int
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
            out += _S2INT16.pack(item.min_version, item.max_version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _S2INT16_ZERO.pack(item.min_version, item.max_version)


def _read_finalized_feature_key(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[FinalizedFeatureKey], int]:
    items: list[FinalizedFeatureKey] = []
    for _ in range(count):
        item = _new(FinalizedFeatureKey)
        n = data[at]
        if 0 < n < 128:
            item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.name, at = read_compact_string(data, at)
        item.max_version_level, item.min_version_level, tags = _S2INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_finalized_feature_key(
    out: bytearray, items: Iterable[FinalizedFeatureKey], version: int
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
            out += _S2INT16.pack(item.max_version_level, item.min_version_level)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out += _S2INT16_ZERO.pack(item.max_version_level, item.min_version_level)


def _read_api_versions_response_tags(
    item: ApiVersionsResponse, data: bytes, at: int, version: int
) -> int:
    unknown = []
    count, at = read_tag_count(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n, at = read_length(data, at)
            limit = len(data)
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.supported_features, at = _read_supported_feature_key(data, at, version, n)
        elif tag == 1:
            (item.finalized_features_epoch,) = _INT64.unpack_from(data, at)
            at += 8
        elif tag == 2:
            n, at = read_length(data, at)
            limit = len(data)
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.finalized_features, at = _read_finalized_feature_key(data, at, version, n)
        elif tag == 3:
            (item.zk_migration_ready,) = _BOOL.unpack_from(data, at)
            at += 1
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_api_versions_response_tags(
    section: bytearray, item: ApiVersionsResponse, version: int
) -> None:
    known: list[TaggedField] = []
    if item.supported_features:
        out = bytearray()
        write_uvarint(out, len(item.supported_features) + 1)
        _write_supported_feature_key(out, item.supported_features, version)
        known.append(TaggedField(0, bytes(out)))
    if item.finalized_features_epoch != -1:
        out = bytearray()
        out += _INT64.pack(item.finalized_features_epoch)
        known.append(TaggedField(1, bytes(out)))
    if item.finalized_features:
        out = bytearray()
        write_uvarint(out, len(item.finalized_features) + 1)
        _write_finalized_feature_key(out, item.finalized_features, version)
        known.append(TaggedField(2, bytes(out)))
    if item.zk_migration_ready:
        out = bytearray()
        out += _BOOL.pack(item.zk_migration_ready)
        known.append(TaggedField(3, bytes(out)))
    write_tagged_fields(section, known, item.unknown_tagged_fields)

SCHEMA: Final = """\
request ApiVersionsRequest key=18 versions=0-4 flexible=3+ listeners=broker,controller
  clientSoftwareName     string  3+ ignorable
  clientSoftwareVersion  string  3+ ignorable

response ApiVersionsResponse key=18 versions=0-4 flexible=3+ listeners=broker,controller
  errorCode               int16
  apiKeys                 []ApiVersion
    apiKey                int16
    minVersion            int16
    maxVersion            int16
  throttleTimeMs          int32                  1+ ignorable
  supportedFeatures       []SupportedFeatureKey  3+ tag=0 ignorable
    name                  string
    minVersion            int16
    maxVersion            int16
  finalizedFeaturesEpoch  int64                  3+ tag=1 default=-1 ignorable
  finalizedFeatures       []FinalizedFeatureKey  3+ tag=2 ignorable
    name                  string
    maxVersionLevel       int16
    minVersionLevel       int16
  zkMigrationReady        bool                   3+ tag=3 ignorable
"""
