"""Groups whose members send what no client would: refused or carried, and others are served meanwhile."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from millstream.protocol.generated.sync_group import SyncGroupRequest
from millstream.testing.broker import Broker
from tests.patience import wait_until
from tests.support.clients.raw_client import RawClient, is_alive

UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC, INCONSISTENT_PROTOCOL = -1, 3, 23
GROUP_ID_NOT_FOUND, INVALID_REGULAR_EXPRESSION = 69, 128
LONGEST_STRING = 32_767
BOMBS = ["(a*)*b", ".*" * 10_000, "(t|" * 5_000 + "1" + ")" * 5_000, "(.{1,10}){1,90}x"]
TOO_LARGE_INSIDE = ["(x{1000}){1000}", "((x{100}){100}){100}", "(" * LONGEST_STRING]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"group.initial.rebalance.delay.ms": "0"}) as running:
        yield running
        assert is_alive(running.bootstrap_servers)


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.bootstrap_servers) as connected:
        request = FindCoordinatorRequest(coordinator_keys=["any"])
        wait_until(
            lambda: (
                not connected.ask(ApiKey.FIND_COORDINATOR, 4, request).coordinators[0].error_code
            )
        )
        yield connected


@pytest.fixture
def group_id() -> str:
    return f"group-{uuid.uuid4().hex[:8]}"


def join_and_sync(client: RawClient, group_id: str, metadata: bytes) -> tuple[int, int]:
    """The error codes of both."""
    joined = client.ask(
        ApiKey.JOIN_GROUP,
        3,
        JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol("range", metadata)],
        ),
    )
    synced = client.ask(
        ApiKey.SYNC_GROUP,
        3,
        SyncGroupRequest(group_id, joined.generation_id, joined.member_id),
    )
    return joined.error_code, synced.error_code


def consumer_joins(client: RawClient, group_id: str, regex: str) -> ConsumerGroupHeartbeatResponse:
    answer: ConsumerGroupHeartbeatResponse = client.ask(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id="m",
            rebalance_timeout_ms=5_000,
            subscribed_topic_regex=regex,
            topic_partitions=[],
        ),
    )
    return answer


def test_metadata_too_large_for_a_record_fails_the_sync(client: RawClient, group_id: str) -> None:
    """As Kafka 4.3.1; the next member finds a group that works."""
    assert join_and_sync(client, group_id, b"x" * 10_000_000) == (0, UNKNOWN_SERVER_ERROR)
    assert join_and_sync(client, f"{group_id}-other", b"x" * 100_000) == (0, 0)


@pytest.mark.parametrize("metadata", [b"", b"\x00", b"\x00\x03", b"\x00\x00\xff\xff\xff\xff"])
def test_a_subscription_that_cannot_be_read_stays_classic(
    client: RawClient, group_id: str, metadata: bytes
) -> None:
    assert join_and_sync(client, group_id, metadata) == (0, 0)
    refused = consumer_joins(client, group_id, "t.*")
    assert refused.error_code == GROUP_ID_NOT_FOUND
    assert refused.error_message.endswith("the embedded consumer protocol is malformed.")


def test_nobody_joins_without_a_protocol(client: RawClient, group_id: str) -> None:
    asked = JoinGroupRequest(group_id, 10_000, 10_000, "", None, "consumer", [])
    assert client.ask(ApiKey.JOIN_GROUP, 3, asked).error_code == INCONSISTENT_PROTOCOL


@pytest.mark.parametrize("regex", BOMBS, ids=lambda regex: regex[:10])
def test_no_expression_takes_long(client: RawClient, group_id: str, regex: str) -> None:
    """Of the processor: the broker is in this process."""
    before = time.process_time()
    assert consumer_joins(client, group_id, regex).error_code == 0
    assert time.process_time() - before < 5


@pytest.mark.parametrize("regex", TOO_LARGE_INSIDE, ids=lambda regex: regex[:10])
def test_expressions_that_need_much_memory_are_refused(
    client: RawClient, group_id: str, regex: str
) -> None:
    assert consumer_joins(client, group_id, regex).error_code == INVALID_REGULAR_EXPRESSION


def test_a_commit_of_very_many_partitions_is_answered_for_each(
    client: RawClient, group_id: str
) -> None:
    count = 50_000
    partitions = [OffsetCommitRequestPartition(index, 5) for index in range(count)]
    topics = [OffsetCommitRequestTopic("no-such-topic", partitions=partitions)]
    answer = client.ask(ApiKey.OFFSET_COMMIT, 8, OffsetCommitRequest(group_id, topics=topics))
    assert [p.error_code for p in answer.topics[0].partitions] == [UNKNOWN_TOPIC] * count
