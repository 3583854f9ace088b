"""Transactions under seeded faults: none is torn, no aborted record is read, and a loop of consume, transform, produce
gives each input's output once.

A failure names its seed; `make faults SEEDS=17` repeats it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from random import Random

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    NewTopic,
    OffsetAndMetadata,
    Producer,
    TopicPartition,
    TransactionalProducerFailed,
    TransactionFailed,
)
from millstream.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
    MillstreamError,
    NotCoordinator,
    ProducerFenced,
    RequestTimedOut,
)
from millstream.protocol.api import ApiKey
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
APIS = [
    ApiKey.PRODUCE,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
    ApiKey.FIND_COORDINATOR,
]
COORDINATION = [api for api in APIS if api is not ApiKey.PRODUCE]
ERRORS = [
    error.code for error in (NotCoordinator, CoordinatorNotAvailable, CoordinatorLoadInProgress)
]
ENDING_ERRORS = [*ERRORS, ConcurrentTransactions.code, RequestTimedOut.code]


async def make_topics(bootstrap: str, *topics: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, 2) for topic in topics])).raise_errors()


@pytest.mark.parametrize("seed", SEEDS)
async def test_transactions_under_faults_are_never_torn_and_never_leak(
    bootstrap: str, new_topic: NewName, seed: int
) -> None:
    topic, history, random = new_topic(), History(), Random(seed)
    await make_topics(bootstrap, topic)
    rules = rules_for(seed, COORDINATION, ERRORS, 0.15) + rules_for(
        seed + 1, [ApiKey.PRODUCE], [RequestTimedOut.code], 0.05
    )
    with FaultProxy(bootstrap, rules, seed=seed) as proxy:
        async with (
            asyncio.timeout(LONG_ENOUGH_S),
            Producer(
                bootstrap_servers=proxy.bootstrap_servers, transactional_id=topic, **IMPATIENT
            ) as producer,
        ):
            await producer.init_transactions()
            for number in range(25):
                try:
                    await one_transaction(producer, history, topic, number, random)
                except (TransactionalProducerFailed, ProducerFenced):
                    # Whether it was committed nobody knows. Its own InitProducerId, if late, fences a producer too.
                    await producer.init_transactions()
    await read_to_the_end(bootstrap, history, topic, 2, isolation_level="read_committed")
    assert illegal(history) == []


async def one_transaction(
    producer: Producer, history: History, topic: str, number: int, random: Random
) -> None:
    """Some records to two partitions; every fifth is aborted. One that fails is aborted too."""
    transaction = history.begin("producer", f"transaction {number}")
    witness = WitnessedProducer(producer, history)
    try:
        await producer.begin_transaction()
        for part in range(random.randrange(1, 6)):
            await witness.send(topic, b"%d %d" % (number, part), part % 2, transaction)
        if number % 5 == 4:
            await producer.abort_transaction()
            transaction.abort()
            return
        await producer.commit_transaction()
    except TransactionFailed:
        await producer.abort_transaction()
        transaction.abort()
    else:
        assert await witness.settle() == 0
        transaction.commit()


@pytest.mark.parametrize("seed", SEEDS)
async def test_consume_transform_produce_under_faults_gives_each_output_once(
    bootstrap: str, new_topic: NewName, seed: int
) -> None:
    source, target = new_topic(), new_topic()
    await make_topics(bootstrap, source, target)
    inputs = [b"%d" % number for number in range(120)]
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number, value in enumerate(inputs):
            await producer.send(source, value, partition=number % 2)
    with FaultProxy(bootstrap, rules_for(seed, APIS, ENDING_ERRORS, 0.1), seed=seed) as proxy:
        async with asyncio.timeout(LONG_ENOUGH_S):
            for crash in range(30):
                with contextlib.suppress(KafkaError, MillstreamError):
                    await copy(proxy.bootstrap_servers, source, target, seed=seed + crash)
                if await is_copied(bootstrap, source):
                    break
    history = History()
    records = await read_to_the_end(bootstrap, history, target, 2, isolation_level="read_committed")
    for partition in (0, 1):
        copied = [record.value for record in records if record.partition == partition]
        assert copied == [b"copy of " + value for value in inputs[partition::2]]
    assert illegal(history) == []


async def copy(bootstrap: str, source: str, target: str, seed: int) -> None:
    """One life of a copier. It crashes now and then in the middle of a transaction, without any goodbye."""
    random = Random(seed)
    async with (
        Producer(
            bootstrap_servers=bootstrap, transactional_id=f"copier of {source}", **IMPATIENT
        ) as producer,
        Consumer(
            bootstrap_servers=bootstrap,
            group_id=source,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            fetch_max_wait_ms=20,
        ) as consumer,
    ):
        await (
            producer.init_transactions()
        )  # fences the life before, and only then are its offsets stable
        consumer.assign([(source, 0), (source, 1)])
        empty = 0
        while empty < 2:
            records = await consumer.poll(max_records=15, timeout_ms=100)
            empty = 0 if records else empty + 1
            if not records:
                continue
            await producer.begin_transaction()
            for record in records:
                value = b"copy of " + (record.value or b"")
                await producer.send(target, value, partition=record.partition)
            positions = {
                TopicPartition(record.topic, record.partition): OffsetAndMetadata(record.offset + 1)
                for record in records
            }
            if random.random() < 0.1:
                raise CopierCrashed
            await producer.send_offsets_to_transaction(positions, consumer.group_metadata())
            await producer.commit_transaction()


class CopierCrashed(MillstreamError):
    """On purpose."""


async def is_copied(bootstrap: str, source: str) -> bool:
    partitions = [TopicPartition(source, 0), TopicPartition(source, 1)]
    async with Consumer(bootstrap_servers=bootstrap, group_id=source) as consumer:
        committed = await consumer.committed(partitions)
        ends = await consumer.end_offsets(partitions)
    return all(
        found is not None and found.offset == ends[partition]
        for partition, found in committed.items()
    )
