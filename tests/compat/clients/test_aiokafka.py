"""aiokafka 0.14, which speaks the protocol of 2018."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.assignments import is_disjoint

RECORDS = 10_000
pytestmark = pytest.mark.compat


async def send(
    broker: Broker, topic: str, values: list[str], partition: int = 0, codec: str | None = None
) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap_servers,
        compression_type=codec,
        linger_ms=5,
        enable_idempotence=True,
    ) as producer:
        waiting = [
            await producer.send(topic, v.encode(), b"key of " + v.encode(), partition)
            for v in values
        ]
        await asyncio.gather(*waiting)


def consumer(broker: Broker, group: str | None = None) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, group_id=group, auto_offset_reset="earliest",
        enable_auto_commit=False, session_timeout_ms=30_000, heartbeat_interval_ms=200,
        rebalance_timeout_ms=30_000,
    )  # fmt: skip


async def read(reader: AIOKafkaConsumer, count: int) -> list[tuple[int, str]]:
    got: list[tuple[int, str]] = []
    async with asyncio.timeout(LONG_ENOUGH_S):
        while len(got) < count:
            for records in (await reader.getmany(timeout_ms=200)).values():
                for record in records:
                    assert record.key == b"key of " + record.value
                    got.append((record.partition, record.value.decode()))
    return got


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_ten_thousand_records_come_back_as_they_went(
    shared_broker: Broker, topic: str, codec: str | None
) -> None:
    values = [f"value-{n}" for n in range(RECORDS)]
    await send(shared_broker, topic, values, codec=codec)
    async with consumer(shared_broker) as reader:
        partition = TopicPartition(topic, 0)
        reader.assign([partition])
        assert await read(reader, RECORDS) == [(0, value) for value in values]
        assert await reader.end_offsets([partition]) == {partition: RECORDS}


async def test_a_group_of_two_rebalances_commits_and_resumes_after_a_restart(
    broker: Broker, topic: str
) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 2, 1)])
    await admin.close()
    for partition in (0, 1):
        await send(broker, topic, [f"{partition}-{n}" for n in range(500)], partition)
    async with consumer(broker, "pair") as alone, consumer(broker, "pair") as joiner:
        alone.subscribe([topic])
        assert {partition for partition, _ in await read(alone, 1000)} == {0, 1}
        await alone.commit()
        joiner.subscribe([topic])
        assigned = await wait_for_assignments([alone, joiner])
        assert sorted(p for each in assigned for p in each) == [0, 1]
        for partition in (0, 1):
            await send(broker, topic, [f"{partition}-later"], partition)
        assert sorted([v for member in (alone, joiner) for _, v in await read(member, 1)]) == [
            "0-later",
            "1-later",
        ]
        for member in (alone, joiner):
            await member.commit()

    await asyncio.to_thread(broker.restart)
    await send(broker, topic, ["after restart"], 1)
    async with consumer(broker, "pair") as resumed:
        resumed.subscribe([topic])
        assert await read(resumed, 1) == [(1, "after restart")]
        assert [await resumed.committed(TopicPartition(topic, p)) for p in (0, 1)] == [501, 501]


async def wait_for_assignments(members: list[AIOKafkaConsumer]) -> list[list[int]]:
    async with asyncio.timeout(LONG_ENOUGH_S):
        while True:
            for member in members:
                assert await member.getmany(timeout_ms=50) == {}
            assigned = [[each.partition for each in member.assignment()] for member in members]
            if all(assigned) and is_disjoint(assigned):
                return assigned
