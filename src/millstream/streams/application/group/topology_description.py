"""The topology as a member tells it to the coordinator, which creates the internal topics and shares out the tasks.

Pure.

KIP-1071, `StreamsGroupHeartbeatRequest.Topology`. It has regular expressions for source topics, which
coordinators of Kafka 4.3 refuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from millstream.protocol.generated.streams_group_heartbeat import (
    CopartitionGroup,
    KeyValue,
    Subtopology,
    TopicInfo,
)
from millstream.protocol.generated.streams_group_heartbeat import Topology as ToldTopology
from millstream.streams.errors import TopologyError
from millstream.streams.topology.topology import SubTopology, Topology

_EPOCH: Final = 0
_CHOSEN_BY_BROKER: Final = -1
"""As the replication factor: what default.replication.factor says."""


def describe(topology: Topology, application_id: str) -> ToldTopology:
    """Returns what the coordinator must know. Raises TopologyError for a source that reads by pattern."""
    for name, pattern in topology.patterns.items():
        raise TopologyError(
            f"source {name} reads topics by pattern ({pattern}), which the streams protocol of Kafka 4.3 does not support: "
            'run the application with group_protocol="classic"'
        )
    together = topology.copartition_groups(application_id)
    return ToldTopology(
        epoch=_EPOCH,
        subtopologies=[
            _described(topology, group, application_id, together)
            for group in topology.sub_topologies
            if not group.is_global
        ],
    )


def _described(
    topology: Topology,
    group: SubTopology,
    application_id: str,
    together: Iterable[frozenset[str]],
) -> Subtopology:
    mine = topology.topics_of(group, application_id)
    internal = {f"{application_id}-{topic}" for topic in topology.internal_topics}
    sources = sorted(set(mine.sources) - mine.repartition.keys())
    repartition = sorted(mine.repartition)
    return Subtopology(
        subtopology_id=str(group.id),
        source_topics=sources,
        source_topic_regex=[],
        state_changelog_topics=[
            _topic(name, 0, settings)
            for name, settings in sorted(mine.changelogs.items())
            if name not in mine.sources or _are_as_many(mine.sources, together)
        ],
        repartition_sink_topics=sorted(internal.intersection(mine.sinks)),
        repartition_source_topics=[
            _topic(name, mine.partitions.get(name, 0), mine.repartition[name])
            for name in repartition
        ],
        copartition_groups=[
            _indexes(topics, sources, repartition)
            for topics in together
            if topics <= set(mine.sources)
        ],
    )


def _are_as_many(sources: Iterable[str], together: Iterable[frozenset[str]]) -> bool:
    """Whether all sources of tasks are sure to have as many partitions as there are tasks.

    The coordinator wants that of changelogs, those that are source topics included. Told of one, it
    gives the tasks standbys.
    """
    names = set(sources)
    return len(names) == 1 or any(names <= topics for topics in together)


def _topic(name: str, partitions: int, settings: Mapping[str, str]) -> TopicInfo:
    """Describes an internal topic. `partitions` is 0 where the coordinator works it out."""
    return TopicInfo(
        name=name,
        partitions=partitions,
        replication_factor=_CHOSEN_BY_BROKER,
        topic_configs=[KeyValue(key, value) for key, value in sorted(settings.items())],
    )


def _indexes(
    topics: frozenset[str], sources: Sequence[str], repartition: Sequence[str]
) -> CopartitionGroup:
    return CopartitionGroup(
        source_topics=[number for number, topic in enumerate(sources) if topic in topics],
        source_topic_regex=[],
        repartition_source_topics=[
            number for number, topic in enumerate(repartition) if topic in topics
        ],
    )
