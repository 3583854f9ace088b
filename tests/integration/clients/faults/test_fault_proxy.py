"""The proxy itself: everything goes through it, and each fault is what its name says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from millstream.clients import Admin, Consumer, NewTopic, Producer, TopicPartition
from millstream.errors import (
    BrokerNotAvailable,
    KafkaError,
    NotLeaderOrFollower,
    RequestTimedOut,
    TopicAlreadyExists,
    TopicAuthorizationFailed,
)
from millstream.protocol.api import ApiKey
from millstream.testing.faults.plan import (
    AnswerWith,
    CloseAfter,
    CloseBefore,
    Corrupt,
    Delay,
    DropRequest,
    DropResponse,
    Fault,
    Rule,
    SendLate,
    Trickle,
)
from millstream.testing.faults.proxy import FaultProxy
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S

NewName = Callable[[], str]
PRODUCE = [ApiKey.PRODUCE]
QUICK = {"request_timeout_ms": 300, "retry_backoff_ms": 5, "reconnect_backoff_ms": 5}


async def produce(proxy: FaultProxy, topic: str, count: int = 20) -> list[int]:
    """Offsets, of records sent one by one."""
    async with Producer(
        bootstrap_servers=proxy.bootstrap_servers, linger_ms=0, **QUICK
    ) as producer:
        return [(await (await producer.send(topic, b"%d" % n))).offset for n in range(count)]


async def read(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        values: list[bytes | None] = []
        async with asyncio.timeout(LONG_ENOUGH_S):
            while len(values) < count:
                values += [
                    record.value for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
                ]
    return values


async def test_clients_never_learn_the_address_of_the_broker(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    with FaultProxy(bootstrap) as proxy:
        assert await produce(proxy, topic, 3) == [0, 1, 2]
        async with Consumer(
            bootstrap_servers=proxy.bootstrap_servers,
            group_id=f"g-{topic}",
            auto_offset_reset="earliest",
        ) as consumer:
            consumer.subscribe([topic])
            async with asyncio.timeout(LONG_ENOUGH_S):
                assert [(await anext(consumer)).offset for _ in range(3)] == [0, 1, 2]
        seen = {request.key for request in proxy.requests}
    assert seen >= {
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.JOIN_GROUP,
        ApiKey.OFFSET_COMMIT,
        ApiKey.LEAVE_GROUP,
    }


@pytest.mark.parametrize(
    "fault",
    [
        DropRequest(),
        DropResponse(),
        CloseBefore(),
        CloseAfter(),
        Delay(request_ms=20, response_ms=20),
        SendLate(50),
        Trickle(2_000),
        AnswerWith(NotLeaderOrFollower.code),
        AnswerWith(NotLeaderOrFollower.code, forward=True),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_an_idempotent_producer_gets_over_any_single_fault(
    bootstrap: str, new_topic: NewName, fault: Fault
) -> None:
    topic = new_topic()
    with FaultProxy(bootstrap, [Rule(fault, PRODUCE, skip=4, times=1)], seed=1) as proxy:
        offsets = await produce(proxy, topic)
        assert proxy.plan.hits == (1,)
    assert await read(bootstrap, topic, 20) == [b"%d" % n for n in range(20)]
    assert offsets == list(range(20))


@pytest.mark.parametrize(("forward", "expected"), [(False, 0), (True, 1)])
async def test_an_error_can_be_told_with_or_without_the_broker_doing_its_work(
    bootstrap: str, new_topic: NewName, forward: bool, expected: int
) -> None:
    topic = new_topic()
    rule = Rule(AnswerWith(TopicAuthorizationFailed.code, forward), PRODUCE, times=1)
    with FaultProxy(bootstrap, [rule]) as proxy:
        async with Producer(bootstrap_servers=proxy.bootstrap_servers) as producer:
            with pytest.raises(TopicAuthorizationFailed):
                await (await producer.send(topic, b"x"))
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([(topic, 0)])
        assert list((await consumer.end_offsets(consumer.assignment())).values()) == [expected]


async def test_one_partition_of_a_request_can_be_refused(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, 2)])).raise_errors()
    rule = Rule(AnswerWith(TopicAuthorizationFailed.code, forward=True), PRODUCE, partition=1)
    with FaultProxy(bootstrap, [rule]) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers, linger_ms=50, **QUICK
        ) as producer:
            spared, refused = [await producer.send(topic, b"x", partition=p) for p in (0, 1)]
            assert (await spared).offset == 0
            with pytest.raises(TopicAuthorizationFailed):
                await refused


async def test_a_black_hole_takes_everything_until_it_is_healed(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    hole: Sequence[Rule] = [Rule(DropRequest())]
    with FaultProxy(bootstrap, hole) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers,
            max_block_ms=200,
            socket_connection_setup_timeout_ms=100,
            **QUICK,
        ) as producer:
            with pytest.raises((BrokerNotAvailable, RequestTimedOut)):
                await producer.send(topic, b"x")
        proxy.heal()
        assert await produce(proxy, topic, 1) == [0]


async def test_corrupt_records_are_found_and_stay_until_a_seek_as_in_java(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    rule = Rule(Corrupt(bits=3, tail_bytes=300), [ApiKey.FETCH], times=3)
    with FaultProxy(bootstrap, [rule]) as proxy:
        async with Producer(bootstrap_servers=bootstrap, linger_ms=20) as producer:
            for number in range(100):
                await producer.send(topic, b"%d" % number)
        async with Consumer(
            bootstrap_servers=proxy.bootstrap_servers, auto_offset_reset="earliest", **QUICK
        ) as consumer:
            consumer.assign([partition])
            values: list[bytes | None] = []
            async with asyncio.timeout(LONG_ENOUGH_S):
                while len(values) < 100:
                    try:
                        values += [
                            record.value
                            for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
                        ]
                    except KafkaError:
                        consumer.seek(partition, await consumer.position(partition))
        assert values == [b"%d" % n for n in range(100)]
        assert proxy.plan.hits == (3,)


async def test_refusals_of_the_broker_are_counted_where_that_is_wanted(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = NewTopic(new_topic(), 1)
    with FaultProxy(bootstrap, counts_refusals=True) as proxy:
        async with Admin(bootstrap_servers=proxy.bootstrap_servers) as admin:
            (await admin.create_topics([topic])).raise_errors()
            assert (await admin.create_topics([topic])).errors().keys() == {topic.name}
        assert proxy.refusals[ApiKey.CREATE_TOPICS, TopicAlreadyExists.code] == 1
