"""Sends the markers that end a transaction to the brokers that lead its partitions, this one among them.

Owns who gets which marker; whoever completes a transaction owns the retries.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from millstream.broker.forwarding.broker_channel import BrokerChannel
from millstream.broker.forwarding.gathered_requests import GatheredRequests
from millstream.broker.long_work import LongWork
from millstream.broker.services import BackgroundTasks, Metadata
from millstream.broker.transactions.markers import TransactionMarkers
from millstream.errors import (
    KafkaError,
    MillstreamError,
    NetworkException,
    NotLeaderOrFollower,
    error_for,
)
from millstream.metadata.image import NO_LEADER
from millstream.model import BrokerId, TopicPartition
from millstream.net.client.connections import Lane
from millstream.net.client.tasks import TaskGroup
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from millstream.records.control import TransactionMarker

Refusals = dict[TopicPartition, KafkaError | None]


class TransactionMarkerChannel:
    def __init__(
        self,
        markers: TransactionMarkers,
        metadata: Metadata,
        brokers: BrokerChannel,
        long_work: LongWork,
        tasks: BackgroundTasks,
    ) -> None:
        self._requests = GatheredRequests(
            self._ask, lambda each: each.producer_id, tasks, "transaction markers"
        )
        self._markers = markers
        self._metadata = metadata
        self._brokers = brokers
        self._long_work = long_work

    async def write(
        self, partitions: Collection[TopicPartition], marker: TransactionMarker
    ) -> Refusals:
        """Returns when all leaders have answered, with the error of each partition that has no marker.

        Errors are those of `TransactionMarkers.write`, and NetworkException for a leader that cannot be asked.
        """
        # A leader that has changed by the time it is asked refuses: the next attempt looks at the image of then.
        image = self._metadata.image
        by_leader: dict[BrokerId, list[TopicPartition]] = {}
        async for each in self._long_work.in_turns(partitions):
            found = image.partition(*each)
            leader = NO_LEADER if found is None else found.leader
            by_leader.setdefault(leader, []).append(each)
        refusals: Refusals = {}
        async with TaskGroup() as tasks:
            for leader, led in by_leader.items():
                tasks.create_task(self._write_to(leader, led, marker, refusals))
        return refusals

    async def _write_to(
        self,
        leader: BrokerId,
        led: Sequence[TopicPartition],
        marker: TransactionMarker,
        refusals: Refusals,
    ) -> None:
        if leader == self._brokers.broker_id:
            refusals.update(await self._markers.write(led, marker))
        elif leader == NO_LEADER:
            refusals.update(dict.fromkeys(led, NotLeaderOrFollower("nobody leads it")))
        else:
            refusals.update(await self._send(leader, led, marker))

    async def _send(
        self, leader: BrokerId, led: Sequence[TopicPartition], marker: TransactionMarker
    ) -> Refusals:
        try:
            result = await self._requests.ask(leader, _writable(marker, led))
        except MillstreamError as error:
            return dict.fromkeys(led, NetworkException(f"broker {leader}: {error}"))
        codes = {
            TopicPartition(topic.name, each.partition_index): each.error_code
            for topic in result.topics
            for each in topic.partitions
        }
        unanswered = NetworkException.code
        return {
            each: error_for(code) if (code := codes.get(each, unanswered)) else None for each in led
        }

    async def _ask(
        self, leader: BrokerId, markers: Sequence[WritableTxnMarker]
    ) -> Sequence[WritableTxnMarkerResult]:
        """By the producers of the markers, which is how a Kafka broker answers.

        One that it leaves out has no results.
        """
        answer = await self._brokers.ask(
            leader,
            ApiKey.WRITE_TXN_MARKERS,
            WriteTxnMarkersRequest(markers=list(markers)),
            WriteTxnMarkersResponse,
            Lane.MARKERS,
        )
        by_producer = {result.producer_id: result for result in answer.markers}
        return [
            by_producer.get(each.producer_id, WritableTxnMarkerResult(each.producer_id, []))
            for each in markers
        ]


def _writable(marker: TransactionMarker, led: Sequence[TopicPartition]) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        transaction_result=marker.is_commit,
        transaction_version=marker.transaction_version,
        topics=[
            WritableTxnMarkerTopic(topic, [each.partition for each in group])
            for topic, group in groupby(sorted(led), lambda each: each.topic)
        ],
    )
