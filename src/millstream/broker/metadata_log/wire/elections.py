"""Vote, BeginQuorumEpoch and EndQuorumEpoch between raft's values and Kafka's messages."""

from __future__ import annotations

from millstream.broker.metadata_log.wire.partition import (
    METADATA_PARTITION_INDEX,
    check_not_negative,
    check_whole,
    code_of,
    endpoint_on,
    endpoints_of,
    epoch_on_the_wire,
    position_of,
    refusal_of,
    the_partition,
    told_endpoints,
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


# The other direction: requests that this replica sends, and their answers.


def vote_message(request: raft.VoteRequest, cluster_id: str) -> vote.VoteRequest:
    partition = vote.VoteRequestPartitionData(
        partition_index=METADATA_PARTITION_INDEX,
        replica_epoch=request.epoch,
        replica_id=request.source.id,
        replica_directory_id=request.source.directory_id,
        voter_directory_id=request.voter.directory_id,
        last_offset_epoch=epoch_on_the_wire(request.log),
        last_offset=request.log.end_offset,
        pre_vote=request.pre_vote,
    )
    return vote.VoteRequest(
        cluster_id=cluster_id,
        voter_id=request.voter.id,
        topics=[vote.VoteRequestTopicData(CLUSTER_METADATA_TOPIC, [partition])],
    )


def vote_answer(response: vote.VoteResponse, listener: str) -> raft.VoteResponse:
    """Raises KafkaError for one that refuses the whole request or is about something else."""
    check_whole(response.error_code)
    told = the_partition(response.topics)
    return raft.VoteResponse(
        epoch=LeaderEpoch(told.leader_epoch),
        leader_id=BrokerId(told.leader_id),
        endpoints=told_endpoints(response.node_endpoints, told.leader_id, listener),
        granted=told.vote_granted,
        error=refusal_of(told.error_code),
    )


def begin_message(
    request: raft.BeginQuorumEpochRequest, cluster_id: str
) -> begin.BeginQuorumEpochRequest:
    partition = begin.BeginQuorumEpochRequestPartitionData(
        partition_index=METADATA_PARTITION_INDEX,
        voter_directory_id=request.voter.directory_id,
        leader_id=request.source,
        leader_epoch=request.epoch,
    )
    return begin.BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        voter_id=request.voter.id,
        topics=[begin.BeginQuorumEpochRequestTopicData(CLUSTER_METADATA_TOPIC, [partition])],
        leader_endpoints=[
            begin.LeaderEndpoint(each.listener, each.host, each.port) for each in request.endpoints
        ],
    )


def begin_answer(
    response: begin.BeginQuorumEpochResponse, listener: str
) -> raft.BeginQuorumEpochResponse:
    """Raises as `vote_answer`."""
    check_whole(response.error_code)
    told = the_partition(response.topics)
    return raft.BeginQuorumEpochResponse(
        epoch=LeaderEpoch(told.leader_epoch),
        leader_id=BrokerId(told.leader_id),
        endpoints=told_endpoints(response.node_endpoints, told.leader_id, listener),
        error=refusal_of(told.error_code),
    )


def end_message(request: raft.EndQuorumEpochRequest, cluster_id: str) -> end.EndQuorumEpochRequest:
    partition = end.EndQuorumEpochRequestPartitionData(
        partition_index=METADATA_PARTITION_INDEX,
        leader_id=request.source,
        leader_epoch=request.epoch,
        preferred_successors=[each.id for each in request.preferred_successors],
        preferred_candidates=[
            end.ReplicaInfo(each.id, each.directory_id) for each in request.preferred_successors
        ],
    )
    return end.EndQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[end.EndQuorumEpochRequestTopicData(CLUSTER_METADATA_TOPIC, [partition])],
        leader_endpoints=[
            end.LeaderEndpoint(each.listener, each.host, each.port) for each in request.endpoints
        ],
    )


def end_answer(response: end.EndQuorumEpochResponse, listener: str) -> raft.EndQuorumEpochResponse:
    """Raises as `vote_answer`."""
    check_whole(response.error_code)
    told = the_partition(response.topics)
    return raft.EndQuorumEpochResponse(
        epoch=LeaderEpoch(told.leader_epoch),
        leader_id=BrokerId(told.leader_id),
        endpoints=told_endpoints(response.node_endpoints, told.leader_id, listener),
        error=refusal_of(told.error_code),
    )
