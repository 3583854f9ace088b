from __future__ import annotations

import asyncio

import pytest

from millstream.broker.handlers import produce
from millstream.broker.requests.api_spec import NoAnswer
from millstream.errors import (
    CorruptMessage,
    InvalidProducerIdMapping,
    InvalidRecord,
    InvalidRequiredAcks,
    InvalidTopic,
    KafkaStorageError,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    OutOfOrderSequenceNumber,
    RequestTimedOut,
    TransactionalIdAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
    UnsupportedCompressionType,
)
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition, Uuid
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.compression import Codec
from millstream.replication.fetch_position import FetchingReplica, FetchPosition

TOPIC_ID = Uuid(b"t" * 16)


def request(
    *data: tuple[int, memoryview | None], topic="t", acks=-1, timeout_ms=1_000, **fields
) -> ProduceRequest:
    partitions = [PartitionProduceData(index, records) for index, records in data]
    return ProduceRequest(
        acks=acks, timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(name=topic, topic_id=TOPIC_ID, partition_data=partitions)], **fields,
    )  # fmt: skip


async def answer(plane, asked: ProduceRequest, version=9, **context):
    result = plane.ask(produce, asked, version, **context)
    response = await result if asyncio.iscoroutine(result) else result
    return [p for topic in response.responses for p in topic.partition_responses]


async def test_acks_all_is_answered_after_a_sync(plane):
    (told,) = await answer(plane, request((0, plane.batch(b"a", b"b"))))
    assert (told.error_code, told.base_offset, told.log_append_time_ms, told.log_start_offset) == (
        0,
        0,
        -1,
        0,
    )
    assert plane.hosted["t", 0].log.recovery_point == 2
    assert plane.flusher.calls == 1


async def test_acks_one_is_answered_at_once_and_without_a_sync(plane):
    result = plane.ask(produce, request((0, plane.batch(b"a")), acks=1), 9)
    assert result.responses[0].partition_responses[0].base_offset == 0
    assert plane.flusher.calls == 0


async def test_acks_zero_gets_no_answer_but_is_written(plane):
    assert plane.ask(produce, request((0, plane.batch(b"a")), acks=0), 9) is None
    assert plane.hosted["t", 0].log_end_offset == 1


async def test_acks_zero_that_fails_closes_the_connection_and_keeps_what_was_written(plane):
    asked = request((0, plane.batch(b"a")), (7, plane.batch(b"b")), acks=0)
    with pytest.raises(NoAnswer, match="partition 7 of t failed"):
        plane.ask(produce, asked, 9)
    assert plane.hosted["t", 0].log_end_offset == 1


@pytest.mark.parametrize(
    ("policy", "acks", "calls"),
    [("never", -1, 0), ("always", 1, 1), ("always", -1, 1), ("auto", -1, 1), ("auto", 1, 0)],
)
async def test_the_flush_policy_says_who_waits_for_the_disk(plane, policy, acks, calls):
    plane.configure(millstream_flush_on_ack=policy)
    (told,) = await answer(plane, request((0, plane.batch(b"a")), acks=acks))
    assert (told.error_code, plane.flusher.calls) == (0, calls)


async def test_a_request_has_a_few_logs_synced_at_a_time(plane, monkeypatch):
    """So that another producer's log is not behind all of them."""
    plane.configure(millstream_flush_on_ack="always")
    numbers = range(12)
    for number in numbers[2:]:
        plane.host("t", number)
    asked: list[TopicPartition] = []
    may_sync = asyncio.Event()

    async def flush_to(log, _offset):
        asked.append(log.partition)
        await may_sync.wait()
        log.flush(plane.clock.now())

    monkeypatch.setattr(plane.flusher, "flush_to", flush_to)
    parts = [(number, plane.batch(b"a")) for number in numbers]
    answering = asyncio.ensure_future(plane.ask(produce, request(*parts, acks=1), 9))
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(asked) == 4
    may_sync.set()
    response = await answering
    assert len(asked) == 12
    assert [part.error_code for part in response.responses[0].partition_responses] == [0] * 12


def fetched(plane, broker_id: int, offset: int) -> None:
    """A follower of partition 0 has all below `offset`."""
    position = FetchPosition(offset, 1_000_000, current_leader_epoch=3, reads_to_end=True)
    follower = FetchingReplica(broker_id, 10, 0)
    plane.hosted["t", 0].read_as_replica(position, follower, plane.clock.now())


async def test_with_several_in_sync_replicas_all_of_them_are_waited_for_instead(plane):
    plane.replicate()
    waiting = plane.ask(produce, request((0, plane.batch(b"a"))), 9)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(waiting)
        await asyncio.sleep(0)
        fetched(plane, 2, 1)
        await asyncio.sleep(0)
        assert not task.done()
        fetched(plane, 3, 1)
    assert task.result().responses[0].partition_responses[0].error_code == 0
    assert plane.flusher.calls == 0


async def test_where_those_that_were_waited_for_have_left_the_disk_is_asked(plane):
    plane.replicate()
    waiting = plane.ask(produce, request((0, plane.batch(b"a"))), 9)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(waiting)
        await asyncio.sleep(0)
        plane.replicate(isr=(1,), partition_epoch=1)
    assert task.result().responses[0].partition_responses[0].error_code == 0
    assert plane.flusher.calls == 1


async def test_acks_of_the_leader_alone_wait_for_its_disk_at_most(plane):
    plane.replicate()
    plane.configure(millstream_flush_on_ack="always")
    (told,) = await answer(plane, request((0, plane.batch(b"a")), acks=1))
    assert (told.error_code, plane.flusher.calls) == (0, 1)


async def test_a_leader_that_led_again_since_does_not_acknowledge_what_another_may_have_replaced(
    plane,
):
    plane.replicate()
    waiting = plane.ask(produce, request((0, plane.batch(b"a"))), 9)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(waiting)
        await asyncio.sleep(0)
        plane.replicate(leader=2, leader_epoch=4, partition_epoch=1)
        plane.replicate(leader_epoch=5, isr=(1,), partition_epoch=2)
        assert plane.hosted["t", 0].high_watermark == 1
    assert task.result().responses[0].partition_responses[0].error_code == NotLeaderOrFollower.code


async def test_the_next_epoch_of_the_same_leader_changes_nothing(plane):
    plane.replicate()
    waiting = plane.ask(produce, request((0, plane.batch(b"a"))), 9)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(waiting)
        await asyncio.sleep(0)
        plane.replicate(leader_epoch=4, isr=(1,), partition_epoch=1)
    assert task.result().responses[0].partition_responses[0].error_code == 0


async def test_records_that_too_few_replicas_have_in_the_end_are_refused(plane):
    plane.hosted["t", 0].log.update_config(LogConfig(min_insync_replicas=2))
    plane.replicate(isr=(1, 2))
    waiting = plane.ask(produce, request((0, plane.batch(b"a"))), 9)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(waiting)
        await asyncio.sleep(0)
        fetched(plane, 2, 1)  # committed, and before the request goes on:
        plane.replicate(isr=(1,), partition_epoch=1)
    (told,) = task.result().responses[0].partition_responses
    assert told.error_code == NotEnoughReplicasAfterAppend.code
    (told,) = await answer(plane, request((0, plane.batch(b"a"))))
    assert told.error_code == NotEnoughReplicas.code


async def test_a_leader_that_loses_its_place_while_acks_wait_says_so(plane):
    two = PartitionImage(partition=0, replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=3)
    plane.hosted["t", 0].apply(two, plane.clock.now())
    waiting = plane.ask(produce, request((0, plane.batch(b"a"))), 9)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(waiting)
        await asyncio.sleep(0)
        plane.hosted["t", 0].apply(
            PartitionImage(partition=0, replicas=(1, 2), isr=(2,), leader=2, leader_epoch=4),
            plane.clock.now(),
        )
    assert task.result().responses[0].partition_responses[0].error_code == NotLeaderOrFollower.code


async def test_replicas_that_do_not_catch_up_time_the_request_out(plane):
    two = PartitionImage(partition=0, replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=3)
    plane.hosted["t", 0].apply(two, plane.clock.now())
    asked = request((0, plane.batch(b"a")), timeout_ms=0)
    async with asyncio.TaskGroup() as group:
        answering = group.create_task(answer(plane, asked))
        await asyncio.sleep(0)
        plane.purgatory.expire()
    (told,) = answering.result()
    assert (told.error_code, told.base_offset) == (RequestTimedOut.code, -1)


@pytest.mark.parametrize("timeout_ms", [-1, 0, 1, -(2**31)])
async def test_the_time_limit_is_for_replicas_and_not_for_the_disk(plane, timeout_ms):
    """Kafka 4.3.1 with one replica answers so; what is written is not told to have failed."""
    flush, slow = plane.flusher.flush_to, asyncio.Event()

    async def flush_slowly(log, offset):
        await slow.wait()
        await flush(log, offset)

    plane.flusher.flush_to = flush_slowly
    asked = request((0, plane.batch(b"a")), (1, plane.batch(b"b")), timeout_ms=timeout_ms)
    async with asyncio.TaskGroup() as group:
        answering = group.create_task(answer(plane, asked))
        await asyncio.sleep(0.01)
        assert not answering.done()
        slow.set()
    assert [(told.error_code, told.base_offset) for told in answering.result()] == [(0, 0), (0, 0)]


@pytest.mark.parametrize("policy", ["auto", "never"])
async def test_records_that_reach_flush_messages_are_on_the_disk_before_acks_1_is_answered(
    plane, policy
):
    plane.configure(millstream_flush_on_ack=policy)
    plane.host("t", 0, LogConfig(flush_messages=2))
    log = plane.hosted["t", 0].log
    await answer(plane, request((0, plane.batch(b"a")), acks=1))
    assert (plane.flusher.calls, log.recovery_point) == (0, 0)
    (told,) = await answer(plane, request((0, plane.batch(b"b")), acks=1))
    assert (told.error_code, told.base_offset) == (0, 1)
    assert (plane.flusher.calls, log.recovery_point) == (1, 2)


async def test_acks_0_reaches_the_disk_by_flush_messages_too(plane):
    plane.host("t", 0, LogConfig(flush_messages=1))
    assert plane.ask(produce, request((0, plane.batch(b"a")), acks=0), 9) is None
    assert plane.hosted["t", 0].log.recovery_point == 1


async def test_each_partition_has_its_own_result(plane):
    damaged = plane.batch(b"x")
    damaged[-1] ^= 1
    told = await answer(
        plane, request((0, plane.batch(b"a")), (1, damaged), (7, plane.batch(b"c")))
    )
    assert [(p.index, p.error_code, p.base_offset) for p in told] == [
        (0, 0, 0),
        (1, CorruptMessage.code, -1),
        (7, UnknownTopicOrPartition.code, -1),
    ]
    assert "checksum" in told[1].error_message


async def test_version_13_names_topics_by_id(plane):
    (told,) = await answer(plane, request((0, plane.batch(b"a")), topic=""), version=13)
    assert told.error_code == 0
    unknown = request((0, plane.batch(b"a")), topic="")
    unknown.topic_data[0].topic_id = Uuid(b"u" * 16)
    (told,) = await answer(plane, unknown, version=13)
    assert told.error_code == UnknownTopicId.code


async def test_a_retry_is_answered_as_the_first_time(plane):
    retried = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    await answer(plane, request((0, plane.batch(b"a", **retried))))
    await answer(plane, request((0, plane.batch(b"b"))))
    (told,) = await answer(plane, request((0, plane.batch(b"a", **retried))))
    assert (told.error_code, told.base_offset) == (0, 0)
    assert plane.hosted["t", 0].log_end_offset == 2


@pytest.mark.parametrize("acks", [2, -2, 32767])
async def test_other_acks_are_refused(plane, acks):
    (told,) = await answer(plane, request((0, plane.batch(b"a")), acks=acks))
    assert told.error_code == InvalidRequiredAcks.code
    assert plane.hosted["t", 0].log_end_offset == 0


async def test_exactly_one_batch_per_partition(plane):
    two = memoryview(bytearray(plane.batch(b"a")) + plane.batch(b"b"))
    told = await answer(plane, request((0, two), (1, None)))
    assert [p.error_code for p in told] == [InvalidRecord.code, InvalidRecord.code]
    assert "one whole batch per partition" in told[0].error_message


async def test_a_batch_shorter_than_it_says_is_invalid(plane):
    cut = plane.batch(b"abc")
    told = await answer(plane, request((0, cut[:-1]), (1, cut[:30])))
    assert [p.error_code for p in told] == [InvalidRecord.code, InvalidRecord.code]


async def test_a_produced_batch_begins_at_offset_zero_in_the_current_format(plane):
    old = plane.batch(b"a")
    old[16] = 1
    told = await answer(plane, request((0, plane.batch(b"a", base_offset=77)), (1, old)))
    assert [p.error_code for p in told] == [InvalidRecord.code, InvalidRecord.code]


async def test_a_refusal_of_records_tells_where_the_log_starts(plane):
    for _ in range(3):
        await answer(plane, request((0, plane.batch(b"a"))))
    plane.hosted["t", 0].delete_records_before(2)
    gap = {"producer_id": 5, "producer_epoch": 0}
    await answer(plane, request((0, plane.batch(b"a", base_sequence=0, **gap))))
    (told,) = await answer(plane, request((0, plane.batch(b"a", base_sequence=9, **gap))))
    assert (told.error_code, told.log_start_offset) == (OutOfOrderSequenceNumber.code, 2)


async def test_zstd_needs_version_7(plane):
    (told,) = await answer(plane, request((0, plane.batch(b"a", codec=Codec.ZSTD))), version=6)
    assert told.error_code == UnsupportedCompressionType.code
    (told,) = await answer(plane, request((0, plane.batch(b"a", codec=Codec.ZSTD))), version=7)
    assert told.error_code == 0


async def test_records_without_keys_on_a_compacted_topic_are_named(plane):
    plane.host("t", 1, LogConfig(cleanup_policy=frozenset({"compact"})))
    (told,) = await answer(plane, request((1, plane.batch(b"a", b"b", key=None))))
    assert told.error_code == InvalidRecord.code
    assert [e.batch_index for e in told.record_errors] == [0, 1]


async def test_a_transactional_batch_needs_the_transactional_id_in_the_request(plane):
    """CVE-2018-17196: nothing of such a request is written."""
    hidden = plane.batch(
        b"a", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    with pytest.raises(TransactionalIdAuthorizationFailed):
        await answer(plane, request((0, plane.batch(b"b")), (1, hidden)))
    assert [plane.get("t", number).log_end_offset for number in (0, 1)] == [0, 0]


async def test_transactional_batches_of_one_request_are_of_one_producer(plane):
    batches = [
        plane.batch(b"a", producer_id=p, producer_epoch=0, base_sequence=0, is_transactional=True)
        for p in (1, 2)
    ]
    with pytest.raises(InvalidProducerIdMapping):
        await answer(plane, request(*enumerate(batches), transactional_id="tx"))


async def test_internal_topics_are_for_the_broker_and_the_admin_client(plane):
    plane.host("__consumer_offsets", 0)
    asked = request((0, plane.batch(b"a")), topic="__consumer_offsets")
    (told,) = await answer(plane, asked)
    assert told.error_code == InvalidTopic.code
    (told,) = await answer(plane, asked, client_id="__admin_client")
    assert told.error_code == 0


async def test_a_full_disk_is_a_clear_error_and_the_next_produce_works(plane, caplog):
    plane.disk.space_bytes = 10
    (told,) = await answer(plane, request((0, plane.batch(b"a"))))
    assert told.error_code == KafkaStorageError.code
    assert "free some space" in caplog.text
    assert "free some space" in told.error_message
    plane.disk.space_bytes = None
    (told,) = await answer(plane, request((0, plane.batch(b"a"))))
    assert (told.error_code, told.base_offset) == (0, 0)


async def test_a_failed_sync_is_never_acknowledged(plane):
    plane.disk.failing_syncs = lambda path: path.endswith("0.log")
    told = await answer(plane, request((0, plane.batch(b"a")), (1, plane.batch(b"b"))))
    assert [p.error_code for p in told] == [KafkaStorageError.code, KafkaStorageError.code]


async def test_a_stale_leader_tells_who_leads_now(plane):
    plane.hosted["t", 0].apply(
        PartitionImage(partition=0, replicas=(1, 2), isr=(2,), leader=2, leader_epoch=4),
        plane.clock.now(),
    )
    (told,) = await answer(plane, request((0, plane.batch(b"a"))), version=10)
    assert told.error_code == NotLeaderOrFollower.code
    assert (told.current_leader.leader_id, told.current_leader.leader_epoch) == (1, 3)


async def test_of_two_batches_for_one_partition_the_last_is_taken(plane):
    told = await answer(
        plane, request((0, plane.batch(b"a")), (1, plane.batch(b"b")), (0, plane.batch(b"c", b"d")))
    )
    assert [(p.index, p.error_code, p.base_offset) for p in told] == [(0, 0, 0), (1, 0, 0)]
    assert [plane.hosted["t", i].log_end_offset for i in (0, 1)] == [2, 1]
