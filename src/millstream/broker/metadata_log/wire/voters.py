"""Changes of the voters between raft's values and Kafka's messages: Update both ways, Add and Remove as a
replica sends them to join.
"""

from __future__ import annotations

from millstream.broker.metadata_log.wire.partition import (
    code_of,
    endpoint_on,
    endpoints_of,
    refusal_of,
)
from millstream.model import BrokerId, LeaderEpoch, Uuid
from millstream.protocol.generated import add_raft_voter as add
from millstream.protocol.generated import remove_raft_voter as remove
from millstream.protocol.generated import update_raft_voter as update
from millstream.raft import messages as raft
from millstream.raft.voter_set import ReplicaKey, Voter, VoterEndpoint


def update_request(request: update.UpdateRaftVoterRequest) -> raft.UpdateVoterRequest:
    levels = request.kraft_version_feature
    return raft.UpdateVoterRequest(
        epoch=LeaderEpoch(request.current_leader_epoch),
        voter=Voter(
            ReplicaKey(BrokerId(request.voter_id), Uuid(request.voter_directory_id)),
            endpoints_of(request.listeners),
            (levels.min_supported_version, levels.max_supported_version),
        ),
    )


def update_response(
    answer: raft.VoterChangeResponse, listener: str
) -> update.UpdateRaftVoterResponse:
    address = endpoint_on(answer.endpoints, listener)
    leader = update.CurrentLeader(answer.leader_id, answer.epoch)
    if address is not None:
        leader = update.CurrentLeader(answer.leader_id, answer.epoch, address.host, address.port)
    return update.UpdateRaftVoterResponse(error_code=code_of(answer.error), current_leader=leader)


# The other direction.


def update_message(
    request: raft.UpdateVoterRequest, cluster_id: str
) -> update.UpdateRaftVoterRequest:
    voter = request.voter
    return update.UpdateRaftVoterRequest(
        cluster_id=cluster_id,
        current_leader_epoch=request.epoch,
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        listeners=[update.Listener(e.listener, e.host, e.port) for e in voter.endpoints],
        kraft_version_feature=update.KRaftVersionFeature(*voter.kraft_versions),
    )


def update_answer(
    response: update.UpdateRaftVoterResponse, listener: str
) -> raft.VoterChangeResponse:
    leader = response.current_leader
    at = (VoterEndpoint(listener, leader.host, leader.port),) if leader.port else ()
    return raft.VoterChangeResponse(
        epoch=LeaderEpoch(leader.leader_epoch),
        leader_id=BrokerId(leader.leader_id),
        endpoints=at,
        error=refusal_of(response.error_code),
    )


def add_message(
    request: raft.AddVoterRequest, cluster_id: str, timeout_ms: int
) -> add.AddRaftVoterRequest:
    voter = request.voter
    return add.AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=timeout_ms,
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        listeners=[add.Listener(e.listener, e.host, e.port) for e in voter.endpoints],
        ack_when_committed=request.ack_when_committed,
    )


def remove_message(
    request: raft.RemoveVoterRequest, cluster_id: str
) -> remove.RemoveRaftVoterRequest:
    return remove.RemoveRaftVoterRequest(
        cluster_id=cluster_id,
        voter_id=request.voter.id,
        voter_directory_id=request.voter.directory_id,
    )


def change_answer(error_code: int, message: str | None) -> raft.VoterChangeResponse:
    """The answers to Add and Remove tell neither epoch nor leader."""
    return raft.VoterChangeResponse(
        epoch=LeaderEpoch(-1), error=refusal_of(error_code), message=message or ""
    )
