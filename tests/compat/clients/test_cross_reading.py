"""What one client writes the others read: every codec, nulls, empty bytes, headers, timestamps, large records, transactions.

Ours against confluent-kafka, kafka-python and aiokafka, both ways, by record and by Arrow batch, over our broker.
"""

from __future__ import annotations

import asyncio

import pyarrow as pa
import pytest

from millstream.clients import Consumer, Producer, RangeReader
from millstream.testing.broker import Broker
from tests.compat.clients.others import Aiokafka, Confluent, KafkaPython, Other, Row
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S

pytestmark = [
    pytest.mark.compat,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
ROWS = [
    Row(b"key", b"value", [("h", b"1")], 1_000),
    Row(None, b"no key", [], 1_001),
    Row(b"no value", None, [], 1_002),
    Row(b"", b"", [("empty", b""), ("twice", b"a"), ("twice", b"b")], 1_003),
    Row(b"null header", b"x", [("n", None)], 999),
    Row(b"not ascii", "Grüße".encode(), [("ключ", b"\xff\x00")], 1_700_000_000_000),
    Row(b"large", bytes(range(256)) * 2_000, [], 1_005),
]
CODECS = pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
OTHERS = pytest.mark.parametrize(
    "other", [Confluent(), KafkaPython(), Aiokafka()], ids=lambda other: type(other).__name__
)


async def write(bootstrap: str, topic: str, codec: str) -> None:
    async with Producer(bootstrap_servers=bootstrap, compression_type=codec) as producer:
        for row in ROWS:
            await producer.send(
                topic,
                row.value,
                key=row.key,
                headers=row.headers,
                partition=0,
                timestamp_ms=row.timestamp_ms,
            )


async def write_arrow(bootstrap: str, topic: str, codec: str) -> None:
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([row.key for row in ROWS], pa.binary()),
            pa.array([row.value for row in ROWS], pa.binary()),
            pa.array([row.timestamp_ms for row in ROWS], pa.timestamp("ms")),
            pa.array(
                [[{"key": name, "value": value} for name, value in row.headers] for row in ROWS],
                headers,
            ),
        ],
        names=["key", "value", "timestamp", "headers"],
    )
    async with Producer(bootstrap_servers=bootstrap, compression_type=codec) as producer:
        await (await producer.send_batch(topic, batch, partition=0))


async def read(bootstrap: str, topic: str, count: int, **settings: str) -> list[Row]:
    rows: list[Row] = []
    async with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", **settings
    ) as consumer:
        consumer.assign([(topic, 0)])
        async with asyncio.timeout(LONG_ENOUGH_S):
            while len(rows) < count:
                rows += [
                    Row(r.key, r.value, list(r.headers), r.timestamp_ms)
                    for r in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
                ]
    return rows


async def read_arrow(bootstrap: str, topic: str, count: int) -> list[Row]:
    rows: list[Row] = []
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        async with asyncio.timeout(LONG_ENOUGH_S):
            while len(rows) < count:
                for batch in await consumer.poll_arrow(headers=True):
                    rows += as_rows(batch.records)
    return rows


def as_rows(batch: pa.RecordBatch) -> list[Row]:
    return [
        Row(
            row["key"],
            row["value"],
            [(header["key"], header["value"]) for header in row["headers"] or ()],
            int(row["timestamp"].timestamp() * 1000)
            if hasattr(row["timestamp"], "timestamp")
            else row["timestamp"],
        )
        for row in batch.to_pylist()
    ]


@CODECS
@OTHERS
async def test_they_read_what_we_write(
    shared_broker: Broker, topic: str, codec: str, other: Other
) -> None:
    bootstrap = shared_broker.bootstrap_servers
    await write(bootstrap, topic, codec)
    await write_arrow(bootstrap, topic, codec)
    assert await other.read(bootstrap, topic, 2 * len(ROWS)) == ROWS + ROWS


@CODECS
@OTHERS
async def test_we_read_what_they_write(
    shared_broker: Broker, topic: str, codec: str, other: Other
) -> None:
    bootstrap = shared_broker.bootstrap_servers
    rows = [row for row in ROWS if other.sends_null_headers or ("n", None) not in row.headers]
    await other.write(bootstrap, topic, rows, codec)
    assert await read(bootstrap, topic, len(rows)) == rows
    assert await read_arrow(bootstrap, topic, len(rows)) == rows
    async with RangeReader(bootstrap_servers=bootstrap) as reader:
        counts = [batch.num_rows async for batch in reader.read(topic, 0, 0, len(rows))]
    assert sum(counts) == len(rows)


@OTHERS
async def test_they_read_our_committed_transactions_and_not_the_aborted_ones(
    shared_broker: Broker, topic: str, other: Other
) -> None:
    bootstrap = shared_broker.bootstrap_servers
    async with Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        await producer.init_transactions()
        for number in range(6):
            await producer.begin_transaction()
            await producer.send(topic, b"%d" % number, partition=0, timestamp_ms=number)
            if number % 2:
                await producer.flush()
                await producer.abort_transaction()
            else:
                await producer.commit_transaction()
    expected = [Row(None, b"%d" % number, [], number) for number in (0, 2, 4)]
    assert await other.read(bootstrap, topic, 3, read_committed=True) == expected
    assert await read(bootstrap, topic, 3, isolation_level="read_committed") == expected
    uncommitted = [Row(None, b"%d" % number, [], number) for number in range(6)]
    assert await other.read(bootstrap, topic, 6) == uncommitted
