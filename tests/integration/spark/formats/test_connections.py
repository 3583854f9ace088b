"""What a driver asks a cluster about the times of records, where they are out of order and where transactions were aborted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.clients import Producer
from millstream.model import Offset, TopicPartition
from millstream.spark.admission import Later
from millstream.spark.connections import Connections
from millstream.spark.kafka_settings import for_both


@pytest.fixture
def connections(topics: Any) -> Iterator[Connections]:
    settings = {
        "bootstrap.servers": topics.bootstrap_servers,
        "isolation.level": "read_committed",
    }
    connections = Connections(for_both(settings))
    yield connections
    connections.close()


def after(connections: Connections, topic: str, time: int, start: int, end: int) -> int | None:
    tp = TopicPartition(topic, 0)
    return connections.offsets_after({tp: Later(time, Offset(start), Offset(end))}).get(tp)


def put(topics: Any, topic: str, *times: int) -> None:
    topics.put(topic, [{"value": b"v", "timestamp_ms": time} for time in times])


def test_the_first_later_record_is_looked_for_where_reading_goes_on(
    topics: Any, connections: Connections
) -> None:
    topic = topics.new()
    put(topics, topic, 900, 10, 20, 30, 40)
    assert after(connections, topic, 20, 0, 5) == 0
    assert after(connections, topic, 20, 1, 5) == 3
    assert after(connections, topic, 20, 1, 3) is None
    assert after(connections, topic, 1_000, 1, 5) is None


def test_an_aborted_record_is_not_the_first_later_one(
    topics: Any, connections: Connections
) -> None:
    topic = topics.new()

    async def aborted() -> None:
        producer = Producer(
            bootstrap_servers=topics.bootstrap_servers, transactional_id=f"{topic}-aborted"
        )
        async with producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            await producer.send(topic, b"never", timestamp_ms=500)
            await producer.flush()
            await producer.abort_transaction()

    asyncio.run(aborted())
    put(topics, topic, 10, 20, 30)
    assert after(connections, topic, 10, 0, 5) == 3
