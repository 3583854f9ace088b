"""Quotas that kafka-configs sets hold at once: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.testing.broker import Broker
from tests.compat.test_config_tools import CLASSPATH, CONFIGS, tool
from tests.integration.broker.test_quotas import RAW_CLIENT_ID
from tests.support.clients.raw_client import RawClient

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        with RawClient(running.bootstrap_servers) as client:
            client.create_topic("t")
        yield running


def wait_ms(broker: Broker) -> int:
    """How long a producer of 30 KB is told to wait."""
    batch = build_batch([Record(value=bytes(30_000), timestamp=1)], BatchOptions())
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(0, batch)])
    request = ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[data])
    with RawClient(broker.bootstrap_servers) as client:
        return int(client.ask(ApiKey.PRODUCE, 9, request).throttle_time_ms)


def is_served(broker: Broker) -> bool:
    with RawClient(broker.bootstrap_servers) as client:
        asked = ApiVersionsRequest(client_software_name="x", client_software_version="1")
        try:
            client.ask(ApiKey.API_VERSIONS, 3, asked)
        except ConnectionError:
            return False
        return True


@pytest.mark.parametrize(
    "entity",
    [
        f"--entity-type clients --entity-name {RAW_CLIENT_ID}",
        "--entity-type clients --entity-default",
        "--entity-type users --entity-name ANONYMOUS",
        f"--entity-type users --entity-default --entity-type clients --entity-name {RAW_CLIENT_ID}",
    ],
)
def test_a_quota_of_bytes_holds_and_is_described_and_removed(broker: Broker, entity: str) -> None:
    told = tool(broker, CONFIGS, f"{entity} --alter --add-config producer_byte_rate=1000")
    assert "Completed updating" in told, told
    assert wait_ms(broker) > 10_000
    assert "producer_byte_rate=1000.0" in tool(broker, CONFIGS, f"{entity} --describe")
    tool(broker, CONFIGS, f"{entity} --alter --delete-config producer_byte_rate")
    assert wait_ms(broker) == 0


def test_a_rate_of_connections_of_an_address_holds(broker: Broker) -> None:
    entity = "--entity-type ips --entity-name 127.0.0.1"
    alter = f"{entity} --alter --add-config connection_creation_rate=1"
    assert "Completed updating" in tool(broker, CONFIGS, alter)
    served = sum(is_served(broker) for _ in range(12))
    # The tool may have come again meanwhile; a slow machine lets one more in each second.
    assert 8 <= served < 12
