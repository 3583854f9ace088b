"""A partition of this node with one follower, which a test moves by hand: how far it has come, who leads, what another leader cut off.

The only place in tests of coordinators that knows how a follower's progress reaches a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from millstream.log.append_check import AppendOrigin
from millstream.log.directory.log_environment import LogEnvironment, SavedState
from millstream.log.file_range import FileRange
from millstream.log.partition_log import PartitionLog
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import BrokerId, LeaderEpoch, TopicPartition, Uuid
from millstream.records.batch import iterate_batches
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record, iterate_records
from millstream.replication.fetch_position import FetchingReplica, FetchPosition
from millstream.replication.partition import Partition
from millstream.replication.replica_progress import ANY_BROKER_EPOCH
from millstream.runtime import Instant
from millstream.testing.sim_random import SimRandom
from tests.support.simulated_disk import SimFileSystem

ME: Final = BrokerId(1)
OTHER: Final = BrokerId(2)
TOPIC_ID: Final = Uuid(b"t" * 16)
NOW: Final = Instant(1_700_000_000_000, 0)


class ReplicatedPartition:
    def __init__(
        self,
        name: TopicPartition,
        on_progress: Callable[[TopicPartition], None],
        min_insync_replicas: int = 1,
    ) -> None:
        self.log = PartitionLog.open(
            name,
            f"/data/{name}",
            LogEnvironment(SimFileSystem(), SimRandom(0)),
            LogConfig(min_insync_replicas=min_insync_replicas),
            saved=SavedState(),
            now=NOW,
        )
        self.partition = Partition(self.log, TOPIC_ID, ME, on_progress=on_progress)
        self.image = PartitionImage(
            partition=name.partition, replicas=(ME, OTHER), isr=(ME, OTHER), leader=ME
        )
        self.partition.apply(self.image, NOW)

    # --- leadership

    def lead(self, isr: tuple[BrokerId, ...] = (ME, OTHER)) -> PartitionImage:
        """This node leads, in a new epoch: it knows nothing of the follower."""
        return self._elect(ME, isr)

    def follow(self) -> PartitionImage:
        return self._elect(OTHER, (ME, OTHER))

    def shrink(self) -> None:
        """The follower leaves the ISR, and this node goes on in its epoch."""
        self._apply(ME, self.image.leader_epoch, (ME,))

    def _elect(self, leader: BrokerId, isr: tuple[BrokerId, ...]) -> PartitionImage:
        return self._apply(leader, LeaderEpoch(self.image.leader_epoch + 1), isr)

    def _apply(
        self, leader: BrokerId, leader_epoch: LeaderEpoch, isr: tuple[BrokerId, ...]
    ) -> PartitionImage:
        self.image = replace(
            self.image,
            leader=leader,
            leader_epoch=leader_epoch,
            isr=isr,
            partition_epoch=self.image.partition_epoch + 1,
        )
        self.partition.apply(self.image, NOW)
        return self.image

    # --- the follower

    def replicate(self, end_offset: int | None = None) -> None:
        """The follower has everything below `end_offset`, all of it if None."""
        end = self.log.log_end_offset if end_offset is None else end_offset
        position = FetchPosition(
            end, 1, current_leader_epoch=self.partition.leader_epoch, reads_to_end=True
        )
        replica = FetchingReplica(OTHER, ANY_BROKER_EPOCH, self.log.log_start_offset)
        self.partition.read_as_replica(position, replica, NOW)

    # --- the log

    def write(self, *records: Record) -> None:
        """As the leader of this epoch."""
        batch = build_batch(records, BatchOptions())
        self.partition.append(memoryview(batch), NOW, origin=AppendOrigin.COORDINATOR)

    def take_over(self, cut_at: int, records: Iterable[Record]) -> None:
        """Another leader had the log up to `cut_at` only and went on with `records`; this node has followed it."""
        assert cut_at >= self.partition.high_watermark, "what is committed is on every leader"
        self.log.truncate_to(cut_at, NOW)
        for record in records:
            options = BatchOptions(
                base_offset=self.log.log_end_offset, leader_epoch=self.image.leader_epoch
            )
            self.log.append_as_follower(memoryview(build_batch([record], options)), NOW)

    def committed_values(self) -> list[bytes | None]:
        """Of all records that are no markers, below the high watermark."""
        return self._values(self.partition.high_watermark)

    def _values(self, end_offset: int) -> list[bytes | None]:
        found: list[bytes | None] = []
        offset = self.log.log_start_offset
        while offset < end_offset:
            records = self.log.read(offset, 1_000_000, end_offset).records
            data = records.read() if isinstance(records, FileRange) else records
            for header, batch in iterate_batches(memoryview(data)):
                found += [each.value for each in iterate_records(header, batch)]
                offset = header.next_offset
        return found
