"""Writes the markers that end transactions into the partitions this node leads.

The one way for WriteTxnMarkers, which others send, and for this node's own transaction coordinator. Markers of offsets go
through the group coordinator, whose shard must hear of them.
"""

from __future__ import annotations

from typing import final

from millstream.broker.coordination.coordinator_partition import CoordinatorServices
from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.coordination.internal_topics import CONSUMER_OFFSETS
from millstream.broker.node.services import Partitions
from millstream.broker.storage.durability import wait_until_safe
from millstream.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    NotLeaderOrFollower,
)
from millstream.model import TopicPartition
from millstream.records.control import TransactionMarker


@final
class TransactionMarkers:
    def __init__(
        self, partitions: Partitions, groups: GroupCoordination, services: CoordinatorServices
    ) -> None:
        self._partitions = partitions
        self._groups = groups
        self._services = services

    async def write(self, topic_partition: TopicPartition, marker: TransactionMarker) -> None:
        """Returns when the marker is safe. Writing it a second time does no harm.

        Raises UnknownTopicOrPartition, NotLeaderOrFollower, InvalidProducerEpoch, TransactionCoordinatorFenced,
        NotEnoughReplicas, KafkaStorageError.
        """
        if topic_partition.topic == CONSUMER_OFFSETS:
            await self._end_offsets(topic_partition, marker)
            return
        services = self._services
        partition = self._partitions.get(*topic_partition)
        appended = partition.append_marker(marker, services.clock.now())
        await wait_until_safe(
            partition,
            appended.last_offset + 1,
            services.flush_on_ack,
            log_flusher=services.log_flusher,
            purgatory=services.purgatory,
        )

    async def _end_offsets(
        self, topic_partition: TopicPartition, marker: TransactionMarker
    ) -> None:
        self._partitions.get(*topic_partition)
        try:
            shard = self._groups.shards.partition_led(topic_partition.partition)
            await shard.end_transaction(marker)
        except (CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator) as error:
            raise NotLeaderOrFollower(f"{topic_partition} has no group coordinator yet") from error
