"""Fetch as followers send it, and by consumers that read from followers."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from millstream.broker.config.table import RACK_AWARE_SELECTOR
from millstream.broker.handlers import fetch
from millstream.errors import (
    FencedLeaderEpoch,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownLeaderEpoch,
)
from millstream.metadata.broker_registration import Endpoint
from millstream.metadata.topic_config import LogConfig
from millstream.model import Uuid
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from millstream.records.batch import iterate_batches

TOPIC_ID = Uuid(b"t" * 16)
OLD, NEW = 14, 18
"""With the id alone, and with the broker epoch."""


def follower(
    *positions: tuple[int, int], by=2, broker_epoch=10, leader_epoch=3, last_epoch=-1, wait_ms=0, log_start=0, **fields
) -> FetchRequest:  # fmt: skip
    """What a follower sends for (partition, offset)."""
    partitions = [
        FetchPartition(
            partition=number, current_leader_epoch=leader_epoch, fetch_offset=offset, last_fetched_epoch=last_epoch,
            log_start_offset=log_start, partition_max_bytes=1 << 20,
        )
        for number, offset in positions
    ]  # fmt: skip
    topics = [FetchTopic(topic_id=TOPIC_ID, partitions=partitions)] if partitions else []
    fields = {"session_epoch": -1, "min_bytes": 1} | fields
    return FetchRequest(
        replica_state=ReplicaState(by, broker_epoch), max_wait_ms=wait_ms, topics=topics, **fields
    )


def consumer(*positions: tuple[int, int], wait_ms=0, rack="") -> FetchRequest:
    partitions = [
        FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
        for number, offset in positions
    ]
    return FetchRequest(
        topics=[FetchTopic(topic="t", partitions=partitions)], session_epoch=-1, min_bytes=1, max_wait_ms=wait_ms, rack_id=rack,
    )  # fmt: skip


def parts(response) -> list:
    return [p for topic in response.responses for p in topic.partitions]


def answered(plane, asked: FetchRequest, version=NEW) -> list:
    response = plane.ask(fetch, asked, version)
    assert not asyncio.iscoroutine(response), "the answer should not have to wait"
    return parts(response)


def bases(records) -> list[int]:
    data = records if isinstance(records, bytes) else records.read()
    return [header.base_offset for header, _ in iterate_batches(data, strict=True)]


async def test_a_follower_reads_what_is_not_committed(plane):
    plane.replicate()
    plane.write(0, b"a")
    (told,) = answered(plane, follower((0, 0)))
    assert (bases(told.records), told.high_watermark, told.log_start_offset) == ([0], 0, 0)
    (told,) = answered(plane, consumer((0, 0)), 12)
    assert told.records == b""


async def test_what_followers_ask_for_commits_and_wakes_consumers(plane):
    plane.replicate()
    plane.write(0, b"a")
    waiting = plane.ask(fetch, consumer((0, 0), wait_ms=500), 12)
    assert len(plane.purgatory) == 1
    answered(plane, follower((0, 1), by=2))
    assert len(plane.purgatory) == 1
    (told,) = answered(plane, follower((0, 1), by=3))
    assert told.high_watermark == 1, "the follower is told what its own fetch has committed"
    assert len(plane.purgatory) == 0
    (told,) = parts(await waiting)
    assert (bases(told.records), told.high_watermark) == ([0], 1)


async def test_an_append_wakes_a_follower_before_it_is_committed(plane):
    plane.replicate()
    waiting = plane.ask(fetch, follower((0, 0), wait_ms=500), NEW)
    consumers = plane.ask(fetch, consumer((0, 0), wait_ms=500), 12)
    assert len(plane.purgatory) == 2
    plane.write(0, b"a")
    assert len(plane.purgatory) == 1
    (told,) = parts(await waiting)
    assert (bases(told.records), told.high_watermark) == ([0], 0)
    plane.purgatory.close()
    await consumers


async def test_the_answer_after_a_wait_says_nothing_of_the_follower(plane):
    """It has what it asked for, not what it is sent."""
    plane.replicate(isr=(1, 2))
    waiting = plane.ask(fetch, follower((0, 0), wait_ms=500), NEW)
    plane.write(0, b"a")
    await waiting
    assert plane.hosted["t", 0].high_watermark == 0


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_follower_that_catches_up_is_to_join_the_isr(plane, version):
    plane.replicate(isr=(1,))
    plane.write(0, b"a")
    asked = follower((0, 1))
    asked.replica_id = 2
    (told,) = answered(plane, asked, version)
    assert told.error_code == 0
    assert plane.due == [plane.hosted["t", 0]]
    wanted = plane.hosted["t", 0].wanted_alteration(plane.clock.now())
    assert wanted.isr == ((1, 10), (2, 10))


async def test_the_broker_epoch_counts_from_version_15_on(plane):
    plane.replicate()
    (told,) = answered(plane, follower((0, 0), broker_epoch=9))
    assert told.error_code == NotLeaderOrFollower.code
    (told,) = answered(plane, follower((0, 0), broker_epoch=11))
    assert told.error_code == 0, "an epoch that this broker has not heard of yet"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"by": 9}, UnknownLeaderEpoch),
        ({"by": 9, "leader_epoch": -1}, NotLeaderOrFollower),
        ({"leader_epoch": 2}, FencedLeaderEpoch),
        ({"leader_epoch": 4}, UnknownLeaderEpoch),
    ],
)
async def test_who_is_not_known_as_a_follower_is_refused(plane, fields, error):
    plane.replicate()
    (told,) = answered(plane, follower((0, 0), **fields))
    assert (told.error_code, told.records) == (error.code, b"")


async def test_a_leader_that_is_no_more_does_not_serve_followers(plane):
    plane.replicate(leader=3, leader_epoch=4, partition_epoch=1)
    (told,) = answered(plane, follower((0, 0), leader_epoch=4))
    assert told.error_code == NotLeaderOrFollower.code


async def test_an_offset_beyond_the_log_is_refused_and_not_noted(plane):
    plane.replicate(isr=(1, 2))
    plane.write(0, b"a")
    (told,) = answered(plane, follower((0, 2)))
    assert told.error_code == OffsetOutOfRange.code
    assert plane.hosted["t", 0].high_watermark == 0


async def test_a_follower_that_diverged_is_told_where_and_is_not_noted(plane):
    plane.replicate(isr=(1, 2))
    plane.write(0, b"a")
    plane.replicate(isr=(1, 2), leader_epoch=4, partition_epoch=1)
    plane.write(0, b"b")
    (told,) = answered(plane, follower((0, 2), leader_epoch=4, last_epoch=3))
    assert (told.diverging_epoch.epoch, told.diverging_epoch.end_offset) == (3, 1)
    assert plane.hosted["t", 0].high_watermark == 0
    answered(plane, follower((0, 1), leader_epoch=4, last_epoch=3))
    assert plane.hosted["t", 0].high_watermark == 1


# --- sessions


async def begun(plane, *positions: tuple[int, int], **fields) -> int:
    response = plane.ask(fetch, follower(*positions, session_epoch=0, **fields), NEW)
    return response.session_id


async def test_a_session_of_a_follower_reads_only_what_has_news(plane):
    plane.replicate(0)
    plane.replicate(1)
    session_id = await begun(plane, (0, 0), (1, 0))
    plane.clock.advance(20_000)
    answered(plane, follower(session_id=session_id, session_epoch=1))  # everything, after so long
    plane.clock.advance(5_000)
    waiting = plane.ask(fetch, follower(session_id=session_id, session_epoch=2, wait_ms=500), NEW)
    plane.write(1, b"a")
    (told,) = parts(await waiting)
    assert (told.partition_index, bases(told.records)) == (1, [0])


async def test_a_partition_without_news_is_caught_up_with_each_fetch_of_the_session(plane):
    """Else the first append after a quiet time would find all followers lagging."""
    plane.replicate(0)
    session_id = await begun(plane, (0, 0))
    for epoch in range(1, 10):
        plane.clock.advance(9_000)
        answered(plane, follower(session_id=session_id, session_epoch=epoch))
    answered(plane, follower((0, 0), by=3))
    plane.clock.advance(29_000)
    plane.write(0, b"a")
    partition = plane.hosted["t", 0]
    assert partition.wanted_alteration(plane.clock.now()) is None
    plane.clock.advance(1_001)
    wanted = partition.wanted_alteration(plane.clock.now())
    assert wanted.isr == ((1, 10),)


async def test_a_session_says_nothing_of_a_partition_that_has_got_records_since(plane):
    """As of a follower whose directory has failed, and which goes on with the others."""
    plane.replicate(0, isr=(1, 2))
    plane.replicate(1, isr=(1, 2))
    session_id = await begun(plane, (0, 0), (1, 0))
    plane.write(0, b"a")
    forgotten = [ForgottenTopic(topic_id=TOPIC_ID, partitions=[0])]
    for epoch in range(1, 5):
        plane.clock.advance(9_000)
        fields = {"forgotten_topics_data": forgotten} if epoch == 1 else {}
        answered(plane, follower(session_id=session_id, session_epoch=epoch, **fields))
    assert plane.hosted["t", 0].wanted_alteration(plane.clock.now()).isr == ((1, 10),)
    assert plane.hosted["t", 1].wanted_alteration(plane.clock.now()) is None


async def test_a_follower_outside_of_the_isr_is_looked_at_with_each_fetch(plane):
    """It may not join when it fetches first, since it is fenced; later it may."""
    plane.replicate(0, isr=(1,))
    plane.brokers[2] = replace(plane.brokers[2], fenced=True)
    session_id = await begun(plane, (0, 0))
    assert plane.due == []
    plane.brokers[2] = replace(plane.brokers[2], fenced=False)
    answered(plane, follower(session_id=session_id, session_epoch=1))
    assert plane.due == [plane.hosted["t", 0]]


async def test_an_incarnation_that_has_registered_anew_is_told_to_every_partition(plane):
    plane.replicate(0)
    session_id = await begun(plane, (0, 0))
    plane.brokers[2] = replace(plane.brokers[2], broker_epoch=20)
    (told,) = answered(plane, follower(session_id=session_id, session_epoch=1, broker_epoch=19))
    assert told.error_code == NotLeaderOrFollower.code


async def test_sessions_of_followers_take_the_place_of_those_of_consumers(plane):
    """Two is all that there is room for."""
    first = consumer((0, 0))
    first.session_epoch = 0
    assert all(plane.ask(fetch, first, 12).session_id for _ in range(2))
    assert plane.ask(fetch, first, 12).session_id == 0
    assert await begun(plane, (0, 0)) > 0
    assert await begun(plane, (0, 0), by=3) > 0
    assert await begun(plane, (0, 0)) == 0
    assert plane.ask(fetch, first, 12).session_id == 0


# --- consumers at followers (KIP-392)


async def test_a_follower_serves_consumers_what_it_knows_to_be_committed(plane):
    plane.write(0, b"a")
    plane.replicate()
    plane.write(0, b"b")
    plane.replicate(leader=2, leader_epoch=4, partition_epoch=1)
    (told,) = answered(plane, consumer((0, 0)), 11)
    assert (told.error_code, bases(told.records), told.high_watermark) == (0, [0], 1)
    (told,) = answered(plane, consumer((0, 2)), 11)
    assert (told.error_code, told.records) == (0, b"")
    (told,) = answered(plane, consumer((0, 3)), 11)
    assert told.error_code == OffsetOutOfRange.code
    (told,) = answered(plane, consumer((0, 0)), 10)
    assert told.error_code == NotLeaderOrFollower.code


async def test_where_nobody_leads_nobody_is_served(plane):
    waiting = plane.ask(fetch, consumer((0, 0), wait_ms=500), 11)
    plane.replicate(leader=-1, leader_epoch=4, partition_epoch=1)
    (told,) = parts(await waiting)
    assert told.error_code == NotLeaderOrFollower.code


def racks(plane, **of: str) -> None:
    plane.configure(replica_selector_class=RACK_AWARE_SELECTOR)
    plane.replicate()
    for name, rack in of.items():
        broker = plane.brokers[int(name[1:])]
        endpoints = (Endpoint("PLAINTEXT", "host", 9092),)
        plane.brokers[broker.broker_id] = replace(broker, rack=rack, endpoints=endpoints)


async def test_a_consumer_is_told_of_a_replica_in_its_rack(plane):
    racks(plane, b1="x", b2="y", b3="y")
    plane.write(0, b"a")
    answered(plane, follower((0, 1), by=2))
    answered(plane, follower((0, 1), by=3))
    plane.write(0, b"b")
    answered(plane, follower((0, 2), by=2))
    (told,) = answered(plane, consumer((0, 0), rack="y", wait_ms=500), 12)
    assert (told.preferred_read_replica, told.records, told.high_watermark) == (2, b"", 1)
    (told,) = answered(plane, consumer((0, 2), rack="y"), 12)
    assert told.preferred_read_replica == 2


@pytest.mark.parametrize("rack", ["", "x", "z"])
async def test_the_leader_serves_whoever_is_nearer_to_nobody_else(plane, rack):
    racks(plane, b1="x", b2="y", b3="y")
    plane.write(0, b"a")
    answered(plane, follower((0, 1), by=2))
    answered(plane, follower((0, 1), by=3))
    (told,) = answered(plane, consumer((0, 0), rack=rack), 12)
    assert (told.preferred_read_replica, bases(told.records)) == (-1, [0])


async def test_a_replica_that_lags_or_is_out_of_sync_is_not_preferred(plane):
    racks(plane, b1="x", b2="y", b3="z")
    plane.write(0, b"a")
    answered(plane, follower((0, 0), by=2))
    answered(plane, follower((0, 1), by=3))
    (told,) = answered(plane, consumer((0, 1), rack="y"), 12)
    assert told.preferred_read_replica == -1
    plane.replicate(isr=(1, 3), partition_epoch=1)
    (told,) = answered(plane, consumer((0, 0), rack="y"), 12)
    assert told.preferred_read_replica == -1


async def test_without_a_selector_racks_do_not_matter(plane):
    racks(plane, b1="x", b2="y", b3="y")
    plane.configure(replica_selector_class=None)
    answered(plane, follower((0, 0), by=2))
    (told,) = answered(plane, consumer((0, 0), rack="y"), 12)
    assert told.preferred_read_replica == -1


async def test_what_is_sent_is_counted_by_who_takes_it(plane):
    plane.replicate(adding_replicas=(3,))
    plane.write(0, b"a")
    (told,) = answered(plane, follower((0, 0)))
    size = len(told.records)
    metrics = plane.services.metrics
    counted = metrics.replication
    assert (counted.bytes_out, counted.reassignment_bytes_out) == (size, 0)
    answered(plane, follower((0, 0), by=3))
    assert (counted.bytes_out, counted.reassignment_bytes_out) == (2 * size, size)
    assert metrics.topics.of("t").bytesout == 0, "consumers alone"


def throttled(plane, rate: int, *replicas: str) -> None:
    plane.get("t", 0).log.update_config(LogConfig(leader_replication_throttled_replicas=replicas))
    plane.services.throttles.leader.bytes_per_second = rate


async def test_a_throttled_follower_that_is_out_of_sync_waits_once_too_much_was_sent(plane):
    plane.replicate(isr=(1, 2))
    throttled(plane, 100, "0:1")
    plane.write(0, b"v" * 1000)
    (told,) = answered(plane, follower((0, 0), by=3))
    assert bases(told.records) == [0], "nothing was sent before"
    (told,) = answered(plane, follower((0, 0), by=3))
    assert told.records == b""
    assert told.high_watermark >= 0, "it is told how far the leader is"
    (told,) = answered(plane, follower((0, 0), by=2))
    assert bases(told.records) == [0], "who is in sync never waits"


async def test_what_a_throttled_follower_would_get_ends_no_wait(plane):
    plane.replicate(isr=(1, 2))
    throttled(plane, 100, "*")
    plane.write(0, b"v" * 1000)
    answered(plane, follower((0, 0), by=3))
    waiting = plane.ask(fetch, follower((0, 0), by=3, wait_ms=500), NEW)
    assert len(plane.purgatory) == 1
    plane.write(0, b"more")
    assert len(plane.purgatory) == 1
    waiting.close()


@pytest.mark.parametrize("replicas", [("0:2",), ()])
async def test_only_the_leaders_that_are_named_are_throttled(plane, replicas):
    plane.replicate(isr=(1, 2))
    throttled(plane, 100, *replicas)
    plane.write(0, b"v" * 1000)
    for _ in range(3):
        (told,) = answered(plane, follower((0, 0), by=3))
        assert bases(told.records) == [0]
