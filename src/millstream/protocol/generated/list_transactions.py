"""ListTransactions, API key 66, versions 0-2: request and response.

Written by `make codegen` from codegen/schemas/list_transactions.txt.
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
    read_compact_strings,
    read_integers,
    read_length,
)
from millstream.protocol.tagged_fields import TaggedField, read_unknown_fields, write_tagged_fields
from millstream.protocol.writing import (
    WRITE_FAILURES,
    must_not_be_null,
    not_in_version,
    write_compact_strings,
    write_integers,
    write_string_length,
    write_uvarint,
)

_INT32_INT16: Final = Struct(">ih")
_INT32_INT16_BYTE: Final = Struct(">ihB")
_INT64: Final = Struct(">q")
_INT64_BYTE: Final = Struct(">qB")
_new: Final = object.__new__


class ListTransactionsRequest(MessageValue):
    """Request of API 66, versions 0-2."""

    __slots__ = (
        "state_filters",
        "producer_id_filters",
        "duration_filter",
        "transactional_id_pattern",
        "unknown_tagged_fields",
    )

    state_filters: list[str]
    producer_id_filters: list[int]
    duration_filter: int  # 1+
    transactional_id_pattern: str | None  # 2
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        state_filters: list[str] = UNSET,
        producer_id_filters: list[int] = UNSET,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.state_filters = [] if state_filters is UNSET else state_filters
        self.producer_id_filters = [] if producer_id_filters is UNSET else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 66
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.state_filters) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            write_compact_strings(out, self.state_filters)
            n = len(self.producer_id_filters) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            write_integers(out, self.producer_id_filters, "q")
            if version >= 2:
                if self.transactional_id_pattern is None:
                    raw = b""
                    n = 0
                else:
                    raw = self.transactional_id_pattern.encode()
                    n = len(raw) + 1
            if version >= 2:
                if n < 128:
                    out += _INT64_BYTE.pack(self.duration_filter, n)
                else:
                    out += _INT64.pack(self.duration_filter)
                    write_string_length(out, n)
            elif version >= 1:
                out += _INT64.pack(self.duration_filter)
                if self.transactional_id_pattern is not None:
                    raise not_in_version("transactional_id_pattern", version)
            else:
                if self.duration_filter != -1:
                    raise not_in_version("duration_filter", version)
                if self.transactional_id_pattern is not None:
                    raise not_in_version("transactional_id_pattern", version)
            if version >= 2:
                out += raw
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
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.state_filters, at = read_compact_strings(data, at, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.producer_id_filters, at = read_integers(data, at, n, "q", 8)
            if version >= 2:
                message.duration_filter, n = _INT64_BYTE.unpack_from(data, at)
                at += 8
                if 0 < n < 128:
                    message.transactional_id_pattern = data[at + 1 : at + n].decode("utf-8", LENIENT)
                    at += n
                else:
                    message.transactional_id_pattern, at = read_compact_string_or_null(data, at)
            elif version >= 1:
                (message.duration_filter,) = _INT64.unpack_from(data, at)
                at += 8
                message.transactional_id_pattern = None
            else:
                message.duration_filter = -1
                message.transactional_id_pattern = None
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


class TransactionState(MessageValue):
    """In `ListTransactionsResponse.transaction_states`, versions 0-2."""

    __slots__ = ("transactional_id", "producer_id", "transaction_state", "unknown_tagged_fields")

    transactional_id: str
    producer_id: int
    transaction_state: str
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state
        self.unknown_tagged_fields = unknown_tagged_fields


class ListTransactionsResponse(MessageValue):
    """Response of API 66, versions 0-2."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "unknown_state_filters",
        "transaction_states",
        "unknown_tagged_fields",
    )

    throttle_time_ms: int
    error_code: int
    unknown_state_filters: list[str]
    transaction_states: list[TransactionState]
    unknown_tagged_fields: tuple[TaggedField, ...]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = UNSET,
        transaction_states: list[TransactionState] = UNSET,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters = [] if unknown_state_filters is UNSET else unknown_state_filters
        self.transaction_states = [] if transaction_states is UNSET else transaction_states
        self.unknown_tagged_fields = unknown_tagged_fields

    KEY: ClassVar[int] = 66
    LOWEST_VERSION: ClassVar[int] = 0
    HIGHEST_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = 0

    def encode(self, out: bytearray, version: int) -> None:
        if not 0 <= version <= 2:
            raise version_refused(type(self), version)
        try:
            n = len(self.unknown_state_filters) + 1
            if n < 128:
                out += _INT32_INT16_BYTE.pack(self.throttle_time_ms, self.error_code, n)
            else:
                out += _INT32_INT16.pack(self.throttle_time_ms, self.error_code)
                write_uvarint(out, n)
            write_compact_strings(out, self.unknown_state_filters)
            n = len(self.transaction_states) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            _write_transaction_state(out, self.transaction_states, version)
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
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            message.unknown_state_filters, at = read_compact_strings(data, at, n)
            n = data[at]
            if n < 128:
                n -= 1
                at += 1
            else:
                n, at = read_length(data, at)
            if not 0 <= n * 11 <= limit - at:
                raise count_refused(n, limit - at)
            message.transaction_states, at = _read_transaction_state(data, at, version, n)
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


def _read_transaction_state(
    data: bytes, at: int, version: int, count: int
) -> tuple[list[TransactionState], int]:
    items: list[TransactionState] = []
    for _ in range(count):
        item = _new(TransactionState)
        n = data[at]
        if 0 < n < 128:
            item.transactional_id = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.transactional_id, at = read_compact_string(data, at)
        item.producer_id, n = _INT64_BYTE.unpack_from(data, at)
        at += 8
        if 0 < n < 128:
            item.transaction_state = data[at + 1 : at + n].decode("utf-8", LENIENT)
            at += n
        else:
            item.transaction_state, at = read_compact_string(data, at)
        tags = data[at]
        at += 1
        item.unknown_tagged_fields = ()
        if tags:
            item.unknown_tagged_fields, at = read_unknown_fields(data, at - 1)
        items.append(item)
    return items, at


def _write_transaction_state(
    out: bytearray, items: Iterable[TransactionState], version: int
) -> None:
    for item in items:
        raw = item.transactional_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_string_length(out, n)
        out += raw
        raw = item.transaction_state.encode()
        n = len(raw) + 1
        if n < 128:
            out += _INT64_BYTE.pack(item.producer_id, n)
        else:
            out += _INT64.pack(item.producer_id)
            write_string_length(out, n)
        out += raw
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
