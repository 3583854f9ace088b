"""Admin: topics, their configurations, and the offsets of their partitions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from millstream.clients import Admin, NewTopic, Producer, TopicPartition
from millstream.clients.admin import (
    HIGH_WATERMARK,
    AlterConfig,
    AlterOperation,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigType,
    NewPartitions,
    OffsetSpec,
    Operation,
)
from millstream.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    OffsetOutOfRange,
    TopicAlreadyExists,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.model import Uuid, uuid_text
from tests.patience import eventually

NewName = Callable[[], str]


@pytest.fixture
async def admin(bootstrap: str) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=bootstrap) as client:
        yield client


async def are_there(admin: Admin, *names: str) -> bool:
    return not (await admin.describe_topics(names)).errors()


async def has_configs(admin: Admin, resource: ConfigResource) -> bool:
    return not (await admin.describe_configs([resource])).errors()


def topic_resource(name: str) -> ConfigResource:
    return ConfigResource(ConfigResourceType.TOPIC, name)


async def test_topics_are_created_with_configs_and_assignments(
    admin: Admin, new_topic: NewName
) -> None:
    plain, assigned = new_topic(), new_topic()
    (node,) = (await admin.describe_cluster()).nodes
    created = await admin.create_topics(
        [
            NewTopic(plain, 2, 1, configs={"retention.ms": "1234"}),
            NewTopic(assigned, assignments=[[node.node_id], [node.node_id], [node.node_id]]),
        ]
    )
    topic = created.result(plain)
    assert (topic.num_partitions, topic.replication_factor) == (2, 1)
    assert (topic.configs["retention.ms"].value, created.result(assigned).num_partitions) == (
        "1234",
        3,
    )
    await eventually(lambda: are_there(admin, plain))
    described = (await admin.describe_topics([plain])).result(plain)
    assert (described.name, described.topic_id) == (plain, topic.topic_id)
    assert [(each.partition, each.leader, each.isr) for each in described.partitions] == [
        (0, node.node_id, (node.node_id,)),
        (1, node.node_id, (node.node_id,)),
    ]


async def test_each_topic_that_cannot_be_created_has_its_own_error(
    admin: Admin, new_topic: NewName
) -> None:
    there, fine, wide, odd = new_topic(), new_topic(), new_topic(), new_topic()
    (await admin.create_topics([NewTopic(there)])).raise_errors()
    created = await admin.create_topics(
        [
            NewTopic(there),
            NewTopic("no/slash"),
            NewTopic(wide, 1, 30),
            NewTopic(odd, configs={"retention.ms": "soon"}),
            NewTopic(fine, 1, 1),
        ]
    )
    assert [type(created[name]) for name in (there, "no/slash", wide, odd)] == [
        TopicAlreadyExists,
        InvalidTopic,
        InvalidReplicationFactor,
        InvalidConfig,
    ]
    assert created.result(fine).name == fine


async def test_validate_only_creates_nothing(admin: Admin, new_topic: NewName) -> None:
    name = new_topic()
    validated = await admin.create_topics([NewTopic(name, 3, 1)], validate_only=True)
    assert validated.result(name).num_partitions == 3
    assert name not in await admin.list_topics()
    assert isinstance((await admin.describe_topics([name]))[name], UnknownTopicOrPartition)


async def test_ids_of_topics_are_printed_as_kafka_does(admin: Admin, new_topic: NewName) -> None:
    name = new_topic()
    created = (await admin.create_topics([NewTopic(name)])).result(name)

    async def is_listed() -> bool:
        return name in await admin.list_topics()

    await eventually(is_listed)
    listed = (await admin.list_topics())[name]
    described = (await admin.describe_topics([name])).result(name)
    assert created.topic_id == listed.topic_id == described.topic_id
    for topic_id in (created.topic_id, listed.topic_id, described.topic_id):
        assert str(topic_id) == uuid_text(topic_id)
        assert len(str(topic_id)) == 22


async def test_topics_are_deleted_by_name_and_by_id(admin: Admin, new_topic: NewName) -> None:
    one, two = new_topic(), new_topic()
    topic_id = (await admin.create_topics([NewTopic(one), NewTopic(two)])).result(two).topic_id
    nobody = Uuid(bytes(15) + b"\x09")
    by_name = await admin.delete_topics([one, "nowhere"])
    assert by_name[one] is None
    assert isinstance(by_name["nowhere"], UnknownTopicOrPartition)
    by_id = await admin.delete_topics([topic_id, nobody])
    assert by_id[topic_id] is None
    assert isinstance(by_id[nobody], UnknownTopicId)

    async def gone() -> bool:
        return not {one, two} & set(await admin.list_topics())

    await eventually(gone)


async def test_topics_are_described_by_id(admin: Admin, new_topic: NewName) -> None:
    name, nobody = new_topic(), Uuid(bytes(15) + b"\x09")
    topic_id = (await admin.create_topics([NewTopic(name, 2)])).result(name).topic_id
    await eventually(lambda: are_there(admin, name))
    described = await admin.describe_topics([topic_id, nobody])
    assert described.result(topic_id).name == name
    assert len(described.result(topic_id).partitions) == 2
    assert isinstance(described[nobody], UnknownTopicId)


async def test_a_description_is_put_together_from_pages(admin: Admin, new_topic: NewName) -> None:
    names = [new_topic() for _ in range(3)]
    (await admin.create_topics([NewTopic(name, 5) for name in names])).raise_errors()
    await eventually(lambda: are_there(admin, *names))
    described = await admin.describe_topics([*names, "nowhere"], partitions_per_page=2)
    for name in names:
        assert [each.partition for each in described.result(name).partitions] == [0, 1, 2, 3, 4]
    assert isinstance(described["nowhere"], UnknownTopicOrPartition)
    operations = described.result(names[0]).authorized_operations
    assert operations is not None
    assert {Operation.READ, Operation.WRITE, Operation.DELETE} <= operations


async def test_internal_topics_are_listed_when_asked_for(admin: Admin, new_topic: NewName) -> None:
    group = new_topic()
    await admin.describe_groups([group])  # makes __consumer_offsets
    assert "__consumer_offsets" not in await admin.list_topics()
    listed = await admin.list_topics(include_internal=True)
    assert listed["__consumer_offsets"].is_internal
    assert list(listed) == sorted(listed)


async def test_partitions_are_added(admin: Admin, new_topic: NewName) -> None:
    name, other = new_topic(), new_topic()
    (await admin.create_topics([NewTopic(name, 1), NewTopic(other, 2)])).raise_errors()
    (node,) = (await admin.describe_cluster()).nodes
    grown = await admin.create_partitions(
        {name: NewPartitions(3, [[node.node_id], [node.node_id]]), other: 1, "nowhere": 4}
    )
    assert grown[name] is None
    assert isinstance(grown[other], InvalidPartitions)
    assert isinstance(grown["nowhere"], UnknownTopicOrPartition)

    async def partition_count() -> int:
        described = await admin.describe_topics([name])
        if isinstance(described[name], UnknownTopicOrPartition):
            return 0  # the node has not learned of the topic yet
        return len(described.result(name).partitions)

    async def has_three() -> bool:
        return await partition_count() == 3

    await eventually(has_three)
    misplaced = await admin.create_partitions({name: NewPartitions(4, [[12345]])})
    assert isinstance(misplaced[name], InvalidReplicaAssignment)
    (await admin.create_partitions({name: 9}, validate_only=True)).raise_errors()
    assert await partition_count() == 3


async def test_configs_are_set_appended_subtracted_and_deleted(
    admin: Admin, new_topic: NewName
) -> None:
    name = new_topic()
    resource = topic_resource(name)
    (await admin.create_topics([NewTopic(name)])).raise_errors()

    await eventually(lambda: has_configs(admin, resource))

    async def values(wanted: dict[str, str]) -> bool:
        described = await admin.describe_configs([resource], names=wanted)
        entries = described.result(resource)
        return {key: entry.value for key, entry in entries.items()} == wanted

    async def alter(*changes: AlterConfig, then: dict[str, str]) -> None:
        (await admin.incremental_alter_configs({resource: changes})).raise_errors()
        await eventually(lambda: values(then))

    append, subtract = AlterOperation.APPEND, AlterOperation.SUBTRACT
    await alter(
        AlterConfig("delete.retention.ms", "77"),
        AlterConfig("cleanup.policy", "compact", append),
        then={"cleanup.policy": "delete,compact", "delete.retention.ms": "77"},
    )
    await alter(
        AlterConfig("delete.retention.ms", None, AlterOperation.DELETE),
        AlterConfig("cleanup.policy", "delete", subtract),
        then={"cleanup.policy": "compact", "delete.retention.ms": "86400000"},
    )
    kept = await admin.describe_configs([resource], names=["delete.retention.ms"])
    assert list(kept.result(resource)) == ["delete.retention.ms"]


async def test_configs_tell_where_they_come_from_and_what_they_mean(
    admin: Admin, new_topic: NewName
) -> None:
    name = new_topic()
    resource = topic_resource(name)
    (
        await admin.create_topics([NewTopic(name, configs={"delete.retention.ms": "5"})])
    ).raise_errors()
    await eventually(lambda: has_configs(admin, resource))
    described = await admin.describe_configs(
        [resource], include_synonyms=True, include_documentation=True
    )
    entry = described.result(resource)["delete.retention.ms"]
    assert (entry.value, entry.source, entry.is_default) == ("5", ConfigSource.TOPIC_CONFIG, False)
    assert entry.type is ConfigType.LONG
    assert [(each.name, each.source) for each in entry.synonyms] == [
        ("delete.retention.ms", ConfigSource.TOPIC_CONFIG),
        ("log.cleaner.delete.retention.ms", ConfigSource.DEFAULT_CONFIG),
    ]
    assert entry.documentation
    plain = (await admin.describe_configs([resource])).result(resource)["delete.retention.ms"]
    assert (plain.synonyms, plain.documentation) == ((), None)


async def test_every_type_of_resource_has_configs(admin: Admin, new_topic: NewName) -> None:
    name = new_topic()
    (node,) = (await admin.describe_cluster()).nodes
    broker = ConfigResource(ConfigResourceType.BROKER, str(node.node_id))
    all_brokers = ConfigResource(ConfigResourceType.BROKER, "")
    loggers = ConfigResource(ConfigResourceType.BROKER_LOGGER, str(node.node_id))
    group = ConfigResource(ConfigResourceType.GROUP, name)
    metrics = ConfigResource(ConfigResourceType.CLIENT_METRICS, name)
    changes = {
        all_brokers: [AlterConfig("max.connections", "77777")],
        broker: [AlterConfig("log.cleaner.threads", "2")],
        group: [AlterConfig("consumer.session.timeout.ms", "50000")],
        metrics: [AlterConfig("interval.ms", "1000")],
    }
    (await admin.incremental_alter_configs(changes)).raise_errors()

    async def are_set() -> bool:
        described = await admin.describe_configs([*changes, loggers])
        assert described.result(loggers)
        return all(
            changed.name in (entries := described.result(resource))  # a node learns of it later
            and entries[changed.name].value == changed.value
            for resource, (changed,) in changes.items()
        )

    await eventually(are_set)
    entry = (await admin.describe_configs([broker])).result(broker)["log.cleaner.threads"]
    assert entry.source is ConfigSource.DYNAMIC_BROKER_CONFIG
    assert {group, metrics} <= set(await admin.list_config_resources())
    assert await admin.list_config_resources([ConfigResourceType.CLIENT_METRICS]) == [
        ConfigResource(ConfigResourceType.CLIENT_METRICS, each)
        for each in await admin.list_client_metrics_resources()
    ]
    reset = {
        resource: [AlterConfig(each.name, None, AlterOperation.DELETE) for each in altered]
        for resource, altered in changes.items()
    }
    (await admin.incremental_alter_configs(reset)).raise_errors()

    async def are_forgotten() -> bool:
        return metrics.name not in await admin.list_client_metrics_resources()

    await eventually(are_forgotten)


async def test_each_resource_has_its_own_error(admin: Admin, new_topic: NewName) -> None:
    name = new_topic()
    (await admin.create_topics([NewTopic(name)])).raise_errors()
    there, missing = topic_resource(name), topic_resource("nowhere")
    await eventually(lambda: has_configs(admin, there))
    described = await admin.describe_configs([there, missing])
    assert described.result(there)
    assert isinstance(described[missing], UnknownTopicOrPartition)
    bad = {there: [AlterConfig("retention.ms", "x")], missing: [AlterConfig("retention.ms", "1")]}
    altered = await admin.incremental_alter_configs(bad)
    assert isinstance(altered[there], InvalidConfig)
    assert isinstance(altered[missing], UnknownTopicOrPartition)
    twice = [AlterConfig("retention.ms", "1"), AlterConfig("retention.ms", "2")]
    assert isinstance(
        (await admin.incremental_alter_configs({there: twice}))[there], InvalidRequest
    )


async def test_offsets_are_found_by_time_and_by_place(
    admin: Admin, bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    (await admin.create_topics([NewTopic(topic, 2)])).raise_errors()
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for timestamp_ms in (100, 300, 200):
            await producer.send(topic, b"x", partition=0, timestamp_ms=timestamp_ms)

    async def found(timestamp: int) -> list[tuple[int, int]]:
        results = await admin.list_offsets({first: timestamp, second: timestamp})
        return [results.result(each)[:2] for each in (first, second)]

    assert await found(OffsetSpec.EARLIEST) == [(0, -1), (0, -1)]
    assert await found(OffsetSpec.LATEST) == [(3, -1), (0, -1)]
    assert await found(OffsetSpec.MAX_TIMESTAMP) == [(1, 300), (-1, -1)]
    assert await found(OffsetSpec.EARLIEST_LOCAL) == [(0, -1), (0, -1)]
    assert await found(OffsetSpec.LATEST_TIERED) == [(-1, -1), (-1, -1)]
    assert await found(OffsetSpec.EARLIEST_PENDING_UPLOAD) == [(-1, -1), (-1, -1)]
    assert await found(150) == [(1, 300), (-1, -1)]
    committed = await admin.list_offsets({first: OffsetSpec.LATEST}, read_committed=True)
    assert committed.result(first).offset == 3


async def test_a_partition_that_is_not_there_keeps_no_other_from_its_answer(
    admin: Admin, new_topic: NewName
) -> None:
    topic = new_topic()
    (await admin.create_topics([NewTopic(topic, 1)])).raise_errors()
    there, beyond = TopicPartition(topic, 0), TopicPartition(topic, 7)
    nowhere = TopicPartition("nowhere", 0)
    results = await admin.list_offsets(dict.fromkeys((there, beyond, nowhere), OffsetSpec.LATEST))
    assert results.result(there).offset == 0
    assert set(results.errors()) == {beyond, nowhere}
    assert isinstance(results[beyond], UnknownTopicOrPartition)
    assert isinstance(results[nowhere], UnknownTopicOrPartition)


async def test_records_are_deleted_before_an_offset(
    admin: Admin, bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    (await admin.create_topics([NewTopic(topic, 2)])).raise_errors()
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for partition in (0, 0, 0, 1, 1):
            await producer.send(topic, b"x", partition=partition)
    deleted = await admin.delete_records({first: 2, second: HIGH_WATERMARK})
    assert (deleted.result(first), deleted.result(second)) == (2, 2)
    starts = await admin.list_offsets(dict.fromkeys((first, second), OffsetSpec.EARLIEST))
    assert [starts.result(each).offset for each in (first, second)] == [2, 2]
    assert isinstance((await admin.delete_records({first: 99}))[first], OffsetOutOfRange)
