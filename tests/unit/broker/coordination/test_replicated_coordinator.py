"""A group shard on a partition with a follower: what is told is committed, whatever leader comes and goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import pytest

from millstream.broker.coordination.coordinator_partition import (
    CoordinatorPartition,
    CoordinatorServices,
)
from millstream.broker.coordination.coordinator_topic import CoordinatorKind, CoordinatorTopic
from millstream.broker.handlers import heartbeat
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import OPEN
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.durability import Durability
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.offsets.records import offset_commit_record
from millstream.coordinator.group.shard import GroupShard
from millstream.coordinator.result import Caller, Token
from millstream.errors import (
    CoordinatorNotAvailable,
    KafkaStorageError,
    NotCoordinator,
    NotLeaderOrFollower,
    RequestTimedOut,
    UnknownMemberId,
)
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage, TopicsImage
from millstream.model import ZERO_UUID, TopicPartition
from millstream.protocol.generated.group_records import OffsetCommitValue
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from millstream.protocol.record_frames import (
    decode_group_record,
    encode_record_key,
    encode_record_value,
)
from millstream.records.control import TransactionMarker
from millstream.records.record import Record
from millstream.runtime.system import SystemClock
from millstream.testing.sim_random import SimRandom
from tests.support.coordinators.coordinator import NAMED_BY_TESTS
from tests.support.handler_services import request_context
from tests.support.replicated_partition import ME, TOPIC_ID, ReplicatedPartition

OFFSETS = TopicPartition("__consumer_offsets", 0)
CALLER = Caller(Token(0), 9, "client", "/127.0.0.1")
LIST = ListGroupsRequest()
MARKER = TransactionMarker(7, 1, 0, True, 2)


class World:
    """A coordinator of groups over one partition, as images lead it. Commits give up after `commit_timeout_ms`."""

    def __init__(self, commit_timeout_ms: int = 60_000, min_insync_replicas: int = 1) -> None:
        clock = SystemClock()
        self.purgatory = Purgatory(clock)
        self.replicated = ReplicatedPartition(OFFSETS, self.purgatory.wake, min_insync_replicas)
        self.tasks = asyncio.TaskGroup()
        self.failure: Exception | None = None
        flusher: Any = None  # Any: nothing is flushed here
        durability = Durability(flusher, self.purgatory, lambda: "never")
        services = CoordinatorServices(
            clock,
            self.purgatory.wake,
            durability,
            commit_timeout_ms,
            DiskPool(),
            LongWork(lambda: 0.0),
        )
        me: Any = self  # Any: has what is used of partitions and tasks
        self.topic = CoordinatorTopic(
            CoordinatorKind(OFFSETS.topic, self._new_shard, decode_group_record),
            ME,
            partitions=me,
            tasks=me,
            services=services,
        )

    def _new_shard(self, _index: int) -> GroupShard:
        shard = GroupShard(GroupCoordinatorConfig(), SimRandom(1))
        shard.apply_image(NAMED_BY_TESTS)
        return shard

    # as Partitions and BackgroundTasks

    def get(self, _topic: str, _number: int) -> object:
        if self.failure is not None:
            raise self.failure
        return self.replicated.partition

    def start(self, work: Any, _name: str) -> None:
        self.tasks.create_task(work)

    # what happens

    def apply(self, image: PartitionImage | None = None) -> None:
        self.topic.apply(image_of(image or self.replicated.image))

    def lead_again(self, cut_at: int | None = None, *records: Record) -> None:
        """Loses the partition and leads it again before anything else runs, perhaps with other records."""
        self.replicated.follow()
        if cut_at is not None:
            self.replicated.take_over(cut_at, records)
        self.replicated.lead()

    @property
    def shard(self) -> CoordinatorPartition[GroupShard]:
        return self.topic.partition_led(0)

    def commit(self, offset: int, group_id: str = "g") -> asyncio.Future[object]:
        return self.shard.submit(commit_request(offset, group_id), CALLER)

    def fetch(self) -> asyncio.Future[object]:
        topics = [OffsetFetchRequestTopics("t", ZERO_UUID, [0])]
        group = OffsetFetchRequestGroup("g", None, -1, topics)
        return self.shard.submit(OffsetFetchRequest(groups=[group]), CALLER)


def image_of(*partitions: PartitionImage) -> MetadataImage:
    topic = TopicImage(name=OFFSETS.topic, topic_id=TOPIC_ID, partitions=partitions)
    return MetadataImage(topics=TopicsImage(by_name=MappingProxyType({OFFSETS.topic: topic})))


@asynccontextmanager
async def serving(world: World) -> AsyncIterator[World]:
    async with world.tasks:
        world.apply()
        await turns()
        yield world
        world.topic.close()


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def commit_request(offset: int, group_id: str = "g") -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(0, offset, -1, "")
    return OffsetCommitRequest(
        group_id, topics=[OffsetCommitRequestTopic("t", ZERO_UUID, [partition])]
    )


def stored(offset: int) -> Record:
    record = offset_commit_record("g", "t", 0, OffsetCommitValue(offset=offset))
    assert record.value is not None
    return Record(
        key=encode_record_key(record.key), value=encode_record_value(record.value, 4), timestamp=1
    )


def fetched(answer: asyncio.Future[object]) -> int:
    found = answer.result()
    assert isinstance(found, OffsetFetchResponse)
    return found.groups[0].topics[0].partitions[0].committed_offset


# --- loading


async def test_what_the_mark_does_not_cover_after_a_failover_is_told_once_it_does() -> None:
    """Loading to the log end must not be told as committed, nor may a position that was told go back to the mark."""
    world = World()
    world.replicated.write(stored(5), stored(9))
    world.replicated.replicate(1)
    world.lead_again()
    async with serving(world):
        asked = world.fetch()
        await turns()
        assert not asked.done()
        world.replicated.replicate(1)
        await turns()
        assert not asked.done()
        world.replicated.replicate()
        await turns()
        assert fetched(asked) == 9


async def test_a_log_that_the_mark_covers_is_answered_from_at_once() -> None:
    world = World()
    world.replicated.write(stored(5))
    world.replicated.replicate()
    world.lead_again()
    async with serving(world):
        asked = world.fetch()
        await turns()
        assert fetched(asked) == 5


async def test_a_mark_that_stands_still_is_told_as_a_coordinator_that_is_not_available() -> None:
    world = World(commit_timeout_ms=20)
    world.replicated.write(stored(5))
    world.lead_again()
    async with serving(world):
        assert isinstance(await world.fetch(), CoordinatorNotAvailable)
        world.replicated.replicate()
        await turns()
        asked = world.fetch()
        await turns()
        assert fetched(asked) == 5


async def test_the_mark_may_pass_the_log_end_while_it_is_loaded() -> None:
    world = World()
    world.replicated.write(stored(5))
    world.lead_again()
    async with world.tasks:
        world.apply()
        world.replicated.replicate()
        await turns()
        asked = world.fetch()
        await turns()
        assert fetched(asked) == 5
        world.topic.close()


async def test_a_question_to_all_shards_is_answered_for_those_that_can() -> None:
    world = World(commit_timeout_ms=20)
    world.replicated.write(stored(5))
    world.lead_again()
    async with serving(world):
        answers, failure = await world.topic.ask_all(LIST, ListGroupsResponse, CALLER)
        assert answers == []
        assert isinstance(failure, CoordinatorNotAvailable)
        world.replicated.replicate()
        await turns()
        answers, failure = await world.topic.ask_all(LIST, ListGroupsResponse, CALLER)
        assert ([type(each) for each in answers], failure) == ([ListGroupsResponse], None)
        world.shard.close()
        assert await world.topic.ask_all(LIST, ListGroupsResponse, CALLER) == ([], None)


# --- writing


async def test_a_commit_is_answered_when_the_mark_has_passed_it() -> None:
    async with serving(World()) as world:
        first, second = world.commit(5), world.commit(6, "h")
        await turns()
        world.replicated.replicate(0)
        await turns()
        assert not first.done()
        world.replicated.replicate(1)
        await turns()
        assert isinstance(first.result(), OffsetCommitResponse)
        assert not second.done(), "only the first is on the follower"
        world.replicated.replicate()
        await turns()
        assert isinstance(second.result(), OffsetCommitResponse)


async def test_too_few_in_sync_replicas_are_told_at_once_and_change_nothing() -> None:
    """Also where earlier records wait for the mark, which then stands still."""
    world = World(min_insync_replicas=2)
    async with serving(world):
        waiting = world.commit(5)
        await turns()
        world.replicated.partition.isr = (ME,)  # the mark does not move below min.insync.replicas
        refused = world.commit(6)
        await turns()
        assert isinstance(refused.result(), CoordinatorNotAvailable)
        assert not waiting.done()
        assert world.replicated.log.log_end_offset == 1
        world.replicated.lead()
        world.replicated.replicate()
        world.apply()
        await turns()
        asked = world.fetch()
        await turns()
        assert fetched(asked) == 5


async def test_a_write_that_was_given_up_on_stays_and_is_told_once_it_is_committed() -> None:
    async with serving(World(commit_timeout_ms=20)) as world:
        assert isinstance(await world.commit(5), CoordinatorNotAvailable)
        world.replicated.replicate()
        await turns()
        asked = world.fetch()
        await turns()
        assert fetched(asked) == 5


class Asked:
    """What a handler asks of a group coordinator."""

    def __init__(self, shards: object) -> None:
        self.shards = shards


async def test_a_heartbeat_is_answered_while_the_mark_waits_for_a_replica() -> None:
    async with serving(World()) as world:
        waiting = world.commit(5)
        await turns()
        coordination: Any = Asked(world.topic)
        context = request_context(4)
        request = HeartbeatRequest("g", 1, "nobody")
        beating = asyncio.create_task(
            heartbeat.handle(request, context, access=OPEN, group_coordinator=coordination)
        )
        await turns()
        assert isinstance(beating.exception(), UnknownMemberId)
        assert not waiting.done()


async def test_whoever_waits_is_told_of_a_loss_of_leadership() -> None:
    async with serving(World()) as world:
        waiting = world.commit(5)
        await turns()
        world.apply(world.replicated.follow())
        assert isinstance(await waiting, NotCoordinator)
        with pytest.raises(NotCoordinator):
            world.fetch()


async def test_records_of_another_leader_at_the_same_offsets_answer_nobody() -> None:
    """Lead, lose, lead again, before the shard hears of it: the mark is beyond its record for the sake of others."""
    async with serving(World()) as world:
        shard, waiting = world.shard, world.commit(5)
        await turns()
        world.lead_again(0, stored(100))
        world.replicated.replicate()
        await turns()
        assert shard.is_closed
        assert isinstance(waiting.result(), NotCoordinator)
        world.apply()
        await turns()
        asked = world.fetch()
        await turns()
        assert fetched(asked) == 100


async def test_a_shard_of_an_earlier_epoch_writes_nothing() -> None:
    async with serving(World()) as world:
        waiting = world.commit(5)
        world.lead_again()
        await turns()
        assert isinstance(waiting.result(), NotCoordinator)
        assert world.replicated.log.log_end_offset == 0


# --- markers


async def test_a_marker_of_offsets_is_told_when_the_mark_has_passed_it() -> None:
    async with serving(World()) as world:
        ending = asyncio.create_task(world.shard.end_transaction(MARKER))
        await turns()
        assert not ending.done()
        world.replicated.replicate()
        await ending


async def test_a_marker_of_offsets_that_is_gone_is_not_told_as_written() -> None:
    async with serving(World()) as world:
        ending = asyncio.create_task(world.shard.end_transaction(MARKER))
        await turns()
        world.lead_again(0, stored(100))
        world.replicated.replicate()
        with pytest.raises((NotLeaderOrFollower, RequestTimedOut)):
            await ending


async def test_a_shard_of_an_earlier_epoch_writes_no_marker() -> None:
    async with serving(World()) as world:
        shard = world.shard
        world.lead_again()
        with pytest.raises(NotLeaderOrFollower):
            await shard.end_transaction(MARKER)
        assert world.replicated.log.log_end_offset == 0


# --- epochs


async def test_an_image_older_than_the_shard_changes_nothing() -> None:
    world = World()
    older = world.replicated.image
    world.replicated.follow()
    newest = world.replicated.lead()
    async with serving(world):
        shard = world.shard
        for image in (older, newest):
            world.apply(image)
            assert world.shard is shard
            assert not shard.is_closed


async def test_each_leader_epoch_has_a_shard_of_its_own() -> None:
    async with serving(World()) as world:
        first = world.shard
        world.lead_again()
        world.apply()
        assert first.is_closed
        assert world.shard is not first
        assert world.shard.leader_epoch == world.replicated.image.leader_epoch


async def test_an_offline_log_does_not_fail_an_image_and_is_tried_with_the_next() -> None:
    world = World()
    world.failure = KafkaStorageError("offline")
    async with serving(world):
        with pytest.raises(NotCoordinator):
            world.topic.shard_of("g")
        world.failure = None
        world.apply()
        assert world.topic.shard_of("g") is world.shard


async def test_a_partition_that_knows_of_a_later_leader_is_not_taken_on() -> None:
    world = World()
    image = world.replicated.image
    world.replicated.follow()
    async with world.tasks:
        world.apply(image)
        with pytest.raises(NotCoordinator):
            world.topic.shard_of("g")


async def test_a_topic_that_was_made_anew_has_new_shards() -> None:
    async with serving(World()) as world:
        first = world.shard
        topic = TopicImage(
            name=OFFSETS.topic, topic_id=ZERO_UUID, partitions=(world.replicated.image,)
        )
        world.failure = KafkaStorageError("not there yet")
        world.topic.apply(
            MetadataImage(topics=TopicsImage(by_name=MappingProxyType({OFFSETS.topic: topic})))
        )
        assert first.is_closed
