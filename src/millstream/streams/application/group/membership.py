"""A member of a streams group (KIP-1071): what its heartbeats say, and what the answers make of it. Pure.

The coordinator shares out tasks. A member gives up what is no longer in its target, says so, and only then is
what others have given up put into its target: no task has two owners that both know the truth. Nothing is
sent, awaited or timed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from millstream.clients.core.named_errors import membership_error
from millstream.clients.group.core.heartbeat_request_manager import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    handle_refusal,
)
from millstream.errors import (
    InvalidRequest,
    KafkaError,
    MillstreamError,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from millstream.protocol.generated.streams_group_heartbeat import (
    Endpoint,
    KeyValue,
    Status,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskIds,
    Topology,
)
from millstream.streams.application.group.known_hosts import (
    NO_HOSTS,
    KnownHosts,
    known_hosts,
)
from millstream.streams.errors import TopologyError

_OTHER_TOPOLOGY: Final = "Topology updates are not supported"
"""Coordinators tell it by their words: the code is that of any request that makes no sense."""


class StreamsTaskId(NamedTuple):
    """The sub-topology and the partition of a task."""

    sub_topology: int
    partition: int

    def __str__(self) -> str:
        return f"{self.sub_topology}_{self.partition}"


@dataclass(frozen=True, slots=True)
class TaskAssignment:
    """The tasks of one member: those that it runs, and those whose stores it keeps a copy of."""

    active: frozenset[StreamsTaskId] = frozenset()
    standby: frozenset[StreamsTaskId] = frozenset()
    warm_up: frozenset[StreamsTaskId] = frozenset()
    topics: Mapping[StreamsTaskId, frozenset[str]] = field(default_factory=dict)
    """By task, the topics that it reads, where whoever assigns it says so; else all that its sources name."""

    def unchanged(self, target: TaskAssignment) -> TaskAssignment:
        """Returns what stays as it is under another assignment: the same tasks, which read the same topics.

        Copies are standbys in it.
        """
        same = {
            task
            for task in (self.active & target.active) | (self.copies & target.copies)
            if self.topics.get(task) == target.topics.get(task)
        }
        topics = {task: topics for task, topics in self.topics.items() if task in same}
        return TaskAssignment(
            self.active & target.active & same, self.copies & target.copies & same, topics=topics
        )

    @property
    def copies(self) -> frozenset[StreamsTaskId]:
        """The tasks of both kinds whose stores it keeps a copy of."""
        return self.standby | self.warm_up


NO_TASKS: Final = TaskAssignment()


@dataclass(frozen=True, slots=True)
class StreamsMembershipPolicy:
    """The facts about a member that do not change while it lives. `process_id`: that of all members in one process.

    `topology`: what the coordinator is told. None where it does not share out the tasks.
    """

    group_id: str
    topology: Topology | None
    process_id: str
    rebalance_timeout_ms: int
    rack: str | None = None
    endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class StreamsMembership:
    """`target` is what the coordinator wants the member to have; `acknowledge` takes what it has."""

    policy: StreamsMembershipPolicy
    member_id: str
    member_epoch: int = JOIN_EPOCH
    heartbeat_interval_ms: int = 0
    target: TaskAssignment | None = None
    """None: the coordinator has not said yet."""
    is_reconciled: bool = False
    """The coordinator was told, or soon is, that the member has what it is to have."""
    statuses: tuple[Status, ...] = ()
    """The coordinator's remarks about the group in its last answer."""
    has_lost_tasks: bool = False
    """The coordinator has counted the member out, and its tasks may have other owners; `rejoin` follows."""
    known_hosts: KnownHosts = NO_HOSTS
    """The hosts of the group that answer queries."""
    wants_shutdown: bool = False
    """All members of the group are to end."""
    _owned: TaskAssignment = NO_TASKS
    _told: TaskAssignment | None = None
    """None: everything has to be said again."""
    _has_news: bool = False
    _is_closed: bool = False
    _endpoint_epoch: int = -1
    _last_heartbeat_ms: int | None = None

    @property
    def is_in_group(self) -> bool:
        return self.member_epoch > 0

    def heartbeat_due_ms(self, now_ms: int) -> int | None:
        """Returns the milliseconds until the next heartbeat; None while there is nothing to say."""
        if self._is_closed or self.has_lost_tasks:
            return None
        if self._last_heartbeat_ms is None or self._has_news:
            return 0
        return max(0, self._last_heartbeat_ms + self.heartbeat_interval_ms - now_ms)

    def heartbeat_request(self, now_ms: int) -> StreamsGroupHeartbeatRequest:
        """Returns the request to be sent now: everything when joining, else what has changed since the last answer."""
        policy, request = self.policy, self._request(self.member_epoch)
        if not self.is_in_group:
            request.topology = policy.topology
            request.process_id = policy.process_id
            request.rack_id = policy.rack
            request.rebalance_timeout_ms = policy.rebalance_timeout_ms
            request.user_endpoint = policy.endpoint
            request.client_tags = [KeyValue(key, value) for key, value in policy.client_tags]
        if self._has_news or self._told != self._owned:
            request.active_tasks = _by_sub_topology(self._owned.active)
            request.standby_tasks = _by_sub_topology(self._owned.standby)
            request.warmup_tasks = _by_sub_topology(self._owned.warm_up)
        self._told, self._has_news = self._owned, False
        self._last_heartbeat_ms = now_ms
        return request

    def handle_heartbeat(
        self, request: StreamsGroupHeartbeatRequest, response: StreamsGroupHeartbeatResponse
    ) -> MillstreamError | None:
        """Returns an error that the application must know."""
        if request.member_epoch != self.member_epoch or self._is_closed:
            return None  # the answer to an earlier identity
        if response.error_code:
            self.handle_failure()
            code, topics = response.error_code, _topics_of(self.policy.topology)
            error = membership_error(code, self.policy.group_id, topics, response.error_message)
            if isinstance(error, TopicAuthorizationFailed):
                return self.fail(error)  # unlike Kafka's, which beats on until its thread has ended
            return handle_refusal(error, self._fence, self.fail)
        self.member_id = response.member_id or self.member_id
        self.member_epoch = response.member_epoch
        self.heartbeat_interval_ms = response.heartbeat_interval_ms
        self._endpoint_epoch = response.endpoint_information_epoch
        if response.partitions_by_user_endpoint is not None:
            told = response.partitions_by_user_endpoint
            self.known_hosts = known_hosts(self._endpoint_epoch, told)
        self.statuses = tuple(response.status or ())
        if response.active_tasks is not None:
            self.target = TaskAssignment(
                _task_ids(response.active_tasks),
                _task_ids(response.standby_tasks or ()),
                _task_ids(response.warmup_tasks or ()),
            )
            # The coordinator waits for an answer, even where the target is again what the member never ceased to have.
            has_said_all = request.active_tasks is not None and self._told == self._owned
            self.is_reconciled = has_said_all and self._owned == self.target
        return None

    def handle_failure(self) -> None:
        """Notes that no answer came: what was said is said again."""
        self._told = None

    def fail(self, error: KafkaError) -> MillstreamError:
        """Notes that there is nothing more to say, nor anybody to say it to. Returns the error as it is told."""
        self._is_closed, self._last_heartbeat_ms = True, None
        if isinstance(error, UnsupportedVersion):
            return UnsupportedVersion(
                f"{str(error).rstrip('.')}. The broker does not serve the streams protocol, which brokers have from Kafka 4.2 on: use group_protocol='classic'"
            )
        if isinstance(error, InvalidRequest) and _OTHER_TOPOLOGY in str(error):
            group_id = self.policy.group_id
            return TopologyError(
                f"the group of application {group_id} has another topology than this instance, and the streams protocol of Kafka "
                "4.3 takes no new one (Topology updates are not supported yet). Run the same topology in all instances. To go on with a new one: end all instances, start one with "
                "group_protocol='classic', which keeps offsets and stores, and end it again to come back to this protocol. To begin anew: "
                f"millstream streams reset {group_id}"
            )
        return error

    def acknowledge(self, owned: TaskAssignment) -> None:
        """Notes what the member has now; a heartbeat says so at once. To be called once all else has been given up."""
        if not self.has_lost_tasks:
            self._owned, self._has_news, self.is_reconciled = owned, True, True

    def rejoin(self) -> None:
        """Begins anew, with nothing, under the same member id. To be called once all tasks have been given up."""
        self.member_epoch = JOIN_EPOCH
        self.target, self._owned, self.is_reconciled, self._has_news = None, NO_TASKS, False, False
        self._told, self._last_heartbeat_ms, self.has_lost_tasks = None, None, False

    def leave_request(self) -> StreamsGroupHeartbeatRequest | None:
        """Returns the last request of a member, which is closed from now on; None for one that
        never asked to be a member.
        """
        has_asked, self._is_closed = self._last_heartbeat_ms is not None, True
        return self._request(LEAVE_EPOCH) if has_asked else None

    def _request(self, epoch: int) -> StreamsGroupHeartbeatRequest:
        return StreamsGroupHeartbeatRequest(
            group_id=self.policy.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            endpoint_information_epoch=self._endpoint_epoch,
            shutdown_application=self.wants_shutdown,
        )

    def _fence(self) -> None:
        self.has_lost_tasks = True


def _topics_of(topology: Topology | None) -> set[str]:
    """All topics of which the coordinator is told, none where it does not share out the tasks."""
    return {
        name
        for part in (() if topology is None else topology.subtopologies)
        for name in (
            *part.source_topics,
            *part.repartition_sink_topics,
            *(each.name for each in part.repartition_source_topics),
            *(each.name for each in part.state_changelog_topics),
        )
    }


def _task_ids(listed: Iterable[TaskIds]) -> frozenset[StreamsTaskId]:
    return frozenset(
        StreamsTaskId(int(each.subtopology_id), partition)
        for each in listed
        for partition in each.partitions
    )


def _by_sub_topology(tasks: Iterable[StreamsTaskId]) -> list[TaskIds]:
    found: dict[int, list[int]] = {}
    for sub_topology, partition in sorted(tasks):
        found.setdefault(sub_topology, []).append(partition)
    return [TaskIds(str(number), partitions) for number, partitions in found.items()]
