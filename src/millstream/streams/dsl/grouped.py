"""KGroupedStream: records with equal keys side by side, ready to be aggregated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from millstream.streams.aggregates import Aggregate
from millstream.streams.dsl.graph import (
    GraphNode,
    ProcessorGraphNode,
    RepartitionGraphNode,
    StreamGraph,
    repartition_node,
)
from millstream.streams.dsl.materialize import StoreRequest, count_store, key_value_store
from millstream.streams.dsl.session_windowed import SessionWindowedKStream
from millstream.streams.dsl.table import KTable
from millstream.streams.dsl.table_definitions import AggregateDefinition
from millstream.streams.dsl.windowed import TimeWindowedKStream
from millstream.streams.options import Materialized
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology import SinkNode
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.windows import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    check_windows,
)

if TYPE_CHECKING:
    from millstream.streams.dsl.cogrouped import CogroupedKStream

K = TypeVar("K")
V = TypeVar("V")
VA = TypeVar("VA")


@dataclass(slots=True)
class Grouping:
    """How records are grouped. A grouping with a name makes one repartition topic for all that use it."""

    key: Serde[Any] | None  # Any: grouped streams of any type
    value: Serde[Any] | None  # Any: grouped streams of any type
    name: str | None
    sources: frozenset[str]
    repartition_required: bool
    shared: RepartitionGraphNode | None = field(default=None)

    def add_aggregation(
        self,
        graph: StreamGraph,
        parent: GraphNode,
        name: str,
        definition: AggregateDefinition,
    ) -> tuple[GraphNode, frozenset[str]]:
        """Add the aggregating node, behind a repartition topic where the key was changed (S3)."""
        sources = self.sources
        if self.repartition_required:
            node = repartition_node(
                graph.names,
                self.name or definition.store.name,
                SinkNode("", (), "", self.key, self.value),
            )
            if self.name is not None:
                node = self.shared = self.shared or node
            elif definition.store.name in graph.unnamed:
                graph.unnamed[node.topic] = None
            graph.add(node, parent)
            parent, sources = node, frozenset({node.name})
        aggregation = ProcessorGraphNode(
            name, operator=definition.operator, stores=definition.stores
        )
        graph.add(aggregation, parent)
        return aggregation, sources


class KGroupedStream(Generic[K, V]):
    """Aggregations of a grouped stream. Records with a null key or a null value are left out (S19)."""

    def __init__(self, graph: StreamGraph, node: GraphNode, grouping: Grouping) -> None:
        self._graph = graph
        self._node = node
        self._grouping = grouping

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node.name}>"

    def count(
        self, *, name: str | None = None, materialized: Materialized[K, int] | None = None
    ) -> KTable[K, int]:
        """How many records each key has had."""
        request = count_store(self._graph, materialized, self._grouping.key)
        store = request.spec.name
        return self._aggregate(
            name, "KSTREAM-AGGREGATE-", request, lambda old: ops.StreamCount(store, old)
        )

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[K, V]:
        """reducer(aggregate, value) gives the new aggregate; the first value is taken as it is."""
        check_arity("reduce", "reducer", reducer, "aggregate", "value")
        grouping = self._grouping
        request = key_value_store(
            self._graph, materialized, "KSTREAM-REDUCE-", grouping.key, grouping.value
        )
        store = request.spec.name
        return self._aggregate(
            name, "KSTREAM-REDUCE-", request, lambda old: ops.StreamReduce(store, reducer, old)
        )

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
        """aggregator(key, value, aggregate) gives the new aggregate; None deletes the row (S20).

        `value` is the serde of the aggregate, where `materialized` has none. A ready-made aggregation, of
        `millstream.streams.aggregates`, stands for the functions.
        """
        if isinstance(initializer, Aggregate):
            value = value or initializer.serde(self._grouping.value)
            aggregator = initializer
            initializer = initializer.initializer
        check_arity("aggregate", "initializer", initializer)
        check_arity("aggregate", "aggregator", aggregator, "key", "value", "aggregate")
        request = key_value_store(
            self._graph, materialized, "KSTREAM-AGGREGATE-", self._grouping.key, value
        )
        store = request.spec.name
        return self._aggregate(
            name,
            "KSTREAM-AGGREGATE-",
            request,
            lambda old: ops.StreamAggregate(store, initializer, aggregator, old),
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
        if isinstance(windows, SessionWindows):
            return SessionWindowedKStream(self._graph, self._node, self._grouping, windows)
        return TimeWindowedKStream(self._graph, self._node, self._grouping, windows)

    def cogroup(self, aggregator: Callable[[K, V, VA], VA]) -> CogroupedKStream[K, VA]:
        """Aggregate this stream and others into one table; each has its own aggregator."""
        from millstream.streams.dsl.cogrouped import CogroupedKStream

        check_arity("cogroup", "aggregator", aggregator, "key", "value", "aggregate")
        return CogroupedKStream(self._graph, ((self, aggregator),))

    @property
    def origin(self) -> tuple[GraphNode, Grouping]:
        """The node whose records are grouped, and how."""
        return self._node, self._grouping

    def _aggregate(
        self, name: str | None, prefix: str, request: StoreRequest, make: ops.UserFunction
    ) -> KTable[Any, Any]:  # Any: the caller's declared result
        node_name = self._graph.names.name_or_generate(name, prefix)
        definition = AggregateDefinition(request.spec, make)
        node, sources = self._grouping.add_aggregation(
            self._graph, self._node, node_name, definition
        )
        spec = request.spec
        return KTable(
            self._graph, node, definition, key=spec.key, value=spec.value, sources=sources
        )
