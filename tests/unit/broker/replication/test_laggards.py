"""Partitions that lack what is committed have a fetcher of their own, and come back to that of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.unit.broker.replication.test_replica_fetchers import (
    OWN,
    ROUND_TRIP_S,
    WAIT_MAX_S,
    World,
    told,
    write,
)

LARGE = b"v" * 100_000
"""Ten of them are an answer."""


def sessions_that_name(w: World, number: int) -> list[int]:
    """Returns the sessions in which a partition was asked for, one after the other; 0 for a request that begins one."""
    named = [
        fetch.session_id
        for fetch in w.leader.fetches
        if any(each.partition == number for topic in fetch.topics for each in topic.partitions)
    ]
    return [each for place, each in enumerate(named) if named[place - 1 : place] != [each]]


async def seconds_until(holds: Callable[[], bool]) -> float:
    begin_s = asyncio.get_running_loop().time()
    while not holds():  # noqa: ASYNC110  # time is virtual, and passes at once
        await asyncio.sleep(0.1)
    return asyncio.get_running_loop().time() - begin_s


@told
async def test_one_that_lacks_what_is_committed_is_fetched_beside_the_others(w: World) -> None:
    good, _ = w.host(0)
    behind, partition = w.host(1)
    write(behind.log, 1, *[LARGE] * 35)
    await asyncio.sleep(0.01)
    assert (len(w.tasks.running), w.channels) == (2, 2)
    assert sessions_that_name(w, 0) == [0]
    assert sessions_that_name(w, 1) == [0, 2], "it leaves the session of the other, and begins one"
    assert partition.log_end_offset == 35
    write(good.log, 1, b"a")
    await asyncio.sleep(WAIT_MAX_S + 2 * ROUND_TRIP_S)
    assert w.ends() == [1, 35]


@told
async def test_one_that_has_caught_up_comes_back_when_no_request_is_under_way(w: World) -> None:
    w.host(0)
    behind, _ = w.host(1)
    write(behind.log, 1, *[LARGE] * 35)
    await asyncio.sleep(WAIT_MAX_S - ROUND_TRIP_S)
    assert sessions_that_name(w, 1) == [0, 2], "the other fetcher waits for its leader still"
    await asyncio.sleep(WAIT_MAX_S + 2 * ROUND_TRIP_S)
    assert sessions_that_name(w, 1) == [0, 2, 1]
    assert [each.get_name() for each in w.tasks.running] == ["replica fetcher 2-0"]


@told
async def test_one_that_waits_for_the_disk_changes_its_fetcher_afterwards(w: World) -> None:
    w.syncs_first = True
    w.host(0)
    behind, partition = w.host(1)
    write(behind.log, 1, *[LARGE] * 35)
    await asyncio.sleep(4 * ROUND_TRIP_S)
    assert sessions_that_name(w, 1) == [0], "the disk is waited for"
    w.flusher.may_go.set()
    await asyncio.sleep(3 * WAIT_MAX_S)
    assert partition.log_end_offset == 35
    assert sessions_that_name(w, 1) == [0, 2, 1]


@told
async def test_one_that_is_behind_is_left_where_it_is_fetched(w: World) -> None:
    behind, partition = w.host(0)
    write(behind.log, 1, *[LARGE] * 35)
    behind.high_watermark = 100
    await asyncio.sleep(ROUND_TRIP_S)
    assert w.metrics.follower_lag_max() == 65
    w.apply(partition, leader=OWN, epoch=2)
    fetched = len(w.leader.fetches)
    await asyncio.sleep(2 * WAIT_MAX_S)
    assert len(w.leader.fetches) == fetched
    assert not w.tasks.running, "fetchers without partitions end"


@told
async def test_in_a_new_epoch_nobody_is_behind_until_an_answer_says_so(w: World) -> None:
    behind, partition = w.host(0)
    write(behind.log, 1, *[LARGE] * 35)
    behind.high_watermark = 100
    await asyncio.sleep(ROUND_TRIP_S)
    behind.epoch, behind.high_watermark = 2, None
    w.apply(partition, epoch=2)
    await asyncio.sleep(ROUND_TRIP_S)
    assert partition.high_watermark == 35
    assert len(w.tasks.running) == 2
    await asyncio.sleep(WAIT_MAX_S)
    assert len(w.tasks.running) == 1


@told
async def test_what_lacks_committed_records_is_fetched_at_a_bounded_pace(w: World) -> None:
    led, partition = w.host(0)
    for _ in range(60):
        write(led.log, 1, LARGE)
    led.high_watermark = 60
    w.catch_up_bytes_per_second = 500_000
    took_s = await seconds_until(lambda: partition.log_end_offset == 60)
    # The first answer, a megabyte, comes before the partition is known to lag, and the last one is not waited for.
    assert took_s == pytest.approx((led.log.size_bytes - 2_000_000) / 500_000, rel=0.15)
    for _ in range(60):
        write(led.log, 1, LARGE)
    assert await seconds_until(lambda: partition.log_end_offset == 120) < 5, "it is in step"


@told
async def test_who_waits_for_its_turn_at_that_pace_is_let_go_at_once(w: World) -> None:
    """The world gives fetchers that have nothing to follow five seconds to end."""
    behind, _ = w.host(0)
    write(behind.log, 1, *[LARGE] * 35)
    behind.high_watermark = 35
    w.catch_up_bytes_per_second = 10_000
    await seconds_until(lambda: w.ends() == [20])
    assert len(w.tasks.running) == 1
