"""Leads the classic group of an application: looks at the cluster, makes the internal topics, and has
`group_assignment` share out.

Only the member that the coordinator has chosen does this, once in each rebalance. Between two of them it keeps what is
on its way from one member to another.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from millstream.clients import Admin
from millstream.clients.admin import NewTopic, OffsetSpec, TopicDescription
from millstream.clients.group.core.classic_membership import JoinedMember
from millstream.errors import MillstreamError, TopicAlreadyExists, UnknownTopicOrPartition
from millstream.model import TopicPartition
from millstream.runtime import Clock
from millstream.streams.application.group.classic.group_assignment import (
    AgreedVersions,
    GroupMemberInfo,
    MemberAssignment,
    Work,
    assign,
    refused,
)
from millstream.streams.application.group.classic.source_topics import SourceTopics
from millstream.streams.application.group.classic.task_placement import PlacementPolicy
from millstream.streams.application.group.classic.user_data import AssignmentError
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.config import RackAwareStrategy, StreamsConfig
from millstream.streams.runtime.failures import is_retriable
from millstream.streams.runtime.renaming import require_same_names
from millstream.streams.runtime.reset import internal_topics
from millstream.streams.topology.plan import TopologyPlan, plan_topology
from millstream.streams.topology.topology import Topology

_LOGGER: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SharedOut:
    """The assignments by member. `error`: the reason why they have no tasks."""

    assignments: Mapping[str, MemberAssignment]
    partitions: Mapping[str, int]
    """Of the topics that the application reads."""
    error: MillstreamError | None = None


class TaskLeader:
    """Shares out the tasks of one application, which reads `sources`."""

    def __init__(
        self,
        topology: Topology,
        sources: SourceTopics,
        config: StreamsConfig,
        admin: Admin,
        clock: Clock,
    ) -> None:
        self._topology = topology
        self._sources = sources
        self._application_id = config.application_id
        self._policy = PlacementPolicy(
            config.num_standby_replicas,
            config.max_warmup_replicas,
            config.acceptable_recovery_lag,
            tuple(config.rack_aware_assignment_tags),
            RackAwareStrategy(config.rack_aware_assignment_strategy),
            config.rack_aware_assignment_traffic_cost,
            config.rack_aware_assignment_non_overlap_cost,
        )
        self._awaited: dict[str, frozenset[StreamsTaskId]] = {}
        """Where another member led meanwhile it is old, and then wrong at most about which of two spreads to prefer."""
        self._probing_interval_ms = config.probing_rebalance_interval_ms
        self._admin = admin
        self._clock = clock
        topics = {
            group: topology.topics_of(group, config.application_id)
            for group in topology.sub_topologies
        }
        self._topics = {group.id: each for group, each in topics.items() if not group.is_global}
        self._looked_at = frozenset(
            topic for each in topics.values() for topic in (*each.sources, *each.changelogs)
        )

    async def share_out(
        self, joined: Iterable[JoinedMember], subscribed: Collection[str]
    ) -> SharedOut:
        """Returns what members are told, which may be that there is an error.

        Raises what the cluster may not answer the next time.

        `subscribed`: the topics of all members, of which some brokers may not know yet.
        """
        members = {each.member_id: each for each in joined}
        infos: dict[str, GroupMemberInfo] = {}
        described: dict[str, TopicDescription] | None = None
        try:
            for member, each in members.items():
                infos[member] = GroupMemberInfo.decode(each.subscription)
            described = await self._described(subscribed)
            work = await self._work(described)
        except MillstreamError as error:
            if is_retriable(error):
                raise
            is_missing = described is not None and self._sources.external - described.keys()
            code = (
                AssignmentError.INCOMPLETE_SOURCE_TOPIC_METADATA
                if is_missing
                else AssignmentError.ASSIGNMENT_ERROR
            )
            versions = AgreedVersions.of(infos.values())
            return SharedOut(refused(members, code, versions), _counts(described or {}), error)
        probe_at_ms = self._clock.now().wall_ms + self._probing_interval_ms
        told = assign(work, infos, self._policy, probe_at_ms, self._awaited)
        self._awaited = {member: each.awaited for member, each in told.items()}
        return SharedOut(told, _counts(described))

    async def _described(self, subscribed: Collection[str]) -> dict[str, TopicDescription]:
        """Returns those of the application's topics that exist, of global stores among them.

        Raises TopologyError for one of two patterns.
        """
        looked_at = self._looked_at
        if self._sources.has_patterns:
            listed = await self._admin.list_topics()
            looked_at |= self._sources.matched([*listed, *subscribed])
        described = await self._admin.describe_topics(sorted(looked_at))
        for error in described.errors().values():
            if not isinstance(error, UnknownTopicOrPartition):
                raise error
        there = described.keys() - described.errors().keys()
        return {topic: described.result(topic) for topic in there}

    async def _work(self, described: Mapping[str, TopicDescription]) -> Work:
        existing = _counts(described)
        plan = plan_topology(self._topology, self._application_id, existing)
        await self._create_internal_topics(plan, existing)
        partitions = {
            StreamsTaskId(each.id, number): frozenset(
                TopicPartition(topic, number) for topic in topics
            )
            for each in plan.sub_topologies
            for number, topics in each.topics_of_tasks.items()
        }
        changelogs = {
            task: [
                TopicPartition(topic, task.partition)
                for topic in self._topics[task.sub_topology].changelogs
                if existing.get(topic, 0) > task.partition
            ]
            for task in partitions
            if self._topics[task.sub_topology].changelogs
        }
        wanted = {tp: OffsetSpec.LATEST for listed in changelogs.values() for tp in listed}
        written = {task: [*partitions[task], *changelogs.get(task, ())] for task in partitions}
        racks = await self._racks(written, described)
        if not wanted:
            return Work(partitions, dict.fromkeys(changelogs, 0), racks)
        ends = (await self._admin.list_offsets(wanted)).raise_errors()
        return Work(
            partitions,
            {
                task: sum(ends.result(tp).offset for tp in listed)
                for task, listed in changelogs.items()
            },
            racks,
        )

    async def _racks(
        self,
        partitions: Mapping[StreamsTaskId, Iterable[TopicPartition]],
        described: Mapping[str, TopicDescription],
    ) -> dict[StreamsTaskId, list[frozenset[str]]]:
        """Returns, by task, the racks of its partitions; of none where nobody asks.

        A rack that is not known makes that of its partition unknown.
        """
        if self._policy.rack_aware_strategy is RackAwareStrategy.NONE:
            return {}
        if any(tp.topic not in described for mine in partitions.values() for tp in mine):
            described = await self._described(described)  # some have just been created
        cluster = await self._admin.describe_cluster()
        rack_of = {node.node_id: node.rack or "" for node in cluster.nodes}

        def of(tp: TopicPartition) -> frozenset[str]:
            listed = described[tp.topic].partitions if tp.topic in described else []
            replicas = {
                rack_of.get(node, "")
                for each in listed
                if each.partition == tp.partition
                for node in each.replicas
            }
            return frozenset() if "" in replicas else frozenset(replicas)

        return {task: [of(tp) for tp in mine] for task, mine in partitions.items()}

    async def _create_internal_topics(
        self, plan: TopologyPlan, existing: Mapping[str, int]
    ) -> None:
        """Creates what is missing. Raises ConfigError where it may be missing because it was renamed."""
        missing = plan.missing_topics(existing)
        if not missing:
            return
        groups = [each.group_id for each in await self._admin.list_groups()]
        own = internal_topics(self._application_id, await self._admin.list_topics(), groups)
        require_same_names(self._application_id, [each.name for each in plan.internal_topics], own)
        _LOGGER.info("creating internal topics %s", ", ".join(each.name for each in missing))
        created = await self._admin.create_topics(
            [NewTopic(each.name, each.partitions, configs=dict(each.settings)) for each in missing]
        )
        for error in created.errors().values():
            if not isinstance(error, TopicAlreadyExists):  # the leader before may have
                raise error


def _counts(described: Mapping[str, TopicDescription]) -> dict[str, int]:
    """Returns the number of partitions of each topic."""
    return {topic: len(each.partitions) for topic, each in described.items()}
