"""Transactions: list and describe them, end them by force, find those that hang (KIP-664)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from millstream.clients.admin.core.call import ONE_BY_ONE, Asked, Call
from millstream.clients.admin.core.results import Results, check, item_error
from millstream.clients.admin.core.routes import TRANSACTION_COORDINATOR, Leader, Node, itself
from millstream.clients.admin.driver import AdminCalls
from millstream.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidRequest,
    KafkaError,
)
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import TransactionState
from millstream.protocol.generated.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from millstream.protocol.generated.describe_transactions import (
    TransactionState as DescribedTransaction,
)
from millstream.protocol.generated.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from millstream.protocol.generated.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from millstream.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

_LAST_STABLE_INIT: Final = 5


class TransactionListing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: TransactionState
    coordinator: int


class TransactionDescription(NamedTuple):
    """`start_time_ms` is None while no transaction is open; `coordinator` is a node id."""

    coordinator: int | None
    state: TransactionState
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int | None
    partitions: frozenset[TopicPartition]


class FencedProducer(NamedTuple):
    """The producer id and epoch that the next producer of the transactional id goes on from."""

    producer_id: int
    producer_epoch: int


class AbortTransactionSpec(NamedTuple):
    """An open transaction as `describe_producers` shows it."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


async def list_transactions(
    admin: AdminCalls,
    *,
    states: Collection[str] = (),
    producer_ids: Collection[int] = (),
    min_duration_ms: int = -1,
    transactional_id_pattern: str | None = None,
    timeout_ms: int | None = None,
) -> list[TransactionListing]:
    """Lists the transactions of all coordinators, sorted by id (Kafka 3.0).

    `min_duration_ms` (3.8) leaves younger ones out, `transactional_id_pattern` (4.1, RE2) those with other ids.
    Raises the error of a broker that did not answer.
    """

    def build(_: Asked[int]) -> ListTransactionsRequest:
        return ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=min_duration_ms,
            transactional_id_pattern=transactional_id_pattern,
        )

    def read(
        response: ListTransactionsResponse, asked: Asked[int]
    ) -> dict[int, list[TransactionListing]]:
        check(response.error_code, "list_transactions")
        if response.unknown_state_filters:
            raise InvalidRequest(
                f"the broker knows no transaction state {', '.join(response.unknown_state_filters)}"
            )
        (node_id,) = asked.keys
        listed = [
            TransactionListing(
                each.transactional_id,
                each.producer_id,
                TransactionState.of(each.transaction_state),
                node_id,
            )
            for each in response.transaction_states
        ]
        return {node_id: listed}

    call = Call(
        api=ApiKey.LIST_TRANSACTIONS,
        response=ListTransactionsResponse,
        route=Node[int](itself),
        build=build,
        read=read,
        retries=(CoordinatorLoadInProgress, CoordinatorNotAvailable),
    )
    deadline_ms = admin._driver.deadline(timeout_ms)
    found = (await admin._driver.run_on_all_brokers(call, deadline_ms)).raise_errors()
    return sorted(each for node_id in found for each in found.result(node_id))


async def describe_transactions(
    admin: AdminCalls, transactional_ids: Iterable[str], *, timeout_ms: int | None = None
) -> Results[str, TransactionDescription]:
    """Describes transactions by id (Kafka 3.0)."""
    call = Call(
        api=ApiKey.DESCRIBE_TRANSACTIONS,
        response=DescribeTransactionsResponse,
        route=TRANSACTION_COORDINATOR,
        build=lambda asked: DescribeTransactionsRequest(transactional_ids=asked.keys),
        read=lambda response, asked: {
            each.transactional_id: _described(each, asked.node_id)
            for each in response.transaction_states
        },
    )
    return await admin._driver.run(call, transactional_ids, admin._driver.deadline(timeout_ms))


async def fence_producers(
    admin: AdminCalls, transactional_ids: Iterable[str], *, timeout_ms: int | None = None
) -> Results[str, FencedProducer]:
    """Fence the producers that use these ids now, and abort what they have open."""

    def read(
        response: InitProducerIdResponse, asked: Asked[str]
    ) -> dict[str, FencedProducer | KafkaError]:
        (transactional_id,) = asked.keys
        check(response.error_code, transactional_id)
        return {transactional_id: FencedProducer(response.producer_id, response.producer_epoch)}

    call = Call(
        api=ApiKey.INIT_PRODUCER_ID,
        response=InitProducerIdResponse,
        route=TRANSACTION_COORDINATOR,
        build=lambda asked: InitProducerIdRequest(
            transactional_id=asked.keys[0], transaction_timeout_ms=asked.timeout_ms
        ),
        read=read,
        batched_since=ONE_BY_ONE,
        version_max=_LAST_STABLE_INIT,
        retries=(ConcurrentTransactions,),
    )
    return await admin._driver.run(call, transactional_ids, admin._driver.deadline(timeout_ms))


async def force_terminate_transaction(
    admin: AdminCalls, transactional_id: str, *, timeout_ms: int | None = None
) -> None:
    """Abort what is open under this id, and fence its producer; also a prepared transaction (KIP-939)."""
    fenced = await fence_producers(admin, [transactional_id], timeout_ms=timeout_ms)
    fenced.raise_errors()


async def abort_transaction(
    admin: AdminCalls, transaction: AbortTransactionSpec, *, timeout_ms: int | None = None
) -> None:
    """Write an abort marker into one partition: for a transaction that hangs, which no coordinator would end.

    Raises InvalidProducerEpoch when the producer has a newer epoch there.
    """
    partition = transaction.partition

    def build(asked: Asked[TopicPartition]) -> WriteTxnMarkersRequest:
        topics = [WritableTxnMarkerTopic(each.topic, [each.partition]) for each in asked.keys]
        return WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=transaction.producer_id,
                    producer_epoch=transaction.producer_epoch,
                    transaction_result=False,
                    topics=topics,
                    coordinator_epoch=transaction.coordinator_epoch,
                )
            ]
        )

    def read(
        response: WriteTxnMarkersResponse, _: Asked[TopicPartition]
    ) -> dict[TopicPartition, KafkaError | bool]:
        return {
            (key := TopicPartition(topic.name, each.partition_index)): item_error(
                each.error_code, key
            )
            if each.error_code
            else True
            for marker in response.markers
            for topic in marker.topics
            for each in topic.partitions
        }

    call = Call(
        api=ApiKey.WRITE_TXN_MARKERS,
        response=WriteTxnMarkersResponse,
        route=Leader[TopicPartition](itself),
        build=build,
        read=read,
    )
    await admin._driver.one(call, partition, admin._driver.deadline(timeout_ms))


def _described(
    transaction: DescribedTransaction, coordinator: int | None
) -> TransactionDescription | KafkaError:
    if transaction.error_code:
        return item_error(transaction.error_code, transaction.transactional_id)
    start_ms = transaction.transaction_start_time_ms
    return TransactionDescription(
        coordinator,
        TransactionState.of(transaction.transaction_state),
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.transaction_timeout_ms,
        start_ms if start_ms >= 0 else None,
        frozenset(
            TopicPartition(topic.topic, partition)
            for topic in transaction.topics
            for partition in topic.partitions
        ),
    )
