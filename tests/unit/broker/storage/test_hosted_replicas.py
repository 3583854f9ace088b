"""Replicas that this broker leads, follows with, is given and loses, as the metadata say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from millstream.broker.config.broker_config import BrokerConfig, broker_config
from millstream.broker.long_work import LongWork
from millstream.broker.requests.failure_log import PartitionOffline
from millstream.broker.storage.data_directory import open_data_directories
from millstream.broker.storage.hosted_partitions import HostedEvents, HostedPartitions
from millstream.broker.storage.new_logs import NewLogs
from millstream.errors import (
    CorruptMessage,
    KafkaStorageError,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_environment import LogEnvironment
from millstream.log.verification import Damage
from millstream.metadata.directory_ids import LOST_DIRECTORY, UNASSIGNED_DIRECTORY
from millstream.metadata.image import MetadataImage
from millstream.metadata.loader import MetadataBatch, MetadataLoader
from millstream.model import LeaderEpoch, Offset, TopicPartition, Uuid
from millstream.protocol.generated.metadata_records import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from millstream.records.batch import patch_offset_and_epoch
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.replication.fetch_position import FetchPosition
from millstream.replication.partition import Partition
from millstream.runtime.system import SystemClock, SystemRandom
from tests.patience import until
from tests.support.cut_at_once import start_at_once
from tests.support.simulated_disk import SimFileSystem

OWN, OTHER = 1, 2
TOPIC_ID = Uuid(b"topic-of-a-test!")
T0 = TopicPartition("t", 0)
OTHER_TOPIC_ID = Uuid(b"topic made anew!")
CONFIG = broker_config({"node.id": "1", "log.dirs": "data"})
TWO_DIRECTORIES = broker_config(
    {"node.id": "1", "log.dirs": "data,second", "metadata.log.dir": "data"}
)
THE_LEADERS_ALL = 1 << 40


@dataclass
class Following:
    """What the fetchers are told, and who led then."""

    told: list[tuple[str, object]] = field(default_factory=list)
    hosted: Partition | None = None

    def follow(self, partition: Partition) -> None:
        self.hosted = partition
        self.told.append(("follow", partition.leader))

    def leave(self, name: TopicPartition) -> None:
        assert name == T0
        self.told.append(("leave", None if self.hosted is None else self.hosted.leader))


class World:
    def __init__(self, directories: LogDirectories) -> None:
        self.directories = directories
        self.following = Following()
        self.placed: list[Uuid] = []
        """The directories of T0 that the controller was told of."""
        self.partitions = HostedPartitions(
            directories,
            CONFIG,
            SystemClock(),
            told=HostedEvents(
                on_progress=lambda _: None,
                on_growth=lambda _: None,
                on_alteration_due=lambda _: None,
                on_placed=lambda _, number, directory: self.placed.append(directory),
            ),
            new_logs=NewLogs(LongWork(lambda: 0.0)),
            fetchers=self.following,
            start_cut=start_at_once,
        )
        self._loader = MetadataLoader(MetadataImage())
        self._offset = 0

    def load(self, *records: object) -> None:
        """The first image."""
        self._replay(records)
        self.partitions.load(self._loader.image)

    def change(self, *records: object) -> None:
        for published in self._replay(records):
            self.partitions.apply(published)

    def _replay(self, records: tuple[object, ...]) -> list[object]:
        first, self._offset = self._offset, self._offset + len(records)
        batch = MetadataBatch(Offset(first), Offset(self._offset - 1), LeaderEpoch(1), records)
        return self._loader.replay(batch)

    @property
    def hosted(self) -> Partition:
        return self.partitions.get("t", 0)

    def append_fetched(self, *values: bytes, mark: int = THE_LEADERS_ALL) -> None:
        for value in values:
            end, epoch = self.hosted.log_end_offset, self.hosted.leader_epoch
            built = build_batch([Record(timestamp=1, value=value)])
            patch_offset_and_epoch(memoryview(built), end, epoch)
            self.hosted.append_fetched(
                memoryview(built),
                leader_epoch=epoch,
                leader_high_watermark=mark,
                leader_log_start_offset=0,
                now=SystemClock().now(),
            )


@contextmanager
def world(disk: SimFileSystem, config: BrokerConfig = CONFIG) -> Iterator[World]:
    directories = open_data_directories(config, LogEnvironment(disk, SystemRandom()), None)
    try:
        yield World(directories)
    finally:
        directories.abandon()


def topic(
    leader: int,
    *,
    epoch: int = 1,
    replicas: tuple[int, ...] = (OWN, OTHER),
    topic_id: Uuid = TOPIC_ID,
    directories: Sequence[Uuid] = (),
) -> list[object]:
    partition = PartitionRecord(
        partition_id=0, topic_id=topic_id, replicas=list(replicas), isr=list(replicas),
        leader=leader, leader_epoch=epoch, partition_epoch=epoch, directories=list(directories),
    )  # fmt: skip
    return [TopicRecord(name="t", topic_id=topic_id), partition]


def elect(leader: int) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=leader)


def reassign(*replicas: int) -> PartitionChangeRecord:
    return PartitionChangeRecord(
        partition_id=0, topic_id=TOPIC_ID, replicas=list(replicas), isr=list(replicas), leader=replicas[0]
    )  # fmt: skip


def directories_of_t(disk: SimFileSystem) -> list[str]:
    return [name for name in disk.list("data") if name.startswith("t-")]


def test_a_replica_follows_whoever_leads() -> None:
    with world(SimFileSystem()) as w:
        w.load(*topic(OTHER))
        assert w.following.told == [("follow", OTHER)]
        w.change(elect(-1))
        assert w.following.told[1:] == [("follow", -1)]


def test_a_replica_is_fetched_no_more_before_it_leads() -> None:
    with world(SimFileSystem()) as w:
        w.load(*topic(OTHER))
        w.change(elect(OWN))
        assert w.following.told == [("follow", OTHER), ("leave", OTHER), ("follow", OWN)]
        assert w.hosted.is_leader


def test_a_leader_that_is_no_leader_any_more_follows() -> None:
    with world(SimFileSystem()) as w:
        w.load(*topic(OWN))
        w.change(elect(OTHER))
        assert w.following.told[-1] == ("follow", OTHER)
        assert not w.hosted.is_leader


def test_a_replica_that_is_taken_away_is_deleted() -> None:
    disk = SimFileSystem()
    with world(disk) as w:
        w.load(*topic(OTHER))
        w.append_fetched(b"a")
        hosted = w.hosted
        w.change(reassign(OTHER, 3))
        assert w.following.told[-1] == ("leave", OTHER)
        with pytest.raises(NotLeaderOrFollower):
            w.partitions.get("t", 0)
        with pytest.raises(KafkaStorageError):
            hosted.log.read(0, 100, 1)
        (left,) = directories_of_t(disk)
        assert left.endswith("-delete")
        w.change(reassign(OTHER, OWN))
        assert w.hosted.log_end_offset == 0


def test_the_replica_of_a_deleted_topic_is_deleted() -> None:
    with world(SimFileSystem()) as w:
        w.load(*topic(OTHER))
        w.change(RemoveTopicRecord(topic_id=TOPIC_ID))
        assert w.following.told[-1] == ("leave", OTHER)
        with pytest.raises(UnknownTopicOrPartition):
            w.partitions.get("t", 0)


@pytest.mark.parametrize("replicas", [(OTHER,), (OTHER, 3)])
def test_a_replica_that_is_not_ours_any_more_at_the_start_is_moved_aside(
    replicas: tuple[int, ...],
) -> None:
    disk = SimFileSystem()
    with world(disk) as w:
        w.load(*topic(OTHER))
        w.append_fetched(b"a")
    with world(disk) as w:
        w.load(*topic(OTHER, replicas=replicas))
        with pytest.raises(NotLeaderOrFollower):
            w.partitions.get("t", 0)
        (left,) = directories_of_t(disk)
        assert left.endswith("-stray")


def test_a_replica_that_is_ours_still_is_opened_at_the_start() -> None:
    disk = SimFileSystem()
    with world(disk) as w:
        w.load(*topic(OTHER))
        w.append_fetched(b"a")
        w.hosted.log.flush(SystemClock().now())
    with world(disk) as w:
        w.load(*topic(OTHER, epoch=2))
        assert directories_of_t(disk) == ["t-0"]
        assert w.hosted.log_end_offset == 1


@pytest.mark.parametrize(("marked", "expected"), [(1, 1), (3, 2)])
def test_the_saved_mark_of_a_follower_counts_up_to_what_is_left_of_its_log(
    marked: int, expected: int
) -> None:
    """Marked before a kill in which the third record was lost."""
    disk = SimFileSystem()
    with world(disk) as w:
        w.load(*topic(OTHER))
        w.append_fetched(b"a", b"b", mark=0)
        w.hosted.log.flush(SystemClock().now())
        w.append_fetched(b"c", mark=marked)
        for directory in w.directories:
            directory.checkpoint_high_watermarks({T0: w.hosted.high_watermark})
    disk.crash()
    with world(disk) as w:
        w.load(*topic(OTHER))
        assert (w.hosted.high_watermark, w.hosted.log_end_offset) == (expected, 2)


def in_sync(*isr: int, leader: int | None = None) -> PartitionChangeRecord:
    changed = {} if leader is None else {"leader": leader}
    return PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=list(isr), **changed)


def damage_at(w: World, offset: int) -> None:
    w.partitions.note_damage(w.hosted, Damage(offset, 0, 0, "a bit is wrong"))


def test_a_damaged_follower_is_cut_once_it_is_out_of_the_isr() -> None:
    with world(SimFileSystem()) as w:
        w.load(*topic(OTHER))
        w.append_fetched(b"a", b"b", b"c")
        del w.placed[:]
        damage_at(w, 1)
        assert w.placed == [LOST_DIRECTORY]
        assert w.following.told[-1] == ("leave", OTHER), "its leader must not see it in sync"
        assert w.hosted.log_end_offset == 3, "what is committed stays while it may be elected"
        w.change(in_sync(OTHER, OWN))  # its leader had asked for that before
        assert w.hosted.log_end_offset == 3
        w.change(in_sync(OTHER))
        assert (w.hosted.log_end_offset, w.hosted.high_watermark) == (1, 1)
        assert w.following.told[-1] == ("follow", OTHER)
        assert w.placed == [LOST_DIRECTORY], "it may be eligible to lead"
        w.append_fetched(b"b", b"c")
        w.change(in_sync(OTHER, OWN))
        (directory,) = w.directories
        assert w.placed == [LOST_DIRECTORY, directory.meta.directory_id]
        assert (w.partitions.damaged.found, w.partitions.damaged.mended) == (1, 1)


def test_a_damaged_leader_gives_up_and_follows_from_where_it_is_sound() -> None:
    with world(SimFileSystem()) as w:
        w.load(*topic(OTHER))
        w.append_fetched(b"a", b"b")
        w.change(elect(OWN))
        damage_at(w, 1)
        assert w.placed[-1] == LOST_DIRECTORY
        position = FetchPosition(0, 1 << 20, reads_to_end=True)
        read = w.hosted.read(position)
        assert len(read.records) == w.hosted.log.size_bytes // 2, (
            "what is damaged is sent to nobody"
        )
        with pytest.raises(KafkaStorageError):
            w.hosted.read(replace(position, offset=1))
        w.change(in_sync(OTHER, leader=OTHER))
        assert w.hosted.log_end_offset == 1
        assert w.following.told[-1] == ("follow", OTHER)


def test_a_damaged_leader_that_is_alone_stays() -> None:
    with world(SimFileSystem()) as w:
        w.load(*topic(OTHER))
        w.append_fetched(b"a", b"b")
        w.change(in_sync(OWN, leader=OWN))
        del w.placed[:]
        damage_at(w, 1)
        assert (w.placed, w.hosted.log_end_offset, w.hosted.is_leader) == ([], 2, True)
        with pytest.raises(CorruptMessage):
            w.hosted.read(FetchPosition(1, 1 << 20, reads_to_end=True))
        w.change(in_sync(OWN, OTHER))
        assert w.placed == [LOST_DIRECTORY]


def test_one_that_nobody_can_replace_any_more_lives_in_its_directory_again() -> None:
    with world(SimFileSystem()) as w:
        w.load(*topic(OWN))
        damage_at(w, 0)
        w.change(in_sync(OWN, leader=-1))
        (directory,) = w.directories
        assert w.placed[-2:] == [LOST_DIRECTORY, directory.meta.directory_id]


def test_a_damaged_follower_that_was_out_of_sync_is_cut_at_once() -> None:
    with world(SimFileSystem()) as w:
        w.load(*topic(OTHER))
        w.append_fetched(b"a", b"b")
        w.change(in_sync(OTHER))
        damage_at(w, 1)
        assert w.hosted.log_end_offset == 1
        assert w.following.told[-2:] == [("leave", OTHER), ("follow", OTHER)]


def test_damage_that_goes_with_another_cut_is_none_any_more() -> None:
    async def story() -> None:
        with world(SimFileSystem()) as w:
            w.load(*topic(OTHER))
            w.append_fetched(b"a", b"b", b"c")
            w.change(in_sync(OTHER))
            diverging = w.hosted.plan_cut(1)
            assert diverging is not None
            diverging.read()
            assert w.hosted.make_cut(diverging, w.hosted.leader_epoch)
            damage_at(w, 2)
            assert w.following.told[-1] == ("leave", OTHER)
            diverging.settle()
            w.hosted.log.cuts.complete(diverging, SystemClock().now())
            await until(lambda: w.following.told[-1] == ("follow", OTHER))
            assert (w.hosted.damaged_at, w.hosted.log_end_offset) == (None, 1)

    asyncio.run(story())


def test_a_partition_whose_directory_fails_is_fetched_no_more() -> None:
    with world(SimFileSystem()) as w:
        w.load(*topic(OTHER))
        assert w.partitions.offline_count() == 0
        w.partitions.lose([T0])
        assert w.following.told[-1] == ("leave", OTHER)
        assert w.partitions.offline_count() == 1
        w.change(RemoveTopicRecord(topic_id=TOPIC_ID))
        assert w.partitions.offline_count() == 0, "nobody misses it any more"


def test_a_replica_whose_directory_has_failed_is_not_begun_anew_in_another_one() -> None:
    """Where the controller has not heard that it moved, it is in sync still, and might lead without a record."""
    nowhere = [UNASSIGNED_DIRECTORY] * 2
    with world(SimFileSystem(), TWO_DIRECTORIES) as w:
        w.load(*topic(OTHER, directories=nowhere))
        w.append_fetched(b"a record")
        failed = w.directories.of(w.hosted.log)
        failed.failure = "its disk is gone"
        w.partitions.lose(w.directories.take_offline(failed))
        w.change(elect(OWN))
        with pytest.raises(PartitionOffline):
            w.partitions.get("t", 0)
        w.change(RemoveTopicRecord(topic_id=TOPIC_ID))
        w.change(*topic(OTHER, topic_id=OTHER_TOPIC_ID, directories=nowhere))
        assert w.hosted.topic_id == OTHER_TOPIC_ID, "another topic of the name begins"
