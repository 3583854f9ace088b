"""A data directory that Apache Kafka 4.3.1 wrote is opened and served as it is, and goes on from where Kafka stopped.

How the directory was made: tests/fixtures/README.md.
"""

from __future__ import annotations

import asyncio
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.clients import Consumer, Producer
from millstream.clients.admin import Admin
from millstream.testing import Broker

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "kafka-4.3.1-data.tar.gz"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def broker(directory: Path) -> Iterator[Broker]:
    properties = dict(
        line.split("=", 1)
        for line in (directory / "data/meta.properties").read_text().splitlines()
        if "=" in line
    )
    with Broker(data=directory / "data", settings={"node.id": properties["node.id"]}) as running:
        yield running


async def everything(
    bootstrap_servers: str, topic: str
) -> list[tuple[int, str | None, str | None]]:
    async with Consumer(bootstrap_servers=bootstrap_servers) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek_to_beginning()
        records = []
        while batch := await consumer.poll(max_records=5_000, timeout_ms=2_000):
            records += batch
    return [
        (
            r.offset,
            None if r.key is None else r.key.decode(),
            None if r.value is None else r.value.decode(),
        )
        for r in records
    ]


def test_every_record_is_served(broker: Broker, directory: Path) -> None:
    expected = json.loads((directory / "expected.json").read_text())
    for topic, by_isolation_level in expected.items():
        served = asyncio.run(everything(broker.bootstrap_servers, topic))
        wanted = [
            (offset, key, value) for offset, _, key, value in by_isolation_level["read_uncommitted"]
        ]
        shortened = [(offset, key or "", (value or "")[:40]) for offset, key, value in served]
        assert shortened == wanted, topic


def test_the_topics_keep_their_settings_and_take_new_records(broker: Broker) -> None:
    async def use() -> tuple[set[str], int, list[tuple[int, str | None, str | None]]]:
        async with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            names = set(await admin.list_topics())
        async with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            sent = await (await producer.send("codecs", b"from us", key=b"new"))
        return names, sent.offset, await everything(broker.bootstrap_servers, "codecs")

    names, offset, records = asyncio.run(use())
    assert names >= {"codecs", "transactions"}
    assert offset == 1000
    assert records[-1] == (1000, "new", "from us")


def test_it_survives_a_crash_of_ours(broker: Broker) -> None:
    before = asyncio.run(everything(broker.bootstrap_servers, "codecs"))
    broker.kill()
    broker.restart()
    assert asyncio.run(everything(broker.bootstrap_servers, "codecs")) == before
    assert len(before) == 1000
