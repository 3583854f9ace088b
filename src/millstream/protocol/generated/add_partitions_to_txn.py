"""AddPartitionsToTxn, API key 24, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/add_partitions_to_txn.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, version_refused
from millstream.protocol.message_values import MessageValue, UNSET
from millstream.protocol.reading import (
    COMPACT_INT32S,
    LENIENT,
    READ_FAILURES,
    count_refused,
    null_refused,
    past_end,
    read_compact_int32s,
    read_compact_string,
    read_integers,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    not_in_version,
    tags_refused,
    write_compact_int32s,
    write_int32s,
    write_string_length,
    write_uvarint,
)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT32_INT16_ZERO: Final = Struct(">ihx")
_INT64_INT16: Final = Struct(">qh")
_INT64_INT16_BOOL: Final = Struct(">qh?")
_INT64_INT16_BOOL_BYTE: Final = Struct(">qh?B")
_INT64_INT16_BYTE: Final = Struct(">qhB")
_INT64_INT16_INT32: Final = Struct(">qhi")
_new: Final = object.__new__


class AddPartitionsToTxnTopic(MessageValue):
    """In `AddPartitionsToTxnRequest.v3_and_below_topics` and elsewhere, versions 0-5."""

    __slots__ = ("name", "partitions", "unknown_tagged_fields")

    name: str
    partitions: list[int]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AddPartitionsToTxnTransaction(MessageValue):
    """In `AddPartitionsToTxnRequest.transactions`, versions 4-5."""

    __slots__ = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "verify_only",
        "topics",
        "unknown_tagged_fields",
    )

    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    topics: list[AddPartitionsToTxnTopic]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics = [] if topics is UNSET else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class AddPartitionsToTxnRequest(MessageValue):
    """Request of API 24, versions 0-5."""

    __slots__ = (
        "transactions",
        "v3_and_below_transactional_id",
        "v3_and_below_producer_id",
        "v3_and_below_producer_epoch",
        "v3_and_below_topics",
        "unknown_tagged_fields",
    )

    transactions: list[AddPartitionsToTxnTransaction]  # 4+
    v3_and_below_transactional_id: str  # 0-3
    v3_and_below_producer_id: int  # 0-3
    v3_and_below_producer_epoch: int  # 0-3
    v3_and_below_topics: list[AddPartitionsToTxnTopic]  # 0-3
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        transactions: list[AddPartitionsToTxnTransaction] = UNSET,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactions = [] if transactions is UNSET else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = [] if v3_and_below_topics is UNSET else v3_and_below_topics
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 24
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            if version >= 4:
                n = len(self.transactions) + 1
            if version >= 4:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            elif self.transactions:
                raise not_in_version("transactions", version)
            if version >= 4:
                _write_add_partitions_to_txn_transaction(out, self.transactions, version)
            if version <= 3:
                raw = self.v3_and_below_transactional_id.encode()
                n = len(raw) + 1
            if version >= 4:
                if self.v3_and_below_transactional_id:
                    raise not_in_version("v3_and_below_transactional_id", version)
            elif version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_string_length(out, n)
            else:
                out += _INT16.pack(n - 1)
            if version <= 3:
                out += raw
            if version <= 3:
                n = len(self.v3_and_below_topics) + 1
            if version >= 4:
                if self.v3_and_below_producer_id:
                    raise not_in_version("v3_and_below_producer_id", version)
                if self.v3_and_below_producer_epoch:
                    raise not_in_version("v3_and_below_producer_epoch", version)
                if self.v3_and_below_topics:
                    raise not_in_version("v3_and_below_topics", version)
            elif version >= 3:
                if n < 128:
                    out += _INT64_INT16_BYTE.pack(
                        self.v3_and_below_producer_id, self.v3_and_below_producer_epoch, n
                    )
                else:
                    out += _INT64_INT16.pack(
                        self.v3_and_below_producer_id, self.v3_and_below_producer_epoch
                    )
                    write_uvarint(out, n)
            else:
                out += _INT64_INT16_INT32.pack(
                    self.v3_and_below_producer_id, self.v3_and_below_producer_epoch, n - 1
                )
            if version <= 3:
                _write_add_partitions_to_txn_topic(out, self.v3_and_below_topics, version)
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
        if not 0 <= version <= 5:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                message.transactions = []
            if version >= 4:
                if not 0 <= n * 14 <= limit - at:
                    raise count_refused(n, limit - at)
                message.transactions, at = _read_add_partitions_to_txn_transaction(data, at, version, n)
            if version >= 4:
                message.v3_and_below_transactional_id = ""
            elif version >= 3:
                n = data[at]
                if 0 < n < 128:
                    message.v3_and_below_transactional_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.v3_and_below_transactional_id, at = read_compact_string(data, at)
            else:
                (n,) = _INT16.unpack_from(data, at)
                at += 2
                if n < 0:
                    raise null_refused()
                message.v3_and_below_transactional_id = data[at : at + n].decode("utf-8", LENIENT)
                at += n
            if version >= 4:
                message.v3_and_below_producer_id = 0
                message.v3_and_below_producer_epoch = 0
                message.v3_and_below_topics = []
            elif version >= 3:
                (
                    message.v3_and_below_producer_id,
                    message.v3_and_below_producer_epoch,
                    n,
                ) = _INT64_INT16_BYTE.unpack_from(data, at)
                at += 10
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (
                    message.v3_and_below_producer_id,
                    message.v3_and_below_producer_epoch,
                    n,
                ) = _INT64_INT16_INT32.unpack_from(data, at)
                at += 14
            if version <= 3:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.v3_and_below_topics, at = _read_add_partitions_to_txn_topic(data, at, version, n)
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


class AddPartitionsToTxnPartitionResult(MessageValue):
    """In `AddPartitionsToTxnTopicResult.results_by_partition`, versions 0-5."""

    __slots__ = ("partition_index", "partition_error_code", "unknown_tagged_fields")

    partition_index: int
    partition_error_code: int
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class AddPartitionsToTxnTopicResult(MessageValue):
    """In `AddPartitionsToTxnResponse.results_by_topic_v3_and_below` and elsewhere, versions 0-5."""

    __slots__ = ("name", "results_by_partition", "unknown_tagged_fields")

    name: str
    results_by_partition: list[AddPartitionsToTxnPartitionResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name = name
        self.results_by_partition = [] if results_by_partition is UNSET else results_by_partition
        self.unknown_tagged_fields = unknown_tagged_fields


class AddPartitionsToTxnResult(MessageValue):
    """In `AddPartitionsToTxnResponse.results_by_transaction`, versions 4-5."""

    __slots__ = ("transactional_id", "topic_results", "unknown_tagged_fields")

    transactional_id: str
    topic_results: list[AddPartitionsToTxnTopicResult]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnTopicResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results = [] if topic_results is UNSET else topic_results
        self.unknown_tagged_fields = unknown_tagged_fields


class AddPartitionsToTxnResponse(MessageValue):
    """Response of API 24, versions 0-5."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "results_by_transaction",
        "results_by_topic_v3_and_below",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int  # 4+
    results_by_transaction: list[AddPartitionsToTxnResult]  # 4+
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult]  # 0-3
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] = UNSET,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = [] if results_by_transaction is UNSET else results_by_transaction
        self.results_by_topic_v3_and_below = [] if results_by_topic_v3_and_below is UNSET else results_by_topic_v3_and_below
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 24
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise version_refused(type(self), version)
        try:
            if version >= 4:
                n = len(self.results_by_transaction) + 1
            if version >= 4:
                if n < 128:
                    out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
                else:
                    out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(self.throttle_time_ms)
                if self.results_by_transaction:
                    raise not_in_version("results_by_transaction", version)
            if version >= 4:
                _write_add_partitions_to_txn_result(out, self.results_by_transaction, version)
            if version <= 3:
                n = len(self.results_by_topic_v3_and_below) + 1
            if version >= 4:
                if self.results_by_topic_v3_and_below:
                    raise not_in_version("results_by_topic_v3_and_below", version)
            elif version >= 3:
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
            else:
                out += _INT32.pack(n - 1)
            if version <= 3:
                _write_add_partitions_to_txn_topic_result(out, self.results_by_topic_v3_and_below, version)
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
        if not 0 <= version <= 5:
            raise version_refused(cls, version)
        start = at
        data = bytes(view)
        limit = len(data)
        message = _new(cls)
        try:
            if version >= 4:
                (
                    message.throttle_time_ms,
                    message.error_code,
                    n,
                ) = _INT32_INT16_BYTE.unpack_from(data, at)
                at += 6
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (message.throttle_time_ms,) = _INT32.unpack_from(data, at)
                at += 4
                message.error_code = 0
                message.results_by_transaction = []
            if version >= 4:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.results_by_transaction, at = _read_add_partitions_to_txn_result(data, at, version, n)
            if version >= 4:
                message.results_by_topic_v3_and_below = []
            elif version >= 3:
                n = data[at]
                if n < 128:
                    n -= 1
                    at += 1
                else:
                    n, at = read_length(data, at)
            else:
                (n,) = _INT32.unpack_from(data, at)
                at += 4
            if version <= 3:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                message.results_by_topic_v3_and_below, at = _read_add_partitions_to_txn_topic_result(data, at, version, n)
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


def _read_add_partitions_to_txn_topic(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AddPartitionsToTxnTopic], int]:
    items: list[AddPartitionsToTxnTopic] = []
    for _ in range(count):
        item = _new(AddPartitionsToTxnTopic)
        if version >= 3:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 3:
            n = data[at]
            if 0 < n < 17:
                item.partitions = list(COMPACT_INT32S[n](data, at))
                at += 4 * n - 3
            else:
                item.partitions, at = read_compact_int32s(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
            item.partitions, at = read_integers(data, at, n, "i", 4)
        if version >= 3:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_topic(
    out: bytearray, items: Iterable[AddPartitionsToTxnTopic], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        if version >= 3:
            write_compact_int32s(out, item.partitions)
        else:
            write_int32s(out, item.partitions)
        if version >= 3:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_add_partitions_to_txn_transaction(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AddPartitionsToTxnTransaction], int]:
    items: list[AddPartitionsToTxnTransaction] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AddPartitionsToTxnTransaction)
        n = data[at]
        if 0 < n < 128:
            item.transactional_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.transactional_id, at = read_compact_string(data, at)
        (
            item.producer_id,
            item.producer_epoch,
            item.verify_only,
            n,
        ) = _INT64_INT16_BOOL_BYTE.unpack_from(data, at)
        at += 11
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topics, at = _read_add_partitions_to_txn_topic(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_transaction(
    out: bytearray, items: Iterable[AddPartitionsToTxnTransaction], version: int
) -> None:
    for item in items:
        raw = item.transactional_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.topics) + 1
        if n < 128:
            out += _INT64_INT16_BOOL_BYTE.pack(
                item.producer_id, item.producer_epoch, item.verify_only, n
            )
        else:
            out += _INT64_INT16_BOOL.pack(item.producer_id, item.producer_epoch, item.verify_only)
            write_uvarint(out, n)
        _write_add_partitions_to_txn_topic(out, item.topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_add_partitions_to_txn_partition_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AddPartitionsToTxnPartitionResult], int]:
    items: list[AddPartitionsToTxnPartitionResult] = []
    for _ in range(count):
        item = _new(AddPartitionsToTxnPartitionResult)
        if version >= 3:
            (
                item.partition_index,
                item.partition_error_code,
                tags,
            ) = _INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
        else:
            item.partition_index, item.partition_error_code = _INT32_INT16.unpack_from(data, at)
            at += 6
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_partition_result(
    out: bytearray, items: Iterable[AddPartitionsToTxnPartitionResult], version: int
) -> None:
    for item in items:
        if version >= 3:
            if item.unknown_tagged_fields:
                out += _INT32_INT16.pack(item.partition_index, item.partition_error_code)
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out += _INT32_INT16_ZERO.pack(item.partition_index, item.partition_error_code)
        else:
            out += _INT32_INT16.pack(item.partition_index, item.partition_error_code)
            if item.unknown_tagged_fields:
                raise tags_refused(version)


def _read_add_partitions_to_txn_topic_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AddPartitionsToTxnTopicResult], int]:
    items: list[AddPartitionsToTxnTopicResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AddPartitionsToTxnTopicResult)
        if version >= 3:
            n = data[at]
            if 0 < n < 128:
                item.name = data[at + 1 : at + n].decode("utf-8", LENIENT)
                at += n
            else:
                item.name, at = read_compact_string(data, at)
        else:
            (n,) = _INT16.unpack_from(data, at)
            at += 2
            if n < 0:
                raise null_refused()
            item.name = data[at : at + n].decode("utf-8", LENIENT)
            at += n
        if version >= 3:
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
        else:
            (n,) = _INT32.unpack_from(data, at)
            at += 4
        if not 0 <= n * 6 <= limit - at:
            raise count_refused(n, limit - at)
        item.results_by_partition, at = _read_add_partitions_to_txn_partition_result(data, at, version, n)
        if version >= 3:
            tags = data[at]
            at += 1
        else:
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_topic_result(
    out: bytearray, items: Iterable[AddPartitionsToTxnTopicResult], version: int
) -> None:
    for item in items:
        raw = item.name.encode()
        n = len(raw) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_string_length(out, n)
        else:
            out += _INT16.pack(n - 1)
        out += raw
        n = len(item.results_by_partition) + 1
        if version >= 3:
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
        else:
            out += _INT32.pack(n - 1)
        _write_add_partitions_to_txn_partition_result(out, item.results_by_partition, version)
        if version >= 3:
            if item.unknown_tagged_fields:
                write_tagged_fields(out, (), item.unknown_tagged_fields)
            else:
                out.append(0)
        elif item.unknown_tagged_fields:
            raise tags_refused(version)


def _read_add_partitions_to_txn_result(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[AddPartitionsToTxnResult], int]:
    items: list[AddPartitionsToTxnResult] = []
    limit = len(data)
    for _ in range(count):
        item = _new(AddPartitionsToTxnResult)
        n = data[at]
        if 0 < n < 128:
            item.transactional_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.transactional_id, at = read_compact_string(data, at)
        n = data[at]
        if n < 128:
            n -= 1
            at += 1
        else:
            n, at = read_length(data, at)
        if not 0 <= n * 3 <= limit - at:
            raise count_refused(n, limit - at)
        item.topic_results, at = _read_add_partitions_to_txn_topic_result(data, at, version, n)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_result(
    out: bytearray, items: Iterable[AddPartitionsToTxnResult], version: int
) -> None:
    for item in items:
        raw = item.transactional_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        n = len(item.topic_results) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        _write_add_partitions_to_txn_topic_result(out, item.topic_results, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request AddPartitionsToTxnRequest key=24 versions=0-5 flexible=3+ listeners=broker
  transactions               []AddPartitionsToTxnTransaction  4+
    transactionalId          string
    producerId               int64
    producerEpoch            int16
    verifyOnly               bool
    topics                   []AddPartitionsToTxnTopic
      name                   string
      partitions             []int32
  v3AndBelowTransactionalId  string                           0-3
  v3AndBelowProducerId       int64                            0-3
  v3AndBelowProducerEpoch    int16                            0-3
  v3AndBelowTopics           []AddPartitionsToTxnTopic        0-3

response AddPartitionsToTxnResponse key=24 versions=0-5 flexible=3+ listeners=broker
  throttleTimeMs            int32
  errorCode                 int16                                4+ ignorable
  resultsByTransaction      []AddPartitionsToTxnResult           4+
    transactionalId         string
    topicResults            []AddPartitionsToTxnTopicResult
      name                  string
      resultsByPartition    []AddPartitionsToTxnPartitionResult
        partitionIndex      int32
        partitionErrorCode  int16
  resultsByTopicV3AndBelow  []AddPartitionsToTxnTopicResult      0-3
"""
