"""Requests that change very much at once: a topic of thousands of partitions comes and goes, share groups keep the state of thousands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from millstream.errors import UnknownTopicOrPartition
from millstream.model import uuid_text
from millstream.protocol.api import ApiKey
from millstream.protocol.generated import initialize_share_group_state as initialize
from millstream.protocol.generated import read_share_group_state as read
from millstream.protocol.generated import read_share_group_state_summary as summary
from millstream.protocol.generated import write_share_group_state as write
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from millstream.protocol.generated.describe_transactions import DescribeTransactionsRequest
from millstream.protocol.generated.end_txn import EndTxnRequest
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.protocol.generated.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from tests.patience import wait_until
from tests.support.attacks import AttackedNode
from tests.support.clients.raw_client import RawClient

PARTITIONS: Final = 9_000
TRANSACTION_PARTITIONS: Final = 6_000
"""Each has a log with a record afterwards, which takes memory for good."""
SHARE_PARTITIONS: Final = 2_000
STATE_BATCHES: Final = 40_000
"""Four times as many as `share.partition.max.record.locks` lets a share partition have."""
TOPICS: Final = 1_500


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedNode]:
    with AttackedNode(tmp_path_factory.mktemp("changes")) as node:
        yield node


def _create(client: RawClient, name: str, partitions: int) -> bytes:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    (result,) = client.ask(ApiKey.CREATE_TOPICS, 7, request).topics
    assert result.error_code == 0, result
    topic_id: bytes = result.topic_id
    return topic_id


def test_a_topic_of_thousands_of_partitions_comes_and_goes(node: AttackedNode) -> None:
    with node.client() as client:
        with node.attack():
            _create(client, "large", PARTITIONS)
        deletion = DeleteTopicsRequest(topics=[DeleteTopicState(name="large")], timeout_ms=60_000)
        with node.attack():
            (result,) = client.ask(ApiKey.DELETE_TOPICS, 6, deletion).responses
            assert result.error_code == 0, result


@pytest.mark.parametrize(("count", "created"), [(3_000, 3_000), (6_000, 0)])
def test_thousands_of_topics_that_a_question_creates_come_behind_the_answer(
    node: AttackedNode, count: int, created: int
) -> None:
    """More than one creation may make are not made at all."""
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=f"new-{n}") for n in range(count)])
    everything = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    with node.client() as client:
        written = len(node.log)
        with node.attack():
            answer = client.ask(ApiKey.METADATA, 12, asked)
            unknown = UnknownTopicOrPartition.code
            assert answer.topics[0].error_code == unknown
            assert {topic.error_code for topic in answer.topics} <= {unknown, 0}, (
                "the last parts may see the first topics"
            )
            wait_until(lambda: "millstream.broker.cluster.auto_creation" in node.log[written:])
        topics = client.ask(ApiKey.METADATA, 12, everything).topics
        assert len([t for t in topics if (t.name or "").startswith("new-")]) == created


def test_a_topic_grows_by_thousands_of_partitions(node: AttackedNode) -> None:
    growth = CreatePartitionsTopic(name="growing", count=PARTITIONS, assignments=None)
    request = CreatePartitionsRequest(topics=[growth], timeout_ms=60_000)
    with node.client() as client:
        _create(client, "growing", 1)
        with node.attack():
            (result,) = client.ask(ApiKey.CREATE_PARTITIONS, 3, request).results
            assert result.error_code == 0, result


def test_the_state_of_thousands_of_share_partitions_is_told(node: AttackedNode) -> None:
    with node.client() as client:
        topic_id = _share_partitions(client, SHARE_PARTITIONS)
        asked = [summary.PartitionData(number, 0) for number in range(SHARE_PARTITIONS)]
        request = summary.ReadShareGroupStateSummaryRequest(
            "g", [summary.ReadStateSummaryData(topic_id, asked)]
        )
        with node.attack():
            answer = client.ask(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 1, request)
        (result,) = answer.results
        told = [(each.partition, each.error_code, each.state_epoch) for each in result.partitions]
        assert told == [(number, 0, 1) for number in range(SHARE_PARTITIONS)]


def test_a_share_partition_with_very_many_ranges_is_written(node: AttackedNode) -> None:
    with node.client() as client:
        topic_id = _share_partitions(client, 1)
        ranges = [write.StateBatch(2 * n, 2 * n, 0, 1) for n in range(STATE_BATCHES)]
        request = write.WriteShareGroupStateRequest(
            "g", [write.WriteStateData(topic_id, [write.PartitionData(0, 1, 0, 0, 0, ranges)])]
        )
        with node.attack():
            answer = client.ask(ApiKey.WRITE_SHARE_GROUP_STATE, 1, request)
        assert answer.results[0].partitions[0].error_code == 0, answer
        asked = read.ReadShareGroupStateRequest(
            "g", [read.ReadStateData(topic_id, [read.PartitionData(0, 0)])]
        )
        with node.attack():
            told = client.ask(ApiKey.READ_SHARE_GROUP_STATE, 0, asked)
        assert len(told.results[0].partitions[0].state_batches) == STATE_BATCHES
        with node.attack():
            begin_again = initialize.PartitionData(0, 2, 0)
            client.ask(
                ApiKey.INITIALIZE_SHARE_GROUP_STATE,
                0,
                initialize.InitializeShareGroupStateRequest(
                    "g", [initialize.InitializeStateData(topic_id, [begin_again])]
                ),
            )
            told = client.ask(ApiKey.READ_SHARE_GROUP_STATE, 0, asked)
        assert told.results[0].partitions[0].state_batches == []


def test_a_new_default_of_very_many_topics_delays_nobody(node: AttackedNode) -> None:
    topics = [
        CreatableTopic(name=f"t{number}", num_partitions=1, replication_factor=1)
        for number in range(TOPICS)
    ]
    creation = CreateTopicsRequest(topics=topics, timeout_ms=60_000)
    default = AlterConfigsResource(4, "", [AlterableConfig("log.retention.ms", 0, "100000")])
    with node.client() as client:
        assert {
            each.error_code for each in client.ask(ApiKey.CREATE_TOPICS, 7, creation).topics
        } == {0}
        with node.attack():
            request = IncrementalAlterConfigsRequest([default])
            (answer,) = client.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request).responses
            assert answer.error_code == 0, answer


def test_a_transaction_over_thousands_of_partitions_is_ended(node: AttackedNode) -> None:
    with node.client() as client:
        _create(client, "large", TRANSACTION_PARTITIONS)
        producer_id, epoch = _producer(client)
        topics = [AddPartitionsToTxnTopic("large", list(range(TRANSACTION_PARTITIONS)))]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="t",
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=topics,
        )
        with node.attack():
            answer = client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, request)
            (result,) = answer.results_by_topic_v3_and_below
            codes = {each.partition_error_code for each in result.results_by_partition}
            assert codes == {0}
        with node.attack():
            end = EndTxnRequest("t", producer_id, epoch, committed=True)
            assert client.ask(ApiKey.END_TXN, 3, end).error_code == 0
            wait_until(lambda: _state(client) == "CompleteCommit")


def _producer(client: RawClient) -> tuple[int, int]:
    """Of the transactional id `t`."""
    answers: list[InitProducerIdResponse] = []
    find = FindCoordinatorRequest(key_type=1, coordinator_keys=["t"])

    def is_known() -> bool:
        client.ask(ApiKey.FIND_COORDINATOR, 4, find)
        request = InitProducerIdRequest("t", 60_000, -1, -1)
        answers.append(client.ask(ApiKey.INIT_PRODUCER_ID, 4, request))
        return answers[-1].error_code == 0

    wait_until(is_known)
    return answers[-1].producer_id, answers[-1].producer_epoch


def _state(client: RawClient) -> str:
    request = DescribeTransactionsRequest(["t"])
    (described,) = client.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, request).transaction_states
    state: str = described.transaction_state
    return state


def _share_partitions(client: RawClient, count: int) -> bytes:
    """The id of a topic whose partitions the share group `g` has begun to read."""
    topic_id = _create(client, "shared", count)
    key = f"g:{uuid_text(topic_id)}:0"
    find = FindCoordinatorRequest(key_type=2, coordinator_keys=[key])
    numbers = [initialize.PartitionData(number, 1, 0) for number in range(count)]
    request = initialize.InitializeShareGroupStateRequest(
        "g", [initialize.InitializeStateData(topic_id, numbers)]
    )

    def are_initialized() -> bool:
        client.ask(ApiKey.FIND_COORDINATOR, 6, find)
        (result,) = client.ask(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, request).results
        return all(each.error_code == 0 for each in result.partitions)

    wait_until(are_initialized)
    return topic_id
