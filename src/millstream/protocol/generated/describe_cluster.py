"""DescribeCluster, API key 60, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/describe_cluster.txt.
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
_S_BOOL_INT8: Final = Struct(">?b")
_S_BOOL_INT8_BOOL: Final = Struct(">?b?")
_S_BOOL_INT8_BOOL_BYTE: Final = Struct(">?b?B")
_S_BOOL_INT8_BYTE: Final = Struct(">?bB")
_S_INT32: Final = Struct(">i")
_S_INT32_BYTE: Final = Struct(">iB")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT8: Final = Struct(">b")
_S_INT8_BYTE: Final = Struct(">bB")
_new: Final = object.__new__


@dataclass(slots=True)
class DescribeClusterRequest:
    include_cluster_authorized_operations: bool = False
    endpoint_type: int = 1  # 1+
    include_fenced_brokers: bool = False  # 2
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 60
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 2:
                out += _S_BOOL_INT8_BOOL.pack(item.include_cluster_authorized_operations, item.endpoint_type, item.include_fenced_brokers)
            elif version >= 1:
                out += _S_BOOL_INT8.pack(item.include_cluster_authorized_operations, item.endpoint_type)
                if item.include_fenced_brokers:
                    raise not_in_version("include_fenced_brokers", version)
            else:
                out += _S_BOOL.pack(item.include_cluster_authorized_operations)
                if item.endpoint_type != 1:
                    raise not_in_version("endpoint_type", version)
                if item.include_fenced_brokers:
                    raise not_in_version("include_fenced_brokers", version)
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
            if version >= 2:
                item.include_cluster_authorized_operations, item.endpoint_type, item.include_fenced_brokers, tags = _S_BOOL_INT8_BOOL_BYTE.unpack_from(data, at)
                at += 4
            elif version >= 1:
                item.include_cluster_authorized_operations, item.endpoint_type, tags = _S_BOOL_INT8_BYTE.unpack_from(data, at)
                at += 3
                item.include_fenced_brokers = False
            else:
                item.include_cluster_authorized_operations, tags = _S_BOOL_BYTE.unpack_from(data, at)
                at += 2
                item.endpoint_type = 1
                item.include_fenced_brokers = False
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


@dataclass(slots=True)
class DescribeClusterBroker:
    broker_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    is_fenced: bool = False  # 2
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class DescribeClusterResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    endpoint_type: int = 1  # 1+
    cluster_id: str = ""
    controller_id: int = -1
    brokers: list[DescribeClusterBroker] = field(default_factory=list)
    cluster_authorized_operations: int = -2147483648
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 60
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
            if version >= 1:
                out += _S_INT8.pack(item.endpoint_type)
            else:
                if item.endpoint_type != 1:
                    raise not_in_version("endpoint_type", version)
            write_compact_string(out, item.cluster_id)
            out += _S_INT32.pack(item.controller_id)
            write_length(out, len(item.brokers))
            _write_describe_cluster_broker(out, item.brokers, version)
            out += _S_INT32.pack(item.cluster_authorized_operations)
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
            if version >= 1:
                item.endpoint_type, n = _S_INT8_BYTE.unpack_from(data, at)
                at += 2
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
                item.endpoint_type = 1
            if n < 0:
                raise null_refused()
            at += n
            item.cluster_id = data[at - n : at].decode("utf-8", LENIENT)
            item.controller_id, n = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 11 <= limit - at:
                raise count_refused(n, limit - at)
            item.brokers, at = _read_describe_cluster_broker(data, at, version, n)
            item.cluster_authorized_operations, tags = _S_INT32_BYTE.unpack_from(data, at)
            at += 5
            item.unknown_tagged_fields = ()
            if tags:
                item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
            if at > limit:
                raise past_end(at, limit)
        except READ_FAILURES as error:
            raise explain_malformed(cls, SCHEMA, view, start, version, error) from error
        return item, at


def _read_describe_cluster_broker(data: bytes, at: int, version: int, count: int) -> tuple[list[DescribeClusterBroker], int]:
    items: list[DescribeClusterBroker] = []
    for _ in range(count):
        item = _new(DescribeClusterBroker)
        item.broker_id, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.host = data[at - n : at].decode("utf-8", LENIENT)
        item.port, n = _S_INT32_BYTE.unpack_from(data, at)
        at += 5
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            item.rack = None
        else:
            at += n
            item.rack = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 2:
            item.is_fenced, tags = _S_BOOL_BYTE.unpack_from(data, at)
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


def _write_describe_cluster_broker(out: bytearray, items: Iterable[DescribeClusterBroker], version: int) -> None:
    for item in items:
        out += _S_INT32.pack(item.broker_id)
        write_compact_string(out, item.host)
        out += _S_INT32.pack(item.port)
        if item.rack is None:
            out.append(0)
        else:
            write_compact_string(out, item.rack)
        if version >= 2:
            out += _S_BOOL.pack(item.is_fenced)
        else:
            if item.is_fenced:
                raise not_in_version("is_fenced", version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

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
