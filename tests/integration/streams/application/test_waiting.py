"""Tasks that wait: for the wall clock, which comes without records and beside them, and for another topic, while they read no more than they may keep."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from millstream.clients import Consumer, Producer
from millstream.model import TopicPartition
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.application.clients import DefaultClientSupplier
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.processor import ProcessorContext, PunctuationType, Record
from millstream.streams.runtime.steps import ObservedStep, Step
from millstream.streams.serdes import long, string
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import eventually, until

BOUND = 100
MANY = 1_500
SIZE = 100
"""Bytes of a value."""
TICK = "tick"


class Ticks:
    """Forwards a record every 20 ms by the wall clock, and what comes."""

    def init(self, context: ProcessorContext) -> None:
        self.context, self.calls = context, 0
        context.schedule(timedelta(milliseconds=20), PunctuationType.WALL_CLOCK_TIME, self.tick)

    def tick(self, time_ms: int) -> None:
        self.calls += 1
        self.context.forward(Record(TICK, self.calls, time_ms))

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(Record(record.key, len(record.value), record.timestamp))


async def test_the_wall_clock_goes_on_without_records_and_beside_them(instances: Instances) -> None:
    builder = StreamsBuilder()
    stream = builder.stream(instances.source, key=string(), value=string())
    stream.process(Ticks).to(instances.sink, key=string(), value=long())

    async def ticks() -> list[int]:
        return [number for key, number in await instances.updates() if key == TICK]

    async with instances.new(builder.build()):

        async def every_task_has_ticked() -> bool:
            return (await ticks()).count(3) == PARTITIONS

        await eventually(every_task_has_ticked)
        before = len(await ticks())
        await instances.put(["a", "bb", "ccc"])

        async def all_is_there() -> bool:
            others = [number for key, number in await instances.updates() if key != TICK]
            return sorted(others) == [1, 2, 3] and len(await ticks()) > before

        await eventually(all_is_there)
    numbers = await ticks()
    assert all(numbers.count(number) <= PARTITIONS for number in numbers), "a tick came twice"


async def test_commits_come_while_a_slow_function_works(instances: Instances) -> None:
    """All that waits is queued at once; taken in one round it would be committed in one."""
    commits = 0

    def observe(step: ObservedStep, _task: str) -> None:
        nonlocal commits
        commits += step is Step.COMMITTED

    def slow(value: str) -> int:
        time.sleep(0.02)
        return len(value)

    builder = StreamsBuilder()
    stream = builder.stream(instances.source, key=string(), value=string())
    stream.map_values(slow).to(instances.sink, key=string(), value=long())
    async with Producer(bootstrap_servers=instances.servers) as producer:
        for _ in range(300):
            await producer.send(instances.source, b"x", key=b"k", partition=0, timestamp_ms=0)
    config = StreamsConfig(
        instances.application,
        processing_guarantee="exactly_once_v2",
        state_dir=str(instances.directory),
    )
    clients = {"bootstrap_servers": instances.servers}
    async with KafkaStreams(builder.build(), config, clients, observe=observe):
        await instances.until_written(300)
        assert commits >= 10


class _Watched(DefaultClientSupplier):
    """Notes what its consumer pauses, and how far it reads."""

    def __init__(self, settings: dict[str, object]) -> None:
        super().__init__(settings)
        self.paused: set[TopicPartition] = set()
        self.read: dict[TopicPartition, int] = {}

    def consumer(self, client_id: str, *, read_committed: bool) -> Consumer[bytes, bytes]:
        made = super().consumer(client_id, read_committed=read_committed)
        pause, resume, poll = made.pause, made.resume, made.poll_arrow

        def noted_pause(partitions: list[TopicPartition]) -> None:
            self.paused.update(partitions)
            pause(partitions)

        def noted_resume(partitions: list[TopicPartition]) -> None:
            self.paused.difference_update(partitions)
            resume(partitions)

        async def noted_poll(**settings: Any) -> Any:  # Any: as poll_arrow
            batches = await poll(**settings)
            for each in batches:
                self.read[TopicPartition(each.topic, each.partition)] = each.next_offset
            return batches

        for name, noted in (
            ("pause", noted_pause),
            ("resume", noted_resume),
            ("poll_arrow", noted_poll),
        ):
            setattr(made, name, noted)
        return made


@pytest.mark.parametrize(
    "bounds",
    [{"buffered_records_per_partition": BOUND}, {"buffered_bytes_per_partition": BOUND * SIZE}],
    ids=["records", "bytes"],
)
async def test_a_topic_that_waits_for_another_is_read_no_further_than_its_bound(
    instances: Instances, bounds: dict[str, Any]
) -> None:
    left, right = (f"{instances.application}-{name}" for name in ("left", "right"))
    await instances.create(left, right, partitions=1)
    builder = StreamsBuilder()
    streams = [builder.stream(each, key=string(), value=string()) for each in (left, right)]
    streams[0].merge(streams[1]).map_values(len).to(instances.sink, key=string(), value=long())
    async with Producer(bootstrap_servers=instances.servers, linger_ms=0) as producer:

        async def put(topic: str, timestamp_ms: int) -> None:
            # Each is a batch, so that a fetch of few bytes ends soon.
            await producer.send(topic, b"x" * SIZE, key=b"k", timestamp_ms=timestamp_ms)

        for number in range(MANY):
            await put(left, number)
        clients = _Watched(
            {"bootstrap_servers": instances.servers, "max_partition_fetch_bytes": 4_096}
        )
        config = StreamsConfig(
            instances.application,
            processing_guarantee="exactly_once_v2",
            state_dir=str(instances.directory),
            max_task_idle_ms=600_000,
            **bounds,
        )
        async with KafkaStreams(builder.build(), config, clients):
            waiting = TopicPartition(left, 0)
            await until(lambda: clients.paused == {waiting})
            assert BOUND // 4 < clients.read[waiting] < MANY // 2
            assert await instances.updates() == [], "the other topic may have earlier records"
            await put(right, MANY)
            await instances.until_written(MANY)
            await until(lambda: not clients.paused)
