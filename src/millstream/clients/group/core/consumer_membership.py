"""A member of a consumer group of KIP-848: what its heartbeats say, and what the answers make of it.

                  ┌──────────── fenced, stale ◄──────── counted out, or silent for too long
                  ▼                                             ▲
    UNSUBSCRIBED ─► JOINING ──assignment──► RECONCILING ──taken over──► ACKNOWLEDGING ──heartbeat──► STABLE
                                                ▲                                                      │
                                                └───────────────── another assignment ─────────────────┘

The coordinator shares out the partitions; members take over what it says step by step and tell what they hold. Requests
come from here, answers go in here; nothing is sent, awaited or timed by this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from millstream.clients.core.named_errors import membership_error
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.group.core.heartbeat_request_manager import (
    JOIN_EPOCH,
    handle_refusal,
    leave_epoch,
)
from millstream.errors import KafkaError, MillstreamError, UnsupportedVersion
from millstream.model import TopicPartition, Uuid, uuid_from_random, uuid_text
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from millstream.runtime import Random

_FIRST_HEARTBEAT_INTERVAL_MS: Final = 0
"""Until the coordinator has named one."""

TopicIdPartitions = frozenset[tuple[Uuid, int]]


class ConsumerMemberState(Enum):
    """Names of the Java client's MemberState."""

    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    RECONCILING = "reconciling"
    ACKNOWLEDGING = "acknowledging"
    STABLE = "stable"
    FENCED = "fenced"
    """Counted out by the coordinator: what we hold is lost, then we join again."""
    STALE = "stale"
    """Left because the application did not poll; joins again with the next poll()."""
    FATAL = "fatal"


_SILENT: Final = frozenset(
    {
        ConsumerMemberState.UNSUBSCRIBED,
        ConsumerMemberState.FENCED,
        ConsumerMemberState.STALE,
        ConsumerMemberState.FATAL,
    }
)


@dataclass(frozen=True, slots=True)
class ConsumerMembershipPolicy:
    group_id: str
    group_instance_id: str | None
    remote_assignor: str | None
    max_poll_interval_ms: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class LocalAssignment:
    """An assignment that we were told, or hold.

    The epoch is our own count of what the coordinator said; it is never sent.
    """

    epoch: int
    partitions: TopicIdPartitions


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """An assignment to take over, by name; given back to `reconciled` when that is done."""

    assignment: LocalAssignment
    partitions: frozenset[TopicPartition]


@dataclass(slots=True)
class _Told:
    """The values that the coordinator heard from us; a heartbeat repeats nothing of it."""

    rebalance_timeout_ms: int = -1
    topics: frozenset[str] | None = None
    regex: str | None = None
    """Empty after one was withdrawn."""
    remote_assignor: str | None = None
    assignment: LocalAssignment | None = None


def new_member_id(random: Random) -> str:
    while (text := uuid_text(uuid_from_random(random.randbytes(16)))).startswith("-"):
        pass
    return text


@dataclass(slots=True)
class ConsumerMembership:
    policy: ConsumerMembershipPolicy
    member_id: str
    state: ConsumerMemberState = ConsumerMemberState.UNSUBSCRIBED
    member_epoch: int = JOIN_EPOCH
    heartbeat_interval_ms: int = _FIRST_HEARTBEAT_INTERVAL_MS
    topics: frozenset[str] = frozenset()
    regex: str | None = None
    """Resolved by the coordinator, in RE2's language."""
    _target: LocalAssignment = LocalAssignment(0, frozenset())
    _current: LocalAssignment | None = None
    _told: _Told = field(default_factory=_Told)
    _subscription_changed: bool = False
    _has_used_regex: bool = False
    _last_heartbeat_ms: int | None = None

    def metadata(self) -> ConsumerGroupMetadata:
        epoch = self.member_epoch if self.is_in_group else -1
        member_id = self.member_id if self.is_in_group else ""
        return ConsumerGroupMetadata(
            self.policy.group_id, epoch, member_id, self.policy.group_instance_id
        )

    @property
    def is_in_group(self) -> bool:
        """The coordinator has given us an epoch, and has not taken it away."""
        return self.member_epoch > 0

    @property
    def has_lost_partitions(self) -> bool:
        """Whether the partitions we hold may have other owners already; call `rejoin` once they are given up."""
        return self.state in (ConsumerMemberState.FENCED, ConsumerMemberState.STALE)

    @property
    def is_reconciling(self) -> bool:
        """Whether there is an assignment to take over that is still ours."""
        return self.state is ConsumerMemberState.RECONCILING

    # ---- what is wanted

    def subscribe(self, topics: Iterable[str], regex: str | None = None) -> None:
        """Join for these topics, or tell the coordinator what is wanted now."""
        wanted = frozenset(topics)
        if (wanted, regex) != (self.topics, self.regex):
            self.topics, self.regex = wanted, regex
            self._has_used_regex = self._has_used_regex or regex is not None
            self._subscription_changed = True
        if self.state in (ConsumerMemberState.UNSUBSCRIBED, ConsumerMemberState.FATAL):
            self.rejoin()

    def rejoin(self) -> None:
        """Start from the beginning, holding nothing, under the same member id."""
        self._go(ConsumerMemberState.JOINING)

    # ---- heartbeats

    def heartbeat_due_ms(self, now_ms: int) -> int | None:
        """Returns the milliseconds until the next heartbeat; None while there is nothing to say."""
        if self.state in _SILENT:
            return None
        at_once = (ConsumerMemberState.JOINING, ConsumerMemberState.ACKNOWLEDGING)
        if self.state in at_once or self._subscription_changed or self._last_heartbeat_ms is None:
            return 0
        return max(0, self._last_heartbeat_ms + self.heartbeat_interval_ms - now_ms)

    def heartbeat_request(self, now_ms: int) -> ConsumerGroupHeartbeatRequest:
        """Returns the request to be sent now: everything when joining, else what changed since the
        coordinator last answered.
        """
        request = self._request(self.member_epoch)
        self._tell(request, everything=self.state is ConsumerMemberState.JOINING)
        self._last_heartbeat_ms = now_ms
        self._subscription_changed = False
        if self.state is ConsumerMemberState.ACKNOWLEDGING:
            self.state = (
                ConsumerMemberState.STABLE
                if self._current == self._target
                else ConsumerMemberState.RECONCILING
            )
        return request

    def handle_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse
    ) -> MillstreamError | None:
        """Returns an error that the application must know; the member is FATAL if it cannot go on."""
        if request.member_epoch != self.member_epoch or self.state in _SILENT:
            return None  # the answer to an earlier identity of ours
        if response.error_code:
            self.handle_failure()
            code, message = response.error_code, response.error_message
            error = membership_error(code, self.policy.group_id, self.topics, message)
            return handle_refusal(error, self._fence, self.fail)
        self.member_id = response.member_id or self.member_id
        self.member_epoch = response.member_epoch
        self.heartbeat_interval_ms = response.heartbeat_interval_ms
        if response.assignment is not None:
            self._take_target(
                frozenset(
                    (topic.topic_id, partition)
                    for topic in response.assignment.topic_partitions
                    for partition in topic.partitions
                )
            )
        elif self.state is ConsumerMemberState.JOINING:
            self.state = ConsumerMemberState.STABLE  # joined; the assignment will come
        return None

    def handle_failure(self) -> None:
        """Notes that no answer came: the coordinator is told everything again."""
        self._told = _Told()

    def fail(self, error: KafkaError) -> KafkaError:
        """Makes membership impossible until a new subscription. Returns the error as the application is told."""
        self._go(ConsumerMemberState.FATAL)
        if isinstance(error, UnsupportedVersion):
            return UnsupportedVersion(
                f"{error}. group_protocol='consumer' needs a broker of Kafka 4.0 or later; use group_protocol='classic'"
            )
        return error

    # ---- taking over what the coordinator assigned

    def plan_reconciliation(self, names: Mapping[Uuid, str]) -> Reconciliation | None:
        """Returns the assignment to hold next, as far as the topics' names are known; None when
        there is nothing to do (yet).
        """
        if not self.is_reconciling:
            return None
        known = frozenset(item for item in self._target.partitions if item[0] in names)
        resolved = LocalAssignment(self._target.epoch, known)
        if resolved == self._current:
            return None  # the rest waits for metadata
        if self._current is not None and known == self._current.partitions:
            self.finish_reconciliation(Reconciliation(resolved, frozenset()))
            return None
        return Reconciliation(
            resolved, frozenset(TopicPartition(names[topic_id], index) for topic_id, index in known)
        )

    def finish_reconciliation(self, done: Reconciliation) -> None:
        """Notes that the assignment is taken over; the next heartbeat says so.

        Void if the member was removed meanwhile.
        """
        if self.is_reconciling:
            self._current = done.assignment
            self.state = ConsumerMemberState.ACKNOWLEDGING

    def unknown_topics(self, names: Mapping[Uuid, str]) -> list[Uuid]:
        """Ids of assigned topics whose names are not known, in order."""
        if not self.is_reconciling:
            return []
        return sorted({topic_id for topic_id, _ in self._target.partitions} - names.keys())

    # ---- leaving

    def leave_request(self) -> ConsumerGroupHeartbeatRequest | None:
        """Returns the request; None for who has never asked to be a member.

        Static members keep their partitions for a while.
        """
        if self.state in _SILENT or self._last_heartbeat_ms is None:
            return None
        return self._request(leave_epoch(self.policy.group_instance_id))

    def become_unsubscribed(self) -> None:
        self._go(ConsumerMemberState.UNSUBSCRIBED)

    def become_stale(self) -> None:
        """Notes that the application does not poll: others get the partitions, and the member joins
        again when it polls again.
        """
        self._go(ConsumerMemberState.STALE)

    # ---- inside

    def _request(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self.policy.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self.policy.group_instance_id,
        )

    def _tell(self, request: ConsumerGroupHeartbeatRequest, *, everything: bool) -> None:
        told = self._told
        if everything:
            request.rack_id = self.policy.rack
        if everything or told.rebalance_timeout_ms != self.policy.max_poll_interval_ms:
            request.rebalance_timeout_ms = self.policy.max_poll_interval_ms
        if everything or told.topics != self.topics:
            request.subscribed_topic_names = sorted(self.topics)
        regex = self.regex or ("" if self._has_used_regex else None)
        if everything or told.regex != regex:
            request.subscribed_topic_regex = regex
        if everything or told.remote_assignor != self.policy.remote_assignor:
            request.server_assignor = self.policy.remote_assignor
        if everything or told.assignment != self._current:
            held = frozenset() if self._current is None else self._current.partitions
            request.topic_partitions = _by_topic(held)
        self._told = _Told(
            self.policy.max_poll_interval_ms,
            self.topics,
            regex,
            self.policy.remote_assignor,
            self._current,
        )

    def _fence(self) -> None:
        self._go(ConsumerMemberState.FENCED)

    def _take_target(self, partitions: TopicIdPartitions) -> None:
        if partitions != self._target.partitions or self._target.epoch == 0:
            self._target = LocalAssignment(self._target.epoch + 1, partitions)
        if self._target != self._current:
            self.state = ConsumerMemberState.RECONCILING
        elif self.state is not ConsumerMemberState.ACKNOWLEDGING:
            self.state = ConsumerMemberState.STABLE

    def _go(self, state: ConsumerMemberState) -> None:
        """Goes into a state without standing in the group."""
        self.state = state
        self.member_epoch = JOIN_EPOCH
        self._target = LocalAssignment(0, frozenset())
        self._current = None
        self._told = _Told()


def _by_topic(partitions: TopicIdPartitions) -> list[TopicPartitions]:
    topics: dict[Uuid, list[int]] = {}
    for topic_id, partition in sorted(partitions):
        topics.setdefault(topic_id, []).append(partition)
    return [TopicPartitions(topic_id, indexes) for topic_id, indexes in topics.items()]
