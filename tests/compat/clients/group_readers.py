"""Members of one group, of three makes, that read and keep a common book of what they have read."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

import confluent_kafka

from millstream.clients import Consumer

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
JAVA_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


class Book:
    """Who read what. Written by threads and tasks alike."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: dict[tuple[int, int], list[str]] = {}

    def read(self, reader: str, partition: int, offset: int) -> None:
        with self._lock:
            self._readers.setdefault((partition, offset), []).append(reader)

    @property
    def count(self) -> int:
        """Records that somebody has read."""
        return len(self._readers)

    def more_than_once(self) -> dict[tuple[int, int], list[str]]:
        return {where: readers for where, readers in self._readers.items() if len(readers) > 1}

    def by_reader(self) -> Counter[str]:
        return Counter(reader for readers in self._readers.values() for reader in readers)


class Reader(Protocol):
    name: str

    def partitions(self) -> set[int]: ...

    async def stop(self) -> None: ...


class OurReader:
    """`protocol` is "consumer", or the name of a classic assignor."""

    def __init__(self, name: str, bootstrap: str, topic: str, protocol: str, book: Book) -> None:
        self.name = name
        self._book = book
        chosen: dict[str, Any] = (  # Any: settings of several types
            {"group_protocol": "consumer"}
            if protocol == "consumer"
            else {
                "partition_assignment_strategy": protocol,
                "heartbeat_interval_ms": 100,
                "session_timeout_ms": 30_000,
            }
        )
        self._consumer = Consumer(
            bootstrap_servers=bootstrap,
            group_id=f"group-{topic}",
            auto_offset_reset="earliest",
            client_id=name,
            **chosen,
        )
        self._consumer.subscribe([topic])
        self._stopping = False
        self._held: set[int] = set()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with self._consumer as consumer:
            while not self._stopping:
                for record in await consumer.poll(timeout_ms=50):
                    self._book.read(self.name, record.partition, record.offset)
                self._held = {tp.partition for tp in consumer.assignment()}

    def partitions(self) -> set[int]:
        if self._task.done():
            self._task.result()
        return self._held

    async def stop(self) -> None:
        self._stopping = True
        await self._task


class LibrdkafkaReader:
    def __init__(self, name: str, bootstrap: str, topic: str, protocol: str, book: Book) -> None:
        self.name = name
        self._book = book
        chosen: dict[str, str | int] = (
            {"group.protocol": "consumer"}
            if protocol == "consumer"
            else {
                "partition.assignment.strategy": protocol,
                "heartbeat.interval.ms": 100,
                "session.timeout.ms": 30_000,
            }
        )
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"group-{topic}",
                "auto.offset.reset": "earliest",
                "client.id": name,
                "log_level": 0,
                **chosen,
            }
        )
        self._consumer.subscribe([topic])
        self._stopping = threading.Event()
        self._held: set[int] = set()
        self._thread = threading.Thread(target=self._run, name=name)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            message = self._consumer.poll(0.05)
            if message is not None and message.error() is None:
                self._book.read(self.name, message.partition(), message.offset())
            self._held = {tp.partition for tp in self._consumer.assignment()}
        self._consumer.close()

    def partitions(self) -> set[int]:
        return self._held

    async def stop(self) -> None:
        self._stopping.set()
        await asyncio.to_thread(self._thread.join)


class JavaReader:
    """Kafka's VerifiableConsumer, which prints what it does as JSON."""

    def __init__(self, name: str, bootstrap: str, topic: str, protocol: str, book: Book) -> None:
        self.name = name
        self._book = book
        self._held: set[int] = set()
        arguments = [
            "--bootstrap-server",
            bootstrap,
            "--topic",
            topic,
            "--reset-policy",
            "earliest",
        ]
        arguments += ["--group-id", f"group-{topic}", "--enable-autocommit", "--verbose"]
        if protocol == "consumer":
            arguments += ["--group-protocol", "consumer"]
        else:
            assignor = f"org.apache.kafka.clients.consumer.{JAVA_ASSIGNORS[protocol]}"
            arguments += ["--assignment-strategy", assignor, "--session-timeout", "6000"]
            arguments += ["--command-config", str(Path(__file__).parent / "java_reader.properties")]
        self._process = subprocess.Popen(
            [
                "java",
                "-Xmx128m",
                "-cp",
                CLASSPATH,
                "org.apache.kafka.tools.VerifiableConsumer",
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._thread = threading.Thread(target=self._run, name=name)
        self._thread.start()

    def _run(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:  # Any: JSON
        partitions = {entry["partition"] for entry in event.get("partitions", ())}
        match event["name"]:
            case "partitions_assigned":
                self._held |= partitions
            case "partitions_revoked":
                self._held -= partitions
            case "record_data":
                self._book.read(self.name, event["partition"], event["offset"])

    def partitions(self) -> set[int]:
        return self._held

    async def stop(self) -> None:
        self._process.terminate()
        await asyncio.to_thread(self._process.wait, 30)
        await asyncio.to_thread(self._thread.join)
        assert self._process.stdout is not None
        self._process.stdout.close()


async def until_shared(readers: list[Reader], count: int, limit_s: float = 60) -> None:
    """Everybody has a part, and nobody has another one's."""
    end = time.monotonic() + limit_s
    while True:
        parts = [reader.partitions() for reader in readers]
        if all(parts) and sorted(p for part in parts for p in part) == list(range(count)):
            return
        assert time.monotonic() < end, (
            f"not shared out: {dict(zip([r.name for r in readers], parts, strict=True))}"
        )
        await asyncio.sleep(0.02)


async def until_read(book: Book, count: int, limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while book.count < count:
        assert time.monotonic() < end, f"{book.count} of {count} records read: {book.by_reader()}"
        await asyncio.sleep(0.02)
