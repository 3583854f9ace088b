"""A share group as the log has it, and what can be asked of it.

Hard state but for `soft`: only `replay` changes it. What the coordinator does about it is in the modules beside this
one; what the group has done with its partitions is the share coordinator's.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.group import BaseTimestamp, Committer, GroupKind
from millstream.coordinator.group.share.member import ShareGroupMember
from millstream.coordinator.group.share.records import group_tombstones
from millstream.coordinator.group.share.state_partitions import StatePartitions, union_of_all
from millstream.coordinator.record import CoordinatorRecord
from millstream.errors import GroupIdNotFound, NonEmptyGroup, UnknownMemberId
from millstream.model import Uuid
from millstream.protocol.enums import GroupState

FIRST_EPOCH: Final = 1
"""Of a group that nothing has been written of yet, as in Kafka 4.2 and later."""


@dataclass(frozen=True, slots=True)
class ShareSoftState:
    asked_to_initialize_ms: Mapping[Uuid, int] = field(default_factory=dict)
    """When the share coordinator was last asked for a topic, on the monotonic clock. What only the log knows was asked
    when it is first looked at."""
    checked_version: int | None = None
    """The version of the topics that `metadata_hash` was last compared with."""


class ShareGroup:
    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ShareGroupMember] = {}
        self.targets: dict[str, Partitions] = {}
        """By member id."""
        self.state_partitions = StatePartitions()
        self.soft = ShareSoftState()

    # What `Group` asks for

    @property
    def kind(self) -> GroupKind:
        return GroupKind.SHARE

    @property
    def protocol_type_name(self) -> str:
        return "share"

    @property
    def state_name(self) -> str:
        return GroupState.STABLE if self.members else GroupState.EMPTY

    @property
    def is_unused(self) -> bool:
        """Whether time may delete the group: never, as its state is with the share coordinator.

        An administrator deletes it.
        """
        return False

    def check_may_commit(self, committer: Committer) -> None:
        """Raises GroupIdNotFound: share groups have no committed offsets."""
        del committer
        raise self._no_offsets()

    def check_may_fetch_offsets(self, member_id: str | None, member_epoch: int) -> None:
        """Raises GroupIdNotFound."""
        del member_id, member_epoch
        raise self._no_offsets()

    def check_may_delete_offsets(self) -> None:
        """Raises GroupIdNotFound."""
        raise self._no_offsets()

    def check_may_delete(self) -> None:
        """Raises NonEmptyGroup."""
        if self.members:
            raise NonEmptyGroup(f"group {self.group_id} has members; stop them first")

    def tombstones(self) -> list[CoordinatorRecord]:
        return group_tombstones(self.group_id, self.members)

    def subscribed_topics(self) -> AbstractSet[str]:
        return topics_read_by(self.members)

    def offset_base_timestamp(self) -> BaseTimestamp | None:
        return None

    def _no_offsets(self) -> GroupIdNotFound:
        return GroupIdNotFound(f"Group {self.group_id} is not a consumer group.")

    # Questions

    def member(self, member_id: str) -> ShareGroupMember:
        """Returns a member. Raises UnknownMemberId."""
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def members_with(self, member: ShareGroupMember) -> dict[str, ShareGroupMember]:
        return {**self.members, member.member_id: member}

    def members_without(self, member: ShareGroupMember) -> dict[str, ShareGroupMember]:
        return {m: other for m, other in self.members.items() if m != member.member_id}

    def assigned_to_members(self) -> Partitions:
        return union_of_all(self.targets.values())


def topics_read_by(members: Mapping[str, ShareGroupMember]) -> frozenset[str]:
    return frozenset[str]().union(*(member.topic_names for member in members.values()))
