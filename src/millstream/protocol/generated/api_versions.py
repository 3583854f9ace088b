"""ApiVersions, API key 18, versions 0-4: request and response.

Written by `make codegen` from codegen/schemas/api_versions.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length, read_uvarint
from millstream.protocol.tagged_fields import TaggedField, read_tag_count, read_unknown_field, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, tags_refused, write_compact_string, write_length, write_string

_S_2INT16: Final = Struct(">hh")
_S_2INT16_BYTE: Final = Struct(">hhB")
_S_3INT16: Final = Struct(">hhh")
_S_3INT16_BYTE: Final = Struct(">hhhB")
_S_BOOL: Final = Struct(">?")
_S_INT16: Final = Struct(">h")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT16_INT32: Final = Struct(">hi")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT64: Final = Struct(">q")
_new: Final = object.__new__


@dataclass(slots=True)
class ApiVersionsRequest:
    client_software_name: str = ""  # 3+
    client_software_version: str = ""  # 3+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 18
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 3:
                write_compact_string(out, item.client_software_name)
            if version >= 3:
                write_compact_string(out, item.client_software_version)
            if item.unknown_tagged_fields:
                if version < 3:
                    raise tags_refused(version)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            elif version >= 3:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
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
                    raise null_refused()
                at += n
                item.client_software_name = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.client_software_name = ""
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
                item.client_software_version = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.client_software_version = ""
            if version >= 3:
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
class ApiVersion:
    api_key: int = 0
    min_version: int = 0
    max_version: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class SupportedFeatureKey:
    name: str = ""
    min_version: int = 0
    max_version: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class FinalizedFeatureKey:
    name: str = ""
    max_version_level: int = 0
    min_version_level: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ApiVersionsResponse:
    error_code: int = 0
    api_keys: list[ApiVersion] = field(default_factory=list)
    throttle_time_ms: int = 0  # 1+
    supported_features: list[SupportedFeatureKey] = field(default_factory=list)  # 3+, tag 0
    finalized_features_epoch: int = -1  # 3+, tag 1
    finalized_features: list[FinalizedFeatureKey] = field(default_factory=list)  # 3+, tag 2
    zk_migration_ready: bool = False  # 3+, tag 3
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 18
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 4:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT16.pack(item.error_code)
            if version >= 3:
                write_length(out, len(item.api_keys))
            else:
                out += _S_INT32.pack(len(item.api_keys))
            _write_api_version(out, item.api_keys, version)
            if version >= 1:
                out += _S_INT32.pack(item.throttle_time_ms)
            else:
                pass
            if item.supported_features or item.finalized_features_epoch != -1 or item.finalized_features or item.zk_migration_ready or item.unknown_tagged_fields:
                _write_api_versions_response_tags(out, item, version)
            elif version >= 3:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 4:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 3:
                item.error_code, n = _S_INT16_BYTE.unpack_from(data, at)
                at += 3
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.error_code, n = _S_INT16_INT32.unpack_from(data, at)
                at += 6
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.api_keys, at = _read_api_version(data, at, version, n)
            if version >= 3:
                item.throttle_time_ms, tags = _S_INT32_BYTE.unpack_from(data, at)
                at += 5
            elif version >= 1:
                (item.throttle_time_ms,) = _S_INT32.unpack_from(data, at)
                at += 4
                tags = 0
            else:
                tags = 0
                item.throttle_time_ms = 0
            item.supported_features = []
            item.finalized_features_epoch = -1
            item.finalized_features = []
            item.zk_migration_ready = False
            item.unknown_tagged_fields = ()
            if tags:
                at = _read_api_versions_response_tags(item, data, at - 1, version)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_api_version(data: bytes, at: int, version: int, count: int) -> tuple[list[ApiVersion], int]:
    items: list[ApiVersion] = []
    for _ in range(count):
        item = _new(ApiVersion)
        if version >= 3:
            item.api_key, item.min_version, item.max_version, tags = _S_3INT16_BYTE.unpack_from(data, at)
            at += 7
        else:
            item.api_key, item.min_version, item.max_version = _S_3INT16.unpack_from(data, at)
            at += 6
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_api_version(out: bytearray, items: Iterable[ApiVersion], version: int) -> None:
    for item in items:
        out += _S_3INT16.pack(item.api_key, item.min_version, item.max_version)
        if item.unknown_tagged_fields:
            if version < 3:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 3:
            out.append(0)


def _read_supported_feature_key(data: bytes, at: int, version: int, count: int) -> tuple[list[SupportedFeatureKey], int]:
    items: list[SupportedFeatureKey] = []
    for _ in range(count):
        item = _new(SupportedFeatureKey)
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
        item.min_version, item.max_version, tags = _S_2INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_supported_feature_key(out: bytearray, items: Iterable[SupportedFeatureKey], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _S_2INT16.pack(item.min_version, item.max_version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_finalized_feature_key(data: bytes, at: int, version: int, count: int) -> tuple[list[FinalizedFeatureKey], int]:
    items: list[FinalizedFeatureKey] = []
    for _ in range(count):
        item = _new(FinalizedFeatureKey)
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
        item.max_version_level, item.min_version_level, tags = _S_2INT16_BYTE.unpack_from(data, at)
        at += 5
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_finalized_feature_key(out: bytearray, items: Iterable[FinalizedFeatureKey], version: int) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _S_2INT16.pack(item.max_version_level, item.min_version_level)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_api_versions_response_tags(item: ApiVersionsResponse, data: bytes, at: int, version: int) -> int:
    unknown = []
    tags, at = read_tag_count(data, at)
    for _ in range(tags):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == 0:
            n, at = read_length(data, at)
            limit = len(data)
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.supported_features, at = _read_supported_feature_key(data, at, version, n)
        elif tag == 1:
            (item.finalized_features_epoch,) = _S_INT64.unpack_from(data, at)
            at += 8
        elif tag == 2:
            n, at = read_length(data, at)
            limit = len(data)
            if not 0 <= n * 6 <= limit - at:
                raise count_refused(n, limit - at)
            item.finalized_features, at = _read_finalized_feature_key(data, at, version, n)
        elif tag == 3:
            (item.zk_migration_ready,) = _S_BOOL.unpack_from(data, at)
            at += 1
        else:
            field_, at = read_unknown_field(data, at, tag, size)
            unknown.append(field_)
    item.unknown_tagged_fields = tuple(unknown)
    return at


def _write_api_versions_response_tags(target: bytearray, item: ApiVersionsResponse, version: int) -> None:
    known: list[TaggedField] = []
    if item.supported_features:
        if version >= 3:
            out = bytearray()
            write_length(out, len(item.supported_features))
            _write_supported_feature_key(out, item.supported_features, version)
            known.append(TaggedField(0, bytes(out)))
    if item.finalized_features_epoch != -1:
        if version >= 3:
            out = bytearray()
            out += _S_INT64.pack(item.finalized_features_epoch)
            known.append(TaggedField(1, bytes(out)))
    if item.finalized_features:
        if version >= 3:
            out = bytearray()
            write_length(out, len(item.finalized_features))
            _write_finalized_feature_key(out, item.finalized_features, version)
            known.append(TaggedField(2, bytes(out)))
    if item.zk_migration_ready:
        if version >= 3:
            out = bytearray()
            out += _S_BOOL.pack(item.zk_migration_ready)
            known.append(TaggedField(3, bytes(out)))
    if version < 3:
        if item.unknown_tagged_fields:
            raise tags_refused(version)
        return
    write_tagged_fields(target, known, item.unknown_tagged_fields)

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
