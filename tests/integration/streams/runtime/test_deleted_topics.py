"""A source topic of a pattern that is deleted under a task: the run gives up at once, and the next one does without it.

One that is made anew under its name is another topic.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from millstream.clients import Admin, OffsetAndMetadata, TopicDeleted, blocking
from millstream.errors import MillstreamError, UnknownTopicOrPartition
from millstream.model import TopicPartition
from millstream.streams import StreamsBuilder
from millstream.streams.config import ProcessingGuarantee
from millstream.streams.runtime.errors import DataLoss
from millstream.streams.runtime.failures import is_retriable
from millstream.streams.runtime.steps import Step
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.serdes import string
from tests.integration.streams.runtime.world import World
from tests.patience import LONG_ENOUGH_MS, eventually

KEPT, GONE = "kept", "gone"
FOR_LONG = 10 * LONG_ENOUGH_MS
"""Clients wait so long for a topic that is not there, which no test does."""


@pytest.fixture
async def two_topics(world: World) -> AsyncIterator[World]:
    """An application over a pattern that matches two topics, with a record in each."""
    builder = StreamsBuilder()
    stream = builder.stream(pattern=f"{world.application}-of-.*", key=string(), value=string())
    stream.to(world.sink)
    world.topology = builder.build()
    world.max_block_ms = FOR_LONG
    await world.create(*names(world))
    for topic in names(world):
        await world.put([topic], topic)
    async with Admin(
        bootstrap_servers=world.servers, default_api_timeout_ms=FOR_LONG
    ) as world.admin:
        yield world


def names(world: World, *kinds: str) -> list[str]:
    return [f"{world.application}-of-{kind}" for kind in kinds or (KEPT, GONE)]


async def started(world: World, *kinds: str) -> ActiveTask:
    spec = replace(world.spec(0), topics=tuple(names(world, *kinds)))
    return await TaskStart(spec, 0, world.environment()).start()


def delete(world: World) -> None:
    with blocking.Admin(bootstrap_servers=world.servers) as admin:
        admin.delete_topics(names(world, GONE)).raise_errors()


async def values(world: World) -> list[str]:
    return [row["value"].decode() async for row in world.records(world.sink)]


@pytest.mark.parametrize("guarantee", list(ProcessingGuarantee))
@pytest.mark.parametrize("step", [Step.RESTORED, Step.READ, Step.PROCESSED, Step.PRODUCED])
async def test_a_run_gives_up_when_a_topic_is_deleted_under_it(
    two_topics: World, step: Step, guarantee: ProcessingGuarantee
) -> None:
    world = two_topics
    world.guarantee(guarantee)
    ends = await world.ends(names(world))
    world.once_after = (step, lambda: delete(world))
    task = await started(world, KEPT, GONE)
    with pytest.raises((TopicDeleted, UnknownTopicOrPartition)) as gone:
        await task.run(ends)
    await task.close()
    assert is_retriable(gone.value), "the next run is told to try again"
    again = await started(world, KEPT)
    await again.run(await world.ends(names(world, KEPT)))
    await again.close()
    written = await values(world)
    if guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2:
        assert written == names(world, KEPT)
    else:
        assert set(names(world, KEPT)) <= set(written) <= set(names(world))


async def test_a_task_does_not_start_with_a_topic_that_is_gone(two_topics: World) -> None:
    delete(two_topics)
    await eventually(lambda: is_gone(two_topics))
    with pytest.raises(UnknownTopicOrPartition, match=names(two_topics, GONE)[0]) as gone:
        await started(two_topics, KEPT, GONE)
    assert is_retriable(gone.value)


async def is_gone(world: World) -> bool:
    described = await world.admin.describe_topics(names(world, GONE))
    return any(isinstance(error, MillstreamError) for error in described.errors().values())


async def test_a_source_made_anew_under_a_task_is_not_read_on_at_the_old_offset(
    world: World,
) -> None:
    """The new topic has more records than were read of the old one: the first of them would be left out in silence."""
    await world.put(["a", "b"])
    task = await world.start(0)
    await task.run(await world.ends([world.source]))
    await make_anew(world, world.source)
    await world.put(["c", "d", "e", "f"])
    with pytest.raises(TopicDeleted, match="made anew"):
        await task.run(await world.ends([world.source]))
    await task.close()
    await world.run_all()
    assert await world.results() == [(each, 1) for each in "abcdef"]


async def test_an_offset_that_was_committed_for_a_former_topic_is_refused(world: World) -> None:
    """The task ran when its source was made anew, and has committed once more: so brokers did not forget the offset."""
    await world.put(["a", "b"])
    task = await world.start(0)
    await task.run(await world.ends([world.source]))
    await make_anew(world, world.source)
    await world.put(["c", "d", "e", "f"])
    await task.run({}, renew=True)
    await task.close()
    with pytest.raises(DataLoss, match=r"read up to offset 2: it was deleted and made anew"):
        await world.run(0)
    by_hand = {TopicPartition(world.source, 0): OffsetAndMetadata(1)}
    altered = await world.admin.alter_consumer_group_offsets(world.application, by_hand)
    altered.raise_errors()
    await world.run_all()
    assert await world.results() == [(each, 1) for each in "abdef"]


async def make_anew(world: World, topic: str) -> None:
    (await world.admin.delete_topics([topic])).raise_errors()
    await world.create(topic)
