"""A member of an application's classic group: what it says of itself, and what it makes of its assignments. Pure.

The group rebalances cooperatively (KIP-429): tasks go on meanwhile. A member that is to give up a task does so after
the assignment and joins again, and only then is the task given to another. What every classic member says is
`clients.group.core.classic_membership`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from millstream.clients.group.assignors.assignment import LastAssignment
from millstream.clients.group.core.classic_membership import Membership, MembershipPolicy
from millstream.clients.group.core.consumer_protocol import decode_assigned_user_data
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated.join_group import JoinGroupRequest
from millstream.protocol.generated.streams_group_heartbeat import Status
from millstream.protocol.generated.sync_group import SyncGroupResponse
from millstream.quoting import counted
from millstream.streams.application.group.classic.source_topics import SourceTopics
from millstream.streams.application.group.classic.user_data import (
    NO_REBALANCE,
    RUNNING,
    VERSION_MAX,
    AssignmentError,
    AssignmentInfo,
    SubscriptionInfo,
)
from millstream.streams.application.group.known_hosts import (
    NO_HOSTS,
    HostPartitions,
    KnownHosts,
)
from millstream.streams.application.group.membership import (
    NO_TASKS,
    StreamsTaskId,
    TaskAssignment,
)
from millstream.streams.errors import TaskAssignmentError, TopologyError

PROTOCOL_NAME: Final = "stream"
_AT_ONCE: Final = 0


@dataclass(frozen=True, slots=True)
class ClassicStreamsPolicy:
    """The facts about a member that do not change while it lives. `sources`: what its application reads."""

    group_id: str
    sources: SourceTopics
    process_id: str
    session_timeout_ms: int
    heartbeat_interval_ms: int
    rebalance_timeout_ms: int
    group_instance_id: str | None = None
    """The name of a static member, which keeps its place while it restarts (KIP-345)."""
    endpoint: str | None = None
    rack: str | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)


class ClassicStreamsMembership:
    """`target` is what the leader wants the member to have; `acknowledge` takes what it has."""

    def __init__(self, policy: ClassicStreamsPolicy) -> None:
        self.policy: Final = policy
        self.classic: Final = Membership(
            MembershipPolicy(
                group_id=policy.group_id,
                group_instance_id=policy.group_instance_id,
                assignors=[_StreamsProtocol(self)],
                session_timeout_ms=policy.session_timeout_ms,
                heartbeat_interval_ms=policy.heartbeat_interval_ms,
                max_poll_interval_ms=policy.rebalance_timeout_ms,
                rack=policy.rack,
            )
        )
        self.target: TaskAssignment | None = None
        """None: the leader has not said yet."""
        self.is_reconciled = False
        """Whether the member has what it is to have."""
        self.statuses: tuple[Status, ...] = ()
        self.known_hosts: KnownHosts = NO_HOSTS
        self.wants_shutdown = False
        self._owned = NO_TASKS
        self._subscribed: frozenset[str] | None = None
        """The topics of the last JoinGroup; None before the first."""
        self._stored: Mapping[StreamsTaskId, int] = {}
        self._next_rebalance_ms = NO_REBALANCE
        self._version = VERSION_MAX
        self._joins = 0
        self._may_be_former = policy.group_instance_id is not None
        """Whether the tasks may be those of another topology: a static member that comes back is
        given what it had, without a rebalance.
        """

    @property
    def heartbeat_interval_ms(self) -> int:
        """The time between two looks at the group."""
        return self.policy.heartbeat_interval_ms

    @property
    def has_lost_tasks(self) -> bool:
        """The coordinator has counted the member out, and its tasks may have other owners; `rejoin` follows."""
        return self.classic.assignment_lost

    @property
    def may_join(self) -> bool:
        """Whether the member has done all that the last assignment wants, or has nothing any more."""
        return not self.has_lost_tasks and (self.target is None or self.is_reconciled)

    def wants_to_join(self, wall_ms: int) -> bool:
        """Whether the group is to rebalance, now that the wall clock says so."""
        if self._next_rebalance_ms <= wall_ms and self.is_reconciled:
            self._next_rebalance_ms = NO_REBALANCE
            self.classic.want_rejoin("tasks are to move that could not be moved before")
        return self.classic.rejoin_wanted

    def rebalance_due_ms(self, wall_ms: int) -> int | None:
        """Returns the milliseconds until the member has the group share out anew; None where it has no reason."""
        if self._next_rebalance_ms == NO_REBALANCE:
            return None
        return max(0, self._next_rebalance_ms - wall_ms)

    def notice_other_versions(self) -> None:
        """Has the group share out anew, once: the tasks of a static member have run with another topology before, which
        may have had fewer topics or tasks than this one. Kafka Streams goes on with what it had.
        """
        if self._may_be_former:
            self._may_be_former = False
            self.classic.want_rejoin("the static member came back with another topology")

    def notice_topics(self, existing: Iterable[str]) -> None:
        """Has the group rebalance once other topics match than the member has told.

        Raises TopologyError for one that two patterns match.
        """
        topics = self.policy.sources.subscription(existing)
        if self._subscribed is not None and topics != self._subscribed:
            self.classic.want_rejoin("topics that match a pattern came or went")

    def join_request(
        self,
        existing: Iterable[str],
        stored: Mapping[StreamsTaskId, int],
        *,
        named_reason: bool,
    ) -> JoinGroupRequest:
        """Returns the request that begins a rebalance.

        `stored`: by task, how many offsets of its changelogs stores cover that nobody runs.

        `existing`: the topics of the cluster. Raises TopologyError for one that two patterns match.
        """
        self._subscribed = self.policy.sources.subscription(existing)
        self._stored, self._joins = stored, self._joins + 1
        owned = {
            TopicPartition(topic, task.partition)
            for task in self._owned.active
            for topic in self._owned.topics[task]
        }
        return self.classic.join_request(self._subscribed, owned, named_reason=named_reason)

    def user_data(self) -> bytes:
        """Returns what the leader is told of the member."""
        error = AssignmentError.SHUTDOWN_REQUESTED if self.wants_shutdown else AssignmentError.NONE
        return SubscriptionInfo(
            UUID(self.policy.process_id),
            {**self._stored, **dict.fromkeys(self._owned.active, RUNNING)},
            self.policy.endpoint,
            self._joins,
            error,
            self.policy.client_tags,
            version=self._version,
        ).encode()

    def handle_sync(self, response: SyncGroupResponse, now_ms: int) -> None:
        """Takes an assignment in. Raises the answer's error, and what makes it one that nobody can live with."""
        partitions = self.classic.handle_sync(response, now_ms)
        user_data = decode_assigned_user_data(response.assignment)
        info = AssignmentInfo() if user_data is None else AssignmentInfo.decode(user_data)
        if (error := _refusal(info.error)) is not None:
            raise error
        if len(info.active) != len(partitions):
            raise TaskAssignmentError(
                f"the leader of group {self.policy.group_id} has assigned {counted(len(partitions), 'partition')} for {counted(len(info.active), 'task')}"
            )
        self.statuses, self._next_rebalance_ms = (), info.next_rebalance_ms
        if info.error == AssignmentError.SHUTDOWN_REQUESTED:
            detail = "a member of the group has asked that the application ends"
            self.statuses = (Status(StreamsGroupStatus.SHUTDOWN_APPLICATION, detail),)
        elif self._has_changed_version(info):
            self._next_rebalance_ms = _AT_ONCE
        self._learn_hosts(info)
        was_told = self.target is not None
        target = _assigned(info, partitions)
        if self._may_be_former and not self._is_of_topology(target):
            self.notice_other_versions()
            return
        self.target = target
        self.is_reconciled = was_told and self.target == self._owned

    def acknowledge(self, owned: TaskAssignment) -> None:
        """Notes what the member has now. To be called once all else has been given up, for which others wait."""
        if self.has_lost_tasks:
            return
        if self._owned.active - owned.active:
            self.classic.want_rejoin("tasks were given up for others")
        self._owned, self.is_reconciled = owned, True

    def rejoin(self) -> None:
        """Begins anew, with nothing. To be called once all tasks have been given up."""
        self.target, self._owned, self.is_reconciled = None, NO_TASKS, False
        self.classic.assignment_lost = False

    def _is_of_topology(self, target: TaskAssignment) -> bool:
        """Whether sources of the topology read all that the tasks were given."""
        try:
            for task, topics in target.topics.items():
                self.policy.sources.of_task(task.sub_topology, topics)
        except TopologyError:
            return False
        return True

    def _has_changed_version(self, info: AssignmentInfo) -> bool:
        """Takes over the latest version that all members know.

        Returns whether the member has spoken another, and is to say all again.

        Raises TaskAssignmentError for an answer that no leader gives.
        """
        if info.version > self._version or info.common_version > VERSION_MAX:
            raise TaskAssignmentError(
                f"the leader of group {self.policy.group_id} has answered in version {info.version}, with {info.common_version} known to all, "
                f"a member that has spoken version {self._version} and knows {VERSION_MAX}"
            )
        before, self._version = self._version, info.common_version
        return before != self._version

    def _learn_hosts(self, info: AssignmentInfo) -> None:
        hosts = tuple(
            HostPartitions(
                host,
                info.hosts.get(host, frozenset()),
                info.standby_hosts.get(host, frozenset()),
            )
            for host in sorted(info.hosts.keys() | info.standby_hosts.keys())
        )
        if hosts != self.known_hosts.hosts:
            self.known_hosts = KnownHosts(self.known_hosts.epoch + 1, hosts)


@dataclass(frozen=True, slots=True)
class _StreamsProtocol:
    """Kafka Streams' protocol as every classic member offers its own."""

    membership: ClassicStreamsMembership

    @property
    def name(self) -> str:
        return PROTOCOL_NAME

    @property
    def is_cooperative(self) -> bool:
        return True

    def user_data(self, _topics: frozenset[str], _last: LastAssignment) -> bytes:
        return self.membership.user_data()


def _assigned(info: AssignmentInfo, partitions: Iterable[TopicPartition]) -> TaskAssignment:
    """Returns the tasks. Those that are active are listed once for each of the partitions in order."""
    topics: dict[StreamsTaskId, set[str]] = {}
    for task, tp in zip(info.active, sorted(partitions), strict=True):
        topics.setdefault(task, set()).add(tp.topic)
    for task, inputs in info.standby.items():
        topics[task] = {tp.topic for tp in inputs}
    return TaskAssignment(
        frozenset(info.active),
        frozenset(info.standby),
        topics={task: frozenset(read) for task, read in topics.items()},
    )


def _refusal(code: int) -> MillstreamError | None:
    if code == AssignmentError.INCOMPLETE_SOURCE_TOPIC_METADATA:
        return TopologyError(
            "a source topic does not exist, says the leader of the group: create the source topics before the application is started"
        )
    if code in (AssignmentError.NONE, AssignmentError.SHUTDOWN_REQUESTED):
        return None
    return TaskAssignmentError(
        f"the leader of the group could not share out the tasks (error {code}): its log says why"
    )
