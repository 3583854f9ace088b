"""What clients ask brokers for, and what they do not: seen by a proxy between them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    NewTopic,
    OffsetAndMetadata,
    Producer,
    Spout,
    TopicPartition,
)
from millstream.clients.admin import ConfigResource, ConfigResourceType, NewPartitions
from millstream.errors import NotLeaderOrFollower, RequestTimedOut, UnstableOffsetCommit
from millstream.protocol.api import ApiKey
from millstream.testing.faults.plan import AnswerWith, CloseAfter, DropRequest, Fault, Rule
from millstream.testing.faults.proxy import FaultProxy
from tests.patience import LONG_ENOUGH_S, eventually, until
from tests.support.clients.spouts import take

NewName = Callable[[], str]
QUICK = {"request_timeout_ms": 300, "retry_backoff_ms": 5, "reconnect_backoff_ms": 5}


async def filled(bootstrap: str, topic: str, partitions: int = 2) -> list[TopicPartition]:
    """One record in each partition."""
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, partitions)])).raise_errors()
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for partition in range(partitions):
            await producer.send(topic, b"%d" % partition, partition=partition)
    return [TopicPartition(topic, partition) for partition in range(partitions)]


def asked(proxy: FaultProxy, key: ApiKey) -> int:
    return sum(request.key is key for request in proxy.requests)


async def read(consumer: Consumer, count: int) -> list[bytes | None]:
    values: list[bytes | None] = []
    async with asyncio.timeout(LONG_ENOUGH_S):
        while len(values) < count:
            values += [record.value for record in await consumer.poll(timeout_ms=100)]
    return sorted(value or b"" for value in values)


async def test_an_assigned_consumer_needs_no_coordinator_and_leaves_no_group(
    bootstrap: str, new_topic: NewName
) -> None:
    """K14.01, K14.09."""
    partitions = await filled(bootstrap, new_topic())
    with FaultProxy(bootstrap) as proxy:
        async with Consumer(
            bootstrap_servers=proxy.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer:
            consumer.assign(partitions)
            assert await read(consumer, 2) == [b"0", b"1"]
        assert {request.key for request in proxy.requests} == {
            ApiKey.API_VERSIONS,
            ApiKey.METADATA,
            ApiKey.LIST_OFFSETS,
            ApiKey.FETCH,
        }


async def test_partitions_that_are_added_are_not_read_in_partition_mode(
    bootstrap: str, new_topic: NewName
) -> None:
    """K14.08."""
    topic = new_topic()
    partitions = await filled(bootstrap, topic, partitions=1)
    async with (
        Admin(bootstrap_servers=bootstrap) as admin,
        Producer(bootstrap_servers=bootstrap, metadata_max_age_ms=50) as producer,
        Consumer(
            bootstrap_servers=bootstrap, auto_offset_reset="earliest", metadata_max_age_ms=50
        ) as consumer,
    ):
        consumer.assign(partitions)
        assert await read(consumer, 1) == [b"0"]
        (await admin.create_partitions({topic: NewPartitions(2)})).raise_errors()
        async with asyncio.timeout(LONG_ENOUGH_S):
            while await producer.partitions_for(topic) != [0, 1]:  # noqa: ASYNC110 - the broker's
                await asyncio.sleep(0.02)
            while await consumer.partitions_for(topic) != [0, 1]:
                await consumer.poll(timeout_ms=20)
        await (await producer.send(topic, b"new", partition=1))
        await (await producer.send(topic, b"old", partition=0))
        assert await read(consumer, 1) == [b"old"]
        assert consumer.assignment() == set(partitions)


async def test_a_position_that_could_not_be_looked_up_is_looked_up_again(
    bootstrap: str, new_topic: NewName
) -> None:
    """K14.14, K14.16: retriable errors are not the reader's."""
    partitions = await filled(bootstrap, new_topic())
    rule = Rule(AnswerWith(NotLeaderOrFollower.code), [ApiKey.LIST_OFFSETS], times=3)
    with FaultProxy(bootstrap, [rule]) as proxy:
        async with Consumer(
            bootstrap_servers=proxy.bootstrap_servers, auto_offset_reset="earliest", **QUICK
        ) as consumer:
            consumer.assign(partitions)
            assert await read(consumer, 2) == [b"0", b"1"]
        assert proxy.plan.hits == (3,)


async def test_partitions_whose_positions_are_known_do_not_wait_for_others(
    bootstrap: str, new_topic: NewName
) -> None:
    """K14.17."""
    first, second = await filled(bootstrap, new_topic())
    rule = Rule(
        AnswerWith(NotLeaderOrFollower.code, forward=True), [ApiKey.LIST_OFFSETS], partition=1
    )
    with FaultProxy(bootstrap, [rule]) as proxy:
        async with Consumer(
            bootstrap_servers=proxy.bootstrap_servers, auto_offset_reset="earliest", **QUICK
        ) as consumer:
            consumer.assign([first, second])
            assert await read(consumer, 1) == [b"0"]
            assert proxy.plan.hits[0] > 0
            proxy.heal()
            assert await read(consumer, 1) == [b"1"]


@pytest.mark.parametrize("fault", [CloseAfter(), DropRequest()], ids=lambda f: type(f).__name__)
async def test_an_unanswered_request_is_sent_again_and_takes_effect_once(
    bootstrap: str, new_topic: NewName, fault: Fault
) -> None:
    """K3.06, K3.14: a response that is lost, and a broker that is a black hole."""
    topic = new_topic()
    partitions = await filled(bootstrap, topic, partitions=1)
    with FaultProxy(bootstrap, [Rule(fault, [ApiKey.PRODUCE], times=1)]) as proxy:
        async with Producer(bootstrap_servers=proxy.bootstrap_servers, **QUICK) as producer:
            assert (await (await producer.send(topic, b"x", partition=0))).offset == 1
        assert asked(proxy, ApiKey.PRODUCE) >= 2
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        assert await consumer.end_offsets(partitions) == {partitions[0]: 2}


async def test_committed_offsets_wait_for_the_transaction_that_is_about_to_commit_some(
    bootstrap: str, new_topic: NewName
) -> None:
    """KIP-447: whatever the isolation level, or work would be done again that an open transaction has done."""
    topic = new_topic()
    (partition,) = await filled(bootstrap, topic, partitions=1)
    async with (
        asyncio.timeout(LONG_ENOUGH_S),
        Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer,
        Consumer(bootstrap_servers=bootstrap, group_id=topic, retry_backoff_ms=5) as consumer,
    ):
        async with producer.transaction():
            await producer.send_offsets_to_transaction(
                {partition: OffsetAndMetadata(1)}, consumer.group_metadata()
            )
            with pytest.raises((UnstableOffsetCommit, RequestTimedOut)):
                await consumer.committed([partition], timeout_ms=100)
        assert await consumer.committed([partition]) == {partition: OffsetAndMetadata(1)}


async def test_a_request_that_nobody_waits_for_any_more_still_ends_a_dead_connection(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    await filled(bootstrap, topic)
    rule = Rule(DropRequest(), [ApiKey.DESCRIBE_CONFIGS], times=1)
    with FaultProxy(bootstrap, [rule]) as proxy:
        async with Admin(bootstrap_servers=proxy.bootstrap_servers, **QUICK) as admin:
            await admin.list_topics()
            resource = ConfigResource(ConfigResourceType.TOPIC, topic)
            async with asyncio.timeout(LONG_ENOUGH_S):
                while True:
                    found = await admin.describe_configs([resource], timeout_ms=100)
                    if not found.errors():
                        break
    assert asked(proxy, ApiKey.DESCRIBE_CONFIGS) > 1


async def test_a_member_sends_heartbeats_while_its_fetch_waits_for_records(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.15: a fetch that the broker holds is not in the way of what comes behind it."""
    topic = new_topic()
    await filled(bootstrap, topic, partitions=1)
    with FaultProxy(bootstrap) as proxy:
        async with Consumer(
            bootstrap_servers=proxy.bootstrap_servers,
            group_id=f"g-{topic}",
            auto_offset_reset="earliest",
            fetch_max_wait_ms=600_000,
            request_timeout_ms=900_000,
            heartbeat_interval_ms=20,
        ) as consumer:
            consumer.subscribe([topic])
            assert await read(consumer, 1) == [b"0"]
            await until(
                lambda: asked(proxy, ApiKey.FETCH) >= 2
            )  # there is nothing more: it is held
            held, heartbeats = asked(proxy, ApiKey.FETCH), asked(proxy, ApiKey.HEARTBEAT)
            await until(lambda: asked(proxy, ApiKey.HEARTBEAT) >= heartbeats + 5)
            assert asked(proxy, ApiKey.FETCH) == held


async def test_all_partitions_of_a_broker_share_its_connections_which_end_with_the_client(
    bootstrap: str, new_topic: NewName
) -> None:
    """T2.22."""

    async def connections_for(partitions: int) -> int:
        found = await filled(bootstrap, new_topic(), partitions)
        with FaultProxy(bootstrap) as proxy:
            async with Consumer(
                bootstrap_servers=proxy.bootstrap_servers, auto_offset_reset="earliest"
            ) as consumer:
                consumer.assign(found)
                assert len(await read(consumer, partitions)) == partitions
                count = proxy.connection_count
            await until(lambda: proxy.connection_count == 0)
        return count

    assert await connections_for(12) == await connections_for(1)


async def test_a_spout_finds_partitions_and_topics_that_come_while_it_runs(
    bootstrap: str, new_topic: NewName
) -> None:
    """T1.08."""
    first, second = new_topic(), new_topic()
    await filled(bootstrap, first, partitions=1)
    async with (
        Admin(bootstrap_servers=bootstrap) as admin,
        Spout(
            re.compile(f"{first}|{second}"),
            bootstrap_servers=bootstrap,
            group_id=f"g-{first}",
            metadata_max_age_ms=100,
        ) as spout,
        Producer(bootstrap_servers=bootstrap, metadata_max_age_ms=100) as producer,
    ):
        found = [await acked(spout)]
        (await admin.create_partitions({first: NewPartitions(2)})).raise_errors()
        await eventually(lambda: has_partitions(producer, first, 2))
        await producer.send(first, b"new", partition=1)
        found.append(await acked(spout))
        await filled(bootstrap, second, partitions=1)
        found.append(await acked(spout))
    assert found == [(first, 0), (first, 1), (second, 0)]


async def acked(spout: Spout) -> tuple[str, int]:
    """Where the next message comes from. One that is not acked would come again with each rebalance."""
    (message,) = await take(spout, 1)
    message.ack()
    return message.topic, message.partition


async def has_partitions(producer: Producer, topic: str, count: int) -> bool:
    return len(await producer.partitions_for(topic)) == count
