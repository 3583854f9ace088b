"""A topology set against the topics that exist: which tasks there are, and which internal topics have to be made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from millstream.coordinator.assignors.partition_assignor import TaskId, Tasks
from millstream.coordinator.assignors.sticky_task_assignor import SubtopologyTasks
from millstream.coordinator.group.streams.partition_counts import (
    PartitionCounts,
    decide_partition_counts,
    number_of_tasks,
)
from millstream.coordinator.group.streams.topology import StreamsTopology, TopologyProblem
from millstream.errors import InvalidRequest, StreamsInvalidTopology
from millstream.metadata.image import TopicsImage
from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated.create_topics import CreatableTopic, CreatableTopicConfig
from millstream.protocol.generated.group_records import (
    StreamsGroupTopologyValueTopicInfo,
    Subtopology,
)

_TOPICS_TOLD_MAX: Final = 3
"""Ours: a sentence that a person reads."""
_BROKER_DEFAULT: Final = -1


@dataclass(frozen=True, slots=True)
class ConfiguredInternalTopic:
    """A changelog or repartition topic as it has to be. Replication factor 0 means the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]

    def creatable(self) -> CreatableTopic:
        return CreatableTopic(
            name=self.name,
            num_partitions=self.partitions,
            replication_factor=self.replication_factor or _BROKER_DEFAULT,
            configs=[CreatableTopicConfig(name, value) for name, value in self.configs.items()],
        )


@dataclass(frozen=True, slots=True)
class ConfiguredSubtopology:
    task_count: int
    source_topics: Sequence[str]
    repartition_sink_topics: Sequence[str]
    repartition_source_topics: Sequence[ConfiguredInternalTopic]
    state_changelog_topics: Sequence[ConfiguredInternalTopic]

    @property
    def is_stateful(self) -> bool:
        return bool(self.state_changelog_topics)


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    epoch: int
    metadata_hash: int
    topics: TopicsImage
    """What it was set against."""
    subtopologies: Mapping[str, ConfiguredSubtopology] = field(default_factory=dict)
    """By id, in order of ids; none when `problem` came before them."""
    missing_topics: Mapping[str, ConfiguredInternalTopic] = field(default_factory=dict)
    """By name, in order of names."""
    problem: TopologyProblem | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None

    def tasks(self) -> list[SubtopologyTasks]:
        return [
            SubtopologyTasks(subtopology_id, sub.task_count, sub.is_stateful)
            for subtopology_id, sub in self.subtopologies.items()
        ]

    def check_exist(self, tasks: Tasks) -> None:
        """Raises InvalidRequest for a task that this topology does not have."""
        for task in tasks.all:
            self._check_exists(task)

    def _check_exists(self, task: TaskId) -> None:
        sub = self.subtopologies.get(task.subtopology_id)
        if sub is None:
            raise InvalidRequest(
                f"Subtopology {task.subtopology_id} does not exist in the topology."
            )
        if not 0 <= task.partition < sub.task_count:
            raise InvalidRequest(
                f"Task {task.partition} for subtopology {task.subtopology_id} is invalid. "
                f"Number of tasks for this subtopology: {sub.task_count}"
            )


def configure_topology(
    topology: StreamsTopology, topics: TopicsImage, metadata_hash: int
) -> ConfiguredTopology:
    """Configures the topics of a topology.

    Raises StreamsInvalidTopology. Topics that are missing or do not fit are the result's `problem`.
    """
    try:
        _check_sources_exist(topology, topics)
        counts = decide_partition_counts(topology, topics)
        subtopologies = {
            subtopology_id: _configured(sub, counts)
            for subtopology_id, sub in sorted(topology.subtopologies.items())
        }
        missing = _missing_topics(subtopologies.values(), topics)
    except TopologyProblem as found:
        return ConfiguredTopology(topology.epoch, metadata_hash, topics, problem=found)
    problem = None
    if missing:
        told = _summary(list(missing))
        problem = TopologyProblem(
            StreamsGroupStatus.MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {told}"
        )
    return ConfiguredTopology(
        topology.epoch, metadata_hash, topics, subtopologies, missing, problem
    )


def _check_sources_exist(topology: StreamsTopology, topics: TopicsImage) -> None:
    wanted = {topic for sub in topology.subtopologies.values() for topic in sub.source_topics}
    missing = sorted(topic for topic in wanted if topic not in topics)
    if missing:
        raise TopologyProblem(
            StreamsGroupStatus.MISSING_SOURCE_TOPICS,
            f"Source topics {_summary(missing)} are missing.",
        )


def _configured(subtopology: Subtopology, counts: PartitionCounts) -> ConfiguredSubtopology:
    return ConfiguredSubtopology(
        number_of_tasks(subtopology, counts),
        tuple(subtopology.source_topics),
        tuple(subtopology.repartition_sink_topics),
        tuple(_internal_topic(info, counts) for info in subtopology.repartition_source_topics),
        tuple(_internal_topic(info, counts) for info in subtopology.state_changelog_topics),
    )


def _internal_topic(
    info: StreamsGroupTopologyValueTopicInfo, counts: PartitionCounts
) -> ConfiguredInternalTopic:
    """A topic whose number the topology fixes gets it, whatever its neighbours have."""
    partitions = info.partitions or counts.decided(info.name)
    if partitions is None or partitions < 1:
        raise StreamsInvalidTopology(f"Number of partitions must be set for topic {info.name}")
    configs = {config.key: config.value for config in info.topic_configs}
    return ConfiguredInternalTopic(info.name, partitions, info.replication_factor, configs)


def _missing_topics(
    subtopologies: Iterable[ConfiguredSubtopology], topics: TopicsImage
) -> dict[str, ConfiguredInternalTopic]:
    """Raises TopologyProblem for a topic that exists with another number of partitions."""
    wanted = {
        topic.name: topic
        for sub in subtopologies
        for topic in (*sub.repartition_source_topics, *sub.state_changelog_topics)
    }
    missing = {}
    for name, topic in sorted(wanted.items()):
        existing = topics.by_name.get(name)
        if existing is None:
            missing[name] = topic
        elif len(existing.partitions) != topic.partitions:
            raise TopologyProblem(
                StreamsGroupStatus.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {name} has different number of partitions: "
                f"expected {topic.partitions}, found {len(existing.partitions)}",
            )
    return missing


def _summary(names: Sequence[str]) -> str:
    told = ", ".join(names[:_TOPICS_TOLD_MAX])
    more = len(names) - _TOPICS_TOLD_MAX
    return f"{told} and {more} additional topics" if more > 0 else told
