"""A classic group: its members, what they have in common, and the state they are in.

Owns every change of membership, so that its counts are right. Knows nothing of requests, timers or records: the modules
`join`, `sync`, `heartbeat`, `leave`, `removal` and `rebalance` decide, this carries out. `assignments` is hard state:
only the replay of a record sets it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from millstream.coordinator.group.classic.member import (
    CONSUMER_PROTOCOL_TYPE,
    ClassicGroupMember,
    JoinSettings,
    topics_in,
)
from millstream.coordinator.group.group import (
    BaseTimestamp,
    Committer,
    GroupKind,
    commit_timestamp,
)
from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Token
from millstream.errors import (
    FencedInstanceId,
    IllegalGeneration,
    NonEmptyGroup,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.group_records import GroupMetadataKey

_S = GroupState
_REMOVED: Final = "the group is deleted, or holds nothing any more"

TRANSITIONS: Final[Mapping[GroupState, Mapping[GroupState, str]]] = MappingProxyType(
    {
        _S.EMPTY: {
            _S.PREPARING_REBALANCE: "a member joins",
            _S.DEAD: _REMOVED,
        },
        _S.PREPARING_REBALANCE: {
            _S.COMPLETING_REBALANCE: "all members have joined, or their time to join is over",
            _S.EMPTY: "the time to join is over and no member has joined",
            _S.DEAD: _REMOVED,
        },
        _S.COMPLETING_REBALANCE: {
            _S.STABLE: "the assignment of the leader is stored",
            _S.PREPARING_REBALANCE: "a member joins, leaves or falls silent, or the assignment cannot be stored",
            _S.DEAD: _REMOVED,
        },
        _S.STABLE: {
            _S.PREPARING_REBALANCE: "a member joins, leaves or falls silent, or its leader joins again",
            _S.DEAD: _REMOVED,
        },
        _S.DEAD: {_S.DEAD: _REMOVED},
    }
)
"""What leads from each state to each that may follow."""


def can_prepare_rebalance(state: GroupState) -> bool:
    return _S.PREPARING_REBALANCE in TRANSITIONS[state]


_BYTES_OF_AN_ID: Final = 500
"""With the timer of its session."""


@dataclass(frozen=True, slots=True)
class InitialDelay:
    """A new group waits for more members before its first generation. Each newcomer prolongs the wait."""

    delay_ms: int
    remaining_ms: int
    """How much longer it may be prolonged."""


class ClassicGroup:
    """Generation 0 is a group that has never had members."""

    def __init__(self, group_id: str, state_timestamp_ms: int) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.EMPTY
        self.state_timestamp_ms = state_timestamp_ms
        self.generation = 0
        self.protocol_type: str | None = None
        """None for a group that only ever stored offsets."""
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicGroupMember] = {}
        """In order of joining."""
        self.pending_members: set[str] = set()
        """Ids handed out with MEMBER_ID_REQUIRED that have not joined yet. Changed by `expect` and `expect_no_more`."""
        self.member_bytes = 0
        """What its members, and the ids that were handed out, take in memory, about."""
        self.pending_sync: set[str] = set()
        """Members of this generation that have not sent SyncGroup yet."""
        self.assignments: Mapping[str, bytes] = {}
        """By member id, as the log has them."""
        self.initial_delay: InitialDelay | None = None
        self.newcomer_during_delay = False
        self._static_members: dict[str, str] = {}
        self._speakers: Counter[str] = Counter()
        self._joining = 0

    # States

    def transition_to(self, state: GroupState, timestamp_ms: int) -> None:
        assert state in TRANSITIONS[self.state], f"a {self.state} group cannot become {state}"
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = timestamp_ms

    def begin_generation(self, timestamp_ms: int) -> None:
        """Begins a generation: all that are to be in it are members now."""
        self.generation += 1
        self.pending_sync.clear()
        self.initial_delay = None
        if self.members:
            self.protocol = self.select_protocol()
            self.transition_to(GroupState.COMPLETING_REBALANCE, timestamp_ms)
        else:
            self.protocol = None
            self.transition_to(GroupState.EMPTY, timestamp_ms)

    # Questions

    def member(self, member_id: str, group_instance_id: str | None) -> ClassicGroupMember:
        """Returns a member.

        Raises UnknownMemberId, or FencedInstanceId when the instance id belongs to another member by now.
        """
        if group_instance_id is not None:
            owner = self._static_members.get(group_instance_id)
            if owner is None:
                raise UnknownMemberId
            if owner != member_id:
                raise FencedInstanceId
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId
        return member

    def static_member_id(self, group_instance_id: str) -> str | None:
        return self._static_members.get(group_instance_id)

    @property
    def joining_count(self) -> int:
        return self._joining

    @property
    def everyone_joined(self) -> bool:
        return self._joining == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest any member asks for."""
        return max(
            (member.settings.rebalance_timeout_ms for member in self.members.values()), default=0
        )

    def supports(self, protocol_type: str, names: Collection[str]) -> bool:
        """Whether a member that speaks `names` can be in this group: all others share at least one of them."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(names)
        return protocol_type == self.protocol_type and any(
            self._speakers[name] == len(self.members) for name in names
        )

    def select_protocol(self) -> str:
        """Selects the protocol.

        Each member votes for its favourite among the protocols all speak; a tie goes to the earlier first vote.
        """
        candidates = [name for name, count in self._speakers.items() if count == len(self.members)]
        votes = Counter(member.settings.favourite(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    # What every kind of group can say of itself

    @property
    def kind(self) -> GroupKind:
        return GroupKind.CLASSIC

    @property
    def protocol_type_name(self) -> str:
        return self.protocol_type or ""

    @property
    def state_name(self) -> str:
        return self.state

    @property
    def is_unused(self) -> bool:
        return self.state is GroupState.EMPTY and not self.pending_members

    def check_may_commit(self, committer: Committer) -> None:
        generation = committer.generation_or_epoch
        if generation < 0 and self.state is GroupState.EMPTY:
            return  # an administrator, or a consumer that assigns itself
        names_a_member = bool(committer.member_id) or committer.group_instance_id is not None
        if generation < 0 and not names_a_member:
            if committer.is_transactional:
                return  # a producer that does not say for whom it commits (before KIP-447)
            raise UnknownMemberId(f"group {self.group_id} has members: only they may commit")
        self.member(committer.member_id, committer.group_instance_id)
        if generation != self.generation:
            raise IllegalGeneration
        if self.state is GroupState.COMPLETING_REBALANCE and not committer.is_transactional:
            raise RebalanceInProgress  # its partitions may be another member's by now; it has not been told yet

    def check_may_fetch_offsets(self, member_id: str | None, member_epoch: int) -> None:
        """Allows any client to fetch."""

    def check_may_delete_offsets(self) -> None:
        """Raises NonEmptyGroup where members may read any topic: only the consumer protocol tells which they read."""
        if self.members and self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            raise NonEmptyGroup(f"group {self.group_id} has members; stop them first")

    def check_may_delete(self) -> None:
        if self.state is not GroupState.EMPTY:
            raise NonEmptyGroup(f"group {self.group_id} has members; stop them first")

    def tombstones(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(GroupMetadataKey(group=self.group_id), None)]

    @property
    def protocol_count(self) -> int:
        """The number of protocols of all members together."""
        return len(self._speakers)

    def subscribed_topics(self) -> AbstractSet[str]:
        """Returns the topics that members read.

        Empty also for other protocol types, and metadata that is no subscription.
        """
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE or self.protocol is None:
            return frozenset()
        return topics_in(
            member.settings.metadata(self.protocol) for member in self.members.values()
        )

    def offset_base_timestamp(self) -> BaseTimestamp | None:
        """A group that had members keeps everything until it has been empty for the retention time (KIP-211).

        A group in use only lets go of topics it no longer reads, which can be told of the consumer protocol alone.
        """
        if self.protocol_type is None:
            return commit_timestamp
        if self.state is GroupState.EMPTY:
            empty_since = self.state_timestamp_ms
            return commit_timestamp if empty_since < 0 else lambda _: empty_since
        return (
            commit_timestamp
            if self.state is GroupState.STABLE and self.subscribed_topics()
            else None
        )

    # Membership

    def add(self, member: ClassicGroupMember, protocol_type: str) -> None:
        if not self.members:
            self.leader = member.member_id
            self.protocol_type = protocol_type
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self._static_members, "instance id taken"
            self._static_members[member.group_instance_id] = member.member_id
        self.members[member.member_id] = member
        self.member_bytes += member.size_bytes
        self._speakers.update(member.settings.names())
        self._joining += member.joining is not None
        self.expect_no_more(member.member_id)

    def expect(self, member_id: str) -> None:
        """Expects a client to join with the id that it was told."""
        self.pending_members.add(member_id)
        self.member_bytes += _BYTES_OF_AN_ID + len(member_id)

    def expect_no_more(self, member_id: str) -> None:
        if member_id in self.pending_members:
            self.pending_members.remove(member_id)
            self.member_bytes -= _BYTES_OF_AN_ID + len(member_id)

    def remove(self, member_id: str) -> None:
        """The caller has answered what the member waited for."""
        member = self.members.pop(member_id)
        self.member_bytes -= member.size_bytes
        self._count_out(member.settings)
        self._joining -= member.joining is not None
        if member.group_instance_id is not None:
            del self._static_members[member.group_instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_sync.discard(member_id)

    def rename_static(self, member: ClassicGroupMember, new_member_id: str) -> None:
        """The process behind an instance id was restarted: it takes the old one's place under a new member id."""
        assert member.group_instance_id is not None, "only a static member can be replaced"
        old_member_id = member.member_id
        self.member_bytes += len(new_member_id) - len(old_member_id)
        member.member_id = new_member_id
        member.is_new = False
        self.members = {m.member_id: m for m in self.members.values()}
        self._static_members[member.group_instance_id] = new_member_id
        if self.leader == old_member_id:
            self.leader = new_member_id
        if old_member_id in self.pending_sync:
            self.pending_sync.remove(old_member_id)
            self.pending_sync.add(new_member_id)

    def update(self, member: ClassicGroupMember, settings: JoinSettings) -> None:
        self._count_out(member.settings)
        self._speakers.update(settings.names())
        self.member_bytes -= member.size_bytes
        member.settings = settings
        self.member_bytes += member.size_bytes

    def elect_joined_leader(self) -> bool:
        """The leader of the next generation must be in it. False when no member has joined."""
        if self.leader is not None and self.members[self.leader].joining is not None:
            return True
        joined = next((m.member_id for m in self.members.values() if m.joining is not None), None)
        if joined is None:
            return False
        self.leader = joined
        return True

    def members_not_joined(self) -> Iterable[ClassicGroupMember]:
        return [member for member in self.members.values() if member.joining is None]

    # Requests that wait

    def wait_for_join(self, member: ClassicGroupMember, token: Token) -> Token | None:
        """Gives the older JoinGroup of the same member that `token` takes the place of."""
        superseded = member.joining
        self._joining += superseded is None
        member.joining = token
        return superseded

    def take_joining(self, member: ClassicGroupMember) -> Token | None:
        token = member.joining
        self._joining -= token is not None
        member.joining = None
        return token

    def _count_out(self, settings: JoinSettings) -> None:
        self._speakers.subtract(settings.names())
        for name in settings.names():
            if not self._speakers[name]:
                del self._speakers[name]
