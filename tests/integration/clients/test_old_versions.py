"""The clients as they speak to Kafka 2.1: every API at the highest version that release has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from millstream.clients import Admin, Consumer, NewTopic, Producer, RangeReader, TopicPartition
from millstream.clients.admin import ConfigResource, ConfigResourceType
from millstream.clients.core.api_versions import ApiVersionTable
from millstream.errors import KafkaError, UnsupportedVersion
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsResponse

NewName = Callable[[], str]

KAFKA_2_1 = {
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
    ApiKey.API_VERSIONS: 2,
    ApiKey.CREATE_TOPICS: 3,
    ApiKey.DELETE_TOPICS: 3,
    ApiKey.INIT_PRODUCER_ID: 1,
    ApiKey.DESCRIBE_CONFIGS: 2,
    ApiKey.CREATE_PARTITIONS: 1,
    ApiKey.DELETE_GROUPS: 1,
}
"""Highest versions; what is not here does not exist in that release."""


@pytest.fixture(autouse=True)
def _old_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_kafka_2_1(response: ApiVersionsResponse) -> ApiVersionTable:
        return ApiVersionTable({key: (0, highest) for key, highest in KAFKA_2_1.items()})

    monkeypatch.setattr(ApiVersionTable, "from_response", as_kafka_2_1)


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
        async with asyncio.timeout(30):
            while len(values) < 50:
                values += [record.value for record in await consumer.poll()]
        assert values == [b"%d" % number for number in range(50)]
        await consumer.commit()
        committed = await consumer.committed([partition])
        found = await consumer.offsets_for_times({partition: 1010})
        assert (committed[partition].offset, found[partition].offset) == (50, 10)
    async with RangeReader(bootstrap_servers=bootstrap) as reader:
        counts = [batch.num_rows async for batch in reader.read(topic, 0, 5, 15)]
        assert sum(counts) == 10


async def test_admin_works_as_far_as_that_release_goes(bootstrap: str, new_topic: NewName) -> None:
    topic, group = new_topic(), new_topic()
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, 1, 1)])).raise_errors()
        (await admin.create_partitions({topic: 3})).raise_errors()
        assert len((await admin.describe_topics([topic])).result(topic).partitions) == 3
        assert group not in [listing.group_id for listing in await admin.list_groups()]
        assert isinstance((await admin.delete_groups([group]))[group], KafkaError)
        altered = await admin.incremental_alter_configs({resource: []})
        with pytest.raises(
            UnsupportedVersion, match="INCREMENTAL_ALTER_CONFIGS exists since Kafka 2.3"
        ):
            altered.result(resource)
        (await admin.delete_topics([topic])).raise_errors()
