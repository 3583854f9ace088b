"""AddPartitionsToTxn, API key 24, versions 0-5: request and response.

Written by `make codegen` from codegen/schemas/add_partitions_to_txn.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_integers, read_length, read_string_length
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, tags_refused, write_compact_string, write_integers, write_length, write_string

_S_INT16: Final = Struct(">h")
_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT64_INT16: Final = Struct(">qh")
_S_INT64_INT16_BOOL: Final = Struct(">qh?")
_S_INT64_INT16_BOOL_BYTE: Final = Struct(">qh?B")
_S_INT64_INT16_BYTE: Final = Struct(">qhB")
_S_INT64_INT16_INT32: Final = Struct(">qhi")
_new: Final = object.__new__


@dataclass(slots=True)
class AddPartitionsToTxnTopic:
    name: str = ""
    partitions: list[int] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AddPartitionsToTxnTransaction:
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    verify_only: bool = False
    topics: list[AddPartitionsToTxnTopic] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AddPartitionsToTxnRequest:
    transactions: list[AddPartitionsToTxnTransaction] = field(default_factory=list)  # 4+
    v3_and_below_transactional_id: str = ""  # 0-3
    v3_and_below_producer_id: int = 0  # 0-3
    v3_and_below_producer_epoch: int = 0  # 0-3
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(default_factory=list)  # 0-3
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 24
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 4:
                write_length(out, len(item.transactions))
                _write_add_partitions_to_txn_transaction(out, item.transactions, version)
            elif item.transactions:
                raise not_in_version("transactions", version)
            if version <= 3:
                if version >= 3:
                    write_compact_string(out, item.v3_and_below_transactional_id)
                else:
                    write_string(out, item.v3_and_below_transactional_id)
            elif item.v3_and_below_transactional_id:
                raise not_in_version("v3_and_below_transactional_id", version)
            if version >= 4:
                if item.v3_and_below_producer_id:
                    raise not_in_version("v3_and_below_producer_id", version)
                if item.v3_and_below_producer_epoch:
                    raise not_in_version("v3_and_below_producer_epoch", version)
            else:
                out += _S_INT64_INT16.pack(item.v3_and_below_producer_id, item.v3_and_below_producer_epoch)
            if version <= 3:
                if version >= 3:
                    write_length(out, len(item.v3_and_below_topics))
                else:
                    out += _S_INT32.pack(len(item.v3_and_below_topics))
                _write_add_partitions_to_txn_topic(out, item.v3_and_below_topics, version)
            elif item.v3_and_below_topics:
                raise not_in_version("v3_and_below_topics", version)
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
        if not 0 <= version <= 5:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                pass
            if version >= 4:
                if not 0 <= n * 14 <= limit - at:
                    raise count_refused(n, limit - at)
                item.transactions, at = _read_add_partitions_to_txn_transaction(data, at, version, n)
            else:
                item.transactions = []
            if version >= 4:
                pass
            elif version >= 3:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT16.unpack_from(data, at)
                at += 2
            if version <= 3:
                if n < 0:
                    raise null_refused()
                at += n
                item.v3_and_below_transactional_id = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.v3_and_below_transactional_id = ""
            if version >= 4:
                item.v3_and_below_producer_id = 0
                item.v3_and_below_producer_epoch = 0
            elif version >= 3:
                item.v3_and_below_producer_id, item.v3_and_below_producer_epoch, n = _S_INT64_INT16_BYTE.unpack_from(data, at)
                at += 11
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                item.v3_and_below_producer_id, item.v3_and_below_producer_epoch, n = _S_INT64_INT16_INT32.unpack_from(data, at)
                at += 14
            if version <= 3:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.v3_and_below_topics, at = _read_add_partitions_to_txn_topic(data, at, version, n)
            else:
                item.v3_and_below_topics = []
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
class AddPartitionsToTxnPartitionResult:
    partition_index: int = 0
    partition_error_code: int = 0
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AddPartitionsToTxnTopicResult:
    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AddPartitionsToTxnResult:
    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class AddPartitionsToTxnResponse:
    throttle_time_ms: int = 0
    error_code: int = 0  # 4+
    results_by_transaction: list[AddPartitionsToTxnResult] = field(default_factory=list)  # 4+
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(default_factory=list)  # 0-3
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 24
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 3

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 5:
            raise unsupported(self, version)
        item = self
        try:
            if version >= 4:
                out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            else:
                out += _S_INT32.pack(item.throttle_time_ms)
            if version >= 4:
                write_length(out, len(item.results_by_transaction))
                _write_add_partitions_to_txn_result(out, item.results_by_transaction, version)
            elif item.results_by_transaction:
                raise not_in_version("results_by_transaction", version)
            if version <= 3:
                if version >= 3:
                    write_length(out, len(item.results_by_topic_v3_and_below))
                else:
                    out += _S_INT32.pack(len(item.results_by_topic_v3_and_below))
                _write_add_partitions_to_txn_topic_result(out, item.results_by_topic_v3_and_below, version)
            elif item.results_by_topic_v3_and_below:
                raise not_in_version("results_by_topic_v3_and_below", version)
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
        if not 0 <= version <= 5:
            raise unsupported(cls, version)
        data = bytes(view)
        start = at
        limit = len(data)
        item = _new(cls)
        try:
            if version >= 4:
                item.throttle_time_ms, item.error_code, n = _S_INT32_INT16_BYTE.unpack_from(data, at)
                at += 7
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (item.throttle_time_ms,) = _S_INT32.unpack_from(data, at)
                at += 4
                item.error_code = 0
            if version >= 4:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.results_by_transaction, at = _read_add_partitions_to_txn_result(data, at, version, n)
            else:
                item.results_by_transaction = []
            if version >= 4:
                pass
            elif version >= 3:
                n = data[at]
                at += 1
                if n > 127:
                    n, at = read_length(data, at - 1)
                else:
                    n -= 1
            else:
                (n,) = _S_INT32.unpack_from(data, at)
                at += 4
            if version <= 3:
                if not 0 <= n * 3 <= limit - at:
                    raise count_refused(n, limit - at)
                item.results_by_topic_v3_and_below, at = _read_add_partitions_to_txn_topic_result(data, at, version, n)
            else:
                item.results_by_topic_v3_and_below = []
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


def _read_add_partitions_to_txn_topic(data: bytes, at: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnTopic], int]:
    items: list[AddPartitionsToTxnTopic] = []
    for _ in range(count):
        item = _new(AddPartitionsToTxnTopic)
        if version >= 3:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 3:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
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


def _write_add_partitions_to_txn_topic(out: bytearray, items: Iterable[AddPartitionsToTxnTopic], version: int) -> None:
    for item in items:
        if version >= 3:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 3:
            write_length(out, len(item.partitions))
        else:
            out += _S_INT32.pack(len(item.partitions))
        write_integers(out, item.partitions, "i")
        if item.unknown_tagged_fields:
            if version < 3:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 3:
            out.append(0)


def _read_add_partitions_to_txn_transaction(data: bytes, at: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnTransaction], int]:
    limit = len(data)
    items: list[AddPartitionsToTxnTransaction] = []
    for _ in range(count):
        item = _new(AddPartitionsToTxnTransaction)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.transactional_id = data[at - n : at].decode("utf-8", LENIENT)
        item.producer_id, item.producer_epoch, item.verify_only, n = _S_INT64_INT16_BOOL_BYTE.unpack_from(data, at)
        at += 12
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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


def _write_add_partitions_to_txn_transaction(out: bytearray, items: Iterable[AddPartitionsToTxnTransaction], version: int) -> None:
    for item in items:
        write_compact_string(out, item.transactional_id)
        out += _S_INT64_INT16_BOOL.pack(item.producer_id, item.producer_epoch, item.verify_only)
        write_length(out, len(item.topics))
        _write_add_partitions_to_txn_topic(out, item.topics, version)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)


def _read_add_partitions_to_txn_partition_result(data: bytes, at: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnPartitionResult], int]:
    items: list[AddPartitionsToTxnPartitionResult] = []
    for _ in range(count):
        item = _new(AddPartitionsToTxnPartitionResult)
        if version >= 3:
            item.partition_index, item.partition_error_code, tags = _S_INT32_INT16_BYTE.unpack_from(data, at)
            at += 7
        else:
            item.partition_index, item.partition_error_code = _S_INT32_INT16.unpack_from(data, at)
            at += 6
            tags = 0
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_partition_result(out: bytearray, items: Iterable[AddPartitionsToTxnPartitionResult], version: int) -> None:
    for item in items:
        out += _S_INT32_INT16.pack(item.partition_index, item.partition_error_code)
        if item.unknown_tagged_fields:
            if version < 3:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 3:
            out.append(0)


def _read_add_partitions_to_txn_topic_result(data: bytes, at: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnTopicResult], int]:
    limit = len(data)
    items: list[AddPartitionsToTxnTopicResult] = []
    for _ in range(count):
        item = _new(AddPartitionsToTxnTopicResult)
        if version >= 3:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_string_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT16.unpack_from(data, at)
            at += 2
        if n < 0:
            raise null_refused()
        at += n
        item.name = data[at - n : at].decode("utf-8", LENIENT)
        if version >= 3:
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
        else:
            (n,) = _S_INT32.unpack_from(data, at)
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


def _write_add_partitions_to_txn_topic_result(out: bytearray, items: Iterable[AddPartitionsToTxnTopicResult], version: int) -> None:
    for item in items:
        if version >= 3:
            write_compact_string(out, item.name)
        else:
            write_string(out, item.name)
        if version >= 3:
            write_length(out, len(item.results_by_partition))
        else:
            out += _S_INT32.pack(len(item.results_by_partition))
        _write_add_partitions_to_txn_partition_result(out, item.results_by_partition, version)
        if item.unknown_tagged_fields:
            if version < 3:
                raise tags_refused(version)
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        elif version >= 3:
            out.append(0)


def _read_add_partitions_to_txn_result(data: bytes, at: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnResult], int]:
    limit = len(data)
    items: list[AddPartitionsToTxnResult] = []
    for _ in range(count):
        item = _new(AddPartitionsToTxnResult)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.transactional_id = data[at - n : at].decode("utf-8", LENIENT)
        n = data[at]
        at += 1
        if n > 127:
            n, at = read_length(data, at - 1)
        else:
            n -= 1
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


def _write_add_partitions_to_txn_result(out: bytearray, items: Iterable[AddPartitionsToTxnResult], version: int) -> None:
    for item in items:
        write_compact_string(out, item.transactional_id)
        write_length(out, len(item.topic_results))
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
