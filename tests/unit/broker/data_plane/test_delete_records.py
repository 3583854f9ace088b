"""DeleteRecords of partitions with followers: it is answered when all that run have moved their log start."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from millstream.broker.handlers import delete_records
from millstream.errors import NotLeaderOrFollower, RequestTimedOut
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from millstream.replication.fetch_position import FetchingReplica, FetchPosition


def delete(plane, *asked: tuple[int, int], timeout_ms=1_000):
    partitions = [DeleteRecordsPartition(number, offset) for number, offset in asked]
    request = DeleteRecordsRequest([DeleteRecordsTopic("t", partitions)], timeout_ms)
    return plane.ask(delete_records, request, 2)


def told(response) -> list[tuple[int, int]]:
    return [(p.error_code, p.low_watermark) for topic in response.topics for p in topic.partitions]


def fetched(plane, by: int, log_start: int) -> None:
    position = FetchPosition(2, 1_000, current_leader_epoch=3, reads_to_end=True)
    follower = FetchingReplica(by, 10, log_start)
    plane.hosted["t", 0].read_as_replica(position, follower, plane.clock.now())


def filled(plane):
    plane.write(0, b"a", b"b")
    plane.write(1, b"a", b"b")
    plane.replicate()
    return plane


async def test_a_partition_of_one_replica_is_answered_at_once(plane):
    plane.write(1, b"a", b"b")
    assert told(delete(plane, (1, 1))) == [(0, 1)]


async def test_all_followers_are_waited_for(plane):
    filled(plane)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(delete(plane, (0, 1), (1, -1)))
        await asyncio.sleep(0)
        fetched(plane, 2, 1)
        await asyncio.sleep(0)
        assert not task.done()
        fetched(plane, 3, 1)
    assert told(task.result()) == [(0, 1), (0, 2)]


async def test_a_follower_that_was_faster_than_the_wait_is_noticed(plane):
    filled(plane)
    waiting = delete(plane, (0, 1))
    fetched(plane, 2, 1)
    fetched(plane, 3, 2)
    assert told(await waiting) == [(0, 1)]


async def test_followers_that_do_not_run_are_not_waited_for(plane):
    filled(plane)
    fetched(plane, 2, 1)
    plane.brokers[3] = replace(plane.brokers[3], fenced=True)
    assert told(delete(plane, (0, 1))) == [(0, 1)]


async def test_the_time_limit_ends_the_wait(plane):
    filled(plane)
    fetched(plane, 2, 0)
    fetched(plane, 3, 0)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(delete(plane, (0, 1), (1, 1)))
        await asyncio.sleep(0)
        plane.clock.advance(1_001)
        plane.purgatory.expire()
    assert told(task.result()) == [(RequestTimedOut.code, 0), (0, 1)]
    assert plane.hosted["t", 0].log_start_offset == 1


async def test_a_leader_that_loses_its_place_says_so(plane):
    filled(plane)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(delete(plane, (0, 1)))
        await asyncio.sleep(0)
        plane.replicate(leader=2, leader_epoch=4, partition_epoch=1)
    assert told(task.result()) == [(NotLeaderOrFollower.code, -1)]
