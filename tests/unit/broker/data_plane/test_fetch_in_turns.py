"""Fetches of so many partitions that others have their turn while they are read, waited for and answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from millstream.broker.handlers import fetch
from millstream.errors import FencedLeaderEpoch, UnknownTopicOrPartition
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from millstream.records.batch import iterate_batches
from tests.unit.broker.data_plane.conftest import DataPlane

PARTITIONS = 400
TURNS_MAX = 50
FIRST, MIDDLE, LAST = 0, PARTITIONS // 2, PARTITIONS - 1
NO_SESSION, FIRST_EPOCH = -1, 0


@pytest.fixture(scope="module")
def opened():
    """So many partitions for all tests: to open them takes several times as long as a test."""
    plane = DataPlane()
    for number in range(len(plane.hosted), PARTITIONS):
        plane.host("t", number)
    return plane


@pytest.fixture
def wide(plane, opened):
    """The data plane with so many partitions, all of them empty."""
    for number in range(len(plane.hosted), PARTITIONS):
        partition = opened.get("t", number)
        if partition.log.log_end_offset > 0:
            opened.disk.remove_tree(f"/d/t-{number}")
            partition = opened.host("t", number)
        plane.host_again(partition)
    return plane


def request(
    offset: int = 0, *, epoch: int = NO_SESSION, session_id: int = 0, max_wait_ms: int = 0, **fields
) -> FetchRequest:
    partitions = [
        FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
        for number in range(PARTITIONS)
    ]
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        min_bytes=1,
        max_wait_ms=max_wait_ms,
        topics=[FetchTopic(topic="t", partitions=partitions)],
        **fields,
    )


def incremental(session_id: int, epoch: int, max_wait_ms: int = 0) -> FetchRequest:
    return FetchRequest(
        session_id=session_id, session_epoch=epoch, min_bytes=1, max_wait_ms=max_wait_ms
    )


async def after_turns(
    waiting: Awaitable[FetchResponse], turns: int, do: Callable[[], None]
) -> asyncio.Future[FetchResponse]:
    """The fetch, which goes on; `do` was done when so many of its turns were over."""
    task = asyncio.ensure_future(waiting)
    for _ in range(turns):
        await asyncio.sleep(0)
    do()
    return task


async def all_turns(task: asyncio.Future[FetchResponse]) -> None:
    """What it does without waiting is done."""
    for _ in range(TURNS_MAX):
        await asyncio.sleep(0)


def told(response: FetchResponse) -> dict[int, list[int]]:
    """The offsets of batches by partition, of those that have records."""
    return {
        each.partition_index: [header.base_offset for header, _ in iterate_batches(each.records)]
        for topic in response.responses
        for each in topic.partitions
        if each.records
    }


async def test_others_have_their_turn_while_many_partitions_are_fetched(wide):
    task = asyncio.ensure_future(wide.ask(fetch, request(), 12))
    turns = 0
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns >= PARTITIONS / 100
    (topic,) = task.result().responses
    assert [each.partition_index for each in topic.partitions] == list(range(PARTITIONS))


async def test_a_few_hundred_partitions_are_answered_in_one_go(wide):
    few = request()
    del few.topics[0].partitions[300:]
    assert isinstance(wide.ask(fetch, few, 12), FetchResponse)


@pytest.mark.parametrize("number", [FIRST, MIDDLE, LAST])
@pytest.mark.parametrize("turns", range(18))
async def test_what_is_appended_at_any_time_ends_the_wait(wide, turns, number):
    waiting = wide.ask(fetch, request(max_wait_ms=500), 12)
    task = await after_turns(waiting, turns, lambda: wide.write(number, b"a"))
    await all_turns(task)
    assert task.done(), "the clock stands still: only the record can have ended the wait"
    assert told(task.result()) == {number: [0]}
    assert len(wide.purgatory) == 0
    assert wide.purgatory._watchers == {}


@pytest.mark.parametrize("number", [FIRST, MIDDLE, LAST])
@pytest.mark.parametrize("turns", range(12))
async def test_what_is_appended_while_a_session_begins_is_told_now_or_by_its_next_fetch(
    wide, turns, number
):
    first = await (
        await after_turns(
            wide.ask(fetch, request(epoch=FIRST_EPOCH), 12),
            turns,
            lambda: wide.write(number, b"a"),
        )
    )
    if not told(first):
        waiting = wide.ask(fetch, incremental(first.session_id, 1, max_wait_ms=500), 12)
        assert isinstance(waiting, FetchResponse), "it should not have to wait for more"
        assert told(waiting) == {number: [0]}


@pytest.mark.parametrize("number", [FIRST, MIDDLE, LAST])
@pytest.mark.parametrize("turns", range(0, 20, 2))
async def test_a_session_in_which_everything_is_asked_for_again_misses_nothing(wide, turns, number):
    first = await wide.ask(fetch, request(epoch=FIRST_EPOCH), 12)
    again = request(epoch=1, session_id=first.session_id, max_wait_ms=500)
    task = await after_turns(wide.ask(fetch, again, 12), turns, lambda: wide.write(number, b"a"))
    await all_turns(task)
    assert told(task.result()) == {number: [0]}


async def test_the_wait_of_many_partitions_ends_at_its_deadline(wide):
    task = await after_turns(wide.ask(fetch, request(max_wait_ms=500), 12), TURNS_MAX, lambda: None)
    assert not task.done()
    wide.clock.advance(500)
    wide.purgatory.expire()
    assert told(await task) == {}


async def test_a_deadline_that_passes_while_partitions_are_counted_ends_the_wait(wide):
    def time_passes() -> None:
        assert len(wide.purgatory) == 1
        wide.clock.advance(500)
        wide.purgatory.expire()

    task = await after_turns(wide.ask(fetch, request(max_wait_ms=500), 12), 8, time_passes)
    assert told(await task) == {}
    assert wide.purgatory._watchers == {}


@pytest.mark.parametrize("turns", [1, 4, 8, 20])
async def test_a_fetch_whose_client_goes_away_leaves_nothing_that_waits(wide, turns):
    first = await wide.ask(fetch, request(epoch=FIRST_EPOCH), 12)
    again = request(epoch=1, session_id=first.session_id, max_wait_ms=500)
    waiting = wide.ask(fetch, again, 12)
    task = await after_turns(waiting, turns, lambda: None)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(wide.purgatory) == 0
    assert wide.purgatory._watchers == {}


async def test_records_of_all_turns_together_keep_to_max_bytes(wide):
    size = len(wide.batch(b"a"))
    for number in range(PARTITIONS):
        wide.write(number, b"a")
    response = await wide.ask(fetch, request(max_bytes=150 * size), 12)
    assert told(response) == {number: [0] for number in range(150)}


async def test_a_session_gives_each_partition_its_turn_beyond_max_bytes(wide):
    size = len(wide.batch(b"a"))
    for number in range(PARTITIONS):
        wide.write(number, b"a")
    limited = request(epoch=FIRST_EPOCH, max_bytes=250 * size)
    first = await wide.ask(fetch, limited, 12)
    assert list(told(first)) == list(range(250))
    second = incremental(first.session_id, 1)
    second.topics = request(1).topics
    del second.topics[0].partitions[250:]
    assert list(told(await wide.ask(fetch, second, 12))) == list(range(250, PARTITIONS))


async def test_a_partition_that_is_deleted_between_two_turns_is_an_error_of_its_own(wide):
    def deleted() -> None:
        del wide.hosted["t", LAST]

    task = await after_turns(wide.ask(fetch, request(), 12), 2, deleted)
    told_of = (await task).responses[0].partitions
    assert [each.error_code for each in told_of] == [
        *[0] * (PARTITIONS - 1),
        UnknownTopicOrPartition.code,
    ]


async def test_a_new_leader_epoch_after_a_partition_was_read_is_told_by_the_next_fetch(wide):
    asked = request(epoch=FIRST_EPOCH)
    for each in asked.topics[0].partitions:
        each.current_leader_epoch = 3

    def elected() -> None:
        partition = wide.hosted["t", FIRST]
        partition.leader_epoch = 4
        wide.purgatory.wake(partition.topic_partition)

    first = await (await after_turns(wide.ask(fetch, asked, 12), 3, elected))
    assert {each.error_code for each in first.responses[0].partitions} == {0}
    second = wide.ask(fetch, incremental(first.session_id, 1, 500), 12)
    (refused,) = second.responses[0].partitions
    assert (refused.partition_index, refused.error_code) == (FIRST, FencedLeaderEpoch.code)


async def test_a_session_that_is_dropped_while_it_is_answered_follows_nothing(wide):
    first = await wide.ask(fetch, request(epoch=FIRST_EPOCH), 12)
    wide.purgatory.wake(wide.hosted["t", FIRST].topic_partition)
    again = request(epoch=1, session_id=first.session_id)
    final = incremental(first.session_id, -1)

    def dropped() -> None:
        wide.ask(fetch, final, 12)

    await (await after_turns(wide.ask(fetch, again, 12), 7, dropped))
    assert wide.purgatory._listeners == {}
