"""Plans how a topology is run: its sub-topologies in order, how many tasks each has, and the internal topics.

Pure: partition counts of existing topics come in, a plan comes out; `runner` performs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from millstream.errors import ConfigError
from millstream.streams.config import ProcessingGuarantee, StreamsConfig
from millstream.streams.options import OffsetReset
from millstream.streams.topology.nodes import SourceNode
from millstream.streams.topology.partition_counts import partition_counts
from millstream.streams.topology.topology import SubTopology, SubTopologyTopics, Topology


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """A topic that belongs to the application and is created when missing."""

    name: str
    partitions: int
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SubTopologyPlan:
    """One streaming query: it reads `sources`, co-partitioned, as `tasks` tasks.

    `resets`: where the first run begins with a topic, for topics that have a reset.
    """

    id: int
    sources: tuple[str, ...]
    tasks: int
    stateful: bool
    resets: Mapping[str, OffsetReset | timedelta] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopologyPlan:
    """`queries` in an order in which each comes after those that write what it reads."""

    queries: tuple[SubTopologyPlan, ...]
    internal_topics: tuple[InternalTopic, ...]
    repartition_topics: frozenset[str]


def plan_topology(
    topology: Topology, application_id: str, existing_partitions: Mapping[str, int]
) -> TopologyPlan:
    """Raises ConfigError for what does not run on Spark, TopologyError for a source topic that does not exist and for
    topics that must have equal partition counts.
    """
    groups = [group for group in topology.sub_topologies if not group.is_global]
    if len(groups) < len(topology.sub_topologies):
        raise ConfigError("global tables do not run on Spark yet; use a table")
    topics = {group.id: topology.topics_of(group, application_id) for group in groups}
    _require_fixed_sources(topics)
    ordered = _in_order(groups, topics)
    partitions = partition_counts(topology, application_id, existing_partitions)
    queries, internal = [], []
    for group in ordered:
        mine = topics[group.id]
        tasks = max(partitions[topic] for topic in mine.sources)
        stateful = bool(topology.stores_of(group))
        resets = _resets(topology, group)
        queries.append(SubTopologyPlan(group.id, mine.sources, tasks, stateful, resets))
        internal += [
            InternalTopic(name, partitions[name], conf) for name, conf in mine.repartition.items()
        ]
        internal += [
            InternalTopic(name, tasks, conf)
            for name, conf in mine.changelogs.items()
            if name not in mine.sources
        ]
    repartition = frozenset(name for each in topics.values() for name in each.repartition)
    return TopologyPlan(tuple(queries), tuple(internal), repartition)


def _resets(topology: Topology, group: SubTopology) -> dict[str, OffsetReset | timedelta]:
    sources = (node for name in group.nodes if isinstance(node := topology.nodes[name], SourceNode))
    return {
        topic: node.reset for node in sources if node.reset is not None for topic in node.topics
    }


def _require_fixed_sources(topics: Mapping[int, SubTopologyTopics]) -> None:
    empty = [number for number, each in topics.items() if not each.sources]
    if empty:
        raise ConfigError(
            f"sub-topology {empty[0]} names no source topic; patterns do not run on Spark yet, name the topics"
        )


def _in_order(
    groups: list[SubTopology], topics: Mapping[int, SubTopologyTopics]
) -> list[SubTopology]:
    """Writers of internal topics before their readers. Raises ConfigError when they feed each other in a circle."""
    remaining = {group.id: group for group in groups}
    ordered: list[SubTopology] = []
    while remaining:
        unwritten = {topic for number in remaining for topic in topics[number].sinks}
        ready = [n for n in remaining if not unwritten.intersection(topics[n].repartition)]
        if not ready:
            raise ConfigError(
                f"sub-topologies {sorted(remaining)} feed each other through repartition topics"
            )
        ordered += [remaining.pop(number) for number in sorted(ready)]
    return ordered


def require_supported(topology: Topology, config: StreamsConfig) -> None:
    """Raises ConfigError, with what to write instead, for what a topology may ask for and Spark cannot give yet."""
    if config.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2:
        raise ConfigError(
            "processing_guarantee exactly_once_v2 is not built on Spark yet: outputs are written at least once, and state "
            "counts each input once; leave it at at_least_once"
        )
    if config.max_task_idle_ms > 0:
        raise ConfigError(
            f"max_task_idle_ms={config.max_task_idle_ms} has no effect on Spark: a micro-batch does not wait for topics "
            "that have no records; leave it at 0"
        )
    for node in topology.nodes.values():
        if isinstance(node, SourceNode) and node.reset is OffsetReset.NONE:
            raise ConfigError(
                f"source {node.name} has reset=NONE, but on Spark a first run has no committed offsets and would always "
                "fail; say EARLIEST, LATEST or a timedelta"
            )
