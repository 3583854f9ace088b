"""The admin clients of confluent-kafka and kafka-python: rules, credentials, elections, reassignments, features, the quorum."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", DeprecationWarning
    )  # its loader of schemas uses what Python deprecates
    import kafka.admin as kafka_python
    from kafka import TopicPartition as KafkaPythonPartition

from millstream.testing.broker import Broker

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
pytestmark = [
    pytest.mark.compat,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One that stores rules."""
    with Broker(data=tmp_path_factory.mktemp("guarded"), settings=SETTINGS) as running:
        yield running


@pytest.fixture
def confluent(guarded: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": guarded.bootstrap_servers})


@pytest.fixture
def python(guarded: Broker) -> Iterator[kafka_python.KafkaAdminClient]:
    client = kafka_python.KafkaAdminClient(bootstrap_servers=guarded.bootstrap_servers)
    yield client
    client.close()


def reading(topic: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC, topic, ResourcePatternType.PREFIXED, "User:bob", "*",
        AclOperation.READ, AclPermissionType.ALLOW,
    )  # fmt: skip


def all_about(topic: str) -> AclBindingFilter:
    return AclBindingFilter(
        ResourceType.TOPIC, topic, ResourcePatternType.MATCH, None, None, AclOperation.ANY, AclPermissionType.ANY
    )  # fmt: skip


def test_confluent_stores_finds_and_deletes_rules(confluent: AdminClient) -> None:
    rule = reading("orders")
    for future in confluent.create_acls([rule]).values():
        assert future.result() is None
    assert confluent.describe_acls(all_about("orders-2026")).result() == [rule]
    assert confluent.describe_acls(all_about("other")).result() == []
    (deleted,) = confluent.delete_acls([all_about("orders-2026")]).values()
    assert deleted.result() == [rule]
    assert confluent.describe_acls(all_about("orders-2026")).result() == []


def test_confluent_alters_credentials(confluent: AdminClient) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)
    put = UserScramCredentialUpsertion("carla", info, b"secret", b"salt")
    for future in confluent.alter_user_scram_credentials([put]).values():
        assert future.result() is None
    (told,) = confluent.describe_user_scram_credentials(["carla"]).values()
    (stored,) = told.result().scram_credential_infos
    assert (stored.mechanism, stored.iterations) == (ScramMechanism.SCRAM_SHA_256, 8192)
    drop = UserScramCredentialDeletion("carla", ScramMechanism.SCRAM_SHA_256)
    for future in confluent.alter_user_scram_credentials([drop]).values():
        assert future.result() is None
    (gone,) = confluent.describe_user_scram_credentials(["carla"]).values()
    with pytest.raises(KafkaException) as raised:
        gone.result()
    assert raised.value.args[0].code() == KafkaError.RESOURCE_NOT_FOUND


def test_confluent_elects_nobody_on_one_node(confluent: AdminClient, topic: str) -> None:
    for future in confluent.create_topics([NewTopic(topic, 1, 1)]).values():
        future.result()
    asked = TopicPartition(topic, 0)
    (error,) = confluent.elect_leaders(ElectionType.PREFERRED, [asked]).result().values()
    assert error.code() == KafkaError.ELECTION_NOT_NEEDED


def test_kafka_python_stores_and_finds_rules(python: kafka_python.KafkaAdminClient) -> None:
    rule = kafka_python.ACL(
        principal="User:dora", host="*", operation=kafka_python.ACLOperation.WRITE,
        permission_type=kafka_python.ACLPermissionType.DENY,
        resource_pattern=kafka_python.ResourcePattern(kafka_python.ResourceType.GROUP, "billing"),
    )  # fmt: skip
    python.create_acls([rule])
    asked = kafka_python.ACLFilter(
        principal="User:dora", host=None, operation=kafka_python.ACLOperation.ANY,
        permission_type=kafka_python.ACLPermissionType.ANY,
        resource_pattern=kafka_python.ResourcePatternFilter(
            kafka_python.ResourceType.ANY, None, kafka_python.ACLResourcePatternType.ANY
        ),
    )  # fmt: skip
    found = python.describe_acls(asked)
    acls = found[0] if isinstance(found, tuple) else found
    assert [(each.principal, each.operation) for each in acls] == [
        ("User:dora", kafka_python.ACLOperation.WRITE)
    ]


def test_kafka_python_sees_the_quorum_and_the_features(
    python: kafka_python.KafkaAdminClient,
) -> None:
    assert "leader_id" in str(python.describe_metadata_quorum())
    assert "metadata.version" in str(python.describe_features())


def test_kafka_python_moves_nothing_on_one_node(
    python: kafka_python.KafkaAdminClient, confluent: AdminClient, topic: str
) -> None:
    for future in confluent.create_topics([NewTopic(topic, 1, 1)]).values():
        future.result()
    python.alter_partition_reassignments({KafkaPythonPartition(topic, 0): [1]})
    assert not python.list_partition_reassignments()


def test_what_is_stored_survives_a_restart(tmp_path: Path) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    with Broker(data=tmp_path, settings=SETTINGS) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for future in admin.create_acls([reading("kept")]).values():
            future.result()
        put = UserScramCredentialUpsertion("erna", info, b"secret", b"salt")
        for future in admin.alter_user_scram_credentials([put]).values():
            future.result()
        broker.kill()
        broker.restart()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        assert admin.describe_acls(all_about("kept")).result() == [reading("kept")]
        told = admin.describe_user_scram_credentials().result()
        assert list(told) == ["erna"]
