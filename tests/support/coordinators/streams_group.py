"""One streams group of a `SimCoordinator`, asked in one line: topologies, topics and heartbeats with sensible defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from millstream.coordinator.assignors.partition_assignor import TaskId
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.heartbeat import StreamsHeartbeat
from millstream.errors import GroupIdNotFound, KafkaError
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage, frozen_mapping
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from millstream.protocol.generated.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from tests.support.coordinators.coordinator import SimCoordinator, topics_image

Change: TypeAlias = Any  # Any: a field of the request that a test says otherwise
REBALANCE_TIMEOUT_MS: Final = 30_000
GROUP: Final = "application"


def subtopology(
    name: str = "0",
    *,
    sources: Sequence[str] = (),
    changelogs: Sequence[str] = (),
    repartitions: Mapping[str, int] | None = None,
    sinks: Sequence[str] = (),
    copartitioned: Sequence[Sequence[str]] = (),
) -> Subtopology:
    """`repartitions` gives fixed numbers of partitions, 0 where the number follows from who writes to the topic."""
    own = list(repartitions or {})
    return Subtopology(
        subtopology_id=name,
        source_topics=list(sources),
        state_changelog_topics=[TopicInfo(name=changelog) for changelog in changelogs],
        repartition_sink_topics=list(sinks),
        repartition_source_topics=[
            TopicInfo(name=topic, partitions=size) for topic, size in (repartitions or {}).items()
        ],
        copartition_groups=[
            CopartitionGroup(
                source_topics=[list(sources).index(t) for t in group if t in sources],
                repartition_source_topics=[own.index(t) for t in group if t in own],
            )
            for group in copartitioned
        ],
    )


def topology(*subtopologies: Subtopology, epoch: int = 0) -> Topology:
    return Topology(epoch=epoch, subtopologies=list(subtopologies))


@dataclass(frozen=True, slots=True)
class Tasks:
    """What a member holds or is given, as text: `0_1` is partition 1 of sub-topology 0."""

    active: str = ""
    standby: str = ""


@dataclass
class SimStreamsMember:
    """What a client remembers between heartbeats."""

    member_id: str
    process_id: str
    topology: Topology
    epoch: int = 0
    held: Tasks = Tasks()
    endpoint: Endpoint | None = None
    endpoint_epoch: int = -1


class SimStreamsGroup:
    """A group and the members it was asked for, on the topics that `set_topics` said."""

    def __init__(
        self,
        coordinator: SimCoordinator,
        sizes: Mapping[str, int],
        *subtopologies: Subtopology,
    ) -> None:
        self.coordinator = coordinator
        self.topology = topology(*subtopologies)
        self.members: dict[str, SimStreamsMember] = {}
        self._overrides: dict[str, str] = {}
        self._sizes = dict(sizes)
        self.set_topics(**sizes)

    @property
    def state(self) -> StreamsGroup:
        group = self.coordinator.shard.groups.find_as(StreamsGroup, GROUP)
        if group is None:
            raise GroupIdNotFound
        return group

    def set_topics(self, **sizes: int) -> None:
        """Adds or grows topics; those of size 0 go away."""
        self._sizes = {n: size for n, size in (self._sizes | sizes).items() if size}
        self._publish()

    def set_config(self, name: str, value: str) -> None:
        """A dynamic config of the group."""
        self._overrides[name] = value
        self._publish()

    def move_to(self, coordinator: SimCoordinator) -> None:
        """Another coordinator has taken over; members go on as if nothing had happened."""
        self.coordinator = coordinator
        self._publish()

    def _publish(self) -> None:
        resource = ConfigResource(ConfigResourceType.GROUP, GROUP)
        configs: dict[ConfigResource, Mapping[str, str]] = {resource: dict(self._overrides)}
        self.coordinator.shard.apply_image(
            MetadataImage(topics=topics_image(self._sizes), configs=frozen_mapping(configs))
        )

    # Heartbeats

    def join(self, member_id: str, process_id: str | None = None) -> StreamsGroupHeartbeatResponse:
        member = self.members.setdefault(
            member_id,
            SimStreamsMember(member_id, process_id or f"process-{member_id}", self.topology),
        )
        member.epoch, member.held = 0, Tasks()
        return self.heartbeat(member_id)

    def heartbeat(self, member_id: str, **changes: Change) -> StreamsGroupHeartbeatResponse:
        """As a client sends it: everything when it joins, what it holds afterwards. Raises the error it is answered with."""
        return self.beat(member_id, **changes).response

    def beat(self, member_id: str, **changes: Change) -> StreamsHeartbeat:
        member = self.members[member_id]
        beat = self._ask(self._request(member).replaced(**changes))
        response = beat.response
        member.epoch = response.member_epoch
        member.endpoint_epoch = response.endpoint_information_epoch
        if response.active_tasks is not None:
            member.held = given(response)
        return beat

    def leave(self, member_id: str, /, **changes: Change) -> StreamsGroupHeartbeatResponse:
        request = StreamsGroupHeartbeatRequest(group_id=GROUP, member_id=member_id, member_epoch=-1)
        response = self._ask(request.replaced(**changes)).response
        self.members.pop(member_id, None)
        return response

    def settle(self, rounds: int = 4) -> None:
        """Everyone heartbeats until the assignment has reached all of them."""
        for _ in range(rounds):
            for member_id in list(self.members):
                self.heartbeat(member_id)

    def describe(self) -> DescribedGroup:
        request = StreamsGroupDescribeRequest(group_ids=[GROUP])
        token = self.coordinator.send(request, version=0)
        response = self.coordinator.outcomes[token]
        assert isinstance(response, StreamsGroupDescribeResponse)
        return response.groups[0]

    def _request(self, member: SimStreamsMember) -> StreamsGroupHeartbeatRequest:
        joins = member.epoch == 0
        return StreamsGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member.member_id,
            member_epoch=member.epoch,
            endpoint_information_epoch=member.endpoint_epoch,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if joins else -1,
            topology=member.topology if joins else None,
            active_tasks=task_ids(member.held.active),
            standby_tasks=task_ids(member.held.standby),
            warmup_tasks=[],
            process_id=member.process_id if joins else None,
            user_endpoint=member.endpoint if joins else None,
            client_tags=[] if joins else None,
        )

    def _ask(self, request: StreamsGroupHeartbeatRequest) -> StreamsHeartbeat:
        token = self.coordinator.send(request, version=0)
        outcome = self.coordinator.outcomes[token]
        if isinstance(outcome, KafkaError):
            raise outcome
        assert isinstance(outcome, StreamsHeartbeat)
        return outcome


def given(response: StreamsGroupHeartbeatResponse) -> Tasks:
    return Tasks(text_of(response.active_tasks), text_of(response.standby_tasks))


def text_of(listed: Sequence[TaskIds] | None) -> str:
    return " ".join(f"{ids.subtopology_id}_{p}" for ids in listed or () for p in ids.partitions)


def task_ids(text: str) -> list[TaskIds]:
    partitions: dict[str, list[int]] = {}
    for name in text.split():
        subtopology_id, partition = name.split("_")
        partitions.setdefault(subtopology_id, []).append(int(partition))
    return [TaskIds(name, numbers) for name, numbers in partitions.items()]


def task_set(text: str) -> frozenset[TaskId]:
    split = (name.split("_") for name in text.split())
    return frozenset(TaskId(name, int(partition)) for name, partition in split)
