"""Batches whose check would hold the loop: made elsewhere, appended in order, and nobody else waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from millstream.broker.handlers import produce
from millstream.broker.requests.api_spec import NoAnswer
from millstream.errors import InvalidRecord
from millstream.log import LogEnvironment, PartitionLog
from millstream.log.append_check import AT_ONCE_BYTES, NEW_LOG_COST_BYTES, PART_COST_BYTES
from millstream.log.directory.log_loader import new_log
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.protocol.generated.add_partitions_to_txn import AddPartitionsToTxnResult
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.compression import Codec
from millstream.replication import Partition
from millstream.runtime.system import SystemRandom
from tests.oracle.broker.broken_batches import WHOLE, assemble

TOPIC_ID = b"t" * 16


class GatedPool:
    """Does nothing until its gate is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.count = 0

    async def unpack(self, work: Callable[[], object]) -> object:
        self.count += 1
        await self.gate.wait()
        return work()


class Coordinator:
    """Of transactions: lets everybody in, and tells when it is asked."""

    def __init__(self, when_asked: Callable[[], None]) -> None:
        self._when_asked = when_asked

    async def add_partitions(self, _request: object) -> AddPartitionsToTxnResult:
        self._when_asked()
        return AddPartitionsToTxnResult("x")


TRANSACTIONAL = {
    "millstream_flush_on_ack": "never",
    "transaction_partition_verification_enable": True,
    "add_partitions_to_txn_retry_backoff_ms": 1,
    "add_partitions_to_txn_retry_backoff_max_ms": 3,
}


@pytest.fixture
def pool(plane) -> GatedPool:
    gated = GatedPool()
    plane.give(disk_pool=gated)
    for partition in plane.hosted.values():
        partition.log.update_config(LogConfig(max_message_bytes=1 << 30))
    return gated


def large(plane, sequence: int = -1, **options: object) -> memoryview:
    """Unpacks to more than is unpacked at once."""
    producer = {"producer_id": 7, "producer_epoch": 0} if sequence >= 0 else {}
    return plane.batch(
        bytes(AT_ONCE_BYTES), base_sequence=sequence, codec=Codec.ZSTD, **producer, **options
    )


def small(plane, sequence: int = -1, **options: object) -> memoryview:
    producer = {"producer_id": 7, "producer_epoch": 0} if sequence >= 0 else {}
    return plane.batch(b"v", base_sequence=sequence, **producer, **options)


def send(plane, *data: tuple[int, memoryview], connection: int = 1, acks: int = 1, **fields):
    partitions = [PartitionProduceData(index, records) for index, records in data]
    topic = TopicProduceData(name="t", topic_id=TOPIC_ID, partition_data=partitions)
    request = ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=[topic], **fields)
    return plane.ask(produce, request, 9, connection_id=connection)


async def told(answer) -> list[tuple[int, int]]:
    response = await answer if asyncio.iscoroutine(answer) else answer
    return [
        (p.error_code, p.base_offset)
        for topic in response.responses
        for p in topic.partition_responses
    ]


async def test_what_a_connection_sends_behind_a_large_batch_waits_for_it(plane, pool):
    answers = [
        send(plane, (0, large(plane, 0))),
        send(plane, (0, small(plane, 1))),
        send(plane, (0, large(plane, 2))),
        send(plane, (0, small(plane, 3))),
    ]
    await asyncio.sleep(0)
    assert plane.get("t", 0).log_end_offset == 0
    pool.gate.set()
    assert [await told(answer) for answer in answers] == [[(0, 0)], [(0, 1)], [(0, 2)], [(0, 3)]]


async def test_what_others_send_does_not_wait(plane, pool):
    waiting = send(plane, (0, large(plane)))
    await asyncio.sleep(0)
    assert await told(send(plane, (0, small(plane)), connection=2)) == [(0, 0)]
    pool.gate.set()
    assert await told(waiting) == [(0, 1)]


async def test_once_nothing_waits_a_connection_is_answered_at_once_again(plane, pool):
    pool.gate.set()
    assert await told(send(plane, (0, large(plane)))) == [(0, 0)]
    await asyncio.sleep(0)
    assert not asyncio.iscoroutine(send(plane, (0, small(plane))))


async def test_partitions_in_front_of_a_large_batch_have_theirs_at_once(plane, pool):
    waiting = send(plane, (0, small(plane)), (1, large(plane)))
    assert plane.get("t", 0).log_end_offset == 1
    pool.gate.set()
    assert await told(waiting) == [(0, 0), (0, 0)]
    assert plane.get("t", 1).log_end_offset == 1


async def test_a_large_batch_is_appended_though_its_connection_has_closed(plane, pool):
    task = asyncio.ensure_future(told(send(plane, (0, large(plane)))))
    await asyncio.sleep(0)
    task.cancel()
    pool.gate.set()
    assert await told(send(plane, (0, small(plane)))) == [(0, 1)]


async def test_a_large_batch_that_is_refused_is_answered_and_the_next_one_goes_on(plane, pool):
    garbage = memoryview(bytearray(assemble(WHOLE, bytes(AT_ONCE_BYTES), Codec.GZIP)))
    refused, next_one = send(plane, (0, garbage)), send(plane, (0, small(plane)))
    pool.gate.set()
    assert await told(refused) == [(InvalidRecord.code, -1)]
    assert await told(next_one) == [(0, 0)]


async def test_without_acks_a_large_batch_that_is_refused_closes_the_connection(plane, pool):
    garbage = memoryview(bytearray(assemble(WHOLE, bytes(AT_ONCE_BYTES), Codec.GZIP)))
    pool.gate.set()
    with pytest.raises(NoAnswer, match="cannot be decompressed"):
        await told(send(plane, (0, garbage), acks=0))


async def test_an_unexpected_failure_is_that_of_one_partition(plane, pool):
    async def fail(_work: object) -> object:
        raise ZeroDivisionError

    works, pool.unpack = pool.unpack, fail
    failed = send(plane, (0, large(plane)))
    await asyncio.sleep(0)
    assert await told(failed) == [(-1, -1)]  # UNKNOWN_SERVER_ERROR
    pool.unpack = works
    assert await told(send(plane, (0, small(plane)))) == [(0, 0)]


async def test_the_leader_may_have_changed_when_the_check_is_done(plane, pool):
    waiting = send(plane, (0, large(plane)))
    await asyncio.sleep(0)
    plane.get("t", 0).leader = 2
    pool.gate.set()
    ((code, _),) = await told(waiting)
    assert code == 6  # NOT_LEADER_OR_FOLLOWER
    assert plane.get("t", 0).log_end_offset == 0


async def test_a_request_for_very_many_partitions_gives_others_their_turn(plane, pool):
    """Refused ones cost time as well."""
    count = 2 * AT_ONCE_BYTES // PART_COST_BYTES
    waiting = send(plane, *((1_000 + number, small(plane)) for number in range(count)))
    assert asyncio.iscoroutine(waiting)
    assert await told(waiting) == [(3, -1)] * count


def new_partition(plane, number: int) -> Partition:
    """One that has neither directory nor files."""
    name, config = TopicPartition("t", number), LogConfig()
    path, environment = f"/d/{name}", LogEnvironment(plane.disk, SystemRandom())
    log = PartitionLog(
        name, path, environment, config, state=new_log(path, environment, config), now=plane.clock.now(),
        make_directory=lambda: plane.disk.make_directory(path),
    )  # fmt: skip
    partition = plane.hosted[name] = Partition(log, TOPIC_ID, 1)
    partition.apply(
        PartitionImage(partition=number, replicas=(1,), isr=(1,), leader=1, leader_epoch=3),
        plane.clock.now(),
    )
    return partition


NEW_LOGS = range(100, 100 + 2 * AT_ONCE_BYTES // NEW_LOG_COST_BYTES)
"""More than get their files in one turn; of logs that have theirs as many are written at once."""


async def test_many_new_logs_get_their_files_in_turns(plane, pool):
    pool.gate.set()
    partitions = [new_partition(plane, number) for number in NEW_LOGS]
    waiting = send(plane, *((number, small(plane)) for number in NEW_LOGS))
    assert asyncio.iscoroutine(waiting)
    begun = sum(each.log.is_on_disk for each in partitions)
    assert 0 < begun < len(partitions)
    assert await told(waiting) == [(0, 0)] * len(partitions)
    answer = send(plane, *((number, small(plane)) for number in NEW_LOGS))
    assert not asyncio.iscoroutine(answer)


async def test_new_logs_have_their_files_before_the_coordinator_is_asked(plane, pool):
    pool.gate.set()
    partitions = [new_partition(plane, number) for number in NEW_LOGS]
    on_disk: list[bool] = []

    coordinator = Coordinator(lambda: on_disk.extend(each.log.is_on_disk for each in partitions))
    plane.give(transaction_coordinator_channel=coordinator)
    plane.configure(**TRANSACTIONAL)
    batches = {number: small(plane, 0, is_transactional=True) for number in NEW_LOGS}
    assert await told(transactional(plane, batches)) == [(0, 0)] * len(partitions)
    assert on_disk == [True] * len(partitions)


def transactional(plane, batches: dict[int, memoryview]):
    """A request of the transaction of producer 7."""
    data = [PartitionProduceData(number, records) for number, records in batches.items()]
    topic = TopicProduceData("t", TOPIC_ID, data)
    return plane.ask(produce, ProduceRequest("x", 1, 1_000, [topic]), 12)


async def test_a_large_transactional_batch_is_checked_before_its_coordinator_is_asked(plane, pool):
    """What came in between the coordinator's word and the append could be the end of the transaction."""
    asked: list[bool] = []

    plane.give(
        transaction_coordinator_channel=Coordinator(lambda: asked.append(pool.gate.is_set()))
    )
    plane.configure(**TRANSACTIONAL)
    first = transactional(plane, {0: large(plane, 0, is_transactional=True)})
    second = transactional(plane, {0: small(plane, 1, is_transactional=True)})
    await asyncio.sleep(0)
    assert (asked, plane.get("t", 0).log_end_offset) == ([], 0)
    pool.gate.set()
    assert [await told(first), await told(second)] == [[(0, 0)], [(0, 1)]]
    assert asked == [True]
