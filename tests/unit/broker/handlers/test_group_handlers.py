"""The group APIs through their handlers, over real shards and logs on a simulated disk: versions, names, ids, leadership."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import pytest

from millstream.broker.cluster.auto_creation import AutoTopicCreation
from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination import group_coordination
from millstream.broker.coordination.coordinator_partition import CoordinatorServices
from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.handlers import (
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_fetch,
    sync_group,
)
from millstream.broker.long_work import LongWork
from millstream.broker.patterns.costly_patterns import PatternProcessDied
from millstream.broker.patterns.group_patterns import GroupPatterns
from millstream.broker.requests.access import OPEN
from millstream.broker.requests.handler_services import bound
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.group_persistence import ShareGroupPersistence
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.durability import Durability
from millstream.coordinator import runtime
from millstream.coordinator.group.config import ClassicGroupConfig, GroupCoordinatorConfig
from millstream.coordinator.record import partition_for
from millstream.coordinator.result import NO_TOKEN, Caller
from millstream.coordinator.share.state import SharePartitionKey
from millstream.errors import (
    CoordinatorNotAvailable,
    InconsistentGroupProtocol,
    KafkaError,
    NotCoordinator,
)
from millstream.log.directory.log_environment import LogEnvironment, SavedState
from millstream.log.partition_log import PartitionLog
from millstream.metadata.broker_registration import BrokerRegistration, Endpoint
from millstream.metadata.client_pattern import ClientPattern
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage, TopicsImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import ZERO_UUID, BrokerId, LeaderEpoch, TopicPartition, Uuid
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from millstream.protocol.generated.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.describe_groups import DescribeGroupsRequest
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.headers import RequestHeader
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from millstream.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from millstream.protocol.generated.list_groups import ListGroupsRequest
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from millstream.protocol.generated.sync_group import SyncGroupRequest
from millstream.replication.partition import Partition
from millstream.runtime.system import SystemClock
from millstream.testing.sim_random import SimRandom
from tests.support.handler_services import handler_services
from tests.support.simulated_disk import SimFileSystem

ME, OTHER = BrokerId(1), BrokerId(2)
OFFSETS_ID = Uuid(b"o" * 16)
TOPIC_ID, STRANGE_ID = Uuid(b"t" * 16), Uuid(b"?" * 16)
OFFSETS = "__consumer_offsets"
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.segment.bytes": "1024",
}
UNKNOWN_TOPIC, UNKNOWN_ID, UNKNOWN_MEMBER, NOT_COORDINATOR = 3, 100, 25, 16
COORDINATOR_NOT_AVAILABLE = 15


class NoFlusher:
    async def flush_to(self, log: PartitionLog, offset: int) -> None:
        raise NotImplementedError


class NoShareGroups:
    """No group here has share state."""

    @property
    def persister(self) -> NoShareGroups:
        return self

    async def delete(self, key: SharePartitionKey) -> None:
        raise AssertionError(f"{key} has no state")


class Patterns:
    """Matches here and now, unless it is told to fail first."""

    def __init__(self) -> None:
        self.failures: list[KafkaError] = []
        self.payers: list[str] = []

    async def matching(self, pattern: str, texts: Sequence[str], payer: str) -> frozenset[str]:
        self.payers.append(payer)
        if self.failures:
            raise self.failures.pop()
        return frozenset(filter(ClientPattern(pattern).matches, texts))


class World:
    """Two partitions of `__consumer_offsets`; the topic `t` has two partitions."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.clock = SystemClock()
        self.patterns = Patterns()
        self.tasks = tasks
        self.running: list[asyncio.Task[None]] = []
        self.logs = LogEnvironment(SimFileSystem(), SimRandom(0))
        self.held = {index: self.open(index) for index in (0, 1)}
        self.created: list[CreateTopicsRequest] = []
        purgatory = Purgatory(self.clock)
        durability = Durability(NoFlusher(), purgatory, lambda: "never")
        services = CoordinatorServices(
            self.clock, purgatory.wake, durability, 60_000, DiskPool(), LongWork(lambda: 0.0)
        )
        self.coordination = GroupCoordination(
            GroupCoordinatorConfig(classic=ClassicGroupConfig(initial_rebalance_delay_ms=0)),
            ME,
            SimRandom(1),
            partitions=self,
            tasks=self,
            services=services,
            patterns=GroupPatterns(
                self.patterns, OPEN, self.clock, long_work=LongWork(lambda: 0.0)
            ),
        )
        self.image = MetadataImage()
        self.access = OPEN
        self.auto_creation = AutoTopicCreation(
            self,
            DynamicConfig(broker_config(SETTINGS)),
            self,
            metadata=self,
            long_work=LongWork(lambda: 0.0),
        )

    def open(self, index: int) -> Partition:
        log = PartitionLog.open(
            TopicPartition(OFFSETS, index),
            f"/data/{OFFSETS}-{index}",
            self.logs,
            LogConfig(),
            saved=SavedState(),
            now=self.clock.now(),
        )
        return Partition(log, OFFSETS_ID, ME)

    # node.Partitions, node.Tasks, node.ControllerClient

    def get(self, topic: str, partition: int) -> Partition:
        assert topic == OFFSETS
        return self.held[partition]

    def all(self) -> Iterable[tuple[TopicPartition, Partition]]:
        raise NotImplementedError

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None:
        self.running.append(self.tasks.create_task(coroutine, name=name))

    async def ask(
        self, _api: object, request: CreateTopicsRequest, _caller: object = None
    ) -> CreateTopicsResponse:
        self.created.append(request)
        self.publish(leaders=(ME, ME))
        return CreateTopicsResponse(topics=[CreatableTopicResult(name=OFFSETS)])

    # What the tests do

    def publish(
        self,
        leaders: tuple[BrokerId, ...],
        epoch: int = 0,
        topics: Iterable[str] = ("t",),
        topic_id: Uuid = TOPIC_ID,
    ) -> None:
        partitions = tuple(
            PartitionImage(
                partition=index,
                replicas=(ME, OTHER),
                isr=(leader,),
                leader=leader,
                leader_epoch=LeaderEpoch(epoch),
            )
            for index, leader in enumerate(leaders)
        )
        two = tuple(
            PartitionImage(partition=i, replicas=(ME,), isr=(ME,), leader=ME) for i in (0, 1)
        )
        known = [TopicImage(name, topic_id, two) for name in topics]
        if partitions:
            known.append(TopicImage(OFFSETS, OFFSETS_ID, partitions))
        broker = BrokerRegistration(
            broker_id=ME,
            broker_epoch=1,
            incarnation_id=ZERO_UUID,
            endpoints=(Endpoint("PLAINTEXT", "host", 9092),),
        )
        self.image = MetadataImage(
            brokers={ME: broker},
            topics=TopicsImage(
                MappingProxyType({t.name: t for t in known}),
                MappingProxyType({t.topic_id: t for t in known}),
            ),
        )
        for partition, image in zip(self.held.values(), partitions, strict=False):
            partition.apply(image, self.clock.now())
        self.coordination.apply(self.image)

    async def answered(
        self, handler: Any, request: object, version: int
    ) -> Any:  # Any: each handler module has its own types
        """Through the handler, once everything that runs has loaded."""
        for _ in range(10):
            await asyncio.sleep(0)
        return await self.answer(handler, request, version)

    async def answer(self, handler: Any, request: object, version: int) -> Any:  # Any: see above
        share_groups: Any = NoShareGroups()  # Any: as much of ShareGroups as is used
        services = handler_services(
            access=self.access,
            group_coordinator=self.coordination,
            share_group_state=ShareGroupPersistence(
                self.coordination, share_groups, LongWork(lambda: 0.0)
            ),
            metadata=self,
            auto_topic_creation=self.auto_creation,
        )
        header = RequestHeader(handler.API.key, version, 1, "client")
        connection = ClientConnection(1, "10.0.0.9", 4711, "PLAINTEXT")
        context = RequestContext(header, connection, self.clock.now())
        answer = bound(handler.handle, services)(request, context)
        return await answer if inspect.isawaitable(answer) else answer

    async def reads_by_expression(self, epoch: int) -> ConsumerGroupHeartbeatResponse:
        """A heartbeat of the one member of a consumer group, and what comes of the notices that it gives."""
        request = ConsumerGroupHeartbeatRequest(
            group_id="regex",
            member_id="m",
            member_epoch=epoch,
            rebalance_timeout_ms=10_000,
            subscribed_topic_regex="[a-z]",
            topic_partitions=[],
        )
        for _ in range(10):
            await asyncio.sleep(0)
        return await self.coordination.shards.ask(
            "regex",
            request,
            ConsumerGroupHeartbeatResponse,
            Caller(NO_TOKEN, 1, "client", "/10.0.0.9"),
        )

    async def join_alone(self, group_id: str = "g") -> str:
        response = await self.answered(join_group, join(group_id), 3)
        assert response.error_code == 0
        return str(response.member_id)


@asynccontextmanager
async def serving(leaders: tuple[BrokerId, ...] = (ME, ME)) -> AsyncIterator[World]:
    async with asyncio.TaskGroup() as tasks:
        world = World(tasks)
        world.publish(leaders)
        yield world
        world.coordination.shards.close()


def join(group_id: str = "g", session_timeout_ms: int = 10_000) -> JoinGroupRequest:
    protocols = [JoinGroupRequestProtocol("range", b"")]
    return JoinGroupRequest(group_id, session_timeout_ms, 30_000, "", None, "consumer", protocols)


def commit(
    topics: dict[str | Uuid, list[int]], group_id: str = "g", offset: int = 5
) -> OffsetCommitRequest:
    asked = []
    for name, partitions in topics.items():
        said = [OffsetCommitRequestPartition(p, offset, -1, "") for p in partitions]
        if isinstance(name, str):
            asked.append(OffsetCommitRequestTopic(name, ZERO_UUID, said))
        else:
            asked.append(OffsetCommitRequestTopic("", name, said))
    return OffsetCommitRequest(group_id, topics=asked)


def codes(response: Any) -> list[tuple[str | Uuid, int, int]]:  # Any: OffsetCommit's response
    return [
        (t.name or t.topic_id, p.partition_index, p.error_code)
        for t in response.topics
        for p in t.partitions
    ]


async def test_version_0_of_join_takes_the_session_timeout_for_the_rebalance_timeout() -> None:
    async with serving() as world:
        request = join()
        await world.answered(join_group, request, 0)
        assert request.rebalance_timeout_ms == 10_000


@pytest.mark.parametrize(("version", "protocol_name"), [(6, ""), (7, None)])
async def test_a_refused_join_names_no_protocol_as_its_version_says_it(
    version: int, protocol_name: str | None
) -> None:
    async with serving() as world:
        response = await world.answered(join_group, join(session_timeout_ms=1), version)
        assert (response.error_code, response.protocol_name) == (26, protocol_name)


async def test_from_version_5_on_sync_must_name_its_protocol() -> None:
    async with serving() as world:
        member = await world.join_alone()
        request = SyncGroupRequest("g", 1, member)
        with pytest.raises(InconsistentGroupProtocol):
            await world.answered(sync_group, request, 5)
        assert (await world.answered(sync_group, request, 4)).error_code == 0


async def test_until_version_2_leave_has_one_member_and_one_error() -> None:
    async with serving() as world:
        member = await world.join_alone()
        unknown = await world.answered(leave_group, LeaveGroupRequest("g", "made up"), 2)
        assert (unknown.error_code, unknown.members) == (UNKNOWN_MEMBER, [])
        known = await world.answered(leave_group, LeaveGroupRequest("g", member), 2)
        assert (known.error_code, known.members) == (0, [])


async def test_from_version_3_on_leave_has_several_members_each_with_its_error() -> None:
    async with serving() as world:
        request = LeaveGroupRequest("g", members=[MemberIdentity("made up")])
        response = await world.answered(leave_group, request, 3)
        assert (response.error_code, response.members[0].error_code) == (0, UNKNOWN_MEMBER)


async def test_a_heartbeat_is_welcome_while_the_coordinator_loads() -> None:
    async with serving() as world:
        world.publish((ME, ME), epoch=1)
        response = await world.answer(heartbeat, HeartbeatRequest("g", 1, "m"), 4)
        assert response.error_code == 0


async def test_what_does_not_exist_is_refused_and_the_rest_is_committed() -> None:
    async with serving() as world:
        request = commit({"t": [0, 7, -1], "no such topic": [0]})
        assert codes(await world.answered(offset_commit, request, 9)) == [
            ("t", 0, 0),
            ("t", 7, UNKNOWN_TOPIC),
            ("t", -1, UNKNOWN_TOPIC),
            ("no such topic", 0, UNKNOWN_TOPIC),
        ]


async def test_version_10_knows_topics_by_id() -> None:
    async with serving() as world:
        committed = await world.answered(
            offset_commit, commit({TOPIC_ID: [0], STRANGE_ID: [0]}), 10
        )
        assert codes(committed) == [(TOPIC_ID, 0, 0), (STRANGE_ID, 0, UNKNOWN_ID)]
        topics = [OffsetFetchRequestTopics("", each, [0]) for each in (TOPIC_ID, STRANGE_ID)]
        groups = [OffsetFetchRequestGroup("g", topics=topics)]
        (answer,) = (
            await world.answered(offset_fetch, OffsetFetchRequest(groups=groups), 10)
        ).groups
        assert [
            (t.topic_id, p.committed_offset, p.error_code)
            for t in answer.topics
            for p in t.partitions
        ] == [(TOPIC_ID, 5, 0), (STRANGE_ID, -1, UNKNOWN_ID)]


async def test_version_10_gives_all_topics_of_a_group_by_id() -> None:
    async with serving() as world:
        await world.answered(offset_commit, commit({"t": [0]}), 9)
        groups = [OffsetFetchRequestGroup("g", topics=None)]
        (answer,) = (
            await world.answered(offset_fetch, OffsetFetchRequest(groups=groups), 10)
        ).groups
        assert [topic.topic_id for topic in answer.topics] == [TOPIC_ID]


async def test_older_versions_of_fetch_ask_for_one_group() -> None:
    async with serving() as world:
        await world.answered(offset_commit, commit({"t": [0]}), 2)
        named = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0, 1])])
        for version in (1, 7):
            (topic,) = (await world.answered(offset_fetch, named, version)).topics
            assert [p.committed_offset for p in topic.partitions] == [5, -1]
        everything = OffsetFetchRequest("g", None)
        (topic,) = (await world.answered(offset_fetch, everything, 2)).topics
        assert topic.name == "t"


async def test_where_an_error_of_a_fetch_stands_depends_on_the_version() -> None:
    async with serving(leaders=(OTHER, OTHER)) as world:
        old = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])])
        in_partition = await world.answered(offset_fetch, old, 1)
        assert in_partition.topics[0].partitions[0].error_code == NOT_COORDINATOR
        on_top = await world.answered(offset_fetch, old, 2)
        assert (on_top.error_code, on_top.topics) == (NOT_COORDINATOR, [])
        new = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
        in_group = await world.answered(offset_fetch, new, 8)
        assert in_group.groups[0].error_code == NOT_COORDINATOR


async def test_all_operations_are_allowed_when_they_are_asked_for() -> None:
    async with serving() as world:
        await world.join_alone()
        request = DescribeGroupsRequest(["g", "nobody"], include_authorized_operations=True)
        described = (await world.answered(describe_groups, request, 6)).groups
        assert [(g.group_state, g.authorized_operations) for g in described] == [
            ("CompletingRebalance", 3400),
            ("Dead", -(2**31)),
        ]
        assert described[0].members[0].client_host == "/10.0.0.9"


async def test_groups_of_all_partitions_are_listed_and_deleted() -> None:
    async with serving() as world:
        names = ["a", "b", "c"]
        assert {partition_for(name, 2) for name in names} == {0, 1}
        for name in names:
            await world.answered(offset_commit, commit({"t": [0]}, name), 9)
        listed = await world.answered(list_groups, ListGroupsRequest(), 5)
        assert sorted(group.group_id for group in listed.groups) == names
        deleted = await world.answered(delete_groups, DeleteGroupsRequest([*names, "a"]), 2)
        assert [(r.group_id, r.error_code) for r in deleted.results] == [(n, 0) for n in names]
        assert (await world.answered(list_groups, ListGroupsRequest(), 5)).groups == []


async def test_the_first_question_for_a_group_has_the_topic_created_behind_the_answer() -> None:
    async with serving(leaders=()) as world:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "h"])
        found = (await world.answer(find_coordinator, request, 4)).coordinators
        assert [(c.key, c.error_code, c.node_id, c.host, c.port) for c in found] == [
            ("g", COORDINATOR_NOT_AVAILABLE, -1, "", -1),
            ("h", COORDINATOR_NOT_AVAILABLE, -1, "", -1),
        ]
        assert world.created == []
        found = (await world.answered(find_coordinator, request, 4)).coordinators
        assert [(c.key, c.error_code, c.node_id, c.host, c.port) for c in found] == [
            ("g", 0, 1, "host", 9092),
            ("h", 0, 1, "host", 9092),
        ]
        (created,) = world.created
        (topic,) = created.topics
        assert (topic.name, topic.num_partitions) == (OFFSETS, 2)
        assert {c.name: c.value for c in topic.configs} == {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "1024",
        }


async def test_without_the_topic_this_node_coordinates_no_group() -> None:
    """As Kafka, and nothing but the search for a coordinator creates it."""
    async with serving(leaders=()) as world:
        assert codes(await world.answered(offset_commit, commit({"t": [0]}), 9)) == [
            ("t", 0, NOT_COORDINATOR)
        ]
        described = await world.answered(describe_groups, DescribeGroupsRequest(["g"]), 5)
        assert [group.error_code for group in described.groups] == [NOT_COORDINATOR]
        with pytest.raises(NotCoordinator, match="__consumer_offsets does not exist yet"):
            await world.answered(heartbeat, HeartbeatRequest("g", 1, "m"), 4)
        assert world.created == []


@pytest.mark.parametrize(
    ("key_type", "version", "error_code"), [(2, 6, 42), (2, 5, 42), (3, 6, 42)]
)
async def test_other_keys_have_no_coordinator(key_type: int, version: int, error_code: int) -> None:
    async with serving() as world:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["k"])
        (found,) = (await world.answered(find_coordinator, request, version)).coordinators
        assert (found.error_code, found.node_id, found.port) == (error_code, -1, -1)


async def test_before_version_4_there_is_one_key_and_success_has_a_name() -> None:
    async with serving() as world:
        found = await world.answered(find_coordinator, FindCoordinatorRequest("g"), 3)
        assert (found.error_code, found.error_message, found.node_id) == (0, "NONE", 1)


async def test_a_partition_led_elsewhere_is_not_answered_for() -> None:
    async with serving() as world:
        member = await world.join_alone("g")
        leaders = (OTHER, ME) if partition_for("g", 2) == 0 else (ME, OTHER)
        world.publish(leaders, epoch=1)
        with pytest.raises(NotCoordinator):
            await world.answered(heartbeat, HeartbeatRequest("g", 1, member), 4)


async def test_a_new_leader_epoch_loads_the_log_again() -> None:
    async with serving() as world:
        await world.answered(offset_commit, commit({"t": [0]}), 9)
        world.publish((ME, ME), epoch=1)
        groups = [OffsetFetchRequestGroup("g", topics=None)]
        (answer,) = (
            await world.answered(offset_fetch, OffsetFetchRequest(groups=groups), 8)
        ).groups
        assert answer.topics[0].partitions[0].committed_offset == 5


async def test_offsets_of_a_deleted_topic_are_forgotten() -> None:
    async with serving() as world:
        await world.answered(offset_commit, commit({"t": [0]}), 9)
        world.publish((ME, ME), topics=())
        groups = [OffsetFetchRequestGroup("g", topics=None)]
        (answer,) = (
            await world.answered(offset_fetch, OffsetFetchRequest(groups=groups), 8)
        ).groups
        assert answer.topics == []


def held_offsets(world: World) -> list[tuple[str, int]]:
    return [each for p in world.coordination.shards for each in p.shard.offsets.held_by_group("g")]


async def test_a_topic_that_is_deleted_and_made_again_in_one_image_is_another_topic() -> None:
    async with serving() as world:
        await world.answered(offset_commit, commit({"t": [0]}), 9)
        world.publish((ME, ME), topic_id=Uuid(b"u" * 16))
        await world.answered(list_groups, ListGroupsRequest(), 5)
        assert held_offsets(world) == []


async def test_a_shard_that_has_no_room_for_it_is_told_again_of_deleted_topics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_coordination, "_RETRY_S", 0)
    async with serving() as world:
        await world.answered(offset_commit, commit({"t": [0]}), 9)
        monkeypatch.setattr(runtime, "QUEUE_OPERATIONS_MAX", 1)
        world.publish((ME, ME), topics=())
        for _ in range(10):
            await asyncio.sleep(0)
        assert held_offsets(world) == []


async def test_an_expression_that_cannot_be_matched_now_is_matched_at_a_later_heartbeat() -> None:
    """Taken to mean no topic, it would take its partitions from the group."""
    async with serving() as world:
        world.patterns.failures = [
            CoordinatorNotAvailable("no process"),
            PatternProcessDied("gone"),
        ]
        epochs = [(await world.reads_by_expression(0)).member_epoch]
        for _ in range(3):
            answer = await world.reads_by_expression(epochs[-1])
            epochs.append(answer.member_epoch)
        assert epochs == [1, 1, 1, 2]
        assert answer.assignment is not None
        (owned,) = answer.assignment.topic_partitions
        assert (owned.topic_id, sorted(owned.partitions)) == (TOPIC_ID, [0, 1])
        assert world.patterns.payers == ["10.0.0.9"] * 3
