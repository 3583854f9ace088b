"""Endpoint information: which process answers interactive queries for which partitions."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.coordinator.assignors.partition_assignor import TaskId
from millstream.coordinator.group.streams.configured_topology import ConfiguredTopology
from millstream.coordinator.group.streams.member import StreamsGroupMember
from millstream.coordinator.group.streams.records import by_subtopology
from millstream.metadata.image import TopicsImage
from millstream.protocol.generated import streams_group_heartbeat as wire


def partitions_by_endpoint(
    members: Iterable[StreamsGroupMember], topology: ConfiguredTopology
) -> list[wire.EndpointToPartitions]:
    """Returns one entry for each member that serves queries."""
    return [
        wire.EndpointToPartitions(
            user_endpoint=wire.Endpoint(endpoint.host, endpoint.port),
            active_partitions=_partitions(member.current.assigned.active, topology),
            standby_partitions=_partitions(member.current.assigned.standby, topology),
        )
        for member in members
        if (endpoint := member.metadata.user_endpoint) is not None
    ]


def _partitions(tasks: Iterable[TaskId], topology: ConfiguredTopology) -> list[wire.TopicPartition]:
    """A task reads the partition of its number of every source topic that has so many."""
    found = []
    for subtopology_id, partitions in by_subtopology(tasks):
        sub = topology.subtopologies.get(subtopology_id)
        if sub is None:
            continue  # the topology cannot run at the moment
        repartitions = (topic.name for topic in sub.repartition_source_topics)
        for name in sorted({*sub.source_topics, *repartitions}):
            size = _partition_count(name, topology.topics)
            found.append(wire.TopicPartition(name, [p for p in partitions if p < size]))
    return found


def _partition_count(topic: str, topics: TopicsImage) -> int:
    existing = topics.by_name.get(topic)
    return 0 if existing is None else len(existing.partitions)
