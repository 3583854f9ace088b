"""Kafka's own tools for the cluster itself, unmodified, against our broker: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.testing.broker import Broker
from tests.integration.broker.test_controller_listener import BOTH, node

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
TOOLS = "org.apache.kafka.tools"

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.slow,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "delegation.token.secret.key": "key",
    }
    with Broker(settings=settings) as broker:
        yield broker.bootstrap_servers


def tool(bootstrap: str, name: str, *arguments: str, fails: bool = False) -> str:
    """What the tool says, errors too; `fails` tells whether it should."""
    where = ("--bootstrap-server", bootstrap)
    said = (*arguments, *where) if name.endswith("ClusterTool") else (*where, *arguments)
    return run_tool(name, *said, fails=fails)


def run_tool(name: str, *arguments: str, fails: bool = False) -> str:
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-cp", CLASSPATH, name, *arguments],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_topics(bootstrap: str) -> None:
    topics = f"{TOOLS}.TopicCommand"
    said = tool(bootstrap, topics, "--create", "--topic", "made", "--partitions", "3")
    assert said.strip() == "Created topic made."
    again = tool(bootstrap, topics, "--create", "--topic", "made", fails=True)
    assert "Topic 'made' already exists." in again
    tool(bootstrap, topics, "--create", "--topic", "by-hand", "--replica-assignment", "1,1")
    tool(bootstrap, topics, "--alter", "--topic", "made", "--partitions", "5")
    fewer = tool(bootstrap, topics, "--alter", "--topic", "made", "--partitions", "4", fails=True)
    assert "would not be an increase" in fewer
    described = tool(bootstrap, topics, "--describe", "--topic", "made")
    assert "PartitionCount: 5\tReplicationFactor: 1" in described
    assert described.count("Leader: 1\tReplicas: 1\tIsr: 1") == 5
    tool(bootstrap, topics, "--delete", "--topic", "by-hand")
    listed = tool(bootstrap, topics, "--list", "--exclude-internal").split()
    assert "made" in listed
    assert "by-hand" not in listed


def test_rules_are_stored_told_and_removed(bootstrap: str) -> None:
    acls = f"{TOOLS}.AclCommand"
    rule = ("--allow-principal", "User:bob", "--operation", "read", "--topic", "made")
    tool(bootstrap, acls, "--add", *rule, "--group", "g")
    found = "(principal=User:bob, host=*, operation=READ, permissionType=ALLOW)"
    assert tool(bootstrap, acls, "--list", "--topic", "made").count(found) == 1
    tool(bootstrap, acls, "--remove", "--force", *rule)
    left = tool(bootstrap, acls, "--list")
    assert left.count(found) == 1
    assert "resourceType=GROUP, name=g" in left


def test_credentials_and_quotas(bootstrap: str) -> None:
    configs = "kafka.admin.ConfigCommand"
    scram = "SCRAM-SHA-256=[iterations=8192,password=alice-secret]"
    user = ("--entity-type", "users", "--entity-name", "alice")
    tool(bootstrap, configs, "--alter", "--add-config", scram, *user)
    limit = ("--alter", "--add-config", "producer_byte_rate=1024")
    tool(bootstrap, configs, *limit, *user, "--entity-type", "clients", "--entity-default")
    told = tool(bootstrap, configs, "--describe", "--entity-type", "users")
    assert "user-principal 'alice' are SCRAM-SHA-256=iterations=8192" in told
    assert "secret" not in told
    both = tool(
        bootstrap, configs, "--describe", "--entity-type", "users", "--entity-type", "clients"
    )
    assert "'alice', the default client-id are producer_byte_rate=1024.0" in both


def test_tokens_are_for_those_who_proved_who_they_are(bootstrap: str) -> None:
    said = tool(
        bootstrap, f"{TOOLS}.DelegationTokenCommand", "--create", "--max-life-time-period", "-1",
        "--command-config", "/dev/null", fails=True,
    )  # fmt: skip
    assert "Delegation Token requests are not allowed on PLAINTEXT" in said


def test_features_are_told_and_changed(bootstrap: str) -> None:
    features = f"{TOOLS}.FeatureCommand"
    told = tool(bootstrap, features, "describe")
    level = r"metadata\.version\s+SupportedMinVersion: 3\.3-IV3\s.*FinalizedVersionLevel: 4\.3-IV0"
    assert re.search(level, told)
    down = tool(bootstrap, features, "downgrade", "--feature", "group.version=0", "--dry-run")
    assert "group.version can be downgraded to 0." in down
    refused = tool(bootstrap, features, "upgrade", "--feature", "group.version=9", fails=True)
    assert "only supports versions 0-1" in refused


def test_the_quorum(bootstrap: str) -> None:
    status = tool(bootstrap, f"{TOOLS}.MetadataQuorumCommand", "describe", "--status")
    assert re.search(r"LeaderId:\s+1\n", status)
    assert re.search(r"MaxFollowerLag:\s+0\n", status)
    replication = tool(bootstrap, f"{TOOLS}.MetadataQuorumCommand", "describe", "--replication")
    assert "Leader" in replication


def test_reassignments_and_elections(bootstrap: str, tmp_path: Path) -> None:
    tool(bootstrap, f"{TOOLS}.TopicCommand", "--create", "--topic", "moved", "--if-not-exists")
    partitions = [{"topic": "moved", "partition": 0, "replicas": [1]}]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
    moves = f"{TOOLS}.reassign.ReassignPartitionsCommand"
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": "moved"}]}))
    proposed = tool(
        bootstrap, moves, "--generate", "--broker-list", "1", "--topics-to-move-json-file", str(topics)
    ).partition("Proposed partition reassignment configuration")[2]  # fmt: skip
    assert [each["replicas"] for each in json.loads(proposed)["partitions"]] == [[1]]
    file = ("--reassignment-json-file", str(plan))
    assert "Successfully started" in tool(bootstrap, moves, "--execute", *file)
    assert "moved-0 is completed" in tool(bootstrap, moves, "--verify", *file)
    assert "No partition reassignments found" in tool(bootstrap, moves, "--list")
    assert "None of the specified" in tool(bootstrap, moves, "--cancel", *file)
    elected = tool(
        bootstrap, f"{TOOLS}.LeaderElectionCommand", "--election-type", "preferred", "--topic", "moved",
        "--partition", "0",
    )  # fmt: skip
    assert "Valid replica already elected for partitions moved-0" in elected


def test_the_cluster(bootstrap: str) -> None:
    host, port = bootstrap.split(":")
    assert "Cluster ID: " in tool(bootstrap, f"{TOOLS}.ClusterTool", "cluster-id")
    endpoints = tool(bootstrap, f"{TOOLS}.ClusterTool", "list-endpoints")
    assert re.search(rf"1\s+{re.escape(host)}\s+{port}\s+null\s+unfenced\s+broker", endpoints)


async def test_tools_that_ask_a_controller(tmp_path: Path) -> None:
    async with node(tmp_path, BOTH) as at:
        await asyncio.to_thread(ask_a_controller, at["CONTROLLER"])


def ask_a_controller(controller: str) -> None:
    quorum = f"{TOOLS}.MetadataQuorumCommand"
    status = at_controller(controller, quorum, "describe", "--status")
    assert re.search(r"LeaderId:\s+1\n", status)
    assert f"CONTROLLER://{controller}" in status
    listed = at_controller(controller, f"{TOOLS}.ClusterTool", "list-endpoints")
    port = controller.rpartition(":")[2]
    assert re.search(rf"1 +127.0.0.1 +{port} +null +controller", listed)
    features = at_controller(controller, f"{TOOLS}.FeatureCommand", "describe")
    assert re.search(r"metadata.version\s.*FinalizedVersionLevel: 4.3-IV0", features)
    configs = "kafka.admin.ConfigCommand"
    default = ("--entity-type", "brokers", "--entity-default")
    at_controller(
        controller, configs, "--alter", *default, "--add-config", "log.retention.ms=10000000"
    )
    told = at_controller(controller, configs, "--describe", *default)
    assert "log.retention.ms=10000000" in told


def at_controller(controller: str, name: str, *arguments: str) -> str:
    where = ("--bootstrap-controller", controller)
    said = (*arguments, *where) if name.endswith("ClusterTool") else (*where, *arguments)
    return run_tool(name, *said)
