"""CogroupedKStream: several grouped streams aggregated into one table, plain or per window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from millstream.streams.aggregates import Aggregate
from millstream.streams.dsl.graph import (
    GraphNode,
    ProcessorGraphNode,
    StreamGraph,
    repartition_node,
)
from millstream.streams.dsl.grouped import KGroupedStream
from millstream.streams.dsl.materialize import key_value_store, retained
from millstream.streams.dsl.table import KTable
from millstream.streams.dsl.table_definitions import CogroupDefinition
from millstream.streams.options import Materialized
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import session_windowed, time_windowed
from millstream.streams.topology import SinkNode, StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.windows import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

K = TypeVar("K")
V = TypeVar("V")
VA = TypeVar("VA")

AnyWindows = TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows
Member = tuple[KGroupedStream[Any, Any], ops.UserFunction]  # Any: members of different types
_PREFIX = "COGROUPKSTREAM-AGGREGATE-"


class CogroupedKStream(Generic[K, VA]):
    """Grouped streams, each with the aggregator that adds its records to the one aggregate."""

    def __init__(
        self, graph: StreamGraph, members: tuple[Member, ...], windows: AnyWindows | None = None
    ) -> None:
        self._graph = graph
        self._members = members
        self._windows = windows

    def cogroup(
        self, other: KGroupedStream[K, V], aggregator: Callable[[K, V, VA], VA]
    ) -> CogroupedKStream[K, VA]:
        """Add another grouped stream and its aggregator(key, value, aggregate)."""
        check_arity("cogroup", "aggregator", aggregator, "key", "value", "aggregate")
        members = (*self._members, (other, aggregator))
        return CogroupedKStream(self._graph, members, self._windows)

    def windowed_by(self, windows: AnyWindows) -> CogroupedKStream[K, VA]:
        """Aggregate per key and window, or per key and session."""
        return CogroupedKStream(self._graph, self._members, windows)

    def aggregate(
        self,
        initializer: Aggregate[Any, VA] | Callable[[], VA],  # Any: streams of any type
        merger: Callable[[K, VA, VA], VA] | None = None,
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized | None = None,
    ) -> KTable[Any, VA]:  # Any: K, or Windowed[K] where the streams are windowed
        """One table of all streams. Sessions also need merger(key, aggregate, aggregate).

        A ready-made aggregation, of `millstream.streams.aggregates`, stands for both.
        """
        if isinstance(initializer, Aggregate):
            value, merger = value or initializer.value, initializer.merger
            initializer = initializer.initializer
        check_arity("aggregate", "initializer", initializer)
        if isinstance(self._windows, SessionWindows) and merger is None:
            raise TypeError("aggregate: sessions need a merger of two aggregates")
        graph = self._graph
        key = next((k for g, _ in self._members if (k := g.origin[1].key) is not None), None)
        spec = key_value_store(graph, materialized, _PREFIX, key, value).spec
        spec = self._store(spec, materialized)
        parents = self._repartitioned(spec.name)
        sources = frozenset().union(*(group.origin[1].sources for group, _ in self._members))
        copartitioned = sources if len(self._members) > 1 else frozenset[str]()
        definition = CogroupDefinition(spec)
        nodes: list[GraphNode] = []
        for number, ((_, aggregator), parent) in enumerate(
            zip(self._members, parents, strict=True)
        ):
            suffix = f"-cogroup-agg-{number}"
            make = self._operator(spec.name, initializer, aggregator, merger)
            node = ProcessorGraphNode(
                graph.names.suffixed_or_generate(name, suffix, _PREFIX),
                operator=lambda make=make: make(definition.send_old_values),  # type: ignore[misc]  # bound now
                stores=lambda: (spec,),
                copartitioned=copartitioned,
            )
            node.window_grace_ms = _grace_ms(self._windows)
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
        for group, _ in self._members:
            parent, grouping = group.origin
            if not grouping.repartition_required:
                nodes[id(group)] = parent
                continue
            sink = SinkNode("", (), "", grouping.key, grouping.value)
            node = repartition_node(self._graph.names, grouping.name or store, sink)
            if id(group) not in nodes:
                self._graph.add(node, parent)
                nodes[id(group)] = node
        return [nodes[id(group)] for group, _ in self._members]

    def _store(self, spec: StoreSpec, materialized: Materialized | None) -> StoreSpec:
        windows = self._windows
        if windows is None:
            return spec
        spec = retained(spec, materialized, windows.retention_ms)
        if isinstance(windows, SessionWindows):
            return replace(spec, kind=StoreKind.SESSION)
        return replace(
            spec,
            kind=StoreKind.TIMESTAMPED_WINDOW,
            window_size_ms=windows.size_ms,
        )

    def _result_key(self, key: Serde[Any] | None) -> Serde[Any] | None:  # Any: any key type
        windows = self._windows
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
        windows = self._windows
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
