"""Writes a topology node by node, with the checks of Kafka Streams' Topology class.

The DSL and `TopologyBuilder` both write through it. It knows nodes and stores as data, never the user's calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from millstream.streams.arguments import check_kind, check_serdes
from millstream.streams.errors import TopologyError
from millstream.streams.processor import ProcessorWrapper
from millstream.streams.topology.names import check_store, check_topic
from millstream.streams.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode
from millstream.streams.topology.stores import StoreSpec
from millstream.streams.topology.topology import SubTopology, Topology
from millstream.streams.topology.wrapping import stores_brought_by, wrapped


class TopologyWriter:
    """Collects nodes and stores; `build()` gives the frozen topology.

    Every parent must have been added before its children, so a topology never has a cycle.
    Everything that Kafka Streams refuses with a TopologyException is a TopologyError here.
    """

    def __init__(self, processor_wrapper: ProcessorWrapper | None = None) -> None:
        self._wrapper = processor_wrapper
        self._nodes: dict[str, Node] = {}
        self._stores: dict[str, StoreSpec] = {}
        self._groups = _DisjointSets()
        self._store_users: dict[str, str] = {}
        self._global_stores: set[str] = set()
        self._global_nodes: set[str] = set()
        self._internal_topics: dict[str, int | None] = {}
        self._changelog_topics: dict[str, str] = {}
        self._copartitioned: list[frozenset[str]] = []
        self._replaced_sources: dict[str, str] = {}

    def summary(self) -> str:
        """Returns the numbers of nodes and stores so far, for `repr()`."""
        return f"nodes={len(self._nodes)} stores={len(self._stores)}"

    def add_source(self, source: SourceNode) -> None:
        """Add a source of topics or of a pattern; no other source may read the same topics."""
        self._check_new_name(source.name)
        if not source.topics and source.pattern is None:
            raise TopologyError(f"source {source.name} needs at least one topic or a pattern")
        for number, topic in enumerate(source.topics):
            check_topic(topic, f"source {source.name}")
            if topic in source.topics[:number]:
                raise TopologyError(f"source {source.name} names topic {topic} twice: name it once")
            self._check_topic_is_free(topic, source.name)
        if source.pattern is not None:
            self._check_pattern_is_free(source.pattern, source.name)
        check_serdes(f"source {source.name}", key=source.key, value=source.value)
        self._add(source)

    def add_processor(self, processor: ProcessorNode) -> None:
        """Add a processor below its parents; stores it names must exist already."""
        if self._wrapper is None:
            self._add_processor(processor)
            return
        made = wrapped(processor, self._wrapper)
        self._add_processor(made)
        for store in stores_brought_by(made):
            self.add_store(store, (processor.name,))

    def _add_processor(self, processor: ProcessorNode) -> None:
        self._check_new_name(processor.name)
        self._check_parents(processor.name, processor.parents)
        stores = processor.stores
        self._add(replace(processor, stores=()))
        if stores:
            self.connect(processor.name, stores)

    def add_sink(self, sink: SinkNode) -> None:
        """Add a sink below its parents."""
        self._check_new_name(sink.name)
        self._check_parents(sink.name, sink.parents)
        if isinstance(sink.topic, str):
            check_topic(sink.topic, f"sink {sink.name}")
        check_serdes(f"sink {sink.name}", key=sink.key, value=sink.value)
        self._add(sink)

    def add_store(self, store: StoreSpec, processors: Iterable[str] = ()) -> None:
        """Add a store and connect it; adding the very same object again does nothing."""
        check_kind("a store", store, StoreSpec)
        if store.logging:
            check_store(store.name)
        if self._stores.get(store.name, store) is not store:
            raise TopologyError(
                f"another store is named {store.name} already: choose another name, "
                "or add one StoreSpec and connect several processors with it"
            )
        self._stores[store.name] = store
        for processor in processors:
            self.connect(processor, (store.name,))

    def add_global_store(
        self, store: StoreSpec, source: SourceNode, processor: ProcessorNode
    ) -> None:
        """Add a store that every instance fills from all partitions of the source's topic."""
        check_kind("a global store", store, StoreSpec)
        if store.name in self._stores:
            raise TopologyError(
                f"another store is named {store.name} already: choose another name for the global store"
            )
        self._check_filling_nodes(store, source, processor)
        self.add_source(source)
        self._stores[store.name] = replace(store, logging=False)
        self._global_stores.add(store.name)
        self._global_nodes.update((source.name, processor.name))
        self._add(replace(processor, parents=(source.name,), stores=(store.name,)))
        self._changelog_topics[store.name] = source.topics[0]

    def add_read_only_store(
        self, store: StoreSpec, source: SourceNode, processor: ProcessorNode
    ) -> None:
        """Add a store that is filled from a topic, which serves as its changelog."""
        check_kind("a read-only store", store, StoreSpec)
        self._check_filling_nodes(store, source, processor)
        self.add_source(source)
        self._add_processor(replace(processor, parents=(source.name,), stores=()))
        self.add_store(replace(store, logging=False), (processor.name,))
        self._changelog_topics[store.name] = source.topics[0]

    def connect(self, processor: str, stores: Iterable[str]) -> None:
        """Let a processor use stores; processors that share a store run in one task."""
        node = self._nodes.get(processor)
        if node is None:
            raise TopologyError(
                f"processor {processor} does not exist: add it before connecting stores with it"
            )
        if not isinstance(node, ProcessorNode):
            raise TopologyError(
                f"{processor} is a source or a sink and cannot use a store: connect a processor"
            )
        for store in stores:
            if store in self._global_stores:
                raise TopologyError(
                    f"{processor} may use global store {store} as every processor may: do not connect it"
                )
            if store not in self._stores:
                raise TopologyError(
                    f"store {store} does not exist: add it before connecting {processor} with it"
                )
            if store in node.stores:
                continue
            node = replace(node, stores=(*node.stores, store))
            self._groups.unite(self._store_users.setdefault(store, processor), processor)
        self._nodes[processor] = node

    def add_internal_topic(self, topic: str, partitions: int | None) -> None:
        """Declare a repartition topic; its real name gets the application's id in front."""
        self._internal_topics[topic] = partitions

    def reuse_as_changelog(self, store: str, topic: str) -> None:
        """Makes a source topic serve as the changelog of a table's store."""
        self._changelog_topics[store] = topic

    def copartition(self, sources: Iterable[str]) -> None:
        """Sources whose topics must have equal numbers of partitions."""
        replaced = self._replaced_sources
        self._copartitioned.append(frozenset(replaced.get(name, name) for name in sources))

    def replace_source(self, old: str, new: str) -> None:
        """Uses `new` from now on where a co-partitioned source is called `old`."""
        self._replaced_sources[old] = new

    def build(self) -> Topology:
        """Returns the topology made so far, frozen."""
        groups: dict[str, list[str]] = {}
        for name in self._nodes:
            groups.setdefault(self._groups.root(name), []).append(name)
        return Topology(
            nodes=dict(self._nodes),
            stores=dict(self._stores),
            sub_topologies=tuple(
                SubTopology(number, tuple(names), not self._global_nodes.isdisjoint(names))
                for number, names in enumerate(groups.values())
            ),
            internal_topics=dict(self._internal_topics),
            global_stores=frozenset(self._global_stores),
            changelog_topics=dict(self._changelog_topics),
            copartitioned_sources=tuple(self._copartitioned),
        )

    def _add(self, node: Node) -> None:
        self._nodes[node.name] = node
        self._groups.add(node.name)
        if not isinstance(node, SourceNode):
            for parent in node.parents:
                self._groups.unite(parent, node.name)

    def _check_filling_nodes(
        self, store: StoreSpec, source: SourceNode, processor: ProcessorNode
    ) -> None:
        if source.name == processor.name:
            raise TopologyError(
                f"source and processor of store {store.name} are both named {source.name}: "
                "give them different names"
            )
        self._check_new_name(processor.name)

    def _check_new_name(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a node must be a str, not {name!r}")
        if name in self._nodes:
            raise TopologyError(f"a node named {name} exists already: choose another name")

    def _check_parents(self, name: str, parents: tuple[str, ...]) -> None:
        if not parents:
            raise TopologyError(f"{name} needs at least one parent: name the nodes it reads from")
        for parent in parents:
            if parent == name:
                raise TopologyError(f"{name} cannot be its own parent: name another node")
            if parent not in self._nodes:
                raise TopologyError(f"parent {parent} of {name} does not exist: add it first")
            if isinstance(self._nodes[parent], SinkNode):
                raise TopologyError(
                    f"sink {parent} cannot be the parent of {name}, as sinks forward nothing: "
                    f"read its topic with a source"
                )
            if parent in self._global_nodes:
                raise TopologyError(
                    f"{parent} fills a global store and cannot be the parent of {name}: "
                    "read the store, or give the topic a second name"
                )

    def _check_topic_is_free(self, topic: str, name: str) -> None:
        for other in self._sources():
            if topic in other.topics:
                raise TopologyError(
                    f"topic {topic} of {name} is read by source {other.name} already: use that source"
                )
            if other.pattern is not None and re.fullmatch(other.pattern, topic):
                raise TopologyError(
                    f"topic {topic} of {name} matches pattern {other.pattern} of source {other.name}: "
                    "narrow the pattern"
                )

    def _check_pattern_is_free(self, pattern: str, name: str) -> None:
        for other in self._sources():
            for topic in other.topics:
                if re.fullmatch(pattern, topic):
                    raise TopologyError(
                        f"pattern {pattern} of {name} matches topic {topic}, which source {other.name} "
                        "reads: narrow the pattern"
                    )

    def _sources(self) -> Iterator[SourceNode]:
        return (node for node in self._nodes.values() if isinstance(node, SourceNode))


class _DisjointSets:
    """Names united pair by pair, for nodes that must run in one task; `root` is equal for names of one set."""

    __slots__ = ("_parent",)

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def add(self, name: str) -> None:
        self._parent.setdefault(name, name)

    def root(self, name: str) -> str:
        parent = self._parent
        at = name
        while parent[at] != at:
            at = parent[at]
        while parent[name] != at:
            parent[name], name = at, parent[name]
        return at

    def unite(self, one: str, other: str) -> None:
        self._parent[self.root(other)] = self.root(one)
