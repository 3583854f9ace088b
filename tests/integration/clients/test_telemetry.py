"""Clients that push metrics to a broker that asks for them (KIP-714)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from millstream.broker.telemetry.client_telemetry import ClientTelemetry, Push
from millstream.broker.telemetry.otlp import metric_points
from millstream.clients import Admin, Consumer, IllegalState, Producer, blocking
from millstream.errors import UnsupportedVersion
from millstream.model import uuid_text
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.records.compression import Codec, decompress
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient, batch_of

CLIENT_METRICS = 16
INTERVAL_MS = 200


@pytest.fixture(scope="module")
def curious() -> Iterator[Broker]:
    """In this process, so that a test sees what it is told. Wants everything, often."""
    with Broker(settings={"millstream.client.telemetry.enable": "true"}) as broker:
        subscription = {"metrics": "org.apache.kafka.", "interval.ms": str(INTERVAL_MS)}
        configs = [AlterableConfig(name, 0, value) for name, value in subscription.items()]
        request = IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(CLIENT_METRICS, "all", configs)]
        )
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic("t")
            assert client.produce("t", batch_of(b"x")).error_code == 0
            answer = client.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
            assert answer.responses[0].error_code == 0, answer
        yield broker


class Pushes(list[Push]):
    """Those that the broker has taken."""

    def __init__(self) -> None:
        self.came = asyncio.Event()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(LONG_ENOUGH_S):
            while len(self) < count:
                self.came.clear()
                await self.came.wait()


@pytest.fixture
async def pushes(monkeypatch: pytest.MonkeyPatch) -> Pushes:
    taken = Pushes()
    loop = asyncio.get_running_loop()
    push_as_ever = ClientTelemetry.push

    def push(self: ClientTelemetry, push: Push, *others: object) -> None:
        push_as_ever(self, push, *others)  # type: ignore[arg-type]  # whatever it is given
        taken.append(push)
        loop.call_soon_threadsafe(taken.came.set)

    monkeypatch.setattr(ClientTelemetry, "push", push)
    return taken


def metrics(push: Push) -> dict[str, float]:
    data = decompress(Codec(push.compression_type), push.metrics)
    return {
        point.name.removeprefix("org.apache.kafka."): point.value for point in metric_points(data)
    }


def highest(pushes: Pushes) -> dict[str, float]:
    """Of every metric; sums come as what was added since the last push."""
    measured: dict[str, float] = {}
    for push in pushes:
        for name, value in metrics(push).items():
            measured[name] = max(value, measured.get(name, value))
    return measured


async def test_a_producer_pushes_what_it_has_measured_and_says_when_it_ends(
    curious: Broker, pushes: Pushes
) -> None:
    async with Producer(
        bootstrap_servers=curious.bootstrap_servers, enable_metrics_push=True
    ) as producer:
        await producer.send("t", b"x")
        await producer.flush()
        instance_id = await producer.client_instance_id()
        await pushes.until(2)
    assert [push.terminating for push in pushes[-2:]] == [False, True]
    assert {uuid_text(push.instance_id) for push in pushes} == {instance_id}
    measured = highest(pushes)
    assert measured["producer.connection.creation.total"] >= 1
    assert measured["producer.request.latency.max"] > 0
    assert measured["producer.record.queue.time.avg"] >= 0
    assert measured["producer.node.request.latency.avg"] > 0


async def test_a_consumer_pushes_its_own(curious: Broker, pushes: Pushes) -> None:
    async with Consumer(
        bootstrap_servers=curious.bootstrap_servers,
        group_id="g",
        auto_offset_reset="earliest",
        enable_metrics_push=True,
    ) as consumer:
        consumer.assign([("t", 0)])
        assert await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        await consumer.commit()
        await pushes.until(1)
    measured = highest(pushes)
    assert measured["consumer.fetch.manager.fetch.latency.max"] > 0
    assert measured["consumer.coordinator.commit.latency.max"] > 0
    told = decompress(Codec(pushes[0].compression_type), pushes[0].metrics)
    assert b"group_id" in told


def test_the_blocking_admin_has_an_id_too(curious: Broker) -> None:
    settings = {"bootstrap_servers": curious.bootstrap_servers}
    with blocking.Admin(enable_metrics_push=True, **settings) as admin:
        admin.list_topics()
        assert len(admin.client_instance_id()) == 22
        assert admin.client_instance_id() == admin.client_instance_id()


async def test_nothing_is_pushed_unless_it_is_switched_on(curious: Broker, pushes: Pushes) -> None:
    async with Admin(bootstrap_servers=curious.bootstrap_servers) as admin:
        await admin.list_topics()
        with pytest.raises(IllegalState, match="set enable_metrics_push=True"):
            await admin.client_instance_id()
        await asyncio.sleep(INTERVAL_MS / 1000)
    assert pushes == []


async def test_a_cluster_that_takes_no_metrics_gives_no_id() -> None:
    with Broker() as broker:
        async with Admin(
            bootstrap_servers=broker.bootstrap_servers, enable_metrics_push=True
        ) as admin:
            with pytest.raises(UnsupportedVersion, match="GET_TELEMETRY_SUBSCRIPTIONS"):
                await admin.client_instance_id()
            await admin.list_topics()
