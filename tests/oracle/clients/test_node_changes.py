"""The clients on an Apache Kafka of three nodes that are stopped, killed, paused and started again: `make oracle-clients`.

Everything is written down and checked as a history; `acks=all` and two in-sync replicas promise that nothing is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

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
from millstream.clients.consumer.core.errors import LogTruncation
from millstream.errors import KafkaError, RetriableError
from millstream.testing.history import History, Outcome
from millstream.testing.history_check import illegal
from tests.integration.clients.faults.seeded import WitnessedProducer, as_reads, read_to_the_end
from tests.oracle.clients.kafka_cluster import KafkaCluster, is_available

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not is_available(), reason="needs Java and MILLSTREAM_KAFKA_CLASSPATH, where the jars are"
    ),
    pytest.mark.timeout(300),
]
LIMIT_S = 200
PARTITIONS = 3
Change = Callable[[KafkaCluster, int], None]
_numbers = itertools.count(time.time_ns() // 1_000_000)


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster(3) as running:
        yield running


@pytest.fixture
def kafka(cluster: KafkaCluster) -> KafkaCluster:
    """With all nodes up."""
    for node in {1, 2, 3} - cluster.running:
        cluster.start(node)
    return cluster


@pytest.fixture
async def admin(kafka: KafkaCluster) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=kafka.bootstrap_servers) as client:
        await until(lambda: has_brokers(client, 3))
        yield client


async def has_brokers(admin: Admin, count: int) -> bool:
    return len((await admin.describe_cluster()).nodes) == count


async def until(is_true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not await is_true():  # noqa: ASYNC110 - it happens in another process
            await asyncio.sleep(0.2)


async def new_topic(admin: Admin, **options: object) -> str:
    name = f"topic-{next(_numbers)}"
    settings = options or {"num_partitions": PARTITIONS, "replication_factor": 3}
    (await admin.create_topics([NewTopic(name, **settings)])).raise_errors()
    await until(lambda: all_lead(admin, name))
    return name


async def all_lead(admin: Admin, topic: str) -> bool:
    with contextlib.suppress(RetriableError):
        partitions = (await admin.describe_topics([topic])).result(topic).partitions
        return all(partition.leader > 0 for partition in partitions)
    return False


async def leader_of(admin: Admin, topic: str, partition: int = 0) -> int:
    await until(lambda: all_lead(admin, topic))
    partitions = (await admin.describe_topics([topic])).result(topic).partitions
    return next(p.leader for p in partitions if p.partition == partition)


def stop_and_start(kafka: KafkaCluster, node: int) -> None:
    kafka.stop(node)
    time.sleep(1)
    kafka.start(node)


def kill_and_start(kafka: KafkaCluster, node: int) -> None:
    kafka.kill(node)
    time.sleep(1)
    kafka.start(node)


def pause_and_resume(kafka: KafkaCluster, node: int) -> None:
    """Longer than the broker's session: the others go on without it, and it comes back with an old mind."""
    kafka.pause(node)
    time.sleep(8)
    kafka.resume(node)


CHANGES = pytest.mark.parametrize(
    "change", [stop_and_start, kill_and_start, pause_and_resume], ids=lambda change: change.__name__
)


@CHANGES
async def test_produce_and_consume_through_a_leader_that_goes_and_comes_back(
    kafka: KafkaCluster, admin: Admin, change: Change
) -> None:
    topic, history = await new_topic(admin), History()
    is_over = asyncio.Event()
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    settings = {"bootstrap_servers": kafka.bootstrap_servers, "request_timeout_ms": 5_000}

    async def produce() -> int:
        async with Producer(linger_ms=2, **settings) as producer:
            witness = WitnessedProducer(producer, history)
            for number in itertools.count():
                await witness.send(topic, b"%d" % number, number % PARTITIONS)
                if number % 20 == 0:
                    await asyncio.sleep(0.01)
                if is_over.is_set():
                    break
            return await witness.settle()

    async def consume() -> None:
        async with Consumer(auto_offset_reset="earliest", **settings) as consumer:
            consumer.assign(partitions)
            while not is_over.is_set():
                history.poll("consumer", as_reads(await consumer.poll(timeout_ms=200)))

    async with asyncio.timeout(LIMIT_S), asyncio.TaskGroup() as group:
        producing = group.create_task(produce())
        group.create_task(consume())
        await asyncio.sleep(0.5)
        await asyncio.to_thread(change, kafka, await leader_of(admin, topic))
        await asyncio.sleep(1)
        is_over.set()
    assert producing.result() == 0
    assert len(history.sends) > 500
    await read_to_the_end(kafka.bootstrap_servers, history, topic, PARTITIONS)
    assert illegal(history) == []


@CHANGES
async def test_transactions_through_nodes_that_go_and_come_back(
    kafka: KafkaCluster, admin: Admin, change: Change
) -> None:
    """Leaders and coordinators are on all three nodes, so one of each kind is hit sooner or later."""
    topic, history = await new_topic(admin), History()
    is_over = asyncio.Event()

    async def produce(name: str) -> None:
        async with Producer(
            bootstrap_servers=kafka.bootstrap_servers,
            transactional_id=f"{topic}-{name}",
            request_timeout_ms=5_000,
        ) as producer:
            await producer.init_transactions()
            for number in itertools.count():
                await one_transaction(producer, history, topic, name, number)
                if is_over.is_set():
                    return

    async with asyncio.timeout(LIMIT_S), asyncio.TaskGroup() as group:
        for name in ("a", "b", "c"):
            group.create_task(produce(name))
        await asyncio.sleep(1)
        await asyncio.to_thread(change, kafka, await leader_of(admin, topic))
        before = committed_count(history)
        while committed_count(history) < before + 20:  # noqa: ASYNC110 - other tasks commit
            await asyncio.sleep(0.05)
        is_over.set()
    await read_to_the_end(
        kafka.bootstrap_servers, history, topic, PARTITIONS, isolation_level="read_committed"
    )
    assert illegal(history) == []


def committed_count(history: History) -> int:
    return sum(t.outcome is Outcome.ACKNOWLEDGED for t in history.transactions)


async def one_transaction(
    producer: Producer, history: History, topic: str, name: str, number: int
) -> None:
    """Every fifth is aborted."""
    transaction = history.begin(name, f"{name} {number}")
    witness = WitnessedProducer(producer, history, name)
    try:
        await producer.begin_transaction()
        for part in range(6):
            value = f"{name} {number} {part}".encode()
            await witness.send(topic, value, part % PARTITIONS, transaction)
        if number % 5 == 4:
            await producer.abort_transaction()
            transaction.abort()
            return
        await producer.commit_transaction()
    except TransactionFailed:
        await producer.abort_transaction()
        transaction.abort()
    except TransactionalProducerFailed:
        await producer.init_transactions()  # whether it was committed nobody knows
    else:
        assert await witness.settle() == 0
        transaction.commit()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_group_goes_on_when_its_coordinator_moves_and_its_commits_are_kept(
    kafka: KafkaCluster, admin: Admin, protocol: str
) -> None:
    topic = await new_topic(admin)
    settings = {
        "bootstrap_servers": kafka.bootstrap_servers,
        "group_id": topic,
        "group_protocol": protocol,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "request_timeout_ms": 5_000,
    }
    async with Producer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        for number in range(300):
            await producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
    values: list[bytes | None] = []
    async with asyncio.timeout(LIMIT_S), Consumer(**settings) as consumer:
        consumer.subscribe([topic])
        while len(values) < 150:
            values += [record.value for record in await consumer.poll(max_records=30)]
        await consumer.commit()
        described = (await admin.describe_groups([topic])).result(topic)
        assert described.coordinator is not None
        moving = asyncio.create_task(
            asyncio.to_thread(kill_and_start, kafka, described.coordinator)
        )
        while len(values) < 300:
            values += [record.value for record in await consumer.poll(max_records=30)]
        await commit_in_time(consumer)
        await moving
        committed = await consumer.committed(sorted(consumer.assignment()))
    assert len(values) == 300
    assert len(set(values)) == 300
    assert {tp: found.offset for tp, found in committed.items() if found is not None} == {
        TopicPartition(topic, number): 100 for number in range(PARTITIONS)
    }


async def commit_in_time(consumer: Consumer) -> None:
    """A commit that falls into a rebalance is made again after the next poll, as in any consumer."""
    while True:
        try:
            await consumer.commit()
        except KafkaError:
            assert await consumer.poll(timeout_ms=200) == []
        else:
            return


@pytest.mark.parametrize("policy", ["none", "earliest"])
async def test_a_consumer_finds_out_that_its_log_was_cut_by_an_unclean_election(
    kafka: KafkaCluster, admin: Admin, policy: str
) -> None:
    """KIP-320. Without a policy LogTruncation is raised; with one the consumer goes on where the logs part."""
    topic = await new_topic(
        admin,
        assignments=[[1, 2]],
        configs={"unclean.leader.election.enable": "true", "min.insync.replicas": "1"},
    )
    partition = TopicPartition(topic, 0)
    settings = {"bootstrap_servers": kafka.bootstrap_servers, "request_timeout_ms": 5_000}
    async with (
        asyncio.timeout(LIMIT_S),
        Consumer(auto_offset_reset=policy, **settings) as consumer,
    ):
        consumer.assign([partition])
        consumer.seek(partition, 0)
        await send_numbers(settings, topic, 0, 10, acks="all")
        await asyncio.to_thread(kafka.stop, 2)
        await send_numbers(settings, topic, 10, 30)
        values: list[bytes | None] = []
        while len(values) < 30:
            values += [record.value for record in await consumer.poll()]
        await asyncio.to_thread(kafka.kill, 1)
        await asyncio.to_thread(kafka.start, 2)
        await until(lambda: leads(admin, topic, 2))
        await send_numbers(settings, topic, 100, 150)
        later: list[bytes | None] = []
        try:
            while not later:
                later += [record.value for record in await consumer.poll()]
        except LogTruncation:
            assert policy == "none"
            consumer.seek(partition, 10)
        else:
            assert policy == "earliest"
        while len(later) < 50:
            later += [record.value for record in await consumer.poll()]
    assert values == [b"%d" % number for number in range(30)]
    assert later == [b"%d" % number for number in range(100, 150)]


async def leads(admin: Admin, topic: str, node: int) -> bool:
    with contextlib.suppress(KafkaError):
        described = (await admin.describe_topics([topic])).result(topic)
        return described.partitions[0].leader == node
    return False


async def send_numbers(
    settings: dict[str, object], topic: str, first: int, end: int, acks: str | int = 1
) -> None:
    async with Producer(acks=acks, enable_idempotence=False, **settings) as producer:
        for number in range(first, end):
            await producer.send(topic, b"%d" % number, partition=0)


async def test_produce_and_consume_while_a_partition_is_moved_to_another_node(
    kafka: KafkaCluster, admin: Admin
) -> None:
    topic, history = await new_topic(admin, assignments=[[1], [1]]), History()
    partitions = [TopicPartition(topic, number) for number in (0, 1)]
    settings = {"bootstrap_servers": kafka.bootstrap_servers}
    async with (
        asyncio.timeout(LIMIT_S),
        Producer(linger_ms=2, **settings) as producer,
        Consumer(auto_offset_reset="earliest", **settings) as consumer,
    ):
        consumer.assign(partitions)
        witness = WitnessedProducer(producer, history)
        number = 0
        for target in (2, 3, 1):
            (
                await admin.alter_partition_reassignments({tp: [target] for tp in partitions})
            ).raise_errors()
            moved = False
            while not moved:
                for _ in range(100):
                    await witness.send(topic, b"%d" % number, number % 2)
                    number += 1
                history.poll("consumer", as_reads(await consumer.poll(timeout_ms=50)))
                moved = not await admin.list_partition_reassignments(partitions)
        assert await witness.settle() == 0
    await read_to_the_end(kafka.bootstrap_servers, history, topic, 2)
    assert illegal(history) == []
    assert await leader_of(admin, topic) == 1


async def test_positions_committed_in_a_transaction_are_those_that_a_restart_finds(
    kafka: KafkaCluster, admin: Admin
) -> None:
    """The coordinator of the group is killed between two transactions of a producer."""
    topic = await new_topic(admin)
    partition = TopicPartition(topic, 0)
    async with (
        asyncio.timeout(LIMIT_S),
        Producer(
            bootstrap_servers=kafka.bootstrap_servers,
            transactional_id=topic,
            request_timeout_ms=5_000,
        ) as producer,
        Consumer(
            bootstrap_servers=kafka.bootstrap_servers,
            group_id=topic,
            isolation_level="read_committed",
        ) as consumer,
    ):
        await producer.init_transactions()
        for offset in (5, 9):
            await producer.begin_transaction()
            await producer.send(topic, b"%d" % offset, partition=0)
            await producer.send_offsets_to_transaction(
                {partition: OffsetAndMetadata(offset)}, consumer.group_metadata()
            )
            await producer.commit_transaction()
            committed = (await consumer.committed([partition]))[partition]
            assert committed is not None
            assert committed.offset == offset
            described = (await admin.describe_groups([topic])).result(topic)
            assert described.coordinator is not None
            await asyncio.to_thread(kill_and_start, kafka, described.coordinator)
