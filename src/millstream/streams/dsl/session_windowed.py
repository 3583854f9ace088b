"""SessionWindowedKStream: aggregations per key and session."""

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
class SessionWindowedKStream(Generic[K, V]):
    """Aggregations per session. A record that joins sessions retracts them with tombstones."""

    def __init__(self, windowed: windowed_aggregation.WindowedGrouping) -> None:
        self._windowed = windowed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._windowed.grouping.stream.name}>"

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream[K, V]:
        """Returns the same sessions, emitted as the strategy says."""
        return SessionWindowedKStream(self._windowed.emitting(strategy))

    def count(
        self, *, name: str | None = None, materialized: Materialized[K, int] | None = None
    ) -> KTable[Windowed[K], int]:
        """Counts the records of each session of a key."""
        return KTable(windowed_aggregation.count(self._windowed, name, materialized))

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[Windowed[K], V]:
        """reducer(aggregate, value) gives the new aggregate, and merges sessions."""
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
        merger: Callable[[K, VA, VA], VA],
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[Windowed[K], VA]: ...
    def aggregate(
        self,
        initializer: Aggregate[V, VA] | Callable[[], VA],
        aggregator: Any = None,  # Any: as the overloads say
        merger: Any = None,  # Any: as the overloads say
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[Windowed[K], VA]:
        """merger(key, aggregate, aggregate) joins the aggregates of two sessions.

        A ready-made aggregation, of `millstream.streams.aggregates`, stands for the functions.
        """
        functions = (initializer, aggregator, merger)
        return KTable(
            windowed_aggregation.aggregate(self._windowed, functions, value, name, materialized)
        )
