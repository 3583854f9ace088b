"""Requests about thousands of partitions that have records, and groups with as many offsets: nobody else waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from millstream.coordinator.record import partition_for
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.add_offsets_to_txn import AddOffsetsToTxnRequest
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from millstream.protocol.generated.describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from millstream.protocol.generated.describe_transactions import DescribeTransactionsRequest
from millstream.protocol.generated.end_txn import EndTxnRequest
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.init_producer_id import InitProducerIdRequest
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from millstream.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from millstream.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from tests.patience import wait_until
from tests.support.attacks import AttackedNode
from tests.support.clients.raw_client import RawClient, batch_of

PARTITIONS: Final = 4_000
NEW_PARTITIONS: Final = 190
"""Of so few a Produce is not handled in parts."""
TIMESTAMP_MS: Final = 1_700_000_000_000
GROUPS: Final = 20
OFFSETS_PARTITIONS: Final = 50


@pytest.fixture(scope="module", params=["never", "always"])
def node(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[AttackedNode]:
    settings = {"millstream.flush.on.ack": request.param}
    directory = tmp_path_factory.mktemp("written")
    with AttackedNode(directory, settings) as node, node.client() as client:
        client.create_topic("many", PARTITIONS)
        produce(client, "many", PARTITIONS)
        yield node


def produce(client: RawClient, topic: str, partitions: int, acks: int = 1) -> None:
    data = [PartitionProduceData(n, memoryview(batch_of(b"x"))) for n in range(partitions)]
    request = ProduceRequest(
        acks=acks, timeout_ms=60_000, topic_data=[TopicProduceData(topic, partition_data=data)]
    )
    (answer,) = client.ask(ApiKey.PRODUCE, 9, request).responses
    assert [each.error_code for each in answer.partition_responses] == [0] * partitions


@pytest.mark.parametrize("acks", [1, -1])
def test_records_for_all_partitions(node: AttackedNode, acks: int) -> None:
    with node.client() as client, node.attack():
        produce(client, "many", PARTITIONS, acks)


@pytest.mark.parametrize("acks", [1, -1])
def test_first_records_for_many_partitions(node: AttackedNode, acks: int) -> None:
    topic = f"new{acks}"
    with node.client() as client:
        client.create_topic(topic, NEW_PARTITIONS)
        with node.attack():
            produce(client, topic, NEW_PARTITIONS, acks)


@pytest.mark.parametrize("timestamp", [-1, -2, -3, TIMESTAMP_MS])
def test_offsets_of_all_partitions_are_listed(node: AttackedNode, timestamp: int) -> None:
    asked = [
        ListOffsetsPartition(partition_index=n, timestamp=timestamp) for n in range(PARTITIONS)
    ]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic("many", asked)])
    with node.client() as client, node.attack():
        (answer,) = client.ask(ApiKey.LIST_OFFSETS, 7, request).topics
    assert [each.error_code for each in answer.partitions] == [0] * PARTITIONS


def test_producers_of_all_partitions_are_described(node: AttackedNode) -> None:
    request = DescribeProducersRequest([TopicRequest("many", list(range(PARTITIONS)))])
    with node.client() as client, node.attack():
        (answer,) = client.ask(ApiKey.DESCRIBE_PRODUCERS, 0, request).topics
    assert [each.error_code for each in answer.partitions] == [0] * PARTITIONS


def test_leader_epochs_of_all_partitions_are_told(node: AttackedNode) -> None:
    asked = [OffsetForLeaderPartition(partition=n, leader_epoch=0) for n in range(PARTITIONS)]
    request = OffsetForLeaderEpochRequest(-2, [OffsetForLeaderTopic("many", asked)])
    with node.client() as client, node.attack():
        (answer,) = client.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, request).topics
    assert [each.error_code for each in answer.partitions] == [0] * PARTITIONS


def test_records_of_all_partitions_are_deleted(node: AttackedNode) -> None:
    deleted = [DeleteRecordsPartition(n, -1) for n in range(PARTITIONS)]
    request = DeleteRecordsRequest([DeleteRecordsTopic("many", deleted)], timeout_ms=60_000)
    with node.client() as client, node.attack():
        (answer,) = client.ask(ApiKey.DELETE_RECORDS, 2, request).topics
    assert [each.error_code for each in answer.partitions] == [0] * PARTITIONS


def test_a_transaction_begins_in_many_new_partitions(node: AttackedNode) -> None:
    with node.client() as client:
        client.create_topic("begun", NEW_PARTITIONS)
        producer_id, epoch = producer(client, "begins")
        options = BatchOptions(
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
            is_transactional=True,
        )
        batches = [build_batch([Record(value=b"x")], options) for _ in range(NEW_PARTITIONS)]
        data = [PartitionProduceData(n, memoryview(batch)) for n, batch in enumerate(batches)]
        topic = TopicProduceData("begun", partition_data=data)
        request = ProduceRequest("begins", -1, 60_000, [topic])
        with node.attack():
            (answer,) = client.ask(ApiKey.PRODUCE, 12, request).responses
        assert [each.error_code for each in answer.partition_responses] == [0] * NEW_PARTITIONS
        end = EndTxnRequest("begins", producer_id, epoch, committed=False)
        with node.attack():
            assert client.ask(ApiKey.END_TXN, 3, end).error_code == 0
            wait_until(lambda: state(client, "begins") == "CompleteAbort")


@pytest.mark.parametrize("committed", [True, False])
def test_very_many_offsets_of_a_transaction_come_into_force(
    node: AttackedNode, committed: bool
) -> None:
    """All are kept in one partition of `__consumer_offsets`, so one marker ends them."""
    groups = groups_of_one_coordinator(f"ended {committed} ")
    with node.client() as client:
        producer_id, epoch = producer(client, "offsets")
        with node.attack():
            for group in groups:
                commit_offsets(client, group, producer_id, epoch)
        end = EndTxnRequest("offsets", producer_id, epoch, committed=committed)
        with node.attack():
            assert client.ask(ApiKey.END_TXN, 3, end).error_code == 0
            done = "CompleteCommit" if committed else "CompleteAbort"
            wait_until(lambda: state(client, "offsets") == done)
        asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(g, topics=None) for g in groups])
        with node.attack():
            answer = client.ask(ApiKey.OFFSET_FETCH, 8, asked)
        counts = [sum(len(topic.partitions) for topic in each.topics) for each in answer.groups]
        assert counts == [PARTITIONS if committed else 0] * GROUPS
        if committed:
            with node.attack():
                results = client.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups)).results
            assert [each.error_code for each in results] == [0] * GROUPS


def groups_of_one_coordinator(prefix: str) -> list[str]:
    names = (f"{prefix}{number}" for number in range(10_000))
    chosen = [name for name in names if partition_for(name, OFFSETS_PARTITIONS) == 7]
    return chosen[:GROUPS]


def commit_offsets(client: RawClient, group: str, producer_id: int, epoch: int) -> None:
    """Of every partition of `many`, in the transaction `offsets`."""
    has_coordinator(client, group, key_type=0)
    add = AddOffsetsToTxnRequest("offsets", producer_id, epoch, group)
    assert client.ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, add).error_code == 0
    offsets = [TxnOffsetCommitRequestPartition(n, 1) for n in range(PARTITIONS)]
    topic = TxnOffsetCommitRequestTopic("many", offsets)
    request = TxnOffsetCommitRequest("offsets", group, producer_id, epoch, topics=[topic])
    (answer,) = client.ask(ApiKey.TXN_OFFSET_COMMIT, 3, request).topics
    assert [each.error_code for each in answer.partitions] == [0] * PARTITIONS


def has_coordinator(client: RawClient, key: str, key_type: int) -> None:
    find = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    wait_until(lambda: client.ask(ApiKey.FIND_COORDINATOR, 4, find).coordinators[0].error_code == 0)


def producer(client: RawClient, transactional_id: str) -> tuple[int, int]:
    has_coordinator(client, transactional_id, key_type=1)
    request = InitProducerIdRequest(transactional_id, 60_000, -1, -1)
    wait_until(lambda: client.ask(ApiKey.INIT_PRODUCER_ID, 4, request).error_code == 0)
    answer = client.ask(ApiKey.INIT_PRODUCER_ID, 4, request)
    assert answer.error_code == 0, answer
    return answer.producer_id, answer.producer_epoch


def state(client: RawClient, transactional_id: str) -> str:
    request = DescribeTransactionsRequest([transactional_id])
    (described,) = client.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, request).transaction_states
    found: str = described.transaction_state
    return found
