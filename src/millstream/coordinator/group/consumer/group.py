"""A consumer group as the log has it, and what can be asked of it.

All of it is hard state but the fields that say so: only `replay` changes it. What the coordinator does about it is in
the modules beside this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.consumer import records
from millstream.coordinator.group.consumer.member import (
    LEAVING_EPOCH,
    ConsumerGroupMember,
    ConsumerGroupMemberState,
)
from millstream.coordinator.group.group import (
    BaseTimestamp,
    Committer,
    GroupKind,
    commit_timestamp,
)
from millstream.coordinator.record import CoordinatorRecord
from millstream.errors import (
    IllegalGeneration,
    KafkaError,
    NonEmptyGroup,
    StaleMemberEpoch,
    UnknownMemberId,
    UnsupportedVersion,
)
from millstream.model import Uuid
from millstream.protocol.enums import GroupState

FIRST_EPOCH: Final = 1
"""Of a group, and of its assignment, that nothing has been written of yet, as in Kafka 4.2 and later."""
FIRST_VERSION_WITH_MEMBER_EPOCH: Final = 9
"""Of OffsetCommit."""


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics a regular expression matched when it was last looked at."""

    topics: frozenset[str]
    version: int
    """Offset of the metadata it was matched against."""
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ConsumerSoftState:
    checked_version: int | None = None
    """The version of the topics that `metadata_hash` was last compared with."""


class ConsumerGroup:
    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ConsumerGroupMember] = {}
        self.static_members: dict[str, str] = {}
        """Member ids by instance id."""
        self.targets: dict[str, Partitions] = {}
        """By member id."""
        self.regexes: dict[str, ResolvedRegex] = {}
        self.has_partition_metadata = False
        """A record of Kafka 4.0 and older is still in the log; it is to be removed."""
        self.soft = ConsumerSoftState()
        self.is_matching = False
        """The expressions of the group are being matched with the topics; not in the log, and true whatever is
        written."""
        self._owners: dict[Uuid, dict[int, str]] = {}
        self._regex_subscribers: Counter[str] = Counter()

    # What `Group` asks for

    @property
    def kind(self) -> GroupKind:
        return GroupKind.CONSUMER

    @property
    def protocol_type_name(self) -> str:
        return "consumer"

    @property
    def state_name(self) -> str:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    @property
    def is_unused(self) -> bool:
        return not self.members

    def check_may_commit(self, committer: Committer) -> None:
        """A member may be behind, as long as it has owned each partition since the epoch it names (KIP-1251)."""
        epoch = committer.generation_or_epoch
        if epoch < 0 and not self.members:
            return
        if committer.is_transactional and committer.names_no_member:
            return
        member = self.member(committer.member_id)
        speaks_old = committer.api_version < FIRST_VERSION_WITH_MEMBER_EPOCH
        if speaks_old and not committer.is_transactional and not member.is_classic:
            raise UnsupportedVersion(
                "OffsetCommit version 9 or above must be used by members using the consumer group protocol"
            )
        if epoch > member.member_epoch:
            raise _stale(member, f"epoch {epoch} is newer than {member.member_epoch}")
        if epoch < member.member_epoch:
            for topic_id, partition in committer.partitions:
                owned_since = member.owned_epoch(topic_id, partition)
                if owned_since is None or epoch < owned_since:
                    raise _stale(
                        member, f"partition {partition} was not yet its own in epoch {epoch}"
                    )

    def check_may_fetch_offsets(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is None and member_epoch < 0:
            return  # an administrator, or a client that does not say
        member = self.member(member_id or "")
        if member_epoch != member.member_epoch:
            raise _stale(member, f"epoch {member_epoch} is not {member.member_epoch}")

    def check_may_delete_offsets(self) -> None:
        """Allows the request: partitions of topics that the group reads are refused one by one."""

    def check_may_delete(self) -> None:
        if self.members:
            raise NonEmptyGroup(f"group {self.group_id} has members; stop them first")

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.group_tombstones(self.group_id, self.members, self.regexes)

    def subscribed_topics(self) -> AbstractSet[str]:
        return topics_read_by(self.members.values(), self.regexes)

    def offset_base_timestamp(self) -> BaseTimestamp | None:
        return commit_timestamp

    # Members

    def member(self, member_id: str) -> ConsumerGroupMember:
        """Returns a member. Raises UnknownMemberId."""
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def static_member(self, instance_id: str | None) -> ConsumerGroupMember | None:
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def members_with(self, updated: ConsumerGroupMember) -> Mapping[str, ConsumerGroupMember]:
        """Returns the members as they will be: `updated` takes the place of its own older self, and of the
        static member it replaces.
        """
        members = dict(self.members)
        replaced = self.static_member(updated.instance_id)
        if replaced is not None:
            del members[replaced.member_id]
        members[updated.member_id] = updated
        return members

    def members_without(
        self, gone: Iterable[ConsumerGroupMember]
    ) -> Mapping[str, ConsumerGroupMember]:
        ids = {member.member_id for member in gone}
        return {key: member for key, member in self.members.items() if key not in ids}

    def target_of(self, member: ConsumerGroupMember) -> Partitions:
        """A static member that has just replaced another has the target of the other."""
        replaced = self.static_member(member.instance_id)
        member_id = member.member_id if replaced is None else replaced.member_id
        return self.targets.get(member_id, {})

    def assignor_wanted_by(self, members: Iterable[ConsumerGroupMember]) -> str | None:
        """Returns the assignor that most of those ask for who ask for any; the first one asked for
        when as many ask for another.
        """
        wanted = Counter(m.server_assignor for m in members if m.server_assignor is not None)
        return wanted.most_common(1)[0][0] if wanted else None

    @property
    def regex_subscribers(self) -> Mapping[str, int]:
        """The number of members that have each regular expression."""
        return self._regex_subscribers

    # Partitions

    def is_owned(self, topic_id: Uuid, partition: int) -> bool:
        """Tells whether a member has the partition and has not given it up."""
        return partition in self._owners.get(topic_id, {})

    def owners(self) -> Mapping[tuple[Uuid, int], str]:
        """Returns the member that has each partition and has not given it up."""
        return {(topic, p): owner for topic, ps in self._owners.items() for p, owner in ps.items()}

    def waits_for_others(self, member: ConsumerGroupMember) -> bool:
        """Tells whether some of a member's target is still owned by others."""
        return member.state is ConsumerGroupMemberState.UNRELEASED_PARTITIONS and any(
            partition not in member.assigned.get(topic_id, {})
            and self.is_owned(topic_id, partition)
            for topic_id, partitions in self.targets.get(member.member_id, {}).items()
            for partition in partitions
        )

    # Replay

    def put_member(self, member: ConsumerGroupMember) -> None:
        old = self.members.get(member.member_id)
        if old is not None:
            self._forget(old)
        self.members[member.member_id] = member
        if member.topic_regex:
            self._regex_subscribers[member.topic_regex] += 1
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                owners = self._owners.setdefault(topic_id, {})
                owners.update(dict.fromkeys(partitions, member.member_id))

    def clear_assignment(self, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is not None:
            gone = replace(
                member,
                member_epoch=LEAVING_EPOCH,
                previous_member_epoch=LEAVING_EPOCH,
                assigned={},
                pending_revocation={},
            )
            self.put_member(gone)

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._forget(member)

    def _forget(self, member: ConsumerGroupMember) -> None:
        """Only what is still its own: another may have taken its place or its partitions already."""
        instance_id = member.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]
        if member.topic_regex:
            self._regex_subscribers[member.topic_regex] -= 1
            if not self._regex_subscribers[member.topic_regex]:
                del self._regex_subscribers[member.topic_regex]
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                owners = self._owners.get(topic_id, {})
                for partition in partitions:
                    if owners.get(partition) == member.member_id:
                        del owners[partition]
                if not owners:
                    self._owners.pop(topic_id, None)


def _stale(member: ConsumerGroupMember, why: str) -> KafkaError:
    """In the words of the protocol that the member speaks."""
    refusal = IllegalGeneration if member.is_classic else StaleMemberEpoch
    return refusal(f"member {member.member_id}: {why}")


def topics_read_by(
    members: Iterable[ConsumerGroupMember], regexes: Mapping[str, ResolvedRegex]
) -> AbstractSet[str]:
    """Returns the topics that members read by name, and those that their regular expressions matched."""
    by_name: set[frozenset[str]] = set()
    wanted: set[str] = set()
    for member in members:
        by_name.add(member.topic_names)
        wanted.add(member.topic_regex)
    matched = [regexes[regex].topics for regex in wanted if regex in regexes]
    return frozenset().union(*by_name, *matched)
