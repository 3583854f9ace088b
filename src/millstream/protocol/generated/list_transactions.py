"""ListTransactions, API key 66, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/list_transactions.txt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final, Self

from millstream.protocol.diagnosis import explain_malformed, explain_refused, unsupported
from millstream.protocol.reading import LENIENT, READ_FAILURES, count_refused, null_refused, past_end, read_compact_strings, read_integers, read_length, read_string_length, read_strings
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import WRITE_FAILURES, not_in_version, write_compact_string, write_integers, write_length, write_string

_S_INT32: Final = Struct(">i")
_S_INT32_INT16: Final = Struct(">ih")
_S_INT32_INT16_BYTE: Final = Struct(">ihB")
_S_INT64: Final = Struct(">q")
_S_INT64_BYTE: Final = Struct(">qB")
_new: Final = object.__new__


@dataclass(slots=True)
class ListTransactionsRequest:
    state_filters: list[str] = field(default_factory=list)
    producer_id_filters: list[int] = field(default_factory=list)
    duration_filter: int = -1  # 1+
    transactional_id_pattern: str | None = None  # 2
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 66
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            write_length(out, len(item.state_filters))
            for text in item.state_filters:
                write_compact_string(out, text)
            write_length(out, len(item.producer_id_filters))
            write_integers(out, item.producer_id_filters, "q")
            if version >= 1:
                out += _S_INT64.pack(item.duration_filter)
            else:
                if item.duration_filter != -1:
                    raise not_in_version("duration_filter", version)
            if version >= 2:
                if item.transactional_id_pattern is None:
                    out.append(0)
                else:
                    write_compact_string(out, item.transactional_id_pattern)
            elif item.transactional_id_pattern is not None:
                raise not_in_version("transactional_id_pattern", version)
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
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.state_filters, at = read_compact_strings(data, at, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.producer_id_filters, at = read_integers(data, at, n, "q", 8)
            if version >= 2:
                item.duration_filter, n = _S_INT64_BYTE.unpack_from(data, at)
                at += 9
                if n > 127:
                    n, at = read_string_length(data, at - 1)
                else:
                    n -= 1
            elif version >= 1:
                (item.duration_filter,) = _S_INT64.unpack_from(data, at)
                at += 8
            else:
                item.duration_filter = -1
            if version >= 2:
                if n < 0:
                    item.transactional_id_pattern = None
                else:
                    at += n
                    item.transactional_id_pattern = data[at - n : at].decode("utf-8", LENIENT)
            else:
                item.transactional_id_pattern = None
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


@dataclass(slots=True)
class TransactionState:
    transactional_id: str = ""
    producer_id: int = 0
    transaction_state: str = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()


@dataclass(slots=True)
class ListTransactionsResponse:
    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: list[str] = field(default_factory=list)
    transaction_states: list[TransactionState] = field(default_factory=list)
    unknown_tagged_fields: tuple[TaggedField, ...] = ()

    KEY: ClassVar[int] = 66
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise unsupported(self, version)
        item = self
        try:
            out += _S_INT32_INT16.pack(item.throttle_time_ms, item.error_code)
            write_length(out, len(item.unknown_state_filters))
            for text in item.unknown_state_filters:
                write_compact_string(out, text)
            write_length(out, len(item.transaction_states))
            _write_transaction_state(out, item.transaction_states, version)
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
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            item.unknown_state_filters, at = read_compact_strings(data, at, n)
            n = data[at]
            at += 1
            if n > 127:
                n, at = read_length(data, at - 1)
            else:
                n -= 1
            if not 0 <= n * 11 <= limit - at:
                raise count_refused(n, limit - at)
            item.transaction_states, at = _read_transaction_state(data, at, version, n)
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


def _read_transaction_state(data: bytes, at: int, version: int, count: int) -> tuple[list[TransactionState], int]:
    items: list[TransactionState] = []
    for _ in range(count):
        item = _new(TransactionState)
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
        item.producer_id, n = _S_INT64_BYTE.unpack_from(data, at)
        at += 9
        if n > 127:
            n, at = read_string_length(data, at - 1)
        else:
            n -= 1
        if n < 0:
            raise null_refused()
        at += n
        item.transaction_state = data[at - n : at].decode("utf-8", LENIENT)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_transaction_state(out: bytearray, items: Iterable[TransactionState], version: int) -> None:
    for item in items:
        write_compact_string(out, item.transactional_id)
        out += _S_INT64.pack(item.producer_id)
        write_compact_string(out, item.transaction_state)
        if item.unknown_tagged_fields:
            write_tagged_fields(out, (), item.unknown_tagged_fields)
        else:
            out.append(0)

SCHEMA: Final = """\
request ListTransactionsRequest key=66 versions=0-2 flexible=0+ listeners=broker
  stateFilters            []string
  producerIdFilters       []int64
  durationFilter          int64     1+ default=-1
  transactionalIdPattern  string    2 nullable default=null

response ListTransactionsResponse key=66 versions=0-2 flexible=0+ listeners=broker
  throttleTimeMs       int32
  errorCode            int16
  unknownStateFilters  []string
  transactionStates    []TransactionState
    transactionalId    string
    producerId         int64
    transactionState   string
"""
