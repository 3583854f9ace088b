"""SessionWindowedKStream: aggregations per key and session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from millstream.streams.aggregates import Aggregate
from millstream.streams.arguments import check_kind
from millstream.streams.dsl.graph import GraphNode, StreamGraph
from millstream.streams.dsl.materialize import (
    AnyMaterialized,
    count_store,
    key_value_store,
    retained,
)
from millstream.streams.dsl.table import KTable
from millstream.streams.dsl.table_definitions import AggregateDefinition
from millstream.streams.dsl.windowed import EmitStrategy
from millstream.streams.options import Materialized
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import Windowed, session_windowed
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.windows import SessionWindows

if TYPE_CHECKING:
    from millstream.streams.dsl.grouped import Grouping

K = TypeVar("K")
V = TypeVar("V")
VA = TypeVar("VA")


class SessionWindowedKStream(Generic[K, V]):
    """Aggregations per session. A record that joins sessions retracts them with tombstones (S22)."""

    def __init__(
        self,
        graph: StreamGraph,
        node: GraphNode,
        grouping: Grouping,
        windows: SessionWindows,
        emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
    ) -> None:
        self._graph = graph
        self._node = node
        self._grouping = grouping
        self._windows = windows
        self._emit = emit

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node.name}>"

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream[K, V]:
        """The same sessions, emitted as the strategy says."""
        check_kind("emit_strategy: strategy", strategy, EmitStrategy)
        return SessionWindowedKStream(
            self._graph, self._node, self._grouping, self._windows, strategy
        )

    def count(
        self, *, name: str | None = None, materialized: Materialized[K, int] | None = None
    ) -> KTable[Windowed[K], int]:
        """How many records each session of a key has."""
        store = count_store(self._graph, materialized, self._grouping.key).spec
        functions = (_zero, _add_one, _add_counts)
        return self._aggregate(functions, name, "KSTREAM-AGGREGATE-", materialized, store)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[Windowed[K], V]:
        """reducer(aggregate, value) gives the new aggregate, and merges sessions."""
        check_arity("reduce", "reducer", reducer, "aggregate", "value")

        def aggregator(_key: K, value: V, aggregate: V | None) -> V:
            return value if aggregate is None else reducer(aggregate, value)

        def merger(_key: K, one: V | None, other: V) -> V:
            return other if one is None else reducer(one, other)

        functions = (_none, aggregator, merger)
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
        if isinstance(initializer, Aggregate):
            value = value or initializer.serde(self._grouping.value)
            aggregator, merger = initializer, initializer.merger
            initializer = initializer.initializer
        check_arity("aggregate", "initializer", initializer)
        check_arity("aggregate", "aggregator", aggregator, "key", "value", "aggregate")
        check_arity("aggregate", "merger", merger, "key", "aggregate", "aggregate")
        functions = (initializer, aggregator, merger)
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
        functions: tuple[ops.UserFunction, ops.UserFunction, ops.UserFunction],
        name: str | None,
        prefix: str,
        materialized: AnyMaterialized | None,
        store: StoreSpec,
    ) -> KTable[Any, Any]:  # Any: the caller's declared result
        graph, windows = self._graph, self._windows
        node_name = graph.names.name_or_generate(name, prefix)
        final = self._emit is EmitStrategy.ON_WINDOW_CLOSE
        spec = replace(
            retained(store, materialized, windows.retention_ms),
            kind=StoreKind.SESSION,
            caching=store.caching and not final,
            time_ordered=final,
        )
        definition = AggregateDefinition(
            spec, lambda old: ops.SessionAggregate(spec.name, windows, *functions, final, old)
        )
        node, sources = self._grouping.add_aggregation(graph, self._node, node_name, definition)
        node.window_grace_ms = windows.retention_ms  # sessions stay open for grace and gap
        key = None if spec.key is None else session_windowed(spec.key)
        return KTable(graph, node, definition, key=key, value=spec.value, sources=sources)


def _zero() -> int:
    return 0


def _none() -> None:
    return None


def _add_one(_key: object, _value: object, aggregate: int) -> int:
    return aggregate + 1


def _add_counts(_key: object, one: int, other: int) -> int:
    return one + other
