"""Serdes through producers and consumers: what goes in comes out, with a schema registry and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from millstream.clients import Consumer, Producer, TopicPartition, blocking
from millstream.clients.core.serialization import RecordDeserializationError, SerializationError
from millstream.clients.serdes import json, long, string
from millstream.clients.serdes.registry import (
    SchemaRegistry,
    SubjectNotFound,
    confluent_avro,
    confluent_json,
)
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry

SCHEMA = '{"type":"record","name":"Delay","fields":[{"name":"minutes","type":"int"}]}'


@dataclass
class Delay:
    minutes: int


@pytest.fixture
def server() -> Iterator[FakeSchemaRegistry]:
    with FakeSchemaRegistry() as running:
        yield running


async def test_serdes_write_and_read_keys_and_values(bootstrap: str, new_topic: Callable[[], str]) -> None:  # fmt: skip
    topic, delays = new_topic(), json(into=Delay)
    async with Producer(
        bootstrap_servers=bootstrap, key_serializer=string(), value_serializer=delays
    ) as producer:
        await (await producer.send(topic, Delay(7), key="UA"))
        await (await producer.send(topic, None, key="UA"))
        with pytest.raises(SerializationError, match="string"):
            await producer.send(topic, Delay(8), key=7)  # type: ignore[arg-type]
    async with Consumer(
        bootstrap_servers=bootstrap, key_deserializer=string(), value_deserializer=delays
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        records = [await anext(consumer) for _ in range(2)]
    assert [(record.key, record.value) for record in records] == [("UA", Delay(7)), ("UA", None)]


async def test_the_registry_is_asked_while_the_client_waits(
    bootstrap: str, new_topic: Callable[[], str], server: FakeSchemaRegistry
) -> None:
    """A key and a value with schemas of their own; a reader that knows neither."""
    topic = new_topic()
    async with SchemaRegistry(server.url) as registry:
        keys = confluent_json(registry, '{"type":"string"}', is_key=True, id_in_header=True)
        async with Producer(
            bootstrap_servers=bootstrap,
            key_serializer=keys,
            value_serializer=confluent_avro(registry, SCHEMA),
        ) as producer:
            for minutes in range(3):
                await producer.send(topic, {"minutes": minutes}, key="UA")
        async with Consumer(
            bootstrap_servers=bootstrap,
            key_deserializer=confluent_json(registry, is_key=True),
            value_deserializer=confluent_avro(registry, into=Delay),
        ) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            consumer.seek(TopicPartition(topic, 0), 0)
            records = [await anext(consumer) for _ in range(3)]
    assert [(record.key, record.value) for record in records] == [
        ("UA", Delay(0)),
        ("UA", Delay(1)),
        ("UA", Delay(2)),
    ]
    assert [len(record.headers) for record in records] == [1, 1, 1]
    assert server.contents.subjects == {f"{topic}-key": [1], f"{topic}-value": [2]}


def test_the_blocking_twins_ask_it_too(
    bootstrap: str, new_topic: Callable[[], str], server: FakeSchemaRegistry
) -> None:
    topic, registry = new_topic(), SchemaRegistry(server.url)
    delays = confluent_avro(registry, SCHEMA, into=Delay)
    with blocking.Producer(bootstrap_servers=bootstrap, value_serializer=delays) as producer:
        producer.send(topic, Delay(7)).result()
    with blocking.Consumer(bootstrap_servers=bootstrap, value_deserializer=delays) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        assert next(consumer).value == Delay(7)
    registry.close()


async def test_what_the_registry_refuses_is_raised_where_it_was_sent(
    bootstrap: str, new_topic: Callable[[], str], server: FakeSchemaRegistry
) -> None:
    async with SchemaRegistry(server.url) as registry:
        strict = confluent_avro(registry, SCHEMA, auto_register=False)
        async with Producer(bootstrap_servers=bootstrap, value_serializer=strict) as producer:
            with pytest.raises(SubjectNotFound, match="check the subject name strategy"):
                await producer.send(new_topic(), {"minutes": 1})


async def test_a_record_that_cannot_be_read_says_which_it_is_and_can_be_passed(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for value in (b"12345678", b"x", b"12345678"):
            await producer.send(topic, value)
    async with Consumer(bootstrap_servers=bootstrap, value_deserializer=long()) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 0)
        assert (await anext(consumer)).offset == 0
        with pytest.raises(RecordDeserializationError, match="a long is 8 bytes, not 1") as raised:
            await anext(consumer)
        assert (raised.value.topic_partition, raised.value.offset) == (partition, 1)
        consumer.seek(partition, 2)
        assert (await anext(consumer)).offset == 2
