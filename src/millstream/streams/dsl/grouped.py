"""KGroupedStream and CogroupedKStream: records with equal keys side by side, ready to be aggregated.

The methods hold the types and the words; what they add to the graph is in `operations`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from millstream.foreign_names.explanation import explain_misspellings
from millstream.streams.aggregates import Aggregate
from millstream.streams.arguments import check_kind
from millstream.streams.dsl.operations import grouping
from millstream.streams.dsl.operations.cogrouping import Cogroup
from millstream.streams.dsl.operations.windowed_aggregation import WindowedGrouping
from millstream.streams.dsl.session_windowed import SessionWindowedKStream
from millstream.streams.dsl.table import KTable
from millstream.streams.dsl.windowed import TimeWindowedKStream
from millstream.streams.options import Materialized
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.topology.operators import UserFunction
from millstream.streams.windows import (
    AnyWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    check_windows,
)

K = TypeVar("K")
V = TypeVar("V")
VA = TypeVar("VA")


@explain_misspellings
class KGroupedStream(Generic[K, V]):
    """Aggregations of a grouped stream. Records with a null key or a null value are left out."""

    def __init__(self, grouping: grouping.StreamGrouping) -> None:
        self._grouping = grouping

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._grouping.stream.name}>"

    def count(
        self, *, name: str | None = None, materialized: Materialized[K, int] | None = None
    ) -> KTable[K, int]:
        """Counts the records of each key."""
        return KTable(grouping.count_records(self._grouping, name, materialized))

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[K, V]:
        """reducer(aggregate, value) gives the new aggregate; the first value is taken as it is."""
        return KTable(grouping.reduce_records(self._grouping, reducer, name, materialized))

    @overload
    def aggregate(
        self,
        initializer: Aggregate[V, VA],
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[K, VA]: ...
    @overload
    def aggregate(
        self,
        initializer: Callable[[], VA],
        aggregator: Callable[[K, V, VA], VA],
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[K, VA]: ...
    def aggregate(
        self,
        initializer: Aggregate[V, VA] | Callable[[], VA],
        aggregator: Any = None,  # Any: as the overloads say
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[K, VA]:
        """aggregator(key, value, aggregate) gives the new aggregate; None deletes the row.

        `value` is the serde of the aggregate, where `materialized` has none. A ready-made aggregation, of
        `millstream.streams.aggregates`, stands for the functions.
        """
        functions = (initializer, aggregator)
        return KTable(
            grouping.aggregate_records(self._grouping, functions, value, name, materialized)
        )

    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedKStream[K, V]: ...
    @overload
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> TimeWindowedKStream[K, V]: ...
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows
    ) -> TimeWindowedKStream[K, V] | SessionWindowedKStream[K, V]:
        """Aggregate per key and window, or per key and session."""
        check_windows(windows)
        windowed = WindowedGrouping(self._grouping, windows)
        if isinstance(windows, SessionWindows):
            return SessionWindowedKStream(windowed)
        return TimeWindowedKStream(windowed)

    def cogroup(self, aggregator: Callable[[K, V, VA], VA]) -> CogroupedKStream[K, VA]:
        """Aggregate this stream and others into one table; each has its own aggregator."""
        return CogroupedKStream(Cogroup().add(self._grouping, aggregator))


@explain_misspellings
class CogroupedKStream(Generic[K, VA]):
    """Grouped streams, each with the aggregator that adds its records to the one aggregate."""

    def __init__(self, cogroup: Cogroup) -> None:
        self._cogroup = cogroup

    def __repr__(self) -> str:
        return f"<{type(self).__name__} streams={len(self._cogroup.members)}>"

    def cogroup(
        self, other: KGroupedStream[K, V], aggregator: Callable[[K, V, VA], VA]
    ) -> CogroupedKStream[K, VA]:
        """Add another grouped stream and its aggregator(key, value, aggregate)."""
        check_kind("cogroup: the other stream", other, KGroupedStream)
        return CogroupedKStream(self._cogroup.add(other._grouping, aggregator))

    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedCogroupedKStream[K, VA]: ...
    @overload
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> TimeWindowedCogroupedKStream[K, VA]: ...
    def windowed_by(
        self, windows: AnyWindows
    ) -> TimeWindowedCogroupedKStream[K, VA] | SessionWindowedCogroupedKStream[K, VA]:
        """Aggregate per key and window, or per key and session."""
        cogroup = self._cogroup.windowed_by(windows)
        if isinstance(windows, SessionWindows):
            return SessionWindowedCogroupedKStream(cogroup)
        return TimeWindowedCogroupedKStream(cogroup)

    def aggregate(
        self,
        initializer: Aggregate[Any, VA] | Callable[[], VA],  # Any: streams of any type
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[K, VA]:
        """Returns one table of all streams."""
        return KTable(self._cogroup.aggregate(initializer, None, value, name, materialized))


@explain_misspellings
class TimeWindowedCogroupedKStream(Generic[K, VA]):
    """Cogrouped streams per key and time window."""

    def __init__(self, cogroup: Cogroup) -> None:
        self._cogroup = cogroup

    def __repr__(self) -> str:
        return f"<{type(self).__name__} streams={len(self._cogroup.members)}>"

    def aggregate(
        self,
        initializer: Aggregate[Any, VA] | Callable[[], VA],  # Any: streams of any type
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[Windowed[K], VA]:
        """Returns one table of all streams, with a row for each key and window."""
        return KTable(self._cogroup.aggregate(initializer, None, value, name, materialized))


@explain_misspellings
class SessionWindowedCogroupedKStream(Generic[K, VA]):
    """Cogrouped streams per key and session."""

    def __init__(self, cogroup: Cogroup) -> None:
        self._cogroup = cogroup

    def __repr__(self) -> str:
        return f"<{type(self).__name__} streams={len(self._cogroup.members)}>"

    @overload
    def aggregate(
        self,
        initializer: Aggregate[Any, VA],  # Any: streams of any type
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[Windowed[K], VA]: ...
    @overload
    def aggregate(
        self,
        initializer: Callable[[], VA],
        merger: Callable[[K, VA, VA], VA],
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[Windowed[K], VA]: ...
    def aggregate(
        self,
        initializer: Aggregate[Any, VA] | Callable[[], VA],  # Any: streams of any type
        merger: UserFunction | None = None,
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[Windowed[K], VA]:
        """Returns one table of all streams; merger(key, aggregate, aggregate) joins the aggregates of two sessions.

        A ready-made aggregation, of `millstream.streams.aggregates`, stands for both.
        """
        return KTable(self._cogroup.aggregate(initializer, merger, value, name, materialized))
