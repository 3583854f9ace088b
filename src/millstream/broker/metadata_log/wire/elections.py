"""Vote, BeginQuorumEpoch and EndQuorumEpoch: their requests as raft takes them, and raft's answers as messages."""

from __future__ import annotations

from millstream.broker.metadata_log.wire.partition import (
    METADATA_PARTITION_INDEX,
    check_not_negative,
    code_of,
    endpoint_on,
    endpoints_of,
    position_of,
    the_partition,
)
from millstream.errors import InvalidRequest
from millstream.metadata.topic_names import CLUSTER_METADATA_TOPIC
from millstream.model import BrokerId, LeaderEpoch, Uuid
from millstream.protocol.generated import begin_quorum_epoch as begin
from millstream.protocol.generated import end_quorum_epoch as end
from millstream.protocol.generated import vote
from millstream.raft import messages as raft
from millstream.raft.voter_set import ReplicaKey


def vote_request(request: vote.VoteRequest, own_id: BrokerId) -> raft.VoteRequest:
    """Raises InvalidRequest for what no replica could ask. Version 0 does not name the voter: it is this one."""
    asked = the_partition(request.topics)
    check_not_negative(
        replica_epoch=asked.replica_epoch,
        last_offset=asked.last_offset,
        last_offset_epoch=asked.last_offset_epoch,
    )
    if asked.last_offset_epoch > asked.replica_epoch:
        raise InvalidRequest("the log of a replica ends in no later epoch than its own")
    voter_id = request.voter_id if request.voter_id >= 0 else own_id
    return raft.VoteRequest(
        source=ReplicaKey(BrokerId(asked.replica_id), Uuid(asked.replica_directory_id)),
        epoch=LeaderEpoch(asked.replica_epoch),
        log=position_of(asked.last_offset, asked.last_offset_epoch),
        voter=ReplicaKey(BrokerId(voter_id), Uuid(asked.voter_directory_id)),
        pre_vote=asked.pre_vote,
    )


def vote_response(answer: raft.VoteResponse, listener: str) -> vote.VoteResponse:
    partition = vote.VoteResponsePartitionData(
        partition_index=METADATA_PARTITION_INDEX,
        error_code=code_of(answer.error),
        leader_id=answer.leader_id,
        leader_epoch=answer.epoch,
        vote_granted=answer.granted,
    )
    address = endpoint_on(answer.endpoints, listener)
    return vote.VoteResponse(
        topics=[vote.VoteResponseTopicData(CLUSTER_METADATA_TOPIC, [partition])],
        node_endpoints=[]
        if address is None
        else [vote.NodeEndpoint(answer.leader_id, address.host, address.port)],
    )


def begin_request(
    request: begin.BeginQuorumEpochRequest, own_id: BrokerId
) -> raft.BeginQuorumEpochRequest:
    """Raises InvalidRequest. Version 0 does not name the voter: it is this one."""
    asked = the_partition(request.topics)
    check_not_negative(leader_id=asked.leader_id, leader_epoch=asked.leader_epoch)
    voter_id = request.voter_id if request.voter_id >= 0 else own_id
    return raft.BeginQuorumEpochRequest(
        source=BrokerId(asked.leader_id),
        epoch=LeaderEpoch(asked.leader_epoch),
        endpoints=endpoints_of(request.leader_endpoints),
        voter=ReplicaKey(BrokerId(voter_id), Uuid(asked.voter_directory_id)),
    )


def begin_response(
    answer: raft.BeginQuorumEpochResponse, listener: str
) -> begin.BeginQuorumEpochResponse:
    partition = begin.BeginQuorumEpochResponsePartitionData(
        partition_index=METADATA_PARTITION_INDEX,
        error_code=code_of(answer.error),
        leader_id=answer.leader_id,
        leader_epoch=answer.epoch,
    )
    address = endpoint_on(answer.endpoints, listener)
    return begin.BeginQuorumEpochResponse(
        topics=[begin.BeginQuorumEpochResponseTopicData(CLUSTER_METADATA_TOPIC, [partition])],
        node_endpoints=[]
        if address is None
        else [begin.NodeEndpoint(answer.leader_id, address.host, address.port)],
    )


def end_request(request: end.EndQuorumEpochRequest) -> raft.EndQuorumEpochRequest:
    """Raises InvalidRequest. Version 0 names successors by id alone."""
    asked = the_partition(request.topics)
    check_not_negative(leader_id=asked.leader_id, leader_epoch=asked.leader_epoch)
    candidates = [
        ReplicaKey(BrokerId(each.candidate_id), Uuid(each.candidate_directory_id))
        for each in asked.preferred_candidates
    ]
    by_id = [ReplicaKey(BrokerId(each)) for each in asked.preferred_successors]
    return raft.EndQuorumEpochRequest(
        source=BrokerId(asked.leader_id),
        epoch=LeaderEpoch(asked.leader_epoch),
        preferred_successors=tuple(candidates or by_id),
        endpoints=endpoints_of(request.leader_endpoints),
    )


def end_response(answer: raft.EndQuorumEpochResponse, listener: str) -> end.EndQuorumEpochResponse:
    partition = end.EndQuorumEpochResponsePartitionData(
        partition_index=METADATA_PARTITION_INDEX,
        error_code=code_of(answer.error),
        leader_id=answer.leader_id,
        leader_epoch=answer.epoch,
    )
    address = endpoint_on(answer.endpoints, listener)
    return end.EndQuorumEpochResponse(
        topics=[end.EndQuorumEpochResponseTopicData(CLUSTER_METADATA_TOPIC, [partition])],
        node_endpoints=[]
        if address is None
        else [end.NodeEndpoint(answer.leader_id, address.host, address.port)],
    )
