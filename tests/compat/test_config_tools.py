"""Kafka's own tools for configurations run unmodified against us: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from millstream.testing.broker import Broker
from tests.support.clients.raw_client import RawClient

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
CONFIGS, CLIENT_METRICS = "kafka.admin.ConfigCommand", "org.apache.kafka.tools.ClientMetricsCommand"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        with RawClient(running.bootstrap_servers) as client:
            client.create_topic("t")
        yield running


def tool(broker: Broker, name: str, arguments: str) -> str:
    """What it prints, which is all that it says of most failures."""
    command = ["java", "-cp", CLASSPATH, name, "--bootstrap-server", broker.bootstrap_servers]
    done = subprocess.run(
        [*command, *arguments.split()], capture_output=True, text=True, timeout=100, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("entity", "setting", "described"),
    [
        ("--topic t", "retention.ms=5", "retention.ms=5 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5}"),
        ("--topic t", "cleanup.policy=[compact,delete]", "cleanup.policy=compact,delete"),
        ("--broker 1", "log.cleaner.threads=2", "log.cleaner.threads=2 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2, DEFAULT_CONFIG:log.cleaner.threads=1}"),
        ("--broker-defaults", "max.connections=77", "max.connections=77"),
        ("--group g", "consumer.session.timeout.ms=50000", "consumer.session.timeout.ms=50000"),
        ("--client-metrics m", "interval.ms=1000", "interval.ms=1000"),
        ("--broker-logger 1", "millstream.broker.storage.background=TRACE", "millstream.broker.storage.background=TRACE"),
    ],
)  # fmt: skip
def test_config_command_sets_describes_and_deletes(
    broker: Broker, entity: str, setting: str, described: str
) -> None:
    key = setting.partition("=")[0]
    assert "Completed updating " in tool(
        broker, CONFIGS, f"--alter {entity} --add-config {setting}"
    )
    assert described in tool(broker, CONFIGS, f"--describe {entity}")
    assert "Completed updating " in tool(broker, CONFIGS, f"--alter {entity} --delete-config {key}")
    assert described not in tool(broker, CONFIGS, f"--describe {entity}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--alter --topic t --add-config retention.ms=x", "InvalidConfigurationException: Invalid value x for configuration retention.ms"),
        ("--alter --topic t --add-config nope=1", "InvalidConfigurationException: Unknown topic config name: nope"),
        ("--alter --broker 1 --add-config num.partitions=3", "InvalidRequestException: Cannot update these configs dynamically: [num.partitions]"),
        ("--alter --broker 1 --add-config num.io.threads=100", "InvalidRequestException: Dynamic thread count update validation failed"),
        ("--alter --group g --add-config nope=1", "InvalidConfigurationException: Unknown group config name: nope"),
        ("--alter --client-metrics m --add-config match=a", "InvalidConfigurationException: Illegal client matching pattern: a"),
    ],
)  # fmt: skip
def test_config_command_is_told_why_not(broker: Broker, arguments: str, said: str) -> None:
    assert said in tool(broker, CONFIGS, arguments)


def test_config_command_describes_all_of_a_broker(broker: Broker) -> None:
    printed = tool(broker, CONFIGS, "--describe --broker 1 --all")
    assert "All configs for broker 1 are:" in printed
    assert "log.retention.hours=168 sensitive=false synonyms={DEFAULT_CONFIG:log.retention.hours=168}" in printed  # fmt: skip
    assert "Error" not in printed


def test_client_metrics_command(broker: Broker) -> None:
    tool(
        broker,
        CLIENT_METRICS,
        "--alter --name s --metrics a.b,c --interval 1000 --match client_id=x",
    )
    assert tool(broker, CLIENT_METRICS, "--list").split() == ["s"]
    printed = tool(broker, CLIENT_METRICS, "--describe --name s")
    for line in ("interval.ms=1000", "match=client_id=x", "metrics=a.b,c"):
        assert line in printed
    tool(broker, CLIENT_METRICS, "--delete --name s")
    assert tool(broker, CLIENT_METRICS, "--list").split() == []


def test_every_api_that_is_announced_is_usable_by_kafkas_client(broker: Broker) -> None:
    printed = tool(broker, API_VERSIONS, "")
    assert "(id: 1 rack: null isFenced: false) -> (" in printed
    assert "Produce(0): 0 to 13 [usable: 13]" in printed
    unusable = [line for line in printed.splitlines() if "UNSUPPORTED" in line]
    assert {line.split("(")[0].strip() for line in unusable} <= {
        "LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown", "Vote", "BeginQuorumEpoch",
        "EndQuorumEpoch", "AlterPartition", "Envelope", "FetchSnapshot", "BrokerRegistration", "BrokerHeartbeat",
        "AllocateProducerIds", "ControllerRegistration", "AssignReplicasToDirs", "UpdateRaftVoter",
        "GetTelemetrySubscriptions", "PushTelemetry",
    }  # fmt: skip
