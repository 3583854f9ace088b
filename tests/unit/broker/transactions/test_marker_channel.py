"""Who gets which marker of a transaction, and what a leader that cannot be asked means."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from millstream.broker.long_work import LongWork
from millstream.broker.transactions.marker_channel import TransactionMarkerChannel
from millstream.errors import BrokerNotAvailable, MillstreamError, RequestTimedOut
from millstream.model import BrokerId, TopicPartition
from millstream.net.client.connections import Lane
from millstream.protocol.generated.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from millstream.records.control import TransactionMarker

LEADERS = {0: 1, 1: 2, 2: 2, 3: -1}
MARKER = TransactionMarker(7, 3, 5, is_commit=True, transaction_version=2)
FENCED = 47


class Brokers:
    """This broker is 1; broker 2 answers with `codes`, or not at all."""

    broker_id = BrokerId(1)

    def __init__(self, codes: dict[int, int], error: MillstreamError | None = None) -> None:
        self.codes = codes
        self.error = error
        self.asked: list[Any] = []

    async def ask(
        self, broker_id: int, _key: object, request: Any, _expected: object, lane: Lane
    ) -> object:
        assert lane is Lane.MARKERS
        assert broker_id == 2
        self.asked.append(request)
        if self.error is not None:
            raise self.error
        results = [WritableTxnMarkerPartitionResult(n, code) for n, code in self.codes.items()]
        topic = WritableTxnMarkerTopicResult("t", results)
        return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(7, [topic])])


@dataclass
class Led:
    leader: int


class Metadata:
    """Its own image: who leads which partition."""

    @property
    def image(self) -> Metadata:
        return self

    def partition(self, _topic: str, number: int) -> Led:
        return Led(LEADERS[number])


class OwnMarkers:
    """Those of this broker, which leads partition 0."""

    async def write(self, partitions: list[TopicPartition], _marker: object) -> dict[Any, None]:
        assert partitions == [TopicPartition("t", 0)]
        return dict.fromkeys(partitions)


@dataclass
class Tasks:
    group: asyncio.TaskGroup

    def start(self, work: Any, _name: str) -> None:
        self.group.create_task(work)


async def refusals(brokers: Brokers) -> dict[int, str | None]:
    own, metadata, turns = OwnMarkers(), Metadata(), LongWork(lambda: 0.0)
    async with asyncio.TaskGroup() as tasks:
        channel = TransactionMarkerChannel(own, metadata, brokers, turns, Tasks(tasks))  # type: ignore[arg-type]  # as much of them as is called
        found = await channel.write([TopicPartition("t", n) for n in LEADERS], MARKER)
    return {each.partition: type(e).__name__ if e else None for each, e in found.items()}


async def test_each_leader_gets_the_markers_of_its_partitions() -> None:
    brokers = Brokers({1: 0, 2: FENCED})
    assert await refusals(brokers) == {
        0: None,
        1: None,
        2: "InvalidProducerEpoch",
        3: "NotLeaderOrFollower",
    }
    (request,) = brokers.asked
    (marker,) = request.markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (7, 3, 5)
    assert (marker.transaction_result, marker.transaction_version) == (True, 2)
    assert [(t.name, t.partition_indexes) for t in marker.topics] == [("t", [1, 2])]


async def test_what_an_answer_leaves_out_has_no_marker() -> None:
    found = await refusals(Brokers({1: 0}))
    assert (found[1], found[2]) == (None, "NetworkException")


@pytest.mark.parametrize("error", [BrokerNotAvailable("gone"), RequestTimedOut("silent")])
async def test_a_leader_that_cannot_be_asked_is_asked_again_later(error: MillstreamError) -> None:
    found = await refusals(Brokers({}, error))
    assert (found[0], found[1], found[2]) == (None, "NetworkException", "NetworkException")
