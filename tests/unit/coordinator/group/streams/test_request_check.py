"""What a StreamsGroupHeartbeat may say, whatever its group (sentences are those of Kafka 4.3)."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.coordinator.group.streams.request_check import check_heartbeat, check_topic_names
from millstream.errors import (
    InvalidRequest,
    KafkaError,
    StreamsInvalidTopology,
    StreamsInvalidTopologyEpoch,
)
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Topology,
)
from tests.support.coordinators.streams_group import subtopology, task_ids, topology

JOIN = StreamsGroupHeartbeatRequest(
    group_id="application",
    member_id="member",
    rebalance_timeout_ms=1_000,
    topology=topology(subtopology(sources=["in"])),
    active_tasks=[],
    standby_tasks=[],
    warmup_tasks=[],
)
HEARTBEAT = StreamsGroupHeartbeatRequest(group_id="application", member_id="member", member_epoch=3)


def with_regex() -> Topology:
    brought = topology(subtopology(sources=["in"]))
    brought.subtopologies[0].source_topic_regex = ["in.*"]
    return brought


def with_fixed_changelog() -> Topology:
    brought = topology(subtopology(sources=["in"], changelogs=["log"]))
    brought.subtopologies[0].state_changelog_topics[0].partitions = 3
    return brought


@pytest.mark.parametrize("request_", [JOIN, HEARTBEAT, HEARTBEAT.replaced(member_epoch=-1)])
def test_plain_requests_are_fine(request_: StreamsGroupHeartbeatRequest) -> None:
    check_heartbeat(request_)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"group_id": " "}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"instance_id": "i"}, "Static membership is not yet supported."),
        ({"task_offsets": []}, "TaskOffsets are not supported yet."),
        ({"task_end_offsets": []}, "TaskEndOffsets are not supported yet."),
        ({"warmup_tasks": task_ids("0_0")}, "WarmupTasks are not supported yet."),
        (
            {"topology": with_regex()},
            "Regular expressions for source topics are not supported yet.",
        ),
        (
            {"rebalance_timeout_ms": -1},
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        ({"active_tasks": None}, "ActiveTasks must be empty when (re-)joining."),
        (
            {"standby_tasks": task_ids("0_0")},
            "StandbyTasks must be empty when (re-)joining.",
        ),
        ({"warmup_tasks": None}, "WarmupTasks must be empty when (re-)joining."),
        ({"topology": None}, "Topology must be non-null when (re-)joining."),
    ],
)
def test_a_join_that_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_heartbeat(JOIN.replaced(**changes))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"member_epoch": -2}, "InstanceId can't be null."),
        (
            {"member_epoch": -3},
            "MemberEpoch is -3, but must be greater than or equal to -2.",
        ),
        ({"active_tasks": []}, "If one task-type is non-null, all must be non-null."),
        (
            {"topology": topology(subtopology(sources=["in"]))},
            "Topology can only be provided when (re-)joining.",
        ),
    ],
)
def test_a_heartbeat_that_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_heartbeat(HEARTBEAT.replaced(**changes))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("brought", "error", "message"),
    [
        (
            with_fixed_changelog(),
            StreamsInvalidTopology,
            "Changelog topic log must have an undefined partition count, but it is set to 3.",
        ),
        (
            topology(subtopology(sources=["__consumer_offsets"])),
            StreamsInvalidTopology,
            (
                "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is "
                "prohibited."
            ),
        ),
        (
            topology(subtopology(sources=["in"], changelogs=["a b", ".."])),
            StreamsInvalidTopology,
            "Topic names a b,.. are not valid topic names.",
        ),
        (
            topology(subtopology(sources=["in"]), subtopology(sources=["other"])),
            StreamsInvalidTopology,
            "Two subtopologies have the same id.",
        ),
        (
            topology(subtopology(sources=["in"]), epoch=-1),
            StreamsInvalidTopologyEpoch,
            "Topology epoch must be non-negative.",
        ),
    ],
)
def test_a_topology_that_cannot_be_is_refused(
    brought: Topology, error: type[KafkaError], message: str
) -> None:
    def check() -> None:
        check_topic_names(brought)
        check_heartbeat(JOIN.replaced(topology=brought))

    with pytest.raises(error) as refused:
        check()
    assert str(refused.value) == message
