"""Share consumers on a running broker: who gets what, and what becomes of it (KIP-932).

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the same tests run against an Apache Kafka.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Unpack

import pytest

from millstream.clients import (
    AcknowledgeType,
    Admin,
    Producer,
    ShareConsumer,
    TopicIdPartition,
    blocking,
)
from millstream.clients.config.share import ShareConsumerSettings
from millstream.clients.consumer.core.errors import WakeupError
from millstream.clients.core.illegal_state import ConcurrentUse, IllegalState
from millstream.clients.core.serialization import (
    LookupNeeded,
    LookupUnavailable,
    RecordDeserializationError,
)
from millstream.clients.core.values import ConsumerRecord
from millstream.errors import InvalidRecordState, KafkaError
from millstream.net.client.tasks import ClientClosed
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, eventually
from tests.support.clients.looked_up_numbers import LookedUpNumbers
from tests.support.clients.raw_client import RawClient
from tests.support.clients.raw_share_member import configure_group

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
QUICK = {
    "group.share.heartbeat.interval.ms": "100",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
}
"""Partitions are assigned soon, and locks may be short."""
SHORTEST_LOCK_MS = 15_000 if "MILLSTREAM_KAFKA_BOOTSTRAP" in os.environ else 1_000
NewName = Callable[[], str]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    with Broker(in_process=False, settings=QUICK) as broker:
        yield broker.bootstrap_servers


class World:
    """A topic, and a group of the same name that reads it from the start."""

    def __init__(self, bootstrap: str, name: str, partitions: int = 1) -> None:
        self.bootstrap = bootstrap
        self.name = name
        with RawClient(bootstrap) as client:
            client.create_topic(name, partitions=partitions)
        self.configure(auto_offset_reset="earliest")

    def configure(self, **settings: object) -> None:
        with RawClient(self.bootstrap) as client:
            configure_group(client, self.name, **settings)

    async def produce(self, count: int, partitions: int = 1) -> None:
        async with Producer(bootstrap_servers=self.bootstrap) as producer:
            for number in range(count):
                await producer.send(self.name, b"%d" % number, partition=number % partitions)

    def member(self, **settings: Unpack[ShareConsumerSettings]) -> ShareConsumer:
        consumer = ShareConsumer(bootstrap_servers=self.bootstrap, group_id=self.name, **settings)
        consumer.subscribe([self.name])
        return consumer


@pytest.fixture
def world(bootstrap: str, new_topic: NewName) -> World:
    return World(bootstrap, new_topic())


async def some(consumer: ShareConsumer, **options: int) -> list[ConsumerRecord]:
    """The first poll that returns something."""
    async with asyncio.timeout(LONG_ENOUGH_S):
        while not (records := await consumer.poll(**options)):
            pass
    return records


def seen(records: list[ConsumerRecord]) -> list[tuple[int, int | None]]:
    return [(record.offset, record.delivery_count) for record in records]


async def poll_until(
    consumer: ShareConsumer, wanted: int, kind: AcknowledgeType | None = None
) -> list[ConsumerRecord]:
    """That many records; each acknowledged with `kind`, if that is given."""
    records: list[ConsumerRecord] = []
    while len(records) < wanted:
        for record in await some(consumer):
            records.append(record)
            if kind is not None:
                consumer.acknowledge(record, kind)
    return records


# ---- implicit mode


async def test_the_next_poll_accepts_what_the_last_one_returned(world: World) -> None:
    await world.produce(3)
    async with world.member() as consumer:
        assert seen(await some(consumer)) == [(0, 1), (1, 1), (2, 1)]
        await world.produce(1)
        assert seen(await some(consumer)) == [(3, 1)]
    async with world.member() as successor:
        assert seen(await some(successor)) == [(3, 2)], "closing accepts nothing"
        assert set((await successor.commit()).values()) == {None}
    async with world.member() as last:
        await world.produce(1)
        assert seen(await some(last)) == [(4, 1)]


async def test_iteration_accepts_a_record_when_the_next_one_is_asked_for(world: World) -> None:
    await world.produce(3)
    async with world.member() as consumer:
        async with asyncio.timeout(LONG_ENOUGH_S):
            assert (await anext(consumer)).offset == 0
            assert (await anext(consumer)).offset == 1
        await consumer.commit()
    async with world.member() as successor:
        assert seen(await some(successor)) == [(2, 2)], "what iteration held back was not accepted"


async def test_poll_returns_what_iteration_held_back(world: World) -> None:
    await world.produce(3)
    async with world.member() as consumer:
        async with asyncio.timeout(LONG_ENOUGH_S):
            await anext(consumer)
        assert seen(await consumer.poll(timeout_ms=LONG_ENOUGH_MS)) == [(1, 1), (2, 1)]


async def test_records_cannot_be_acknowledged_one_by_one(world: World) -> None:
    await world.produce(1)
    async with world.member() as consumer:
        (record,) = await some(consumer)
        with pytest.raises(IllegalState, match='share_acknowledgement_mode="explicit"'):
            consumer.acknowledge(record)


# ---- explicit mode


async def test_every_record_is_acknowledged_before_the_next_poll(world: World) -> None:
    await world.produce(2)
    async with world.member(share_acknowledgement_mode="explicit") as consumer:
        first, second = await some(consumer)
        consumer.acknowledge(first)
        with pytest.raises(IllegalState, match=f"{world.name}-0 offset 1 is not acknowledged"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        consumer.acknowledge(second, RELEASE)
        assert seen(await some(consumer)) == [(1, 2)], "what is released comes again"


async def test_what_is_rejected_never_comes_again(world: World) -> None:
    await world.produce(2)
    async with world.member(share_acknowledgement_mode="explicit") as consumer:
        first, second = await some(consumer)
        consumer.acknowledge(first, REJECT)
        consumer.acknowledge(second, RELEASE)
        results = await consumer.commit()
        ((partition, error),) = results.items()
        assert (partition.topic_partition, error) == ((world.name, 0), None)
        assert seen(await some(consumer)) == [(1, 2)]


async def test_a_lock_is_renewed_and_the_record_comes_again_as_it_was(world: World) -> None:
    await world.produce(1)
    async with world.member(share_acknowledgement_mode="explicit") as consumer:
        (record,) = await some(consumer)
        assert consumer.acquisition_lock_timeout_ms() == 30_000
        consumer.acknowledge(record, RENEW)
        assert await some(consumer) == [record]
        consumer.acknowledge(record, RENEW)
        assert set((await consumer.commit()).values()) == {None}
        assert await some(consumer) == [record]
        consumer.acknowledge(record)
        assert set((await consumer.commit()).values()) == {None}


async def test_a_lock_that_has_run_out_is_told_and_the_record_comes_again(world: World) -> None:
    world.configure(record_lock_duration_ms=SHORTEST_LOCK_MS)
    await world.produce(1)
    outcomes: list[tuple[set[int], KafkaError | None]] = []
    async with (
        world.member(share_acknowledgement_mode="explicit") as consumer,
        world.member(share_acknowledgement_mode="explicit") as other,
    ):
        consumer.set_acknowledgement_commit_callback(
            lambda offsets, error: outcomes.extend((set(each), error) for each in offsets.values())
        )
        (record,) = await some(consumer)
        assert seen(await some(other)) == [(0, 2)], "after that time somebody else has it"
        consumer.acknowledge(record)
        ((_, error),) = (await consumer.commit()).items()
        assert isinstance(error, InvalidRecordState)
        assert outcomes == [({0}, error)]


async def test_a_commit_that_nobody_waits_for_is_told_to_the_callback(world: World) -> None:
    await world.produce(2)
    outcomes: list[tuple[str, set[int], KafkaError | None]] = []

    def heard(
        offsets: Mapping[TopicIdPartition, AbstractSet[int]], error: KafkaError | None
    ) -> None:
        outcomes.extend((each.topic, set(what), error) for each, what in offsets.items())
        with pytest.raises(IllegalState, match="must not use the consumer"):
            consumer.commit_async()

    async with world.member(share_acknowledgement_mode="explicit") as consumer:
        consumer.set_acknowledgement_commit_callback(heard)
        for record in await some(consumer):
            consumer.acknowledge(record)
        consumer.commit_async()
        while not outcomes:
            assert await consumer.poll(timeout_ms=100) == []
        assert outcomes == [(world.name, {0, 1}, None)]


# ---- deserializers


async def test_a_record_that_cannot_be_deserialized_is_told_and_released(world: World) -> None:
    await world.produce(3)

    def number(data: bytes) -> int:
        if data == b"1" and not spared:
            raise ValueError("not today")
        return int(data)

    spared: list[bool] = []
    settings = {"bootstrap_servers": world.bootstrap, "group_id": world.name}
    async with ShareConsumer(value_deserializer=number, **settings) as consumer:
        consumer.subscribe([world.name])
        assert [record.value for record in await some(consumer)] == [0]
        with pytest.raises(RecordDeserializationError, match=r"offset 1: .* was released") as told:
            await some(consumer)
        assert told.value.record is not None
        assert told.value.record.value == b"1"
        spared.append(True)
        read = [record for _ in range(2) for record in await some(consumer)]
        assert [(each.value, each.delivery_count) for each in read] == [(2, 1), (1, 2)]


async def test_a_record_whose_schema_cannot_be_had_is_released_too(world: World) -> None:
    """Else this consumer would never come behind it."""
    await world.produce(3)

    def number(data: bytes) -> int:
        if data != b"1":
            return int(data)

        async def look_up() -> None:
            raise OSError("no such schema")

        raise LookupNeeded("schema", look_up)

    settings = {"bootstrap_servers": world.bootstrap, "group_id": world.name}
    async with ShareConsumer(value_deserializer=number, **settings) as consumer:
        consumer.subscribe([world.name])
        assert [record.value for record in await some(consumer)] == [0]
        with pytest.raises(RecordDeserializationError, match="no such schema") as raised:
            await some(consumer)
        assert raised.value.offset == 1
        (record,) = await some(consumer)
        assert (record.value, record.delivery_count) == (2, 1)


async def test_no_record_is_released_while_no_schema_can_be_had(world: World) -> None:
    """Brokers would give it up after some deliveries."""
    await world.produce(1)
    numbers = LookedUpNumbers()
    settings = {"bootstrap_servers": world.bootstrap, "group_id": world.name}
    async with ShareConsumer(value_deserializer=numbers, **settings) as consumer:
        consumer.subscribe([world.name])
        for _ in range(2):
            with pytest.raises(LookupUnavailable, match="nobody answers"):
                await some(consumer)
        numbers.is_down = False
        (record,) = await some(consumer)
        assert (record.value, record.delivery_count) == (0, 1)


async def test_a_record_that_cannot_be_deserialized_may_be_rejected(world: World) -> None:
    await world.produce(2)

    def text(data: bytes) -> str:
        if data == b"0":
            raise ValueError("never")
        return data.decode()

    async with ShareConsumer(
        bootstrap_servers=world.bootstrap,
        group_id=world.name,
        share_acknowledgement_mode="explicit",
        value_deserializer=text,
    ) as consumer:
        consumer.subscribe([world.name])
        with pytest.raises(RecordDeserializationError):
            await some(consumer)
        consumer.acknowledge_offset(world.name, 0, 0, REJECT)
        (record,) = await some(consumer)
        assert (record.offset, record.value, record.delivery_count) == (1, "1", 1)
        consumer.acknowledge(record, RELEASE)
        (again,) = await some(consumer)
        assert (again.offset, again.delivery_count) == (1, 2)
        consumer.acknowledge(again)


# ---- several members


async def test_members_share_a_partition_and_each_record_is_had_once(
    bootstrap: str, new_topic: NewName
) -> None:
    world = World(bootstrap, new_topic(), partitions=2)
    await world.produce(600, partitions=2)
    had: list[tuple[int, int, int | None]] = []

    async def work(consumer: ShareConsumer) -> None:
        while len(had) < 600:
            records = await consumer.poll(max_records=10, timeout_ms=100)
            had.extend((each.partition, each.offset, each.delivery_count) for each in records)
        await consumer.commit()

    async with asyncio.timeout(LONG_ENOUGH_S), world.member() as one, world.member() as other:
        await asyncio.gather(work(one), work(other))
    assert sorted(had) == [(p, offset, 1) for p in range(2) for offset in range(300)]


async def test_a_limit_of_records_is_kept(world: World) -> None:
    await world.produce(20)
    async with world.member(share_acquire_mode="record_limit") as consumer:
        assert seen(await some(consumer, max_records=7)) == [(offset, 1) for offset in range(7)]
        assert seen(await some(consumer, max_records=1)) == [(7, 1)]


async def test_what_a_member_has_not_acknowledged_goes_to_others_when_it_leaves(
    world: World,
) -> None:
    await world.produce(2)
    async with world.member(share_acknowledgement_mode="explicit") as consumer:
        first, _ = await some(consumer)
        consumer.acknowledge(first)
    async with world.member() as successor:
        assert seen(await some(successor)) == [(1, 2)], "close() has sent the acknowledgement"


async def test_a_consumer_may_leave_and_come_back(world: World) -> None:
    await world.produce(1)
    async with world.member() as consumer:
        await some(consumer)
        await consumer.unsubscribe()
        assert consumer.subscription() == set()
        with pytest.raises(IllegalState, match="call subscribe"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        assert set((await consumer.commit()).values()) == {None}
        await world.produce(1)
        consumer.subscribe(world.name)
        assert seen(await some(consumer)) == [(1, 1)]


async def test_who_does_not_poll_leaves_and_is_back_with_the_next_poll(world: World) -> None:
    await world.produce(1)
    async with (
        Admin(bootstrap_servers=world.bootstrap) as admin,
        world.member(max_poll_interval_ms=300) as consumer,
    ):

        async def members() -> int:
            groups = await admin.describe_share_groups([world.name])
            return len(groups[world.name].members)

        async def has_left() -> bool:
            return await members() == 0

        await some(consumer)
        await eventually(has_left)
        await world.produce(1)
        assert seen(await some(consumer)) == [(1, 1)]


# ---- trouble


async def test_a_cancelled_poll_loses_nothing(world: World) -> None:
    async with world.member() as consumer:
        for number in range(20):
            polling = asyncio.ensure_future(some(consumer))
            await asyncio.sleep(0.001 * number)
            polling.cancel()
            await asyncio.wait((polling,))
            assert polling.cancelled()
        await world.produce(3)
        assert seen(await some(consumer)) == [(0, 1), (1, 1), (2, 1)]


async def test_a_poll_is_woken_up_and_the_next_one_goes_on(world: World) -> None:
    async with world.member() as consumer:
        polling = asyncio.ensure_future(consumer.poll(timeout_ms=LONG_ENOUGH_MS))
        await asyncio.sleep(0)
        with pytest.raises(ConcurrentUse):
            await consumer.commit()
        consumer.wakeup()
        with pytest.raises(WakeupError):
            await polling
        await world.produce(1)
        assert seen(await some(consumer)) == [(0, 1)]


async def test_a_consumer_that_is_closed_says_so(world: World) -> None:
    consumer = world.member()
    await consumer.close()
    await consumer.close()
    with pytest.raises(ClientClosed):
        await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def test_what_was_accepted_survives_a_crash_of_the_broker_and_the_rest_comes_again() -> None:
    with Broker(in_process=False, settings=QUICK) as broker:
        world = World(broker.bootstrap_servers, "t")
        await world.produce(4)
        async with world.member(share_acknowledgement_mode="explicit") as consumer:
            records = await some(consumer)
            for record in records[:2]:
                consumer.acknowledge(record)
            assert set((await consumer.commit()).values()) == {None}
            await asyncio.to_thread(broker.kill)
            await asyncio.to_thread(broker.restart)
            for record in records[2:]:
                consumer.acknowledge(record)
            (error,) = (await consumer.commit()).values()
            assert error is not None, "the broker has forgotten who has them"
            again = await poll_until(consumer, 2, ACCEPT)
            assert [record.offset for record in again] == [2, 3]
            assert set((await consumer.commit()).values()) == {None}
        async with world.member() as last:
            await world.produce(1)
            assert [record.offset for record in await some(last)] == [4]


# ---- for plain code


def test_the_blocking_twin_does_the_same(world: World) -> None:
    asyncio.run(world.produce(3))
    with blocking.ShareConsumer(
        bootstrap_servers=world.bootstrap,
        group_id=world.name,
        share_acknowledgement_mode="explicit",
    ) as consumer:
        consumer.subscribe([world.name])
        for record in itertools.islice(consumer, 3):
            consumer.acknowledge(record, ACCEPT if record.offset else RELEASE)
        assert set(consumer.commit().values()) == {None}
        assert seen(consumer.poll(timeout_ms=LONG_ENOUGH_MS)) == [(0, 2)]
    with pytest.raises(ClientClosed):
        consumer.acknowledge_offset(world.name, 0, 0, ACCEPT)
