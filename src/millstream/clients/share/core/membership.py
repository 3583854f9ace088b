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
from millstream.clients.group.core.heartbeat_request_manager import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    handle_refusal,
)
from millstream.errors import KafkaError, MillstreamError, UnsupportedVersion
from millstream.model import Uuid
from millstream.net.client.core.outages import Backoff
from millstream.protocol.generated.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from millstream.runtime import Random


class ShareMemberState(Enum):
    OUT = "out"
    JOINING = "joining"
    MEMBER = "member"
    STALE = "stale"
    """Has left because the application did not poll; joins again with the next poll."""
    FATAL = "fatal"
    """The coordinator will not have us: only an unsubscribe and a new subscription try again."""


_IN_GROUP: Final = (ShareMemberState.JOINING, ShareMemberState.MEMBER)


class ShareMembership:
    def __init__(
        self, group_id: str, member_id: str, rack: str | None, backoff: Backoff, random: Random
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.state = ShareMemberState.OUT
        self.epoch = JOIN_EPOCH
        self.topics: frozenset[str] = frozenset()
        self.assigned: dict[Uuid, tuple[int, ...]] = {}
        self._rack = rack
        self._backoff = backoff
        self._random = random
        self._told_topics: frozenset[str] | None = None
        """None: everything has to be said again."""
        self._interval_ms = 0
        self._due_ms = 0
        self._said_ms = 0
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
        was_in = self.state in _IN_GROUP
        self._go(ShareMemberState.OUT)
        self.topics = frozenset()
        return self._leave_request() if was_in else None

    def plan_stale(self) -> ShareGroupHeartbeatRequest | None:
        """Leaves the partitions to others, as the application does not poll."""
        if self.state not in _IN_GROUP:
            return None
        self._go(ShareMemberState.STALE)
        return self._leave_request()

    # ---- heartbeats

    def heartbeat_due_ms(self, now_ms: int) -> int | None:
        """Returns the milliseconds until the next heartbeat; None while there is nothing to say."""
        if self.state not in _IN_GROUP:
            return None
        return max(0, self._due_ms - now_ms)

    def heartbeat_request(self, now_ms: int) -> ShareGroupHeartbeatRequest:
        """Returns the heartbeat to be sent now. Topics and rack are told when they are news to the coordinator."""
        self._said_ms, self._due_ms = now_ms, now_ms + self._interval_ms
        request = ShareGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=self.epoch
        )
        if self._told_topics is None:
            request.rack_id = self._rack
        if self.state is ShareMemberState.JOINING or self._told_topics != self.topics:
            request.subscribed_topic_names = sorted(self.topics)
            self._told_topics = self.topics
        return request

    def handle_heartbeat(
        self, request: ShareGroupHeartbeatRequest, response: ShareGroupHeartbeatResponse
    ) -> MillstreamError | None:
        """Returns an error that the application must hear of."""
        if self.state not in _IN_GROUP or request.member_epoch != self.epoch:
            return None  # we have left, or begun anew, since it was sent
        if response.error_code:
            self.handle_failure()
            code, message = response.error_code, response.error_message
            error = membership_error(code, self.group_id, self.topics, message)
            return handle_refusal(error, self._begin_joining, self.fail)
        if self.state is ShareMemberState.JOINING:
            self._joined_ms = self._said_ms
        self.state = ShareMemberState.MEMBER
        self.epoch = response.member_epoch
        self._interval_ms = response.heartbeat_interval_ms
        if response.assignment is not None:
            self.assigned = {
                topic.topic_id: tuple(topic.partitions)
                for topic in response.assignment.topic_partitions
            }
        self._due_ms = self._said_ms + self._wait_ms()
        return None

    def handle_failure(self) -> None:
        """Notes that no answer came: the coordinator is told everything again."""
        self._told_topics = None

    def fail(self, error: KafkaError) -> KafkaError:
        """Notes that the coordinator will not have us. Returns the error as the application is told."""
        self._go(ShareMemberState.FATAL)
        if isinstance(error, UnsupportedVersion):
            return UnsupportedVersion(
                f"the cluster does not offer share groups (KIP-932, Kafka 4.1 and later with share.version 1): {error}"
            )
        return error

    def _wait_ms(self) -> int:
        """Until the next heartbeat. Coordinators share out a moment after the join: who has nothing asks again soon."""
        if self._told_topics != self.topics:
            return 0
        if self.assigned or self._said_ms - self._joined_ms >= self._interval_ms:
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
        self.epoch = JOIN_EPOCH
        self.assigned = {}
        self._told_topics = None

    def _leave_request(self) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=LEAVE_EPOCH
        )
