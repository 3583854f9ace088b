"""The topology members of a streams group run, as the coordinator keeps it: record 23."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated import streams_group_heartbeat as heartbeat
from millstream.protocol.generated.group_records import (
    CopartitionGroup,
    StreamsGroupTopologyValue,
    StreamsGroupTopologyValueTopicInfo,
    Subtopology,
    TopicConfig,
)


@dataclass(frozen=True, slots=True)
class StreamsTopology:
    """Equal topologies have equal sub-topologies under equal ids, in whatever order they were named."""

    epoch: int
    subtopologies: Mapping[str, Subtopology]
    subtopology_of_source: Mapping[str, str] = field(compare=False)
    """By topic, repartition topics included."""
    size: int = field(default=0, compare=False)
    """Sub-topologies and the topics that they name."""

    @classmethod
    def from_value(cls, value: StreamsGroupTopologyValue) -> StreamsTopology:
        subtopologies = {sub.subtopology_id: sub for sub in value.subtopologies}
        sources = {
            topic: subtopology_id
            for subtopology_id, sub in subtopologies.items()
            for topic in source_topics(sub)
        }
        size = len(sources) + sum(
            1 + len(sub.repartition_sink_topics) + len(sub.state_changelog_topics)
            for sub in value.subtopologies
        )
        return cls(value.epoch, subtopologies, sources, size)

    def required_topics(self) -> frozenset[str]:
        """Returns all topics that must exist before tasks can run."""
        return frozenset(
            topic
            for sub in self.subtopologies.values()
            for topic in (*source_topics(sub), *(info.name for info in sub.state_changelog_topics))
        )


def source_topics(subtopology: Subtopology) -> Iterator[str]:
    """Yields the topics its tasks read: those of others, then its own repartition topics."""
    yield from subtopology.source_topics
    for info in subtopology.repartition_source_topics:
        yield info.name


def topology_value(topology: heartbeat.Topology) -> StreamsGroupTopologyValue:
    """Returns the record of what a member brought."""
    return StreamsGroupTopologyValue(
        epoch=topology.epoch,
        subtopologies=[_subtopology(sub) for sub in topology.subtopologies],
    )


def _subtopology(subtopology: heartbeat.Subtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=list(subtopology.source_topics),
        source_topic_regex=list(subtopology.source_topic_regex),
        state_changelog_topics=[_topic_info(info) for info in subtopology.state_changelog_topics],
        repartition_sink_topics=list(subtopology.repartition_sink_topics),
        repartition_source_topics=[
            _topic_info(info) for info in subtopology.repartition_source_topics
        ],
        copartition_groups=[
            CopartitionGroup(
                list(group.source_topics),
                list(group.source_topic_regex),
                list(group.repartition_source_topics),
            )
            for group in subtopology.copartition_groups
        ],
    )


def _topic_info(info: heartbeat.TopicInfo) -> StreamsGroupTopologyValueTopicInfo:
    return StreamsGroupTopologyValueTopicInfo(
        name=info.name,
        partitions=info.partitions,
        replication_factor=info.replication_factor,
        topic_configs=[TopicConfig(config.key, config.value) for config in info.topic_configs],
    )


class TopologyProblem(Exception):
    """The topics in the cluster are not what the topology needs.

    Not an error of the request: the member is told and waits.
    """

    def __init__(self, code: StreamsGroupStatus, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
