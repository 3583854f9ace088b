"""The parts that all requests of the quorum have: the one partition that they are about, the
cluster, and where a leader listens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeVar

from millstream.errors import InconsistentClusterId, InvalidRequest, error_for
from millstream.metadata.topic_names import CLUSTER_METADATA_TOPIC
from millstream.model import NO_LEADER_EPOCH, LeaderEpoch, Offset
from millstream.raft.messages import Endpoints, LogPosition, Refusal
from millstream.raft.voter_set import VoterEndpoint

METADATA_PARTITION_INDEX: Final = 0
NO_ERROR: Final = 0
_EMPTY_LOG_EPOCH: Final = 0
"""Kafka's epoch of an empty log, where raft here says -1."""


class _Partition(Protocol):
    @property
    def partition_index(self) -> int: ...


PartitionT = TypeVar("PartitionT", bound=_Partition)


class _Topic(Protocol[PartitionT]):
    topic_name: str
    partitions: list[PartitionT]


class _Endpoint(Protocol):
    name: str
    host: str
    port: int


class _Node(Protocol):
    node_id: int
    host: str
    port: int


def check_cluster(asked: str | None, own: str) -> None:
    """Raises InconsistentClusterId for a request that names another cluster; one that names none is of any."""
    if asked is not None and asked != own:
        raise InconsistentClusterId(f"This is cluster {own}, the request is for {asked}")


def the_partition(topics: Sequence[_Topic[PartitionT]]) -> PartitionT:
    """Returns what is asked of the metadata partition. Raises InvalidRequest unless that is all that is asked."""
    if len(topics) == 1 and topics[0].topic_name == CLUSTER_METADATA_TOPIC:
        partitions = topics[0].partitions
        if len(partitions) == 1 and partitions[0].partition_index == METADATA_PARTITION_INDEX:
            return partitions[0]
    raise InvalidRequest(
        f"a request of the quorum is about partition 0 of {CLUSTER_METADATA_TOPIC} alone"
    )


def check_not_negative(**values: int) -> None:
    """Raises InvalidRequest that names a value below zero."""
    for name, value in values.items():
        if value < 0:
            raise InvalidRequest(f"{name} is {value}, and may not be negative")


def position_of(offset: int, epoch: int) -> LogPosition:
    """Returns the end of another replica's log."""
    return LogPosition(Offset(offset), LeaderEpoch(epoch if offset else NO_LEADER_EPOCH))


def epoch_on_the_wire(position: LogPosition) -> int:
    return max(position.last_epoch, _EMPTY_LOG_EPOCH)


def endpoints_of(listeners: Iterable[_Endpoint]) -> Endpoints:
    return tuple(VoterEndpoint(each.name, each.host, each.port) for each in listeners)


def endpoint_on(endpoints: Endpoints, listener: str) -> VoterEndpoint | None:
    """Returns the address for those who came over a listener of this name."""
    for endpoint in endpoints:
        if endpoint.listener.upper() == listener.upper():
            return endpoint
    return None


def code_of(error: Refusal | None) -> int:
    return NO_ERROR if error is None else error.code


# Answers of others.


def check_whole(error_code: int) -> None:
    """Raises the KafkaError with which a whole request was refused."""
    if error_code != NO_ERROR:
        raise error_for(error_code)


def refusal_of(error_code: int) -> Refusal | None:
    return None if error_code == NO_ERROR else type(error_for(error_code))


def told_endpoints(nodes: Iterable[_Node], leader_id: int, listener: str) -> Endpoints:
    """Returns where the leader listens, of those whom an answer names: for who asked over a listener called so."""
    return tuple(
        VoterEndpoint(listener, each.host, each.port) for each in nodes if each.node_id == leader_id
    )
