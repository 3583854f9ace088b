"""UpdateFeatures, API key 57, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/update_features.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_compact_string, write_length, write_string

_S_BOOL: Final = Struct(">?")
_S_BOOL_BYTE: Final = Struct(">?B")
_S_INT16: Final = Struct(">h")
_S_INT16_BOOL: Final = Struct(">h?")
_S_INT16_BOOL_BYTE: Final = Struct(">h?B")
_S_INT16_BYTE: Final = Struct(">hB")
_S_INT16_INT8: Final = Struct(">hb")
_S_INT16_INT8_BYTE: Final = Struct(">hbB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


@dataclass(slots=True)
class FeatureUpdateKey:
    feature: str = ""
    max_version_level: int = 0
    allow_downgrade: bool = False  # 0
    upgrade_type: int = 1  # 1+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class UpdateFeaturesRequest:
    timeout_ms: int = 60000
    feature_updates: list[FeatureUpdateKey] = field(default_factory=list)
    validate_only: bool = False  # 1+
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 57
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32.pack(item.timeout_ms)
            write_length(out, len(item.feature_updates))
            _write_feature_update_key(out, item.feature_updates, version)
            if version >= 1:
                out += _S_BOOL.pack(item.validate_only)
            else:
                if item.validate_only:
                    raise not_in_version("validate_only", version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.timeout_ms, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            item.feature_updates, at = _read_feature_update_key(data, at, version, n)
            if version >= 1:
                item.validate_only, tags = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
            else:
                tags = data[at]
                at += 1
                item.validate_only = False
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class UpdatableFeatureResult:
    feature: str = ""
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class UpdateFeaturesResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[UpdatableFeatureResult] = field(default_factory=list)  # 0-1
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 57
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            if item.error_message is None:
                out.append(0)
            else:
                write_compact_string(out, item.error_message)
            if version <= 1:
                write_length(out, len(item.results))
                _write_updatable_feature_result(out, item.results, version)
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
            if n < 0:
                item.error_message = None
            else:
                at += n
                item.error_message = data[at - n : at].decode("utf-8", LENIENT)
            if version >= 2:
                pass
            else:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            if version <= 1:
                if not 0 <= n * 5 <= limit - at:
                    raise count_refused(n, limit - at)
                item.results, at = _read_updatable_feature_result(data, at, version, n)
            else:
                item.results = []
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


def _read_feature_update_key(data: bytes, at: int, version: int, count: int) -> tuple[list[FeatureUpdateKey], int]:
    items: list[FeatureUpdateKey] = []
    for _ in range(count):
        item = _new(FeatureUpdateKey)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.feature = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 1:
            item.max_version_level, item.upgrade_type, tags = _S_INT16_INT8_BYTE.unpack_from(data, at)
            at += 4
            item.allow_downgrade = False
        else:
            item.max_version_level, item.allow_downgrade, tags = _S_INT16_BOOL_BYTE.unpack_from(data, at)
            at += 4
            item.upgrade_type = 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_feature_update_key(out: bytearray, items: Iterable[FeatureUpdateKey], version: int) -> None:
    for item in items:
        write_compact_string(out, item.feature)
        if version >= 1:
            out += _S_INT16_INT8.pack(item.max_version_level, item.upgrade_type)
            if item.allow_downgrade:
                raise not_in_version("allow_downgrade", version)
        else:
            out += _S_INT16_BOOL.pack(item.max_version_level, item.allow_downgrade)
            if item.upgrade_type != 1:
                raise not_in_version("upgrade_type", version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_updatable_feature_result(data: bytes, at: int, version: int, count: int) -> tuple[list[UpdatableFeatureResult], int]:
    items: list[UpdatableFeatureResult] = []
    for _ in range(count):
        item = _new(UpdatableFeatureResult)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.feature = data[at - n : at].decode("utf-8", LENIENT)
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


def _write_updatable_feature_result(out: bytearray, items: Iterable[UpdatableFeatureResult], version: int) -> None:
    for item in items:
        write_compact_string(out, item.feature)
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
request UpdateFeaturesRequest key=57 versions=0-2 flexible=0+ listeners=broker,controller
  timeoutMs          int32               default=60000
  featureUpdates     []FeatureUpdateKey
    feature          string
    maxVersionLevel  int16
    allowDowngrade   bool                0
    upgradeType      int8                1+ default=1
  validateOnly       bool                1+

response UpdateFeaturesResponse key=57 versions=0-2 flexible=0+ listeners=broker,controller
  throttleTimeMs  int32
  errorCode       int16
  errorMessage    string                    nullable
  results         []UpdatableFeatureResult  0-1 ignorable
    feature       string
    errorCode     int16
    errorMessage  string                    nullable
"""
