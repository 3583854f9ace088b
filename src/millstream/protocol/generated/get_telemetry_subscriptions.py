"""GetTelemetrySubscriptions, API key 71, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/get_telemetry_subscriptions.txt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import READ_FAILURES, past_end, read_compact_strings, read_integers, read_length, read_strings
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, write_compact_string, write_integers, write_length, write_string

_S_2INT32_BOOL: Final = Struct(">ii?")
_S_2INT32_BOOL_BYTE: Final = Struct(">ii?B")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16_UUID_INT32: Final = Struct(">ih16si")
_S_INT32_INT16_UUID_INT32_BYTE: Final = Struct(">ih16siB")
_S_UUID: Final = Struct(">16s")
_S_UUID_BYTE: Final = Struct(">16sB")
_new: Final = object.__new__


@dataclass(slots=True)
class GetTelemetrySubscriptionsRequest:
    client_instance_id: Uuid = ZERO_UUID
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 71
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_UUID.pack(item.client_instance_id)
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
            item.client_instance_id, tags = _S_UUID_BYTE.unpack_from(data, at)
            at += 17
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class GetTelemetrySubscriptionsResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    client_instance_id: Uuid = ZERO_UUID
    subscription_id: int = 0
    accepted_compression_types: list[int] = field(default_factory=list)
    push_interval_ms: int = 0
    telemetry_max_bytes: int = 0
    delta_temporality: bool = False
    requested_metrics: list[str] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 71
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16_UUID_INT32.pack(item.throttle_time_ms, item.error_code, item.client_instance_id, item.subscription_id)
            write_length(out, len(item.accepted_compression_types))
            write_integers(out, item.accepted_compression_types, "b")
            out += _S_2INT32_BOOL.pack(item.push_interval_ms, item.telemetry_max_bytes, item.delta_temporality)
            write_length(out, len(item.requested_metrics))
            for text in item.requested_metrics:
                write_compact_string(out, text)
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
            item.throttle_time_ms, item.error_code, item.client_instance_id, item.subscription_id, n = _S_INT32_INT16_UUID_INT32_BYTE.unpack_from(data, at)
            at += 27
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.accepted_compression_types, at = read_integers(data, at, n, "b", 1)
            item.push_interval_ms, item.telemetry_max_bytes, item.delta_temporality, n = _S_2INT32_BOOL_BYTE.unpack_from(data, at)
            at += 10
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.requested_metrics, at = read_compact_strings(data, at, n)
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


SCHEMA: Final = """\
request GetTelemetrySubscriptionsRequest key=71 versions=0 flexible=0+ listeners=broker
  clientInstanceId  uuid

response GetTelemetrySubscriptionsResponse key=71 versions=0 flexible=0+ listeners=broker
  throttleTimeMs            int32
  errorCode                 int16
  clientInstanceId          uuid
  subscriptionId            int32
  acceptedCompressionTypes  []int8
  pushIntervalMs            int32
  telemetryMaxBytes         int32
  deltaTemporality          bool
  requestedMetrics          []string
"""
