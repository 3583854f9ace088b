"""How errors of transactions are told to clients of older versions, and responses that say a whole request failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from millstream.errors import InvalidProducerEpoch, KafkaError, ProducerFenced
from millstream.model import TopicPartition
from millstream.protocol.generated import (
    add_partitions_to_txn,
    describe_producers,
    describe_transactions,
    txn_offset_commit,
    write_txn_markers,
)

_BATCHED_VERSION: Final = 4


def error_code(error: KafkaError, version: int, knows_fenced_from: int) -> int:
    """PRODUCER_FENCED came late to each API; before, a fenced producer was told INVALID_PRODUCER_EPOCH (KIP-588)."""
    if isinstance(error, ProducerFenced) and version < knows_fenced_from:
        return InvalidProducerEpoch.code
    return error.code


def partitions_of(
    topics: Iterable[add_partitions_to_txn.AddPartitionsToTxnTopic],
) -> Iterator[TopicPartition]:
    """One after another, as there may be very many."""
    return (TopicPartition(topic.name, number) for topic in topics for number in topic.partitions)


def add_partitions_failed(
    request: add_partitions_to_txn.AddPartitionsToTxnRequest, version: int, error: KafkaError
) -> add_partitions_to_txn.AddPartitionsToTxnResponse:
    if version >= _BATCHED_VERSION:
        return add_partitions_to_txn.AddPartitionsToTxnResponse(error_code=error.code)
    return add_partitions_to_txn.AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            add_partitions_to_txn.AddPartitionsToTxnTopicResult(
                topic.name,
                [
                    add_partitions_to_txn.AddPartitionsToTxnPartitionResult(number, error.code)
                    for number in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )


def txn_offset_commit_failed(
    request: txn_offset_commit.TxnOffsetCommitRequest, error: KafkaError
) -> txn_offset_commit.TxnOffsetCommitResponse:
    return txn_offset_commit.TxnOffsetCommitResponse(
        topics=[
            txn_offset_commit.TxnOffsetCommitResponseTopic(
                topic.name,
                [
                    txn_offset_commit.TxnOffsetCommitResponsePartition(
                        partition.partition_index, error.code
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def write_txn_markers_failed(
    request: write_txn_markers.WriteTxnMarkersRequest, error: KafkaError
) -> write_txn_markers.WriteTxnMarkersResponse:
    return write_txn_markers.WriteTxnMarkersResponse(
        markers=[
            write_txn_markers.WritableTxnMarkerResult(
                marker.producer_id,
                [
                    write_txn_markers.WritableTxnMarkerTopicResult(
                        topic.name,
                        [
                            write_txn_markers.WritableTxnMarkerPartitionResult(number, error.code)
                            for number in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def describe_transactions_failed(
    request: describe_transactions.DescribeTransactionsRequest, error: KafkaError
) -> describe_transactions.DescribeTransactionsResponse:
    return describe_transactions.DescribeTransactionsResponse(
        transaction_states=[
            describe_transactions.TransactionState(
                error_code=error.code, transactional_id=transactional_id
            )
            for transactional_id in request.transactional_ids
        ]
    )


def describe_producers_failed(
    request: describe_producers.DescribeProducersRequest, error: KafkaError
) -> describe_producers.DescribeProducersResponse:
    return describe_producers.DescribeProducersResponse(
        topics=[
            describe_producers.TopicResponse(
                topic.name,
                [
                    describe_producers.PartitionResponse(number, error.code, str(error))
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )
