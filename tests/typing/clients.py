"""What must, and must not, type-check of the clients. `make check` runs mypy and pyright over this file; nothing runs it.

A line that must not check has an ignore with mypy's error code: both complain about an ignore that nothing needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from millstream.clients import (
    Admin,
    Consumer,
    ConsumerInterceptor,
    ConsumerRecord,
    Producer,
    ProducerInterceptor,
    RecordMetadata,
    ShareConsumer,
    TopicPartition,
    blocking,
    serdes,
)
from millstream.clients.admin import Results, TopicDescription


@dataclass
class Order:
    number: int


def to_bytes(order: Order) -> bytes:
    return b"%d" % order.number


def from_bytes(data: bytes) -> Order:
    return Order(int(data))


async def keys_and_values_are_bytes_unless_told_otherwise() -> None:
    async with Producer(bootstrap_servers="localhost:9092") as producer:
        assert_type(producer, Producer[bytes, bytes])
        await producer.send("orders", b"1", key=b"a")
        await producer.send("orders", "1")  # type: ignore[arg-type]  # text is not bytes
    async with Consumer(group_id="g") as consumer:
        assert_type(consumer, Consumer[bytes, bytes])
        async for record in consumer:
            assert_type(record, ConsumerRecord[bytes, bytes])
            assert_type(record.value, bytes | None)


async def a_producer_takes_what_its_serializers_take() -> None:
    async with Producer(key_serializer=serdes.string(), value_serializer=to_bytes) as producer:
        assert_type(producer, Producer[str, Order])
        await producer.send("orders", Order(1), key="a")
        await producer.send("orders", None, key="a")
        await producer.send("orders", 1)  # type: ignore[arg-type]  # a number is no Order
        await producer.send("orders", Order(1), key=b"a")  # type: ignore[arg-type]  # keys are text


async def a_consumer_gives_what_its_deserializers_give() -> None:
    async with Consumer(
        group_id="g", key_deserializer=serdes.long(), value_deserializer=from_bytes
    ) as consumer:
        assert_type(consumer, Consumer[int, Order])
        for record in await consumer.poll():
            assert_type(record.key, int | None)
            assert_type(record.value, Order | None)
            record.offset = 1  # type: ignore[misc]  # records are not changed
    async with Consumer(group_id="g", value_deserializer=serdes.json()) as consumer_of_any:
        assert_type(consumer_of_any, Consumer[bytes, Any])


async def interceptors_have_types_too(
    sees_orders: ProducerInterceptor[bytes, Order], sees_text: ConsumerInterceptor[str, bytes]
) -> None:
    assert_type(Producer(interceptors=[sees_orders]), Producer[bytes, Order])
    assert_type(Producer(interceptors=None), Producer[bytes, bytes])
    assert_type(Consumer(interceptors=[sees_text]), Consumer[str, bytes])
    assert_type(blocking.Producer(interceptors=[sees_orders]), blocking.Producer[bytes, Order])
    assert_type(blocking.Consumer(interceptors=[sees_text]), blocking.Consumer[str, bytes])


async def share_consumers_are_like_consumers() -> None:
    async with ShareConsumer(group_id="g", value_deserializer=from_bytes) as consumer:
        assert_type(consumer, ShareConsumer[bytes, Order])
        assert_type(await consumer.poll(), list[ConsumerRecord[bytes, Order]])
    assert_type(ShareConsumer(group_id="g"), ShareConsumer[bytes, bytes])
    assert_type(blocking.ShareConsumer(group_id="g"), blocking.ShareConsumer[bytes, bytes])


async def results_of_admin_calls_are_by_what_was_asked() -> None:
    async with Admin() as admin:
        described = await admin.describe_topics(["orders"])
        assert_type(described, Results[str, TopicDescription])
        await admin.describe_topics([1])  # type: ignore[type-var]  # neither a name nor an id
        ends = await admin.list_offsets({TopicPartition("orders", 0): -1})
        assert_type(ends.result(TopicPartition("orders", 0)).offset, int)
    with blocking.Admin() as twin:
        assert_type(twin.describe_topics(["orders"]), Results[str, TopicDescription])


def a_delivery_gives_metadata() -> None:
    with blocking.Producer() as producer:
        assert_type(producer.send("orders", b"1").result(), RecordMetadata)
        with producer.transaction() as inside:
            assert_type(inside, blocking.Producer[bytes, bytes])


def blocking_twins_have_the_same_types() -> None:
    with blocking.Producer(value_serializer=serdes.double()) as producer:
        assert_type(producer, blocking.Producer[bytes, float])
        producer.send("prices", 1.5)
        producer.send("prices", "1.5")  # type: ignore[arg-type]  # text is not a number
    with blocking.Consumer(group_id="g", value_deserializer=from_bytes) as consumer:
        assert_type(consumer, blocking.Consumer[bytes, Order])
        for record in consumer:
            assert_type(record, ConsumerRecord[bytes, Order])


def settings_are_checked() -> None:
    Producer(linger_ms="5")  # type: ignore[arg-type]  # a number
    Producer(lingr_ms=5)  # type: ignore[call-arg]  # no such setting
