"""Transactions end to end: what is committed is read, once; what is aborted is not; who is replaced is fenced.

Each test runs in both flows: partitions joining by themselves (transaction.version 2), and by requests of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
from collections.abc import Callable

import pytest

from millstream.clients import (
    Consumer,
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    Producer,
    TopicPartition,
    blocking,
)
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.producer.transaction.core.errors import (
    TransactionAborted,
    TransactionFailed,
)
from millstream.errors import MessageTooLarge, ProducerFenced
from millstream.net.client.core.api_versions import ApiVersionTable
from millstream.protocol.generated.api_versions import ApiVersionsResponse
from tests.patience import LONG_ENOUGH_S

NewName = Callable[[], str]


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


async def committed_values(bootstrap: str, topic: str) -> list[bytes]:
    """All that a read_committed reader sees up to the end."""
    partition = TopicPartition(topic, 0)
    settings = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        end = (await consumer.end_offsets([partition]))[
            partition
        ]  # markers may still be on their way
    async with Consumer(bootstrap_servers=bootstrap, **settings) as consumer:
        consumer.assign([partition])
        values = []
        async with asyncio.timeout(LONG_ENOUGH_S):
            while await consumer.position(partition) < end:
                values += [record.value for record in await consumer.poll(timeout_ms=100)]
    return values


async def stable_end(bootstrap: str, topic: str) -> int:
    """How far readers with read_committed may read."""
    partition = TopicPartition(topic, 0)
    async with Consumer(bootstrap_servers=bootstrap, isolation_level="read_committed") as consumer:
        return (await consumer.end_offsets([partition]))[partition]


async def test_committed_transactions_are_read_and_aborted_ones_are_not(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    async with Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        await producer.init_transactions()
        for number in range(6):
            await producer.begin_transaction()
            delivery = await producer.send(topic, b"%d" % number)
            if number % 2:
                await delivery
                await producer.abort_transaction()
            else:
                await producer.commit_transaction()
                assert delivery.is_done
    assert await committed_values(bootstrap, topic) == [b"0", b"2", b"4"]


async def test_a_block_commits_and_an_exception_in_it_aborts(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    async with Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        async with producer.transaction():
            await producer.send(topic, b"good")
        lost = None
        with contextlib.suppress(ZeroDivisionError):
            async with producer.transaction():
                lost = await producer.send(topic, b"bad")
                raise ZeroDivisionError
        assert lost is not None
        with pytest.raises(TransactionAborted):
            await lost
        async with producer.transaction():
            await producer.send(topic, b"good again")
        async with producer.transaction():
            pass  # nothing to tell anybody
    assert await committed_values(bootstrap, topic) == [b"good", b"good again"]


async def test_offsets_are_committed_with_the_transaction_or_not_at_all(
    bootstrap: str, new_topic: NewName
) -> None:
    topic, source = new_topic(), TopicPartition(new_topic(), 0)
    group = f"g-{topic}"
    async with (
        Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer,
        Consumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            enable_auto_commit=False,
            isolation_level="read_committed",  # waits for markers that are on their way
        ) as consumer,
    ):
        await producer.partitions_for(source.topic)
        async with producer.transaction():
            await producer.send(topic, b"x")
            await producer.send_offsets_to_transaction(
                {source: OffsetAndMetadata(7, "note")}, ConsumerGroupMetadata(group)
            )
        assert (await consumer.committed([source]))[source] == OffsetAndMetadata(7, "note")
        with contextlib.suppress(ZeroDivisionError):
            async with producer.transaction():
                await producer.send_offsets_to_transaction(
                    {source: OffsetAndMetadata(9)}, ConsumerGroupMetadata(group)
                )
                raise ZeroDivisionError
        assert (await consumer.committed([source]))[source] == OffsetAndMetadata(7, "note")


async def test_a_newer_producer_fences_the_older_which_may_take_over_again(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    async with (
        Producer(bootstrap_servers=bootstrap, transactional_id=topic) as older,
        Producer(bootstrap_servers=bootstrap, transactional_id=topic) as newer,
    ):
        await older.init_transactions()
        await older.begin_transaction()
        await (await older.send(topic, b"of the older"))
        async with newer.transaction():
            await newer.send(topic, b"of the newer")
        with pytest.raises(ProducerFenced, match="has taken over; close this one"):
            await older.commit_transaction()
        with pytest.raises(ProducerFenced):
            await older.begin_transaction()
        await older.init_transactions()
        async with older.transaction():
            await older.send(topic, b"of the older, again")
        with pytest.raises(ProducerFenced):
            async with newer.transaction():
                await newer.send(topic, b"too late")
    assert await committed_values(bootstrap, topic) == [b"of the newer", b"of the older, again"]


async def test_a_record_that_fails_fails_its_transaction(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    settings = {"max_request_size": 2_000_000, "linger_ms": 0}
    async with Producer(
        bootstrap_servers=bootstrap, transactional_id=topic, **settings
    ) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send(topic, b"small"))
        delivery = await producer.send(topic, b"x" * 1_500_000)
        with pytest.raises(MessageTooLarge):
            await delivery
        with pytest.raises(TransactionFailed, match="call abort_transaction"):
            await producer.send(topic, b"more")
        with pytest.raises(TransactionFailed):
            await producer.commit_transaction()
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send(topic, b"the next one")
    assert await committed_values(bootstrap, topic) == [b"the next one"]


async def test_calls_in_the_wrong_order_say_which_call_is_missing(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    async with Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        with pytest.raises(IllegalState, match=r"call init_transactions\(\) before"):
            await producer.begin_transaction()
        await producer.init_transactions()
        with pytest.raises(IllegalState, match=r"call begin_transaction\(\) before you send"):
            await producer.send(topic, b"x")
        with pytest.raises(IllegalState, match="nothing to commit"):
            await producer.commit_transaction()
        await producer.begin_transaction()
        with pytest.raises(IllegalState, match=r"call abort_transaction\(\) before init"):
            await producer.init_transactions()
    async with Producer(bootstrap_servers=bootstrap) as producer:
        with pytest.raises(IllegalState, match="give it a transactional_id"):
            await producer.begin_transaction()


async def test_closing_aborts_what_is_open(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    async with Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send(topic, b"x"))
    assert await committed_values(bootstrap, topic) == []  # it would wait for an open one


async def test_what_several_producers_write_in_one_transaction_is_read_when_it_is_committed(
    bootstrap: str, new_topic: NewName
) -> None:
    topics, settings = (new_topic(), new_topic()), {"transactional_id": new_topic()}
    async with contextlib.AsyncExitStack() as stack:
        first, *others = [
            await stack.enter_async_context(Producer(bootstrap_servers=bootstrap, **settings))
            for _ in range(3)
        ]
        for round_number in range(2):
            await first.init_transactions()
            await first.begin_transaction()
            shared = pickle.loads(pickle.dumps(await first.share_transaction()))
            for topic, other in zip(topics, others, strict=True):
                await other.join_transaction(shared)
                await other.send(topic, b"%d" % round_number)
                await other.flush()
                assert await stable_end(bootstrap, topic) == 2 * round_number, "record and marker"
            await first.commit_transaction()
        for topic in topics:
            assert await committed_values(bootstrap, topic) == [b"0", b"1"]


async def test_who_starts_over_shuts_out_those_who_joined(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    settings = {"bootstrap_servers": bootstrap, "transactional_id": topic}
    async with Producer(**settings) as first, Producer(**settings) as late:
        await first.init_transactions()
        await first.begin_transaction()
        await late.join_transaction(await first.share_transaction())
        await late.send(topic, b"lost")
        await late.flush()
        await first.init_transactions()
        await late.send(topic, b"late")
        with pytest.raises((TransactionFailed, ProducerFenced)):
            await late.flush()
        async with first.transaction():
            await first.send(topic, b"kept")
    assert await committed_values(bootstrap, topic) == [b"kept"]


async def test_what_is_not_sent_in_a_joined_transaction_is_not_written_in_the_next(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    settings = {"bootstrap_servers": bootstrap, "transactional_id": topic}
    async with Producer(**settings) as first, Producer(**settings, linger_ms=60_000) as other:
        await first.init_transactions()
        await first.begin_transaction()
        await other.join_transaction(await first.share_transaction())
        left = await other.send(topic, b"of the first")
        await first.init_transactions()
        await first.begin_transaction()
        await other.join_transaction(await first.share_transaction())
        await other.send(topic, b"of the second")
        await other.flush()
        await first.commit_transaction()
        with pytest.raises(TransactionAborted):
            await left
    assert await committed_values(bootstrap, topic) == [b"of the second"]


async def test_a_transaction_is_ended_by_the_producer_that_takes_it_over(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    settings = {"bootstrap_servers": bootstrap, "transactional_id": topic}
    for is_kept in (True, False):
        async with Producer(**settings) as writer:
            await writer.init_transactions()
            await writer.begin_transaction()
            await writer.send(topic, b"kept" if is_kept else b"aborted")
            shared = pickle.loads(pickle.dumps(await writer.hand_over_transaction()))
        async with Producer(**settings) as ender:
            await ender.take_over_transaction(shared)
            await (ender.commit_transaction() if is_kept else ender.abort_transaction())
    assert await committed_values(bootstrap, topic) == [b"kept"]


def test_the_blocking_twin_has_transactions_too(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    with blocking.Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        with producer.transaction():
            producer.send(topic, b"good")
        with contextlib.suppress(ZeroDivisionError), producer.transaction():
            producer.send(topic, b"bad")
            raise ZeroDivisionError
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"good again")
        producer.send_offsets_to_transaction(
            {TopicPartition(topic, 0): OffsetAndMetadata(1)}, ConsumerGroupMetadata(f"g-{topic}")
        )
        producer.commit_transaction()
        producer.begin_transaction()
        producer.abort_transaction()
    assert asyncio.run(committed_values(bootstrap, topic)) == [b"good", b"good again"]
