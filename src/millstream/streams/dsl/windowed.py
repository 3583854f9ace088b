"""TimeWindowedKStream: aggregations per key and time window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from millstream.streams.aggregates import Aggregate
from millstream.streams.arguments import check_kind
from millstream.streams.dsl.graph import GraphNode, StreamGraph
from millstream.streams.dsl.materialize import (
    AnyMaterialized,
    count_store,
    key_value_store,
    retained,
    window_size_ms,
)
from millstream.streams.dsl.table import KTable
from millstream.streams.dsl.table_definitions import AggregateDefinition
from millstream.streams.options import Materialized, StoreType
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import Windowed, time_windowed
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.windows import SlidingWindows, TimeWindows, UnlimitedWindows

if TYPE_CHECKING:
    from millstream.streams.dsl.grouped import Grouping

K = TypeVar("K")
V = TypeVar("V")
VA = TypeVar("VA")


class EmitStrategy(StrEnum):
    """When a window's result goes on: with every update, or once when the window closes."""

    ON_WINDOW_UPDATE = "on_window_update"
    ON_WINDOW_CLOSE = "on_window_close"


class TimeWindowedKStream(Generic[K, V]):
    """Aggregations per window. Records with a null key, and those of closed windows, are left out (S19, S21)."""

    def __init__(
        self,
        graph: StreamGraph,
        node: GraphNode,
        grouping: Grouping,
        windows: TimeWindows | UnlimitedWindows | SlidingWindows,
        emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
    ) -> None:
        self._graph = graph
        self._node = node
        self._grouping = grouping
        self._windows = windows
        self._emit = emit

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node.name}>"

    def emit_strategy(self, strategy: EmitStrategy) -> TimeWindowedKStream[K, V]:
        """The same windows, emitted as the strategy says."""
        check_kind("emit_strategy: strategy", strategy, EmitStrategy)
        if strategy is EmitStrategy.ON_WINDOW_CLOSE and isinstance(self._windows, UnlimitedWindows):
            raise ValueError(
                "emit_strategy: unlimited windows never close, so nothing would be emitted: "
                "use EmitStrategy.ON_WINDOW_UPDATE"
            )
        return TimeWindowedKStream(self._graph, self._node, self._grouping, self._windows, strategy)

    def count(
        self, *, name: str | None = None, materialized: Materialized[K, int] | None = None
    ) -> KTable[Windowed[K], int]:
        """How many records each key has in each window."""
        is_sliding = isinstance(self._windows, SlidingWindows)
        store = count_store(
            self._graph, materialized, self._grouping.key, takes_number=not is_sliding
        ).spec
        return self._aggregate((_zero, _add_one), name, "KSTREAM-AGGREGATE-", materialized, store)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[Windowed[K], V]:
        """reducer(aggregate, value) gives the new aggregate; the first value is taken as it is."""
        check_arity("reduce", "reducer", reducer, "aggregate", "value")

        def aggregator(_key: K, value: V, aggregate: V | None) -> V:
            return value if aggregate is None else reducer(aggregate, value)

        functions = (_none, aggregator)
        store = self._store("KSTREAM-REDUCE-", materialized, self._grouping.value)
        return self._aggregate(functions, name, "KSTREAM-REDUCE-", materialized, store)

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
        if isinstance(initializer, Aggregate):
            value = value or initializer.serde(self._grouping.value)
            aggregator = initializer
            initializer = initializer.initializer
        check_arity("aggregate", "initializer", initializer)
        check_arity("aggregate", "aggregator", aggregator, "key", "value", "aggregate")
        functions = (initializer, aggregator)
        store = self._store("KSTREAM-AGGREGATE-", materialized, value)
        return self._aggregate(functions, name, "KSTREAM-AGGREGATE-", materialized, store)

    def _store(
        self,
        prefix: str,
        materialized: AnyMaterialized | None,
        value: Serde[Any] | None,  # Any: the aggregate's type is the caller's
    ) -> StoreSpec:
        return key_value_store(self._graph, materialized, prefix, self._grouping.key, value).spec

    def _aggregate(
        self,
        functions: tuple[ops.UserFunction, ops.UserFunction],
        name: str | None,
        prefix: str,
        materialized: AnyMaterialized | None,
        store: StoreSpec,
    ) -> KTable[Any, Any]:  # Any: the caller's declared result
        node_name = self._graph.names.name_or_generate(name, prefix)
        spec = self._window_store(store, materialized)
        windows, final = self._windows, self._emit is EmitStrategy.ON_WINDOW_CLOSE

        def operator(old: bool) -> ops.OperatorSpec:
            if isinstance(windows, SlidingWindows):
                return ops.SlidingAggregate(spec.name, windows, *functions, final, old)
            return ops.WindowAggregate(spec.name, windows, *functions, final, old)

        definition = AggregateDefinition(spec, operator)
        node, sources = self._grouping.add_aggregation(
            self._graph, self._node, node_name, definition
        )
        node.window_grace_ms = windows.grace_ms
        key = None if spec.key is None else time_windowed(spec.key, windows.size_ms)
        return KTable(self._graph, node, definition, key=key, value=spec.value, sources=sources)

    def _window_store(self, spec: StoreSpec, materialized: AnyMaterialized | None) -> StoreSpec:
        windows = self._windows
        final = self._emit is EmitStrategy.ON_WINDOW_CLOSE
        given = None if materialized is None else materialized.supplier
        in_order_of_keys = given is not None and given.type is StoreType.ROCKSDB
        return replace(
            retained(spec, materialized, windows.retention_ms),
            kind=StoreKind.TIMESTAMPED_WINDOW,
            window_size_ms=window_size_ms(materialized, windows.size_ms),
            caching=spec.caching and not (final and isinstance(windows, SlidingWindows)),
            time_ordered=final and not in_order_of_keys,
        )


def _zero() -> int:
    return 0


def _none() -> None:
    return None


def _add_one(_key: object, _value: object, aggregate: int) -> int:
    return aggregate + 1
