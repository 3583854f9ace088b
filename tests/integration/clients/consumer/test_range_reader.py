"""Ranges of a topic: what headers say of its batches, and a topic that is deleted, or deleted and made anew, while it is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from millstream.clients import Admin, Consumer, NewTopic, Producer, RangeReader, TopicDeleted
from millstream.errors import ConfigError
from millstream.protocol.api import ApiKey
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, eventually

NewName = Callable[[], str]
FETCH_BYTES = 1
"""A broker gives one batch at a time then."""
RECORDS = 20


async def fill(bootstrap: str, topic: str, value: bytes) -> None:
    async with Producer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        for _ in range(RECORDS):
            await (await producer.send(topic, value))


@pytest.mark.parametrize("is_made_anew", [False, True])
async def test_a_range_ends_with_its_topic(
    bootstrap: str, new_topic: NewName, is_made_anew: bool
) -> None:
    """Offsets of a topic mean nothing in another one of the same name."""
    topic = new_topic()
    async with (
        Admin(bootstrap_servers=bootstrap) as admin,
        RangeReader(
            bootstrap_servers=bootstrap,
            max_partition_fetch_bytes=FETCH_BYTES,
            default_api_timeout_ms=10 * LONG_ENOUGH_MS,
        ) as reader,
    ):
        (await admin.create_topics([NewTopic(topic, 1)])).raise_errors()
        await fill(bootstrap, topic, b"first")
        values: list[bytes] = []

        async def read() -> None:
            async for batch in reader.read(topic, 0, 0, RECORDS):
                if not values:
                    await replace(admin, bootstrap, topic, is_made_anew=is_made_anew)
                values.extend(batch.column("value").to_pylist())

        with pytest.raises(TopicDeleted, match="made anew" if is_made_anew else "was deleted"):
            await asyncio.wait_for(read(), LONG_ENOUGH_S)
    assert set(values) == {b"first"}
    assert len(values) < RECORDS


async def replace(admin: Admin, bootstrap: str, topic: str, *, is_made_anew: bool) -> None:
    (await admin.delete_topics([topic])).raise_errors()

    async def is_gone() -> bool:
        return topic not in await admin.list_topics()

    await eventually(is_gone)
    if is_made_anew:
        (await admin.create_topics([NewTopic(topic, 1)])).raise_errors()
        await fill(bootstrap, topic, b"second")


async def test_batches_are_known_by_their_headers(bootstrap: str, new_topic: NewName) -> None:
    """Two records a batch, compressed; the offsets of an aborted batch and of its marker carry no time."""
    topic = new_topic()
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, 1)])).raise_errors()
    async with Producer(
        bootstrap_servers=bootstrap, linger_ms=50, compression_type="gzip"
    ) as plain:
        for time in (1_000, 3_000):
            sent = [await plain.send(topic, b"x" * 100, timestamp_ms=at) for at in (time + 5, time)]
            for each in sent:
                await each
    async with Producer(
        bootstrap_servers=bootstrap, transactional_id=topic, linger_ms=0
    ) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send(topic, b"aborted", timestamp_ms=9_000))
        await producer.abort_transaction()
    seen = {}
    for level in ("read_committed", "read_uncommitted"):
        async with RangeReader(bootstrap_servers=bootstrap, isolation_level=level) as reader:

            async def marker_is_there(reader: RangeReader = reader) -> bool:
                """Kafka writes it behind its answer."""
                return (await reader.offsets(topic, -1))[0] == 6

            await eventually(marker_is_there)
            seen[level] = [batch async for batch in reader.batches(topic, 0, 1, 6)]
            inner = [batch async for batch in reader.batches(topic, 0, 2, 3)]
        assert [batch.last_offset for batch in inner] == [3]
        assert all(61 < batch.size_bytes < 300 for batch in seen[level])
    found = {
        level: [(batch.first_offset, batch.last_offset, batch.timestamp_max) for batch in batches]
        for level, batches in seen.items()
    }
    assert found == {
        "read_committed": [(0, 1, 1_005), (2, 3, 3_005), (4, 4, None), (5, 5, None)],
        "read_uncommitted": [(0, 1, 1_005), (2, 3, 3_005), (4, 4, 9_000), (5, 5, None)],
    }


async def test_whole_batches_are_read_from_their_first_record_on(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    of_batches = [("of", b"all")]
    async with (
        Admin(bootstrap_servers=bootstrap) as admin,
        Producer(bootstrap_servers=bootstrap) as producer,
        RangeReader(bootstrap_servers=bootstrap) as reader,
        Consumer(bootstrap_servers=bootstrap) as consumer,
    ):
        (await admin.create_topics([NewTopic(topic, 1)])).raise_errors()
        for _ in range(2):
            rows = pa.RecordBatch.from_pydict({"value": [b"a", b"b", b"c"]})
            await (await producer.send_batch(topic, rows, batch_headers=of_batches))
        columns = ("headers", "baseOffset")
        read = [batch async for batch in reader.read(topic, 0, 4, 6, columns=columns)]
        consumer.assign([(topic, 0)])
        consumer.seek((topic, 0), 1)
        polled = await consumer.poll_arrow(
            timeout_ms=LONG_ENOUGH_MS, headers=True, whole_batches_of={topic}
        )
        consumed = consumer.metrics().counters.records_consumed
    table = pa.Table.from_batches(read)
    assert table.column("offset").to_pylist() == [3, 4, 5]
    assert table.column("baseOffset").to_pylist() == [3, 3, 3]
    assert [len(each) for each in table.column("headers").to_pylist()] == [1, 0, 0]
    assert polled[0].records.column("offset").to_pylist()[:3] == [0, 1, 2]
    assert polled[0].records.column("baseOffset").to_pylist()[:3] == [0, 0, 0]
    assert consumed == sum(each.records.num_rows for each in polled) - 1, "not the one before"


async def test_a_column_that_there_is_not_is_named(bootstrap: str, new_topic: NewName) -> None:
    async with RangeReader(bootstrap_servers=bootstrap) as reader:
        with pytest.raises(ConfigError, match="timestampType, not header"):
            await anext(reader.read(new_topic(), 0, 0, 1, columns=("headers", "header")))


async def test_little_is_fetched_that_lies_behind_a_range(
    bootstrap: str, new_topic: NewName, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, fetched = new_topic(), 0
    async with (
        Producer(bootstrap_servers=bootstrap, batch_size=10_000) as producer,
        RangeReader(bootstrap_servers=bootstrap, max_partition_fetch_bytes=1_000_000) as reader,
    ):
        for number in range(3_000):
            await producer.send(topic, b"%01000d" % number, partition=0)
        await producer.flush()
        request = reader._cluster.request

        async def counted(*given: Any, **more: Any) -> Any:  # Any: those of the method
            nonlocal fetched
            answer = await request(*given, **more)
            if given[1] is ApiKey.FETCH:
                fetched += len(answer.responses[0].partitions[0].records)
            return answer

        monkeypatch.setattr(reader._cluster, "request", counted)
        rows = [row async for row in reader.read(topic, 0, 0, 1_200)]
    assert sum(each.num_rows for each in rows) == 1_200
    assert fetched < 1_500_000
