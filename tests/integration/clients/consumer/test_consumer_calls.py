"""What a consumer is told and by whom: wrong arguments, wrong order, second users, wake-ups."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import pytest

from millstream.clients import (
    ConcurrentUse,
    Consumer,
    IllegalState,
    OffsetAndMetadata,
    Producer,
    RebalanceListener,
    TopicPartition,
    WakeupError,
    blocking,
)
from millstream.errors import ConfigError
from millstream.net.client.tasks import ClientClosed
from millstream.protocol.api import ApiKey
from millstream.testing.faults.proxy import FaultProxy
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, wait_until

NewName = Callable[[], str]


async def filled(bootstrap: str, topic: str, count: int = 10) -> TopicPartition:
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(count):
            await producer.send(topic, b"%d" % number)
    return TopicPartition(topic, 0)


async def test_topics_to_subscribe_to_are_checked(bootstrap: str, new_topic: NewName) -> None:
    """K4.20, K4.21: nothing changes when an argument is wrong."""
    topic = new_topic()
    async with Consumer(bootstrap_servers=bootstrap, group_id=f"g-{topic}") as consumer:
        consumer.subscribe([topic])
        with pytest.raises(IllegalState, match="either topics or a pattern"):
            consumer.subscribe(None)
        with pytest.raises(IllegalState, match="either topics or a pattern"):
            consumer.subscribe([topic], pattern="x")
        with pytest.raises(TypeError, match="a topic's name must be a string, got None"):
            consumer.subscribe([topic, None])  # type: ignore[list-item]  # what is tested
        with pytest.raises(ValueError, match="must not be blank"):
            consumer.subscribe([" "])
        with pytest.raises(TypeError, match="listener must be a RebalanceListener"):
            consumer.subscribe([topic], listener=print)  # type: ignore[arg-type]  # what is tested
        assert consumer.subscription() == {topic}


async def test_partitions_and_offsets_are_checked(bootstrap: str, new_topic: NewName) -> None:
    """K14.02, K14.03, K4.26."""
    partition = await filled(bootstrap, new_topic())
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        with pytest.raises(TypeError):
            consumer.assign(None)  # type: ignore[arg-type]  # what is tested
        with pytest.raises(ValueError, match="must not be blank"):
            consumer.assign([("", 0)])
        with pytest.raises(ValueError, match="must not be negative"):
            consumer.assign([("t", -1)])
        with pytest.raises(TypeError, match=r"give a list of partitions"):
            consumer.assign(partition)  # type: ignore[arg-type]  # what is tested
        consumer.assign([partition])
        with pytest.raises(ValueError, match="an offset must not be negative, got -1"):
            consumer.seek(partition, -1)
        with pytest.raises(IllegalState, match="other-0 is not assigned"):
            consumer.seek(("other", 0), 1)
        with pytest.raises(ValueError, match="timeout_ms must not be negative"):
            await consumer.poll(timeout_ms=-1)
        with pytest.raises(ValueError, match="max_records must be at least 1"):
            await consumer.poll(max_records=0)
        with pytest.raises(ValueError, match="time to search"):
            await consumer.offsets_for_times({partition: -1})


async def test_ways_to_choose_partitions_do_not_mix(bootstrap: str, new_topic: NewName) -> None:
    """K4.22, K4.02, K14.07."""
    topic = new_topic()
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        with pytest.raises(IllegalState, match=r"call subscribe\(\) or assign\(\) first"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        with pytest.raises(ConfigError, match="needs group_id"):
            consumer.subscribe([topic])
        with pytest.raises(ConfigError, match="needs group_id"):
            await consumer.commit({TopicPartition(topic, 0): 1})
        with pytest.raises(ConfigError, match="needs group_id"):
            consumer.commit_async()
    async with Consumer(bootstrap_servers=bootstrap, group_id=f"g-{topic}") as consumer:
        consumer.assign([(topic, 0)])
        with pytest.raises(IllegalState, match="assigned by hand"):
            consumer.subscribe([topic])
        consumer.assign([(topic, 1)])
        assert consumer.assignment() == {TopicPartition(topic, 1)}
        consumer.assign([])
        assert consumer.assignment() == set()
        consumer.subscribe([topic])
        with pytest.raises(IllegalState, match=r"call unsubscribe\(\) before assign\(\)"):
            consumer.assign([(topic, 0)])
        consumer.subscribe(pattern=re.compile(f"{topic}.*"))
        assert consumer.subscription() == set()


async def test_a_subscription_to_nothing_leaves_the_group(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.20."""
    partition = await filled(bootstrap, new_topic())

    class Told(RebalanceListener):
        revoked: set[TopicPartition] = set()  # noqa: RUF012 - one test, one object

        async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
            self.revoked = partitions

    told = Told()
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=f"g-{partition.topic}", auto_offset_reset="earliest"
    ) as consumer:
        consumer.subscribe([partition.topic], listener=told)
        while not await consumer.poll(timeout_ms=LONG_ENOUGH_MS):
            pass
        consumer.subscribe([])
        with pytest.raises(IllegalState, match=r"await unsubscribe\(\) first"):
            consumer.subscribe([partition.topic])
        with pytest.raises(IllegalState, match="nothing to read"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        assert told.revoked == {partition}
        assert (await consumer.committed([partition]))[partition] == OffsetAndMetadata(10, "", 0)
        consumer.subscribe([partition.topic])
        await consumer.poll(timeout_ms=0)


async def test_a_second_task_is_told_that_it_is_one(bootstrap: str, new_topic: NewName) -> None:
    """K4.25."""
    partition = await filled(bootstrap, new_topic())
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([partition])
        await consumer.position(partition)
        waiting = asyncio.create_task(consumer.poll(timeout_ms=LONG_ENOUGH_MS))
        await asyncio.sleep(0)
        for call in (
            lambda: consumer.seek(partition, 0),
            consumer.assignment,
            consumer._next_at_hand,
            lambda: consumer.assign([]),
        ):
            with pytest.raises(ConcurrentUse, match="another task or thread is using"):
                call()
        with pytest.raises(ConcurrentUse):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        consumer.seek(partition, 0)
        assert len(await consumer.poll(timeout_ms=LONG_ENOUGH_MS)) == 10


async def test_a_listener_may_use_the_consumer_that_waits_for_it(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.25: the same user may enter again."""
    partition = await filled(bootstrap, new_topic())
    async with Consumer(bootstrap_servers=bootstrap, group_id=f"g-{partition.topic}") as consumer:

        class FromSeven(RebalanceListener):
            async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
                for assigned in partitions:
                    assert await consumer.position(assigned) == 10
                    consumer.seek(assigned, 7)
                await consumer.commit({partition: 7})

        consumer.subscribe([partition.topic], listener=FromSeven())
        offsets: list[int] = []
        while len(offsets) < 3:
            offsets += [record.offset for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)]
        assert offsets == [7, 8, 9]


async def test_everything_after_close_is_refused(bootstrap: str, new_topic: NewName) -> None:
    """K4.25."""
    partition = await filled(bootstrap, new_topic())
    consumer = Consumer(bootstrap_servers=bootstrap)
    consumer.assign([partition])
    waiting = asyncio.create_task(consumer.poll(timeout_ms=LONG_ENOUGH_MS))
    await asyncio.sleep(0)
    await consumer.close()
    with pytest.raises(ClientClosed):
        await waiting
    await consumer.close()
    for call in (consumer.assignment, lambda: consumer.seek(partition, 0), consumer.paused):
        with pytest.raises(ClientClosed):
            call()
    with pytest.raises(ClientClosed):
        await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def test_wakeup_ends_a_waiting_call_and_loses_nothing(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.29."""
    partition = await filled(bootstrap, new_topic(), 3)
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        loop = asyncio.get_running_loop()
        offsets: list[int] = []
        woken = 0
        while len(offsets) < 3 or woken < 20:
            loop.call_later(0.001 * (woken % 4), consumer.wakeup)
            try:
                read = await consumer.poll(max_records=1, timeout_ms=LONG_ENOUGH_MS)
            except WakeupError:
                woken += 1
            else:
                offsets += [record.offset for record in read]
        assert offsets == [0, 1, 2]


async def test_wakeup_without_a_waiting_call_ends_the_next_one(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.29."""
    partition = await filled(bootstrap, new_topic(), 1)
    async with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=f"g-{partition.topic}"
    ) as consumer:
        consumer.assign([partition])
        consumer.wakeup()
        with pytest.raises(WakeupError):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        assert [record.offset async for record in take(consumer, 1)] == [0]
        consumer.wakeup()
        with pytest.raises(WakeupError):
            await consumer.commit()
        await consumer.commit()


async def take(consumer: Consumer, count: int):  # type: ignore[no-untyped-def]  # an async generator of records
    for _ in range(count):
        yield await anext(consumer)


async def test_a_poll_without_time_returns_at_once(bootstrap: str, new_topic: NewName) -> None:
    """K4.27, K4.34: and what was fetched meanwhile needs no waiting."""
    partition = await filled(bootstrap, new_topic())
    async with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_poll_records=4
    ) as consumer:
        consumer.assign([partition])
        assert await consumer.poll(timeout_ms=0) == []
        assert len(await consumer.poll(timeout_ms=LONG_ENOUGH_MS)) == 4
        assert len(await consumer.poll(timeout_ms=0)) == 4
        assert len(await consumer.poll(timeout_ms=0)) == 2


async def test_consumers_are_named_after_their_group(bootstrap: str) -> None:
    """K4.01."""
    async with (
        Consumer(bootstrap_servers=bootstrap, group_id="tea") as first,
        Consumer(bootstrap_servers=bootstrap) as second,
        Consumer(bootstrap_servers=bootstrap, client_id="mine") as third,
    ):
        assert re.fullmatch(r"consumer-tea-\d+", first.config.client_id)
        assert re.fullmatch(r"consumer-\d+", second.config.client_id)
        assert third.config.client_id == "mine"


def test_a_second_thread_is_told_that_it_is_one_and_may_wake_the_first(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.25, K4.29."""
    partition = asyncio.run(filled(bootstrap, new_topic(), 1))
    with blocking.Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([partition])
        assert consumer.position(partition) == 1

        async def in_threads() -> None:
            first = asyncio.create_task(asyncio.to_thread(consumer.poll, timeout_ms=LONG_ENOUGH_MS))
            async with asyncio.timeout(LONG_ENOUGH_S):
                while True:
                    try:
                        await asyncio.to_thread(consumer.assignment)
                    except ConcurrentUse:
                        break
            with pytest.raises(ConcurrentUse):
                await asyncio.to_thread(consumer.poll)
            await asyncio.to_thread(consumer.wakeup)
            with pytest.raises(WakeupError):
                await first

        asyncio.run(in_threads())
        assert consumer.poll(timeout_ms=0) == []


def test_a_blocking_listener_and_callback_may_use_the_consumer(
    bootstrap: str, new_topic: NewName
) -> None:
    partition = asyncio.run(filled(bootstrap, new_topic()))
    with blocking.Consumer(
        bootstrap_servers=bootstrap, group_id=f"g-{partition.topic}"
    ) as consumer:

        class FromSeven(blocking.RebalanceListener):
            def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
                for assigned in partitions:
                    consumer.seek(assigned, 7)

        consumer.subscribe([partition.topic], listener=FromSeven())
        offsets: list[int] = []
        while len(offsets) < 3:
            offsets += [record.offset for record in consumer.poll(timeout_ms=LONG_ENOUGH_MS)]
        assert offsets == [7, 8, 9]
        told: list[tuple[object, ...]] = []
        consumer.commit_async(
            {partition: 8}, lambda o, e: told.append((o, e, consumer.position(partition)))
        )
        while not told:
            consumer.poll(timeout_ms=50)
        assert told == [({partition: OffsetAndMetadata(8)}, None, 10)]
        consumer.subscribe([])
        consumer.assign([partition])


async def test_the_next_fetch_is_sent_before_records_are_returned(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.28, K4.36: and a waiting poll() ends as soon as there is something."""
    partition = await filled(bootstrap, new_topic())
    with FaultProxy(bootstrap) as proxy:
        async with Consumer(
            bootstrap_servers=proxy.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer:
            consumer.assign([partition])
            assert len(await consumer.poll(timeout_ms=LONG_ENOUGH_MS)) == 10
            # The application is busy: it waits without giving the loop a turn.
            wait_until(lambda: fetches(proxy) == 2)


def fetches(proxy: FaultProxy) -> int:
    return sum(request.key is ApiKey.FETCH for request in proxy.requests)
