"""What clients leave behind when they are closed: nothing. What they cost when nothing happens: next to nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Awaitable, Callable

import pytest

from millstream.clients import Admin, Consumer, Producer, RangeReader, ShareConsumer
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.testing.faults.plan import AnswerWith, CloseBefore, Rule
from millstream.testing.faults.proxy import FaultProxy
from tests.patience import until

NewName = Callable[[], str]
Life = Callable[[str, str], Awaitable[None]]


async def produce(bootstrap: str, topic: str) -> None:
    async with Producer(bootstrap_servers=bootstrap) as producer:
        await (await producer.send(topic, b"x"))


async def produce_in_a_transaction(bootstrap: str, topic: str) -> None:
    async with (
        Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer,
        producer.transaction(),
    ):
        await producer.send(topic, b"x")


async def consume_assigned(bootstrap: str, topic: str) -> None:
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([(topic, 0)])
        await consumer.poll(timeout_ms=50)


async def consume_as_classic_member(bootstrap: str, topic: str) -> None:
    async with Consumer(bootstrap_servers=bootstrap, group_id=f"classic-{topic}") as consumer:
        consumer.subscribe([topic])
        await consumer.poll(timeout_ms=200)


async def consume_as_member(bootstrap: str, topic: str) -> None:
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=f"g-{topic}", group_protocol="consumer"
    ) as consumer:
        consumer.subscribe([topic])
        await consumer.poll(timeout_ms=200)


async def consume_shared(bootstrap: str, topic: str) -> None:
    async with ShareConsumer(bootstrap_servers=bootstrap, group_id=f"s-{topic}") as consumer:
        consumer.subscribe([topic])
        await consumer.poll(timeout_ms=200)


async def read_a_range(bootstrap: str, topic: str) -> None:
    async with RangeReader(bootstrap_servers=bootstrap) as reader:
        async for _ in reader.read(topic, 0, 0, 1):
            pass


async def administer(bootstrap: str, topic: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.describe_topics([topic])).result(topic)


LIVES = [
    produce,
    produce_in_a_transaction,
    consume_assigned,
    consume_as_classic_member,
    consume_as_member,
    consume_shared,
    read_a_range,
    administer,
]


async def check_nothing_is_left(proxy: FaultProxy) -> None:
    """Neither tasks nor connections. The proxy hears of a closed connection a moment later."""
    gc.collect()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await until(lambda: not proxy.connection_count)  # counted in the proxy's thread


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.__name__)
async def test_a_closed_client_leaves_no_task_and_no_connection(
    bootstrap: str, new_topic: NewName, life: Life
) -> None:
    topic = new_topic()
    await produce(bootstrap, topic)
    with FaultProxy(bootstrap) as proxy:
        await life(proxy.bootstrap_servers, topic)
        assert proxy.requests
        await check_nothing_is_left(proxy)


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.__name__)
async def test_a_client_that_fails_leaves_nothing_either(
    bootstrap: str, new_topic: NewName, life: Life
) -> None:
    """Everything but the agreement on versions is refused, with an error that trying again does not cure."""
    topic = new_topic()
    await produce(bootstrap, topic)
    refused = [key for key in ApiKey if key not in (ApiKey.API_VERSIONS, ApiKey.METADATA)]
    rules = [
        Rule(CloseBefore(), [ApiKey.PRODUCE], times=2),
        Rule(AnswerWith(_CLUSTER_AUTHORIZATION_FAILED), refused),
    ]
    with FaultProxy(bootstrap, rules) as proxy:
        try:
            async with asyncio.timeout(3):  # some go on trying
                await life(proxy.bootstrap_servers, topic)
        except (KafkaError, TimeoutError):
            pass
        await check_nothing_is_left(proxy)


_CLUSTER_AUTHORIZATION_FAILED = 31


@pytest.mark.soak
async def test_an_idle_member_of_a_group_costs_less_than_three_thousandths_of_a_core(
    bootstrap: str, new_topic: NewName
) -> None:
    """Measured as processor time, over as long as MILLSTREAM_SOAK_SECONDS says; heartbeats and fetches go on."""
    seconds = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "0.5"))
    topic = new_topic()
    await produce(bootstrap, topic)
    async with Consumer(bootstrap_servers=bootstrap, group_id=f"g-{topic}") as consumer:
        consumer.subscribe([topic])
        await consumer.poll(timeout_ms=1_000)
        before = time.process_time()
        end = asyncio.get_running_loop().time() + seconds
        while (remaining := end - asyncio.get_running_loop().time()) > 0:
            assert await consumer.poll(timeout_ms=int(remaining * 1000) + 1) == []
        used = time.process_time() - before
    assert used / seconds < 0.003 or seconds < 10, f"{used:.4f} s in {seconds:.0f} s"
