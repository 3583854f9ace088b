"""Offsets of a topic some of whose partitions have nobody who answers: those that have are told in time. Against a scripted broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from millstream.clients import RangeReader
from millstream.errors import KafkaError, LeaderNotAvailable, RequestTimedOut
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataResponseBroker,
    MetadataResponsePartition,
)
from tests.integration.clients.ports import closed_port, deaf_port
from tests.integration.clients.scripted_broker import Script, ScriptedBroker, scripted_broker

LEADERS = {0: 1, 1: -1, 2: 2, 3: 3}
"""Node 1 answers, 2 is down, and 3 accepts connections and says nothing."""


@asynccontextmanager
async def cluster() -> AsyncIterator[ScriptedBroker]:
    script = Script()
    with deaf_port() as deaf:
        async with scripted_broker(script) as broker:
            others = {2: closed_port(), 3: deaf}

            def metadata(request: Message) -> Message:
                assert isinstance(request, MetadataRequest)
                answer = broker.metadata(request)
                for node_id, address in others.items():
                    host, port = address.rsplit(":", 1)
                    answer.brokers.append(MetadataResponseBroker(node_id, host, int(port)))
                for topic in answer.topics:
                    topic.partitions = [
                        MetadataResponsePartition(partition_index=number, leader_id=leader)
                        for number, leader in LEADERS.items()
                    ]
                return answer

            def offsets(_request: Message) -> Message:
                seven = ListOffsetsPartitionResponse(partition_index=0, offset=7)
                return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [seven])])

            script.answers |= {ApiKey.METADATA: metadata, ApiKey.LIST_OFFSETS: offsets}
            yield broker


async def test_partitions_that_nobody_answers_for_are_told_beside_those_that_are_there() -> None:
    async with cluster() as broker, RangeReader(bootstrap_servers=broker.address) as reader:
        found = await reader.offset_results("t", -1, timeout_ms=300)
    assert found.keys() == LEADERS.keys()
    assert found[0] == 7
    assert isinstance(found[1], LeaderNotAvailable)
    assert isinstance(found[2], KafkaError)
    assert found[2].retriable
    assert isinstance(found[3], RequestTimedOut)
