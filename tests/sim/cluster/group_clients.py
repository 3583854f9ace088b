"""Members of share groups and of streams groups in a simulated cluster, which write down what they were given."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from millstream.clients import AcknowledgeType, Admin, ShareConsumer, TopicPartition
from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType
from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import check
from millstream.clients.admin.core.routes import GROUP_COORDINATOR
from millstream.errors import KafkaError, MillstreamError, UnknownMemberId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    Topology,
)
from tests.sim.cluster.clients import EVENTS, Workload

SHARERS: Final = "sharers"
STREAMERS: Final = "streamers"
_SUBTOPOLOGY: Final = "0"
_BEAT_S: Final = 5.0
"""`group.streams.heartbeat.interval.ms`, which cannot be shorter."""
SURELY_ALIVE_S: Final = 30.0
"""Whoever was answered so long ago is a member still: a session is 45 s."""
Place = tuple[TopicPartition, int]


@dataclass
class ShareReaders:
    """Members of one share group. What one has accepted, and was told so, nobody is given again; all that is there is given to somebody."""

    work: Workload
    delivered: Counter[Place] = field(default_factory=Counter)
    accepted: set[Place] = field(default_factory=set)
    released: float = 0.2
    """Of what they are given, they give back."""

    async def begin(self) -> None:
        """The group begins with the first record."""
        resource = ConfigResource(ConfigResourceType.GROUP, SHARERS)
        earliest = AlterConfig("share.auto.offset.reset", "earliest")
        async with self.work.admin() as admin:
            (await admin.incremental_alter_configs({resource: [earliest]})).raise_errors()

    async def read(self, name: str) -> None:
        """One life of a member after the other."""
        while not self.work.is_over:
            with contextlib.suppress(KafkaError, MillstreamError):
                async with ShareConsumer(
                    group_id=SHARERS,
                    share_acknowledgement_mode="explicit",
                    **self.work.settings(name),
                ) as consumer:
                    consumer.subscribe([EVENTS])
                    while not self.work.is_over:
                        await self._read_some(consumer)
            await asyncio.sleep(0.1)

    async def _read_some(self, consumer: ShareConsumer) -> None:
        wanted: dict[Place, bool] = {}
        for record in await consumer.poll(max_records=20, timeout_ms=500):
            place = TopicPartition(record.topic, record.partition), record.offset
            self.work.world.observer.require(
                place not in self.accepted, f"{place} was accepted, and is given to a member again"
            )
            self.delivered[place] += 1
            accepts = self.work.chance.random() >= self.released
            kind = AcknowledgeType.ACCEPT if accepts else AcknowledgeType.RELEASE
            consumer.acknowledge(record, kind)
            wanted[place] = accepts
        if not wanted:
            return
        results = await consumer.commit(timeout_ms=5_000)
        taken = {
            TopicPartition(each.topic, each.partition)
            for each, error in results.items()
            if error is None
        }
        self.accepted |= {
            place for place, accepts in wanted.items() if accepts and place[0] in taken
        }

    def missing(self) -> list[Place]:
        """Records that producers were acknowledged, and that nobody was given."""
        return [
            (each.partition, each.offset)
            for each in self.work.history.sends
            if each.offset is not None and (each.partition, each.offset) not in self.delivered
        ]


@dataclass
class StreamsMember:
    """One member: what it owns, and when it was answered last."""

    id: str
    epoch: int = 0
    owns: set[int] = field(default_factory=set)
    """Partitions: each is a task."""
    answered_s: float = -SURELY_ALIVE_S


@dataclass
class StreamsMembers:
    """Members of one streams group. A task is in one pair of hands, and a coordinator that moves forgets nobody."""

    work: Workload
    members: dict[str, StreamsMember] = field(default_factory=dict)

    async def stream(self, name: str) -> None:
        """Beats until the work is over; once fenced, begins anew as itself, and now and then leaves."""
        member = self.members[name] = StreamsMember(name)
        async with Admin(
            bootstrap_servers=self.work.world.bootstrap,
            client_id=name,
            environment=self.work.world.environment(),
        ) as admin:
            while not self.work.is_over:
                try:
                    response = await self._beat(admin, member)
                except UnknownMemberId:
                    self._check_may_be_forgotten(member)
                    self._begin_anew(member)
                except MillstreamError as error:
                    if isinstance(error, KafkaError) and error.code == _FENCED_MEMBER_EPOCH:
                        self._begin_anew(member)  # an answer was lost, and what it said
                    await asyncio.sleep(0.2)
                else:
                    self._take(member, response)
                    await asyncio.sleep(_BEAT_S * self.work.chance.uniform(0.2, 1))

    async def _beat(self, admin: Admin, member: StreamsMember) -> StreamsGroupHeartbeatResponse:
        joins = member.epoch == 0
        request = StreamsGroupHeartbeatRequest(
            group_id=STREAMERS,
            member_id=member.id,
            member_epoch=member.epoch,
            rebalance_timeout_ms=60_000 if joins else -1,
            topology=_TOPOLOGY if joins else None,
            process_id=member.id if joins else None,
            client_tags=[] if joins else None,
            active_tasks=[TaskIds(_SUBTOPOLOGY, sorted(member.owns))] if member.owns else [],
            standby_tasks=[],
            warmup_tasks=[],
        )

        def read(
            response: StreamsGroupHeartbeatResponse, asked: Asked[str]
        ) -> dict[str, StreamsGroupHeartbeatResponse]:
            check(response.error_code, STREAMERS, response.error_message)
            return dict.fromkeys(asked.keys, response)

        call = Call[str, StreamsGroupHeartbeatResponse, StreamsGroupHeartbeatResponse](
            api=ApiKey.STREAMS_GROUP_HEARTBEAT,
            response=StreamsGroupHeartbeatResponse,
            route=GROUP_COORDINATOR,
            build=lambda _: request,
            read=read,
        )
        return await admin._driver.one(call, STREAMERS, admin._driver.deadline(5_000))

    def _take(self, member: StreamsMember, response: StreamsGroupHeartbeatResponse) -> None:
        require = self.work.world.observer.require
        require(
            response.member_epoch >= member.epoch,
            f"the epoch of {member.id} was {member.epoch}, and is {response.member_epoch}",
        )
        member.epoch, member.answered_s = response.member_epoch, self._now_s()
        if response.active_tasks is None:
            return
        given = {number for each in response.active_tasks for number in each.partitions}
        for other in self.members.values():
            if other is not member and self._is_surely_alive(other):
                both = given & other.owns
                require(not both, f"tasks {both} of {other.id} are given to {member.id}, too")
        member.owns = given

    def _begin_anew(self, member: StreamsMember) -> None:
        member.epoch, member.owns = 0, set()
        member.answered_s = -SURELY_ALIVE_S

    def _check_may_be_forgotten(self, member: StreamsMember) -> None:
        self.work.world.observer.require(
            not self._is_surely_alive(member),
            f"{member.id} was answered {self._now_s() - member.answered_s:.1f} s ago, and is forgotten",
        )

    def _is_surely_alive(self, member: StreamsMember) -> bool:
        return self._now_s() - member.answered_s < SURELY_ALIVE_S

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def owned(self) -> list[int]:
        """All tasks that somebody owns, each as often as it is owned."""
        return sorted(number for member in self.members.values() for number in member.owns)


_FENCED_MEMBER_EPOCH: Final = 110
_TOPOLOGY: Final = Topology(
    epoch=1, subtopologies=[Subtopology(subtopology_id=_SUBTOPOLOGY, source_topics=[EVENTS])]
)
