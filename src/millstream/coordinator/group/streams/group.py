"""A streams group: what the log says of it, and what its coordinator knows besides.

Hard state changes in `replay` alone. Soft state (the topology set against today's topics, a requested
shutdown, the epoch of endpoint information) is lost with the coordinator, as in Kafka, and comes back with
the members' next heartbeats.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from millstream.coordinator.assignors.partition_assignor import TaskId, Tasks
from millstream.coordinator.group.group import (
    BaseTimestamp,
    Committer,
    GroupKind,
    commit_timestamp,
)
from millstream.coordinator.group.streams import records
from millstream.coordinator.group.streams.configured_topology import ConfiguredTopology
from millstream.coordinator.group.streams.member import StreamsGroupMember
from millstream.coordinator.group.streams.task_owners import TaskOwners
from millstream.coordinator.group.streams.topology import StreamsTopology
from millstream.coordinator.record import CoordinatorRecord
from millstream.errors import (
    NonEmptyGroup,
    StaleMemberEpoch,
    UnknownMemberId,
    UnsupportedVersion,
)
from millstream.model import Uuid
from millstream.protocol.enums import GroupState

FIRST_GROUP_EPOCH: Final = 1
NOT_VALIDATED: Final = -1
_FIRST_VERSION_WITH_MEMBER_EPOCHS: Final = 9


@dataclass(frozen=True, slots=True)
class StreamsSoftState:
    configured_topology: ConfiguredTopology | None = None
    """The topology set against the topics of today."""
    endpoint_information_epoch: int = 0


class StreamsGroup:
    """Satisfies `coordinator.group.group.Group`."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        # Hard state
        self.epoch = FIRST_GROUP_EPOCH
        self.assignment_epoch = FIRST_GROUP_EPOCH
        self.assignment_timestamp_ms = 0
        self.metadata_hash = 0
        self.validated_topology_epoch = NOT_VALIDATED
        self.last_assignment_configs: dict[str, str] = {}
        self.topology: StreamsTopology | None = None
        self.members: dict[str, StreamsGroupMember] = {}
        self.target_assignment: dict[str, Tasks] = {}
        self.owners: Final = TaskOwners()
        # Soft state
        self.soft = StreamsSoftState()
        self.shutdown_requested_by: str | None = None

    # What every group can say of itself

    @property
    def kind(self) -> GroupKind:
        return GroupKind.STREAMS

    @property
    def protocol_type_name(self) -> str:
        return GroupKind.STREAMS.value

    @property
    def state_name(self) -> str:
        return self.state

    @property
    def is_unused(self) -> bool:
        return not self.members

    def check_may_commit(self, committer: Committer) -> None:
        """A member that is behind in epochs is refused: the task may be another member's by now."""
        if committer.generation_or_epoch < 0 and not self.members:
            return
        if committer.is_transactional and committer.names_no_member:
            return
        member = self.member(committer.member_id)
        if (
            not committer.is_transactional
            and committer.api_version < _FIRST_VERSION_WITH_MEMBER_EPOCHS
        ):
            raise UnsupportedVersion(
                "OffsetCommit version 9 or above must be used by members using the streams group protocol"
            )
        if committer.generation_or_epoch > member.epoch:
            raise StaleMemberEpoch(
                f"Received member epoch {committer.generation_or_epoch} is newer than current "
                f"member epoch {member.epoch}."
            )
        if committer.generation_or_epoch < member.epoch:
            self._check_held_since(member, committer)

    def check_may_fetch_offsets(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is not None or member_epoch >= 0:
            member = self.member(member_id or "")
            if member.epoch != member_epoch:
                raise StaleMemberEpoch(
                    f"The received member epoch {member_epoch} does not match the expected member "
                    f"epoch {member.epoch}."
                )

    def check_may_delete_offsets(self) -> None:
        """Allows the request: topics that the group reads are refused one by one."""

    def check_may_delete(self) -> None:
        if self.members:
            raise NonEmptyGroup

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.group_tombstones(self.group_id, self.members)

    def subscribed_topics(self) -> AbstractSet[str]:
        if not self.members or self.topology is None:
            return frozenset()
        return self.topology.subtopology_of_source.keys()

    def offset_base_timestamp(self) -> BaseTimestamp | None:
        return commit_timestamp

    # Questions of its own kind

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return GroupState.NOT_READY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(m.current.is_reconciled_to(self.assignment_epoch) for m in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def member(self, member_id: str) -> StreamsGroupMember:
        """Returns a member. Raises UnknownMemberId."""
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def target_of(self, member_id: str) -> Tasks:
        return self.target_assignment.get(member_id, Tasks())

    def _check_held_since(self, member: StreamsGroupMember, committer: Committer) -> None:
        """A commit may be older than the answer to the last heartbeat, for tasks that the
        member held before it already.
        """
        current = member.current
        held = {**current.pending_revocation.active, **current.assigned.active}
        for topic_id, partition in committer.partitions:
            assignment_epoch = held.get(self._task_reading(topic_id, partition))
            if assignment_epoch is None or committer.generation_or_epoch < assignment_epoch:
                raise StaleMemberEpoch(
                    f"Received member epoch {committer.generation_or_epoch} is older than the "
                    "assignment of the task that reads the partition."
                )

    def _task_reading(self, topic_id: Uuid, partition: int) -> TaskId:
        """Raises StaleMemberEpoch for a topic that no task reads, as far as is known."""
        configured = self.configured_topology
        topic = None if configured is None else configured.topics.by_id.get(topic_id)
        sources = {} if self.topology is None else self.topology.subtopology_of_source
        if topic is None or topic.name not in sources:
            raise StaleMemberEpoch("The topic is not in the topology.")
        return TaskId(sources[topic.name], partition)

    # Soft state

    @property
    def configured_topology(self) -> ConfiguredTopology | None:
        return self.soft.configured_topology

    @property
    def endpoint_information_epoch(self) -> int:
        return self.soft.endpoint_information_epoch

    def request_shutdown(self, member_id: str) -> None:
        """Notes who asks for a shutdown: the first one is the one that all members are told of."""
        if self.shutdown_requested_by is None:
            self.shutdown_requested_by = member_id

    # What replay does

    def put_member(self, member: StreamsGroupMember) -> None:
        self._let_go(member.member_id)
        self.members[member.member_id] = member
        self.owners.add(member)

    def remove_member(self, member_id: str) -> None:
        """Removes a member. A shutdown is over when all members have gone."""
        self._let_go(member_id)
        self.members.pop(member_id, None)
        if not self.members:
            self.shutdown_requested_by = None

    def _let_go(self, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is not None:
            self.owners.remove(member)
