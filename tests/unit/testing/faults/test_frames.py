"""Addresses, partitions and error codes are found in messages whatever an API calls them."""

from __future__ import annotations

import uuid

from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated import (
    add_partitions_to_txn,
    fetch,
    find_coordinator,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
)
from millstream.testing.faults.frames import endpoints, partitions_of, refuse_partitions
from millstream.testing.faults.plan import CloseBefore, Rule

TOPIC_ID = uuid.UUID(int=7)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_brokers_coordinators_and_new_leaders_have_addresses() -> None:
    brokers = metadata.MetadataResponse(
        brokers=[metadata.MetadataResponseBroker(node_id=1, host="h", port=9)]
    )
    old = find_coordinator.FindCoordinatorResponse(node_id=1, host="h", port=9)
    new = find_coordinator.FindCoordinatorResponse(
        coordinators=[find_coordinator.Coordinator(key="g", node_id=1, host="h", port=9)]
    )
    leaders = fetch.FetchResponse(node_endpoints=[fetch.NodeEndpoint(node_id=1, host="h", port=9)])
    for key, message in (
        (ApiKey.METADATA, brokers),
        (ApiKey.FIND_COORDINATOR, old),
        (ApiKey.FIND_COORDINATOR, new),
        (ApiKey.FETCH, leaders),
    ):
        (endpoint,) = endpoints(key, message)
        assert (endpoint.host, endpoint.port) == ("h", 9)
    failed = find_coordinator.FindCoordinatorResponse(error_code=15, node_id=-1, port=-1)
    assert endpoints(ApiKey.FIND_COORDINATOR, failed) == []


def test_partitions_are_found_by_name_and_by_topic_id() -> None:
    data = [produce.PartitionProduceData(index=0), produce.PartitionProduceData(index=1)]
    by_name = produce.ProduceRequest(
        topic_data=[produce.TopicProduceData(name="t", partition_data=data)]
    )
    by_id = fetch.FetchRequest(
        topics=[
            fetch.FetchTopic(
                topic_id=TOPIC_ID,
                partitions=[fetch.FetchPartition(partition=0), fetch.FetchPartition(partition=1)],
            )
        ]
    )
    grouped = offset_fetch.OffsetFetchRequest(
        groups=[
            offset_fetch.OffsetFetchRequestGroup(
                topics=[offset_fetch.OffsetFetchRequestTopics(name="t", partition_indexes=[0, 1])]
            )
        ]
    )
    plain = add_partitions_to_txn.AddPartitionsToTxnRequest(
        transactions=[
            add_partitions_to_txn.AddPartitionsToTxnTransaction(
                topics=[add_partitions_to_txn.AddPartitionsToTxnTopic(name="t", partitions=[0, 1])]
            )
        ]
    )
    for request in (by_name, by_id, grouped, plain):
        assert partitions_of(request, {TOPIC_ID: "t"}) == {T0, T1}


def test_only_the_named_partition_is_refused() -> None:
    response = offset_commit.OffsetCommitResponse(
        topics=[
            offset_commit.OffsetCommitResponseTopic(
                name="t",
                partitions=[
                    offset_commit.OffsetCommitResponsePartition(partition_index=0),
                    offset_commit.OffsetCommitResponsePartition(partition_index=1),
                ],
            )
        ]
    )
    refuse_partitions(response, Rule(CloseBefore(), topic="t", partition=1), 6, {})
    assert [item.error_code for item in response.topics[0].partitions] == [0, 6]
