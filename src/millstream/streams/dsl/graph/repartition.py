"""Repartition topics: a stream is written to one and read again, so that equal keys meet in one task."""

from __future__ import annotations

from dataclasses import replace

from millstream.streams.dsl.graph.nodes import RepartitionGraphNode
from millstream.streams.topology import SinkNode, SourceNode
from millstream.streams.topology.names import REPARTITION_SUFFIX, NameGenerator, is_generated


def repartition_node(names: NameGenerator, prefix: str, sink: SinkNode) -> RepartitionGraphNode:
    """Returns the nodes behind one repartition topic. Three numbers are burned even when the user named it.

    `sink` brings serdes and partitioner; its name, topic and parents are filled in here.
    """
    topic = prefix if prefix.endswith(REPARTITION_SUFFIX) else prefix + REPARTITION_SUFFIX
    sink_name = names.processor_name("KSTREAM-SINK-")
    filter_name = names.processor_name("KSTREAM-FILTER-")
    source_name = names.processor_name("KSTREAM-SOURCE-")
    if not is_generated(prefix):
        sink_name, filter_name, source_name = f"{topic}-sink", f"{topic}-filter", f"{topic}-source"
    return RepartitionGraphNode(
        name=source_name,
        topic=topic,
        filter_name=filter_name,
        sink=replace(sink, name=sink_name, topic=topic),
        source=SourceNode(source_name, (topic,), key=sink.key, value=sink.value),
    )
