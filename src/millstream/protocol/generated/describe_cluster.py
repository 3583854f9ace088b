"""DescribeCluster, API key 60, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/describe_cluster.txt.
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
_BOOL_INT8: Final = Struct(">?b")
_BOOL_INT8_BOOL: Final = Struct(">?b?")
_BOOL_INT8_BOOL_BYTE: Final = Struct(">?b?B")
_BOOL_INT8_BOOL_ZERO: Final = Struct(">?b?x")
_BOOL_INT8_BYTE: Final = Struct(">?bB")
_BOOL_INT8_ZERO: Final = Struct(">?bx")
_BOOL_ZERO: Final = Struct(">?x")
_INT32: Final = Struct(">i")
_INT32_BYTE: Final = Struct(">iB")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_ZERO: Final = Struct(">ix")
_INT8: Final = Struct(">b")
_INT8_BYTE: Final = Struct(">bB")
_new: Final = object.__new__


class DescribeClusterRequest(MessageValue):
    """Request of API 60, versions 0-2."""

    __slots__ = (
        "include_cluster_authorized_operations",
        "endpoint_type",
        "include_fenced_brokers",
        "unknown_tagged_fields",
    )

    include_cluster_authorized_operations: bool
    endpoint_type: int  # 1+
    include_fenced_brokers: bool  # 2
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 60
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            if version >= 2:
                if self.unknown_tagged_fields:
                    out += _BOOL_INT8_BOOL.pack(
                        self.include_cluster_authorized_operations,
                        self.endpoint_type,
                        self.include_fenced_brokers,
                    )
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _BOOL_INT8_BOOL_ZERO.pack(
                        self.include_cluster_authorized_operations,
                        self.endpoint_type,
                        self.include_fenced_brokers,
                    )
            elif version >= 1:
                if self.unknown_tagged_fields:
                    out += _BOOL_INT8.pack(
                        self.include_cluster_authorized_operations, self.endpoint_type
                    )
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _BOOL_INT8_ZERO.pack(
                        self.include_cluster_authorized_operations, self.endpoint_type
                    )
                if self.include_fenced_brokers:
                    raise not_in_version("include_fenced_brokers", version)
            else:
                if self.unknown_tagged_fields:
                    out += _BOOL.pack(self.include_cluster_authorized_operations)
                    write_tagged_fields(out, (), self.unknown_tagged_fields)
                else:
                    out += _BOOL_ZERO.pack(self.include_cluster_authorized_operations)
                if self.endpoint_type != 1:
                    raise not_in_version("endpoint_type", version)
                if self.include_fenced_brokers:
                    raise not_in_version("include_fenced_brokers", version)
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
            if version >= 2:
                (
                    message.include_cluster_authorized_operations,
                    message.endpoint_type,
                    message.include_fenced_brokers,
                    tags,
                ) = _BOOL_INT8_BOOL_BYTE.unpack_from(data, at)
                at += 4
            elif version >= 1:
                (
                    message.include_cluster_authorized_operations,
                    message.endpoint_type,
                    tags,
                ) = _BOOL_INT8_BYTE.unpack_from(data, at)
                at += 3
                message.include_fenced_brokers = False
            else:
                (
                    message.include_cluster_authorized_operations,
                    tags,
                ) = _BOOL_BYTE.unpack_from(data, at)
                at += 2
                message.endpoint_type = 1
                message.include_fenced_brokers = False
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


class DescribeClusterBroker(MessageValue):
    """In `DescribeClusterResponse.brokers`, versions 0-2."""

    __slots__ = ("broker_id", "host", "port", "rack", "is_fenced", "unknown_tagged_fields")

    broker_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool  # 2
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeClusterResponse(MessageValue):
    """Response of API 60, versions 0-2."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "endpoint_type",
        "cluster_id",
        "controller_id",
        "brokers",
        "cluster_authorized_operations",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    endpoint_type: int  # 1+
    cluster_id: str
    controller_id: int
    brokers: list[DescribeClusterBroker]
    cluster_authorized_operations: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] = UNSET,
        cluster_authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = [] if brokers is UNSET else brokers
        self.cluster_authorized_operations = cluster_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 60
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
            raw = self.cluster_id.encode()
            n = len(raw) + 1
            if version >= 1:
                if n < 128:
                    out += _INT8_BYTE.pack(self.endpoint_type, n)
                else:
                    out += _INT8.pack(self.endpoint_type)
                    write_string_length(out, n)
            else:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
                if self.endpoint_type != 1:
                    raise not_in_version("endpoint_type", version)
            out += raw
            n = len(self.brokers) + 1
            if n < 128:
                out += _INT32_BYTE.pack(self.controller_id, n)
            else:
                out += _INT32.pack(self.controller_id)
                write_uvarint(out, n)
            _write_describe_cluster_broker(out, self.brokers, version)
            if self.unknown_tagged_fields:
                out += _INT32.pack(self.cluster_authorized_operations)
                write_tagged_fields(out, (), self.unknown_tagged_fields)
            else:
                out += _INT32_ZERO.pack(self.cluster_authorized_operations)
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
            if version >= 1:
                message.endpoint_type, n = _INT8_BYTE.unpack_from(data, at)
                at += 1
                if 0 < n < 128:
                    message.cluster_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.cluster_id, at = read_compact_string(data, at)
            else:
                n = data[at]
                message.endpoint_type = 1
                if 0 < n < 128:
                    message.cluster_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.cluster_id, at = read_compact_string(data, at)
            message.controller_id, n = _INT32_BYTE.unpack_from(data, at)
            at += 4
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 11 <= limit - at:
                raise count_refused(n, limit - at)
            message.brokers, at = _read_describe_cluster_broker(data, at, version, n)
            message.cluster_authorized_operations, tags = _INT32_BYTE.unpack_from(data, at)
            at += 5
            message.unknown_tagged_fields = ()
            if tags:
                message.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, view, start, version, error) from error
        return message, at


def _read_describe_cluster_broker(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[DescribeClusterBroker], int]:
    items: list[DescribeClusterBroker] = []
    for _ in range(count):
        item = _new(DescribeClusterBroker)
        item.broker_id, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.host = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.host, at = read_compact_string(data, at)
        item.port, n = _INT32_BYTE.unpack_from(data, at)
        at += 4
        if 0 < n < 128:
            item.rack = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.rack, at = read_compact_string_or_null(data, at)
        if version >= 2:
            item.is_fenced, tags = _BOOL_BYTE.unpack_from(data, at)
            at += 2
        else:
            tags = data[at]
            at += 1
            item.is_fenced = False
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_describe_cluster_broker(
    out: bytearray, items: Iterable[DescribeClusterBroker], version: int
) -> None:
    for item in items:
        raw = item.host.encode()
        n = len(raw) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.broker_id, n)
        else:
            out += _INT32.pack(item.broker_id)
            write_string_length(out, n)
        out += raw
        if item.rack is None:
            raw = b""
            n = 0
        else:
            raw = item.rack.encode()
            n = len(raw) + 1
        if n < 128:
            out += _INT32_BYTE.pack(item.port, n)
        else:
            out += _INT32.pack(item.port)
            write_string_length(out, n)
        out += raw
        if version >= 2:
            if item.unknown_tagged_fields:
                out += _BOOL.pack(item.is_fenced)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _BOOL_ZERO.pack(item.is_fenced)
        else:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
            if item.is_fenced:
                raise not_in_version("is_fenced", version)

SCHEMA: Final = """\
request DescribeClusterRequest key=60 versions=0-2 flexible=0+ listeners=broker,controller
  includeClusterAuthorizedOperations  bool
  endpointType                        int8  1+ default=1
  includeFencedBrokers                bool  2

response DescribeClusterResponse key=60 versions=0-2 flexible=0+ listeners=broker,controller
  throttleTimeMs               int32
  errorCode                    int16
  errorMessage                 string                   nullable default=null
  endpointType                 int8                     1+ default=1
  clusterId                    string
  controllerId                 int32                    default=-1
  brokers                      []DescribeClusterBroker
    brokerId                   int32
    host                       string
    port                       int32
    rack                       string                   nullable default=null
    isFenced                   bool                     2
  clusterAuthorizedOperations  int32                    default=-2147483648
"""
