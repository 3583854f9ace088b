"""Which open transactions hang, as kafka-transactions find-hanging decides it, and of which partitions nobody can say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from millstream.clients.admin import (
    OpenTransaction,
    ProducerState,
    TransactionDescription,
    TransactionState,
)
from millstream.clients.admin.transactions.producers import find_hanging_transactions, hanging
from millstream.errors import (
    CoordinatorLoadInProgress,
    KafkaError,
    LeaderNotAvailable,
    TransactionalIdNotFound,
)
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    TopicResponse,
)
from millstream.protocol.generated.describe_producers import ProducerState as Described
from millstream.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from millstream.protocol.generated.list_transactions import ListTransactionsResponse
from millstream.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.unit.clients.admin.fake_cluster import Answer, FakeCluster

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
KNOWN = TransactionDescription(1, TransactionState.ONGOING, 1, 0, 60_000, 0, frozenset({FIRST}))


class FakeAdmin:
    def __init__(self, cluster: FakeCluster) -> None:
        self._driver = cluster.driver()


def opened(producer_id: int, partition: TopicPartition) -> OpenTransaction:
    return OpenTransaction(partition, ProducerState(producer_id, 0, 0, 0, 0, 5))


@pytest.mark.parametrize("known", [{}, {1: TransactionalIdNotFound()}])
def test_a_transaction_hangs_that_no_coordinator_knows(known: Mapping[int, KafkaError]) -> None:
    assert hanging([opened(1, FIRST)], known) == [opened(1, FIRST)]


def test_a_transaction_hangs_in_a_partition_that_it_has_no_more() -> None:
    assert hanging([opened(1, FIRST), opened(1, SECOND)], {1: KNOWN}) == [opened(1, SECOND)]


def test_a_transaction_whose_coordinator_does_not_say_is_not_told_to_hang() -> None:
    """Else abort-hanging would write a marker into one that goes on."""
    with pytest.raises(CoordinatorLoadInProgress):
        hanging([opened(1, FIRST)], {1: CoordinatorLoadInProgress()})


def led_by(*leader_ids: int) -> tuple[Answer, Answer]:
    """The partitions of topic t, as those who describe topics and those who look for leaders see them."""

    def described(_node_id: int, _request: Message) -> DescribeTopicPartitionsResponse:
        partitions = [
            DescribeTopicPartitionsResponsePartition(partition_index=index, leader_id=leader_id)
            for index, leader_id in enumerate(leader_ids)
        ]
        topic = DescribeTopicPartitionsResponseTopic(name="t", partitions=partitions)
        return DescribeTopicPartitionsResponse(topics=[topic])

    def located(_node_id: int, _request: Message) -> MetadataResponse:
        partitions = [
            MetadataResponsePartition(partition_index=index, leader_id=leader_id)
            for index, leader_id in enumerate(leader_ids)
        ]
        return MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=partitions)])

    return described, located


def open_since_0(_node_id: int, request: Message) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                topic.name,
                [
                    PartitionResponse(
                        partition_index=index,
                        active_producers=[
                            Described(producer_id=7, last_timestamp=0, current_txn_start_offset=5)
                        ],
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


async def test_a_partition_without_a_leader_has_an_error_and_the_others_are_looked_at() -> None:
    cluster = FakeCluster(now=10_000_000)
    described, located = led_by(1, -1)
    cluster.script(ApiKey.DESCRIBE_TOPIC_PARTITIONS, described)
    cluster.script(ApiKey.METADATA, located)
    cluster.script(ApiKey.DESCRIBE_PRODUCERS, open_since_0)
    cluster.script(ApiKey.LIST_TRANSACTIONS, lambda *_: ListTransactionsResponse())
    found = await find_hanging_transactions(FakeAdmin(cluster), ["t"])
    assert [each.producer.producer_id for each in found.result(FIRST)] == [7]
    with pytest.raises(LeaderNotAvailable, match="t-1 has no leader to be asked"):
        found.result(SECOND)
    ((_, asked),) = cluster.requests(ApiKey.DESCRIBE_PRODUCERS)
    assert [each.partition_indexes for each in asked.topics] == [[0]]
