from __future__ import annotations

import asyncio

import pytest

from millstream.broker.handlers import fetch
from millstream.broker.quotas.request_time import RequestTime
from millstream.broker.requests.handler_services import bound
from millstream.errors import (
    FencedLeaderEpoch,
    InconsistentTopicId,
    OffsetOutOfRange,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.log import FileRange
from millstream.metadata.stored_security import quota_entity
from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.records.batch import iterate_batches

TOPIC_ID = Uuid(b"t" * 16)


def request(
    *positions: tuple[int, int], topic_id=ZERO_UUID, limit=1 << 20, **fields
) -> FetchRequest:
    partitions = [
        FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=limit)
        for number, offset in positions
    ]
    topic = FetchTopic(
        topic="" if topic_id != ZERO_UUID else "t", topic_id=topic_id, partitions=partitions
    )
    return FetchRequest(topics=[topic], session_epoch=-1, min_bytes=1, **fields)


def answered(plane, asked: FetchRequest, version=12):
    response = plane.ask(fetch, asked, version)
    assert not asyncio.iscoroutine(response), "the answer should not have to wait"
    return [p for topic in response.responses for p in topic.partitions]


def bases(records) -> list[int]:
    data = records if isinstance(records, bytes) else records.read()
    return [header.base_offset for header, _ in iterate_batches(data, strict=True)]


async def test_records_are_answered_at_once_when_there_are_some(plane):
    plane.write(0, b"a")
    plane.write(0, b"b")
    (told,) = answered(plane, request((0, 1), max_wait_ms=500))
    assert bases(told.records) == [1]
    assert (
        told.error_code,
        told.high_watermark,
        told.last_stable_offset,
        told.log_start_offset,
    ) == (0, 2, 2, 0)
    assert told.aborted_transactions is None


async def test_large_records_are_ranges_of_the_log_file(plane):
    plane.write(0, b"x" * 100_000)
    (told,) = answered(plane, request((0, 0)))
    assert isinstance(told.records, FileRange)


async def test_nothing_new_without_waiting_is_an_empty_answer(plane):
    (told,) = answered(plane, request((0, 0), max_wait_ms=0))
    assert (told.error_code, told.records) == (0, b"")


async def test_a_fetch_waits_for_the_next_append(plane):
    waiting = plane.ask(fetch, request((0, 0), (1, 0), max_wait_ms=500), 12)
    assert len(plane.purgatory) == 1
    plane.write(1, b"a")
    assert len(plane.purgatory) == 0
    response = await waiting
    assert [(p.partition_index, bases(p.records)) for p in response.responses[0].partitions] == [
        (0, []),
        (1, [0]),
    ]


async def test_a_fetch_waits_for_min_bytes_over_all_partitions(plane):
    size = len(plane.batch(b"a"))
    asked = request((0, 0), (1, 0), max_wait_ms=500)
    asked.min_bytes = 3 * size
    waiting = plane.ask(fetch, asked, 12)
    for number in (0, 1):
        plane.write(number, b"a")
        assert len(plane.purgatory) == 1
    plane.write(0, b"b")
    assert len(plane.purgatory) == 0
    response = await waiting
    assert [bases(p.records) for p in response.responses[0].partitions] == [[0, 1], [0]]


async def test_a_fetch_that_waited_long_enough_gets_what_there_is(plane):
    asked = request((0, 0), max_wait_ms=500)
    asked.min_bytes = 1_000_000
    plane.write(0, b"a")
    waiting = plane.ask(fetch, asked, 12)
    plane.clock.advance(500)
    plane.purgatory.expire()
    response = await waiting
    assert bases(response.responses[0].partitions[0].records) == [0]


async def test_min_bytes_beyond_max_bytes_does_not_wait_for_ever(plane):
    plane.write(0, b"a" * 500)
    asked = request((0, 0), max_wait_ms=500, max_bytes=100)
    asked.min_bytes = 1_000_000
    (told,) = answered(plane, asked)
    assert bases(told.records) == [0]


async def test_the_first_batch_comes_however_large_it_is_but_only_for_the_first_partition(plane):
    plane.write(0, b"a" * 5_000)
    plane.write(1, b"b" * 5_000)
    told = answered(plane, request((0, 0), (1, 0), limit=100))
    assert [bases(p.records) for p in told] == [[0], []]


async def test_an_empty_partition_leaves_the_first_batch_to_the_next_one(plane):
    plane.write(1, b"b" * 5_000)
    told = answered(plane, request((0, 0), (1, 0), limit=100))
    assert [bases(p.records) for p in told] == [[], [0]]


async def test_each_partition_and_all_together_are_limited(plane):
    size = len(plane.batch(b"a"))
    for number in (0, 1):
        for _ in range(4):
            plane.write(number, b"a")
    told = answered(plane, request((0, 0), (1, 0), limit=2 * size, max_bytes=3 * size))
    assert [bases(p.records) for p in told] == [[0, 1], [0]]


async def test_an_error_is_answered_at_once_beside_the_rest(plane):
    told = answered(plane, request((0, 5), (1, 0), (9, 0), max_wait_ms=500))
    assert [p.error_code for p in told] == [OffsetOutOfRange.code, 0, UnknownTopicOrPartition.code]
    assert (told[0].high_watermark, told[0].last_stable_offset, told[0].records) == (-1, -1, b"")


@pytest.mark.parametrize("offset", [-1, 2**63 - 1])
async def test_offsets_that_cannot_be_are_out_of_range(plane, offset):
    (told,) = answered(plane, request((0, offset)))
    assert told.error_code == OffsetOutOfRange.code


async def test_readers_with_an_old_leader_epoch_are_fenced_and_told_the_leader(plane):
    asked = request((0, 0))
    asked.topics[0].partitions[0].current_leader_epoch = 2
    asked.topics[0].topic_id = TOPIC_ID
    (told,) = answered(plane, asked, version=16)
    assert told.error_code == FencedLeaderEpoch.code
    assert (told.current_leader.leader_id, told.current_leader.leader_epoch) == (1, 3)


async def test_a_leader_epoch_below_zero_is_none(plane):
    asked = request((0, 0))
    asked.topics[0].partitions[0].current_leader_epoch = -5
    (told,) = answered(plane, asked)
    assert told.error_code == 0


async def test_who_asks_for_what_is_not_hosted_gets_no_aborted_transactions_rather_than_null(plane):
    (told,) = answered(plane, request((7, 0)))
    assert (told.error_code, told.aborted_transactions) == (UnknownTopicOrPartition.code, [])


async def test_version_13_names_topics_by_id(plane):
    plane.write(0, b"a")
    (told,) = answered(plane, request((0, 0), topic_id=TOPIC_ID), version=13)
    assert bases(told.records) == [0]
    (told,) = answered(plane, request((0, 0), topic_id=Uuid(b"u" * 16)), version=13)
    assert told.error_code == UnknownTopicId.code


async def test_a_topic_made_again_is_not_the_one_that_was_asked_for(plane):
    plane.hosted["t", 0].topic_id = Uuid(b"n" * 16)
    (told,) = answered(plane, request((0, 0), topic_id=TOPIC_ID), version=13)
    assert told.error_code == InconsistentTopicId.code


async def test_a_diverged_reader_is_told_where_its_epoch_ended(plane):
    plane.write(0, b"a")
    plane.hosted["t", 0].log.leader_epochs.assign(5, 1)
    asked = request((0, 1), max_wait_ms=500)
    asked.topics[0].partitions[0].last_fetched_epoch = 4
    (told,) = answered(plane, asked)
    assert (told.diverging_epoch.epoch, told.diverging_epoch.end_offset) == (3, 1)
    assert told.records == b""


async def test_read_committed_lists_aborted_transactions(plane):
    plane.write(0, b"a")
    (told,) = answered(plane, request((0, 0), isolation_level=1))
    assert told.aborted_transactions == []


async def test_a_session_answers_only_what_changed(plane):
    plane.write(0, b"a")
    asked = request((0, 1), (1, 0), max_wait_ms=0)
    asked.session_epoch = 0
    first = plane.ask(fetch, asked, 12)
    assert first.session_id > 0
    plane.write(1, b"b")
    again = FetchRequest(session_id=first.session_id, session_epoch=1, min_bytes=1)
    response = plane.ask(fetch, again, 12)
    assert [(p.partition_index, bases(p.records)) for p in response.responses[0].partitions] == [
        (1, [0])
    ]
    assert response.session_id == first.session_id


async def test_an_incremental_fetch_with_nothing_new_waits(plane):
    asked = request((0, 0), max_wait_ms=0)
    asked.session_epoch = 0
    first = plane.ask(fetch, asked, 12)
    again = FetchRequest(session_id=first.session_id, session_epoch=1, min_bytes=1, max_wait_ms=500)
    waiting = plane.ask(fetch, again, 12)
    plane.clock.advance(500)
    plane.purgatory.expire()
    response = await waiting
    assert (response.responses, response.error_code) == ([], 0)


async def test_a_waiting_session_hears_of_a_partition_that_was_quiet(plane):
    asked = request((0, 0), (1, 0), max_wait_ms=0)
    asked.session_epoch = 0
    first = plane.ask(fetch, asked, 12)
    waiting = plane.ask(fetch, FetchRequest(session_id=first.session_id, session_epoch=1, min_bytes=100, max_bytes=1 << 20, max_wait_ms=60_000), 12)  # fmt: skip
    task = asyncio.ensure_future(waiting)
    plane.write(1, b"a")
    await asyncio.sleep(0)
    assert not task.done(), "one small record is less than the fetcher waits for"
    plane.write(1, b"b" * 100)
    told = (await task).responses[0].partitions
    assert [(p.partition_index, bases(p.records)) for p in told] == [(1, [0, 1])]


async def test_a_partition_for_which_there_was_no_room_is_told_by_the_next_fetch(plane):
    for number in (0, 1):
        plane.write(number, b"a" * 500)
    asked = request((0, 0), (1, 0), max_wait_ms=500, max_bytes=100)
    asked.session_epoch = 0
    first = plane.ask(fetch, asked, 12)
    assert [bases(p.records) for p in first.responses[0].partitions] == [[0], []]
    asked = request((0, 1), max_wait_ms=500, max_bytes=100)
    asked.session_id, asked.session_epoch = first.session_id, 1
    (told,) = answered(plane, asked)
    assert (told.partition_index, bases(told.records)) == (1, [0])


async def test_a_session_that_ends_while_its_fetch_waits_follows_nothing_any_more(plane):
    asked = request((0, 0), max_wait_ms=0)
    asked.session_epoch = 0
    first = plane.ask(fetch, asked, 12)
    asked = request((1, 0), max_wait_ms=500)
    asked.session_id, asked.session_epoch = first.session_id, 1
    waiting = plane.ask(fetch, asked, 12)
    final = FetchRequest(session_id=first.session_id, session_epoch=-1, max_wait_ms=0)
    plane.ask(fetch, final, 12)
    plane.clock.advance(500)
    plane.purgatory.expire()
    await waiting
    assert plane.purgatory._listeners == {}


def limit_everybody(plane, bytes_per_second: float) -> None:
    plane.services.quotas.use(
        {quota_entity([("user", None)]): {"consumer_byte_rate": bytes_per_second}}
    )


async def test_a_consumer_above_its_quota_gets_no_records_and_gets_them_later(plane):
    for _ in range(4):
        plane.write(0, bytes(400))
    limit_everybody(plane, 100)  # a thousand bytes at once
    asked = request((0, 0), max_wait_ms=0, limit=700)
    asked.session_epoch = 0
    first = plane.ask(fetch, asked, 12)
    assert len(first.responses[0].partitions[0].records) > 0
    assert first.throttle_time_ms == 0
    position = FetchPartition(partition=0, fetch_offset=1, partition_max_bytes=700)
    again = FetchRequest(
        session_id=first.session_id,
        session_epoch=1,
        min_bytes=1,
        topics=[FetchTopic(topic="t", partitions=[position])],
    )
    held = plane.ask(fetch, again, 12)
    assert (held.responses, held.session_id, held.error_code) == ([], first.session_id, 0)
    assert held.throttle_time_ms > 0
    plane.clock.advance(held.throttle_time_ms)
    later = FetchRequest(session_id=first.session_id, session_epoch=2, min_bytes=1)
    response = plane.ask(fetch, later, 12)
    assert bases(response.responses[0].partitions[0].records) == [1]


async def test_the_first_answer_of_a_session_that_has_to_wait_makes_no_session(plane):
    plane.write(0, bytes(400))
    limit_everybody(plane, 100)
    for _ in range(3):
        plane.ask(fetch, request((0, 0), max_wait_ms=0), 12)
    asked = request((0, 0), max_wait_ms=0)
    asked.session_epoch = 0
    held = plane.ask(fetch, asked, 12)
    assert held.throttle_time_ms > 0
    assert (held.session_id, held.responses) == (0, [])
    assert len(plane.services.fetch_sessions) == 0


async def test_a_consumer_above_its_quota_of_time_gets_no_records_and_its_session_stays(plane):
    plane.write(0, bytes(400))
    plane.services.quotas.use({quota_entity([("user", None)]): {"request_percentage": 1}})
    asked = request((0, 0), max_wait_ms=0)
    asked.session_epoch = 0
    context = plane.context(12)
    context.time = RequestTime(0, lambda: 2_000_000_000, lambda: 0)
    held = bound(fetch.handle, plane.services)(asked, context)
    assert (held.throttle_time_ms, held.session_id, held.responses) == (1_000, 0, [])
    assert len(plane.services.fetch_sessions) == 0


async def test_a_quota_bounds_what_is_sent_at_once(plane):
    for _ in range(4):
        plane.write(0, bytes(400))
    limit_everybody(plane, 100)
    (told,) = answered(plane, request((0, 0), max_wait_ms=0))
    assert bases(told.records) == [0, 1], "more than a thousand bytes would never be sent"
