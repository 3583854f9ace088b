"""Plans how a topology is run: its sub-topologies in order, how many tasks each has, and the internal topics.

Pure: partition counts of existing topics come in, a plan comes out; `runner` performs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.errors import ConfigError
from millstream.streams.config import StreamsConfig
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
    """A sub-topology reads `sources`, co-partitioned, as `tasks` tasks. The application itself writes `repartition_sources`."""

    id: int
    sources: tuple[str, ...]
    tasks: int
    repartition_sources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TopologyPlan:
    """`sub_topologies` in an order in which each comes after those that write what it reads."""

    sub_topologies: tuple[SubTopologyPlan, ...]
    internal_topics: tuple[InternalTopic, ...]


def plan_topology(
    topology: Topology, application_id: str, existing_partitions: Mapping[str, int]
) -> TopologyPlan:
    """Raises ConfigError for what does not run on Spark, TopologyError for a source topic that does not exist and for
    topics that must have equal partition counts.
    """
    groups = [group for group in topology.sub_topologies if not group.is_global]
    topics = {group.id: topology.topics_of(group, application_id) for group in groups}
    _require_fixed_sources(topics)
    ordered = _in_order(groups, topics)
    partitions = partition_counts(topology, application_id, existing_partitions)
    plans, internal = [], []
    for group in ordered:
        mine = topics[group.id]
        tasks = max(partitions[topic] for topic in mine.sources)
        plans.append(SubTopologyPlan(group.id, mine.sources, tasks, frozenset(mine.repartition)))
        internal += [
            InternalTopic(name, partitions[name], conf) for name, conf in mine.repartition.items()
        ]
        internal += [
            InternalTopic(name, tasks, conf)
            for name, conf in mine.changelogs.items()
            if name not in mine.sources
        ]
    return TopologyPlan(tuple(plans), tuple(internal))


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


def require_supported(config: StreamsConfig) -> None:
    """Raises ConfigError, with what to write instead, for what a topology may ask for and Spark cannot give yet."""
    if config.max_task_idle_ms > 0:
        raise ConfigError(
            f"max_task_idle_ms={config.max_task_idle_ms} has no effect on Spark: a micro-batch does not wait for topics "
            "that have no records; leave it at 0"
        )
