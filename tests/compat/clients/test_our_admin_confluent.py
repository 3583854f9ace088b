"""What our Admin makes, confluent-kafka's AdminClient describes alike, and the other way round.

With MILLSTREAM_KAFKA_BOOTSTRAP the cluster is an Apache Kafka, which needs an authorizer and User:ANONYMOUS as super user.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator

import confluent_kafka as confluent
import pytest
from confluent_kafka import admin as confluent_admin

from millstream.clients import Admin, NewTopic, OffsetAndMetadata, TopicPartition
from millstream.clients.admin import (
    AclBinding,
    AclFilter,
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    OffsetSpec,
    Operation,
    ResourceType,
    ScramMechanism,
    UpsertScramCredential,
)
from millstream.testing.broker import Broker
from tests.patience import eventually

pytestmark = pytest.mark.compat

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    with Broker(in_process=False, settings=SETTINGS) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
async def ours(bootstrap: str) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        yield admin


@pytest.fixture(scope="module")
def theirs(bootstrap: str) -> confluent_admin.AdminClient:
    return confluent_admin.AdminClient({"bootstrap.servers": bootstrap})


async def create(ours: Admin, topic: NewTopic) -> None:
    (await ours.create_topics([topic])).raise_errors()

    async def is_there() -> bool:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic.name)
        described = await ours.describe_topics([topic.name])
        return not described.errors() and not (await ours.describe_configs([resource])).errors()

    await eventually(is_there)


async def test_topics_and_configs_are_the_same(
    ours: Admin, theirs: confluent_admin.AdminClient, topic: str
) -> None:
    await create(ours, NewTopic(topic, 3, 1, configs={"retention.ms": "77"}))
    mine = (await ours.describe_topics([topic])).result(topic)
    described = theirs.describe_topics(confluent.TopicCollection([topic]))[topic].result()
    assert [(each.partition, each.leader, list(each.isr)) for each in mine.partitions] == [
        (each.id, each.leader.id, [node.id for node in each.isr]) for each in described.partitions
    ]
    assert mine.is_internal == described.is_internal
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    configs = (await ours.describe_configs([resource])).result(resource)
    (told,) = theirs.describe_configs(
        [confluent_admin.ConfigResource(confluent_admin.ResourceType.TOPIC, topic)]
    ).values()
    assert {name: (each.value, int(each.source)) for name, each in configs.items()} == {
        name: (each.value, each.source) for name, each in told.result().items()
    }


async def test_what_they_alter_we_describe(
    ours: Admin, theirs: confluent_admin.AdminClient, topic: str
) -> None:
    await create(ours, NewTopic(topic))
    entry = confluent_admin.ConfigEntry(
        "cleanup.policy",
        "compact",
        incremental_operation=confluent_admin.AlterConfigOpType.APPEND,
    )
    (altered,) = theirs.incremental_alter_configs(
        [
            confluent_admin.ConfigResource(
                confluent_admin.ResourceType.TOPIC, topic, incremental_configs=[entry]
            )
        ]
    ).values()
    altered.result()
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)

    async def has(value: str) -> bool:
        configs = (await ours.describe_configs([resource])).result(resource)
        return configs["cleanup.policy"].value == value

    await eventually(lambda: has("delete,compact"))
    changes = {resource: [AlterConfig("cleanup.policy", "compact")]}
    (await ours.incremental_alter_configs(changes)).raise_errors()
    await eventually(lambda: has("compact"))
    described = theirs.describe_configs(
        [confluent_admin.ConfigResource(confluent_admin.ResourceType.TOPIC, topic)]
    )
    assert [each.result()["cleanup.policy"].value for each in described.values()] == ["compact"]


async def test_groups_and_offsets_are_the_same(
    ours: Admin, theirs: confluent_admin.AdminClient, topic: str
) -> None:
    group = f"g-{topic}"
    await create(ours, NewTopic(topic, 2))
    partition = TopicPartition(topic, 1)
    commit = {partition: OffsetAndMetadata(5, "note")}
    (await ours.alter_consumer_group_offsets(group, commit)).raise_errors()
    request = confluent.ConsumerGroupTopicPartitions(group)
    told = theirs.list_consumer_group_offsets([request])[group].result().topic_partitions
    assert [(each.topic, each.partition, each.offset) for each in told] == [(topic, 1, 5)]
    moved = confluent.ConsumerGroupTopicPartitions(group, [confluent.TopicPartition(topic, 0, 3)])
    theirs.alter_consumer_group_offsets([moved])[group].result()
    listed = (await ours.list_consumer_group_offsets([group])).result(group)
    assert {key: listed.result(key).offset for key in listed} == {
        partition: 5,
        TopicPartition(topic, 0): 3,
    }
    mine = {each.group_id: each.state for each in await ours.list_consumer_groups()}
    others = {each.group_id: each for each in theirs.list_consumer_groups().result().valid}
    assert mine.keys() == others.keys()
    assert mine[group].upper() == others[group].state.name


async def test_offsets_of_partitions_are_the_same(
    ours: Admin, theirs: confluent_admin.AdminClient, bootstrap: str, topic: str
) -> None:
    await create(ours, NewTopic(topic))
    producer = confluent.Producer({"bootstrap.servers": bootstrap})
    for timestamp in (100, 300, 200):
        producer.produce(topic, b"x", timestamp=timestamp)
    producer.flush()
    partition = TopicPartition(topic, 0)
    specs = {
        OffsetSpec.EARLIEST: confluent_admin.OffsetSpec.earliest(),
        OffsetSpec.LATEST: confluent_admin.OffsetSpec.latest(),
        OffsetSpec.MAX_TIMESTAMP: confluent_admin.OffsetSpec.max_timestamp(),
        150: confluent_admin.OffsetSpec.for_timestamp(150),
    }
    for mine, other in specs.items():
        found = (await ours.list_offsets({partition: mine})).result(partition)
        asked = {confluent.TopicPartition(topic, 0): other}
        ((_, told),) = theirs.list_offsets(asked).items()
        assert (found.offset, found.timestamp_ms) == (told.result().offset, told.result().timestamp)


async def test_rules_and_credentials_are_the_same(
    ours: Admin, theirs: confluent_admin.AdminClient, topic: str
) -> None:
    rule = AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name=topic,
        principal="User:ann",
        operation=Operation.READ,
    )
    (await ours.create_acls([rule])).raise_errors()
    wanted = confluent_admin.AclBindingFilter(
        confluent_admin.ResourceType.TOPIC,
        topic,
        confluent_admin.ResourcePatternType.LITERAL,
        None,
        None,
        confluent_admin.AclOperation.ANY,
        confluent_admin.AclPermissionType.ANY,
    )

    async def they_know_it() -> bool:
        told = theirs.describe_acls(wanted).result()
        return [(each.name, each.principal, each.operation.name) for each in told] == [
            (topic, "User:ann", "READ")
        ]

    await eventually(they_know_it)
    credential = UpsertScramCredential(topic, ScramMechanism.SCRAM_SHA_512, "secret", 5000)
    (await ours.alter_user_scram_credentials([credential])).raise_errors()

    async def they_know_her() -> bool:
        try:
            told = theirs.describe_user_scram_credentials([topic])[topic].result()
        except confluent.KafkaException:
            return False
        return [(each.mechanism.name, each.iterations) for each in told.scram_credential_infos] == [
            ("SCRAM_SHA_512", 5000)
        ]

    await eventually(they_know_her)
    assert await ours.describe_acls(AclFilter(resource_name=topic)) == [rule]
