"""Heartbeats and joins that name a hundred thousand things: they belong together, so a thread takes them as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from millstream.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from millstream.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from millstream.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.patience import wait_until
from tests.support.attacks import AttackedNode

NAMES: Final = 100_000
FIT_A_RECORD: Final = 30_000
"""Of which a record may be made: a record of more would be larger than max.message.bytes."""
OFFSETS: Final = 9_000


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedNode]:
    """Its coordinators are ready; the topic `read` has one partition."""
    with AttackedNode(tmp_path_factory.mktemp("memberships")) as node, node.client() as client:
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])

        def is_ready() -> bool:
            client.ask(ApiKey.FIND_COORDINATOR, 4, find)
            leave = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=-1)
            answer = client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, leave)
            return bool(answer.error_code == 69)  # GROUP_ID_NOT_FOUND: it has looked

        wait_until(is_ready)
        client.create_topic("read", 1)
        yield node


def names(count: int) -> list[str]:
    return [f"t{number}" for number in range(count)]


def test_a_consumer_that_names_very_many_topics_delays_nobody(node: AttackedNode) -> None:
    request = ConsumerGroupHeartbeatRequest(
        group_id="consumers", member_id="m", member_epoch=0, rebalance_timeout_ms=60_000,
        subscribed_topic_names=names(NAMES), topic_partitions=[],
    )  # fmt: skip
    with node.client() as client, node.attack():
        answer = client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    assert answer.error_code == 0, answer


def test_a_share_consumer_that_names_very_many_topics_delays_nobody(node: AttackedNode) -> None:
    request = ShareGroupHeartbeatRequest(
        group_id="sharers", member_id="m", member_epoch=0, subscribed_topic_names=names(NAMES)
    )
    with node.client() as client, node.attack():
        answer = client.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)
    assert answer.error_code == 0, answer


def streams(group_id: str, epoch: int = 0, **fields: Any) -> StreamsGroupHeartbeatRequest:
    known = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    return StreamsGroupHeartbeatRequest(
        group_id=group_id, member_id="m", member_epoch=epoch, rebalance_timeout_ms=60_000,
        **{**known, **fields},
    )  # fmt: skip


TOPOLOGIES: Final = {
    "sources": Topology(1, [Subtopology("0", source_topics=names(NAMES))]),
    "changelogs": Topology(
        1,
        [
            Subtopology(
                "0",
                source_topics=["read"],
                state_changelog_topics=[TopicInfo(name) for name in names(FIT_A_RECORD)],
            )
        ],
    ),
    "subtopologies": Topology(1, [Subtopology(name, ["read"]) for name in names(FIT_A_RECORD)]),
}


@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_a_topology_with_very_many_names_delays_nobody(node: AttackedNode, kind: str) -> None:
    """Brought twice: the second time it is compared with the first."""
    request = streams(f"application-{kind}", topology=TOPOLOGIES[kind])
    with node.client() as client:
        for _ in range(2):
            with node.attack():
                answer = client.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, request)
            assert answer.error_code == 0, answer.error_message


def test_a_member_that_says_it_has_very_many_tasks_delays_nobody(node: AttackedNode) -> None:
    topology = Topology(1, [Subtopology(name, ["read"]) for name in names(FIT_A_RECORD)])
    tasks = [TaskIds(name, [0]) for name in names(FIT_A_RECORD)]
    with node.client() as client:
        request = streams("owner", topology=topology)
        epoch = client.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, request).member_epoch
        with node.attack():
            answer = client.ask(
                ApiKey.STREAMS_GROUP_HEARTBEAT, 0, streams("owner", epoch, active_tasks=tasks)
            )
    assert answer.error_code == 0, answer.error_message


def test_a_member_with_very_many_protocols_and_assignments_delays_nobody(
    node: AttackedNode,
) -> None:
    protocols = [JoinGroupRequestProtocol(name, b"x") for name in names(NAMES)]
    assignments = [SyncGroupRequestAssignment(name, b"x") for name in names(NAMES)]
    member = {"group_id": "joined", "protocol_type": "consumer"}
    join = JoinGroupRequest(
        session_timeout_ms=60_000, rebalance_timeout_ms=60_000, protocols=protocols, **member
    )
    with node.client() as client:
        with node.attack():
            join.member_id = client.ask(ApiKey.JOIN_GROUP, 9, join).member_id
        with node.attack():
            joined = client.ask(ApiKey.JOIN_GROUP, 9, join)
        assert joined.error_code == 0, joined
        sync = SyncGroupRequest(
            member_id=joined.member_id,
            generation_id=joined.generation_id,
            protocol_name=joined.protocol_name,
            assignments=assignments,
            **member,
        )
        with node.attack():
            assert client.ask(ApiKey.SYNC_GROUP, 5, sync).error_code == 0


def test_a_deleted_topic_with_very_many_committed_offsets_delays_nobody(
    node: AttackedNode,
) -> None:
    offsets = [OffsetCommitRequestPartition(number, 0) for number in range(OFFSETS)]
    commit = OffsetCommitRequest(
        "committed", -1, "", topics=[OffsetCommitRequestTopic("gone", partitions=offsets)]
    )
    fetch = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("committed", topics=None)])
    deletion = DeleteTopicsRequest(topics=[DeleteTopicState(name="gone")], timeout_ms=60_000)
    with node.client() as client:
        client.create_topic("gone", OFFSETS)
        (answer,) = client.ask(ApiKey.OFFSET_COMMIT, 9, commit).topics
        assert {each.error_code for each in answer.partitions} == {0}

        def none_is_left() -> bool:
            return not client.ask(ApiKey.OFFSET_FETCH, 8, fetch).groups[0].topics

        assert not none_is_left()
        with node.attack():
            client.ask(ApiKey.DELETE_TOPICS, 6, deletion)
            wait_until(none_is_left)
