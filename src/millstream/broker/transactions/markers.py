"""Writes the markers that end transactions into the partitions this node leads.

The one way for WriteTxnMarkers, which others send, and for this node's own transaction coordinator. Markers of offsets
go through the group coordinator, whose shard must hear of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Final, final

from millstream.broker.coordination.coordinator_partition import CoordinatorServices
from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.coordination.internal_topics import CONSUMER_OFFSETS
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.services import Partitions
from millstream.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
    NotCoordinator,
    NotLeaderOrFollower,
)
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskGroup
from millstream.records.control import TransactionMarker

_WAITING_MAX: Final = 100
"""Ours: markers of one transaction that wait for the disk or the replicas at the same time; the
others are written after them."""


@final
class TransactionMarkers:
    def __init__(
        self,
        partitions: Partitions,
        groups: GroupCoordination,
        services: CoordinatorServices,
        *,
        failures: FailureLog,
    ) -> None:
        self._failures = failures
        self._partitions = partitions
        self._groups = groups
        self._services = services

    async def write(
        self, partitions: Iterable[TopicPartition], marker: TransactionMarker
    ) -> dict[TopicPartition, KafkaError | None]:
        """Writes a marker; returns when it is safe in all partitions, with the error of each that refuses it.

        Refusals are UnknownTopicOrPartition, NotLeaderOrFollower, InvalidProducerEpoch, TransactionCoordinatorFenced,
        NotEnoughReplicas, KafkaStorageError, RequestTimedOut. Writing a marker a second time does no harm. One walk
        writes them all, giving way now and then; only what has to be waited for is a task of its own.
        """
        refusals: dict[TopicPartition, KafkaError | None] = {}
        room = asyncio.Semaphore(_WAITING_MAX)
        async with TaskGroup() as tasks:
            async for partition in self._services.long_work.in_turns(partitions):
                await room.acquire()
                refusals[partition] = None
                try:
                    unsafe = self._append(partition, marker)
                except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
                    refusals[partition] = self._failures.of(str(partition), error)
                    unsafe = None
                if unsafe is None:
                    room.release()
                else:
                    tasks.create_task(self._wait(unsafe, partition, refusals, room))
        return refusals

    def _append(
        self, topic_partition: TopicPartition, marker: TransactionMarker
    ) -> Coroutine[None, None, object] | None:
        """Returns what has to be waited for, None when the marker is safe already. Raises what `write` tells."""
        if topic_partition.topic == CONSUMER_OFFSETS:
            return self._end_offsets(topic_partition, marker)
        services = self._services
        partition = self._partitions.get(*topic_partition)
        end_offset = partition.append_marker(marker, services.clock.now()).last_offset + 1
        written = services.durability.written(partition, end_offset)
        if written.is_safe:
            return None
        return services.durability.wait(written, services.commit_timeout_ms)

    async def _end_offsets(
        self, topic_partition: TopicPartition, marker: TransactionMarker
    ) -> None:
        self._partitions.get(*topic_partition)
        try:
            shard = self._groups.shards.partition_led(topic_partition.partition)
            await shard.end_transaction(marker)
        except (CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator) as error:
            raise NotLeaderOrFollower(f"{topic_partition} has no group coordinator yet") from error

    async def _wait(
        self,
        unsafe: Coroutine[None, None, object],
        partition: TopicPartition,
        refusals: dict[TopicPartition, KafkaError | None],
        room: asyncio.Semaphore,
    ) -> None:
        try:
            await unsafe
        except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
            refusals[partition] = self._failures.of(str(partition), error)
        finally:
            room.release()
