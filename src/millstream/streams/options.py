"""Options of operators that are objects of their own. An option of one call only is a keyword argument of that call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic

from millstream.clients.spout.core.retries import RetryPolicy
from millstream.foreign_names.explanation import (
    ForeignNames,
    ForeignNamesOfMembers,
    explain_construction,
    explain_missing,
)
from millstream.streams.arguments import check_fields, check_serdes
from millstream.streams.serdes.serde import Serde
from millstream.streams.windows import to_ms

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # with defaults (PEP 696), which typing has from 3.13

    K = TypeVar("K", default=Any)  # Any: the default serdes
    V = TypeVar("V", default=Any)  # Any: the default serdes
    VO = TypeVar("VO", default=Any)  # Any: the default serdes
else:
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")
    VO = TypeVar("VO")


class StoreType(StrEnum):
    """The kind of a store: in memory, or on disk in RocksDB."""

    IN_MEMORY = "in_memory"
    ROCKSDB = "rocksdb"


class StoreFormat(StrEnum):
    """The format of rows in the stores of tables, with or without headers: Kafka's `dsl.store.format`."""

    DEFAULT = "default"
    HEADERS = "headers"
    """Room for headers in every store on disk (KIP-1285). Stores in memory have none, as in Kafka Streams."""

    @classmethod
    def _missing_(cls, value: object) -> StoreFormat | None:
        """Kafka writes them in capitals, and takes them either way."""
        named = str(value).lower()
        return next((each for each in cls if each.value == named), None)


class OffsetReset(StrEnum):
    """The offset at which a source begins when the group has committed none."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


@explain_construction
@dataclass(frozen=True, slots=True)
class StoreSupplier(metaclass=ForeignNames):
    """A store chosen by hand, as those of Kafka Streams' `Stores`.

    `history` makes a versioned store, which remembers for that long what the value of a key was at any time.
    `retention` belongs to window and session stores, `window_size` and `retain_duplicates` to window stores.
    `entries_max` makes an in-memory key-value store that keeps only so many rows: those used last.
    `with_headers` keeps the headers that a row is put with (KIP-1271); it goes with none of `history`,
    `retain_duplicates` and `entries_max`.
    `timestamped=False` makes a store on disk whose rows have no timestamp (`Stores.persistentKeyValueStore`,
    `persistentWindowStore`): tables read -1 for it, so results have the time of the record that made them.
    The changelog of an aggregation is kept as long as its windows need, whatever `retention` says.
    """

    name: str
    type: StoreType = StoreType.ROCKSDB
    retention: timedelta | None = None
    window_size: timedelta | None = None
    retain_duplicates: bool = False
    history: timedelta | None = None
    entries_max: int | None = None
    with_headers: bool = False
    timestamped: bool = True

    def __post_init__(self) -> None:
        check_fields(
            self,
            name=str,
            type=StoreType,
            retention=timedelta | None,
            window_size=timedelta | None,
            retain_duplicates=bool,
            history=timedelta | None,
            entries_max=int | None,
            with_headers=bool,
            timestamped=bool,
        )
        for what in ("retention", "window_size", "history"):
            duration: timedelta | None = getattr(self, what)
            if duration is not None and duration < timedelta(0):
                raise ValueError(
                    f"store {self.name}: {what} must not be negative, it is {duration}"
                )
        if self.retention is not None and self.retention < (self.window_size or timedelta(0)):
            raise ValueError(
                f"store {self.name}: its retention of {self.retention} is shorter than its windows of "
                f"{self.window_size}: raise it"
            )
        keeps_less = (
            self.history is not None or self.retain_duplicates or self.entries_max is not None
        )
        if self.with_headers and keeps_less:
            raise ValueError(
                f"store {self.name}: with_headers goes with none of history, retain_duplicates and entries_max"
            )
        if not self.timestamped and (
            keeps_less or self.with_headers or self.type is not StoreType.ROCKSDB
        ):
            raise ValueError(
                f"store {self.name}: timestamped=False belongs to type ROCKSDB without history, with_headers,"
                " retain_duplicates and entries_max"
            )
        if self.entries_max is None:
            return
        if self.entries_max < 1 or self.type is not StoreType.IN_MEMORY or self.history is not None:
            raise ValueError(
                f"store {self.name}: entries_max is at least 1 and belongs to in-memory stores without history;"
                " say type=StoreType.IN_MEMORY"
            )


@explain_construction
@dataclass(frozen=True, slots=True)
class Materialized(Generic[K, V], metaclass=ForeignNames):
    """Options of the store that keeps the result of an operator.

    `store`: its name; without one the store exists only where it is needed and cannot be queried.
    `logging`: True, False, or settings of the changelog topic. `retention`: of window stores.
    `supplier` takes the place of `store`, `type` and, for the rows, `retention`.
    """

    store: str | None = None
    key: Serde[K] | None = None
    value: Serde[V] | None = None
    type: StoreType | None = None
    caching: bool = True
    logging: bool | Mapping[str, str] = True
    retention: timedelta | None = None
    supplier: StoreSupplier | None = None

    def __post_init__(self) -> None:
        check_serdes("Materialized", key=self.key, value=self.value)
        check_fields(
            self,
            store=str | None,
            type=StoreType | None,
            caching=bool,
            logging=bool | Mapping,
            retention=timedelta | None,
            supplier=StoreSupplier | None,
        )
        supplier = self.supplier
        if supplier is not None and self.store is not None:
            raise ValueError(
                f"store {supplier.name}: its supplier names it: leave out {self.store!r}"
            )
        if supplier is not None and self.type is not None:
            raise ValueError(
                f"store {supplier.name}: its supplier says where it lives: leave out type="
            )
        if self.retention is not None and self.retention < timedelta(0):
            raise ValueError(
                f"store {self.store_name}: retention must not be negative, it is {self.retention}"
            )

    @property
    def store_name(self) -> str | None:
        """The name the user gave the store, one way or the other."""
        return self.store if self.supplier is None else self.supplier.name


@explain_construction
@dataclass(frozen=True, slots=True)
class StreamJoined(Generic[K, V, VO], metaclass=ForeignNames):
    """Options of the stores and repartition topics of both sides of a stream-stream join.

    A store with a supplier always has a changelog, without the settings in `logging`.
    """

    key: Serde[K] | None = None
    value: Serde[V] | None = None
    other_value: Serde[VO] | None = None
    name: str | None = None
    store_name: str | None = None
    type: StoreType | None = None
    logging: bool | Mapping[str, str] = True
    this_supplier: StoreSupplier | None = None
    other_supplier: StoreSupplier | None = None

    def __post_init__(self) -> None:
        check_serdes("StreamJoined", key=self.key, value=self.value, other_value=self.other_value)
        check_fields(
            self,
            name=str | None,
            store_name=str | None,
            type=StoreType | None,
            logging=bool | Mapping,
            this_supplier=StoreSupplier | None,
            other_supplier=StoreSupplier | None,
        )


@explain_construction
@dataclass(frozen=True, slots=True)
class Suppressed(metaclass=ForeignNames):
    """Use `until_window_closes` or `until_time_limit`."""

    limit_ms: int | None
    max_records: int | None
    max_bytes: int | None
    emit_early: bool
    logging: bool | Mapping[str, str]
    name: str | None

    def __post_init__(self) -> None:
        check_fields(
            self,
            max_records=int | None,
            max_bytes=int | None,
            emit_early=bool,
            logging=bool | Mapping,
            name=str | None,
        )
        for what in ("limit_ms", "max_records", "max_bytes"):
            given: int | None = getattr(self, what)
            if given is not None and given < 0:
                raise ValueError(f"suppress: {what} must not be negative, it is {given}")

    @classmethod
    def until_window_closes(
        cls,
        *,
        max_records: int | None = None,
        max_bytes: int | None = None,
        logging: bool | Mapping[str, str] = True,
        name: str | None = None,
    ) -> Suppressed:
        """Emits one final result per window. A full buffer stops the task, since results would not be final."""
        return cls(None, max_records, max_bytes, False, logging, name)

    @classmethod
    def until_time_limit(
        cls,
        limit: timedelta,
        *,
        max_records: int | None = None,
        max_bytes: int | None = None,
        emit_early: bool = True,
        logging: bool | Mapping[str, str] = True,
        name: str | None = None,
    ) -> Suppressed:
        """Emits at most one result per key and time limit; a full buffer emits early or stops the task."""
        return cls(to_ms(limit), max_records, max_bytes, emit_early, logging, name)


@explain_missing
class EmitStrategy(StrEnum, metaclass=ForeignNamesOfMembers):
    """The time at which a window's result goes on: with every update, or once when the window closes."""

    ON_WINDOW_UPDATE = "on_window_update"
    ON_WINDOW_CLOSE = "on_window_close"


@dataclass(frozen=True, slots=True)
class RecordContext:
    """The origin of the record being processed, and its bytes where they are still known."""

    topic: str | None
    partition: int
    offset: int
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...] = ()
    source_raw_key: bytes | None = field(default=None, repr=False, compare=False)
    source_raw_value: bytes | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Retry(Generic[K, V]):
    """Options of an operator whose function may fail for a while: its records then wait in a store and are tried again.

    `store`: its name. The record waits `delay_initial`, and after each further failure `delay_multiplier` times as
    long, at most `delay_max`. `jitter` shortens each wait by up to this part of it, so that keys that failed together
    do not come back together; by how much follows from the record, so that a repetition waits as long. After
    `retries_max` retries (None: never), and for an exception that is none of `retry_on`, the record is given up: it
    goes to the topic `dead_letters`, or where there is none `on_processing_error` decides. `key` and `value` are the
    serdes of the store; None: those of the stream, or the application's defaults.
    """

    store: str
    delay_initial: timedelta = timedelta(seconds=1)
    delay_multiplier: float = 2.0
    delay_max: timedelta = timedelta(minutes=1)
    jitter: float = 0.0
    retries_max: int | None = None
    retry_on: type[Exception] | tuple[type[Exception], ...] = Exception
    dead_letters: str | None = None
    key: Serde[K] | None = None
    value: Serde[V] | None = None

    def __post_init__(self) -> None:
        check_serdes("Retry", key=self.key, value=self.value)
        check_fields(
            self,
            store=str,
            delay_initial=timedelta,
            delay_multiplier=int | float,
            delay_max=timedelta,
            jitter=int | float,
            retries_max=int | None,
            retry_on=type | tuple,
            dead_letters=str | None,
        )
        given: object = self.retry_on
        kinds: tuple[object, ...] = given if isinstance(given, tuple) else (given,)
        for kind in kinds:
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                raise TypeError(f"Retry: retry_on has classes of exceptions, not {kind!r}")
        if to_ms(self.delay_initial) < 1:
            raise ValueError(
                f"Retry: delay_initial must be at least 1 ms, it is {self.delay_initial}"
            )
        if self.delay_max < self.delay_initial:
            raise ValueError(
                f"Retry: delay_max of {self.delay_max} is shorter than delay_initial of {self.delay_initial}"
            )
        if not 1.0 <= self.delay_multiplier < float("inf"):
            raise ValueError(
                f"Retry: delay_multiplier must be a number of at least 1, not {self.delay_multiplier}"
            )
        if not 0.0 <= self.jitter <= 1.0:
            raise ValueError(f"Retry: jitter must be from 0 to 1, not {self.jitter}")
        if self.retries_max is not None and self.retries_max < 0:
            raise ValueError(f"Retry: retries_max must not be negative, it is {self.retries_max}")

    @property
    def policy(self) -> RetryPolicy:
        """The number of retries, and the time before each without its jitter."""
        return RetryPolicy(
            to_ms(self.delay_initial),
            float(self.delay_multiplier),
            to_ms(self.delay_max),
            self.retries_max,
        )


@dataclass(frozen=True, slots=True)
class WaitingRecord:
    """A record in a retry store. `context`: where it comes from, with its timestamp and headers.

    `failures`: how often its function has failed for it, `error` with what the last time; 0 and None: it waits behind
    another record of its key. `due_ms`: the wall-clock time from which on it may be tried when its turn has come.
    """

    value: Any  # Any: user types
    context: RecordContext
    failures: int
    due_ms: int
    error: str | None = None


Partitioner = Callable[[str, K, V, int], int | Collection[int] | None]
"""(topic, key, value, number of partitions) → partition, several or none of them (KIP-837),
or None for the default one."""

TopicExtractor = Callable[[K, V, RecordContext], str]
"""(key, value, context) → topic."""
