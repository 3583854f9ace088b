"""A task that waits for topics without records: what it has read it holds, and commits none of it."""

from __future__ import annotations

from dataclasses import replace

from millstream.clients import Producer
from millstream.model import TopicPartition
from millstream.streams import StreamsBuilder
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.serdes import string
from tests.integration.streams.runtime.world import World

IDLE_MS = 3_600_000


async def merged(world: World) -> str:
    """Makes the world's topology merge its source with another topic, and returns that."""
    other = f"{world.application}-other"
    await world.create(other)
    builder = StreamsBuilder()
    streams = [builder.stream(each, key=string(), value=string()) for each in (world.source, other)]
    streams[0].merge(streams[1]).to(world.sink, key=string(), value=string())
    world.topology = builder.build()
    world.config = replace(world.config, max_task_idle_ms=IDLE_MS)
    return other


async def put(world: World, topic: str, *times: int) -> None:
    async with Producer(bootstrap_servers=world.servers) as producer:
        for time in times:
            await producer.send(topic, b"%d" % time, timestamp_ms=time)


async def results(world: World) -> list[bytes]:
    return [row["value"] async for row in world.records(world.sink)]


async def test_records_wait_for_the_time_of_the_other_topic(world: World) -> None:
    other = await merged(world)
    lags = {world.source: 0, other: 0}
    await put(world, world.source, 1, 3, 5)
    task = await world.start(0)
    held = await task.run({world.source: 3}, lags=lags)
    assert (held.read, held.processed, held.is_committed) == (3, 0, True)  # the first offsets
    assert held.position == {world.source: 0, other: 0}
    assert held.held_to == {world.source: 3}
    assert held.idles_until_ms is not None

    await put(world, other, 2, 4)
    went_on = await task.run({world.source: 3, other: 2}, lags=lags)
    assert (went_on.read, went_on.processed) == (2, 4)
    assert went_on.held_to == {world.source: 3}
    committed = await world.committed()
    assert committed[TopicPartition(world.source, 0)] == 2
    assert committed[TopicPartition(other, 0)] == 2
    await task.close()

    again = await world.start(0)
    await run_without_waiting(again, world)
    assert await results(world) == [b"1", b"2", b"3", b"4", b"5"]


async def run_without_waiting(task: ActiveTask, world: World) -> None:
    report = await task.run(await world.ends([world.source]))
    assert (report.read, report.processed, report.held_to) == (1, 1, {})
    await task.close()
