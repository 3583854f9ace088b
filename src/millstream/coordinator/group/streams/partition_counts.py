"""The partition counts of a topology's internal topics, derived as Kafka's broker does.

Repartition topics take the largest count among the sources of those who write them, copartitioned topics the same
count, changelogs one partition for each task. Topics that exist already count as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from millstream.coordinator.group.streams.topology import (
    StreamsTopology,
    TopologyProblem,
    source_topics,
)
from millstream.errors import StreamsInvalidTopology
from millstream.metadata.image import TopicsImage
from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated.group_records import CopartitionGroup, Subtopology


class PartitionCounts:
    """Partition counts of topics that exist, and those decided for topics that do not."""

    def __init__(self, topics: TopicsImage) -> None:
        self._topics = topics
        self._decided: dict[str, int] = {}

    def decide(self, counts: Mapping[str, int]) -> None:
        self._decided.update(counts)

    def decided(self, topic: str) -> int | None:
        return self._decided.get(topic)

    def find(self, topic: str) -> int | None:
        existing = self._topics.by_name.get(topic)
        return self._decided.get(topic) if existing is None else len(existing.partitions)

    def get(self, topic: str) -> int:
        """Returns the number of partitions of a topic.

        Raises StreamsInvalidTopology for a topic that nothing gives a number of partitions.
        """
        count = self.find(topic)
        if count is None:
            raise StreamsInvalidTopology(f"Number of partitions is not set for topic: {topic}")
        return count


def decide_partition_counts(topology: StreamsTopology, topics: TopicsImage) -> PartitionCounts:
    """Decides the partition counts of internal topics. Source topics that are not internal must exist.

    Raises StreamsInvalidTopology, TopologyProblem.
    """
    counts = PartitionCounts(topics)
    subtopologies = topology.subtopologies.values()
    counts.decide(_repartition_counts(subtopologies, counts))
    fixed = {
        info.name
        for sub in subtopologies
        for info in sub.repartition_source_topics
        if info.partitions
    }
    flexible = {info.name for sub in subtopologies for info in sub.repartition_source_topics}
    for sub in subtopologies:
        for group in sub.copartition_groups:
            counts.decide(_copartitioned(_topics_of(sub, group), fixed, flexible - fixed, counts))
    for sub in subtopologies:
        task_count = number_of_tasks(sub, counts)
        counts.decide({info.name: task_count for info in sub.state_changelog_topics})
    return counts


def number_of_tasks(subtopology: Subtopology, counts: PartitionCounts) -> int:
    """Returns the number of tasks: one for each partition of the largest source topic."""
    sizes = [counts.get(topic) for topic in source_topics(subtopology)]
    if not sizes:
        name = subtopology.subtopology_id
        raise StreamsInvalidTopology(f"No source topics found for subtopology {name}")
    return max(sizes)


def _repartition_counts(
    subtopologies: Collection[Subtopology], counts: PartitionCounts
) -> dict[str, int]:
    """Sub-topologies may feed each other, so this goes round until nothing is left to decide."""
    found = {
        info.name: info.partitions
        for sub in subtopologies
        for info in sub.repartition_source_topics
        if info.partitions
    }
    undecided = [(topic, sub) for sub in subtopologies for topic in sub.repartition_sink_topics]
    while undecided:
        waiting = []
        for topic, writer in undecided:
            count = _largest_source(writer, found, counts)
            if count is None and topic not in found:
                waiting.append((topic, writer))
            elif count is not None:
                found.setdefault(topic, count)
        if len(waiting) == len(undecided):
            raise StreamsInvalidTopology(
                "Failed to compute number of partitions for all repartition topics. "
                "There may be loops in the topology that cannot be resolved."
            )
        undecided = waiting
    if any(
        info.name not in found for sub in subtopologies for info in sub.repartition_source_topics
    ):
        raise StreamsInvalidTopology(
            "Failed to compute number of partitions for all repartition topics, "
            "because a repartition source topic is never used as a sink topic."
        )
    return found


def _largest_source(
    writer: Subtopology, found: Mapping[str, int], counts: PartitionCounts
) -> int | None:
    own = (found.get(info.name) for info in writer.repartition_source_topics)
    others = (counts.find(topic) for topic in writer.source_topics)
    return max((size for size in (*own, *others) if size is not None), default=None)


def _topics_of(subtopology: Subtopology, group: CopartitionGroup) -> set[str]:
    """The group names its topics by their place in the sub-topology's lists."""
    sources = subtopology.source_topics
    repartitions = [info.name for info in subtopology.repartition_source_topics]
    return {
        *_at_places(sources, group.source_topics),
        *_at_places(repartitions, group.repartition_source_topics),
    }


def _at_places(names: list[str], places: Iterable[int]) -> list[str]:
    chosen = list(places)
    if any(not 0 <= place < len(names) for place in chosen):
        raise StreamsInvalidTopology("a copartition group names a topic that is not in the list")
    return [names[place] for place in chosen]


def _copartitioned(
    group: set[str], fixed: set[str], flexible: set[str], counts: PartitionCounts
) -> dict[str, int]:
    """The one count of the repartition topics in `group`. Raises TopologyProblem when its topics cannot agree."""
    repartitions = {topic: counts.get(topic) for topic in group & (fixed | flexible)}
    others = {topic: counts.get(topic) for topic in group - repartitions.keys()}
    if not group:
        return {}
    if others:
        count = _one_count(others, others)
    elif fixed:
        count = _one_count({topic: counts.get(topic) for topic in fixed}, repartitions)
    else:
        count = max(repartitions.values())
    for topic, size in repartitions.items():
        if topic in fixed and size != count:
            raise TopologyProblem(
                StreamsGroupStatus.INCORRECTLY_PARTITIONED_TOPICS,
                f"Number of partitions [{size}] of repartition topic [{topic}] doesn't match "
                f"number of partitions [{count}] of the source topic.",
            )
    return dict.fromkeys(repartitions, count)


def _one_count(counts: Mapping[str, int], told: Mapping[str, int]) -> int:
    distinct = set(counts.values())
    if len(distinct) > 1:
        listed = ", ".join(f"{topic}={size}" for topic, size in sorted(told.items()))
        raise TopologyProblem(
            StreamsGroupStatus.INCORRECTLY_PARTITIONED_TOPICS,
            f"Following topics do not have the same number of partitions: [{{{listed}}}]",
        )
    return distinct.pop()
