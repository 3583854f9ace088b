"""The clients as they speak to older Kafka: every API at the highest version that the release has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    ConsumerGroupMetadata,
    NewTopic,
    OffsetAndMetadata,
    Producer,
    RangeReader,
    TopicPartition,
)
from millstream.clients.admin import ConfigResource, ConfigResourceType
from millstream.errors import KafkaError, UnsupportedVersion
from millstream.net.client.core.api_versions import ApiVersionTable
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsResponse
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, eventually

NewName = Callable[[], str]

KAFKA_2_1: Mapping[ApiKey, int] = {
    ApiKey.PRODUCE: 7,
    ApiKey.FETCH: 10,
    ApiKey.LIST_OFFSETS: 4,
    ApiKey.METADATA: 7,
    ApiKey.OFFSET_COMMIT: 6,
    ApiKey.OFFSET_FETCH: 5,
    ApiKey.FIND_COORDINATOR: 2,
    ApiKey.JOIN_GROUP: 3,
    ApiKey.HEARTBEAT: 2,
    ApiKey.LEAVE_GROUP: 2,
    ApiKey.SYNC_GROUP: 2,
    ApiKey.DESCRIBE_GROUPS: 2,
    ApiKey.LIST_GROUPS: 2,
    ApiKey.SASL_HANDSHAKE: 1,
    ApiKey.API_VERSIONS: 2,
    ApiKey.CREATE_TOPICS: 3,
    ApiKey.DELETE_TOPICS: 3,
    ApiKey.DELETE_RECORDS: 1,
    ApiKey.INIT_PRODUCER_ID: 1,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 2,
    ApiKey.ADD_PARTITIONS_TO_TXN: 1,
    ApiKey.ADD_OFFSETS_TO_TXN: 1,
    ApiKey.END_TXN: 1,
    ApiKey.TXN_OFFSET_COMMIT: 2,
    ApiKey.DESCRIBE_ACLS: 1,
    ApiKey.CREATE_ACLS: 1,
    ApiKey.DELETE_ACLS: 1,
    ApiKey.DESCRIBE_CONFIGS: 2,
    ApiKey.ALTER_CONFIGS: 1,
    ApiKey.DESCRIBE_LOG_DIRS: 1,
    ApiKey.SASL_AUTHENTICATE: 0,
    ApiKey.CREATE_PARTITIONS: 1,
    ApiKey.DELETE_GROUPS: 1,
}
"""Highest versions; what is not here does not exist in that release."""

KAFKA_2_5: Mapping[ApiKey, int] = {
    **KAFKA_2_1,
    ApiKey.PRODUCE: 8,
    ApiKey.FETCH: 11,
    ApiKey.LIST_OFFSETS: 5,
    ApiKey.METADATA: 9,
    ApiKey.OFFSET_COMMIT: 8,
    ApiKey.OFFSET_FETCH: 7,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.JOIN_GROUP: 7,
    ApiKey.HEARTBEAT: 4,
    ApiKey.LEAVE_GROUP: 4,
    ApiKey.SYNC_GROUP: 5,
    ApiKey.DESCRIBE_GROUPS: 5,
    ApiKey.LIST_GROUPS: 3,
    ApiKey.API_VERSIONS: 3,
    ApiKey.CREATE_TOPICS: 5,
    ApiKey.DELETE_TOPICS: 4,
    ApiKey.INIT_PRODUCER_ID: 3,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 3,
    ApiKey.TXN_OFFSET_COMMIT: 3,
    ApiKey.SASL_AUTHENTICATE: 2,
    ApiKey.CREATE_PARTITIONS: 2,
    ApiKey.DELETE_GROUPS: 2,
    ApiKey.ELECT_LEADERS: 2,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: 0,
    ApiKey.OFFSET_DELETE: 0,
}

KAFKA_3_0: Mapping[ApiKey, int] = {
    **KAFKA_2_5,
    ApiKey.PRODUCE: 9,
    ApiKey.FETCH: 12,
    ApiKey.LIST_OFFSETS: 7,
    ApiKey.METADATA: 11,
    ApiKey.OFFSET_FETCH: 8,
    ApiKey.FIND_COORDINATOR: 4,
    ApiKey.LIST_GROUPS: 4,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.DELETE_TOPICS: 6,
    ApiKey.DELETE_RECORDS: 2,
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 4,
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.ADD_OFFSETS_TO_TXN: 3,
    ApiKey.END_TXN: 3,
    ApiKey.DESCRIBE_CONFIGS: 4,
    ApiKey.ALTER_CONFIGS: 2,
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.DESCRIBE_CLUSTER: 0,
    ApiKey.DESCRIBE_PRODUCERS: 0,
}

RELEASES = {"2.1": KAFKA_2_1, "2.5": KAFKA_2_5, "3.0": KAFKA_3_0}


def play(monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    def as_then(response: ApiVersionsResponse) -> ApiVersionTable:
        return ApiVersionTable({key: (0, highest) for key, highest in RELEASES[release].items()})

    monkeypatch.setattr(ApiVersionTable, "from_response", as_then)


@pytest.fixture(params=RELEASES)
def any_release(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, request.param)


@pytest.fixture
def release_2_1(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, "2.1")


@pytest.mark.usefixtures("any_release")
async def test_produce_consume_and_groups_work(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    async with Producer(bootstrap_servers=bootstrap, compression_type="zstd") as producer:
        for number in range(50):
            await producer.send(topic, b"%d" % number, timestamp_ms=1000 + number)
    settings = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{topic}",
        "auto_offset_reset": "earliest",
    }
    async with Consumer(**settings) as consumer:
        consumer.subscribe([topic])
        values: list[bytes | None] = []
        async with asyncio.timeout(LONG_ENOUGH_S):
            while len(values) < 50:
                values += [
                    record.value for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
                ]
        assert values == [b"%d" % number for number in range(50)]
        await consumer.commit()
        committed = await consumer.committed([partition])
        found = await consumer.offsets_for_times({partition: 1010})
        assert (committed[partition].offset, found[partition].offset) == (50, 10)
    async with RangeReader(bootstrap_servers=bootstrap) as reader:
        counts = [batch.num_rows async for batch in reader.read(topic, 0, 5, 15)]
        assert sum(counts) == 10


@pytest.mark.usefixtures("any_release")
@pytest.mark.parametrize("acks", [0, 1, "all"])
async def test_every_kind_of_acknowledgement_works(
    bootstrap: str, new_topic: NewName, acks: int | str
) -> None:
    topic = new_topic()
    idempotent = acks == "all"
    async with Producer(
        bootstrap_servers=bootstrap, acks=acks, enable_idempotence=idempotent
    ) as producer:
        offsets = [(await (await producer.send(topic, b"x"))).offset for _ in range(3)]
        await producer.flush()
    assert offsets == ([-1, -1, -1] if acks == 0 else [0, 1, 2])


@pytest.mark.usefixtures("any_release")
async def test_transactions_with_offsets_of_a_group_work(
    bootstrap: str, new_topic: NewName
) -> None:
    """Before version 3 of TxnOffsetCommit the broker does not check who commits, and wants no member (KIP-447)."""
    source, sink = new_topic(), new_topic()
    partition = TopicPartition(source, 0)
    settings = {"bootstrap_servers": bootstrap, "auto_offset_reset": "earliest"}
    async with (
        Producer(bootstrap_servers=bootstrap, transactional_id=f"tx-{sink}") as producer,
        Consumer(group_id=f"g-{sink}", enable_auto_commit=False, **settings) as group,
    ):
        await producer.init_transactions()
        group.subscribe([source])
        async with producer.transaction():
            await producer.send(source, b"in", partition=0)
        async with asyncio.timeout(LONG_ENOUGH_S):
            while not (records := await group.poll(timeout_ms=LONG_ENOUGH_MS)):
                pass
        async with producer.transaction():
            await producer.send(sink, records[0].value, partition=0)
            offsets = {partition: OffsetAndMetadata(1)}
            await producer.send_offsets_to_transaction(offsets, ConsumerGroupMetadata(f"g-{sink}"))
        await producer.begin_transaction()
        await producer.send(sink, b"aborted", partition=0)
        await producer.abort_transaction()
        async with asyncio.timeout(LONG_ENOUGH_S):  # told when the markers are written
            while (committed := (await group.committed([partition]))[partition]) is None:
                pass
    async with Consumer(isolation_level="read_committed", **settings) as reader:
        reader.assign([(sink, 0)])
        async with asyncio.timeout(LONG_ENOUGH_S):
            while not (records := await reader.poll(timeout_ms=LONG_ENOUGH_MS)):
                pass
    assert [record.value for record in records] == [b"in"]
    assert committed.offset == 1


@pytest.mark.usefixtures("release_2_1")
async def test_what_that_release_cannot_be_told_is_said_to_be_too_new(
    bootstrap: str, new_topic: NewName
) -> None:
    async with Producer(bootstrap_servers=bootstrap) as producer:
        await producer.send(topic := new_topic(), b"x")
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=topic, group_instance_id="i"
    ) as consumer:
        consumer.subscribe([topic])
        with pytest.raises(UnsupportedVersion, match=r"too old.*JOIN_GROUP.*group_instance_id"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


@pytest.mark.usefixtures("release_2_1")
async def test_admin_works_as_far_as_that_release_goes(bootstrap: str, new_topic: NewName) -> None:
    topic, group = new_topic(), new_topic()
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, 1, 1)])).raise_errors()
        (await admin.create_partitions({topic: 3})).raise_errors()

        async def has_three_partitions() -> bool:
            return len((await admin.describe_topics([topic])).result(topic).partitions) == 3

        await eventually(has_three_partitions)
        assert group not in [listing.group_id for listing in await admin.list_groups()]
        assert isinstance((await admin.delete_groups([group]))[group], KafkaError)
        altered = await admin.incremental_alter_configs({resource: []})
        with pytest.raises(
            UnsupportedVersion, match=r"INCREMENTAL_ALTER_CONFIGS exists since Kafka 2\.3"
        ):
            altered.result(resource)
        (await admin.delete_topics([topic])).raise_errors()
