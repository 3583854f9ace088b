"""Decides when records in a log are safe, by one rule for producers and coordinators.

They must be on every in-sync replica, and on this disk where `millstream.flush.on.ack` or `flush.messages` asks for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from millstream.broker.node.services import LogFlusher
from millstream.broker.requests.purgatory import Purgatory
from millstream.errors import RequestTimedOut
from millstream.model import TopicPartition
from millstream.replication.partition import ACKS_ALL, Partition


@dataclass(frozen=True, slots=True)
class AppendedRecords:
    """Records that are in the log of `partition`, up to `end_offset`."""

    partition: Partition
    end_offset: int
    must_sync: bool

    @property
    def is_safe(self) -> bool:
        is_synced = not self.must_sync or self.partition.log.recovery_point >= self.end_offset
        return is_synced and self.partition.high_watermark >= self.end_offset


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

        With a single in-sync replica no other broker has them: auto then asks the disk.
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
        """Records of a coordinator, or of a producer that asks for acks=all."""
        must_sync = self.must_sync(partition, ACKS_ALL, end_offset)
        return AppendedRecords(partition, end_offset, must_sync)

    async def sync(self, written: AppendedRecords) -> None:
        """Returns when the records are on the disk, if they must be. Raises KafkaStorageError."""
        if written.must_sync:
            await self._log_flusher.flush_to(written.partition.log, written.end_offset)

    async def wait(self, written: AppendedRecords, timeout_ms: int) -> None:
        """Returns when the records are safe.

        `timeout_ms` is for the replicas, as in Kafka: what is written is not told to be lost because this disk is slow. Raises
        KafkaStorageError, NotLeaderOrFollower, RequestTimedOut.
        """
        await self.sync(written)
        await self.replicate(written, timeout_ms)

    async def replicate(self, written: AppendedRecords, timeout_ms: int) -> bool:
        """Returns when all in-sync replicas have the records, and whether they were waited for.

        Raises NotLeaderOrFollower, RequestTimedOut.
        """
        partition, end_offset = written.partition, written.end_offset
        if partition.high_watermark >= end_offset:
            return False

        def has_ended(_partition: TopicPartition) -> bool:
            return partition.high_watermark >= end_offset or not partition.is_leader

        await self._purgatory.watch([partition.topic_partition], timeout_ms, has_ended).wait()
        partition.check_leader()
        if partition.high_watermark < end_offset:
            raise RequestTimedOut(
                f"the in-sync replicas did not have the records within {timeout_ms} ms"
            )
        return True
