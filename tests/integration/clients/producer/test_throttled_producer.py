"""A producer leaves a broker alone when that asks for it, and what it sends later is in the order it was given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from millstream.clients import Producer
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.init_producer_id import InitProducerIdResponse
from millstream.protocol.generated.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from millstream.records.batch import read_header
from millstream.records.record import iterate_records
from tests.integration.clients.scripted_broker import Script, scripted_broker
from tests.patience import LONG_ENOUGH_S


def taking(values: list[bytes], throttle_ms: Callable[[int], int]) -> Callable[[Message], Message]:
    """Answers Produce, and notes the values that come."""

    def answer(request: Message) -> Message:
        assert isinstance(request, ProduceRequest)
        (topic,) = request.topic_data
        (data,) = topic.partition_data
        assert data.records is not None
        values.extend(
            record.value or b""
            for record in iterate_records(read_header(data.records), data.records)
        )
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    topic.name,
                    topic.topic_id,
                    partition_responses=[PartitionProduceResponse(0, base_offset=len(values))],
                )
            ],
            throttle_time_ms=throttle_ms(len(values)),
        )

    return answer


@pytest.mark.parametrize("acks", [-1, 1])
async def test_records_stay_in_order_while_a_broker_slows_its_client_down(acks: int) -> None:
    values: list[bytes] = []
    answers = {
        ApiKey.INIT_PRODUCER_ID: lambda _: InitProducerIdResponse(producer_id=7, producer_epoch=0),
        ApiKey.PRODUCE: taking(values, lambda count: 20 if count % 3 == 1 else 0),
    }
    async with (
        scripted_broker(Script(answers=answers)) as broker,
        Producer(
            bootstrap_servers=broker.address,
            acks=acks,
            enable_idempotence=acks == -1,
            linger_ms=0,
            batch_size=1,
        ) as producer,
        asyncio.timeout(LONG_ENOUGH_S),
    ):
        deliveries = [await producer.send("t", b"%d" % number) for number in range(30)]
        for delivery in deliveries:
            await delivery
    assert values == [b"%d" % number for number in range(30)]
