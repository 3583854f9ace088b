"""Operators of streams that write to topics: sinks, and repartition topics that the user asks for."""

from __future__ import annotations

from typing import Any

from millstream.streams.arguments import check_kind, check_serdes
from millstream.streams.dsl.graph.nodes import SinkGraphNode, repartition_node
from millstream.streams.dsl.graph.streams import AnySerde, GraphStream
from millstream.streams.options import Partitioner, TopicExtractor
from millstream.streams.topology import SinkNode
from millstream.streams.topology.functions import check_arity, check_partitioner
from millstream.streams.topology.names import check_name, check_topic

AnyPartitioner = Partitioner[Any, Any]  # Any: the public classes know the types
AnyExtractor = TopicExtractor[Any, Any]  # Any: the same


def to(
    stream: GraphStream,
    topic: str | AnyExtractor,
    *,
    key: AnySerde | None,
    value: AnySerde | None,
    partitioner: AnyPartitioner | None,
    name: str | None,
) -> None:
    """End the stream in a topic."""
    if isinstance(topic, str):
        check_topic(topic, "a sink")
    else:
        check_arity("to", "topic", topic, "key", "value", "context")
    check_partitioner("to", partitioner)
    check_serdes("to", key=key, value=value)
    sink_name = stream.graph.names.name_or_generate(name, "KSTREAM-SINK-")
    sink = SinkNode(sink_name, (), topic, key or stream.key, value or stream.value, partitioner)
    stream.graph.add(SinkGraphNode(sink_name, sink=sink), stream.node)


def repartition(
    stream: GraphStream,
    key: AnySerde | None,
    value: AnySerde | None,
    *,
    partitions: int | None,
    partitioner: AnyPartitioner | None,
    name: str | None,
) -> GraphStream:
    """Put a repartition topic below the stream, which is never merged with another one."""
    graph = stream.graph
    check_partitioner("repartition", partitioner)
    check_serdes("repartition", key=key, value=value)
    check_kind("repartition: partitions", partitions, int | None)
    if partitions is not None and partitions < 1:
        raise ValueError(f"repartition: partitions must be at least 1, not {partitions}")
    prefix = (
        graph.names.processor_name("KSTREAM-REPARTITION-") if name is None else check_name(name)
    )
    sink = SinkNode("", (), "", key or stream.key, value or stream.value, partitioner)
    node = repartition_node(graph.names, prefix, sink)
    node.partitions = partitions
    if name is None:
        graph.unnamed[node.topic] = None
    node.mergeable = False
    graph.add(node, stream.node)
    return GraphStream(graph, node, sink.key, sink.value, frozenset({node.name}))
