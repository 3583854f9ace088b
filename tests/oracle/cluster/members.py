"""Consumer groups with a member of Apache Kafka's client and one of ours, which note what they read and commit it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from millstream.clients import Consumer
from millstream.errors import MillstreamError
from tests.oracle.cluster.nodes import LONG_S, Nodes
from tests.oracle.cluster.work import TOOLS, new_name
from tests.support.kafka_node import CLASSPATH

PROTOCOLS: Final = ("classic", "consumer")


class Group:
    """Two members. What either has read and committed the other one goes on behind."""

    def __init__(self, nodes: Nodes, topic: str, protocol: str, directory: Path) -> None:
        self.name = new_name(protocol)
        self.failures: list[str] = []
        self._found: set[str] = set()
        self._topic = topic
        self._protocol = protocol
        self._servers = nodes.bootstrap_servers
        self._output = directory / self.name
        self._errors = directory / f"{self.name}.errors"

    async def __aenter__(self) -> Self:
        self._process = self._started()
        self._is_over = False
        self._task = asyncio.create_task(self._run())
        return self

    def _started(self) -> subprocess.Popen[bytes]:
        command = [
            "java", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-cp", CLASSPATH, f"{TOOLS}.VerifiableConsumer",
            "--bootstrap-server", self._servers, "--topic", self._topic, "--group-id", self.name,
            "--group-protocol", self._protocol, "--verbose",
        ]  # fmt: skip
        with self._output.open("wb") as output, self._errors.open("wb") as errors:
            return subprocess.Popen(command, stdout=output, stderr=errors)

    async def __aexit__(self, *_: object) -> None:
        self._is_over = True
        self._process.terminate()
        await self._task
        await asyncio.to_thread(self._process.wait, LONG_S)

    async def finds(self, values: Iterable[str]) -> None:
        """Returns when the group has read all of these, and its member of Kafka's client is alive."""
        wanted = set(values)
        try:
            async with asyncio.timeout(LONG_S):
                while not wanted <= self._found | self._read_by_kafka():
                    assert self._process.poll() is None, self._errors.read_text()[-3_000:]
                    await asyncio.sleep(0.5)
        except TimeoutError:
            missing = wanted - self._found - self._read_by_kafka()
            raise AssertionError(f"{self.name} has not found {len(missing)}") from None

    def both_have_read(self) -> bool:
        return bool(self._found and self._read_by_kafka())

    def _read_by_kafka(self) -> set[str]:
        said = map(json.loads, self._output.read_text().split("\n")[:-1])
        return {each["value"] for each in said if each["name"] == "record_data"}

    async def _run(self) -> None:
        while not self._is_over:
            try:
                await self._read()
            except MillstreamError as error:
                self.failures.append(repr(error))

    async def _read(self) -> None:
        async with Consumer(
            bootstrap_servers=self._servers,
            group_id=self.name,
            group_protocol=self._protocol,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            consumer.subscribe([self._topic])
            while not self._is_over:
                records = await consumer.poll(timeout_ms=500)
                self._found |= {(record.value or b"").decode() for record in records}
                if records:
                    await consumer.commit()
