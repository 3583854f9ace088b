"""The nodes of the graph: one for each call of the DSL. Each knows what it writes to the topology.

A call only adds a node. What a node becomes is decided when it is written, because later calls change it:
a join makes its table keep a store, an aggregation makes its table send old values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from millstream.streams.dsl.graph.table_definitions import JoinDefinition, store_names
from millstream.streams.topology import SinkNode, SourceNode, StoreSpec, TopologyWriter
from millstream.streams.topology import operators as ops
from millstream.streams.topology.names import REPARTITION_SUFFIX, NameGenerator, is_generated
from millstream.streams.topology.nodes import ProcessorNode
from millstream.streams.topology.operators import NullKeyFilter, OperatorSpec, TableJoin


@dataclass(eq=False, slots=True)
class GraphNode:
    """A node of the DSL graph; sub-classes know what they write."""

    name: str
    parents: list[GraphNode] = field(default_factory=list)
    children: list[GraphNode] = field(default_factory=list)
    priority: int = -1
    written: bool = False
    relaxed_join: bool = False
    """A left or outer join, which wants records with null keys."""
    window_grace_ms: int | None = None
    """How long after its end a window of this aggregation stays open; None elsewhere."""
    changes_key: bool = False
    changes_value: bool = False
    merges_streams: bool = False

    def write(self, topology: TopologyWriter) -> None:
        """Add what this node stands for."""

    def parent_names(self) -> tuple[str, ...]:
        """Returns each name once, also where two sources of a merge have become one."""
        return tuple(dict.fromkeys(parent.name for parent in self.parents))


@dataclass(eq=False, slots=True)
class SourceGraphNode(GraphNode):
    source: SourceNode | None = None

    def write(self, topology: TopologyWriter) -> None:
        assert self.source is not None, "a source node is built with its source"
        topology.add_source(self.source)


@dataclass(eq=False, slots=True)
class TableSourceGraphNode(SourceGraphNode):
    """A source and the processor that turns its records into table rows; named after the processor."""

    operator: Callable[[], OperatorSpec] | None = None
    stores: Callable[[], tuple[StoreSpec, ...]] = tuple
    reuses_topic: bool = False
    """The source topic is the changelog of the store."""

    def write(self, topology: TopologyWriter) -> None:
        assert self.source is not None, "a table source is built with its source"
        assert self.operator is not None, "a table source is built with its operator"
        topology.add_source(self.source)
        topology.add_processor(ProcessorNode(self.name, self.operator(), (self.source.name,)))
        for store in self.stores():
            if self.reuses_topic:
                topology.add_store(replace(store, logging=False, log_config={}), (self.name,))
                topology.reuse_as_changelog(store.name, self.source.topics[0])
            else:
                topology.add_store(store, (self.name,))


@dataclass(eq=False, slots=True)
class ProcessorGraphNode(GraphNode):
    """A processor, the stores it brings along, the stores of others it reads."""

    operator: Callable[[], OperatorSpec] | None = None
    stores: Callable[[], tuple[StoreSpec, ...]] = tuple
    connected: Callable[[], tuple[str, ...]] = tuple
    copartitioned: frozenset[str] = frozenset()

    def write(self, topology: TopologyWriter) -> None:
        assert self.operator is not None, "a processor node is built with its operator"
        topology.add_processor(ProcessorNode(self.name, self.operator(), self.parent_names()))
        for store in self.stores():
            topology.add_store(store, (self.name,))
        topology.connect(self.name, self.connected())
        if self.copartitioned:
            topology.copartition(self.copartitioned)


@dataclass(eq=False, slots=True)
class SinkGraphNode(GraphNode):
    sink: SinkNode | None = None

    def write(self, topology: TopologyWriter) -> None:
        assert self.sink is not None, "a sink node is built with its sink"
        topology.add_sink(replace(self.sink, parents=self.parent_names()))


@dataclass(eq=False, slots=True)
class RepartitionGraphNode(GraphNode):
    """Null-key filter (if it has a name), sink, internal topic and source; named after the source."""

    topic: str = ""
    filter_name: str = ""
    sink: SinkNode | None = None
    source: SourceNode | None = None
    partitions: int | None = None
    keep_null_keys: bool = False
    mergeable: bool = True
    """Made by the library for one operator, so that several of them may become one."""

    def write(self, topology: TopologyWriter) -> None:
        assert self.sink is not None, "a repartition node is built with its sink"
        assert self.source is not None, "a repartition node is built with its source"
        topology.add_internal_topic(self.topic, self.partitions)
        parents = self.parent_names()
        if self.filter_name:
            keep = NullKeyFilter(self.keep_null_keys)
            topology.add_processor(ProcessorNode(self.filter_name, keep, parents))
            parents = (self.filter_name,)
        topology.add_sink(replace(self.sink, parents=parents))
        topology.add_source(self.source)


@dataclass(eq=False, slots=True)
class StreamJoinGraphNode(GraphNode):
    """Both joining sides and their merge, named after the latter."""

    sides: tuple[tuple[str, str, ops.StreamJoin], ...] = ()
    """(name, parent, operator) of the left and the right side."""
    unmatched: StoreSpec | None = None
    copartitioned: frozenset[str] = frozenset()
    one_store: bool = False

    @property
    def is_self_join(self) -> bool:
        """Whether both sides are the same stream, and each still keeps its records."""
        return len(self.parents) == 2 and self.parents[0].parents == self.parents[1].parents

    def use_one_store(self) -> None:
        """Join a stream with itself from the left side's store; the right side is gone."""
        left = self.parents[0]
        assert isinstance(left, ProcessorGraphNode), "the windowed left side"
        left.operator = ops.PassThrough  # the join keeps a record itself, after it was joined
        self.one_store = True

    def write(self, topology: TopologyWriter) -> None:
        if self.one_store:
            self._write_self_join(topology)
            return
        for name, parent, spec in self.sides:
            topology.add_processor(ProcessorNode(name, spec, (parent,)))
        names = tuple(name for name, _, _ in self.sides)
        topology.add_processor(ProcessorNode(self.name, ops.PassThrough(), names))
        for name, _, spec in self.sides:
            topology.connect(name, (spec.other_store,))
        if self.unmatched is not None:
            topology.add_store(self.unmatched, names)
        topology.copartition(self.copartitioned)

    def _write_self_join(self, topology: TopologyWriter) -> None:
        (_, parent, left), (_, _, right) = self.sides
        join = ops.SelfJoin(
            right.other_store, left.joiner, left.with_key, left.before_ms, left.after_ms
        )
        topology.add_processor(ProcessorNode(self.name, join, (parent,)))
        topology.connect(self.name, (join.store,))
        topology.copartition(self.copartitioned)


@dataclass(eq=False, slots=True)
class TableJoinGraphNode(GraphNode):
    """The two sides and their meeting, named after the latter."""

    definition: JoinDefinition | None = None
    side_names: tuple[str, str] = ("", "")
    side_parents: tuple[str, str] = ("", "")
    copartitioned: frozenset[str] = frozenset()

    def write(self, topology: TopologyWriter) -> None:
        definition = self.definition
        assert definition is not None, "a join node is built with its definition"
        sides = [definition.side(left=True), definition.side(left=False)]
        for name, parent, side in zip(self.side_names, self.side_parents, sides, strict=True):
            topology.add_processor(ProcessorNode(name, side, (parent,)))
        topology.add_processor(ProcessorNode(self.name, definition.operator(), self.side_names))
        for name, side in zip(self.side_names, sides, strict=True):
            assert isinstance(side, TableJoin), "each side reads the other"
            topology.connect(name, store_names(side.view))
        for store in definition.stores():
            topology.add_store(store, (self.name,))
        topology.copartition(self.copartitioned)


@dataclass(eq=False, slots=True)
class StoreGraphNode(GraphNode):
    """A store that processors are connected with by name."""

    store: StoreSpec | None = None

    def write(self, topology: TopologyWriter) -> None:
        assert self.store is not None, "a store node is built with its store"
        topology.add_store(self.store)


@dataclass(eq=False, slots=True)
class GlobalStoreGraphNode(GraphNode):
    """A source, the processor that fills the store, and the store, whose changelog is the topic;
    named after the processor.
    """

    source: SourceNode | None = None
    store: StoreSpec | None = None
    operator: OperatorSpec | None = None

    def write(self, topology: TopologyWriter) -> None:
        assert self.source is not None, "a global store is built with its source"
        assert self.store is not None, "a global store is built with its store"
        assert self.operator is not None, "a global store is built with its operator"
        processor = ProcessorNode(self.name, self.operator, (self.source.name,))
        topology.add_global_store(replace(self.store, logging=False), self.source, processor)


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
