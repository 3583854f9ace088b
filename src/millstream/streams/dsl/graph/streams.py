"""Streams and tables as the graph knows them: the node that gives them, their serdes, the sources that they come from.

Operators take these and give these. The public classes of the DSL hold one each and add the types.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from millstream.streams.dsl.graph.nodes import GraphNode, ProcessorGraphNode, repartition_node
from millstream.streams.dsl.graph.stream_graph import StreamGraph
from millstream.streams.dsl.graph.table_definitions import TableDefinition
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology import SinkNode
from millstream.streams.topology import operators as ops

AnySerde = Serde[Any]  # Any: the public classes know the types


@dataclass(frozen=True, slots=True, eq=False)
class GraphStream:
    """A stream: the records that a node gives."""

    graph: StreamGraph
    node: GraphNode
    key: AnySerde | None
    value: AnySerde | None
    sources: frozenset[str]
    """The source nodes that it comes from, by name: those that a join with it copartitions."""
    repartition_required: bool = False
    """An operator above has changed the key, so that equal keys need not be in one partition."""

    @property
    def name(self) -> str:
        """The name of the node that gives the records."""
        return self.node.name

    def add(self, name: str | None, prefix: str, spec: ops.OperatorSpec) -> GraphNode:
        """Add the node of an operator below this stream."""
        node = ProcessorGraphNode(
            self.graph.names.name_or_generate(name, prefix),
            operator=lambda: spec,
            changes_key=isinstance(
                spec, ops.Map | ops.FlatMap | ops.SelectKey | ops.MapAsync | ops.ProcessAsync
            ),
            changes_value=isinstance(spec, ops.MapValues | ops.FlatMapValues | ops.MapValuesAsync),
        )
        self.graph.add(node, self.node)
        return node

    def then(
        self,
        node: GraphNode,
        key: AnySerde | None,
        value: AnySerde | None,
        *,
        rekeyed: bool = False,
    ) -> GraphStream:
        """Returns the stream that a node below this one gives, from the same sources."""
        required = self.repartition_required or rekeyed
        return replace(self, node=node, key=key, value=value, repartition_required=required)

    def repartitioned(
        self, prefix: str, *, key: AnySerde | None, value: AnySerde | None, is_named: bool
    ) -> GraphStream:
        """Returns the same records behind a repartition topic of their own."""
        node = repartition_node(self.graph.names, prefix, SinkNode("", (), "", key, value))
        if not is_named:
            self.graph.unnamed[node.topic] = None
        self.graph.add(node, self.node)
        return self._behind(node, node.name)

    def repartitioned_for_join(
        self, prefix: str, *, key: AnySerde | None, value: AnySerde | None, is_named: bool
    ) -> GraphStream:
        """Returns the same records behind a repartition topic.

        A join without a name of its own uses the topic of the last join of the same stream, whatever that one's name.
        It then names a source that is not written, as Kafka Streams does: nothing more is copartitioned with the topic.
        """
        graph = self.graph
        sink = SinkNode("", (), "", key or self.key, value or self.value)
        node = repartition_node(graph.names, prefix, sink)
        known = graph.join_repartitions.get(self.name)
        if known is not None and prefix == self.name:
            return self._behind(known, node.name)
        graph.join_repartitions[self.name] = node
        if not is_named:
            graph.unnamed[node.topic] = None
        graph.add(node, self.node)
        return self._behind(node, node.name)

    def _behind(self, node: GraphNode, source: str) -> GraphStream:
        return replace(self, node=node, sources=frozenset({source}), repartition_required=False)


@dataclass(frozen=True, slots=True, eq=False)
class GraphTable:
    """A table: the changes that a node gives, and how their rows are read."""

    graph: StreamGraph
    node: GraphNode
    definition: TableDefinition
    key: AnySerde | None
    value: AnySerde | None
    sources: frozenset[str]
    """The source nodes that it comes from, by name: those that a join with it copartitions."""

    @property
    def name(self) -> str:
        """The name of the node that gives the changes."""
        return self.node.name
