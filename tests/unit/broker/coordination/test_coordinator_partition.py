"""A group shard over a real partition log on a simulated disk: load, append, durability, closing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import count, pairwise
from typing import NoReturn

import pytest

from millstream.broker.coordination.coordinator_partition import (
    CoordinatorPartition,
    CoordinatorServices,
)
from millstream.broker.long_work import TURN_S, LongWork
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.durability import Durability
from millstream.coordinator.group.bounds import GroupBounds
from millstream.coordinator.group.config import ClassicGroupConfig, GroupCoordinatorConfig
from millstream.coordinator.group.offsets.records import offset_commit_record
from millstream.coordinator.group.shard import GroupShard
from millstream.coordinator.record import CoordinatorKey
from millstream.coordinator.result import Caller, Token
from millstream.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    GroupMaxSizeReached,
    InvalidRequest,
    KafkaStorageError,
    NotCoordinator,
    UnknownServerError,
)
from millstream.log.append_check import AppendOrigin
from millstream.log.directory.log_environment import LogEnvironment, SavedState
from millstream.log.file_range import FileRange
from millstream.log.partition_log import PartitionLog
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import ZERO_UUID, BrokerId, TopicPartition
from millstream.protocol.generated.group_records import OffsetCommitValue
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from millstream.protocol.generated.list_groups import ListGroupsRequest
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from millstream.protocol.record_frames import (
    decode_group_record,
    encode_record_key,
    encode_record_value,
)
from millstream.records.batch import iterate_batches
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import ControlType, TransactionMarker, build_control_batch
from millstream.records.record import Record
from millstream.replication.partition import Partition
from millstream.runtime import Instant
from millstream.runtime.system import SystemClock
from millstream.testing.sim_random import SimRandom
from tests.patience import LONG_ENOUGH_S
from tests.support.coordinators.coordinator import NAMED_BY_TESTS
from tests.support.simulated_disk import SimFileSystem

ME = BrokerId(1)
NOW = Instant(1_700_000_000_000, 0)
CALLER = Caller(Token(0), 9, "client", "/127.0.0.1")
OFFSETS = TopicPartition("__consumer_offsets", 0)


LIST = ListGroupsRequest()


class HeldFlusher:
    """Syncs when the test says so."""

    def __init__(self) -> None:
        self.may_flush = asyncio.Event()
        self.error: KafkaStorageError | None = None
        self.flushes = 0

    async def flush_to(self, log: PartitionLog, offset: int) -> None:
        await self.may_flush.wait()
        if self.error is not None:
            raise self.error
        self.flushes += 1
        log.flush(NOW)


class World:
    def __init__(self) -> None:
        self.disk = SimFileSystem()
        self.flusher = HeldFlusher()
        self.clock = SystemClock()
        self.long_work = LongWork(lambda: 0.0)
        self.notices: list[object] = []
        self.refused: list[str] = []
        self.log = PartitionLog.open(
            OFFSETS,
            "/data/__consumer_offsets-0",
            LogEnvironment(self.disk, SimRandom(0)),
            LogConfig(),
            saved=SavedState(),
            now=NOW,
        )
        self.partition = Partition(self.log, ZERO_UUID, ME)
        self.lead(isr=(ME,))

    def lead(self, isr: tuple[BrokerId, ...]) -> None:
        self.partition.apply(PartitionImage(partition=0, replicas=isr, isr=isr, leader=ME), NOW)

    def write(self, *records: Record, **options: object) -> None:
        batch = build_batch(records, BatchOptions(**options))
        self.partition.append(memoryview(batch), NOW, origin=AppendOrigin.COORDINATOR)

    @asynccontextmanager
    async def serving(
        self, policy: str = "never", commit_timeout_ms: int = 60_000
    ) -> AsyncIterator[CoordinatorPartition[GroupShard]]:
        purgatory = Purgatory(self.clock)
        durability = Durability(self.flusher, purgatory, lambda: policy)
        services = CoordinatorServices(
            self.clock, purgatory.wake, durability, commit_timeout_ms, DiskPool(), self.long_work,
            on_refused=lambda partition, error: self.refused.append(f"{partition}: {error.bound}"),
        )  # fmt: skip
        shard = GroupShard(
            GroupCoordinatorConfig(classic=ClassicGroupConfig(initial_rebalance_delay_ms=0)),
            SimRandom(1),
        )
        shard.apply_image(NAMED_BY_TESTS)
        coordinator = CoordinatorPartition(
            self.partition,
            shard,
            decode_group_record,
            services,
            lambda partition, notice: self.notices.append((partition, notice)),
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(coordinator.run())
            yield coordinator
            coordinator.close()


@pytest.fixture
def world() -> World:
    return World()


async def turns(count: int = 20) -> None:
    """Lets everything that is ready run."""
    for _ in range(count):
        await asyncio.sleep(0)


def commit(offset: int, group_id: str = "g") -> OffsetCommitRequest:
    topic = OffsetCommitRequestTopic(
        "t", ZERO_UUID, [OffsetCommitRequestPartition(0, offset, -1, "")]
    )
    return OffsetCommitRequest(group_id, topics=[topic])


def submit(
    coordinator: CoordinatorPartition[GroupShard], request: OffsetCommitRequest
) -> asyncio.Future[object]:
    return coordinator.submit(request, CALLER)


def stored_record(offset: int) -> Record:
    record = offset_commit_record("g", "t", 0, OffsetCommitValue(offset=offset))
    assert record.value is not None
    return Record(
        key=encode_record_key(record.key), value=encode_record_value(record.value, 4), timestamp=1
    )


def position(coordinator: CoordinatorPartition[GroupShard]) -> int | None:
    stored = coordinator._runtime.shard.offsets.find("g", "t", 0)
    return None if stored is None else stored.value.offset


async def test_a_commit_is_in_the_log_when_it_is_answered(world: World) -> None:
    async with world.serving() as coordinator:
        await turns()
        answer = await submit(coordinator, commit(5))
        assert isinstance(answer, OffsetCommitResponse)
        assert world.log.log_end_offset == 1
    async with world.serving() as successor:
        await turns()
        assert position(successor) == 5


async def test_what_a_bound_refuses_is_told_since_the_answer_has_no_room_for_it(
    world: World,
) -> None:
    async with world.serving() as coordinator:
        await turns()
        coordinator.shard._bounds = GroupBounds(groups=0)
        answer = await submit(coordinator, commit(5))
        assert isinstance(answer, GroupMaxSizeReached)
        assert world.refused == [f"{world.partition.topic_partition}: groups"]


async def test_with_one_replica_a_commit_waits_for_the_disk(world: World) -> None:
    async with world.serving(policy="auto") as coordinator:
        await turns()
        first, second = submit(coordinator, commit(5)), submit(coordinator, commit(6, "h"))
        await turns()
        assert (first.done(), second.done(), world.log.log_end_offset) == (False, False, 2)
        world.flusher.may_flush.set()
        await asyncio.gather(first, second)
        assert world.flusher.flushes == 1


async def test_with_more_replicas_a_commit_waits_for_them_and_not_for_the_disk(
    world: World,
) -> None:
    world.lead(isr=(ME, BrokerId(2)))
    async with world.serving(policy="auto", commit_timeout_ms=30) as coordinator:
        await turns()
        answer = await submit(coordinator, commit(5))
        assert isinstance(answer, CoordinatorNotAvailable)
        assert world.flusher.flushes == 0


async def test_a_disk_that_fails_ends_the_coordinator(world: World) -> None:
    world.flusher.error = KafkaStorageError("broken")
    world.flusher.may_flush.set()
    async with world.serving(policy="always") as coordinator:
        await turns()
        assert isinstance(await submit(coordinator, commit(5)), NotCoordinator)
        with pytest.raises(NotCoordinator):
            submit(coordinator, commit(6))


async def test_what_exceeds_a_batch_is_written_in_several(world: World) -> None:
    world.log.update_config(LogConfig(max_message_bytes=1_000))
    partitions = [OffsetCommitRequestPartition(p, p, -1, "") for p in range(100)]
    asked = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", ZERO_UUID, partitions)])
    async with world.serving() as coordinator:
        await turns()
        assert isinstance(await submit(coordinator, asked), OffsetCommitResponse)
    read = world.log.read(0, 1_000_000, 100).records
    data = read.read() if isinstance(read, FileRange) else read
    sizes = [header.size_bytes for header, _ in iterate_batches(memoryview(data))]
    assert len(sizes) > 1
    assert max(sizes) <= 1_000
    async with world.serving() as successor:
        await turns()
        last = successor._runtime.shard.offsets.find("g", "t", 99)
        assert last is not None
        assert last.value.offset == 99


async def test_a_record_that_exceeds_a_batch_by_itself_is_not_written(world: World) -> None:
    """As Kafka 4.3.1: its clients get UNKNOWN_SERVER_ERROR, and the group is as before."""
    world.log.update_config(LogConfig(max_message_bytes=1_000))
    async with world.serving() as coordinator:
        await turns()
        end_offset = world.log.log_end_offset
        assert isinstance(await submit(coordinator, commit(5, "g" * 1_000)), UnknownServerError)
        assert world.log.log_end_offset == end_offset
        assert isinstance(await submit(coordinator, commit(5)), OffsetCommitResponse)


async def test_what_cannot_be_written_is_answered_with_its_error(world: World) -> None:
    async with world.serving() as coordinator:
        await turns()
        assert isinstance(await submit(coordinator, commit(5, "g" * 32_768)), InvalidRequest)
        assert isinstance(await submit(coordinator, commit(5)), OffsetCommitResponse)


async def test_while_it_loads_it_says_so(world: World) -> None:
    async with world.serving() as coordinator:
        with pytest.raises(CoordinatorLoadInProgress):
            submit(coordinator, commit(5))


async def test_closing_answers_whoever_waits(world: World) -> None:
    request = JoinGroupRequest(
        "g", 10_000, 10_000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")]
    )
    async with world.serving(policy="auto") as coordinator:
        await turns()
        joining = coordinator.submit(request, CALLER)
        await turns()
        coordinator.close()
        assert isinstance(await joining, NotCoordinator)


async def test_a_caller_that_has_gone_is_no_trouble(world: World) -> None:
    async with world.serving() as coordinator:
        await turns()
        submit(coordinator, commit(5)).cancel()
        assert isinstance(await submit(coordinator, commit(6)), OffsetCommitResponse)
        assert position(coordinator) == 6


@pytest.mark.parametrize(("end", "expected"), [(ControlType.COMMIT, 9), (ControlType.ABORT, 5)])
async def test_a_transaction_in_the_log_counts_as_its_marker_says(
    world: World, end: ControlType, expected: int
) -> None:
    world.write(stored_record(5))
    owner = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    world.write(stored_record(9), base_sequence=0, **owner)
    marker = build_control_batch([(end, bytes(6))], 1, BatchOptions(**owner, is_control=True))
    world.partition.append(memoryview(marker), NOW, origin=AppendOrigin.COORDINATOR)
    async with world.serving() as coordinator:
        await turns()
        assert position(coordinator) == expected


async def test_a_marker_ends_a_transaction_while_the_shard_runs(world: World) -> None:
    world.write(stored_record(5))
    owner = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    world.write(stored_record(9), base_sequence=0, **owner)
    async with world.serving() as coordinator:
        await turns()
        await coordinator.end_transaction(TransactionMarker(7, 1, 0, True, 2))
        assert position(coordinator) == 9
    async with world.serving() as successor:
        await turns()
        assert position(successor) == 9


async def test_a_marker_for_a_shard_that_loads_is_asked_for_again(world: World) -> None:
    """The shard would not hear of it: it has decided already up to where it reads."""
    async with world.serving() as coordinator:
        with pytest.raises(CoordinatorLoadInProgress):
            await coordinator.end_transaction(TransactionMarker(7, 1, 0, True, 2))
        assert world.log.log_end_offset == 0


async def test_records_of_unknown_types_are_passed_over(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.write(Record(key=b"\x03\xe7", value=b"", timestamp=1), stored_record(5))
    async with world.serving() as coordinator:
        await turns()
        assert position(coordinator) == 5
    assert "offset 0 passed over" in caplog.text


async def test_a_log_that_cannot_be_read_is_not_served(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.write(Record(key=b"\x00\x01\x00", value=b"\x00", timestamp=1))
    async with world.serving() as coordinator:
        await turns()
        with pytest.raises(NotCoordinator):
            submit(coordinator, commit(5))
    assert "cannot be loaded" in caplog.text


@pytest.mark.parametrize("position", [65, 80, 90, 100])
async def test_a_log_in_which_a_bit_is_wrong_is_not_served(
    world: World, caplog: pytest.LogCaptureFixture, position: int
) -> None:
    """What the bit makes of a record may be a committed offset that nobody committed."""
    world.write(stored_record(5))
    path = f"/data/__consumer_offsets-0/{0:020d}.log"
    world.disk.corrupt(path, position, bytes([world.disk.read(path)[position] ^ 1]))
    async with world.serving() as coordinator:
        await turns()
        with pytest.raises(NotCoordinator):
            submit(coordinator, commit(5))
    assert "cannot be loaded" in caplog.text


async def test_a_log_that_the_disk_does_not_give_is_not_served_and_ends_no_other_task(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_arguments: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    world.write(stored_record(5))
    for segment in world.log.segments:
        segment.release()
    monkeypatch.setattr(world.disk, "open", refused)
    async with world.serving() as coordinator:
        await turns()
        with pytest.raises(NotCoordinator):
            submit(coordinator, commit(5))


def slow_work() -> LongWork:
    """Of whose turns each has time for four things: every look at the clock takes a while."""
    return LongWork(partial(next, count(step=TURN_S * 0.3)))


async def test_others_have_their_turn_between_the_records_of_one_batch(world: World) -> None:
    world.long_work = slow_work()
    world.write(*(stored_record(offset) for offset in range(50)))
    async with world.serving() as coordinator:
        await turns(3)
        with pytest.raises(CoordinatorLoadInProgress):
            submit(coordinator, commit(5))
        await turns(100)
        assert position(coordinator) == 49


@pytest.mark.parametrize("closed_after", range(16))
async def test_a_shard_is_closed_at_any_turn_of_its_load(world: World, closed_after: int) -> None:
    world.long_work = slow_work()
    world.write(*(stored_record(offset) for offset in range(50)))
    async with world.serving() as coordinator:
        await turns(closed_after)
        coordinator.close()
        await turns(100)
        with pytest.raises(NotCoordinator):
            submit(coordinator, commit(5))


async def test_a_long_log_is_loaded_in_pieces(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "millstream.broker.coordination.coordinator_partition.LOAD_CHUNK_BYTES", 200
    )
    for offset in range(50):
        world.write(stored_record(offset))
    async with world.serving() as coordinator:
        await turns(100)
        assert position(coordinator) == 49
        assert coordinator._runtime.end_offset == 50


@pytest.mark.parametrize("writes", [True, False], ids=["commits", "questions"])
async def test_others_have_their_turn_while_many_requests_are_due(
    world: World, writes: bool
) -> None:
    world.long_work = slow_work()
    async with world.serving() as coordinator:
        await turns()
        answers = [
            submit(coordinator, commit(number)) if writes else coordinator.submit(LIST, CALLER)
            for number in range(600)
        ]
        answered = []
        while not all(answer.done() for answer in answers):
            answered.append(sum(answer.done() for answer in answers))
            await asyncio.sleep(0)
        assert max(later - earlier for earlier, later in pairwise([*answered, 600])) <= 64


LONG = replace(CALLER, is_long=True)


class Held:
    """A commit that takes as long as the test wants, in the thread that it is left to."""

    def __init__(self, offset: int) -> None:
        self.may_go_on = threading.Event()
        self.has_begun = threading.Event()
        self.thread = threading.current_thread()
        self._offset = offset

    def hold(self) -> None:
        self.thread = threading.current_thread()
        self.has_begun.set()
        assert self.may_go_on.wait(LONG_ENOUGH_S), "the test has forgotten it"

    async def begin(self, coordinator: CoordinatorPartition[GroupShard]) -> asyncio.Future[object]:
        answer = coordinator.submit(commit(self._offset), LONG, self.hold)
        assert await asyncio.to_thread(self.has_begun.wait, LONG_ENOUGH_S)
        return answer


async def test_the_loop_goes_on_while_a_long_request_is_handled(world: World) -> None:
    held = Held(5)
    async with world.serving() as coordinator:
        await turns()
        answer = await held.begin(coordinator)
        later = submit(coordinator, commit(6))
        await turns()
        assert (coordinator.is_lent, answer.done(), later.done()) == (True, False, False)
        held.may_go_on.set()
        await asyncio.gather(answer, later)
        assert held.thread is not threading.current_thread()
        assert (position(coordinator), world.log.log_end_offset) == (6, 2)
        assert not coordinator.is_lent


async def test_what_is_changed_while_a_thread_has_the_shard_is_changed_when_it_is_back(
    world: World,
) -> None:
    held, seen = Held(5), list[int | None]()
    async with world.serving() as coordinator:
        await turns()
        answer = await held.begin(coordinator)
        coordinator.change(lambda _shard: seen.append(position(coordinator)))
        assert seen == []
        held.may_go_on.set()
        await answer
    assert seen == [5]


async def test_a_shard_that_is_closed_while_a_thread_has_it_writes_nothing(world: World) -> None:
    held = Held(5)
    async with world.serving() as coordinator:
        await turns()
        answer = await held.begin(coordinator)
        coordinator.close()
        assert isinstance(await answer, NotCoordinator)
        held.may_go_on.set()
    assert world.log.log_end_offset == 0


async def test_a_shard_that_is_closed_while_its_records_are_made_writes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(5)

    def encode(key: CoordinatorKey) -> bytes:
        held.hold()
        return encode_record_key(key)

    module = "millstream.broker.coordination.coordinator_partition"
    monkeypatch.setattr(f"{module}.encode_record_key", encode)
    async with world.serving() as coordinator:
        await turns()
        answer = coordinator.submit(commit(5), LONG)
        assert await asyncio.to_thread(held.has_begun.wait, LONG_ENOUGH_S)
        coordinator.close()
        assert isinstance(await answer, NotCoordinator)
        held.may_go_on.set()
    assert world.log.log_end_offset == 0


async def test_a_marker_waits_until_the_shard_is_back(world: World) -> None:
    held = Held(5)
    async with world.serving() as coordinator:
        await turns()
        answer = await held.begin(coordinator)
        marker = asyncio.create_task(
            coordinator.end_transaction(
                TransactionMarker(7, 0, is_commit=True, coordinator_epoch=0)
            )
        )
        await turns()
        assert world.log.log_end_offset == 0
        held.may_go_on.set()
        await asyncio.gather(answer, marker)
    assert world.log.log_end_offset == 2
