"""Producers as partitions remember them, and transactions among them that hang (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, item_error
from millstream.clients.admin.core.routes import Leader, Node, itself
from millstream.clients.admin.driver import AdminCalls
from millstream.clients.admin.groups.offsets import by_topic
from millstream.clients.admin.topics.descriptions import describe_topics
from millstream.clients.admin.topics.topics import list_topics
from millstream.clients.admin.transactions.transactions import (
    TransactionDescription,
    describe_transactions,
    list_transactions,
)
from millstream.errors import (
    KafkaError,
    LeaderNotAvailable,
    TransactionalIdNotFound,
    UnknownTopicOrPartition,
)
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
)

MAX_TRANSACTION_TIMEOUT_MS: Final = 15 * 60 * 1000
"""Kafka's default of transaction.max.timeout.ms."""


class ProducerState(NamedTuple):
    """`transaction_start_offset` is None while no transaction is open; `coordinator_epoch` before
    the first one ended.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int | None
    transaction_start_offset: int | None


class OpenTransaction(NamedTuple):
    partition: TopicPartition
    producer: ProducerState


async def describe_producers(
    admin: AdminCalls,
    partitions: Iterable[TopicPartition],
    *,
    broker_id: int | None = None,
    timeout_ms: int | None = None,
) -> Results[TopicPartition, list[ProducerState]]:
    """Describes the producers of each partition (Kafka 2.8), as its leader sees them or the replica on `broker_id`."""
    leaders = Leader[TopicPartition](itself)

    def build(asked: Asked[TopicPartition]) -> DescribeProducersRequest:
        topics = by_topic(asked.keys)
        return DescribeProducersRequest(topics=[TopicRequest(*topic) for topic in topics.items()])

    def read(
        response: DescribeProducersResponse, _: Asked[TopicPartition]
    ) -> dict[TopicPartition, list[ProducerState] | KafkaError]:
        return {
            (key := TopicPartition(topic.name, each.partition_index)): _producers(key, each)
            for topic in response.topics
            for each in topic.partitions
        }

    call = Call(
        api=ApiKey.DESCRIBE_PRODUCERS,
        response=DescribeProducersResponse,
        route=leaders if broker_id is None else Node[TopicPartition](lambda _: broker_id),
        build=build,
        read=read,
    )
    return await admin._driver.run(call, partitions, admin._driver.deadline(timeout_ms))


async def find_hanging_transactions(
    admin: AdminCalls,
    topics: Iterable[str] | None = None,
    *,
    broker_id: int | None = None,
    max_transaction_timeout_ms: int = MAX_TRANSACTION_TIMEOUT_MS,
    timeout_ms: int | None = None,
) -> Results[TopicPartition, list[OpenTransaction]]:
    """Finds in each partition the transactions that are open there and that no coordinator will end, as
    `kafka-transactions find-hanging`.

    Only those older than `max_transaction_timeout_ms` are looked at: a coordinator ends the others by itself. A
    partition without a leader, or with a transaction of which its coordinator cannot be asked, has its error: nobody
    knows whether anything hangs there. `timeout_ms` is for each of the requests that this takes.
    """
    wanted = topics
    if wanted is None:
        wanted = await list_topics(admin, include_internal=True, timeout_ms=timeout_ms)
    described = await describe_topics(admin, wanted, timeout_ms=timeout_ms)
    found: Results[TopicPartition, list[OpenTransaction]] = Results()
    for name in described:
        if topics is None and isinstance(described[name], UnknownTopicOrPartition):
            continue  # it was deleted meanwhile
        for each in described.result(name).partitions:
            partition = TopicPartition(name, each.partition)
            if broker_id is None and each.leader < 0:
                found[partition] = LeaderNotAvailable(f"{partition} has no leader to be asked")
            elif broker_id is None or broker_id in each.replicas:
                found[partition] = []
    asked = [partition for partition, told in found.items() if not isinstance(told, KafkaError)]
    producers = await describe_producers(admin, asked, broker_id=broker_id, timeout_ms=timeout_ms)
    oldest_ms = admin._driver.now_ms() - max_transaction_timeout_ms
    suspects: dict[TopicPartition, list[OpenTransaction]] = {}
    for partition, told in producers.items():
        if isinstance(told, KafkaError):
            found[partition] = told
        elif old := _open_since(oldest_ms, partition, told):
            suspects[partition] = old
    known = await _known_of(admin, suspects.values(), timeout_ms) if suspects else {}
    for partition, old in suspects.items():
        try:
            found[partition] = hanging(old, known)
        except KafkaError as error:
            found[partition] = error
    return found


def _open_since(
    oldest_ms: int, partition: TopicPartition, producers: Iterable[ProducerState]
) -> list[OpenTransaction]:
    return [
        OpenTransaction(partition, each)
        for each in producers
        if each.transaction_start_offset is not None and each.last_timestamp_ms < oldest_ms
    ]


async def _known_of(
    admin: AdminCalls, suspects: Iterable[Iterable[OpenTransaction]], timeout_ms: int | None
) -> dict[int, TransactionDescription | KafkaError]:
    """Returns what coordinators say of these producers, by id. Raises the error of a broker that did not answer: what
    it coordinates would look as if it hung.
    """
    producer_ids = {each.producer.producer_id for some in suspects for each in some}
    listed = await list_transactions(admin, producer_ids=producer_ids, timeout_ms=timeout_ms)
    ids = [each.transactional_id for each in listed]
    described = await describe_transactions(admin, ids, timeout_ms=timeout_ms)
    return {each.producer_id: described[each.transactional_id] for each in listed}


def hanging(
    suspects: Iterable[OpenTransaction], known: Mapping[int, TransactionDescription | KafkaError]
) -> list[OpenTransaction]:
    """Returns those whose producer no coordinator knows, or whose partition is not in its transaction.

    Raises the error of a coordinator that did not say.
    """
    found = []
    for each in suspects:
        transaction = known.get(each.producer.producer_id)
        if isinstance(transaction, KafkaError) and not isinstance(
            transaction, TransactionalIdNotFound
        ):
            raise transaction
        if (
            not isinstance(transaction, TransactionDescription)
            or each.partition not in transaction.partitions
        ):
            found.append(each)
    return found


def _producers(key: TopicPartition, found: PartitionResponse) -> list[ProducerState] | KafkaError:
    if found.error_code:
        return item_error(found.error_code, key, found.error_message)
    return [
        ProducerState(
            each.producer_id,
            each.producer_epoch,
            each.last_sequence,
            each.last_timestamp,
            each.coordinator_epoch if each.coordinator_epoch >= 0 else None,
            each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None,
        )
        for each in found.active_producers
    ]
