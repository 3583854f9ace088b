"""TimeWindowedKStream: aggregations per key and time window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from millstream.foreign_names.explanation import explain_misspellings
from millstream.streams.aggregates import Aggregate
from millstream.streams.dsl.operations import windowed_aggregation
from millstream.streams.dsl.table import KTable
from millstream.streams.options import EmitStrategy, Materialized
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import Windowed

K = TypeVar("K")
V = TypeVar("V")
VA = TypeVar("VA")


@explain_misspellings
class TimeWindowedKStream(Generic[K, V]):
    """Aggregations per window. Records with a null key, and those of closed windows, are left out."""

    def __init__(self, windowed: windowed_aggregation.WindowedGrouping) -> None:
        self._windowed = windowed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._windowed.grouping.stream.name}>"

    def emit_strategy(self, strategy: EmitStrategy) -> TimeWindowedKStream[K, V]:
        """Returns the same windows, emitted as the strategy says."""
        return TimeWindowedKStream(self._windowed.emitting(strategy))

    def count(
        self, *, name: str | None = None, materialized: Materialized[K, int] | None = None
    ) -> KTable[Windowed[K], int]:
        """Counts the records of each key in each window."""
        return KTable(windowed_aggregation.count(self._windowed, name, materialized))

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[Windowed[K], V]:
        """reducer(aggregate, value) gives the new aggregate; the first value is taken as it is."""
        return KTable(windowed_aggregation.reduce(self._windowed, reducer, name, materialized))

    @overload
    def aggregate(
        self,
        initializer: Aggregate[V, VA],
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[Windowed[K], VA]: ...
    @overload
    def aggregate(
        self,
        initializer: Callable[[], VA],
        aggregator: Callable[[K, V, VA], VA],
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[Windowed[K], VA]: ...
    def aggregate(
        self,
        initializer: Aggregate[V, VA] | Callable[[], VA],
        aggregator: Any = None,  # Any: as the overloads say
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[Windowed[K], VA]:
        """aggregator(key, value, aggregate) gives the window's new aggregate; None deletes it.

        A ready-made aggregation, of `millstream.streams.aggregates`, stands for the functions.
        """
        functions = (initializer, aggregator, None)
        return KTable(
            windowed_aggregation.aggregate(self._windowed, functions, value, name, materialized)
        )
