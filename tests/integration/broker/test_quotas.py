"""Quotas over a real node: other people's clients hear that they are throttled, and wait (KIP-219, KIP-599).

Times are compared from below alone: a slow machine makes everybody wait longer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S, wait_until
from tests.support.clients.raw_client import RawClient, is_alive

THROTTLING_QUOTA_EXCEEDED = 89
RAW_CLIENT_ID = "raw"
"""Of `RawClient`."""


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def limit(broker: Broker, client_id: str, name: str, value: float) -> None:
    entity = [EntityData(entity_type="client-id", entity_name=client_id)]
    entry = AlterClientQuotasRequestEntryData(entity=entity, ops=[OpData(key=name, value=value)])
    with RawClient(broker.bootstrap_servers) as client:
        answer = client.ask(
            ApiKey.ALTER_CLIENT_QUOTAS, 1, AlterClientQuotasRequest(entries=[entry])
        )
        assert answer.entries[0].error_code == 0, answer


def test_a_producer_is_throttled_and_others_are_not(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic("t")
    limit(broker, "fast", "producer_byte_rate", 100_000)
    throttled: list[float] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "client.id": "fast",
            "throttle_cb": lambda event: throttled.append(event.throttle_time),
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    began = time.monotonic()
    for _ in range(13):
        producer.produce("t", bytes(100_000))
        producer.flush(LONG_ENOUGH_S)
    # A million bytes are free, those of ten windows of a second; the rest comes at the rate of the quota.
    assert time.monotonic() - began >= 1.5
    wait_until(lambda: producer.poll(0.1) is None or bool(throttled))
    assert max(throttled) > 0
    assert is_alive(broker.bootstrap_servers)


def test_a_consumer_gets_everything_later(broker: Broker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for number in range(12):
        producer.produce("t", b"%d" % number + bytes(100_000))
    assert producer.flush(LONG_ENOUGH_S) == 0
    limit(broker, "slow", "consumer_byte_rate", 100_000)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "client.id": "slow",
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": 200_000,
            "log_level": 0,
        }
    )
    consumer.subscribe(["t"])
    began = time.monotonic()
    seen = []
    while len(seen) < 12:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            seen.append(message.offset())
        assert time.monotonic() - began < LONG_ENOUGH_S
    consumer.close()
    assert seen == list(range(12))
    assert time.monotonic() - began >= 1


def test_too_many_partitions_are_refused_or_waited_for(broker: Broker) -> None:
    limit(broker, RAW_CLIENT_ID, "controller_mutation_rate", 1)

    def create(client: RawClient, name: str, partitions: int, version: int) -> tuple[int, int]:
        """Returns the error and the time to wait."""
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
        answer = client.ask(ApiKey.CREATE_TOPICS, version, request)
        return answer.topics[0].error_code, answer.throttle_time_ms

    # The bucket holds eleven tokens at first, and refills one a second: a hundred are owed for a minute and a half.
    with RawClient(broker.bootstrap_servers) as client:
        assert create(client, "many", 100, 7) == (0, 0)
        refused, wait_ms = create(client, "more", 1, 7)
        assert (refused, wait_ms > 0) == (THROTTLING_QUOTA_EXCEEDED, True)
    with RawClient(broker.bootstrap_servers) as client:
        served, wait_ms = create(client, "old", 1, 4)
        assert (served, wait_ms > 0) == (0, True)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "client.id": "other"})
    admin.create_topics([NewTopic("free", 30, 1)])["free"].result(LONG_ENOUGH_S)
