"""Fetchers of a broker against a leader that answers as Kafka does, over encoded messages, in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any  # what a story gives

import pytest

from millstream.broker.long_work import LongWork
from millstream.broker.metrics.node_metrics import ReplicationMetrics
from millstream.broker.replication.fetchers_on_demand import FetchersOnDemand
from millstream.broker.replication.remote_leader import ReplicaFetchSettings
from millstream.broker.replication.replica_fetcher import FetcherServices
from millstream.broker.replication.replica_fetchers import ReplicaFetchers, fetcher_index
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.log_cutter import LogCutter
from millstream.errors import (
    InvalidFetchSessionEpoch,
    KafkaStorageError,
    NetworkException,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.metadata.image import NO_LEADER, PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import BrokerId, LeaderEpoch, TopicPartition, Uuid
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest
from millstream.protocol.generated.list_offsets import ListOffsetsRequest
from millstream.quota.rate import QuotaWindows
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.replication import Partition
from millstream.replication.throttle import ReplicationThrottle
from millstream.runtime import Instant
from millstream.runtime.system import SystemRandom
from tests.sim.virtual_time import VirtualClock, run_in_virtual_time
from tests.support.cut_at_once import cut_at_once
from tests.support.played_leader import Led, PlayedLeader
from tests.support.simulated_disk import SimFileSystem

TOPIC_ID = Uuid(b"topic-of-a-test!")
NOW = Instant(1_000_000, 0)
OWN, LEADER, OTHER = BrokerId(1), BrokerId(2), BrokerId(3)
BROKER_EPOCH = 17
ROUND_TRIP_S = 0.01
WAIT_MAX_S, BACKOFF_S = 0.5, 1.0


def new_log(number: int) -> PartitionLog:
    environment = LogEnvironment(SimFileSystem(), SystemRandom())
    name = TopicPartition("t", number)
    return PartitionLog.open(name, f"/d/{name}", environment, LogConfig(), saved=SavedState(), now=NOW)  # fmt: skip


def write(log: PartitionLog, epoch: int, *values: bytes) -> None:
    for value in values:
        built = build_batch([Record(offset=0, timestamp=1, value=value)])
        log.append_as_leader(memoryview(built), epoch, NOW)


class Flusher:
    """Syncs when the test says so."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.may_go = asyncio.Event()
        self.error: KafkaStorageError | None = None

    def start_flush(self, log: PartitionLog) -> None:
        raise AssertionError("flush.messages is not set")

    async def flush_to(self, log: PartitionLog, offset: int) -> None:
        self.asked.append(offset)
        await self.may_go.wait()
        if self.error is not None:
            raise self.error
        log.flush(NOW)


class Tasks:
    def __init__(self) -> None:
        self.running: list[asyncio.Task[None]] = []

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self.running.append(task)
        task.add_done_callback(self.running.remove)


@dataclass
class World:
    leader: PlayedLeader = field(default_factory=PlayedLeader)
    tasks: Tasks = field(default_factory=Tasks)
    partitions: list[Partition] = field(default_factory=list)
    pool: DiskPool = field(default_factory=DiskPool)
    channels: int = 0
    syncs_first: bool = False
    metrics: ReplicationMetrics = field(default_factory=ReplicationMetrics)
    throttle: ReplicationThrottle = field(
        default_factory=lambda: ReplicationThrottle(OWN, QuotaWindows())
    )
    catch_up_bytes_per_second: int = 0

    def __post_init__(self) -> None:
        self.flusher = Flusher()
        self.cutter = LogCutter(self.pool, self.tasks, VirtualClock())
        self.fetchers = ReplicaFetchers(
            self._channel,
            ReplicaFetchSettings(),
            lambda: BROKER_EPOCH,
            FetcherServices(
                tasks=self.tasks,
                cutter=self.cutter,
                syncs_first=lambda: self.syncs_first,
                clock=VirtualClock(),
                flusher=self.flusher,
                long_work=LongWork(lambda: 0.0),
                metrics=self.metrics,
                throttle=self.throttle,
                catch_up_bytes_per_second=lambda: self.catch_up_bytes_per_second,
            ),
            count=1,
        )

    def _channel(self) -> Any:
        self.channels += 1
        return self.leader

    def host(self, number: int, *, epoch: int = 1) -> tuple[Led, Partition]:
        """A partition that the other broker leads, and its replica here, which follows."""
        led = Led(new_log(number), epoch)
        self.leader.lead(led.log.partition, TOPIC_ID, led)
        partition = Partition(new_log(number), TOPIC_ID, OWN)
        self.partitions.append(partition)
        self.apply(partition, epoch=epoch)
        return led, partition

    def apply(
        self,
        partition: Partition,
        *,
        leader: BrokerId = LEADER,
        epoch: int = 1,
        adding: tuple[BrokerId, ...] = (),
    ) -> None:
        """As `HostedPartitions` does it."""
        if leader == OWN:
            self.fetchers.leave(partition.topic_partition)
        number = partition.topic_partition.partition
        partition.apply(
            PartitionImage(
                partition=number, replicas=(OWN, LEADER), isr=(LEADER,), leader=leader, leader_epoch=LeaderEpoch(epoch), adding_replicas=adding
            ),
            NOW,
        )  # fmt: skip
        self.fetchers.follow(partition)

    def fetches_of(self, number: int) -> list[FetchPartition]:
        """What was asked of a partition."""
        fetches = [each for each in self.leader.requests if isinstance(each, FetchRequest)]
        return [asked for each in fetches for topic in each.topics for asked in topic.partitions if asked.partition == number]  # fmt: skip

    def ends(self) -> list[int]:
        return [partition.log_end_offset for partition in self.partitions]

    def offsets_asked(self) -> list[int]:
        return [each.topics[0].partitions[0].timestamp for each in self.leader.requests if isinstance(each, ListOffsetsRequest)]  # fmt: skip


@contextlib.asynccontextmanager
async def world() -> AsyncIterator[World]:
    made = World()
    try:
        yield made
    finally:
        for partition in made.partitions:
            made.fetchers.leave(partition.topic_partition)
        async with asyncio.timeout(5):  # what has nothing to fetch ends by itself
            await asyncio.gather(*made.tasks.running)


def told(story: Callable[[World], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    async def run() -> None:
        async with world() as made:
            await story(made)

    def test() -> None:
        run_in_virtual_time(run())

    test.__doc__ = story.__doc__
    return test


@told
async def test_what_the_leader_has_comes_and_what_it_gets(w: World) -> None:
    led, partition = w.host(0)
    write(led.log, 1, b"a", b"b")
    await asyncio.sleep(ROUND_TRIP_S)
    assert (partition.log_end_offset, partition.high_watermark) == (2, 2)
    write(led.log, 1, b"c")
    led.high_watermark = 2
    await asyncio.sleep(WAIT_MAX_S + ROUND_TRIP_S)
    assert (partition.log_end_offset, partition.high_watermark) == (3, 2)


@told
async def test_what_comes_is_counted_and_what_a_reassignment_adds(w: World) -> None:
    led, partition = w.host(0)
    write(led.log, 1, b"a", b"b")
    await asyncio.sleep(ROUND_TRIP_S)
    assert (w.metrics.bytes_in, w.metrics.reassignment_bytes_in) == (led.log.size_bytes, 0)
    w.apply(partition, epoch=2, adding=(OWN,))
    led.epoch = 2
    had = led.log.size_bytes
    write(led.log, 2, b"c")
    await asyncio.sleep(WAIT_MAX_S + BACKOFF_S)
    assert w.metrics.bytes_in == led.log.size_bytes
    assert w.metrics.reassignment_bytes_in == led.log.size_bytes - had


@told
async def test_the_one_farthest_behind_and_those_that_gave_up_are_told(w: World) -> None:
    led, partition = w.host(0)
    write(led.log, 1, b"a")
    led.high_watermark = 5
    await asyncio.sleep(ROUND_TRIP_S)
    assert (w.metrics.follower_lag_max(), w.metrics.failed_partitions()) == (4, 0)
    led.epoch = 2  # this replica has not heard of it
    await asyncio.sleep(WAIT_MAX_S + BACKOFF_S)
    assert w.metrics.failed_partitions() == 1
    w.apply(partition, epoch=2)
    assert w.metrics.failed_partitions() == 0


@told
async def test_a_throttled_replica_takes_no_more_than_it_may_until_it_is_in_sync(w: World) -> None:
    led, partition = w.host(0)
    _, free = other = w.host(1)
    partition.log.update_config(LogConfig(follower_replication_throttled_replicas=("0:1",)))
    for _ in range(60):
        for each in (led, other[0]):
            write(each.log, 1, b"v" * 100_000)
    w.throttle.bytes_per_second = 500_000
    begin_s = asyncio.get_running_loop().time()
    while partition.log_end_offset < 60:
        await asyncio.sleep(0.1)
        if asyncio.get_running_loop().time() - begin_s < 2:
            assert free.log_end_offset == 60 or partition.log_end_offset < 30
    took_s = asyncio.get_running_loop().time() - begin_s
    # The last answer, of at most a megabyte, is not waited for.
    assert took_s == pytest.approx((led.log.size_bytes - 1_000_000) / 500_000, rel=0.15)
    assert free.log_end_offset == 60
    w.throttle.bytes_per_second = 1  # it is exceeded for long, and the replica is in sync
    write(led.log, 1, b"more")
    await asyncio.sleep(WAIT_MAX_S + 2 * ROUND_TRIP_S)
    assert partition.log_end_offset == 61


@told
async def test_a_session_names_what_changed_and_says_who_asks(w: World) -> None:
    led, _ = w.host(0)
    w.host(1)
    write(led.log, 1, b"a")
    await asyncio.sleep(ROUND_TRIP_S)
    first, second, *_ = w.leader.fetches
    assert (first.replica_state.replica_id, first.replica_state.replica_epoch) == (OWN, BROKER_EPOCH)  # fmt: skip
    assert (first.max_wait_ms, first.min_bytes, first.max_bytes) == (500, 1, 10_485_760)
    assert (first.session_epoch, [p.partition for p in first.topics[0].partitions]) == (0, [0, 1])
    (asked,) = second.topics[0].partitions
    assert (asked.partition, asked.fetch_offset, asked.last_fetched_epoch) == (0, 1, 1)
    assert (asked.current_leader_epoch, asked.partition_max_bytes) == (1, 1_048_576)
    assert second.session_epoch == 1


@told
async def test_a_session_that_is_refused_is_begun_anew_at_once(w: World) -> None:
    led, partition = w.host(0)
    await asyncio.sleep(ROUND_TRIP_S)
    w.leader.session_error = InvalidFetchSessionEpoch.code
    write(led.log, 1, b"a")
    await asyncio.sleep(WAIT_MAX_S + 2 * ROUND_TRIP_S)
    assert partition.log_end_offset == 1
    w.leader.forget_session()
    write(led.log, 1, b"b")
    await asyncio.sleep(WAIT_MAX_S + 2 * ROUND_TRIP_S)
    assert partition.log_end_offset == 2


@told
async def test_a_log_that_diverges_becomes_the_leaders(w: World) -> None:
    led, partition = w.host(0, epoch=5)
    w.fetchers.leave(partition.topic_partition)
    write(led.log, 1, b"a", b"b")
    write(led.log, 4, b"c", b"d")
    write(partition.log, 1, b"a", b"b", b"x")
    write(partition.log, 2, b"y", b"z")
    w.fetchers.follow(partition)
    await asyncio.sleep(10 * ROUND_TRIP_S)
    assert partition.log.leader_epochs.entries == led.log.leader_epochs.entries
    assert w.ends() == [4]
    assert not w.offsets_asked()


@told
async def test_where_acknowledgements_wait_for_disks_a_follower_says_what_is_on_its_own(
    w: World,
) -> None:
    w.syncs_first = True
    led, partition = w.host(0)
    other_led, _ = w.host(1)
    write(led.log, 1, b"a", b"b")
    await asyncio.sleep(2 * ROUND_TRIP_S)
    write(other_led.log, 1, b"o")
    await asyncio.sleep(WAIT_MAX_S + ROUND_TRIP_S)
    asked = [each.fetch_offset for each in w.fetches_of(0)]
    assert (w.ends(), w.flusher.asked, set(asked)) == ([2, 1], [2, 1], {0})
    w.flusher.may_go.set()
    await asyncio.sleep(4 * ROUND_TRIP_S)
    assert w.fetches_of(0)[-1].fetch_offset == 2
    assert partition.log.recovery_point == 2
    write(led.log, 1, b"c")
    w.flusher.error = KafkaStorageError("the disk is gone")
    await asyncio.sleep(WAIT_MAX_S + 2 * ROUND_TRIP_S)
    assert (partition.log_end_offset, w.fetches_of(0)[-1].fetch_offset) == (3, 2)


@told
async def test_a_partition_that_is_cut_waits_alone(w: World) -> None:
    led, cut = w.host(0, epoch=5)
    w.fetchers.leave(cut.topic_partition)
    write(led.log, 1, b"a", b"b")
    write(cut.log, 1, b"a")
    write(cut.log, 2, b"y")
    other_led, other = w.host(1, epoch=5)
    held: list[tuple[Any, ...]] = []
    start, w.cutter.start = w.cutter.start, lambda *cut: held.append(cut)  # type: ignore[method-assign]  # the disk stands still
    w.fetchers.follow(cut)
    await asyncio.sleep(10 * ROUND_TRIP_S)
    write(other_led.log, 5, b"o")
    await asyncio.sleep(WAIT_MAX_S + 10 * ROUND_TRIP_S)
    assert (len(held), cut.log_end_offset, other.log_end_offset) == (1, 2, 1)
    start(*held[0])
    await asyncio.sleep(WAIT_MAX_S + 10 * ROUND_TRIP_S)
    assert cut.log.leader_epochs.entries == led.log.leader_epochs.entries
    assert w.ends() == [2, 1]


@told
async def test_a_log_that_ends_behind_its_leaders_is_cut(w: World) -> None:
    """One without epochs has no other way to find it."""
    led, partition = w.host(0)
    w.fetchers.leave(partition.topic_partition)
    cut_at_once(partition, partition.plan_cut(5, is_whole=True))
    w.fetchers.follow(partition)
    write(led.log, 1, b"a")
    await asyncio.sleep(10 * ROUND_TRIP_S)
    assert (partition.log_start_offset, partition.log_end_offset) == (1, 1)
    assert w.offsets_asked() == [-1]


@told
async def test_what_the_leader_has_deleted_is_left_out(w: World) -> None:
    led, partition = w.host(0)
    w.fetchers.leave(partition.topic_partition)
    write(led.log, 1, b"a", b"b", b"c")
    led.log.delete_records_before(2)
    w.fetchers.follow(partition)
    await asyncio.sleep(10 * ROUND_TRIP_S)
    assert (partition.log_start_offset, partition.log_end_offset) == (2, 3)
    assert w.offsets_asked() == [-1, -2]


@pytest.mark.parametrize("trouble", [NotLeaderOrFollower, UnknownTopicOrPartition, "damage"])
def test_a_bad_partition_waits_alone(trouble: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def story(w: World) -> None:
        good, _ = w.host(0)
        bad, partition = w.host(1)
        bad.damages, bad.refuses = trouble == "damage", None if trouble == "damage" else trouble
        for number in range(10):
            write(good.log, 1, b"%d" % number)
            write(bad.log, 1, b"%d" % number)
            await asyncio.sleep(WAIT_MAX_S)
        assert w.ends() == [10, 0]
        troubles = [each for each in caplog.records if each.name.endswith(".replica_fetcher")]
        assert len(troubles) == 1, "the same trouble is told once"
        bad.refuses, bad.damages = None, False
        await asyncio.sleep(BACKOFF_S + WAIT_MAX_S + 2 * ROUND_TRIP_S)
        assert partition.log_end_offset == 10
        assert (w.metrics.corrupt_fetches > 1) == (trouble == "damage")

    caplog.set_level(logging.INFO)
    told(story)()


@told
async def test_one_that_is_fenced_waits_for_a_newer_image(w: World) -> None:
    led, partition = w.host(0)
    led.epoch = 2
    write(led.log, 2, b"a")
    await asyncio.sleep(60)
    assert len(w.leader.fetches) == 1
    assert partition.log_end_offset == 0
    w.apply(partition, epoch=1)
    await asyncio.sleep(60)
    assert len(w.leader.fetches) == 1
    w.apply(partition, epoch=2)
    await asyncio.sleep(ROUND_TRIP_S)
    assert partition.log_end_offset == 1


@told
async def test_a_leader_that_is_not_reached_is_tried_again(w: World) -> None:
    led, partition = w.host(0)
    write(led.log, 1, b"a")
    w.leader.failures = [NetworkException("it is gone"), NetworkException("it is gone")]
    await asyncio.sleep(2 * BACKOFF_S)
    assert partition.log_end_offset == 0
    await asyncio.sleep(BACKOFF_S)
    assert partition.log_end_offset == 1


@told
async def test_a_leader_that_does_not_tell_its_offsets_stops_that_partition_only(w: World) -> None:
    led, partition = w.host(0)
    good, _ = w.host(1)
    write(led.log, 1, b"a", b"b")
    led.log.delete_records_before(2)

    def fail_next() -> None:
        w.leader.failures = [NetworkException("it is gone")] if not w.offsets_asked() else []

    w.leader.before_answer = fail_next
    write(good.log, 1, b"a")
    await asyncio.sleep(0.4)
    assert w.ends() == [0, 1]
    w.leader.before_answer = lambda: None
    await asyncio.sleep(BACKOFF_S + WAIT_MAX_S)
    assert partition.log_start_offset == 2


@told
async def test_an_answer_that_comes_after_this_broker_leads_is_dropped(w: World) -> None:
    led, partition = w.host(0)
    write(led.log, 1, b"late")
    w.leader.before_answer = lambda: w.apply(partition, leader=OWN, epoch=2)
    await asyncio.sleep(10 * ROUND_TRIP_S)
    assert partition.log_end_offset == 0
    assert partition.is_leader
    assert len(w.leader.fetches) == 1
    assert not w.tasks.running, "a fetcher without partitions ends"


@told
async def test_an_answer_that_comes_after_the_next_epoch_is_dropped(w: World) -> None:
    led, partition = w.host(0)
    write(led.log, 1, b"late")
    led_again = Led(new_log(0), 2)
    write(led_again.log, 2, b"new")

    def elect() -> None:
        if partition.leader_epoch == 1:
            w.leader.lead(led.log.partition, TOPIC_ID, led_again)
            w.apply(partition, epoch=2)

    w.leader.before_answer = elect
    await asyncio.sleep(10 * ROUND_TRIP_S)
    assert partition.log.leader_epochs.entries == ((2, 0),)


@told
async def test_without_a_leader_nothing_is_fetched(w: World) -> None:
    _, partition = w.host(0)
    await asyncio.sleep(ROUND_TRIP_S)
    w.apply(partition, leader=NO_LEADER, epoch=2)
    await asyncio.sleep(WAIT_MAX_S + ROUND_TRIP_S)
    assert len(w.fetchers) == 0
    assert not w.tasks.running


@told
async def test_a_change_that_is_none_for_the_fetcher_leaves_it_alone(w: World) -> None:
    _, partition = w.host(0)
    await asyncio.sleep(ROUND_TRIP_S)
    w.apply(partition, epoch=1)
    await asyncio.sleep(WAIT_MAX_S)
    assert [len(fetch.topics) for fetch in w.leader.fetches] == [1, 0, 0]


@told
async def test_partitions_are_spread_over_the_fetchers_of_a_leader(w: World) -> None:
    leds = [w.host(number)[0] for number in range(6)]
    await asyncio.sleep(ROUND_TRIP_S)
    assert (len(w.tasks.running), w.channels) == (1, 1)
    w.leader.has_sessions = False  # one played leader keeps one session
    w.fetchers.resize(3)
    for led in leds:
        write(led.log, 1, b"a")
    await asyncio.sleep(WAIT_MAX_S + 5 * ROUND_TRIP_S)
    assert (len(w.tasks.running), w.channels) == (3, 3)
    assert w.ends() == [1] * 6


def test_each_fetcher_of_a_leader_has_its_share_of_a_topic() -> None:
    shares = [fetcher_index(TOPIC_ID, number, 3) for number in range(9)]
    assert sorted(shares) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@told
async def test_a_thousand_partitions_follow(w: World) -> None:
    leds = [w.host(number)[0] for number in range(1_000)]
    await asyncio.sleep(ROUND_TRIP_S)
    for led in leds[::100]:
        write(led.log, 1, b"a")
    await asyncio.sleep(WAIT_MAX_S + ROUND_TRIP_S)
    assert sum(w.ends()) == 10
    assert all(len(fetch.topics[0].partitions) <= 10 for fetch in w.leader.fetches[1:] if fetch.topics)  # fmt: skip


@told
async def test_fetchers_are_made_for_the_first_partition_that_another_broker_leads(
    w: World,
) -> None:
    made: list[int] = []

    def make(count: int) -> ReplicaFetchers:
        made.append(count)
        w.fetchers.resize(count)
        return w.fetchers

    on_demand = FetchersOnDemand(make, count=1)
    led, partition = w.host(0)
    w.fetchers.leave(partition.topic_partition)
    for leader in (OWN, NO_LEADER):
        partition.leader = leader
        on_demand.follow(partition)
        on_demand.leave(partition.topic_partition)
    on_demand.resize(3)
    assert made == []
    partition.leader = LEADER
    write(led.log, 1, b"a", b"b")
    on_demand.follow(partition)
    on_demand.follow(partition)
    assert (made, len(w.fetchers)) == ([3], 1)
    await asyncio.sleep(ROUND_TRIP_S)
    assert w.ends() == [2]
    on_demand.leave(partition.topic_partition)
    assert len(w.fetchers) == 0


def test_what_is_fetched_from_whom_is_one_line_for_a_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """K8.22."""

    async def story() -> None:
        async with world() as w:
            for number in range(22):
                w.host(number)
            await asyncio.sleep(ROUND_TRIP_S)
            assert lines(caplog) == [
                "fetches from broker 2: "
                + ", ".join(f"t-{number} from offset 0 in leader epoch 1" for number in range(20))
                + " and 2 more",
                "fetcher 0 of broker 2 begins",
            ]
            moved, others = w.partitions[0], w.partitions[1:]
            w.apply(moved, epoch=2)
            for each in others:
                w.fetchers.leave(each.topic_partition)
            await asyncio.sleep(WAIT_MAX_S + 2 * ROUND_TRIP_S)
            assert lines(caplog) == [
                "fetches " + ", ".join(f"t-{number}" for number in range(1, 21)) + " and 1 more from broker 2 no more",
                "fetches from broker 2: t-0 from offset 0 in leader epoch 2",
            ]  # fmt: skip
            w.apply(moved, leader=OWN, epoch=3)
            await asyncio.sleep(WAIT_MAX_S + 2 * ROUND_TRIP_S)
            assert lines(caplog) == [
                "fetches t-0 from broker 2 no more",
                "fetcher 0 of broker 2 ends",
            ]

    with caplog.at_level(logging.INFO, "millstream.broker.replication.replica_fetchers"):
        run_in_virtual_time(story())


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [each.message for each in caplog.records if "fetche" in each.message]
    caplog.clear()
    return found
