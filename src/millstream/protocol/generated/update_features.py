"""UpdateFeatures, API key 57, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/update_features.txt.
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
    not_in_version,
    write_string_length,
    write_uvarint,
)

_BOOL: Final = Struct(">?")
_BOOL_BYTE: Final = Struct(">?B")
_BOOL_ZERO: Final = Struct(">?x")
_INT16: Final = Struct(">h")
_INT16_BOOL: Final = Struct(">h?")
_INT16_BOOL_BYTE: Final = Struct(">h?B")
_INT16_BOOL_ZERO: Final = Struct(">h?x")
_INT16_BYTE: Final = Struct(">hB")
_INT16_INT8: Final = Struct(">hb")
_INT16_INT8_BYTE: Final = Struct(">hbB")
_INT16_INT8_ZERO: Final = Struct(">hbx")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_new: Final = object.__new__


class FeatureUpdateKey(MessageValue):
    """In `UpdateFeaturesRequest.feature_updates`, versions 0-2."""

    __slots__ = (
        "feature", "max_version_level", "allow_downgrade", "upgrade_type", "unknown_tagged_fields"
    )

    feature: str
    max_version_level: int
    allow_downgrade: bool  # 0
    upgrade_type: int  # 1+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type
        self.unknown_tagged_fields = unknown_tagged_fields


class UpdateFeaturesRequest(MessageValue):
    """Request of API 57, versions 0-2."""

    __slots__ = ("timeout_ms", "feature_updates", "validate_only", "unknown_tagged_fields")

    timeout_ms: int
    feature_updates: list[FeatureUpdateKey]
    validate_only: bool  # 1+
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        timeout_ms: int = 60000,
        feature_updates: list[FeatureUpdateKey] = UNSET,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = [] if feature_updates is UNSET else feature_updates
        self.validate_only = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 57
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.feature_updates) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.timeout_ms, n)
            else:
                out += _INT32.pack(self.timeout_ms)
                write_uvarint(out, n)
            _write_feature_update_key(out, self.feature_updates, version)
            if version >= 1:
                if self.unknown_tagged_fields:
                    out += _BOOL.pack(self.validate_only)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _BOOL_ZERO.pack(self.validate_only)
            else:
                if self.unknown_tagged_fields:
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out.append(0)
                if self.validate_only:
                    raise not_in_version("validate_only", version)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.timeout_ms, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 5 <= limit - at:
                raise count_refused(n, limit - at)
            message.feature_updates, at = _read_feature_update_key(data, at, version, n)
            if version >= 1:
                message.validate_only, tags = _BOOL_BYTE.unpack_from(data, at)
                at += 2
            else:
                tags = data[at]
                at += 1
                message.validate_only = False
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class UpdatableFeatureResult(MessageValue):
    """In `UpdateFeaturesResponse.results`, versions 0-1."""

    __slots__ = ("feature", "error_code", "error_message", "unknown_tagged_fields")

    feature: str
    error_code: int
    error_message: str | None
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class UpdateFeaturesResponse(MessageValue):
    """Response of API 57, versions 0-2."""

    __slots__ = (
        "throttle_time_ms", "error_code", "error_message", "results", "unknown_tagged_fields"
    )

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[UpdatableFeatureResult]  # 0-1
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdatableFeatureResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is UNSET else results
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 57
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
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
            if version <= 1:
                n = len(self.results) + 1
            if version >= 2:
                pass
            else:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            if version <= 1:
                _write_updatable_feature_result(out, self.results, version)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if not 0 <= version <= 2:
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
            if version >= 2:
                message.results = []
            else:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            if version <= 1:
                if not 0 <= n * 5 <= limit - at:
                    raise count_refused(n, limit - at)
                message.results, at = _read_updatable_feature_result(data, at, version, n)
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


def _read_feature_update_key(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[FeatureUpdateKey], int]:
    items: list[FeatureUpdateKey] = []
    for _ in range(count):
        item = _new(FeatureUpdateKey)
        n = data[at]
        if 0 < n < 128:
            item.feature = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.feature, at = read_compact_string(data, at)
        if version >= 1:
            item.max_version_level, item.upgrade_type, tags = _INT16_INT8_BYTE.unpack_from(data, at)
            at += 4
            item.allow_downgrade = False
        else:
            (
                item.max_version_level,
                item.allow_downgrade,
                tags,
            ) = _INT16_BOOL_BYTE.unpack_from(data, at)
            at += 4
            item.upgrade_type = 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_feature_update_key(
    out: bytearray, items: Iterable[FeatureUpdateKey], version: int
) -> None:
    for item in items:
        raw = item.feature.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        if version >= 1:
            if item.unknown_tagged_fields:
                out += _INT16_INT8.pack(item.max_version_level, item.upgrade_type)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT16_INT8_ZERO.pack(item.max_version_level, item.upgrade_type)
            if item.allow_downgrade:
                raise not_in_version("allow_downgrade", version)
        else:
            if item.unknown_tagged_fields:
                out += _INT16_BOOL.pack(item.max_version_level, item.allow_downgrade)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT16_BOOL_ZERO.pack(item.max_version_level, item.allow_downgrade)
            if item.upgrade_type != 1:
                raise not_in_version("upgrade_type", version)


def _read_updatable_feature_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[UpdatableFeatureResult], int]:
    items: list[UpdatableFeatureResult] = []
    for _ in range(count):
        item = _new(UpdatableFeatureResult)
        n = data[at]
        if 0 < n < 128:
            item.feature = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.feature, at = read_compact_string(data, at)
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


def _write_updatable_feature_result(
    out: bytearray, items: Iterable[UpdatableFeatureResult], version: int
) -> None:
    for item in items:
        raw = item.feature.encode()
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
