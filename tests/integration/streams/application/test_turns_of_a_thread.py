"""What a stream thread does in its turns: in which order, for which of its tasks, when it commits, and where it begins to read."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta

import pyarrow as pa
import pytest

from millstream.clients import Producer
from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.streams import Materialized, StreamsBuilder
from millstream.streams.application.states import ApplicationState
from millstream.streams.options import OffsetReset
from millstream.streams.processor import ProcessorContext, PunctuationType, Record
from millstream.streams.runtime.errors import DataLoss
from millstream.streams.runtime.steps import Step
from millstream.streams.serdes import long, string
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import LONG_ENOUGH_S, eventually, until


async def put(instances: Instances, topic: str, *values: str, partition: int = 0) -> None:
    """Their times are their numbers."""
    async with Producer(bootstrap_servers=instances.servers) as producer:
        for number, value in enumerate(values):
            await producer.send(
                topic, value.encode(), key=b"k", partition=partition, timestamp_ms=number
            )


async def test_a_turn_takes_records_each_with_its_punctuations_and_then_commits(
    instances: Instances,
) -> None:
    topic = f"{instances.application}-one"
    await instances.create(topic, partitions=1)
    seen: list[str] = []
    threads: set[str] = set()

    def note(event: str) -> None:
        seen.append(event)
        threads.add(threading.current_thread().name)

    class Noting:
        def init(self, context: ProcessorContext[str, str]) -> None:
            self.context = context
            each_ms = timedelta(milliseconds=1)
            context.schedule(each_ms, PunctuationType.STREAM_TIME, lambda _: note("stream time"))
            context.schedule(each_ms, PunctuationType.WALL_CLOCK_TIME, lambda _: note("wall clock"))

        def process(self, record: Record[str, str]) -> None:
            note(f"record {record.value}")
            self.context.forward(record)

    def observe(step: Step, _task: str) -> None:
        if step in {Step.PRODUCED, Step.COMMITTED}:
            seen.append(step)

    await put(instances, topic, "a", "b")
    builder = StreamsBuilder()
    stream = builder.stream(topic, key=string(), value=string())
    stream.process(Noting).peek(lambda _key, _value: note("below")).to(
        instances.sink, key=string(), value=string()
    )
    async with instances.new(builder.build(), observe=observe, client_id="mine"):
        await instances.until_written(2)
        await until(lambda: seen.count("wall clock") > 2)
    turn = ["record a", "below", "stream time", "record b", "below", "stream time"]
    began = seen.index("record a")
    assert seen[began : began + len(turn)] == turn, "the wall clock is looked at between turns"
    # Where the records come late, the task has committed where it begins before them.
    after = [each for each in seen[began:] if each != "wall clock"]
    assert after == [*turn, "produced", "committed"]
    (thread,) = threads
    assert thread.startswith("mine-StreamThread-1")


async def test_tasks_take_turns(instances: Instances) -> None:
    """The one with something to do does not wait until the other one has done all of its own.

    They may begin half a second apart: a fetch of the one that is restored first waits at the broker for more
    (fetch.max.wait.ms), and the other one is in the next. So both have far more than they do in that time.
    """
    plenty, enough, taken = 20_000, 300, list[str]()

    def slow(key: str, value: str) -> str:
        time.sleep(0.001)
        taken.append(value)
        return value

    builder = StreamsBuilder()
    stream = builder.stream(instances.source, key=string(), value=string())
    stream.map_values(slow, with_key=True).to(instances.sink, key=string(), value=string())
    async with Producer(bootstrap_servers=instances.servers) as producer:
        for partition in (0, 1):
            columns = {"key": [b"k"] * plenty, "value": [str(partition).encode()] * plenty}
            rows = pa.RecordBatch.from_pydict(columns)
            await producer.send_batch(instances.source, rows, partition=partition)
    async with instances.new(builder.build()):
        await until(lambda: min(map(taken.count, "01")) >= enough)
        assert max(map(taken.count, "01")) < plenty, "one waited for all of the other"


async def test_a_commit_comes_when_a_processor_asks_for_it_or_the_interval_is_over(
    instances: Instances,
) -> None:
    class Asking:
        def init(self, context: ProcessorContext[str, str]) -> None:
            self.context = context

        def process(self, record: Record[str, str]) -> None:
            if record.value == "now":
                self.context.commit()
            self.context.forward(record)

    builder = StreamsBuilder()
    stream = builder.stream(instances.source, key=string(), value=string())
    stream.process(Asking).to(instances.sink, key=string(), value=string())

    async def committed() -> int:
        listed = await instances.admin.list_consumer_group_offsets([instances.application])
        offsets = listed.result(instances.application)
        return offsets[TopicPartition(instances.source, 0)].offset

    async def has_committed(offset: int) -> bool:
        return await committed() == offset

    hourly = {"processing_guarantee": "at_least_once", "commit_interval_ms": 3_600_000}
    async with instances.new(builder.build(), **hourly):
        await put(instances, instances.source, "a", "b")
        await instances.until_written(2)
        assert await committed() == 0
        await put(instances, instances.source, "now")
        await eventually(lambda: has_committed(3))
    async with instances.new(builder.build(), **hourly | {"commit_interval_ms": 10}):
        await put(instances, instances.source, "c")
        await eventually(lambda: has_committed(4))


async def test_the_caches_of_all_tasks_hold_together_what_the_application_gives_them(
    instances: Instances,
) -> None:
    """What one task counts fits into what is given; what all count does not, and goes on before the commit."""
    keys = 100
    builder = StreamsBuilder()
    words = builder.stream(instances.source, key=string(), value=string())
    words.group_by_key().count(materialized=Materialized("counts")).to_stream().to(
        instances.sink, value=long()
    )
    async with Producer(bootstrap_servers=instances.servers) as producer:
        for number in range(keys):
            for partition in range(PARTITIONS):
                key = f"{partition}-{number}".encode()
                await producer.send(
                    instances.source, b"", key=key, partition=partition, timestamp_ms=0
                )
    settings = {"processing_guarantee": "at_least_once", "commit_interval_ms": 3_600_000}
    app = instances.new(builder.build(), cache_max_bytes=20_000, **settings)
    async with app:

        async def some_went_on() -> bool:
            return bool(await instances.updates())

        await eventually(some_went_on)
    await instances.until_written(keys * PARTITIONS)

    def processed() -> float:
        return sum(
            float(value) for each, value in app.metrics().items() if each.name == "process-total"
        )

    await put(instances, instances.source, *["again"] * keys)
    app = instances.new(builder.build(), cache_max_bytes=20_000, **settings)
    async with app:
        await until(lambda: processed() == keys)
        assert len(await instances.updates()) == keys * PARTITIONS, "one row fits"
    await instances.until_written(keys * PARTITIONS + 1)


async def test_a_source_begins_where_it_says_and_what_is_lost_is_not_passed_over(
    instances: Instances,
) -> None:
    early, late = (f"{instances.application}-{name}" for name in ("early", "late"))
    await instances.create(early, late, partitions=1)
    builder = StreamsBuilder()
    for topic, reset in ((early, OffsetReset.EARLIEST), (late, OffsetReset.LATEST)):
        values = builder.stream(topic, key=string(), value=string(), reset=reset)
        values.map_values(len).to(instances.sink, key=string(), value=long())
    await put(instances, early, "1")
    await put(instances, late, "22")
    app = instances.new(builder.build())
    async with app:
        await until(lambda: app.state is ApplicationState.RUNNING)
        await put(instances, early, "333")
        await put(instances, late, "4444")
        await instances.until_written(3)
    assert sorted(value for _, value in await instances.updates()) == [1, 3, 4]

    await put(instances, early, "lost")
    (await instances.admin.delete_records({TopicPartition(early, 0): 3})).raise_errors()
    again = instances.new(builder.build())
    await again.start()
    async with asyncio.timeout(LONG_ENOUGH_S):
        with pytest.raises(DataLoss, match=rf"{early}-0 was read up to offset 2.* holds 3 to 3"):
            await again.wait_ended()


async def test_a_source_that_may_not_choose_where_to_begin_names_its_partition(
    instances: Instances,
) -> None:
    builder = StreamsBuilder()
    values = builder.stream(instances.source, key=string(), value=string(), reset=OffsetReset.NONE)
    values.map_values(len).to(instances.sink, key=string(), value=long())
    app = instances.new(builder.build())
    await app.start()
    wanted = rf"topic {instances.source} has reset=NONE.* {instances.application}.* partition \d"
    async with asyncio.timeout(LONG_ENOUGH_S):
        with pytest.raises(ConfigError, match=wanted):
            await app.wait_ended()
