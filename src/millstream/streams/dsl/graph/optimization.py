"""Optimizes the graph of the DSL before it is written, as `topology.optimization` says.

Each function changes the graph in place, and finds nothing to do when it is called again.
"""

from __future__ import annotations

from enum import StrEnum

from millstream.errors import ConfigError
from millstream.streams.arguments import check_kind
from millstream.streams.dsl.graph.nodes import (
    GraphNode,
    RepartitionGraphNode,
    StreamJoinGraphNode,
    TableSourceGraphNode,
    repartition_node,
)
from millstream.streams.dsl.graph.stream_graph import StreamGraph, nearest
from millstream.streams.errors import StreamsError
from millstream.streams.topology import SinkNode


class Optimization(StrEnum):
    """One change for the better; the values are those of the setting `topology.optimization`."""

    REUSE_SOURCE_TOPICS = "reuse.ktable.source.topics"
    MERGE_REPARTITION_TOPICS = "merge.repartition.topics"
    SINGLE_STORE_SELF_JOIN = "single.store.self.join"


def optimizations(setting: str) -> frozenset[Optimization]:
    """Returns the setting as a set: `none`, `all`, or names with commas between; ConfigError for others."""
    check_kind("StreamsBuilder: optimization", setting, str)
    names = [name.strip() for name in setting.split(",")]
    if names == ["none"]:
        return frozenset()
    if names == ["all"]:
        return frozenset(Optimization)
    unknown = [name for name in names if name not in set(Optimization)]
    if unknown:
        raise ConfigError(
            f"topology.optimization {setting!r} is not known: use none, all, "
            f"or some of {', '.join(Optimization)}"
        )
    return frozenset(map(Optimization, names))


def optimize(graph: StreamGraph, wanted: frozenset[Optimization]) -> None:
    """Make the wanted changes, in the order in which Kafka Streams makes them."""
    if Optimization.REUSE_SOURCE_TOPICS in wanted:
        for node in graph.root.children:
            if isinstance(node, TableSourceGraphNode):
                node.reuses_topic = True
    if Optimization.MERGE_REPARTITION_TOPICS in wanted:
        _merge_repartitions(graph)
    if Optimization.SINGLE_STORE_SELF_JOIN in wanted:
        _join_with_one_store(graph)


def _merge_repartitions(graph: StreamGraph) -> None:
    """Repartition once, right below the node that changed the key, instead of once for every operator.

    Raises StreamsError where Kafka Streams cannot do so either.
    """
    _move_causes_to_merges(graph)
    for cause, repartitions in graph.repartitions.items():
        if not repartitions:
            continue
        merged = _merged(graph, list(repartitions))
        merged.priority = cause.priority  # so that it is written before what follows the cause
        for old in repartitions:
            below = nearest(old, lambda each, cause=cause: cause in each.parents)  # type: ignore[misc]  # bound now
            if below is None:  # two repartitions below one node between, as in Kafka Streams
                raise StreamsError(
                    f"the repartitions below {cause.name} cannot be merged, as several are behind one of its children: "
                    "leave merge.repartition.topics out, or call repartition() once before them"
                )
            _link(merged, below)
            _unlink(cause, below)
            for child in list(old.children):
                for parent in old.parents:
                    _link(parent, child)
                _unlink(old, child)
            for parent in list(old.parents):
                _unlink(parent, old)
            graph.replaced_sources[old.name] = merged.name
        _link(cause, merged)
    graph.repartitions.clear()


def _move_causes_to_merges(graph: StreamGraph) -> None:
    """Moves repartitions behind merges: where changed keys meet in a merge, one repartition behind
    the merge serves all of them.
    """
    causes_of: dict[GraphNode, list[GraphNode]] = {}
    for merge in graph.merges:
        causes_of[merge] = [
            cause
            for cause, repartitions in graph.repartitions.items()
            if all(_is_below(each, merge) for each in repartitions) and _is_below(merge, cause)
        ]
    for merge, causes in causes_of.items():
        moved: dict[RepartitionGraphNode, None] = {}
        for cause in causes:
            moved.update(graph.repartitions.get(cause, {}))
        graph.repartitions[merge] = moved
    for cause in [cause for causes in causes_of.values() for cause in causes]:
        graph.repartitions.pop(cause, None)
    graph.merges.clear()


def _is_below(node: GraphNode, above: GraphNode) -> bool:
    return nearest(node, lambda each: above in each.parents) is not None


def _merged(graph: StreamGraph, old: list[RepartitionGraphNode]) -> RepartitionGraphNode:
    """One repartition with the topic of the first and the first serdes that any of them has."""
    sinks = [each.sink for each in old if each.sink is not None]
    key = next((sink.key for sink in sinks if sink.key is not None), None)
    value = next((sink.value for sink in sinks if sink.value is not None), None)
    return repartition_node(graph.names, old[0].topic, SinkNode("", (), "", key, value))


def _join_with_one_store(graph: StreamGraph) -> None:
    """A stream joined with itself keeps its records once."""
    waiting, seen = list(graph.root.children), set[GraphNode]()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        waiting.extend(node.children)
        if isinstance(node, StreamJoinGraphNode) and node.is_self_join:
            right = node.parents[1]
            for parent in list(right.parents):
                _unlink(parent, right)
            _unlink(right, node)
            node.use_one_store()


def _link(parent: GraphNode, child: GraphNode) -> None:
    if child not in parent.children:
        parent.children.append(child)
    if parent not in child.parents:
        child.parents.append(parent)


def _unlink(parent: GraphNode, child: GraphNode) -> None:
    if child in parent.children:
        parent.children.remove(child)
        child.parents.remove(parent)
