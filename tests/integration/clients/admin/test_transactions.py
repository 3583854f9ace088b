"""Admin: transactions and producers, listed, described, ended by force."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from millstream.clients import Admin, NewTopic, Producer, TopicPartition
from millstream.clients.admin import AbortTransactionSpec, OffsetSpec, TransactionState
from millstream.errors import (
    InvalidProducerEpoch,
    InvalidRequest,
    KafkaError,
    NotLeaderOrFollower,
    TransactionalIdNotFound,
    UnknownTopicOrPartition,
)
from tests.patience import eventually

NewName = Callable[[], str]


@pytest.fixture
async def admin(bootstrap: str) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=bootstrap) as client:
        yield client


@pytest.fixture
async def partition(admin: Admin, new_topic: NewName) -> TopicPartition:
    name = new_topic()
    (await admin.create_topics([NewTopic(name, 1)])).raise_errors()

    async def is_there() -> bool:
        return not (await admin.describe_topics([name])).errors()

    await eventually(is_there)
    return TopicPartition(name, 0)


@pytest.fixture
async def open_transaction(
    bootstrap: str, partition: TopicPartition, new_topic: NewName
) -> AsyncIterator[str]:
    """One record is in it; whoever ends it, the producer does not mind."""
    transactional_id = new_topic()
    async with Producer(bootstrap_servers=bootstrap, transactional_id=transactional_id) as earlier:
        await earlier.init_transactions()  # so that the epoch is above 0
    producer = Producer(bootstrap_servers=bootstrap, transactional_id=transactional_id)
    await producer.init_transactions()
    await producer.begin_transaction()
    await (await producer.send(partition.topic, b"x"))
    yield transactional_id
    with contextlib.suppress(KafkaError):  # the test fenced it, perhaps
        await producer.close(timeout_ms=2000)


async def test_an_open_transaction_is_listed_and_described(
    admin: Admin, partition: TopicPartition, open_transaction: str
) -> None:
    described = await admin.describe_transactions([open_transaction, "nobody"])
    transaction = described.result(open_transaction)
    assert transaction.state is TransactionState.ONGOING
    assert transaction.partitions == {partition}
    assert (transaction.timeout_ms, transaction.producer_epoch >= 0) == (60_000, True)
    assert transaction.start_time_ms is not None
    assert isinstance(described["nobody"], TransactionalIdNotFound)

    async def listed(**filters: object) -> list[str]:
        every = await admin.list_transactions(**filters)
        return [t.transactional_id for t in every if t.transactional_id == open_transaction]

    assert await listed() == [open_transaction]
    assert await listed(states=[TransactionState.ONGOING]) == [open_transaction]
    assert await listed(states=[TransactionState.COMPLETE_ABORT]) == []
    assert await listed(producer_ids=[transaction.producer_id]) == [open_transaction]
    assert await listed(producer_ids=[transaction.producer_id + 10_000_000]) == []
    assert await listed(transactional_id_pattern=f"{open_transaction[:-1]}.") == [open_transaction]
    assert await listed(transactional_id_pattern="no") == []
    assert await listed(min_duration_ms=3_600_000) == []
    with pytest.raises(InvalidRequest, match="Dreaming"):
        await admin.list_transactions(states=["Dreaming"])


async def test_producers_of_a_partition_are_described(
    admin: Admin, partition: TopicPartition, open_transaction: str
) -> None:
    nowhere = TopicPartition("nowhere", 0)
    described = await admin.describe_producers([partition, nowhere])
    (producer,) = described.result(partition)
    transaction = (await admin.describe_transactions([open_transaction])).result(open_transaction)
    assert producer.producer_id == transaction.producer_id
    assert (producer.last_sequence, producer.transaction_start_offset) == (0, 0)
    assert isinstance(described[nowhere], UnknownTopicOrPartition)
    (node,) = (await admin.describe_cluster()).nodes
    on_broker = await admin.describe_producers([partition], broker_id=node.node_id)
    assert on_broker.result(partition) == [producer]
    missing = await admin.describe_producers([nowhere], broker_id=node.node_id)
    assert isinstance(missing[nowhere], (UnknownTopicOrPartition, NotLeaderOrFollower))


async def test_a_fenced_producer_has_its_transaction_aborted(
    admin: Admin, partition: TopicPartition, open_transaction: str
) -> None:
    before = (await admin.describe_transactions([open_transaction])).result(open_transaction)
    fenced = (await admin.fence_producers([open_transaction])).result(open_transaction)
    assert (fenced.producer_id, fenced.producer_epoch) > (
        before.producer_id,
        before.producer_epoch,
    )
    after = (await admin.describe_transactions([open_transaction])).result(open_transaction)
    assert after.state in {TransactionState.EMPTY, TransactionState.COMPLETE_ABORT}
    assert after.start_time_ms is None
    assert await stable_end(admin, partition) == 2  # the record and the marker


async def test_a_transaction_is_terminated_by_force(
    admin: Admin, partition: TopicPartition, open_transaction: str
) -> None:
    assert await stable_end(admin, partition) == 0
    await admin.force_terminate_transaction(open_transaction)
    assert await stable_end(admin, partition) == 2


async def test_a_transaction_is_aborted_in_one_partition(
    admin: Admin, partition: TopicPartition, open_transaction: str
) -> None:
    """What a hanging transaction needs; this one hangs for nobody but us."""
    (producer,) = (await admin.describe_producers([partition])).result(partition)
    spec = AbortTransactionSpec(
        partition, producer.producer_id, producer.producer_epoch, producer.coordinator_epoch or 0
    )
    with pytest.raises(InvalidProducerEpoch, match=str(partition)):
        await admin.abort_transaction(spec._replace(producer_epoch=producer.producer_epoch - 1))
    await admin.abort_transaction(spec)
    assert await stable_end(admin, partition) == 2
    (producer,) = (await admin.describe_producers([partition])).result(partition)
    assert producer.transaction_start_offset is None


async def test_a_transaction_that_its_coordinator_forgot_is_found(
    admin: Admin, partition: TopicPartition, open_transaction: str
) -> None:
    """The coordinator still knows this one, so it does not hang, however old it is."""
    found = await admin.find_hanging_transactions([partition.topic], max_transaction_timeout_ms=0)
    assert found == {partition: []}
    assert open_transaction


async def stable_end(admin: Admin, partition: TopicPartition) -> int:
    ends = await admin.list_offsets({partition: OffsetSpec.LATEST}, read_committed=True)
    return ends.result(partition).offset
