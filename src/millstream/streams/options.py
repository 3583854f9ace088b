"""Options that several operators share. What belongs to one call only is a keyword argument of that call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from millstream.streams.serdes.serde import Serde


class StoreType(StrEnum):
    """Where the rows of a store live."""

    IN_MEMORY = "in_memory"
    ROCKSDB = "rocksdb"


class StoreFormat(StrEnum):
    """What the stores of tables keep of a record besides its value and timestamp: Kafka's `dsl.store.format`."""

    DEFAULT = "default"
    HEADERS = "headers"
    """Room for headers in every store on disk (KIP-1285). Stores in memory have none, as in Kafka Streams."""


class OffsetReset(StrEnum):
    """Where a source begins when the group has no committed offset."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class StoreSupplier:
    """A store chosen by hand, as those of Kafka Streams' `Stores`.

    `history` makes a versioned store, which remembers for that long what the value of a key was at any time.
    `retention` belongs to window and session stores, `window_size` and `retain_duplicates` to window stores.
    `entries_max` makes an in-memory key-value store that keeps only so many rows: those used last.
    `with_headers` keeps the headers that a row is put with (KIP-1271); it goes with none of `history`,
    `retain_duplicates` and `entries_max`.
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

    def __post_init__(self) -> None:
        keeps_less = (
            self.history is not None or self.retain_duplicates or self.entries_max is not None
        )
        if self.with_headers and keeps_less:
            raise ValueError(
                f"store {self.name}: with_headers goes with none of history, retain_duplicates and entries_max"
            )
        if self.entries_max is None:
            return
        if self.entries_max < 1 or self.type is not StoreType.IN_MEMORY or self.history is not None:
            raise ValueError(
                f"store {self.name}: entries_max is at least 1 and belongs to in-memory stores without history;"
                " say type=StoreType.IN_MEMORY"
            )


@dataclass(frozen=True, slots=True)
class Materialized:
    """How the result of an operator is kept.

    `store`: its name; without one the store exists only where it is needed and cannot be queried.
    `logging`: True, False, or settings of the changelog topic. `retention`: of window stores.
    `supplier` takes the place of `store`, `type` and, for the rows, `retention`.
    """

    store: str | None = None
    key: Serde[Any] | None = None  # Any: options hold serdes of any type
    value: Serde[Any] | None = None  # Any: options hold serdes of any type
    type: StoreType | None = None
    caching: bool = True
    logging: bool | Mapping[str, str] = True
    retention: timedelta | None = None
    supplier: StoreSupplier | None = None

    @property
    def store_name(self) -> str | None:
        """The name the user gave the store, one way or the other."""
        return self.store if self.supplier is None else self.supplier.name


@dataclass(frozen=True, slots=True)
class RecordContext:
    """Where the record being processed came from."""

    topic: str | None
    partition: int
    offset: int
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...] = ()


Partitioner = Callable[[str, object, object, int], int | None]
"""(topic, key, value, number of partitions) → partition, or None for the default one."""

TopicExtractor = Callable[[Any, Any, RecordContext], str]  # Any: user types
"""(key, value, context) → topic."""
