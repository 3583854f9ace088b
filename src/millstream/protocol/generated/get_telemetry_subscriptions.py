"""GetTelemetrySubscriptions, API key 71, versions 0-0: request and response.

Written by `make codegen` from codegen/schemas/get_telemetry_subscriptions.txt.
"""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    READ_FAILURES,
    past_end,
    read_compact_strings,
    read_integers,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    uuid_refused,
    write_compact_strings,
    write_integers,
    write_uvarint,
)

_INT32_INT16_UUID_INT32: Final = Struct(">ih16si")
_INT32_INT16_UUID_INT32_BYTE: Final = Struct(">ih16siB")
_S2INT32_BOOL: Final = Struct(">ii?")
_S2INT32_BOOL_BYTE: Final = Struct(">ii?B")
_UUID: Final = Struct(">16s")
_UUID_BYTE: Final = Struct(">16sB")
_UUID_ZERO: Final = Struct(">16sx")
_new: Final = object.__new__


class GetTelemetrySubscriptionsRequest(MessageValue):
    """Request of API 71, version 0."""

    __slots__ = ("client_instance_id", "unknown_tagged_fields")

    client_instance_id: Uuid
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        client_instance_id: Uuid = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.client_instance_id = client_instance_id
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 71
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            if len(self.client_instance_id) != 16:
                raise uuid_refused(self.client_instance_id)
            if self.unknown_tagged_fields:
                out += _UUID.pack(self.client_instance_id)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _UUID_ZERO.pack(self.client_instance_id)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            message.client_instance_id, tags = _UUID_BYTE.unpack_from(data, at)
            at += 17
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class GetTelemetrySubscriptionsResponse(MessageValue):
    """Response of API 71, version 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "client_instance_id",
        "subscription_id",
        "accepted_compression_types",
        "push_interval_ms",
        "telemetry_max_bytes",
        "delta_temporality",
        "requested_metrics",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int
    client_instance_id: Uuid
    subscription_id: int
    accepted_compression_types: list[int]
    push_interval_ms: int
    telemetry_max_bytes: int
    delta_temporality: bool
    requested_metrics: list[str]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: Uuid = ZERO_UUID,
        subscription_id: int = 0,
        accepted_compression_types: list[int] = UNSET,
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: list[str] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types = [] if accepted_compression_types is UNSET else accepted_compression_types
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics = [] if requested_metrics is UNSET else requested_metrics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 71
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if version != 0:
            raise version_refused(type(self), version)
        try:
            n = len(self.accepted_compression_types) + 1
            if len(self.client_instance_id) != 16:
                raise uuid_refused(self.client_instance_id)
            if n < 128:
                out += _INT32_INT16_UUID_INT32_BYTE.pack(
                    self.throttle_time_ms,
                    self.error_code,
                    self.client_instance_id,
                    self.subscription_id,
                    n,
                )
            else:
                out += _INT32_INT16_UUID_INT32.pack(
                    self.throttle_time_ms,
                    self.error_code,
                    self.client_instance_id,
                    self.subscription_id,
                )
                write_uvarint(out, n)
            write_integers(out, self.accepted_compression_types, "b")
            n = len(self.requested_metrics) + 1
            if n < 128:
                out += _S2INT32_BOOL_BYTE.pack(
                    self.push_interval_ms, self.telemetry_max_bytes, self.delta_temporality, n
                )
            else:
                out += _S2INT32_BOOL.pack(
                    self.push_interval_ms, self.telemetry_max_bytes, self.delta_temporality
                )
                write_uvarint(out, n)
            write_compact_strings(out, self.requested_metrics)
            if self.unknown_tagged_fields:
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out.append(0)
        except WRITE_FAILURES as error:
            raise explain_refused(self, version, error) from error

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        if version != 0:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            (
                message.throttle_time_ms,
                message.error_code,
                message.client_instance_id,
                message.subscription_id,
                n,
            ) = _INT32_INT16_UUID_INT32_BYTE.unpack_from(data, at)
            at += 26
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.accepted_compression_types, at = read_integers(data, at, n, "b", 1)
            (
                message.push_interval_ms,
                message.telemetry_max_bytes,
                message.delta_temporality,
                n,
            ) = _S2INT32_BOOL_BYTE.unpack_from(data, at)
            at += 9
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.requested_metrics, at = read_compact_strings(data, at, n)
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
