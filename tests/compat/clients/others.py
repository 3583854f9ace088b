"""Other people's clients behind one interface: rows go in, rows come out. Used to read across clients."""

from __future__ import annotations

import asyncio
import time
import warnings
from typing import NamedTuple, Protocol

import confluent_kafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition

from tests.patience import LONG_ENOUGH_S

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its loader of schemas uses such
    from kafka import KafkaConsumer, KafkaProducer
    from kafka import TopicPartition as PythonTopicPartition

BYTES_MAX = 4_000_000
Headers = list[tuple[str, bytes | None]]


class Row(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int


class Other(Protocol):
    """Both read and write partition 0. `sends_null_headers`: it can; all can read them."""

    sends_null_headers: bool

    async def write(self, bootstrap: str, topic: str, rows: list[Row], codec: str) -> None: ...
    async def read(
        self, bootstrap: str, topic: str, count: int, *, read_committed: bool = False
    ) -> list[Row]: ...


class Confluent:
    sends_null_headers = True

    async def write(self, bootstrap: str, topic: str, rows: list[Row], codec: str) -> None:
        await asyncio.to_thread(self._write, bootstrap, topic, rows, codec)

    async def read(
        self, bootstrap: str, topic: str, count: int, *, read_committed: bool = False
    ) -> list[Row]:
        return await asyncio.to_thread(self._read, bootstrap, topic, count, read_committed)

    def _write(self, bootstrap: str, topic: str, rows: list[Row], codec: str) -> None:
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "message.max.bytes": BYTES_MAX,
                "enable.idempotence": True,
            }
        )
        for row in rows:
            producer.produce(
                topic,
                row.value,
                row.key,
                partition=0,
                timestamp=row.timestamp_ms,
                headers=row.headers,
            )
        assert producer.flush(LONG_ENOUGH_S) == 0

    def _read(self, bootstrap: str, topic: str, count: int, read_committed: bool) -> list[Row]:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"confluent-{topic}",
                "isolation.level": "read_committed" if read_committed else "read_uncommitted",
            }
        )
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        rows: list[Row] = []
        deadline = time.monotonic() + LONG_ENOUGH_S
        while len(rows) < count:
            assert time.monotonic() < deadline, f"{len(rows)} of {count} records"
            for message in consumer.consume(count - len(rows), 0.2):
                assert message.error() is None
                headers = list(message.headers() or [])
                rows.append(Row(message.key(), message.value(), headers, message.timestamp()[1]))
        consumer.close()
        return rows


class KafkaPython:
    sends_null_headers = False

    async def write(self, bootstrap: str, topic: str, rows: list[Row], codec: str) -> None:
        await asyncio.to_thread(self._write, bootstrap, topic, rows, codec)

    async def read(
        self, bootstrap: str, topic: str, count: int, *, read_committed: bool = False
    ) -> list[Row]:
        return await asyncio.to_thread(self._read, bootstrap, topic, count, read_committed)

    def _write(self, bootstrap: str, topic: str, rows: list[Row], codec: str) -> None:
        producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            max_request_size=BYTES_MAX,
        )
        for row in rows:
            producer.send(topic, row.value, row.key, row.headers, 0, row.timestamp_ms)
        producer.flush(LONG_ENOUGH_S)
        producer.close()

    def _read(self, bootstrap: str, topic: str, count: int, read_committed: bool) -> list[Row]:
        consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=None,
            auto_offset_reset="earliest",
            isolation_level="read_committed" if read_committed else "read_uncommitted",
        )
        consumer.assign([PythonTopicPartition(topic, 0)])
        rows: list[Row] = []
        deadline = time.monotonic() + LONG_ENOUGH_S
        while len(rows) < count:
            assert time.monotonic() < deadline, f"{len(rows)} of {count} records"
            for records in consumer.poll(200).values():
                rows += [Row(r.key, r.value, list(r.headers), r.timestamp) for r in records]
        consumer.close()
        return rows


class Aiokafka:
    sends_null_headers = True

    async def write(self, bootstrap: str, topic: str, rows: list[Row], codec: str) -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            max_request_size=BYTES_MAX,
            enable_idempotence=True,
        ) as producer:
            for row in rows:
                await producer.send_and_wait(
                    topic, row.value, row.key, 0, row.timestamp_ms, row.headers
                )

    async def read(
        self, bootstrap: str, topic: str, count: int, *, read_committed: bool = False
    ) -> list[Row]:
        rows: list[Row] = []
        async with AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            auto_offset_reset="earliest",
            isolation_level="read_committed" if read_committed else "read_uncommitted",
        ) as consumer:
            consumer.assign([AioTopicPartition(topic, 0)])
            async with asyncio.timeout(LONG_ENOUGH_S):
                while len(rows) < count:
                    for records in (await consumer.getmany(timeout_ms=200)).values():
                        rows += [Row(r.key, r.value, list(r.headers), r.timestamp) for r in records]
        return rows
