"""Producers as partitions remember them, and transactions among them that hang (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterable
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
from millstream.errors import KafkaError
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
) -> list[OpenTransaction]:
    """Finds transactions that are open in a partition and that no coordinator will end, as
    `kafka-transactions find-hanging`.

    Only those older than `max_transaction_timeout_ms` are looked at: a coordinator ends the others by itself.
    `timeout_ms` is for each of the requests that this takes.
    """
    names = await list_topics(admin, include_internal=True, timeout_ms=timeout_ms)
    described = await describe_topics(
        admin, names if topics is None else topics, timeout_ms=timeout_ms
    )
    partitions = [
        TopicPartition(name, each.partition)
        for name in described
        for each in described.result(name).partitions
        if broker_id is None or broker_id in each.replicas
    ]
    producers = await describe_producers(
        admin, partitions, broker_id=broker_id, timeout_ms=timeout_ms
    )
    oldest_ms = admin._driver.now_ms() - max_transaction_timeout_ms
    producers.raise_errors()
    suspects = [
        OpenTransaction(partition, producer)
        for partition in producers
        for producer in producers.result(partition)
        if producer.transaction_start_offset is not None and producer.last_timestamp_ms < oldest_ms
    ]
    if not suspects:
        return []
    listed = await list_transactions(
        admin, producer_ids={each.producer.producer_id for each in suspects}, timeout_ms=timeout_ms
    )
    ids = [each.transactional_id for each in listed]
    known = await describe_transactions(admin, ids, timeout_ms=timeout_ms)
    return hanging(suspects, known.values())


def hanging(
    suspects: Iterable[OpenTransaction], known: Iterable[TransactionDescription | KafkaError]
) -> list[OpenTransaction]:
    """Returns those whose producer no coordinator knows, or whose partition is not in its transaction."""
    coordinated: dict[int, frozenset[TopicPartition]] = {}
    for transaction in known:
        if not isinstance(transaction, KafkaError):
            coordinated[transaction.producer_id] = transaction.partitions
    return [
        each
        for each in suspects
        if each.partition not in coordinated.get(each.producer.producer_id, ())
    ]


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
