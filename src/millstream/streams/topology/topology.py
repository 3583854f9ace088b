"""A finished topology: nodes, stores, sub-topologies and internal topics. Nothing here changes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from millstream.foreign_names.explanation import explain_construction, explain_misspellings
from millstream.streams.errors import TopologyError
from millstream.streams.topology.java_order import copy_order, hash_order
from millstream.streams.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode
from millstream.streams.topology.stores import StoreSpec


def source_matching(patterns: Mapping[str, str], topic: str) -> str | None:
    """Returns the source whose pattern matches a topic; `patterns` are by source.

    Raises TopologyError where two match it.
    """
    matching = [name for name, pattern in patterns.items() if re.fullmatch(pattern, topic)]
    if len(matching) > 1:
        first, second = (f"pattern {patterns[name]} of {name}" for name in matching[:2])
        raise TopologyError(f"topic {topic} matches {first} and {second}: narrow one of them")
    return matching[0] if matching else None


REPARTITION_TOPIC_CONFIG: Mapping[str, str] = MappingProxyType(
    {
        "cleanup.policy": "delete",
        "message.timestamp.type": "CreateTime",
        "retention.ms": "-1",
        "segment.bytes": "52428800",
    }
)


@dataclass(frozen=True, slots=True)
class SubTopology:
    """Nodes that must run in one task, in the order in which they were added.

    `is_global`: the nodes fill a global store; every instance runs them, no task does.
    """

    id: int
    nodes: tuple[str, ...]
    is_global: bool = False


@dataclass(frozen=True, slots=True)
class SubTopologyTopics:
    """The topics of one sub-topology, with the application's prefix on internal ones.

    `repartition` and `changelogs` map topic to settings; `partitions` holds enforced counts.
    """

    sources: tuple[str, ...]
    sinks: tuple[str, ...]
    repartition: Mapping[str, Mapping[str, str]]
    changelogs: Mapping[str, Mapping[str, str]]
    partitions: Mapping[str, int]


def fed_topic(source: str) -> str:
    """Returns the internal topic, without the application's id, that stands for a source which the runner fills."""
    return f"{source}-bridge-repartition"


@explain_construction
@explain_misspellings
@dataclass(frozen=True, repr=False)
class Topology:
    """A topology to run. `internal_topics` maps repartition topics (no prefix) to their enforced partition count."""

    nodes: Mapping[str, Node]
    stores: Mapping[str, StoreSpec]
    sub_topologies: tuple[SubTopology, ...]
    internal_topics: Mapping[str, int | None] = field(default_factory=dict)
    global_stores: frozenset[str] = frozenset()
    changelog_topics: Mapping[str, str] = field(default_factory=dict)
    """Stores whose changelog is a topic that exists anyway."""
    copartitioned_sources: tuple[frozenset[str], ...] = ()

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """The children of each node in the order in which they were added."""
        children: dict[str, list[str]] = {name: [] for name in self.nodes}
        for name, node in self.nodes.items():
            if not isinstance(node, SourceNode):
                for parent in node.parents:
                    children[parent].append(name)
        return {name: tuple(names) for name, names in children.items()}

    @cached_property
    def patterns(self) -> Mapping[str, str]:
        """The pattern of each source that has one."""
        return {
            name: node.pattern
            for name, node in self.nodes.items()
            if isinstance(node, SourceNode) and node.pattern is not None
        }

    def __repr__(self) -> str:
        groups = [group for group in self.sub_topologies if not group.is_global]
        return (
            f"<{type(self).__name__} sub_topologies={len(groups)} "
            f"nodes={len(self.nodes)} stores={len(self.stores)}>"
        )

    def _repr_svg_(self) -> str:
        """The form for notebooks."""
        return self.to_svg()

    def _repr_html_(self) -> str:
        """The form for notebooks that prefer HTML: the drawing, and its text to be unfolded."""
        text = html.escape(self.describe(), quote=False)
        return f"{self.to_svg()}<details><summary>describe()</summary><pre>{text}</pre></details>"

    def describe(self) -> str:
        """Returns the text that Kafka Streams prints for this topology."""
        from millstream.streams.topology.describe import describe

        return describe(self)

    def to_svg(self) -> str:
        """Draws sub-topologies, nodes, stores and topics; returns the text of an SVG file."""
        from millstream.streams.topology.drawing import to_svg

        return to_svg(self)

    def decorated(self, topic: str, application_id: str) -> str:
        """Returns the topic's real name: internal topics carry the application's id."""
        return f"{application_id}-{topic}" if topic in self.internal_topics else topic

    def changelog_topic(self, store: str, application_id: str) -> str:
        """Returns the topic from which a store is restored."""
        return self.changelog_topics.get(store) or f"{application_id}-{store}-changelog"

    def with_own_changelogs(self) -> Topology:
        """Returns the same, but no source topic serves as the changelog of a table.

        For runners that cannot tell how far a task has read a topic whose table was lost.
        """
        reusing = self.changelog_topics.keys() - self.global_stores
        stores = {
            name: replace(store, logging=store.logging or name in reusing)
            for name, store in self.stores.items()
        }
        kept = {n: topic for n, topic in self.changelog_topics.items() if n not in reusing}
        return replace(self, stores=stores, changelog_topics=kept)

    def with_pattern_topics(self, existing: Iterable[str]) -> Topology:
        """Returns the same, where sources with a pattern name the topics that it matches now, sorted.

        Raises TopologyError for a topic that two patterns match.
        """
        matched: dict[str, list[str]] = {name: [] for name in self.patterns}
        for topic in sorted(existing):
            source = source_matching(self.patterns, topic)
            if source is not None:
                matched[source].append(topic)
        sources = {
            name: replace(node, topics=tuple(matched[name]))
            for name, node in self.nodes.items()
            if isinstance(node, SourceNode) and name in matched
        }
        return replace(self, nodes={**self.nodes, **sources})

    def with_fed_sources(self, partitions: Mapping[str, int]) -> Topology:
        """Returns the same, where these source topics are internal ones with so many partitions,
        which the runner itself fills.

        Raises TopologyError for a topic that no source reads by its name, and for one of a global store.
        """
        of_tasks = {
            name for group in self.sub_topologies if not group.is_global for name in group.nodes
        }
        read = {
            topic
            for name, node in self.nodes.items()
            if isinstance(node, SourceNode) and name in of_tasks
            for topic in node.topics
        }
        unread = sorted(partitions.keys() - read)
        if unread:
            raise TopologyError(
                f"no stream or table reads {', '.join(unread)}, so nothing can be fed to it: there are {', '.join(sorted(read))}"
            )
        nodes = {
            name: replace(
                node, topics=tuple(fed_topic(t) if t in partitions else t for t in node.topics)
            )
            if isinstance(node, SourceNode)
            else node
            for name, node in self.nodes.items()
        }
        fed = {fed_topic(topic): count for topic, count in partitions.items()}
        return replace(self, nodes=nodes, internal_topics={**self.internal_topics, **fed})

    def stores_of(self, group: SubTopology) -> tuple[StoreSpec, ...]:
        """Stores that nodes of the sub-topology use, without global ones."""
        names = dict.fromkeys(
            store
            for name in group.nodes
            if isinstance(node := self.nodes[name], ProcessorNode)
            for store in node.stores
            if store not in self.global_stores or group.is_global
        )
        return tuple(self.stores[name] for name in names)

    def source_topics(self, group: SubTopology, application_id: str) -> tuple[str, ...]:
        """Returns the topics that a task of the sub-topology reads; those of patterns are not known here."""
        return tuple(
            self.decorated(topic, application_id)
            for name in group.nodes
            if isinstance(node := self.nodes[name], SourceNode)
            for topic in node.topics
        )

    def topics_of(self, group: SubTopology, application_id: str) -> SubTopologyTopics:
        """Returns the source, sink, repartition and changelog topics with their settings."""
        sources = self.source_topics(group, application_id)
        sinks = tuple(
            self.decorated(node.topic, application_id)
            for name in group.nodes
            if isinstance(node := self.nodes[name], SinkNode) and isinstance(node.topic, str)
        )
        internal = {f"{application_id}-{topic}": n for topic, n in self.internal_topics.items()}
        return SubTopologyTopics(
            sources=sources,
            sinks=sinks,
            repartition={t: dict(REPARTITION_TOPIC_CONFIG) for t in sources if t in internal},
            changelogs={
                self.changelog_topic(store.name, application_id): store.changelog_config()
                for store in self.stores_of(group)
                if store.logging or store.name in self.changelog_topics
            },
            partitions={t: n for t in sources if (n := internal.get(t)) is not None},
        )

    def copartition_groups(self, application_id: str) -> tuple[frozenset[str], ...]:
        """Sets of topics that must have the same number of partitions.

        Sources extend the first set that one of their topics is in. Where they share topics with two sets, these
        stay two, and which is extended is a matter of hash order: so it is in Kafka Streams.
        """
        group_of: dict[str, set[str]] = {}
        for sources in self.copartitioned_sources:
            topics = hash_order(
                self.decorated(topic, application_id)
                for name in copy_order(sources)  # a source that was merged into another is gone
                if isinstance(node := self.nodes.get(name), SourceNode)
                for topic in node.topics
            )
            known = (group_of[topic] for topic in topics if topic in group_of)
            group = next(known, set[str]())
            group.update(topics)
            group_of.update(dict.fromkeys(topics, group))
        return tuple({frozenset(group): None for group in group_of.values()})
