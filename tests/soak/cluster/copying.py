"""Copies numbers from one topic to another in transactions, exactly once, with librdkafka or with our own clients."""

from __future__ import annotations

import threading
from typing import Final

from confluent_kafka import Consumer as LibrdkafkaConsumer
from confluent_kafka import KafkaException
from confluent_kafka import Producer as LibrdkafkaProducer

from millstream.clients import OffsetAndMetadata
from millstream.clients.blocking import Consumer, Producer
from millstream.errors import MillstreamError
from millstream.model import TopicPartition

_AT_ONCE: Final = 200


class Copier(threading.Thread):
    """Whatever fails, it begins anew from the offsets that are committed. Its `name` is its group and its transactional id."""

    def __init__(self, bootstrap: str, name: str) -> None:
        super().__init__(daemon=True, name=name)
        self.stopping = threading.Event()
        self.committed = 0
        self.failures: list[str] = []
        self._servers = bootstrap

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                self._copy()
            except (MillstreamError, KafkaException) as error:
                self.failures.append(f"{type(error).__name__}: {error}")

    def _copy(self) -> None:
        with (
            Producer(bootstrap_servers=self._servers, transactional_id=self.name) as producer,
            Consumer(
                bootstrap_servers=self._servers,
                group_id=self.name,
                isolation_level="read_committed",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                max_poll_records=_AT_ONCE,
            ) as consumer,
        ):
            producer.init_transactions()
            consumer.subscribe(["in"])
            while not self.stopping.is_set():
                records = consumer.poll(timeout_ms=500)
                if not records:
                    continue
                offsets: dict[TopicPartition, OffsetAndMetadata] = {}
                with producer.transaction():
                    for record in records:
                        producer.send("out", record.value, partition=record.partition)
                        partition = TopicPartition("in", record.partition)
                        offsets[partition] = OffsetAndMetadata(record.offset + 1)
                    producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
                self.committed += len(records)


_IDLE_MS: Final = 10_000
"""librdkafka (2.16, its issues 5511 and 5456) forgets a broker that no metadata names any more, and goes on waiting for it in `send_offsets_to_transaction`, beyond
the time-out, where it coordinated the group; only a change of another connection has it ask again. Connections that end while all is idle are such changes."""


class LibrdkafkaCopier(Copier):
    def _copy(self) -> None:
        servers = {
            "bootstrap.servers": self._servers, "log_level": 0, "reconnect.backoff.max.ms": 200,
            "connections.max.idle.ms": _IDLE_MS,
        }  # fmt: skip
        producer = LibrdkafkaProducer({**servers, "transactional.id": self.name})
        producer.init_transactions(60)
        consumer = LibrdkafkaConsumer(
            {
                **servers, "group.id": self.name, "enable.auto.commit": False,
                "isolation.level": "read_committed", "auto.offset.reset": "earliest",
            }
        )  # fmt: skip
        try:
            consumer.subscribe(["in"])
            while not self.stopping.is_set():
                self._copy_some(consumer, producer)
        finally:
            consumer.close()

    def _copy_some(self, consumer: LibrdkafkaConsumer, producer: LibrdkafkaProducer) -> None:
        messages = [each for each in consumer.consume(_AT_ONCE, 0.5) if each.error() is None]
        if not messages:
            return
        producer.begin_transaction()
        for message in messages:
            producer.produce("out", message.value(), partition=message.partition() or 0)
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 60
        )
        producer.commit_transaction(60)
        self.committed += len(messages)
