"""Transactions and share groups over brokers of both kinds: who coordinates is of one kind, where the records are of the other."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import TopicPartition as ConfluentTopicPartition

from millstream.clients import (
    Admin,
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    Producer,
    TopicPartition,
)
from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType
from millstream.errors import KafkaError, ProducerFenced
from tests.oracle.cluster.nodes import LONG_S, Kind, Node, Nodes
from tests.oracle.cluster.work import (
    TOOLS,
    committed,
    created,
    known,
    new_name,
    produced,
    restarted,
    shared,
    tool,
)
from tests.support.kafka_node import CLASSPATH, NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(600)]
ALL = (1, 2, 3)
MIXES = (
    (Kind.OURS, Kind.KAFKA, Kind.OURS),
    (Kind.KAFKA, Kind.OURS, Kind.KAFKA),
)
KINDS = pytest.mark.parametrize("kind", list(Kind))


@pytest.fixture(scope="module", params=MIXES, ids="-".join)
def nodes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nodes]:
    members = [Node(number, kind) for number, kind in zip(ALL, request.param, strict=True)]
    settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
    with Nodes(tmp_path_factory.mktemp("nodes"), members, settings=settings) as running:
        yield running
        assert running.complaints() == []


async def coordinators(nodes: Nodes, transactional_ids: list[str]) -> Mapping[str, int]:
    async with asyncio.timeout(LONG_S), Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        while True:
            with contextlib.suppress(KafkaError):
                described = await admin.describe_transactions(transactional_ids)
                found = {each: described.result(each).coordinator for each in transactional_ids}
                return {each: at for each, at in found.items() if at is not None}
            await asyncio.sleep(0.1)


async def coordinated_by(nodes: Nodes, kind: Kind) -> tuple[str, int]:
    """A transactional id, and the node of this kind that coordinates it."""
    for _ in range(50):
        name = new_name("txn")
        async with Producer(
            bootstrap_servers=nodes.bootstrap_servers, transactional_id=name
        ) as producer:
            await producer.init_transactions()
        coordinator = (await coordinators(nodes, [name]))[name]
        if nodes.kind(coordinator) is kind:
            return name, coordinator
    raise AssertionError(f"no transactional id is coordinated by {kind}")


async def test_transactions_span_both_kinds(nodes: Nodes) -> None:
    """Committed and aborted ones, offsets in them; readers of three implementations find the same."""
    topic, run = await created(nodes, ALL), new_name("run")
    names = [f"{run}-{number}" for number in range(12)]
    for name in names:
        async with Producer(
            bootstrap_servers=nodes.bootstrap_servers, transactional_id=name
        ) as producer:
            await producer.init_transactions()
            for number, commits in enumerate((True, False, True)):
                await producer.begin_transaction()
                for partition in range(3):
                    value = f"{name} {number} {commits}".encode()
                    await producer.send(topic, value, partition=partition)
                offset = OffsetAndMetadata(number if commits else 99)
                await producer.send_offsets_to_transaction(
                    {TopicPartition(topic, 0): offset}, ConsumerGroupMetadata(name)
                )
                await (producer.commit_transaction() if commits else producer.abort_transaction())
    assert {nodes.kind(at) for at in (await coordinators(nodes, names)).values()} == set(Kind)
    expected = [[f"{name} {n} True" for name in names for n in (0, 2)]] * 3
    assert await committed(nodes.bootstrap_servers, topic, 3) == expected
    assert (
        await asyncio.to_thread(read_by_confluent, nodes.bootstrap_servers, topic, 24) == expected
    )
    assert await asyncio.to_thread(read_by_kafka, nodes.bootstrap_servers, topic, 72) == sorted(
        chain.from_iterable(expected)
    )
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        listed = await admin.list_consumer_group_offsets(names)
        for name in names:
            assert [each.offset for each in listed.result(name).values()] == [2]


def read_by_confluent(bootstrap: str, topic: str, count: int) -> list[list[str]]:
    consumer = ConfluentConsumer(
        {"bootstrap.servers": bootstrap, "group.id": "no", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    )  # fmt: skip
    consumer.assign([ConfluentTopicPartition(topic, number, 0) for number in range(3)])
    found: list[list[str]] = [[], [], []]
    while sum(map(len, found)) < 3 * count:
        for message in consumer.consume(100, 1):
            assert message.error() is None, message.error()
            found[message.partition()].append(message.value().decode())
    consumer.close()
    return found


def read_by_kafka(bootstrap: str, topic: str, count: int) -> list[str]:
    said = tool(
        f"{TOOLS}.consumer.ConsoleConsumer", "--bootstrap-server", bootstrap, "--topic", topic,
        "--from-beginning", "--max-messages", str(count), "--isolation-level", "read_committed",
    )  # fmt: skip
    return sorted(line for line in said.splitlines() if line.startswith("run-"))


@KINDS
async def test_a_coordinator_is_killed_in_the_middle_of_a_transaction(
    nodes: Nodes, kind: Kind
) -> None:
    """What was written before it died is committed with what is written after it is back."""
    topic = await created(nodes, ALL)
    name, coordinator = await coordinated_by(nodes, kind)
    async with (
        asyncio.timeout(2 * LONG_S),
        Producer(bootstrap_servers=nodes.bootstrap_servers, transactional_id=name) as producer,
    ):
        await producer.init_transactions()
        for number in range(2):
            await producer.begin_transaction()
            for partition in range(3):
                await producer.send(topic, f"{number} before".encode(), partition=partition)
            await producer.flush()
            await restarted(nodes, coordinator, is_killed=True)
            for partition in range(3):
                await producer.send(topic, f"{number} after".encode(), partition=partition)
            await producer.send_offsets_to_transaction(
                {TopicPartition(topic, 0): OffsetAndMetadata(number)}, ConsumerGroupMetadata(name)
            )
            await producer.commit_transaction()
    assert (
        await committed(nodes.bootstrap_servers, topic, 3)
        == [["0 before", "0 after", "1 before", "1 after"]] * 3
    )


async def test_markers_wait_for_a_broker_that_is_away(nodes: Nodes) -> None:
    """Our coordinator commits while a partition of Kafka's is without leader. Kafka's would drop the marker, as if the topic were deleted."""
    topic = await created(nodes, ALL)
    name, _ = await coordinated_by(nodes, Kind.OURS)
    away = nodes.of_kind(Kind.KAFKA)[0]
    async with (
        asyncio.timeout(2 * LONG_S),
        Producer(bootstrap_servers=nodes.bootstrap_servers, transactional_id=name) as producer,
    ):
        await producer.init_transactions()
        await producer.begin_transaction()
        for partition in range(3):
            await producer.send(topic, b"committed", partition=partition)
        await producer.flush()
        await asyncio.to_thread(nodes.kill, away)
        await known(
            nodes.client_address(nodes.of_kind(Kind.OURS)[0]),
            topic,
            [-1 if number == away else number for number in ALL],
        )
        await producer.commit_transaction()
        await asyncio.to_thread(nodes.start, away)
    assert await committed(nodes.bootstrap_servers, topic, 3) == [["committed"]] * 3


@KINDS
async def test_what_a_dead_producer_left_open_is_aborted_in_time(nodes: Nodes, kind: Kind) -> None:
    """The coordinator dies with it: its successor finds the transaction in its log, and that its time is over."""
    topic = await created(nodes, ALL)
    name, coordinator = await coordinated_by(nodes, kind)
    producer = Producer(
        bootstrap_servers=nodes.bootstrap_servers,
        transactional_id=name,
        transaction_timeout_ms=3_000,
    )
    await producer.init_transactions()
    await producer.begin_transaction()
    for partition in range(3):
        await producer.send(topic, b"left", partition=partition)
    await producer.flush()
    await restarted(nodes, coordinator, is_killed=True)
    await produced(nodes.bootstrap_servers, topic, ["later"] * 3, 3)
    assert await committed(nodes.bootstrap_servers, topic, 3) == [["later"]] * 3
    with contextlib.suppress(KafkaError):
        await producer.close()


@KINDS
async def test_the_next_producer_of_an_id_ends_what_the_last_one_left(
    nodes: Nodes, kind: Kind
) -> None:
    topic = await created(nodes, ALL)
    name, coordinator = await coordinated_by(nodes, kind)
    first = Producer(bootstrap_servers=nodes.bootstrap_servers, transactional_id=name)
    await first.init_transactions()
    await first.begin_transaction()
    for partition in range(3):
        await first.send(topic, b"first", partition=partition)
    await first.flush()
    async with Producer(bootstrap_servers=nodes.bootstrap_servers, transactional_id=name) as second:
        await second.init_transactions()
        await second.begin_transaction()
        for partition in range(3):
            await second.send(topic, b"second", partition=partition)
        await second.commit_transaction()
    with pytest.raises(ProducerFenced):
        await first.commit_transaction()
    await first.close()
    assert await committed(nodes.bootstrap_servers, topic, 3) == [["second"]] * 3
    assert coordinator in nodes.of_kind(kind)


@pytest.mark.timeout(600)
async def test_kafkas_copier_copies_once_through_kills_of_coordinators(
    nodes: Nodes, tmp_path: Path
) -> None:
    """TransactionalMessageCopier of Kafka, with its consumer's offsets in its transactions."""
    source, sink = await created(nodes, ALL), await created(nodes, ALL)
    values = [f"{number:05}" for number in range(6_000)]
    await produced(nodes.bootstrap_servers, source, values, 3)
    names = [(await coordinated_by(nodes, kind)) for kind in Kind]
    for partition, (name, coordinator) in enumerate(names):
        copier = copying(nodes, (source, partition), sink, name, tmp_path / name)
        for _ in range(2):
            await asyncio.sleep(4)
            await restarted(nodes, coordinator, is_killed=True)
        code = await asyncio.to_thread(copier.wait, 2 * LONG_S)
        assert code == 0, (tmp_path / name).read_text()[-3_000:]
    found = await committed(nodes.bootstrap_servers, sink, 3)
    assert sorted(chain.from_iterable(found)) == sorted(values[0::3] + values[1::3])


def copying(
    nodes: Nodes, source: tuple[str, int], sink: str, name: str, output: Path
) -> subprocess.Popen[bytes]:
    command = [
        "java", "-cp", CLASSPATH, f"{TOOLS}.TransactionalMessageCopier",
        "--broker-list", nodes.bootstrap_servers, "--input-topic", source[0], "--input-partition", str(source[1]),
        "--output-topic", sink, "--transactional-id", name, "--consumer-group", name,
        "--transaction-size", "20", "--max-messages", "2000", "--transaction-timeout", "60000",
    ]  # fmt: skip
    with output.open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


async def test_share_groups_lose_no_acknowledgement(nodes: Nodes) -> None:
    """The state of a share partition is kept by a node of either kind. What was accepted does not come again, also after restarts."""
    topic = await created(nodes, ALL)
    groups = [new_name("share") for _ in range(4)]
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        earliest = AlterConfig("share.auto.offset.reset", "earliest")
        resources = {ConfigResource(ConfigResourceType.GROUP, each): [earliest] for each in groups}
        (await admin.incremental_alter_configs(resources)).raise_errors()
    for first, number in ((0, 1), (30, 2), (60, 3)):
        values = sorted(f"v{each:03}" for each in range(first, first + 30))
        await produced(nodes.bootstrap_servers, topic, values, 3)
        for group in groups:
            assert await shared(nodes.bootstrap_servers, topic, group, 30) == values
        await restarted(nodes, number, is_killed=number != 3)
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        listed = await admin.list_share_group_offsets(groups)
        for group in groups:
            offsets = listed.result(group)
            assert {each.partition for each in offsets} == {0, 1, 2}
            assert sum(each.lag for each in offsets.values()) == 0
