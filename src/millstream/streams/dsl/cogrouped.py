"""CogroupedKStream: several grouped streams aggregated into one table, plain or per window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, overload

from millstream.streams.aggregates import Aggregate
from millstream.streams.arguments import check_kind
from millstream.streams.dsl.graph import (
    GraphNode,
    ProcessorGraphNode,
    StreamGraph,
    repartition_node,
)
from millstream.streams.dsl.grouped import KGroupedStream
from millstream.streams.dsl.materialize import (
    AnyMaterialized,
    key_value_store,
    retained,
    window_size_ms,
)
from millstream.streams.dsl.table import KTable
from millstream.streams.dsl.table_definitions import CogroupDefinition
from millstream.streams.options import Materialized
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import Windowed, session_windowed, time_windowed
from millstream.streams.topology import SinkNode, StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
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

Member = tuple[KGroupedStream[Any, Any], ops.UserFunction]  # Any: members of different types
_PREFIX = "COGROUPKSTREAM-AGGREGATE-"


class CogroupedKStream(Generic[K, VA]):
    """Grouped streams, each with the aggregator that adds its records to the one aggregate."""

    def __init__(self, graph: StreamGraph, members: tuple[Member, ...]) -> None:
        self._graph = graph
        self._members = members

    def __repr__(self) -> str:
        return f"<{type(self).__name__} streams={len(self._members)}>"

    def cogroup(
        self, other: KGroupedStream[K, V], aggregator: Callable[[K, V, VA], VA]
    ) -> CogroupedKStream[K, VA]:
        """Add another grouped stream and its aggregator(key, value, aggregate)."""
        check_kind("cogroup: the other stream", other, KGroupedStream)
        self._graph.check_same("cogroup", "stream", other._graph)
        check_arity("cogroup", "aggregator", aggregator, "key", "value", "aggregate")
        return CogroupedKStream(self._graph, (*self._members, (other, aggregator)))

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
        check_windows(windows)
        cogroup = _Cogroup(self._graph, self._members, windows)
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
        """One table of all streams."""
        cogroup = _Cogroup(self._graph, self._members)
        return cogroup.aggregate(initializer, None, value, name, materialized)


class TimeWindowedCogroupedKStream(Generic[K, VA]):
    """Cogrouped streams per key and time window."""

    def __init__(self, cogroup: _Cogroup) -> None:
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
        """One table of all streams, with a row for each key and window."""
        return self._cogroup.aggregate(initializer, None, value, name, materialized)


class SessionWindowedCogroupedKStream(Generic[K, VA]):
    """Cogrouped streams per key and session."""

    def __init__(self, cogroup: _Cogroup) -> None:
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
        merger: ops.UserFunction | None = None,
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[Windowed[K], VA]:
        """One table of all streams; merger(key, aggregate, aggregate) joins the aggregates of two sessions.

        A ready-made aggregation, of `millstream.streams.aggregates`, stands for both.
        """
        return self._cogroup.aggregate(initializer, merger, value, name, materialized)


@dataclass(frozen=True, slots=True)
class _Cogroup:
    """What the three kinds have in common: grouped streams with their aggregators, and windows."""

    graph: StreamGraph
    members: tuple[Member, ...]
    windows: AnyWindows | None = None

    def aggregate(
        self,
        initializer: ops.UserFunction,
        merger: ops.UserFunction | None,
        value: Serde[Any] | None,  # Any: the aggregate's type is the caller's
        name: str | None,
        materialized: AnyMaterialized | None,
    ) -> KTable[Any, Any]:  # Any: the caller's declared result
        if isinstance(initializer, Aggregate):
            value, merger = value or initializer.value, initializer.merger
            initializer = initializer.initializer
        if isinstance(self.windows, SessionWindows):
            check_arity("aggregate", "merger", merger, "key", "aggregate", "aggregate")
        check_arity("aggregate", "initializer", initializer)
        graph = self.graph
        key = next((k for g, _ in self.members if (k := g.origin[1].key) is not None), None)
        spec = key_value_store(graph, materialized, _PREFIX, key, value).spec
        spec = self._store(spec, materialized)
        parents = self._repartitioned(spec.name)
        sources = frozenset().union(*(group.origin[1].sources for group, _ in self.members))
        definition = CogroupDefinition(spec)
        nodes: list[GraphNode] = []
        for number, ((_, aggregator), parent) in enumerate(zip(self.members, parents, strict=True)):
            suffix = f"-cogroup-agg-{number}"
            make = self._operator(spec.name, initializer, aggregator, merger)
            node = ProcessorGraphNode(
                graph.names.suffixed_or_generate(name, suffix, _PREFIX),
                operator=lambda make=make: make(definition.send_old_values),  # type: ignore[misc]  # bound now
                stores=lambda: (spec,),
                copartitioned=sources,
            )
            node.window_grace_ms = _grace_ms(self.windows)
            graph.add(node, parent)
            nodes.append(node)
        merge_name = graph.names.suffixed_or_generate(
            name, "-cogroup-merge", "COGROUPKSTREAM-MERGE-"
        )
        merge = ProcessorGraphNode(merge_name, operator=ops.PassThrough)
        graph.add(merge, *nodes)
        return KTable(
            graph,
            merge,
            definition,
            key=self._result_key(spec.key),
            value=spec.value,
            sources=frozenset({merge.name}),
        )

    def _repartitioned(self, store: str) -> list[GraphNode]:
        """The node that gives each member's records, behind a repartition topic where its key was changed."""
        nodes: dict[int, GraphNode] = {}
        for group, _ in self.members:
            parent, grouping = group.origin
            if not grouping.repartition_required:
                nodes[id(group)] = parent
                continue
            sink = SinkNode("", (), "", grouping.key, grouping.value)
            node = repartition_node(self.graph.names, grouping.name or store, sink)
            if grouping.name is None and store in self.graph.unnamed:
                self.graph.unnamed[node.topic] = None
            if id(group) not in nodes:
                self.graph.add(node, parent)
                nodes[id(group)] = node
        return [nodes[id(group)] for group, _ in self.members]

    def _store(self, spec: StoreSpec, materialized: AnyMaterialized | None) -> StoreSpec:
        windows = self.windows
        if windows is None:
            return spec
        spec = retained(spec, materialized, windows.retention_ms)
        if isinstance(windows, SessionWindows):
            return replace(spec, kind=StoreKind.SESSION)
        return replace(
            spec,
            kind=StoreKind.TIMESTAMPED_WINDOW,
            window_size_ms=window_size_ms(materialized, windows.size_ms),
        )

    def _result_key(self, key: Serde[Any] | None) -> Serde[Any] | None:  # Any: any key type
        windows = self.windows
        if key is None or windows is None:
            return key
        if isinstance(windows, SessionWindows):
            return session_windowed(key)
        return time_windowed(key, windows.size_ms)

    def _operator(
        self,
        store: str,
        initializer: ops.UserFunction,
        aggregator: ops.UserFunction,
        merger: ops.UserFunction | None,
    ) -> Callable[[bool], ops.OperatorSpec]:
        windows = self.windows
        match windows:
            case None:
                return lambda old: ops.StreamAggregate(store, initializer, aggregator, old)
            case SessionWindows():
                assert merger is not None, "checked when aggregate was called"
                return lambda old: ops.SessionAggregate(
                    store, windows, initializer, aggregator, merger, send_old_values=old
                )
            case SlidingWindows():
                return lambda old: ops.SlidingAggregate(
                    store, windows, initializer, aggregator, send_old_values=old
                )
            case _:
                return lambda old: ops.WindowAggregate(
                    store, windows, initializer, aggregator, send_old_values=old
                )


def _grace_ms(windows: AnyWindows | None) -> int | None:
    """How long after its end a window stays open; sessions also wait for their gap."""
    if windows is None:
        return None
    return windows.retention_ms if isinstance(windows, SessionWindows) else windows.grace_ms
