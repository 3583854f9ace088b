"""Plans how a topology is run: its sub-topologies in order, how many tasks each has, and the internal topics.

Pure: partition counts of existing topics come in, a plan comes out; a runner performs it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from millstream.errors import ConfigError
from millstream.quoting import counted
from millstream.streams.topology.nodes import SinkNode, SourceNode
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
    """A sub-topology with the partition counts of its source topics.

    The application itself writes `repartition_sources`.
    """

    id: int
    partitions: Mapping[str, int]
    repartition_sources: frozenset[str] = frozenset()

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self.partitions)

    @property
    def tasks(self) -> int:
        """The number of tasks; 0 where a pattern matches no topic yet."""
        return max(self.partitions.values(), default=0)

    @property
    def topics_of_tasks(self) -> dict[int, tuple[str, ...]]:
        """By task, the source topics that have a partition of its number."""
        return {
            task: tuple(topic for topic, count in self.partitions.items() if count > task)
            for task in range(self.tasks)
        }


@dataclass(frozen=True, slots=True)
class TopologyPlan:
    """`sub_topologies` in an order in which each comes after those that write what it reads.

    `is_circular`: there is no such order, because some feed each other, as those of a join on a foreign key do.
    """

    sub_topologies: tuple[SubTopologyPlan, ...]
    internal_topics: tuple[InternalTopic, ...]
    is_circular: bool = False

    def missing_topics(self, existing: Mapping[str, int]) -> tuple[InternalTopic, ...]:
        """Returns the internal topics to create. Raises ConfigError for one that has another number of partitions."""
        for topic in self.internal_topics:
            count = existing.get(topic.name, topic.partitions)
            if count != topic.partitions:
                raise ConfigError(
                    f"internal topic {topic.name} has {counted(count, 'partition')}, the topology needs {topic.partitions}: "
                    "a source topic has been given more partitions since, or one with more has come; reset the application to go on"
                )
        return tuple(topic for topic in self.internal_topics if topic.name not in existing)

    def topics_of_logged_tasks(self, topology: Topology) -> dict[tuple[int, int], tuple[str, ...]]:
        """Returns, by sub-topology and partition, what the tasks read whose stores can all be
        restored from changelogs.
        """
        found: dict[tuple[int, int], tuple[str, ...]] = {}
        for plan in self.sub_topologies:
            stores = topology.stores_of(topology.sub_topologies[plan.id])
            logged = [spec.logging or spec.name in topology.changelog_topics for spec in stores]
            if logged and all(logged):
                found |= {(plan.id, task): mine for task, mine in plan.topics_of_tasks.items()}
        return found


def plan_topology(
    topology: Topology,
    application_id: str,
    existing_partitions: Mapping[str, int],
    hidden: Collection[str] = (),
) -> TopologyPlan:
    """Plans over the topics that exist; `hidden` are those that no pattern matches, as the cluster's own.

    Raises TopologyError for a source topic that does not exist and for topics that must have equal partition counts.
    """
    own = internal_names(topology, application_id)
    topology = topology.with_pattern_topics(existing_partitions.keys() - own - set(hidden))
    groups = [group for group in topology.sub_topologies if not group.is_global]
    topics = {group.id: topology.topics_of(group, application_id) for group in groups}
    ordered, is_circular = _in_order(groups, topics)
    partitions = partition_counts(topology, application_id, existing_partitions)
    plans, internal = [], []
    for group in ordered:
        mine = topics[group.id]
        plan = SubTopologyPlan(
            group.id,
            {topic: partitions[topic] for topic in mine.sources},
            frozenset(mine.repartition),
        )
        plans.append(plan)
        internal += [
            InternalTopic(name, partitions[name], conf) for name, conf in mine.repartition.items()
        ]
        kept = existing_partitions if _reads_by_pattern(topology, group) else {}
        internal += [
            InternalTopic(name, max(plan.tasks, kept.get(name, 0)), conf)
            for name, conf in mine.changelogs.items()
            if name not in mine.sources and plan.tasks
        ]
    return TopologyPlan(tuple(plans), tuple(internal), is_circular)


def outputs_of(topology: Topology) -> frozenset[str] | None:
    """Returns the topics that a topology writes to. None: functions choose some of them."""
    topics = [node.topic for node in topology.nodes.values() if isinstance(node, SinkNode)]
    named = frozenset(topic for topic in topics if isinstance(topic, str))
    return sink_topics(topology) if len(named) == len(set(topics)) else None


def sink_topics(topology: Topology) -> frozenset[str]:
    """Returns the topics that sinks name; those that functions choose are not known, and internal ones left out."""
    topics = (node.topic for node in topology.nodes.values() if isinstance(node, SinkNode))
    named = frozenset(topic for topic in topics if isinstance(topic, str))
    return named - topology.internal_topics.keys()


def internal_names(topology: Topology, application_id: str) -> set[str]:
    """Returns the topics that the application makes for itself, which no pattern of its own matches."""
    changelogs = {topology.changelog_topic(store, application_id) for store in topology.stores}
    repartitions = {f"{application_id}-{topic}" for topic in topology.internal_topics}
    return changelogs | repartitions


def _reads_by_pattern(topology: Topology, group: SubTopology) -> bool:
    """Whether the widest topic of a sub-topology may be deleted, and the changelogs have more
    partitions than tasks are left.
    """
    nodes = (topology.nodes[name] for name in group.nodes)
    return any(isinstance(node, SourceNode) and node.pattern is not None for node in nodes)


def _in_order(
    groups: list[SubTopology], topics: Mapping[int, SubTopologyTopics]
) -> tuple[list[SubTopology], bool]:
    """Writers of internal topics before their readers, and whether some feed each other: of
    these the first comes first.
    """
    remaining = {group.id: group for group in groups}
    ordered: list[SubTopology] = []
    is_circular = False
    while remaining:
        unwritten = {topic for number in remaining for topic in topics[number].sinks}
        ready = [n for n in remaining if not unwritten.intersection(topics[n].repartition)]
        if not ready:
            is_circular = True
            ready = [min(remaining)]
        ordered += [remaining.pop(number) for number in sorted(ready)]
    return ordered, is_circular
