"""What goes in comes out: records and Arrow batches, every codec, positions, commits."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable

import pyarrow as pa
import pytest

from millstream.clients import (
    Admin,
    Consumer,
    NewTopic,
    OffsetAndMetadata,
    Producer,
    RangeReader,
    TopicPartition,
)
from millstream.clients.core.illegal_state import IllegalState
from millstream.errors import (
    BrokerNotAvailable,
    ConfigError,
    InvalidPartitions,
    InvalidTopic,
    MessageTooLarge,
    OffsetOutOfRange,
    RequestTimedOut,
)
from millstream.net.client.tasks import ClientClosed
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.records.batch import iterate_batches
from millstream.records.compression import Codec
from tests.integration.clients.refusals import refusal
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient

NewName = Callable[[], str]


async def read(consumer: Consumer, count: int) -> list[tuple[bytes | None, bytes | None]]:
    """Key and value of the next `count` records."""
    records = []
    async with asyncio.timeout(LONG_ENOUGH_S):
        while len(records) < count:
            records += await consumer.poll(timeout_ms=200)
    assert len(records) == count
    return [(record.key, record.value) for record in records]


async def leader_of(bootstrap: str, topic: str) -> str:
    """The address of the broker that leads the topic's first partition."""
    async with Admin(bootstrap_servers=bootstrap) as admin:
        leader = (await admin.describe_topics([topic])).result(topic).partitions[0].leader
        nodes = (await admin.describe_cluster()).nodes
    return next(str(each.address) for each in nodes if each.node_id == leader)


def codecs_of(client: RawClient, topic: str) -> set[Codec]:
    """Of the first batches of the topic's first partition, as they are stored."""
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic=topic, partitions=[asked])])
    (found,) = client.ask(ApiKey.FETCH, 11, request).responses[0].partitions
    return {header.codec for header, _ in iterate_batches(memoryview(bytes(found.records)))}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_records_come_back_as_they_were_sent(
    bootstrap: str, new_topic: NewName, codec: str
) -> None:
    topic = new_topic()
    async with Producer(bootstrap_servers=bootstrap, compression_type=codec) as producer:
        delivery = await producer.send(
            topic, b"value", key=b"key", headers=[("h", b"1"), ("h", None)], timestamp_ms=123
        )
        assert await delivery == (topic, 0, 0, 123)
        for number in range(1000):
            await producer.send(topic, b"%d" % number * 20)
        await producer.send(topic, None, key=b"tombstone")
    with RawClient(await leader_of(bootstrap, topic)) as client:
        assert codecs_of(client, topic) == {Codec[codec.upper()]}
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        records = []
        while len(records) < 1002:
            records += await consumer.poll(max_records=100, timeout_ms=LONG_ENOUGH_MS)
    first, last = records[0], records[-1]
    assert (first.key, first.value, first.timestamp_ms) == (b"key", b"value", 123)
    assert first.headers == (("h", b"1"), ("h", None))
    assert [record.value for record in records[1:-1]] == [b"%d" % n * 20 for n in range(1000)]
    assert (last.key, last.value, last.offset) == (b"tombstone", None, 1001)


async def test_arrow_batches_come_back_and_keys_choose_partitions(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    keys = [b"key-%d" % (n % 50) for n in range(5000)]
    rows = pa.RecordBatch.from_pydict(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array([str(n) for n in range(5000)]),
            "timestamp": pa.array(range(5000), pa.timestamp("ms")),
        }
    )
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, 3)])).raise_errors()
    async with Producer(bootstrap_servers=bootstrap, compression_type="lz4") as producer:
        await (await producer.send_batch(topic, rows))
        by_record_api = {
            key: (await (await producer.send(topic, b"x", key=key))).partition for key in set(keys)
        }
    read_back: dict[int, list[tuple[bytes, bytes, int]]] = {0: [], 1: [], 2: []}
    async with RangeReader(bootstrap_servers=bootstrap) as reader:
        ends = await reader.offsets(topic, -1)
        for partition, end in ends.items():
            async for batch in reader.read(topic, partition, 0, end):
                read_back[partition] += [
                    (row["key"], row["value"], row["timestamp"]) for row in batch.to_pylist()
                ]
    for partition, found in read_back.items():
        expected = [
            (key, str(n).encode(), n)
            for n, key in enumerate(keys)
            if by_record_api[key] == partition
        ]
        assert found[: len(expected)] == expected


async def test_a_range_of_a_partition_that_was_added_is_read_at_once(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    async with (
        Producer(bootstrap_servers=bootstrap, linger_ms=0) as producer,
        RangeReader(bootstrap_servers=bootstrap, default_api_timeout_ms=LONG_ENOUGH_MS) as reader,
        Admin(bootstrap_servers=bootstrap) as admin,
    ):
        (await admin.create_topics([NewTopic(topic, 1)])).raise_errors()
        assert await reader.offsets(topic, -1) == {0: 0}
        (await admin.create_partitions({topic: 2})).raise_errors()
        await producer.send(topic, b"new", partition=1)
        await producer.flush()
        found = [rows async for rows in reader.read(topic, 1, 0, 1)]
    assert [value for rows in found for value in rows.column("value").to_pylist()] == [b"new"]


async def test_a_range_is_read_exactly(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    async with Producer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        for number in range(100):
            await producer.send(topic, b"%d" % number)
            if number % 7 == 0:
                await producer.flush()
    async with RangeReader(bootstrap_servers=bootstrap) as reader:
        values = [
            value
            async for batch in reader.read(topic, 0, 13, 61)
            for value in batch.column("value").to_pylist()
        ]
        assert values == [b"%d" % number for number in range(13, 61)]
        with pytest.raises(OffsetOutOfRange, match=f"{topic}-0: offset 500 is not in the log"):
            await anext(reader.read(topic, 0, 500, 501))
        with pytest.raises(RequestTimedOut, match="no record at or after offset 100"):
            await anext(reader.read(topic, 0, 100, 101, timeout_ms=700))


async def test_poll_arrow_and_poll_share_one_position(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(10):
            await producer.send(topic, b"%d" % number)
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        assert [
            record.offset
            for record in await consumer.poll(max_records=3, timeout_ms=LONG_ENOUGH_MS)
        ] == [0, 1, 2]
        (batch,) = await consumer.poll_arrow(timeout_ms=LONG_ENOUGH_MS)
        assert batch.records.column("offset").to_pylist() == [3, 4, 5, 6, 7, 8, 9]
        assert (batch.next_offset, await consumer.position(partition), consumer.lag(partition)) == (
            10,
            10,
            0,
        )


async def test_poll_arrow_tells_of_positions_behind_what_no_reader_sees(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    async with Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send(topic, b"aborted")
        await producer.flush()
        await producer.abort_transaction()
    async with Consumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        position = 0
        while position < 2:
            batches = await consumer.poll_arrow(timeout_ms=LONG_ENOUGH_MS)
            assert [batch.records.num_rows for batch in batches] == [0] * len(batches)
            position = batches[-1].next_offset
        assert position == 2


async def test_seek_pause_offsets_and_times(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(10):
            await producer.send(topic, b"%d" % number, timestamp_ms=1000 + number)
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([partition])
        assert await consumer.position(partition) == 10  # latest
        consumer.seek(partition, 7)
        assert await read(consumer, 3) == [(None, b"7"), (None, b"8"), (None, b"9")]
        consumer.seek_to_beginning()
        consumer.pause([partition])
        assert await consumer.poll(timeout_ms=100) == []
        consumer.resume([partition])
        assert len(await read(consumer, 10)) == 10
        assert await consumer.beginning_offsets([partition]) == {partition: 0}
        assert await consumer.end_offsets([partition]) == {partition: 10}
        found = await consumer.offsets_for_times({partition: 1004})
        assert found[partition] is not None
        assert (found[partition].offset, found[partition].timestamp_ms) == (4, 1004)
        assert await consumer.offsets_for_times({partition: 9999}) == {partition: None}


async def test_an_assigned_consumer_stores_offsets_with_notes(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(5):
            await producer.send(topic, b"%d" % number)
    settings = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{topic}",
        "enable_auto_commit": False,
    }
    async with Consumer(**settings) as consumer:
        consumer.assign([partition])
        await consumer.commit({partition: OffsetAndMetadata(3, "batch 17")})
        committed = await consumer.committed([partition, TopicPartition(topic, 1)])
        assert committed == {partition: OffsetAndMetadata(3, "batch 17"), (topic, 1): None}
    async with Consumer(**settings) as consumer:
        consumer.assign([partition])
        assert await read(consumer, 2) == [(None, b"3"), (None, b"4")]


async def test_iteration_commits_what_it_has_given_out_and_nothing_more(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(10):
            await producer.send(topic, b"%d" % number)
    settings = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{topic}",
        "auto_offset_reset": "earliest",
    }
    async with Consumer(**settings) as consumer:
        consumer.assign([partition])
        async for record in consumer:
            if record.offset == 3:
                break
        await consumer.commit()
        assert (await consumer.committed([partition]))[partition].offset == 4
        consumer.seek(partition, 8)
        assert (await anext(consumer)).offset == 8


async def test_errors_name_what_to_do(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    async with Producer(bootstrap_servers=bootstrap, buffer_memory=2000) as producer:
        with pytest.raises(InvalidTopic, match="topic 'no good'"):
            await producer.send("no good", b"x")
        with pytest.raises(MessageTooLarge, match="larger than max_request_size"):
            await producer.send(topic, b"x" * 2_000_000)
        with pytest.raises(
            TypeError, match="value must be bytes or None, got str; encode it first"
        ):
            await producer.send(topic, "text")
        with pytest.raises(TypeError, match="a header's name must be str, got bytes"):
            await producer.send(topic, b"x", headers=[(b"name", b"")])
        with pytest.raises(ValueError, match="timestamp_ms must not be negative"):
            await producer.send(topic, b"x", timestamp_ms=-5)
        assert await (await producer.send(topic, bytearray(b"x"), timestamp_ms=3)) == (
            topic,
            0,
            0,
            3,
        )
        with pytest.raises(InvalidPartitions, match=f"{topic} has partitions 0 to 0, not 9"):
            await producer.send(topic, b"x", partition=9)
    with pytest.raises(ClientClosed, match="producer is closed"):
        await producer.send(topic, b"x")
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="none") as consumer:
        with pytest.raises(IllegalState, match=r"call subscribe\(\) or assign\(\) first"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        with pytest.raises(ConfigError, match="needs group_id"):
            consumer.subscribe([topic])
        consumer.assign([(topic, 0)])
        with pytest.raises(OffsetOutOfRange, match="seek to where to start"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def test_an_unreachable_cluster_is_named_with_the_reason() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        async with Producer(bootstrap_servers=address, max_block_ms=400) as producer:
            sentence = f"cannot connect to {address}: .*refused"
            refused = await refusal(lambda: producer.send("t", b"x"), sentence)
    assert isinstance(refused, BrokerNotAvailable)


async def test_closed_clients_leave_no_task_behind(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    async with Producer(bootstrap_servers=bootstrap) as producer:
        await (await producer.send(topic, b"x"))
    async with Consumer(bootstrap_servers=bootstrap, group_id=f"g-{topic}") as consumer:
        consumer.subscribe([topic])
        await consumer.poll(timeout_ms=300)
    gc.collect()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelled_calls_leave_the_clients_usable(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    async with (
        Producer(bootstrap_servers=bootstrap) as producer,
        Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([(topic, 0)])
        for _ in range(5):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):  # it is cancelled
                    await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        delivery = await producer.send(topic, b"x")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):  # it is cancelled
                await delivery
        assert (await delivery).offset == 0
        assert await read(consumer, 1) == [(None, b"x")]
