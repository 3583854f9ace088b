"""A share consumer behind a proxy that loses requests, answers and connections: nothing lost, nothing finished had again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet

import pytest

from millstream.clients import (
    AcknowledgeType,
    ConsumerRecord,
    Producer,
    ShareConsumer,
    TopicIdPartition,
)
from millstream.errors import InvalidShareSessionEpoch, KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from millstream.testing.broker import Broker
from millstream.testing.faults.plan import (
    AnswerWith,
    CloseAfter,
    CloseBefore,
    DropRequest,
    DropResponse,
    Fault,
    Rule,
)
from millstream.testing.faults.proxy import FaultProxy
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient
from tests.support.clients.raw_share_member import configure_group

RELEASE = AcknowledgeType.RELEASE
SHARED = [ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE]
RECORDS = 200
NewName = Callable[[], str]


@pytest.fixture(scope="module")
def quick() -> Iterator[str]:
    settings = {
        "group.share.heartbeat.interval.ms": "100",
        "group.share.min.heartbeat.interval.ms": "100",
        "group.share.assignment.interval.ms": "0",
        "group.share.min.record.lock.duration.ms": "1000",
    }
    with Broker(in_process=False, settings=settings) as broker:
        yield broker.bootstrap_servers


async def prepare(bootstrap: str, topic: str) -> None:
    with RawClient(bootstrap) as client:
        client.create_topic(topic, partitions=2)
        configure_group(
            client, topic, auto_offset_reset="earliest",
            record_lock_duration_ms=1_000, delivery_count_limit=10,
        )  # fmt: skip
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(RECORDS):
            await producer.send(topic, b"%d" % number, partition=number % 2)


def lag(bootstrap: str, topic: str) -> int:
    """Records that nobody has finished."""
    partitions = DescribeShareGroupOffsetsRequestTopic(topic, [0, 1])
    request = DescribeShareGroupOffsetsRequest(
        [DescribeShareGroupOffsetsRequestGroup(topic, [partitions])]
    )
    with RawClient(bootstrap) as client:
        answer = client.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, request)
    found = answer.groups[0].topics[0].partitions
    assert all(partition.error_code == 0 for partition in found), answer
    return sum(partition.lag for partition in found)


class Worker:
    """Accepts every record, but releases every seventh one the first time."""

    def __init__(self) -> None:
        self.accepted: set[tuple[int, int]] = set()
        """Whatever came of it."""
        self.finished: set[tuple[int, int]] = set()
        """Accepted, and the broker has said so."""
        self._released: set[tuple[int, int]] = set()

    def heard(
        self, offsets: Mapping[TopicIdPartition, AbstractSet[int]], error: KafkaError | None
    ) -> None:
        places = {(each.partition, at) for each, what in offsets.items() for at in what}
        if error is None:
            self.finished |= places - self._released
        self._released -= places

    async def work(self, consumer: ShareConsumer, is_done: Callable[[], bool]) -> None:
        consumer.set_acknowledgement_commit_callback(self.heard)
        async with asyncio.timeout(LONG_ENOUGH_S):
            while True:
                records = await consumer.poll(max_records=20, timeout_ms=100)
                if not records and len(self.accepted) == RECORDS and is_done():
                    return
                for record in records:
                    self.decide(consumer, record)
                await consumer.commit()

    def decide(self, consumer: ShareConsumer, record: ConsumerRecord) -> None:
        place = (record.partition, record.offset)
        assert place not in self.finished, f"{place} was finished"
        if record.offset % 7 == 0 and record.delivery_count == 1:
            self._released.add(place)
            consumer.acknowledge(record, RELEASE)
        else:
            self.accepted.add(place)
            consumer.acknowledge(record)


@pytest.mark.parametrize(
    "fault",
    [
        DropRequest(),
        DropResponse(),
        CloseBefore(),
        CloseAfter(),
        AnswerWith(InvalidShareSessionEpoch.code),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_nothing_is_lost_and_nothing_finished_is_had_again(
    quick: str, new_topic: NewName, fault: Fault
) -> None:
    topic = new_topic()
    await prepare(quick, topic)
    worker = Worker()
    rules = [Rule(fault, SHARED, skip=2, times=4, probability=0.3)]
    with FaultProxy(quick, rules, seed=5) as proxy:
        async with ShareConsumer(
            bootstrap_servers=proxy.bootstrap_servers,
            group_id=topic,
            share_acknowledgement_mode="explicit",
            request_timeout_ms=500,
            fetch_max_wait_ms=100,
            retry_backoff_ms=10,
            reconnect_backoff_ms=5,
        ) as consumer:
            consumer.subscribe([topic])
            await worker.work(consumer, lambda: lag(quick, topic) == 0)
        assert sum(proxy.plan.hits) > 0
    assert worker.accepted == {(at % 2, at // 2) for at in range(RECORDS)}
