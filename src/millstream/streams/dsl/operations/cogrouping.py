"""Several grouped streams aggregated into one table, plain or per window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from millstream.streams.aggregates import Aggregate
from millstream.streams.dsl.graph.nodes import GraphNode, ProcessorGraphNode, repartition_node
from millstream.streams.dsl.graph.streams import AnySerde, GraphTable
from millstream.streams.dsl.graph.table_definitions import CogroupDefinition
from millstream.streams.dsl.operations.grouping import StreamGrouping
from millstream.streams.dsl.operations.materialize import AnyMaterialized, key_value_store
from millstream.streams.dsl.operations.windowed_aggregation import (
    grace_ms,
    window_operator,
    window_store,
    windowed_key,
)
from millstream.streams.topology import SinkNode
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.windows import AnyWindows, SessionWindows, check_windows

_PREFIX = "COGROUPKSTREAM-AGGREGATE-"


@dataclass(frozen=True, slots=True, eq=False)
class Cogroup:
    """Grouped streams, each with the aggregator that adds its records, and windows if there are any."""

    members: tuple[tuple[StreamGrouping, ops.UserFunction], ...] = ()
    windows: AnyWindows | None = None

    def add(self, grouping: StreamGrouping, aggregator: ops.UserFunction) -> Cogroup:
        """Returns the same with one more stream."""
        if self.members:
            first, _ = self.members[0]
            first.stream.graph.check_same("cogroup", "stream", grouping.stream.graph)
        check_arity("cogroup", "aggregator", aggregator, "key", "value", "aggregate")
        return replace(self, members=(*self.members, (grouping, aggregator)))

    def windowed_by(self, windows: AnyWindows) -> Cogroup:
        """Returns the same streams, aggregated per window."""
        check_windows(windows)
        return replace(self, windows=windows)

    def aggregate(
        self,
        initializer: ops.UserFunction,
        merger: ops.UserFunction | None,
        value: AnySerde | None,
        name: str | None,
        materialized: AnyMaterialized | None,
    ) -> GraphTable:
        """Returns one table of all streams."""
        windows = self.windows
        if isinstance(initializer, Aggregate):
            value, merger = value or initializer.value, initializer.merger
            initializer = initializer.initializer
        if isinstance(windows, SessionWindows):
            check_arity("aggregate", "merger", merger, "key", "aggregate", "aggregate")
        check_arity("aggregate", "initializer", initializer)
        streams = [grouping.stream for grouping, _ in self.members]
        graph = streams[0].graph
        key = next((stream.key for stream in streams if stream.key is not None), None)
        spec = key_value_store(graph, materialized, _PREFIX, key, value).spec
        if windows is not None:
            spec = window_store(windows, spec, materialized, is_final=False)
        parents = self._repartitioned(spec.name)
        sources = frozenset().union(*(stream.sources for stream in streams))
        definition = CogroupDefinition(spec)
        nodes: list[GraphNode] = []
        for number, ((_, aggregator), parent) in enumerate(zip(self.members, parents, strict=True)):
            make = self._operator(spec.name, initializer, aggregator, merger)
            node = ProcessorGraphNode(
                graph.names.suffixed_or_generate(name, f"-cogroup-agg-{number}", _PREFIX),
                operator=lambda make=make: make(definition.send_old_values),  # type: ignore[misc]  # bound now
                stores=lambda: (spec,),
                copartitioned=sources,
            )
            node.window_grace_ms = None if windows is None else grace_ms(windows)
            graph.add(node, parent)
            nodes.append(node)
        merge_name = graph.names.suffixed_or_generate(
            name, "-cogroup-merge", "COGROUPKSTREAM-MERGE-"
        )
        merge = ProcessorGraphNode(merge_name, operator=ops.PassThrough)
        graph.add(merge, *nodes)
        result_key = spec.key if windows is None else windowed_key(windows, spec.key)
        return GraphTable(graph, merge, definition, result_key, spec.value, frozenset({merge.name}))

    def _repartitioned(self, store: str) -> list[GraphNode]:
        """The node that gives each member's records, behind a repartition topic where its key was changed."""
        nodes: dict[int, GraphNode] = {}
        for grouping, _ in self.members:
            stream = grouping.stream
            graph = stream.graph
            if not stream.repartition_required:
                nodes[id(grouping)] = stream.node
                continue
            sink = SinkNode("", (), "", stream.key, stream.value)
            node = repartition_node(graph.names, grouping.name or store, sink)
            if grouping.name is None and store in graph.unnamed:
                graph.unnamed[node.topic] = None
            if id(grouping) not in nodes:
                graph.add(node, stream.node)
                nodes[id(grouping)] = node
        return [nodes[id(grouping)] for grouping, _ in self.members]

    def _operator(
        self,
        store: str,
        initializer: ops.UserFunction,
        aggregator: ops.UserFunction,
        merger: ops.UserFunction | None,
    ) -> Callable[[bool], ops.OperatorSpec]:
        windows = self.windows
        if windows is None:
            return lambda old: ops.StreamAggregate(store, initializer, aggregator, old)
        functions = (initializer, aggregator, merger)
        return lambda old: window_operator(
            store, windows, functions, is_final=False, send_old_values=old
        )
