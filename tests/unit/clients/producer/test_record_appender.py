"""How a record waits for its topic and for memory: one budget, first come first served, and an end when it is over."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest

from millstream.clients.cluster.core.cluster_metadata import (
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.cluster.core.metadata_state import MetadataPolicy, MetadataState
from millstream.clients.config import ProducerConfig
from millstream.clients.producer.buffer_memory import BufferMemory
from millstream.clients.producer.core.accumulator import AccumulatorLimits, RecordAccumulator
from millstream.clients.producer.core.batch_encoding import encode_batch, records_of
from millstream.clients.producer.core.default_partitioner import DefaultPartitioner
from millstream.clients.producer.core.outgoing import plain_record
from millstream.clients.producer.core.producer_batch import BatchOutcome
from millstream.clients.producer.delivery import Settlements
from millstream.clients.producer.record_appender import RecordAppender, Sending
from millstream.errors import InvalidPartitions, RequestTimedOut
from millstream.net.client.core.outages import Backoff
from millstream.net.client.tasks import TaskScope
from millstream.records.builder import BatchOptions
from millstream.runtime.system import SystemClock, SystemRandom

TOPIC = TopicMetadata("t", partitions={0: PartitionMetadata(0, 1)})
RECORD = plain_record(b"x" * 100, None, None, None, 7, None)


class World:
    """A topic that becomes known after `metadata_ms`, memory for one record, and a clock moved by hand."""

    def __init__(self, *, metadata_ms: int = 0) -> None:
        self.time_ms = 0
        self.metadata_ms = metadata_ms
        self.deadlines: list[int] = []
        self.metadata = MetadataState(
            MetadataPolicy(1_000, Backoff(1, 1), rebootstrap=False, rebootstrap_trigger_ms=1_000),
            SystemRandom(),
        )
        self.metadata.cluster = ClusterMetadata(topics={} if metadata_ms else {"t": TOPIC})
        self.accumulator = RecordAccumulator(AccumulatorLimits(1_000, 182, 10**6))
        self.memory = BufferMemory(self.accumulator, self.now_ms)
        sending = SimpleNamespace(
            cluster=self,
            accumulator=self.accumulator,
            memory=self.memory,
            scope=TaskScope("producer"),
            lock=threading.Lock(),
            settlements=Settlements(),
            wake=lambda: None,
        )
        self.appender = RecordAppender(
            ProducerConfig(max_block_ms=1_000),
            cast("Sending", sending),
            DefaultPartitioner(SystemRandom(), 100),
            None,
            SystemClock(),
        )

    @property
    def snapshot(self) -> ClusterMetadata:
        return self.metadata.cluster

    def now_ms(self) -> int:
        return self.time_ms

    async def topic(self, name: str, deadline_ms: int) -> TopicMetadata:
        self.deadlines.append(deadline_ms)
        self.time_ms += self.metadata_ms
        self.metadata.cluster = ClusterMetadata(topics={name: TOPIC})
        return TOPIC

    def settle_oldest(self) -> None:
        batch = self.accumulator.queue("t", 0).waiting.popleft()
        batch.outcome = BatchOutcome(0)
        self.accumulator.settle(batch)
        self.memory.let_in()


def is_appended_at_once(world: World) -> bool:
    return world.appender.place("t", *RECORD) is not None


async def test_what_waiting_for_the_topic_took_is_not_left_for_memory() -> None:
    world = World(metadata_ms=1_000)
    await world.appender.place_in_time("t", RECORD)
    world.metadata.cluster = ClusterMetadata()
    with pytest.raises(RequestTimedOut, match="no room for a record of 121 bytes"):
        async with asyncio.timeout(
            0.5
        ):  # nothing is left: with a time of its own it would wait a second
            await world.appender.place_in_time("t", RECORD)
    assert world.deadlines == [1_000, 2_000]


async def test_memory_is_given_to_who_came_first() -> None:
    world = World()
    await world.appender.place_in_time("t", RECORD)
    order: list[str] = []

    async def send(name: str) -> None:
        await world.appender.place_in_time("t", RECORD)
        order.append(name)

    async with asyncio.TaskGroup() as group:
        for name in ("first", "second"):
            group.create_task(send(name))
            await asyncio.sleep(0)
        assert not is_appended_at_once(world), "no one gets past those who wait"
        for _ in range(2):
            world.settle_oldest()
            for _ in range(5):
                await asyncio.sleep(0)
    assert order == ["first", "second"]


async def test_who_gives_up_waiting_lets_the_next_one_in() -> None:
    world = World()
    await world.appender.place_in_time("t", RECORD)
    waiting = [asyncio.create_task(world.appender.place_in_time("t", RECORD)) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    world.settle_oldest()
    assert not (await waiting[1]).is_done
    assert world.accumulator.queue("t", 0).waiting[0].record_count == 1
    assert waiting[0].cancelled()
    assert not world.memory.is_awaited


async def test_memory_that_does_not_come_is_told_with_what_holds_it() -> None:
    world = World()
    world.time_ms = 5_000
    await world.appender.place_in_time("t", RECORD)
    expected = r"no room for a record of 121 bytes within max_block_ms: 182 bytes of buffer_memory"
    with pytest.raises(RequestTimedOut, match=expected):
        await world.memory.wait(121, deadline_ms=5_000)


async def test_a_producer_that_ended_admits_nobody() -> None:
    world = World()
    world.memory.close()
    assert not world.memory.admits(10)
    assert not is_appended_at_once(world)


async def test_a_topic_that_goes_while_a_batch_waits_for_room_is_waited_for_again() -> None:
    world = World()
    await world.appender.place_in_time("t", RECORD)
    rows = pa.RecordBatch.from_pydict({"value": pa.array([b"v"], pa.binary())})
    first = asyncio.create_task(world.appender.place_in_time("t", RECORD))
    await asyncio.sleep(0)
    sending = asyncio.create_task(world.appender.append_rows("t", rows, None))
    await asyncio.sleep(0)
    world.metadata.cluster = ClusterMetadata()
    first.cancel()
    await asyncio.wait([first])
    world.settle_oldest()
    assert not (await sending).is_done
    assert world.deadlines == [1_000]


class Number:
    """An integer that is no int, as NumPy's are."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


WRONG: list[tuple[dict[str, object], type[Exception], str]] = [
    ({"value": "text"}, TypeError, "value must be bytes"),
    ({"key": 5}, TypeError, "key must be bytes"),
    ({"headers": [(5, b"")]}, TypeError, "a header's name must be str"),
    ({"headers": [("h", "text")]}, TypeError, "a header's value must be bytes"),
    ({"headers": [("\ud800", b"")]}, UnicodeEncodeError, "surrogates not allowed"),
    ({"partition": 1}, InvalidPartitions, "t has partitions 0 to 0, not 1"),
    ({"partition": 0.0}, TypeError, "float"),
    ({"timestamp_ms": -1}, ValueError, "must not be negative"),
    ({"timestamp_ms": 2**63}, ValueError, "not above 9223372036854775807"),
    ({"timestamp_ms": 1.5}, TypeError, "float"),
]


@pytest.mark.parametrize(("field", "error", "sentence"), WRONG)
def test_what_is_wrong_with_a_record_is_raised_where_it_is_sent_and_begins_no_batch(
    field: dict[str, object], error: type[Exception], sentence: str
) -> None:
    world = World()
    names = ("value", "key", "headers", "partition", "timestamp_ms", "callback")
    record = {"value": b"v", **field}
    with pytest.raises(error, match=sentence):
        world.appender.append("t", *(record.get(name) for name in names))
    assert not world.accumulator.busy_queues


def test_bytes_names_and_numbers_may_be_of_other_types_than_those_of_python() -> None:
    world = World()
    headers = (("h", cast("bytes", memoryview(b"1"))),)
    world.appender.place(
        "t", bytearray(b"v"), memoryview(b"k"), headers, Number(0), Number(2**63 - 1), None
    )
    batch = world.accumulator.queue("t", 0).waiting[0]
    encode_batch(batch, BatchOptions())
    (record,) = records_of(batch)
    assert (record.key, record.value, record.headers) == (b"k", b"v", [("h", b"1")])
    assert record.timestamp == 2**63 - 1
