"""What a driver asks a cluster about the times of records, where they are out of order and where transactions were aborted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.clients import Producer, RangeReader
from millstream.errors import RequestTimedOut
from millstream.model import Offset, TopicPartition, Uuid
from millstream.spark import connections as connections_module
from millstream.spark.admission import Later
from millstream.spark.connections import Connections
from millstream.spark.kafka_settings import for_both
from tests.patience import eventually


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

        async def has_marker() -> bool:
            return await reader.offsets(topic, -1) == {0: 2}

        async with RangeReader(
            bootstrap_servers=topics.bootstrap_servers, isolation_level="read_committed"
        ) as reader:
            await eventually(has_marker)  # brokers of Kafka write it behind their answer

    asyncio.run(aborted())
    put(topics, topic, 10, 20, 30)
    assert after(connections, topic, 10, 0, 5) == 3


def test_a_list_of_topics_that_cannot_be_had_in_time_leaves_the_one_before_in_use(
    topics: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def times_out(*_: object) -> dict[str, Uuid]:
        raise RequestTimedOut("no broker has answered")

    topic = topics.new()
    link = Connections(for_both({"bootstrap.servers": topics.bootstrap_servers}))
    with monkeypatch.context() as patch:
        patch.setattr(connections_module, "_topic_ids", times_out)
        with pytest.raises(RequestTimedOut):
            link.topic_ids((topic,))
    known = link.topic_ids((topic,))
    assert list(known) == [topic]
    monkeypatch.setattr(connections_module, "_topic_ids", times_out)
    with caplog.at_level(logging.WARNING):
        assert link.topic_ids((topic,), anew=True) == known
    assert "the list of before is in use" in caplog.text
    link.close()
