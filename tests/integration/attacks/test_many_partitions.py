"""Requests that are about every partition of a broker with thousands of them: nobody else waits for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millstream.errors import UnknownTopicId
from millstream.model import Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_log_dirs import DescribeLogDirsRequest
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from millstream.protocol.generated.share_fetch import FetchPartition as SharedPartition
from millstream.protocol.generated.share_fetch import FetchTopic as SharedTopic
from millstream.protocol.generated.share_fetch import ShareFetchRequest
from tests.patience import wait_until
from tests.support.attacks import AttackedNode

PARTITIONS = 9_000
TIMES = 5
VERSION = 12


def request(*, epoch: int, session_id: int = 0, max_wait_ms: int = 0) -> FetchRequest:
    """Every partition, from its beginning."""
    partitions = [
        FetchPartition(partition=number, partition_max_bytes=1 << 20)
        for number in range(PARTITIONS)
    ]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic="many", partitions=partitions)],
    )


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedNode]:
    with AttackedNode(tmp_path_factory.mktemp("many")) as node, node.client() as client:
        client.create_topic("many", PARTITIONS)

        def every_partition_answers() -> bool:
            answer = client.ask(ApiKey.FETCH, VERSION, request(epoch=-1))
            return {each.error_code for each in answer.responses[0].partitions} == {0}

        wait_until(every_partition_answers)
        yield node


@pytest.mark.parametrize("max_wait_ms", [0, 100])
def test_the_first_fetches_of_large_sessions_delay_nobody(
    node: AttackedNode, max_wait_ms: int
) -> None:
    with node.client() as client, node.attack():
        for _ in range(TIMES):
            answer = client.ask(ApiKey.FETCH, VERSION, request(epoch=0, max_wait_ms=max_wait_ms))
            assert len(answer.responses[0].partitions) == PARTITIONS


def test_a_session_that_begins_anew_again_and_again_delays_nobody(node: AttackedNode) -> None:
    session_id = 0
    with node.client() as client, node.attack():
        for _ in range(TIMES):
            answer = client.ask(ApiKey.FETCH, VERSION, request(epoch=0, session_id=session_id))
            assert answer.session_id not in (0, session_id)
            session_id = answer.session_id


def test_asking_for_everything_in_a_session_delays_nobody(node: AttackedNode) -> None:
    with node.client() as client, node.attack():
        session_id = client.ask(ApiKey.FETCH, VERSION, request(epoch=0)).session_id
        for epoch in range(1, TIMES):
            asked = request(epoch=epoch, session_id=session_id, max_wait_ms=100)
            assert client.ask(ApiKey.FETCH, VERSION, asked).error_code == 0


def test_large_fetches_without_a_session_delay_nobody(node: AttackedNode) -> None:
    with node.client() as client, node.attack():
        for _ in range(TIMES):
            answer = client.ask(ApiKey.FETCH, VERSION, request(epoch=-1, max_wait_ms=100))
            assert len(answer.responses[0].partitions) == PARTITIONS


def test_describing_all_logs_delays_nobody(node: AttackedNode) -> None:
    with node.client() as client, node.attack():
        for _ in range(TIMES):
            answer = client.ask(ApiKey.DESCRIBE_LOG_DIRS, 4, DescribeLogDirsRequest(topics=None))
            described = {topic.name: topic.partitions for topic in answer.results[0].topics}
            assert len(described["many"]) == PARTITIONS


def test_a_share_session_over_partitions_that_are_not_there_delays_nobody(
    node: AttackedNode,
) -> None:
    unknown, numbers = Uuid(b"u" * 16), range(12_000)
    shared = SharedTopic(unknown, [SharedPartition(partition_index=each) for each in numbers])
    acknowledged = AcknowledgeTopic(
        unknown,
        [AcknowledgePartition(each, [AcknowledgementBatch(0, 0, [1])]) for each in numbers],
    )
    member = {"group_id": "g", "member_id": "m"}
    begin = ShareFetchRequest(
        **member, share_session_epoch=0, max_bytes=1 << 20, max_records=10, topics=[shared]
    )
    proceed = ShareAcknowledgeRequest(**member, share_session_epoch=1, topics=[acknowledged])
    with node.client() as client, node.attack():
        fetched = client.ask(ApiKey.SHARE_FETCH, 1, begin)
        answer = client.ask(ApiKey.SHARE_ACKNOWLEDGE, 1, proceed)
    for topic in (fetched.responses[0], answer.responses[0]):
        assert [each.partition_index for each in topic.partitions] == list(numbers)
        assert {each.error_code for each in topic.partitions} == {UnknownTopicId.code}
