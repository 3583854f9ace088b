"""What a transactional producer makes of lost answers, late requests and refusals, in both flows of transactions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from millstream.clients import (
    Consumer,
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    Producer,
    TopicPartition,
    TransactionalProducerFailed,
    TransactionFailed,
)
from millstream.clients.core.illegal_state import IllegalState
from millstream.errors import (
    IllegalGeneration,
    InvalidTransactionTimeout,
    MessageTooLarge,
    ProducerFenced,
    RequestTimedOut,
    TopicAuthorizationFailed,
    TransactionAbortable,
    UnsupportedVersion,
)
from millstream.net.client.core.api_versions import ApiVersionTable
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsResponse
from millstream.testing.faults.plan import AnswerWith, CloseAfter, Delay, Rule, SendLate
from millstream.testing.faults.proxy import FaultProxy
from tests.patience import LONG_ENOUGH_S

NewName = Callable[[], str]
QUICK = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, "reconnect_backoff_ms": 1}


@pytest.fixture(autouse=True, params=["implicit", "explicit"])
def flow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "explicit":
        real = ApiVersionTable.from_response

        def without_features(response: ApiVersionsResponse) -> ApiVersionTable:
            table = real(response)
            table.features.clear()
            return table

        monkeypatch.setattr(ApiVersionTable, "from_response", without_features)
    return str(request.param)


async def committed_values(bootstrap: str, topic: str) -> list[bytes | None]:
    partition = TopicPartition(topic, 0)
    settings = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        end = (await consumer.end_offsets([partition]))[
            partition
        ]  # markers may still be on their way
    async with Consumer(bootstrap_servers=bootstrap, **settings) as consumer:
        consumer.assign([partition])
        values: list[bytes | None] = []
        async with asyncio.timeout(LONG_ENOUGH_S):
            while await consumer.position(partition) < end:
                values += [record.value for record in await consumer.poll(timeout_ms=100)]
    return values


async def test_a_lost_answer_to_a_commit_is_asked_for_again(
    bootstrap: str, new_topic: NewName, flow: str
) -> None:
    """Where epochs stay the request may have been carried out late, so the next transaction has a new epoch."""
    topic = new_topic()
    with FaultProxy(bootstrap, [Rule(CloseAfter(), [ApiKey.END_TXN], times=1)]) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers, transactional_id=topic, **QUICK
        ) as producer:
            for value in (b"first", b"second"):
                async with producer.transaction():
                    await producer.send(topic, value)
        asked = [request.key for request in proxy.requests]
    assert await committed_values(bootstrap, topic) == [b"first", b"second"]
    assert asked.count(ApiKey.END_TXN) >= 3  # more while the coordinator is still at the first
    assert asked.count(ApiKey.INIT_PRODUCER_ID) == (1 if flow == "implicit" else 2)
    assert (ApiKey.ADD_PARTITIONS_TO_TXN in asked) == (flow == "explicit")


async def test_the_end_of_a_transaction_that_comes_late_does_not_end_the_next(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    rule = Rule(SendLate(20), [ApiKey.END_TXN], times=1)
    with FaultProxy(bootstrap, [rule]) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers, transactional_id=topic, linger_ms=0, **QUICK
        ) as producer:
            async with producer.transaction():
                await producer.send(topic, b"committed")
            await producer.begin_transaction()
            for _ in range(50):  # while the late commit arrives
                await (await producer.send(topic, b"aborted"))
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send(topic, b"committed too")
    assert await committed_values(bootstrap, topic) == [b"committed", b"committed too"]


async def test_a_commit_without_an_outcome_is_called_again_until_there_is_one(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    with FaultProxy(bootstrap, [Rule(Delay(response_ms=900), [ApiKey.END_TXN], times=1)]) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers,
            transactional_id=topic,
            max_block_ms=700,
            **QUICK,
        ) as producer:
            await until_in_time(producer.init_transactions)
            await until_in_time(lambda: producer.partitions_for(topic))
            await producer.begin_transaction()
            await (await producer.send(topic, b"x"))
            with pytest.raises(RequestTimedOut):
                await producer.commit_transaction()
            with pytest.raises(IllegalState, match="being committed; end it before you begin"):
                await producer.begin_transaction()
            with pytest.raises(IllegalState, match="the outcome of the commit is unknown"):
                await producer.abort_transaction()
            await until_in_time(producer.commit_transaction)
            await producer.begin_transaction()
            await producer.send(topic, b"y")
            await until_in_time(producer.commit_transaction)
    assert await committed_values(bootstrap, topic) == [b"x", b"y"]


async def until_in_time(call: Callable[[], Awaitable[object]]) -> None:
    """Calls again what did not come to an end within max_block_ms."""
    while True:
        with contextlib.suppress(RequestTimedOut):
            await call()
            return


async def test_a_coordinator_that_asks_for_an_abort_gets_one(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    rule = Rule(AnswerWith(TransactionAbortable.code), [ApiKey.END_TXN], times=1)
    with FaultProxy(bootstrap, [rule]) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers, transactional_id=topic, **QUICK
        ) as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            await producer.send(topic, b"x")
            with pytest.raises(TransactionAbortable):
                await producer.commit_transaction()
            with pytest.raises(TransactionFailed, match="call abort_transaction"):
                await producer.send(topic, b"y")
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send(topic, b"z")
    assert await committed_values(bootstrap, topic) == [b"z"]


@pytest.mark.parametrize("skip", [0, 1], ids=["the first", "the second"])
async def test_a_transaction_of_which_the_brokers_have_nothing_is_aborted(
    bootstrap: str, new_topic: NewName, skip: int
) -> None:
    topic = new_topic()
    refusal = AnswerWith(TopicAuthorizationFailed.code)
    with FaultProxy(bootstrap, [Rule(refusal, [ApiKey.PRODUCE], skip=skip, times=1)]) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers, transactional_id=topic, **QUICK
        ) as producer:
            expected, causes = [], []
            for number in range(3):
                try:
                    async with producer.transaction():
                        await producer.send(topic, b"%d" % number)
                    expected.append(b"%d" % number)
                except TransactionFailed as failed:
                    causes.append(type(failed.__cause__))
    assert causes == [TopicAuthorizationFailed]
    assert await committed_values(bootstrap, topic) == expected


async def test_offsets_that_the_group_refuses_fail_the_transaction(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    offsets = {TopicPartition(topic, 0): OffsetAndMetadata(1)}
    async with Producer(bootstrap_servers=bootstrap, transactional_id=topic, **QUICK) as producer:
        await producer.partitions_for(topic)
        await producer.init_transactions()
        await producer.begin_transaction()
        zombie = ConsumerGroupMetadata(f"g-{topic}", generation_id=7, member_id="gone")
        with pytest.raises(Exception, match=r".") as refused:
            await producer.send_offsets_to_transaction(offsets, zombie)
        assert refused.type.__name__ in {"UnknownMemberId", IllegalGeneration.__name__}
        with pytest.raises(TransactionFailed):
            await producer.commit_transaction()
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send_offsets_to_transaction(offsets, ConsumerGroupMetadata(f"g-{topic}"))


async def test_an_earlier_transaction_that_is_still_ending_is_waited_for(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    concurrent = AnswerWith(51)
    rules = [
        Rule(concurrent, [ApiKey.INIT_PRODUCER_ID], times=2),
        Rule(concurrent, [ApiKey.ADD_PARTITIONS_TO_TXN], times=2),
        Rule(concurrent, [ApiKey.END_TXN], times=2),
    ]
    with FaultProxy(bootstrap, rules) as proxy:
        async with (
            Producer(
                bootstrap_servers=proxy.bootstrap_servers, transactional_id=topic, **QUICK
            ) as producer,
            producer.transaction(),
        ):
            await producer.send(topic, b"x")
    assert await committed_values(bootstrap, topic) == [b"x"]


async def test_a_fenced_producer_is_told_at_its_commit(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    rule = Rule(AnswerWith(ProducerFenced.code), [ApiKey.END_TXN], times=1)
    with FaultProxy(bootstrap, [rule]) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers, transactional_id=topic, **QUICK
        ) as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            await producer.send(topic, b"x")
            with pytest.raises(ProducerFenced, match="has taken over"):
                await producer.commit_transaction()
            with pytest.raises(ProducerFenced, match="has taken over"):
                await producer.abort_transaction()
    async with Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        await producer.init_transactions()
    assert await committed_values(bootstrap, topic) == []


async def test_a_time_limit_that_the_broker_does_not_grant_is_told(
    bootstrap: str, new_topic: NewName
) -> None:
    async with Producer(
        bootstrap_servers=bootstrap, transactional_id=new_topic(), transaction_timeout_ms=2**31 - 1
    ) as producer:
        with pytest.raises(Exception, match="the transactional producer failed") as failed:
            await producer.init_transactions()
        assert isinstance(failed.value.__cause__, InvalidTransactionTimeout)


async def test_starting_over_is_one_round_trip(bootstrap: str, new_topic: NewName) -> None:
    """What a task of a batch engine does before each attempt."""
    topic = new_topic()
    with FaultProxy(bootstrap) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers, transactional_id=topic
        ) as producer:
            await producer.init_transactions()
            before = len(proxy.requests)
            await producer.init_transactions()
            assert [seen.key for seen in proxy.requests[before:]] == [ApiKey.INIT_PRODUCER_ID]


async def test_before_2_5_a_producer_that_left_a_hole_must_start_over(
    bootstrap: str, new_topic: NewName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its epoch cannot be renewed there, nor is a member of a group told from a zombie."""
    real = ApiVersionTable.choose

    def choose(table: ApiVersionTable, key: ApiKey, at_most: int = 2**15) -> int:
        limits = {ApiKey.INIT_PRODUCER_ID: 1, ApiKey.TXN_OFFSET_COMMIT: 2}
        return min(real(table, key, at_most), limits.get(key, at_most))

    monkeypatch.setattr(ApiVersionTable, "choose", choose)
    monkeypatch.setattr(ApiVersionTable, "supports", lambda *_: False)
    topic = new_topic()
    offsets = {TopicPartition(topic, 0): OffsetAndMetadata(1)}
    async with Producer(
        bootstrap_servers=bootstrap, transactional_id=topic, max_request_size=2_000_000
    ) as producer:
        async with producer.transaction():
            await producer.send(topic, b"first")
            await producer.send_offsets_to_transaction(offsets, ConsumerGroupMetadata(f"g-{topic}"))
        await producer.begin_transaction()
        member = ConsumerGroupMetadata(f"g-{topic}", 3, "member")
        with pytest.raises(UnsupportedVersion, match="does not check group members"):
            await producer.send_offsets_to_transaction(offsets, member)
        await producer.init_transactions()
        await producer.begin_transaction()
        too_large = await producer.send(topic, b"x" * 1_500_000)
        with pytest.raises(MessageTooLarge):
            await too_large
        await producer.abort_transaction()
        with pytest.raises(TransactionalProducerFailed, match=r"call init_transactions\(\)"):
            await producer.begin_transaction()
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send(topic, b"second")
    assert await committed_values(bootstrap, topic) == [b"first", b"second"]
