"""kill -9 of the broker under clients: an acknowledged record is there once and in order, and clients go on by themselves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

import pytest

from millstream.clients import Admin, Consumer, Delivery, NewTopic, Producer
from millstream.errors import RequestTimedOut
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S, eventually


async def test_an_idempotent_producer_loses_nothing_and_repeats_nothing_over_crashes() -> None:
    with Broker(in_process=False) as broker:
        async with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            (await admin.create_topics([NewTopic("t", 2)])).raise_errors()
        sent = 0
        async with Producer(
            bootstrap_servers=broker.bootstrap_servers, linger_ms=1, request_timeout_ms=5_000
        ) as producer:
            deliveries = []
            for crash in range(3):
                for _ in range(2000):
                    delivery = await producer.send("t", b"%d" % sent, partition=sent % 2)
                    deliveries.append(delivery)
                    sent += 1
                await asyncio.sleep(0.01 * crash)  # a different moment of the exchange each time
                await asyncio.to_thread(broker.kill)
                await asyncio.to_thread(broker.restart)
            async with asyncio.timeout(LONG_ENOUGH_S):
                await producer.flush()
                offsets = [(await delivery).offset for delivery in deliveries]
        found = await read_all(broker.bootstrap_servers, sent)
    assert found == {
        0: [b"%d" % number for number in range(0, sent, 2)],
        1: [b"%d" % number for number in range(1, sent, 2)],
    }
    assert offsets == [number // 2 for number in range(sent)]


async def test_a_stopped_broker_makes_send_wait_and_then_say_so_and_nothing_is_lost() -> None:
    with Broker(in_process=False) as broker:
        assert broker.pid is not None
        async with Producer(
            bootstrap_servers=broker.bootstrap_servers, buffer_memory=50_000, max_block_ms=300
        ) as producer:

            async def knows_the_topic() -> bool:
                with contextlib.suppress(RequestTimedOut):
                    return await producer.partitions_for("t") == [0]
                return False

            await eventually(knows_the_topic)
            deliveries = [await producer.send("t", b"first", partition=0)]
            await deliveries[0]
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                with pytest.raises(RequestTimedOut, match="no room for a record of 1021 bytes"):
                    await send_until_refused(producer, deliveries)
            finally:
                os.kill(broker.pid, signal.SIGCONT)
            async with asyncio.timeout(LONG_ENOUGH_S):
                await producer.flush()
            offsets = [(await delivery).offset for delivery in deliveries]
    assert offsets == list(range(len(deliveries)))
    assert 40 < len(deliveries) < 60


async def send_until_refused(producer: Producer, deliveries: list[Delivery]) -> None:
    while True:
        delivery = await producer.send("t", b"x" * 1000, partition=0)
        deliveries.append(delivery)


async def test_a_consumer_goes_on_where_it_was_after_a_crash() -> None:
    with Broker(in_process=False) as broker:
        async with (
            Producer(bootstrap_servers=broker.bootstrap_servers) as producer,
            Consumer(
                bootstrap_servers=broker.bootstrap_servers,
                group_id="g",
                auto_offset_reset="earliest",
                heartbeat_interval_ms=200,
            ) as consumer,
        ):
            consumer.subscribe(["t"])
            values: list[bytes | None] = []
            for part in range(2):
                for number in range(100):
                    await producer.send("t", b"%d" % (part * 100 + number))
                await producer.flush()
                async with asyncio.timeout(LONG_ENOUGH_S):
                    while len(values) < (part + 1) * 100:
                        values += [record.value for record in await consumer.poll(timeout_ms=200)]
                if part == 0:
                    await asyncio.to_thread(broker.kill)
                    await asyncio.to_thread(broker.restart)
    assert values == [b"%d" % number for number in range(200)]


async def read_all(bootstrap: str, count: int) -> dict[int, list[bytes | None]]:
    found: dict[int, list[bytes | None]] = {0: [], 1: []}
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([("t", 0), ("t", 1)])
        async with asyncio.timeout(LONG_ENOUGH_S):
            while sum(map(len, found.values())) < count:
                for record in await consumer.poll(timeout_ms=200):
                    found[record.partition].append(record.value)
    return found
