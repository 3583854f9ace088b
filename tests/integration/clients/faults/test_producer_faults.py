"""An idempotent producer under seeded faults: nothing twice, nothing out of order, nothing lost that was acknowledged.

A failure names its seed; `make faults SEEDS=17` repeats it, `make faults SEEDS=0-99` runs a hundred.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from millstream.clients import Admin, NewTopic, Producer
from millstream.errors import (
    KafkaStorageError,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    RequestTimedOut,
)
from millstream.protocol.api import ApiKey
from millstream.testing.broker import Broker
from millstream.testing.faults.proxy import FaultProxy
from millstream.testing.history import History
from millstream.testing.history_check import illegal
from tests.integration.clients.faults.seeded import (
    IMPATIENT,
    SEEDS,
    WitnessedProducer,
    read_to_the_end,
    rules_for,
)
from tests.patience import LONG_ENOUGH_S

NewName = Callable[[], str]
RETRIABLE = [
    error.code
    for error in (
        NotLeaderOrFollower,
        RequestTimedOut,
        NotEnoughReplicasAfterAppend,
        KafkaStorageError,
    )
]
APIS = [ApiKey.PRODUCE, ApiKey.METADATA, ApiKey.INIT_PRODUCER_ID]


async def produce(
    producer: Producer, history: History, topic: str, *, first: int = 0, count: int = 300
) -> WitnessedProducer:
    """Records to two partitions in turn, in small batches."""
    witness = WitnessedProducer(producer, history)
    for number in range(first, first + count):
        await witness.send(topic, b"%d" % number, number % 2)
        if number % 20 == 0:
            await asyncio.sleep(0.002)
    return witness


async def make_topic(bootstrap: str, topic: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, 2)])).raise_errors()


@pytest.mark.parametrize("seed", SEEDS)
async def test_an_idempotent_producer_under_faults(
    bootstrap: str, new_topic: NewName, seed: int
) -> None:
    topic, history = new_topic(), History()
    await make_topic(bootstrap, topic)
    with FaultProxy(bootstrap, rules_for(seed, APIS, RETRIABLE), seed=seed) as proxy:
        async with (
            asyncio.timeout(LONG_ENOUGH_S),
            Producer(
                bootstrap_servers=proxy.bootstrap_servers, batch_size=200, linger_ms=1, **IMPATIENT
            ) as producer,
        ):
            witness = await produce(producer, history, topic)
            assert await witness.settle() == 0
    await read_to_the_end(bootstrap, history, topic, 2)
    assert illegal(history) == []


@pytest.mark.parametrize("seed", SEEDS[:1])
async def test_records_that_time_out_may_be_there_and_those_after_them_stay_in_order(
    bootstrap: str, new_topic: NewName, seed: int
) -> None:
    """Delivery times end while requests hang: the producer must take a new epoch before it goes on."""
    topic, history = new_topic(), History()
    await make_topic(bootstrap, topic)
    with FaultProxy(bootstrap, seed=seed) as proxy:
        async with (
            asyncio.timeout(LONG_ENOUGH_S),
            Producer(
                bootstrap_servers=proxy.bootstrap_servers,
                batch_size=200,
                linger_ms=1,
                delivery_timeout_ms=500,
                **IMPATIENT,
            ) as producer,
        ):
            healthy = await produce(producer, history, topic, count=50)
            await healthy.settle()
            proxy.set_rules(rules_for(seed, [ApiKey.PRODUCE], RETRIABLE, probability=1.0))
            disturbed = await produce(producer, history, topic, first=50, count=200)
            await disturbed.settle()
            proxy.heal()
            unknown, first = 1, 250
            while unknown:  # half a second may be over before a healthy broker has answered
                healed = await produce(producer, history, topic, first=first, count=50)
                unknown, first = await healed.settle(), first + 50
    await read_to_the_end(bootstrap, history, topic, 2)
    assert illegal(history) == []


@pytest.mark.parametrize("seed", SEEDS[:1])
async def test_faults_and_a_broker_that_crashes(seed: int) -> None:
    history = History()
    with Broker(in_process=False) as broker:
        await make_topic(broker.bootstrap_servers, "t")
        rules = rules_for(seed, APIS, RETRIABLE)
        with FaultProxy(broker.bootstrap_servers, rules, seed=seed) as proxy:
            async with (
                asyncio.timeout(LONG_ENOUGH_S),
                Producer(
                    bootstrap_servers=proxy.bootstrap_servers,
                    batch_size=200,
                    linger_ms=1,
                    **IMPATIENT,
                ) as producer,
                asyncio.TaskGroup() as group,
            ):
                sending = group.create_task(produce(producer, history, "t", count=1000))
                await asyncio.sleep(0.05)
                await asyncio.to_thread(broker.kill)
                await asyncio.to_thread(broker.restart)
                assert await (await sending).settle() == 0
        await read_to_the_end(broker.bootstrap_servers, history, "t", 2)
    assert illegal(history) == []
