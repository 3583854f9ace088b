"""What is known of tasks that write to repartition topics: where one has come from elsewhere, and behind open transactions (ADR 0021)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.clients import Producer
from millstream.model import TopicPartition
from millstream.streams.config import ProcessingGuarantee, TimeAcrossRepartitions
from millstream.streams.kernel.task.upstreams import DoneBehind
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.upstreams.looks import look_at_cluster
from millstream.streams.runtime.upstreams.progress import TaskFlow
from millstream.streams.topology.alignment import aligned_topics
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
        assert task.progress.writes.ends == {repartition(world): end}
        await task.commit(renew=True)
        assert task.progress.writes.ends[repartition(world)] == end
    finally:
        await task.close()


@pytest.mark.parametrize("order", TimeAcrossRepartitions)
async def test_what_is_done_behind_an_offset_does_not_come_again_whatever_the_order_is_now(
    world: World, order: TimeAcrossRepartitions
) -> None:
    """The first two of three records are done, as they are where only those of another task were held back."""
    await world.put(VALUES)
    await world.run(0)
    held = CommittedPosition(
        {repartition(world).topic: 0}, held={repartition(world).topic: DoneBehind(2, {5: 0})}
    )
    committed = await world.admin.alter_consumer_group_offsets(world.application, held.encode(0))
    committed.raise_errors()
    world.config = replace(world.config, time_across_repartitions=order)
    report = await world.run(1)
    assert (report.read, report.processed) == (3, 1)
    assert (await world.run(1)).processed == 0


async def test_what_lies_behind_an_open_transaction_of_a_repartition_topic_is_still_to_be_read(
    world: World,
) -> None:
    await world.put(VALUES)
    async with Producer(
        bootstrap_servers=world.servers, transactional_id=f"{world.application}-other"
    ) as other:
        await other.init_transactions()
        await other.begin_transaction()
        for topic in (repartition(world).topic, world.source):
            await other.send(topic, b"open", key=b"k", partition=0)
        await other.flush()
        await world.run(0)  # its records stand behind the open one
        flow = TaskFlow(
            aligned_topics(world.topology, world.application),
            {0: {0: (world.source,)}, 1: {0: (repartition(world).topic,)}},
        )
        look = await look_at_cluster(
            world.admin, world.application, flow, dict, is_read_committed=True
        )
        await other.abort_transaction()
    assert look.ends == {TopicPartition(world.source, 0): 3, repartition(world): 5}
