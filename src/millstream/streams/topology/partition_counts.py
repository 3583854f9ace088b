"""The partition counts of a topology's topics, given those that exist.

Pure: a runner asks its cluster, calls this, and creates what is missing. Changelogs have as
many as their task's sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.quoting import counted
from millstream.streams.errors import TopologyError
from millstream.streams.topology.topology import SubTopologyTopics, Topology


def partition_counts(
    topology: Topology, application_id: str, existing: Mapping[str, int]
) -> dict[str, int]:
    """Returns the number of partitions of every topic that is read, internal ones included;
    `existing`: of the cluster's topics.

    A repartition topic has the count that the topology asks for, or as many as the widest source that feeds it; one
    that exists already keeps what it has. Raises TopologyError for a source topic that does not exist, for one that
    exists with another count than the topology asks for, for topics that must have equal counts and have not, and for
    repartition topics that only feed each other.
    """
    groups = [topology.topics_of(group, application_id) for group in topology.sub_topologies]
    counts: dict[str, int] = {}
    internal = {topic for group in groups for topic in group.repartition}
    for topic in sorted({topic for group in groups for topic in group.sources} - internal):
        if topic not in existing:
            raise TopologyError(
                f"source topic {topic} does not exist: create it before the topology is started"
            )
        counts[topic] = existing[topic]
    enforced = {topic: count for group in groups for topic, count in group.partitions.items()}
    for topic, count in sorted(enforced.items()):
        if existing.get(topic, count) != count:
            raise TopologyError(
                f"repartition topic {topic} has {counted(existing[topic], 'partition')}, the topology asks for {count}: ask for as many "
                "as it has, give the repartition another name, or reset the application to go on"
            )
    enforced |= {topic: existing[topic] for topic in internal if topic in existing}
    counts |= enforced
    _count_repartition_topics(groups, internal, counts)
    for together in topology.copartition_groups(application_id):
        _make_equal(together, internal, enforced, counts)
    return counts


def _count_repartition_topics(
    groups: Iterable[SubTopologyTopics], internal: Iterable[str], counts: dict[str, int]
) -> None:
    """As many as the widest source of those who write it. Sub-topologies may feed each other, so this goes round."""
    waiting = sorted(topic for topic in internal if topic not in counts)
    while waiting:
        left = []
        for topic in waiting:
            feeding = [
                counts[source]
                for group in groups
                if topic in group.sinks
                for source in group.sources
                if source in counts
            ]
            if feeding:
                counts[topic] = max(feeding)
            else:
                left.append(topic)
        if len(left) == len(waiting):
            raise TopologyError(
                f"nobody can tell how many partitions {', '.join(left)} should have: say so with repartition(partitions=...), "
                "and where a pattern feeds it create a topic that matches"
            )
        waiting = left


def _make_equal(
    together: Iterable[str],
    internal: set[str],
    enforced: Mapping[str, int],
    counts: dict[str, int],
) -> None:
    """Give the repartition topics of a group the count of its other topics; TopologyError where that cannot be."""
    known = {topic: counts[topic] for topic in sorted(together) if topic in counts}
    fixed = {
        topic: count for topic, count in known.items() if topic not in internal or topic in enforced
    }
    if len(set(fixed.values())) > 1:
        raise TopologyError(
            f"topics that are joined need equal partition counts, these have {fixed}: "
            "repartition one of the streams, or create the topics again"
        )
    decided = next(iter(fixed.values()), max(known.values(), default=0))
    counts.update({topic: decided for topic in known if topic in internal})
