"""KStream.toTable."""

from __future__ import annotations

from typing import TypeVar

from millstream.streams.dsl.graph import (
    GraphNode,
    ProcessorGraphNode,
    StreamGraph,
    repartition_node,
)
from millstream.streams.dsl.materialize import key_value_store
from millstream.streams.dsl.stream import KStream
from millstream.streams.dsl.table import KTable
from millstream.streams.dsl.table_definitions import SourceDefinition
from millstream.streams.options import Materialized
from millstream.streams.topology import SinkNode

K = TypeVar("K")
V = TypeVar("V")


def stream_to_table(
    stream: KStream[K, V],
    graph: StreamGraph,
    parent: GraphNode,
    name: str | None,
    materialized: Materialized[K, V] | None,
) -> KTable[K, V]:
    """A table of a stream, behind a repartition topic where the key was changed."""
    table_name = graph.names.name_or_generate(name, "KSTREAM-TOTABLE-")
    request = key_value_store(graph, materialized, "KSTREAM-TOTABLE-", stream.key, stream.value)
    spec, sources = request.spec, stream.sources
    if stream.repartition_required:
        node = repartition_node(graph.names, table_name, SinkNode("", (), "", spec.key, spec.value))
        if name is None:
            graph.unnamed[node.topic] = None
        graph.add(node, parent)
        parent, sources = node, frozenset({node.name})
    definition = SourceDefinition(spec, materialized=request.queryable)
    table = ProcessorGraphNode(table_name, operator=definition.operator, stores=definition.stores)
    graph.add(table, parent)
    return KTable(graph, table, definition, key=spec.key, value=spec.value, sources=sources)
