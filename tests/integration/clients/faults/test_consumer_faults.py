"""A consumer under seeded faults: what it returns has no gap and no repetition unless a rebalance excuses it.

A failure names its seed; `make faults SEEDS=17` repeats it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from millstream.clients import Admin, Consumer, NewTopic, Producer
from millstream.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaStorageError,
    NotCoordinator,
    NotLeaderOrFollower,
    OffsetNotAvailable,
)
from millstream.protocol.api import ApiKey
from millstream.testing.faults.proxy import FaultProxy
from millstream.testing.history import History
from millstream.testing.history_check import illegal
from tests.integration.clients.faults.seeded import (
    IMPATIENT,
    SEEDS,
    WitnessedProducer,
    as_reads,
    rules_for,
)
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S

NewName = Callable[[], str]
APIS = [ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.METADATA]
RETRIABLE = [error.code for error in (NotLeaderOrFollower, KafkaStorageError, OffsetNotAvailable)]
COORDINATOR_APIS = [ApiKey.FIND_COORDINATOR, ApiKey.OFFSET_FETCH, ApiKey.OFFSET_COMMIT]
COORDINATOR_ERRORS = [
    error.code for error in (NotCoordinator, CoordinatorNotAvailable, CoordinatorLoadInProgress)
]


async def filled_topic(bootstrap: str, topic: str, history: History, count: int) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, 2)])).raise_errors()
    async with Producer(bootstrap_servers=bootstrap, batch_size=300) as producer:
        witness = WitnessedProducer(producer, history)
        for number in range(count):
            await witness.send(topic, b"%d" % number, number % 2)
        assert await witness.settle() == 0


@pytest.mark.parametrize("seed", SEEDS)
async def test_an_assigned_consumer_under_faults_skips_nothing_and_repeats_nothing(
    bootstrap: str, new_topic: NewName, seed: int
) -> None:
    topic, history = new_topic(), History()
    await filled_topic(bootstrap, topic, history, 600)
    with FaultProxy(bootstrap, rules_for(seed, APIS, RETRIABLE, 0.2), seed=seed) as proxy:
        async with (
            asyncio.timeout(LONG_ENOUGH_S),
            Consumer(
                bootstrap_servers=proxy.bootstrap_servers,
                auto_offset_reset="earliest",
                fetch_max_wait_ms=50,
                max_partition_fetch_bytes=1000,
                **IMPATIENT,
            ) as consumer,
        ):
            consumer.assign([(topic, 0), (topic, 1)])
            count = 0
            while count < 600:
                records = await consumer.poll(max_records=50, timeout_ms=LONG_ENOUGH_MS)
                history.poll("consumer", as_reads(records))
                count += len(records)
    history.is_complete = True
    assert illegal(history) == []


@pytest.mark.parametrize("seed", SEEDS)
async def test_commits_under_faults_never_go_back_and_reading_resumes_where_they_stand(
    bootstrap: str, new_topic: NewName, seed: int
) -> None:
    topic, history = new_topic(), History()
    await filled_topic(bootstrap, topic, history, 400)
    # Commits have no order in Kafka: one that comes late overwrites a later one, with any client.
    rules = rules_for(seed, COORDINATOR_APIS, COORDINATOR_ERRORS, 0.3, late=False)
    count = 0
    with FaultProxy(bootstrap, rules, seed=seed) as proxy:
        async with asyncio.timeout(LONG_ENOUGH_S):
            while count < 400:
                async with Consumer(
                    bootstrap_servers=proxy.bootstrap_servers,
                    group_id=f"g-{topic}",
                    auto_offset_reset="earliest",
                    enable_auto_commit=False,
                    **IMPATIENT,
                ) as consumer:
                    consumer.assign([(topic, 0), (topic, 1)])
                    for _ in range(2):
                        records = await consumer.poll(max_records=60)
                        history.poll("the lives of a consumer", as_reads(records))
                        count += len(records)
                        await consumer.commit(timeout_ms=LONG_ENOUGH_MS)
    history.is_complete = True
    assert illegal(history) == []
