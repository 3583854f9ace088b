"""What is known of tasks that write to repartition topics: where one has come from elsewhere (ADR 0021)."""

from __future__ import annotations

import pytest

from millstream.model import TopicPartition
from millstream.streams.config import ProcessingGuarantee
from tests.integration.streams.runtime.world import World

VALUES = ["a", "b", "a"]


def repartition(world: World) -> TopicPartition:
    return TopicPartition(f"{world.application}-by-value-repartition", 0)


@pytest.mark.parametrize(
    ("guarantee", "end"),
    [
        (ProcessingGuarantee.EXACTLY_ONCE_V2, 4),  # with the marker
        (ProcessingGuarantee.AT_LEAST_ONCE, 3),
    ],
)
async def test_a_task_that_was_elsewhere_before_tells_how_far_its_records_reach(
    world: World, guarantee: ProcessingGuarantee, end: int
) -> None:
    """Who reads them may not have come so far, and must not take it for one that has written nothing."""
    world.guarantee(guarantee)
    await world.put(VALUES)
    await world.run(0)
    task = await world.start(0)
    try:
        assert task.progress.written_to == {repartition(world): end}
        await task.commit(renew=True)
        assert task.progress.written_to[repartition(world)] == end
    finally:
        await task.close()
