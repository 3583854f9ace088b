"""The graph of one StreamsBuilder, written to a topology in the order in which Kafka Streams writes it."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from millstream.streams.dsl.graph.nodes import (
    GraphNode,
    RepartitionGraphNode,
    SourceGraphNode,
)
from millstream.streams.errors import TopologyError
from millstream.streams.options import StoreFormat, StoreType
from millstream.streams.topology import TopologyWriter
from millstream.streams.topology.names import NameGenerator


class StreamGraph:
    """All nodes of one StreamsBuilder, and the names it has given out."""

    def __init__(
        self,
        public_stream: Callable[..., Any],  # Any: a KStream, whose module is above this one
        store_type: StoreType,
        store_format: StoreFormat = StoreFormat.DEFAULT,
    ) -> None:
        self.public_stream = public_stream
        """Makes a KStream of a `GraphStream`: for KTable, whose module cannot import that of KStream, which imports
        it."""
        self.names = NameGenerator()
        self.store_type = store_type
        self.store_format = store_format
        self.join_repartitions: dict[str, RepartitionGraphNode] = {}
        """Streams that were repartitioned for a join under their own name: the next join reuses that."""
        self.repartitions: dict[GraphNode, dict[RepartitionGraphNode, None]] = {}
        """Nodes that change keys, and the repartitions below each that only they make necessary."""
        self.merges: list[GraphNode] = []
        self.replaced_sources: dict[str, str] = {}
        """Sources of repartitions that were merged, and the source that took their place."""
        self.unnamed: dict[str, None] = {}
        """Stores and repartition topics that the user has not named, built or not (KIP-1111)."""
        self.root = GraphNode("root", written=True)
        self._next_priority = 0

    def check_same(self, method: str, what: str, other: StreamGraph) -> None:
        """Raise TopologyError if the other one was made by another builder: nothing would connect the two."""
        if other is not self:
            raise TopologyError(
                f"{method}: the other {what} was made by another StreamsBuilder: make both with one"
            )

    def add(self, node: GraphNode, *parents: GraphNode) -> None:
        """Hang a node below its parents, or below the root. Adding one again moves it to the end."""
        node.priority = self._next_priority
        self._next_priority += 1
        for parent in parents or (self.root,):
            if node not in parent.children:
                parent.children.append(node)
                if parent is not self.root:
                    node.parents.append(parent)
        self._note_repartition(node)

    def _note_repartition(self, node: GraphNode) -> None:
        if node.changes_key:
            self.repartitions[node] = {}
        elif isinstance(node, RepartitionGraphNode) and node.mergeable:
            # A value changed in between would have to go through the merged topic as well.
            cause = nearest(node, lambda each: each.changes_key or each.changes_value)
            if cause is not None and cause is nearest(node, lambda each: each.changes_key):
                self.repartitions[cause][node] = None
        elif node.merges_streams:
            self.merges.append(node)

    def write(self, topology: TopologyWriter) -> None:
        """Write every node once, parents before children, in the order of their calls."""
        self._relax_repartitions()
        for old, new in self.replaced_sources.items():
            topology.replace_source(old, new)
        waiting = [(node.priority, node) for node in self.root.children]
        queue: list[tuple[int, int, GraphNode]] = [
            (priority, index, node) for index, (priority, node) in enumerate(waiting)
        ]
        heapq.heapify(queue)
        ticket = len(queue)
        while queue:
            _, _, node = heapq.heappop(queue)
            if not node.written and all(parent.written for parent in node.parents):
                node.write(topology)
                node.written = True
            for child in node.children:
                heapq.heappush(queue, (child.priority, ticket, child))
                ticket += 1

    def nodes(self) -> list[GraphNode]:
        """Returns all nodes but the root, each once."""
        found: dict[GraphNode, None] = {}
        waiting = list(self.root.children)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found[node] = None
                waiting.extend(node.children)
        return list(found)

    def reset(self) -> None:
        """Forget what was written, so that a second build gives the same topology."""
        for node in self.nodes():
            node.written = False

    def merge_equal_sources(self) -> None:
        """Two sources of the same topics become one, which gets the children of both."""
        main_of: dict[str, SourceGraphNode] = {}
        for node in list(self.root.children):
            if type(node) is not SourceGraphNode or node.source is None:
                continue  # a table does not share its source, so its topic is found to be taken
            for topic in node.source.topics or (f"pattern {node.source.pattern}",):
                main = main_of.setdefault(topic, node)
                if main is node or node not in self.root.children:
                    continue
                assert main.source is not None, "a source node is built with its source"
                if main.source.topics != node.source.topics:
                    raise TopologyError(
                        f"sources {main.source.name} and {node.source.name} read overlapping but not equal "
                        f"topics ({topic} is in both): read equal sets of topics, or read them once"
                    )
                if main.source.reset != node.source.reset:
                    resets = [
                        each.reset or "application's default" for each in (main.source, node.source)
                    ]
                    read = f"topic {topic}" if node.source.topics else topic
                    raise TopologyError(
                        f"sources {main.source.name} and {node.source.name} of {read} begin at different "
                        f"offsets ({', '.join(map(str, resets))}): give both the same reset"
                    )
                self._merge(main, node)

    def _merge(self, main: SourceGraphNode, other: SourceGraphNode) -> None:
        """The source that stays is the last parent of the children it gets, as in Kafka Streams."""
        self.root.children.remove(other)
        for child in other.children:
            child.parents.remove(other)
            if child not in main.children:
                main.children.append(child)
                child.parents.append(main)
        other.children.clear()

    def _relax_repartitions(self) -> None:
        """Repartitions above a left or outer join let null keys through."""
        waiting, seen = list(self.root.children), set()
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            waiting.extend(node.children)
            if node.relaxed_join:
                _relax_above(node)


def nearest(node: GraphNode, holds: Callable[[GraphNode], bool]) -> GraphNode | None:
    """Returns the node itself or one above it for which this holds.

    Looks at each parent and everything above it before the next parent. That is how Kafka Streams
    searches, and where branches meet it decides which repartitions are merged.
    """
    if holds(node):
        return node
    above = (nearest(parent, holds) for parent in node.parents)
    return next((found for found in above if found is not None), None)


def _relax_above(join: GraphNode) -> None:
    """All of them, not only the nearest: so far up does Kafka Streams look."""
    waiting = list(join.parents)
    while waiting:
        node = waiting.pop()
        if isinstance(node, RepartitionGraphNode):
            node.keep_null_keys = True
        waiting.extend(node.parents)
