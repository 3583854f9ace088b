"""Decides when records in a log are safe, by one rule for producers and coordinators.

They must be on every in-sync replica, and on this disk where `millstream.flush.on.ack` or
`flush.messages` asks for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.services import LogFlusher
from millstream.errors import NotLeaderOrFollower, RequestTimedOut
from millstream.model import LeaderEpoch, TopicPartition
from millstream.replication.partition import ACKS_ALL, Partition


@dataclass(frozen=True, slots=True)
class AppendedRecords:
    """Records that are in the log of `partition`, up to `end_offset`."""

    partition: Partition
    end_offset: int
    leader_epoch: LeaderEpoch
    """Under which they were appended. Once another has led since, what the log holds below
    `end_offset` may be other records."""
    must_sync: bool
    must_replicate: bool

    @property
    def is_safe(self) -> bool:
        is_synced = not self.must_sync or self.partition.log.recovery_point >= self.end_offset
        return is_synced and (not self.must_replicate or self.is_replicated)

    @property
    def is_replicated(self) -> bool:
        """Whether all in-sync replicas have them, and this broker still leads as it did."""
        partition = self.partition
        return partition.high_watermark >= self.end_offset and partition.has_led_since(
            self.leader_epoch
        )


@final
class Durability:
    """The rule of durability. `flush_on_ack` returns auto, always or never, as it is configured now."""

    def __init__(
        self, log_flusher: LogFlusher, purgatory: Purgatory, flush_on_ack: Callable[[], str]
    ) -> None:
        self._log_flusher = log_flusher
        self._purgatory = purgatory
        self._flush_on_ack = flush_on_ack

    def must_sync(self, partition: Partition, acks: int, end_offset: int) -> bool:
        """Whether the records below `end_offset` must be on the disk before they are acknowledged.

        With a single in-sync replica no other broker has them: auto then asks the disk. With several a power loss of
        all of them loses records, as in Kafka. One that loses power alone tells the controller when it registers again
        (PreviousBrokerEpoch -1), and is in sync only once it has fetched from the others what it lost.
        """
        if partition.log.must_flush(end_offset):
            return True
        match self._flush_on_ack():
            case "never":
                return False
            case "always":
                return acks != 0
            case _:  # auto
                return acks == ACKS_ALL and len(partition.isr) < 2

    def written(self, partition: Partition, end_offset: int) -> AppendedRecords:
        """Records of a coordinator, or of a producer that asks for acks=all, under the present leader epoch."""
        must_sync = self.must_sync(partition, ACKS_ALL, end_offset)
        return AppendedRecords(
            partition, end_offset, partition.leader_epoch, must_sync, must_replicate=True
        )

    async def sync(self, written: AppendedRecords) -> None:
        """Returns when the records are on the disk, if they must be. Raises KafkaStorageError."""
        if written.must_sync:
            await self._log_flusher.flush_to(written.partition.log, written.end_offset)

    async def wait(self, written: AppendedRecords, timeout_ms: int) -> None:
        """Returns when the records are safe.

        `timeout_ms` is for the replicas, as in Kafka: what is written is not told to be lost because this disk is slow.
        Raises KafkaStorageError, NotLeaderOrFollower, RequestTimedOut.
        """
        await self.sync(written)
        if await self.replicate(written, timeout_ms):
            await self.sync_alone(written)

    async def replicate(self, written: AppendedRecords, timeout_ms: int) -> bool:
        """Returns when all in-sync replicas have the records, and whether they were waited for.

        Raises NotLeaderOrFollower, RequestTimedOut.
        """
        if not written.must_replicate or written.is_replicated:
            return False
        partition, leader_epoch = written.partition, written.leader_epoch

        def has_ended(_partition: TopicPartition) -> bool:
            return written.is_replicated or not partition.has_led_since(leader_epoch)

        if not has_ended(partition.topic_partition):
            await self._purgatory.watch([partition.topic_partition], timeout_ms, has_ended).wait()
        # Between the end of the wait and this line the broker may have lost its place and got it back.
        if not partition.has_led_since(leader_epoch):
            raise NotLeaderOrFollower(
                f"{partition.topic_partition} has had another leader since the records were appended"
            )
        if partition.high_watermark < written.end_offset:
            raise RequestTimedOut(
                f"the in-sync replicas did not have the records within {timeout_ms} ms"
            )
        return True

    async def sync_alone(self, written: AppendedRecords) -> None:
        """Syncs records that others were to have, if these have left the ISR instead: then nobody else has them.

        Raises KafkaStorageError.
        """
        partition, end_offset = written.partition, written.end_offset
        if not written.must_sync and self.must_sync(partition, ACKS_ALL, end_offset):
            await self._log_flusher.flush_to(partition.log, end_offset)
