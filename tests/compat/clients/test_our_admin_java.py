"""Our Admin against Apache Kafka 4.3: Kafka's own tools print what it made, and tokens need SASL, which only Kafka serves.

`make oracle` with MILLSTREAM_KAFKA_CLASSPATH set.
"""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from millstream.clients import Admin, NewTopic, OffsetAndMetadata, TopicPartition
from millstream.clients.admin import (
    DEFAULT_ENTITY,
    AbortTransactionSpec,
    AclBinding,
    ClientQuotaEntity,
    KafkaPrincipal,
    Operation,
    PatternType,
    ResourceType,
)
from millstream.errors import ClusterAuthorizationFailed, DelegationTokenNotFound, KafkaError
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, WAITS_FOR_CLUSTER, eventually

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
LISTENERS = ("PLAINTEXT", "SASL_PLAINTEXT", "CONTROLLER")
LOGIN = "org.apache.kafka.common.security"

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@dataclass(frozen=True)
class Kafka:
    ports: dict[str, int]

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def tool(self, name: str, arguments: str) -> str:
        """What one of Kafka's tools prints."""
        server = ["--bootstrap-server", self.address("PLAINTEXT")]
        done = subprocess.run(
            ["java", "-cp", CLASSPATH, name, *server, *arguments.split()],
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        return done.stdout


def properties(directory: Path, ports: dict[str, int]) -> str:
    prefix = "listener.name.sasl_plaintext"
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(directory / "data"),
        "offsets.topic.replication.factor": "1",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        f"{prefix}.plain.sasl.jaas.config": f'{LOGIN}.plain.PlainLoginModule required user_alice="wonder" user_bob="builds";',
        f"{prefix}.scram-sha-256.sasl.jaas.config": f"{LOGIN}.scram.ScramLoginModule required;",
        "delegation.token.secret.key": "secret",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    directory = tmp_path_factory.mktemp("kafka")
    running = Kafka(free_ports())
    config = directory / "server.properties"
    config.write_text(properties(directory, running.ports))
    java = ["java", "-Xmx400m", "-cp", CLASSPATH]
    subprocess.run(
        [*java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAw", "-c", str(config)],
        check=True,
        capture_output=True,
        timeout=LONG_ENOUGH_S,
    )  # fmt: skip
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(config)], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        asyncio.run(until_it_answers(running))
        yield running
    finally:
        process.terminate()
        process.wait(LONG_ENOUGH_S)


def free_ports() -> dict[str, int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in LISTENERS]
    ports = {}
    for name, sock in zip(LISTENERS, sockets, strict=True):
        with closing(sock):
            ports[name] = sock.getsockname()[1]
    return ports


async def until_it_answers(kafka: Kafka) -> None:
    async with Admin(
        **WAITS_FOR_CLUSTER,
        bootstrap_servers=kafka.address("PLAINTEXT"),
        default_api_timeout_ms=LONG_ENOUGH_MS,
    ) as admin:
        (await admin.create_topics([NewTopic("flights", 3, 1)])).raise_errors()

        async def is_there() -> bool:
            return not (await admin.describe_topics(["flights"])).errors()

        await eventually(is_there)


@pytest.fixture
async def admin(kafka: Kafka) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=kafka.address("PLAINTEXT")) as client:
        yield client


def as_user(kafka: Kafka, user: str, password: str, mechanism: str = "PLAIN") -> Admin:
    return Admin(
        bootstrap_servers=kafka.address("SASL_PLAINTEXT"),
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_username=user,
        sasl_password=password,
        default_api_timeout_ms=20_000,
    )


async def test_a_topic_and_a_group_of_ours_are_printed(kafka: Kafka, admin: Admin) -> None:
    at = {TopicPartition("flights", 1): OffsetAndMetadata(7)}
    (await admin.alter_consumer_group_offsets("delays", at)).raise_errors()
    topic = kafka.tool("org.apache.kafka.tools.TopicCommand", "--describe --topic flights")
    assert "PartitionCount: 3\tReplicationFactor: 1" in topic
    group = kafka.tool(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "--describe --group delays --offsets",
    )
    (row,) = [line.split() for line in group.splitlines() if line.startswith("delays")]
    assert row[:4] == ["delays", "flights", "1", "7"]


async def test_rules_and_quotas_of_ours_are_printed(kafka: Kafka, admin: Admin) -> None:
    rule = AclBinding(
        resource_type=ResourceType.GROUP,
        resource_name="del",
        pattern_type=PatternType.PREFIXED,
        principal="User:ann",
        operation=Operation.READ,
    )
    (await admin.create_acls([rule])).raise_errors()
    quota = {
        ClientQuotaEntity(user="ann", client_id=DEFAULT_ENTITY): {"producer_byte_rate": 1000.0}
    }
    (await admin.alter_client_quotas(quota)).raise_errors()
    rules = kafka.tool("org.apache.kafka.tools.AclCommand", "--list")
    assert "resourceType=GROUP, name=del, patternType=PREFIXED" in rules
    assert "principal=User:ann, host=*, operation=READ, permissionType=ALLOW" in rules
    quotas = kafka.tool("kafka.admin.ConfigCommand", "--describe --user ann --client-defaults")
    assert "producer_byte_rate=1000.0" in quotas


async def test_the_quorum_and_the_features_are_as_printed(kafka: Kafka, admin: Admin) -> None:
    quorum = await admin.describe_metadata_quorum()
    status = kafka.tool("org.apache.kafka.tools.MetadataQuorumCommand", "describe --status")
    said = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert int(said["LeaderId"]) == quorum.leader_id
    assert int(said["LeaderEpoch"]) == quorum.leader_epoch
    assert int(said["HighWatermark"]) >= quorum.high_watermark > 0
    features = await admin.describe_features()
    printed = kafka.tool("org.apache.kafka.tools.FeatureCommand", "describe")
    epochs = {
        line.split()[1]: line.split("Epoch: ")[1]
        for line in printed.splitlines()
        if line.startswith("Feature:")
    }
    assert features.finalized.keys() <= epochs.keys()


async def test_tokens_are_created_described_renewed_and_expired(kafka: Kafka) -> None:
    """KIP-48. The token's owner logs in with it by SCRAM."""
    alice, bob = KafkaPrincipal("User", "alice"), KafkaPrincipal("User", "bob")
    async with as_user(kafka, "alice", "wonder") as owner:
        token = await owner.create_delegation_token(renewers=[bob], max_lifetime_ms=3_600_000)
        assert (token.owner, token.requester, token.renewers) == (alice, alice, (bob,))
        assert token.issue_timestamp_ms < token.expiry_timestamp_ms <= token.max_timestamp_ms

        async def is_known() -> bool:
            return await owner.describe_delegation_token([alice]) == [token]

        await eventually(is_known)
        assert await owner.describe_delegation_token([bob]) == [token]  # may renew it
        assert await owner.describe_delegation_token([KafkaPrincipal("User", "eve")]) == []
    password = base64.b64encode(token.hmac).decode()
    async with Admin(
        bootstrap_servers=kafka.address("SASL_PLAINTEXT"),
        security_protocol="SASL_PLAINTEXT",
        sasl_jaas_config=(
            f"{LOGIN}.scram.ScramLoginModule required username={token.token_id!r}"
            f' password="{password}" tokenauth=true;'
        ).replace("'", '"'),
        sasl_mechanism="SCRAM-SHA-256",
        default_api_timeout_ms=20_000,
    ) as bearer:
        assert "flights" in await bearer.list_topics()
    async with as_user(kafka, "bob", "builds") as renewer:
        renewed_ms = await renewer.renew_delegation_token(token.hmac, renew_period_ms=60_000)
        assert renewed_ms <= token.max_timestamp_ms
        with pytest.raises(DelegationTokenNotFound):
            await renewer.renew_delegation_token(b"nobody's")
    async with as_user(kafka, "alice", "wonder") as owner:
        assert await owner.expire_delegation_token(token.hmac) <= renewed_ms

        async def is_gone() -> bool:
            return await owner.describe_delegation_token() == []

        await eventually(is_gone)


async def test_who_may_not_is_told_so(kafka: Kafka) -> None:
    async with as_user(kafka, "bob", "builds") as stranger:
        assert await stranger.list_topics() == {}
        created = await stranger.create_topics([NewTopic("mine", 1, 1)])
        assert [error.name for error in created.errors().values()] == ["TOPIC_AUTHORIZATION_FAILED"]
        (group,) = (await stranger.describe_groups(["delays"])).errors().values()
        assert group.name == "GROUP_AUTHORIZATION_FAILED"
        spec = AbortTransactionSpec(TopicPartition("flights", 0), 1, 0, 0)
        with pytest.raises(KafkaError) as refused:
            await stranger.abort_transaction(spec, timeout_ms=LONG_ENOUGH_MS)
        assert refused.value.name in {
            "TOPIC_AUTHORIZATION_FAILED",
            "CLUSTER_AUTHORIZATION_FAILED",
            "UNKNOWN_TOPIC_OR_PARTITION",
        }
        with pytest.raises(ClusterAuthorizationFailed):
            await stranger.describe_acls()


async def test_controllers_are_asked_in_place_of_brokers(kafka: Kafka) -> None:
    """KIP-919."""
    async with Admin(bootstrap_controllers=kafka.address("CONTROLLER")) as admin:
        cluster = await admin.describe_cluster()
        assert [str(node.address) for node in cluster.nodes] == [kafka.address("CONTROLLER")]
        assert cluster.controller_id == (await admin.describe_metadata_quorum()).leader_id
        assert (await admin.create_topics([NewTopic("by-controller", 1, 1)])).errors() == {}
        with pytest.raises(KafkaError, match="METADATA: the broker does not serve it"):
            await admin.list_topics()
