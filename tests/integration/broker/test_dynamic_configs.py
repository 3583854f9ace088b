"""Dynamic configurations on a running node: what other people's admin clients set takes effect at once and outlives the node."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
)
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.protocol.generated.push_telemetry import PushTelemetryRequest
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient, batch_of, is_alive

MESSAGE_TOO_LARGE = 10
THROTTLED, UNKNOWN_SUBSCRIPTION, INVALID_RECORD = 89, 117, 87


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    data = tmp_path_factory.mktemp("dynamic")
    with Broker(data=data, settings={"millstream.client.telemetry.enable": "true"}) as running:
        yield running


@pytest.fixture
def admin(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap_servers})


def alter(admin: AdminClient, kind: ResourceType, name: str, **settings: str | None) -> None:
    """None deletes."""
    entries = [
        ConfigEntry(
            key.replace("_", "."),
            value,
            incremental_operation=AlterConfigOpType.DELETE
            if value is None
            else AlterConfigOpType.SET,
        )
        for key, value in settings.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(LONG_ENOUGH_S)


def described(admin: AdminClient, kind: ResourceType, name: str, key: str) -> tuple[str, int]:
    (future,) = admin.describe_configs([ConfigResource(kind, name)]).values()
    entry = future.result(LONG_ENOUGH_S)[key]
    return entry.value, entry.source


def alter_all_brokers(client: RawClient, key: str, value: str) -> None:
    """The empty name, which librdkafka refuses."""
    resource = AlterConfigsResource(
        resource_type=4, configs=[AlterableConfig(name=key, config_operation=0, value=value)]
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    answer = client.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
    assert answer.responses[0].error_code == 0, answer


def test_a_brokers_default_reaches_topics_at_once(broker: Broker, admin: AdminClient) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic("limited")
        large = batch_of(bytes(2_000))
        assert client.produce("limited", large).error_code == 0
        alter(admin, ResourceType.BROKER, "1", message_max_bytes="1000")
        assert client.produce("limited", large).error_code == MESSAGE_TOO_LARGE
        assert described(admin, ResourceType.TOPIC, "limited", "max.message.bytes") == ("1000", 2)
        alter(admin, ResourceType.TOPIC, "limited", max_message_bytes="100000")
        assert client.produce("limited", large).error_code == 0
        alter(admin, ResourceType.BROKER, "1", message_max_bytes=None)
        alter(admin, ResourceType.TOPIC, "limited", max_message_bytes=None)
        assert described(admin, ResourceType.TOPIC, "limited", "max.message.bytes") == (
            "1048588",
            5,
        )


def test_a_limit_of_connections_counts_at_once(broker: Broker, admin: AdminClient) -> None:
    with RawClient(broker.bootstrap_servers) as first:
        alter(admin, ResourceType.BROKER, "1", max_connections_per_ip="1")
        try:
            with RawClient(broker.bootstrap_servers) as second:
                assert second.is_closed_by_broker()
        finally:
            # through a connection that was open before: the admin's
            alter(admin, ResourceType.BROKER, "1", max_connections_per_ip=None)
        assert first.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("a", "1")).error_code == 0
    assert is_alive(broker.bootstrap_servers)


def test_what_was_set_outlives_the_node(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        with RawClient(broker.bootstrap_servers) as client:
            alter_all_brokers(client, "log.retention.ms", "777000")
        alter(admin, ResourceType.BROKER, "1", max_connections="500")
        broker.restart()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic("later")
        assert described(admin, ResourceType.TOPIC, "later", "retention.ms") == ("777000", 3)
        assert described(admin, ResourceType.BROKER, "1", "max.connections") == ("500", 2)


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def test_clients_are_asked_for_metrics_and_pushes_are_taken(broker: Broker) -> None:
    gauge = b"\x21" + struct.pack("<d", 2.5)
    metrics = field(1, field(2, field(2, field(1, b"a.b") + field(5, field(1, gauge)))))
    with RawClient(broker.bootstrap_servers) as client:
        asked = GetTelemetrySubscriptionsRequest()
        given = client.ask(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, asked)
        assert (given.error_code, given.requested_metrics) == (0, [])
        assert (given.push_interval_ms, given.telemetry_max_bytes) == (300_000, 1_048_576)
        assert (given.accepted_compression_types, given.delta_temporality) == ([4, 3, 1, 2], True)
        asked.client_instance_id = given.client_instance_id
        assert client.ask(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, asked).error_code == THROTTLED
        push = PushTelemetryRequest(
            client_instance_id=given.client_instance_id,
            subscription_id=given.subscription_id,
            metrics=metrics,
        )
        assert client.ask(ApiKey.PUSH_TELEMETRY, 0, push).error_code == 0
        push.subscription_id ^= 1
        push.terminating = True
        assert client.ask(ApiKey.PUSH_TELEMETRY, 0, push).error_code == UNKNOWN_SUBSCRIPTION


def test_librdkafka_asks_for_its_subscription_and_works_on(broker: Broker) -> None:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "enable.metrics.push": True}
    )
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic("pushed")
    errors: list[object] = []
    producer.produce("pushed", b"x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(LONG_ENOUGH_S) == 0
    assert errors == [None]


def test_api_versions_hides_telemetry_unless_it_is_switched_on(broker: Broker) -> None:
    def keys(bootstrap: str) -> set[int]:
        with RawClient(bootstrap) as client:
            answer = client.ask(ApiKey.API_VERSIONS, 4, ApiVersionsRequest("a", "1"))
            return {each.api_key for each in answer.api_keys}

    with Broker() as silent:
        assert keys(broker.bootstrap_servers) - keys(silent.bootstrap_servers) == {71, 72}
