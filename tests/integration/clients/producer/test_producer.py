"""What a producer does beyond bytes in, bytes out: serializers, partitioners, interceptors, callbacks, limits."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.clients import (
    Admin,
    Consumer,
    ConsumerRecord,
    NewTopic,
    Producer,
    ProducerInterceptor,
    ProducerRecord,
    RecordMetadata,
    RoundRobinPartitioner,
    TopicPartition,
    blocking,
)
from millstream.clients.core.serialization import LookupNeeded, SerializationError
from millstream.clients.core.values import Headers
from millstream.errors import InvalidTopic, MessageTooLarge, RequestTimedOut
from tests.patience import LONG_ENOUGH_S

NewName = Callable[[], str]


async def read_all(bootstrap: str, topic: str) -> list[ConsumerRecord]:
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        partitions = [TopicPartition(topic, p) for p in await consumer.partitions_for(topic)]
        consumer.assign(partitions)
        count = sum((await consumer.end_offsets(partitions)).values())
        records: list[ConsumerRecord] = []
        async with asyncio.timeout(LONG_ENOUGH_S):
            while len(records) < count:
                records += await consumer.poll(timeout_ms=100)
        return records


async def create(bootstrap: str, topic: str, partitions: int) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, partitions)])).raise_errors()


class SchemaSerializer:
    """As a registry's: asks for an id when it first meets a topic, then tells it in a header."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    def serialize(self, topic: str, data: str, headers: Headers) -> bytes:
        if topic not in self.known:
            raise LookupNeeded(topic, lambda: self._look_up(topic))
        headers.append(("schema", b"1"))
        return data.encode()

    async def _look_up(self, topic: str) -> None:
        await asyncio.sleep(0)
        self.known.add(topic)


async def test_serializers_of_every_kind_are_used_and_awaited(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    given: Headers = [("h", b"x")]
    async with Producer(
        bootstrap_servers=bootstrap,
        key_serializer=lambda key: b"%d" % key,
        value_serializer=SchemaSerializer(),
    ) as producer:
        sent_ms = time.time_ns() // 1_000_000
        await producer.send(topic, "first", key=1, headers=given)
        await producer.send(topic, None, key=2)
        with pytest.raises(SerializationError, match=f"key_serializer .* str for topic '{topic}'"):
            await producer.send(topic, "x", key="one")
    with blocking.Producer(
        bootstrap_servers=bootstrap, value_serializer=SchemaSerializer()
    ) as twin:
        await asyncio.to_thread(twin.send, topic, "third")
        await asyncio.to_thread(twin.flush)
    first, second, third = await read_all(bootstrap, topic)
    assert (first.key, first.value) == (b"1", b"first")
    assert first.timestamp_ms >= sent_ms, "a missing timestamp is filled in"
    assert list(first.headers) == [("h", b"x"), ("schema", b"1")]
    assert (second.key, second.value, third.value) == (b"2", None, b"third")
    assert given == [("h", b"x")]


async def test_partitioners_choose_where_records_go(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    await create(bootstrap, topic, 3)

    async def partitions(producer: Producer) -> list[int]:
        async with producer:
            sent = [await producer.send(topic, b"x", key=b"same") for _ in range(3)]
            return [(await delivery).partition for delivery in sent]

    round_robin = Producer(bootstrap_servers=bootstrap, partitioner=RoundRobinPartitioner())
    assert await partitions(round_robin) == [0, 1, 2]
    by_hand = Producer(bootstrap_servers=bootstrap, partitioner=lambda *question: question[3][-1])
    assert await partitions(by_hand) == [2, 2, 2]
    async with Producer(bootstrap_servers=bootstrap) as producer:
        named = await producer.send(topic, b"x", key=b"same", partition=1)
        assert (await named).partition == 1
    ignoring = Producer(
        bootstrap_servers=bootstrap, partitioner_ignore_keys=True, batch_size=0, linger_ms=0
    )
    assert set(await partitions(ignoring)) <= {0, 1, 2}


class Tracing(ProducerInterceptor[bytes, bytes]):
    def __init__(self) -> None:
        self.seen: list[object] = []

    def on_send(self, record: ProducerRecord[bytes, bytes]) -> ProducerRecord[bytes, bytes]:
        self.seen.append(threading.current_thread() is threading.main_thread())
        return ProducerRecord(record.topic, (record.value or b"") + b"!")

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None) -> None:
        self.seen.append((metadata.offset, type(error)))

    def close(self) -> None:
        self.seen.append("closed")


async def test_interceptors_and_callbacks_are_told_in_order_and_may_raise(
    bootstrap: str, new_topic: NewName, caplog: pytest.LogCaptureFixture
) -> None:
    topic = new_topic()
    tracing = Tracing()

    def told(metadata: RecordMetadata, error: Exception | None) -> None:
        tracing.seen.append(f"callback {metadata.offset}")
        raise ZeroDivisionError

    with caplog.at_level(logging.ERROR):
        async with Producer(bootstrap_servers=bootstrap, interceptors=[tracing]) as producer:
            for _ in range(2):
                await producer.send(topic, b"x", on_delivery=told)
            await producer.flush()
            with pytest.raises(MessageTooLarge):
                await producer.send(topic, b"x" * 2_000_000)
    none = type(None)
    assert tracing.seen == [
        *(True, True),
        *((0, none), "callback 0", (1, none), "callback 1"),
        *(True, (-1, MessageTooLarge)),
        "closed",
    ]
    assert [record.value for record in await read_all(bootstrap, topic)] == [b"x!", b"x!"]
    assert caplog.text.count("a delivery callback failed") == 2


def test_the_twin_intercepts_in_the_callers_thread_and_calls_back_on_the_loops(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    tracing = Tracing()
    threads: list[str] = []
    with blocking.Producer(bootstrap_servers=bootstrap, interceptors=[tracing]) as producer:
        for _ in range(2):
            producer.send(
                topic, b"x", on_delivery=lambda *_: threads.append(threading.current_thread().name)
            )
        producer.flush()
    assert tracing.seen.count(True) == 2  # the first may be acknowledged before the second is sent
    assert threads == ["millstream clients"] * 2


def test_who_gives_up_waiting_for_a_delivery_does_not_take_the_record_back(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    with blocking.Producer(bootstrap_servers=bootstrap, linger_ms=60_000) as producer:
        delivery = producer.send(topic, b"x")
        with pytest.raises(RequestTimedOut, match="not acknowledged within 1 ms"):
            delivery.result(timeout_ms=1)
        assert not delivery.is_done
        producer.flush()
        assert delivery.result().offset == 0


async def test_without_acks_records_go_and_nobody_tells_where(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    async with Producer(
        bootstrap_servers=bootstrap, acks=0, enable_idempotence=False, linger_ms=0
    ) as producer:
        assert (await (await producer.send(topic, b"x"))).offset == -1
        await producer.partitions_for(topic)
        async with asyncio.timeout(LONG_ENOUGH_S):
            while not await read_all(bootstrap, topic):
                await producer.partitions_for(topic)


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
async def test_batches_of_every_level_are_read_back(
    bootstrap: str, new_topic: NewName, codec: str
) -> None:
    topic = new_topic()
    values = [b"%d apples and %d pears" % (n, n * 7919) for n in range(500)]
    for level in (1, 9):
        async with Producer(
            bootstrap_servers=bootstrap,
            compression_type=codec,
            **{f"compression_{codec}_level": level},
        ) as producer:
            for value in values:
                await producer.send(topic, value)
    assert [record.value for record in await read_all(bootstrap, topic)] == values * 2


@pytest.mark.parametrize(
    ("linger_ms", "sizes"), [(0, [10]), (80_000, [6_000, 6_000]), (80_000, [20_000])]
)
async def test_a_new_batch_and_a_full_one_are_sent_without_anybody_asking(
    bootstrap: str, new_topic: NewName, linger_ms: int, sizes: list[int]
) -> None:
    """At once where nothing lingers; else when the next record finds no room, or the only one fills it."""
    topic = new_topic()
    async with Producer(
        bootstrap_servers=bootstrap, linger_ms=linger_ms, batch_size=10_000
    ) as producer:
        await producer.partitions_for(topic)
        first, *_ = [await producer.send(topic, bytes(size)) for size in sizes]
        async with asyncio.timeout(LONG_ENOUGH_S):
            assert (await first).offset == 0


async def test_who_waits_for_memory_ends_the_linger_time_of_others(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    async with Producer(
        bootstrap_servers=bootstrap, buffer_memory=1024, linger_ms=60_000
    ) as producer:
        waiting = await producer.send(topic, b"x" * 900)
        blocked = asyncio.create_task(producer.send(topic, b"y" * 900))
        assert (await waiting).offset == 0
        second = await blocked
        await producer.flush()
        assert second.result().offset == 1


@pytest.mark.parametrize("name", ["a\ud800", "x" * 32_768])
async def test_a_name_that_no_request_can_carry_ends_its_call_and_not_the_client(
    bootstrap: str, new_topic: NewName, name: str
) -> None:
    async with Producer(bootstrap_servers=bootstrap) as producer:
        with pytest.raises(InvalidTopic, match="the topic's name cannot be sent: "):
            await producer.send(name, b"1")
        with pytest.raises(InvalidTopic, match="the topic's name cannot be sent: "):
            await producer.partitions_for(name)
        topic = new_topic()
        await create(bootstrap, topic, 1)
        await (await producer.send(topic, b"2"))
    assert [record.value for record in await read_all(bootstrap, topic)] == [b"2"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"topic": None}, "topic takes a topic's name, got None"),
        ({"topic": b"t"}, "topic takes a topic's name, got b't'"),
        ({"partition": "0"}, "partition takes an integer, got '0'"),
        ({"timestamp_ms": 1.5}, "timestamp_ms takes an integer, got 1.5"),
        (
            {"headers": {"ab": b"1"}},
            "headers takes pairs, [(name, value), ...], got {'ab': b'1'}; those of a dict are list(headers.items())",
        ),
        ({"headers": 5}, "headers takes pairs, [(name, value), ...], got 5"),
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
async def test_what_send_cannot_take_is_named(
    bootstrap: str,
    new_topic: NewName,
    arguments: dict[str, object],
    told: str,
    is_known: bool,
) -> None:
    """Whether the topic is known yet, or asked for first."""
    topic = new_topic()
    await create(bootstrap, topic, 1)
    given: dict[str, Any] = {"topic": topic} | arguments
    async with Producer(bootstrap_servers=bootstrap) as producer:
        if is_known:
            await producer.partitions_for(topic)
        with pytest.raises(TypeError) as refused:
            await producer.send(given.pop("topic"), b"1", **given)
        assert str(refused.value) == told
        await (await producer.send(topic, b"2"))
    with blocking.Producer(bootstrap_servers=bootstrap) as blocking_producer:
        given = {"topic": topic} | arguments
        with pytest.raises(TypeError) as refused:
            blocking_producer.send(given.pop("topic"), b"1", **given)
        assert str(refused.value) == told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"topic": None}, "topic takes a topic's name, got None"),
        ({"records": [b"1"]}, "records takes an Arrow batch, got list"),
        ({"partition": "0"}, "partition takes an integer, got '0'"),
        ({"batch_headers": 5}, "headers takes pairs, [(name, value), ...], got 5"),
    ],
)
async def test_what_send_batch_cannot_take_is_named(
    bootstrap: str, new_topic: NewName, arguments: dict[str, object], told: str
) -> None:
    topic, rows = new_topic(), pa.record_batch({"value": pa.array([b"2"])})
    await create(bootstrap, topic, 1)
    given: dict[str, Any] = {"topic": topic, "records": rows}
    async with Producer(bootstrap_servers=bootstrap) as producer:
        with pytest.raises(TypeError) as refused:
            await producer.send_batch(**(given | arguments))
        assert str(refused.value) == told
        await (await producer.send_batch(topic, rows, partition=np.int64(0)))
    assert [record.value for record in await read_all(bootstrap, topic)] == [b"2"]
