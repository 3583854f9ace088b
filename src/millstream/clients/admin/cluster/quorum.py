"""The controllers' quorum (KRaft): its leader, voters and observers, and changes of the voters (KIP-853)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import check
from millstream.clients.admin.core.routes import AnyBroker
from millstream.clients.admin.driver import AdminCalls
from millstream.errors import NotLeaderOrFollower, UnknownServerError
from millstream.model import Uuid
from millstream.net.client.core.addresses import Address
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    Listener,
)
from millstream.protocol.generated.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    ReplicaState,
)
from millstream.protocol.generated.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)

_METADATA_TOPIC: Final = "__cluster_metadata"
_MOVED: Final = (NotLeaderOrFollower,)
"""A controller that does not lead answers so: the next attempt asks again who leads."""


class RaftVoterEndpoint(NamedTuple):
    """The address of a controller's listener, with the listener's name."""

    name: str
    address: Address


class QuorumReplica(NamedTuple):
    """Timestamps (ms) are None where the leader has not heard of it yet."""

    replica_id: int
    directory_id: Uuid
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


class QuorumInfo(NamedTuple):
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]
    nodes: Mapping[int, list[RaftVoterEndpoint]]
    """By voter its listeners; empty before Kafka 3.9."""


async def describe_metadata_quorum(
    admin: AdminCalls, *, timeout_ms: int | None = None
) -> QuorumInfo:
    """Kafka 3.3 with KRaft."""
    call = Call[None, QuorumInfo, DescribeQuorumResponse](
        api=ApiKey.DESCRIBE_QUORUM,
        response=DescribeQuorumResponse,
        route=AnyBroker(),
        retries=_MOVED,
        build=lambda _: DescribeQuorumRequest(topics=[_METADATA_PARTITION]),
        read=lambda response, asked: dict.fromkeys(asked.keys, _quorum(response)),
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


async def add_raft_voter(
    admin: AdminCalls,
    voter_id: int,
    voter_directory_id: Uuid,
    endpoints: Iterable[RaftVoterEndpoint],
    *,
    cluster_id: str | None = None,
    timeout_ms: int | None = None,
) -> None:
    """Make an observing controller a voter (Kafka 3.9). `cluster_id`, if given, must be the cluster's."""
    listeners = [Listener(each.name, *each.address) for each in endpoints]

    def build(asked: Asked[int]) -> AddRaftVoterRequest:
        return AddRaftVoterRequest(
            cluster_id=cluster_id,
            timeout_ms=asked.timeout_ms,
            voter_id=voter_id,
            voter_directory_id=voter_directory_id,
            listeners=listeners,
        )

    def read(response: AddRaftVoterResponse, asked: Asked[int]) -> dict[int, None]:
        check(response.error_code, f"voter {voter_id}", response.error_message)
        return dict.fromkeys(asked.keys)

    call = Call[int, None, AddRaftVoterResponse](
        api=ApiKey.ADD_RAFT_VOTER,
        response=AddRaftVoterResponse,
        route=AnyBroker(),
        retries=_MOVED,
        build=build,
        read=read,
    )
    await admin._driver.one(call, voter_id, admin._driver.deadline(timeout_ms))


async def remove_raft_voter(
    admin: AdminCalls,
    voter_id: int,
    voter_directory_id: Uuid,
    *,
    cluster_id: str | None = None,
    timeout_ms: int | None = None,
) -> None:
    """Take a controller out of the voters (Kafka 3.9)."""

    def read(response: RemoveRaftVoterResponse, asked: Asked[int]) -> dict[int, None]:
        check(response.error_code, f"voter {voter_id}", response.error_message)
        return dict.fromkeys(asked.keys)

    call = Call[int, None, RemoveRaftVoterResponse](
        api=ApiKey.REMOVE_RAFT_VOTER,
        response=RemoveRaftVoterResponse,
        route=AnyBroker(),
        retries=_MOVED,
        build=lambda _: RemoveRaftVoterRequest(
            cluster_id=cluster_id, voter_id=voter_id, voter_directory_id=voter_directory_id
        ),
        read=read,
    )
    await admin._driver.one(call, voter_id, admin._driver.deadline(timeout_ms))


_METADATA_PARTITION: Final = DescribeQuorumRequestTopicData(
    topic_name=_METADATA_TOPIC,
    partitions=[DescribeQuorumRequestPartitionData(partition_index=0)],
)


def _quorum(response: DescribeQuorumResponse) -> QuorumInfo:
    check(response.error_code, "describe_metadata_quorum", response.error_message)
    partitions = [each for topic in response.topics for each in topic.partitions]
    if len(partitions) != 1:
        raise UnknownServerError(f"the answer is about {len(partitions)} quorums, not about one")
    (partition,) = partitions
    check(partition.error_code, "describe_metadata_quorum", partition.error_message)
    return QuorumInfo(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        [_replica(each) for each in partition.current_voters],
        [_replica(each) for each in partition.observers],
        {
            node.node_id: [
                RaftVoterEndpoint(each.name, Address(each.host, each.port))
                for each in node.listeners
            ]
            for node in response.nodes
        },
    )


def _replica(state: ReplicaState) -> QuorumReplica:
    fetched_ms, caught_up_ms = state.last_fetch_timestamp, state.last_caught_up_timestamp
    return QuorumReplica(
        state.replica_id,
        Uuid(state.replica_directory_id),
        state.log_end_offset,
        fetched_ms if fetched_ms >= 0 else None,
        caught_up_ms if caught_up_ms >= 0 else None,
    )
