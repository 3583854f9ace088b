"""The cluster: versions, features, quorum, configurations, access control, tokens, metrics subscriptions."""

from __future__ import annotations

import json
import re

from click.testing import CliRunner

from millstream.cli.main import main


def test_the_cluster_tells_its_id_and_endpoints(tool, broker):
    assert f"Cluster ID: {broker.cluster_id}" in tool(
        "ClusterTool", "cluster-id", "--bootstrap-server", broker.bootstrap_servers, bootstrap=""
    )
    listed = tool(
        "ClusterTool",
        "list-endpoints",
        "--bootstrap-server",
        broker.bootstrap_servers,
        bootstrap="",
    )
    assert "127.0.0.1" in listed


def test_api_versions_are_those_of_kafka_and_of_our_own_verb(tool, broker):
    printed = tool("BrokerApiVersionsCommand")
    ours = CliRunner().invoke(
        main,
        ["cluster", "brokers", "api-versions", "-b", broker.bootstrap_servers, "--output", "json"],
    )
    of_kafka = re.findall(r"\((\d+)\): (\d+)(?: to (\d+))? \[usable: (\d+)\]", printed)
    assert [
        (row["api"], row["min"], row["max"], row["usable"]) for row in json.loads(ours.stdout)
    ] == [
        (int(api), int(low), int(high or low), int(usable)) for api, low, high, usable in of_kafka
    ]
    assert "Produce(0): 0 to 13 [usable: 13]" in printed
    assert "Fetch(1): 4 to 18 [usable: 18]" in printed
    assert "ConsumerGroupHeartbeat(68): 0 to 1 [usable: 1]" in printed


def test_features_and_quorum_are_described(tool):
    features = tool("FeatureCommand", "describe")
    assert "Feature: metadata.version" in features
    assert "FinalizedVersionLevel: 4.3-IV0" in features
    status = tool("MetadataQuorumCommand", "describe", "--status")
    assert "LeaderId:               1" in status
    assert "Leader" in tool("MetadataQuorumCommand", "describe", "--replication")


def test_configurations_are_altered_and_described(tool, name):
    config = "kafka.admin.ConfigCommand"
    tool("TopicCommand", "--create", "--topic", name)
    assert f"Completed updating config for topic {name}." in tool(
        config,
        "--alter",
        "--topic",
        name,
        "--add-config",
        "retention.ms=7000,cleanup.policy=[compact,delete]",
    )
    described = tool(config, "--describe", "--topic", name)
    assert "retention.ms=7000" in described
    assert "DYNAMIC_TOPIC_CONFIG:retention.ms=7000" in described
    tool(config, "--alter", "--topic", name, "--delete-config", "retention.ms")
    assert "retention.ms" not in tool(config, "--describe", "--topic", name)
    assert "log.retention" in tool(config, "--describe", "--broker", "1", "--all")
    tool(config, "--alter", "--broker-defaults", "--add-config", "log.cleaner.threads=2")
    assert "log.cleaner.threads=2" in tool(config, "--describe", "--broker-defaults")
    tool(config, "--alter", "--broker-defaults", "--delete-config", "log.cleaner.threads")
    tool(config, "--alter", "--group", name, "--add-config", "consumer.session.timeout.ms=50000")
    assert "consumer.session.timeout.ms=50000" in tool(config, "--describe", "--group", name)
    assert "Unknown topic config name" in tool(
        config, "--alter", "--topic", name, "--add-config", "no.such=1", fails=True
    )


def test_quotas_and_scram_credentials_are_stored(tool, name):
    config = "kafka.admin.ConfigCommand"
    tool(config, "--alter", "--user", name, "--add-config", "producer_byte_rate=1024")
    tool(
        config,
        "--alter",
        "--user",
        name,
        "--add-config",
        "SCRAM-SHA-256=[iterations=4096,password=secret]",
    )
    described = tool(config, "--describe", "--user", name)
    assert "producer_byte_rate=1024.0" in described
    assert "SCRAM-SHA-256=iterations=4096" in described


def test_client_metrics_are_subscribed_to(tool, name):
    command = "ClientMetricsCommand"
    assert "Altered client metrics config" in tool(
        command,
        "--alter",
        "--name",
        name,
        "--metrics",
        "org.apache.kafka.producer.",
        "--interval",
        "10000",
    )
    assert name in tool(command, "--list")
    assert "interval.ms=10000" in tool(command, "--describe", "--name", name)
    tool(command, "--delete", "--name", name)
    assert name not in tool(command, "--list")


def test_delegation_tokens_need_authentication(tool, broker, tmp_path):
    nothing = tmp_path / "client.properties"
    nothing.write_text("")
    told = tool(
        "DelegationTokenCommand", "--describe", "--command-config", str(nothing), fails=True
    )
    assert "DelegationToken" in told


def test_brokers_are_unregistered_only_if_they_exist(tool, broker):
    told = tool(
        "ClusterTool",
        "unregister",
        "--bootstrap-server",
        broker.bootstrap_servers,
        "--id",
        "77",
        bootstrap="",
        fails=True,
    )
    assert "77" in told or "not found" in told
