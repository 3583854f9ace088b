"""A partition of several replicas on a simulated disk, its followers played by the test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import ZERO_UUID, BrokerId, LeaderEpoch, TopicPartition, Uuid
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.replication import FetchPosition, FetchRead, Partition
from millstream.replication.fetch_position import FetchingReplica
from millstream.replication.followers import ReplicationRules
from millstream.runtime import Instant
from millstream.runtime.system import SystemRandom
from tests.support.simulated_disk import SimFileSystem

T0 = TopicPartition("t", 0)
TOPIC_ID = Uuid(b"t" * 16)
LAG_MAX_MS = 30_000
START = Instant(1_000_000, 0)


def partition_image(
    *,
    leader: int = 1,
    epoch: int = 4,
    replicas: tuple[int, ...] = (1, 2, 3),
    isr: tuple[int, ...] = (1, 2, 3),
    partition_epoch: int = 0,
    recovery: int = 0,
) -> PartitionImage:
    return PartitionImage(
        partition=0,
        replicas=tuple(BrokerId(each) for each in replicas),
        isr=tuple(BrokerId(each) for each in isr),
        leader=BrokerId(leader),
        leader_epoch=LeaderEpoch(epoch),
        partition_epoch=partition_epoch,
        leader_recovery_state=recovery,
    )


def batch(*values: bytes, **options: int) -> memoryview:
    records = [Record(offset=i, timestamp=1_000, value=value) for i, value in enumerate(values)]
    return memoryview(build_batch(records, BatchOptions(**options)))  # type: ignore[arg-type] # see its fields


def registered(broker_id: int, epoch: int = 10) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id=BrokerId(broker_id), broker_epoch=epoch, incarnation_id=ZERO_UUID, fenced=False
    )


@dataclass
class LedPartition:
    """The partition of broker 1, with what it tells and asks."""

    config: LogConfig = field(default_factory=LogConfig)
    saved_high_watermark: int = 0
    on_progress: Callable[[TopicPartition], None] | None = None
    broker_ids: Iterable[int] = (1, 2, 3)
    now: Instant = START
    progressed: list[TopicPartition] = field(default_factory=list)
    grown: list[TopicPartition] = field(default_factory=list)
    due: list[Partition] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.brokers = {BrokerId(each): registered(each) for each in self.broker_ids}
        self.log = PartitionLog.open(
            T0, "/d/t-0", LogEnvironment(SimFileSystem(), SystemRandom()), self.config, saved=SavedState(), now=self.now
        )  # fmt: skip
        self.partition = Partition(
            self.log,
            TOPIC_ID,
            BrokerId(1),
            self.saved_high_watermark,
            self.on_progress or self.progressed.append,
            rules=ReplicationRules(self.brokers.get, LAG_MAX_MS),
            on_alteration_due=self.due.append,
        )
        self.partition.on_growth = self.on_progress or self.grown.append

    def apply(self, image: PartitionImage) -> None:
        self.partition.apply(image, self.now)

    def pass_ms(self, milliseconds: int) -> None:
        self.now = Instant(self.now.wall_ms + milliseconds, self.now.monotonic_ms + milliseconds)

    def write(self, *values: bytes, acks: int = 1) -> int:
        """Returns the offset after it."""
        return self.partition.append(batch(*values), self.now, acks=acks).last_offset + 1

    def fetch(
        self,
        offset: int,
        by: int = 2,
        *,
        broker_epoch: int = 10,
        log_start: int = 0,
        leader_epoch: int = 4,
        last_epoch: int = -1,
    ) -> FetchRead:
        position = FetchPosition(
            offset,
            1_000_000,
            current_leader_epoch=leader_epoch,
            last_fetched_epoch=last_epoch,
            reads_to_end=True,
        )
        replica = FetchingReplica(BrokerId(by), broker_epoch, log_start)
        return self.partition.read_as_replica(position, replica, self.now)

    def fence(self, broker_id: int) -> None:
        self.brokers[BrokerId(broker_id)] = replace(self.brokers[BrokerId(broker_id)], fenced=True)
