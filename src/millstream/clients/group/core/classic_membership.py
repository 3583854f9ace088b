"""A member of a classic consumer group: what it says to the coordinator, and what the answers make of it.

    UNJOINED ──JoinGroup──► JOINING ──SyncGroup──► SYNCING ──assignment──► STABLE
        ▲                                                                    │
        └──── rebalance, fenced, silent for too long, subscription changed ──┘

Requests come from here, answers go in here; nothing is sent, awaited or timed by this module. Leaders also share out
the partitions, with the assignor that the coordinator found all members to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from millstream.clients.core.named_errors import named_error
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.group.assignors.assignment import (
    Assignor,
    LastAssignment,
    MemberSubscription,
    OfferedProtocol,
    TopicRacks,
)
from millstream.clients.group.core.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from millstream.errors import (
    FencedInstanceId,
    IllegalGeneration,
    InconsistentGroupProtocol,
    KafkaError,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.model import TopicPartition
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from millstream.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from millstream.protocol.generated.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

_JOIN_AGAIN: Final = (RebalanceInProgress, UnknownMemberId, IllegalGeneration, MemberIdRequired)


def may_join_again(error: KafkaError) -> bool:
    """Whether another attempt may succeed after one to join that ended like this."""
    return error.retriable or isinstance(error, _JOIN_AGAIN)


class MemberState(Enum):
    UNJOINED = "unjoined"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"


@dataclass(frozen=True, slots=True)
class MembershipPolicy:
    group_id: str
    group_instance_id: str | None
    assignors: Sequence[OfferedProtocol]
    """`share_out` wants Assignors. Whoever shares out otherwise needs none."""
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    rack: str | None = None

    @property
    def is_cooperative(self) -> bool:
        """Whether every assignor that may be chosen is cooperative: a member cannot be half cooperative."""
        return all(assignor.is_cooperative for assignor in self.assignors)


@dataclass(frozen=True, slots=True)
class JoinedMember:
    member_id: str
    subscription: MemberSubscription


@dataclass(slots=True)
class Membership:
    policy: MembershipPolicy
    state: MemberState = MemberState.UNJOINED
    member_id: str = ""
    generation_id: int = -1
    assignor: str = ""
    rejoin_wanted: bool = True
    assignment_lost: bool = False
    """The coordinator counts us out: our partitions may have other owners already."""
    rejoin_reason: str = ""
    last_heartbeat_ms: int = 0
    last_assignment: LastAssignment = field(default_factory=LastAssignment)
    members: list[JoinedMember] = field(default_factory=list)
    """To share out partitions among; empty unless we lead the running rebalance."""
    group_topics: frozenset[str] = frozenset()
    """Topics of all members, if we lead: what a leader must know the partitions of."""

    def metadata(self) -> ConsumerGroupMetadata:
        return ConsumerGroupMetadata(
            self.policy.group_id, self.generation_id, self.member_id, self.policy.group_instance_id
        )

    def want_rejoin(self, reason: str) -> None:
        self.rejoin_wanted = True
        self.rejoin_reason = reason

    # ---- joining

    def join_request(
        self, topics: Iterable[str], owned: Iterable[TopicPartition], *, named_reason: bool
    ) -> JoinGroupRequest:
        """Start of a rebalance. `named_reason`: the version that will be spoken can carry one."""
        self.state = MemberState.JOINING
        self.rejoin_wanted = False
        wanted, held = frozenset(topics), frozenset(owned)
        return JoinGroupRequest(
            group_id=self.policy.group_id,
            session_timeout_ms=self.policy.session_timeout_ms,
            rebalance_timeout_ms=self.policy.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=self.policy.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[self._offer(assignor, wanted, held) for assignor in self.policy.assignors],
            reason=self.rejoin_reason[:255] if named_reason and self.rejoin_reason else None,
        )

    def _offer(
        self, assignor: OfferedProtocol, wanted: frozenset[str], held: frozenset[TopicPartition]
    ) -> JoinGroupRequestProtocol:
        subscription = MemberSubscription(
            topics=wanted,
            owned=held,
            generation_id=self.generation_id,
            rack=self.policy.rack,
            user_data=assignor.user_data(wanted, self.last_assignment),
        )
        return JoinGroupRequestProtocol(assignor.name, encode_subscription(subscription))

    def handle_join(self, response: JoinGroupResponse) -> None:
        """Takes in the answer to a JoinGroup.

        Raises the answer's error after taking in what it means; retriable ones and MemberIdRequired ask again.
        """
        if response.error_code:
            error = self._refusal(response.error_code)
            if isinstance(error, MemberIdRequired):
                self.member_id = response.member_id
                self.state = MemberState.UNJOINED
                raise error
            self._handle_error(error)
            raise error
        self.member_id = response.member_id
        self.generation_id = response.generation_id
        self.assignor = response.protocol_name or ""
        self.state = MemberState.SYNCING
        joined = [
            JoinedMember(m.member_id, decode_subscription(m.metadata, m.group_instance_id))
            for m in response.members
        ]
        self.group_topics = frozenset(t for member in joined for t in member.subscription.topics)
        # A static leader that comes back leads on, but what was shared out before stays (KIP-814)
        self.members = [] if response.skip_assignment else joined

    @property
    def leads(self) -> bool:
        return bool(self.group_topics)

    def share_out(self, topics: TopicRacks) -> list[SyncGroupRequestAssignment]:
        """Returns the leader's decision. Raises InconsistentGroupProtocol for an assignor that we did not offer."""
        if not self.members:
            return []
        offered = {
            assignor.name: assignor
            for assignor in self.policy.assignors
            if isinstance(assignor, Assignor)
        }
        assignor = offered.get(self.assignor)
        if assignor is None:
            raise InconsistentGroupProtocol(
                f"the coordinator chose {self.assignor!r}, which this member did not offer"
            )
        members = {member.member_id: member.subscription for member in self.members}
        return [
            SyncGroupRequestAssignment(member_id, encode_assignment(partitions))
            for member_id, partitions in assignor.assign(topics, members).items()
        ]

    def sync_request(self, assignments: list[SyncGroupRequestAssignment]) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id=self.policy.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.policy.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=self.assignor,
            assignments=assignments,
        )

    def handle_sync(self, response: SyncGroupResponse, now_ms: int) -> list[TopicPartition]:
        """Our partitions. Raises the answer's error after taking in what it means."""
        self.members = []
        if response.error_code:
            error = self._refusal(response.error_code)
            self._handle_error(error)
            raise error
        self.state = MemberState.STABLE
        self.last_heartbeat_ms = now_ms
        partitions = decode_assignment(response.assignment)
        self.last_assignment = LastAssignment(frozenset(partitions), self.generation_id)
        return partitions

    # ---- staying

    def heartbeat_due_ms(self, now_ms: int) -> int | None:
        """Returns the milliseconds until the next heartbeat; None while there is nothing to say."""
        if self.state is not MemberState.STABLE:
            return None
        return max(0, self.last_heartbeat_ms + self.policy.heartbeat_interval_ms - now_ms)

    def heartbeat_request(self, now_ms: int) -> HeartbeatRequest:
        self.last_heartbeat_ms = now_ms
        return HeartbeatRequest(
            group_id=self.policy.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.policy.group_instance_id,
        )

    def handle_heartbeat(self, error_code: int, generation_id: int) -> KafkaError | None:
        """Returns an error that only the application can deal with. Answers for an older generation mean nothing."""
        if not error_code or generation_id != self.generation_id:
            return None
        error = self._refusal(error_code)
        self._handle_error(error)
        expected = isinstance(error, RebalanceInProgress | UnknownMemberId | IllegalGeneration)
        return None if expected or error.retriable else error

    # ---- leaving

    def leave_request(self, version: int, reason: str) -> LeaveGroupRequest | None:
        """Returns the request; None for static members, who keep their place over a restart, and for who has none."""
        if not self.member_id or self.policy.group_instance_id is not None:
            return None
        if version < 3:
            return LeaveGroupRequest(group_id=self.policy.group_id, member_id=self.member_id)
        identity = MemberIdentity(member_id=self.member_id, reason=reason if version >= 5 else None)
        return LeaveGroupRequest(group_id=self.policy.group_id, members=[identity])

    def forget_membership(self) -> None:
        """Member of no group any more; joining starts from the beginning."""
        self.state = MemberState.UNJOINED
        self.member_id = ""
        self.generation_id = -1
        self.members = []

    def _refusal(self, error_code: int) -> KafkaError:
        return named_error(error_code, f"group {self.policy.group_id!r}")

    def _handle_error(self, error: KafkaError) -> None:
        """Takes in what an error code says about our standing, whichever request it answers."""
        if isinstance(error, RebalanceInProgress):
            self.want_rejoin("the group is rebalancing")
            if self.state is not MemberState.STABLE:
                self.state = MemberState.UNJOINED
        elif isinstance(error, UnknownMemberId | IllegalGeneration | FencedInstanceId):
            if isinstance(error, UnknownMemberId):
                self.member_id = ""
            self.generation_id = -1
            self.state = MemberState.UNJOINED
            self.assignment_lost = True
            self.want_rejoin(f"the coordinator answered {error.name}")
        elif self.state is not MemberState.STABLE:
            self.state = MemberState.UNJOINED
            self.want_rejoin(f"the coordinator answered {error.name}")
