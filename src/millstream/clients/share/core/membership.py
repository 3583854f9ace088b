"""A member of a share group (KIP-932): what it says to the coordinator, and what the answers make of it.

    OUT ──first poll──► JOINING ──epoch > 0──► MEMBER ──unsubscribe, close──► OUT
                          ▲  ▲                   │
                          │  └── fenced, unknown ┤
                          └──next poll── STALE ◄─┴── nobody polls         any ──fatal error──► FATAL

The assignment comes with the heartbeats, is taken over without asking, and gives no right to anything: other members
may have the same partitions. Requests come from here, answers go in here; nothing is sent, awaited or timed.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from millstream.clients.core.named_errors import membership_error
from millstream.errors import (
    BrokerNotAvailable,
    FencedMemberEpoch,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownMemberId,
    UnsupportedVersion,
)
from millstream.model import Uuid
from millstream.net.client.core.backoff import Backoff
from millstream.protocol.generated.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from millstream.runtime import Random

_JOIN_EPOCH: Final = 0
_LEAVE_EPOCH: Final = -1
_REJOIN: Final = (FencedMemberEpoch, UnknownMemberId)


class ShareMemberState(Enum):
    OUT = "out"
    JOINING = "joining"
    MEMBER = "member"
    STALE = "stale"
    """Has left because the application did not poll; joins again with the next poll."""
    FATAL = "fatal"
    """The coordinator will not have us: only an unsubscribe and a new subscription try again."""


class ShareMembership:
    def __init__(
        self, group_id: str, member_id: str, rack: str | None, backoff: Backoff, random: Random
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.state = ShareMemberState.OUT
        self.epoch = _JOIN_EPOCH
        self.topics: frozenset[str] = frozenset()
        self.assigned: dict[Uuid, tuple[int, ...]] = {}
        self._rack = rack
        self._backoff = backoff
        self._random = random
        self._told_topics: frozenset[str] | None = None
        self._told_rack = False
        self._interval_ms = 0
        self._due_ms = 0
        self._failures = 0
        self._joined_ms = 0
        self._empty_answers = 0

    @property
    def is_refused(self) -> bool:
        """The coordinator will not have us."""
        return self.state is ShareMemberState.FATAL

    # ---- what the application does

    def subscribe(self, topics: Iterable[str]) -> None:
        self.topics = frozenset(topics)
        if self.state is ShareMemberState.MEMBER:
            self._due_ms = 0

    def handle_poll(self) -> None:
        """Notes that records are wanted, which takes a member."""
        if self.topics and self.state in (ShareMemberState.OUT, ShareMemberState.STALE):
            self._begin_joining()

    def plan_leave(self) -> ShareGroupHeartbeatRequest | None:
        """Returns the request; None when the coordinator does not count us in. We are out whatever the answer is."""
        was_in = self.state in (ShareMemberState.JOINING, ShareMemberState.MEMBER)
        self._go(ShareMemberState.OUT)
        self.topics = frozenset()
        return self._leave_request() if was_in else None

    def plan_stale(self) -> ShareGroupHeartbeatRequest | None:
        """Leaves the partitions to others, as the application does not poll."""
        was_in = self.state in (ShareMemberState.JOINING, ShareMemberState.MEMBER)
        if was_in:
            self._go(ShareMemberState.STALE)
        return self._leave_request() if was_in else None

    # ---- heartbeats

    def heartbeat_due_ms(self, now_ms: int) -> int | None:
        """Returns the milliseconds until the next heartbeat; None while there is nothing to say."""
        if self.state not in (ShareMemberState.JOINING, ShareMemberState.MEMBER):
            return None
        return max(0, self._due_ms - now_ms)

    def plan_heartbeat(self, now_ms: int) -> ShareGroupHeartbeatRequest:
        """Returns the heartbeat to be sent. Topics and rack are told when they are news to the coordinator."""
        self._due_ms = now_ms + self._interval_ms
        request = ShareGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=self.epoch
        )
        if not self._told_rack:
            request.rack_id = self._rack
            self._told_rack = True
        if self.state is ShareMemberState.JOINING or self._told_topics != self.topics:
            request.subscribed_topic_names = sorted(self.topics)
            self._told_topics = self.topics
        return request

    def handle_heartbeat(
        self,
        request: ShareGroupHeartbeatRequest,
        response: ShareGroupHeartbeatResponse,
        now_ms: int,
    ) -> KafkaError | None:
        """Returns an error that the application must hear of, or that calls for another coordinator (retriable)."""
        if self.heartbeat_due_ms(now_ms) is None or request.member_epoch != self.epoch:
            return None  # we have left, or begun anew, since it was sent
        if response.error_code:
            return self.handle_failure(
                membership_error(
                    response.error_code, self.group_id, self.topics, response.error_message
                ),
                now_ms,
            )
        self._failures = 0
        if self.state is ShareMemberState.JOINING:
            self._joined_ms = now_ms
        self.state = ShareMemberState.MEMBER
        self.epoch = response.member_epoch
        self._interval_ms = response.heartbeat_interval_ms
        if response.assignment is not None:
            self.assigned = {
                topic.topic_id: tuple(topic.partitions)
                for topic in response.assignment.topic_partitions
            }
        self._due_ms = now_ms + self._wait_ms(now_ms)
        return None

    def handle_failure(self, error: KafkaError, now_ms: int) -> KafkaError | None:
        """Does as `handle_heartbeat` does, for a request that was refused or not answered."""
        self._told_topics, self._told_rack = None, False
        self._failures += 1
        self._due_ms = now_ms + self._backoff.delay_ms(self._failures, self._random)
        if isinstance(error, _REJOIN):
            self._begin_joining()
            return None
        if error.retriable or isinstance(error, (BrokerNotAvailable, TopicAuthorizationFailed)):
            return error
        self._go(ShareMemberState.FATAL)
        if isinstance(error, UnsupportedVersion):
            return UnsupportedVersion(
                f"the cluster does not offer share groups (KIP-932, Kafka 4.1 and later with share.version 1): {error}"
            )
        return error

    def _wait_ms(self, now_ms: int) -> int:
        """Until the next heartbeat. Coordinators share out a moment after the join: who has nothing asks again soon."""
        if self._told_topics != self.topics:
            return 0
        if self.assigned or now_ms - self._joined_ms >= self._interval_ms:
            self._empty_answers = 0
            return self._interval_ms
        self._empty_answers += 1
        return min(self._interval_ms, self._backoff.delay_ms(self._empty_answers, self._random))

    def _begin_joining(self) -> None:
        self._go(ShareMemberState.JOINING)
        self._due_ms = 0

    def _go(self, state: ShareMemberState) -> None:
        """Into a state without standing in the group."""
        self.state = state
        self.epoch = _JOIN_EPOCH
        self.assigned = {}
        self._told_topics, self._told_rack = None, False

    def _leave_request(self) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=_LEAVE_EPOCH
        )
