"""What goes on from one run of a task to the next: intervals of the wall clock, and requests to commit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from millstream.clients import Producer
from millstream.model import TopicPartition
from millstream.runtime.interfaces import Instant
from millstream.runtime.system import SystemClock
from millstream.streams import EmitStrategy, Materialized, StreamsBuilder, TimeWindows
from millstream.streams.processor import ProcessorContext, Record
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.serdes import string
from tests.integration.streams.runtime.world import World


class SetClock:
    """Its wall clock stands still until it is set."""

    def __init__(self) -> None:
        self._system = SystemClock()
        self.ms = self._system.wall_ms()

    def now(self) -> Instant:
        return Instant(self.ms, self._system.now().monotonic_ms)

    def wall_ms(self) -> int:
        return self.ms


async def put(world: World, *times: int) -> None:
    async with Producer(bootstrap_servers=world.servers) as producer:
        for time in times:
            await producer.send(world.source, b"%d" % time, key=b"k", timestamp_ms=time)


async def test_an_emit_interval_goes_over_runs(world: World) -> None:
    builder = StreamsBuilder()
    windows = TimeWindows.tumbling(timedelta(milliseconds=10))
    kept = Materialized("s", key=string(), value=string(), retention=timedelta(milliseconds=500))
    stream = builder.stream(world.source, key=string(), value=string()).group_by_key()
    latest = stream.windowed_by(windows).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    latest.reduce(lambda _, new: new, materialized=kept).to_stream().map(
        lambda window, value: (window.key, value)
    ).to(world.sink, key=string(), value=string())
    world.topology = builder.build()
    world.config = replace(world.config, window_emit_interval_ms=1_000)
    changelogs = world.topology.topics_of(world.topology.sub_topologies[0], world.application)
    await world.create(*changelogs.changelogs)
    clock = SetClock()
    task = await TaskStart(world.spec(0), 0, replace(world.environment(), clock=clock)).start()

    async def emitted(*times: int) -> int:
        await put(world, *times)
        return (await task.run(await world.ends([world.source]))).written

    assert await emitted(1, 11) == 0, "the first record begins an interval"
    clock.ms += 999
    assert await emitted(21) == 0
    clock.ms += 1
    assert await emitted(31) == 3
    await task.close()


class Commits:
    """Asks for a commit with every record."""

    def init(self, context: ProcessorContext) -> None:
        self.context = context

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)
        self.context.commit()


async def test_a_run_is_one_commit_whoever_asks_for_more(world: World) -> None:
    builder = StreamsBuilder()
    stream = builder.stream(world.source, key=string(), value=string())
    stream.process(Commits).to(world.sink, key=string(), value=string())
    world.topology = builder.build()
    await put(world, 1, 2, 3)
    await world.run(0)
    assert await world.ends([world.sink]) == {world.sink: 4}, "three records and one marker"
    assert await world.committed() == {TopicPartition(world.source, 0): 3}
