"""Idempotent producers that write to a topic with acks=all while its nodes come and go: one of Apache Kafka's clients, one of ours.

async with Loads(nodes, topic, partitions, directory) as loads:
    ...; await loads.go_on()
loads.check(await everything(nodes, topic, partitions))
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from millstream.clients import Consumer, Producer, TopicPartition
from millstream.errors import MillstreamError
from tests.oracle.cluster.nodes import LONG_S, Nodes
from tests.oracle.cluster.work import TOOLS, ends_of_logs
from tests.support.kafka_node import CLASSPATH

_PER_SECOND: Final = 200
_AT_LEAST: Final = 100
"""So many more of each client's records tell that it goes on."""
_IDEMPOTENT: Final = "enable.idempotence=true\nretries=2147483647\ndelivery.timeout.ms=120000\n"
"""VerifiableProducer sets retries=0, which turns idempotence off, unless its file says otherwise."""

Places: TypeAlias = Mapping[tuple[int, int], str]
"""Partition and offset of each record, and its value."""


class OurLoad:
    """A producer of ours that sends to the partitions in turns."""

    name = "ours"

    def __init__(self, nodes: Nodes, topic: str, partitions: int) -> None:
        self.failures: list[str] = []
        self._acknowledged: dict[tuple[int, int], str] = {}
        self._topic = topic
        self._partitions = partitions
        self._servers = nodes.bootstrap_servers
        self._is_over = False
        self._task = asyncio.create_task(self._run())

    def acknowledged(self) -> Places:
        return self._acknowledged

    async def end(self) -> None:
        self._is_over = True
        await self._task

    async def _run(self) -> None:
        try:
            async with Producer(bootstrap_servers=self._servers) as producer:
                number = 0
                while not self._is_over:
                    await self._send(producer, number)
                    number += 1
                    await asyncio.sleep(1 / _PER_SECOND)
        except MillstreamError as error:
            self.failures.append(repr(error))

    async def _send(self, producer: Producer, number: int) -> None:
        value = f"ours.{number:0500}"

        def done(metadata: object, error: Exception | None) -> None:
            if error is not None:
                self.failures.append(f"{value}: {error!r}")
            else:
                place = (metadata.partition, metadata.offset)  # type: ignore[attr-defined]
                self._acknowledged[place] = value

        partition = number % self._partitions
        await producer.send(self._topic, value.encode(), partition=partition, on_delivery=done)


class KafkaLoad:
    """Kafka's VerifiableProducer, a process."""

    name = "kafka"

    def __init__(self, nodes: Nodes, topic: str, directory: Path) -> None:
        settings = directory / "verifiable-producer.properties"
        settings.write_text(_IDEMPOTENT)
        self._output = directory / f"{topic}.acknowledged"
        command = [
            "java", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-cp", CLASSPATH, f"{TOOLS}.VerifiableProducer",
            "--bootstrap-server", nodes.bootstrap_servers, "--topic", topic, "--value-prefix", "1",
            "--throughput", str(_PER_SECOND), "--command-config", str(settings),
        ]  # fmt: skip
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)

    def acknowledged(self) -> Places:
        return {
            (said["partition"], said["offset"]): said["value"]
            for said in self._said("producer_send_success")
        }

    @property
    def failures(self) -> list[str]:
        return [str(said) for said in self._said("producer_send_error")]

    async def end(self) -> None:
        self._process.terminate()
        await asyncio.to_thread(self._process.wait, LONG_S)

    def _said(self, name: str) -> list[dict[str, Any]]:
        lines = self._output.read_text().split("\n")[:-1]
        return [said for said in map(json.loads, lines) if said["name"] == name]


class Loads:
    """Both at the same time."""

    def __init__(self, nodes: Nodes, topic: str, partitions: int, directory: Path) -> None:
        self._given = (nodes, topic, partitions, directory)
        self._loads: Sequence[OurLoad | KafkaLoad] = ()

    async def __aenter__(self) -> Self:
        nodes, topic, partitions, directory = self._given
        self._loads = (OurLoad(nodes, topic, partitions), KafkaLoad(nodes, topic, directory))
        await self.go_on()
        return self

    async def __aexit__(self, *_: object) -> None:
        for load in self._loads:
            await load.end()

    async def go_on(self) -> None:
        """Returns when both have had more records acknowledged."""
        before = [len(load.acknowledged()) for load in self._loads]
        for load, count in zip(self._loads, before, strict=True):
            deadline = time.monotonic() + LONG_S
            while (more := len(load.acknowledged()) - count) < _AT_LEAST:
                assert time.monotonic() < deadline, f"{load.name}: {more} more, {load.failures[:3]}"
                await asyncio.sleep(0.1)

    def check(self, found: Places) -> None:
        """All that was acknowledged is where that was said, nothing is there twice, no client was told of a failure."""
        for load in self._loads:
            assert load.failures == []
            lost = {
                at: value for at, value in load.acknowledged().items() if found.get(at) != value
            }
            assert not lost, f"{load.name}: {len(lost)} are lost, as {list(lost.items())[:5]}"
        twice = [value for value, count in Counter(found.values()).items() if count > 1]
        assert not twice, f"{len(twice)} are there twice, as {twice[:5]}"

    def values(self) -> set[str]:
        """All that was acknowledged up to now."""
        return {value for load in self._loads for value in load.acknowledged().values()}


async def everything(nodes: Nodes, topic: str, partitions: int) -> Places:
    """All records of a topic, as a reader finds them at its leaders."""
    found: dict[tuple[int, int], str] = {}
    assigned = [TopicPartition(topic, number) for number in range(partitions)]
    async with (
        asyncio.timeout(LONG_S),
        Consumer(
            bootstrap_servers=nodes.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer,
    ):
        ends = await ends_of_logs(nodes.bootstrap_servers, assigned)
        consumer.assign(assigned)
        while any([await consumer.position(each) < ends[each] for each in assigned]):
            for record in await consumer.poll(timeout_ms=500):
                found[record.partition, record.offset] = (record.value or b"").decode()
    return found
