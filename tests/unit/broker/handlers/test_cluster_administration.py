"""Handlers of features, elections, reassignments, brokers and the quorum."""

from __future__ import annotations

import pytest

from millstream.broker.handlers import (
    add_raft_voter,
    alter_partition_reassignments,
    describe_quorum,
    elect_leaders,
    list_partition_reassignments,
    remove_raft_voter,
    unregister_broker,
    update_features,
)
from millstream.broker.requests.registry import error_response
from millstream.errors import (
    DuplicateVoter,
    InconsistentClusterId,
    InvalidRequest,
    InvalidUpdateVersion,
    NotLeaderOrFollower,
    VoterNotFound,
)
from millstream.model import Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.add_raft_voter import AddRaftVoterRequest, Listener
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from millstream.protocol.generated.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from millstream.protocol.generated.elect_leaders import ElectLeadersRequest, TopicPartitions
from millstream.protocol.generated.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
)
from millstream.protocol.generated.remove_raft_voter import RemoveRaftVoterRequest
from millstream.protocol.generated.unregister_broker import UnregisterBrokerRequest
from millstream.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from millstream.raft.messages import AddVoterRequest, RemoveVoterRequest
from millstream.raft.quorum_description import ReplicaState
from millstream.raft.voter_set import KRAFT_VERSION_STATIC, ReplicaKey, Voter, VoterEndpoint
from tests.support.handler_services import request_context
from tests.support.node_views import GivenController, quorum

OWN_DIRECTORY = Uuid(b"d" * 16)


@pytest.mark.parametrize(
    ("version", "fields"), [(0, {"allow_downgrade": True}), (1, {"upgrade_type": 2})]
)
def test_old_clients_say_that_a_downgrade_is_meant_in_their_own_way(
    node: object, version: int, fields: dict[str, object]
) -> None:
    node.finalize("share.version", 1)
    update = FeatureUpdateKey(feature="share.version", max_version_level=0, **fields)
    request = UpdateFeaturesRequest(feature_updates=[update])
    answer = node.answer(update_features.handle, request, version)
    assert [(r.feature, r.error_code) for r in answer.results] == [("share.version", 0)]
    assert "share.version" not in node.live.image.features


def test_a_downgrade_that_was_not_meant_is_refused(node: object) -> None:
    node.finalize("share.version", 1)
    update = FeatureUpdateKey(feature="share.version", max_version_level=0)
    with pytest.raises(InvalidUpdateVersion, match="setting the upgrade type"):
        node.answer(update_features.handle, UpdateFeaturesRequest(feature_updates=[update]), 0)


def test_on_one_node_no_election_is_needed(node: object) -> None:
    node.create("t", partitions=2)
    named = ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [1])])
    (result,) = node.answer(elect_leaders.handle, named, 2).replica_election_results
    assert [(p.partition_id, p.error_code) for p in result.partition_result] == [(1, 84)]


def test_a_refused_election_is_told_at_the_top_and_for_each_partition() -> None:
    named = ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [0, 1])])
    answer = error_response(ApiKey.ELECT_LEADERS, 2, named, InvalidRequest("no"))
    assert answer.error_code == 42
    (result,) = answer.replica_election_results
    assert [(p.partition_id, p.error_code) for p in result.partition_result] == [(0, 42), (1, 42)]


def test_moves_are_listed_while_they_go_on(node: object) -> None:
    node.add_broker(2)
    node.create("t")
    (present,) = node.live.image.partition("t", 0).replicas
    target = [2] if present == 1 else [1]
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic("t", [ReassignablePartition(0, target)])]
    )
    answer = node.answer(alter_partition_reassignments.handle, request, 1)
    assert answer.responses[0].partitions[0].error_code == 0
    moving = [OngoingPartitionReassignment(0, [*target, present], target, [present])]
    for topics in (None, [ListPartitionReassignmentsTopics("t", [0, 9])]):
        listed = node.answer(
            list_partition_reassignments.handle, ListPartitionReassignmentsRequest(topics=topics), 0
        )
        assert [(t.name, t.partitions) for t in listed.topics] == [("t", moving)]
    elsewhere = ListPartitionReassignmentsRequest(topics=[])
    assert node.answer(list_partition_reassignments.handle, elsewhere, 0).topics == []


def test_a_fenced_broker_is_forgotten(node: object) -> None:
    node.add_broker(2, fenced=True)
    answer = node.answer(unregister_broker.handle, UnregisterBrokerRequest(broker_id=2), 0)
    assert (answer.error_code, sorted(node.live.image.brokers)) == (0, [1])


def asked(*topics: tuple[str, list[int]]) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(
        topics=[
            DescribeQuorumRequestTopicData(
                name, [DescribeQuorumRequestPartitionData(index) for index in partitions]
            )
            for name, partitions in topics
        ]
    )


def test_who_asks_a_quorum_without_a_leader_learns_whom_it_lacks(node: object) -> None:
    """Else `millstream cluster status` would end with a time-out and no more."""
    standing = ReplicaState(name="candidate", votes="for: 1; silent: 2, 3")
    lost = GivenController(description=quorum(-1, standing), is_active=False)
    node.give(controller=lost)
    with pytest.raises(NotLeaderOrFollower, match="votes of 3: for: 1; silent: 2, 3; 2 are needed"):
        node.answer(describe_quorum.handle, asked(("__cluster_metadata", [0])), 2)


def test_the_quorum_is_told_to_who_asks_for_it_alone(node: object) -> None:
    told = node.answer(describe_quorum.handle, asked(("__cluster_metadata", [0])), 2)
    (partition,) = told.topics[0].partitions
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (1, 4, 30)
    (voter,) = partition.current_voters
    assert (voter.replica_id, voter.replica_directory_id, voter.log_end_offset) == (
        1,
        OWN_DIRECTORY,
        31,
    )
    (observer,) = partition.observers
    assert (observer.replica_id, observer.log_end_offset) == (7, 25)
    assert (observer.last_fetch_timestamp, observer.last_caught_up_timestamp) == (800, 700)
    for version in (0, 1):  # neither knows directories
        response = node.answer(describe_quorum.handle, asked(("__cluster_metadata", [0])), version)
        out = bytearray()
        response.encode(out, version)
        assert out
    for other in ([("t", [0])], [("__cluster_metadata", [0, 1])], [("__cluster_metadata", [1])]):
        told = node.answer(describe_quorum.handle, asked(*other), 2)
        assert {p.error_code for topic in told.topics for p in topic.partitions} == {3}
    assert node.answer(describe_quorum.handle, asked(), 2).topics == []


OTHER_DIRECTORY = Uuid(b"e" * 16)
NO_DIRECTORY = Uuid(bytes(16))


@pytest.mark.parametrize(
    ("cluster_id", "voter_id", "directory_id", "listener", "error"),
    [
        ("other", 2, OTHER_DIRECTORY, "CONTROLLER", InconsistentClusterId),
        (None, 1, NO_DIRECTORY, "CONTROLLER", InvalidRequest),
        (None, -1, OTHER_DIRECTORY, "CONTROLLER", InvalidRequest),
        (None, 2, OTHER_DIRECTORY, "OTHER", InvalidRequest),
        ("cluster", 2, OTHER_DIRECTORY, "CONTROLLER", DuplicateVoter),
    ],
)
def test_what_is_no_voter_is_not_added_and_the_quorum_may_refuse(  # noqa: PLR0917  # a row of the table
    node: object,
    cluster_id: str | None,
    voter_id: int,
    directory_id: Uuid,
    listener: str,
    error: type[Exception],
) -> None:
    request = AddRaftVoterRequest(
        cluster_id=cluster_id,
        voter_id=voter_id,
        voter_directory_id=directory_id,
        listeners=[Listener(name=listener, host="h", port=1)],
    )
    node.quorum_refuses = DuplicateVoter
    with pytest.raises(error):
        node.answer(add_raft_voter.handle, request, 1)


@pytest.mark.parametrize(
    ("cluster_id", "voter_id", "directory_id", "error"),
    [
        ("other", 1, OWN_DIRECTORY, InconsistentClusterId),
        (None, 1, NO_DIRECTORY, InvalidRequest),
        (None, -1, OWN_DIRECTORY, InvalidRequest),
        ("cluster", 1, OWN_DIRECTORY, VoterNotFound),
    ],
)
def test_what_is_no_voter_is_not_removed_and_the_quorum_may_refuse(
    node: object, cluster_id: str | None, voter_id: int, directory_id: Uuid, error: type[Exception]
) -> None:
    request = RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=voter_id, voter_directory_id=directory_id
    )
    node.quorum_refuses = VoterNotFound
    with pytest.raises(error):
        node.answer(remove_raft_voter.handle, request, 0)


def test_what_the_quorum_is_asked_for(node: object) -> None:
    listener = Listener(name="CONTROLLER", host="h", port=1)
    adding = AddRaftVoterRequest(None, 1_000, 2, OTHER_DIRECTORY, [listener], False)
    assert node.answer(add_raft_voter.handle, adding, 1).error_code == 0
    removing = RemoveRaftVoterRequest(None, 2, OTHER_DIRECTORY)
    assert node.answer(remove_raft_voter.handle, removing, 0).error_code == 0
    key = ReplicaKey(2, OTHER_DIRECTORY)
    voter = Voter(key, (VoterEndpoint("CONTROLLER", "h", 1),))
    assert node.changes == [
        AddVoterRequest(voter=voter, ack_when_committed=False),
        RemoveVoterRequest(voter=key),
    ]


def test_a_static_quorum_tells_no_directories(node: object) -> None:
    node.kraft_version = KRAFT_VERSION_STATIC
    told = node.answer(describe_quorum.handle, asked(("__cluster_metadata", [0])), 2)
    (voter,) = told.topics[0].partitions[0].current_voters
    assert (voter.replica_id, voter.replica_directory_id) == (1, NO_DIRECTORY)


def test_moves_are_asked_of_the_controller_where_it_leads() -> None:
    """A broker that has not heard of a move that was just begun would say that nothing moves."""
    asked: list[object] = []

    class Elsewhere:
        def is_elsewhere(self) -> bool:
            return False

        def leads(self) -> bool:
            return False

        def forward(self, *what: object) -> str:
            asked.append(what[0])
            return "the controller's answer"

    answer = list_partition_reassignments.handle(
        ListPartitionReassignmentsRequest(topics=None),
        request_context(0),
        controller=Elsewhere(),
        metadata=None,
    )
    assert (answer, asked) == ("the controller's answer", [ApiKey.LIST_PARTITION_REASSIGNMENTS])
