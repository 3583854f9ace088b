"""Finds the current leader for a client that asked the wrong broker (KIP-951): for
NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from millstream.broker.services import Metadata
from millstream.errors import FencedLeaderEpoch, KafkaError, NotLeaderOrFollower
from millstream.model import BrokerId


class LeaderHint(NamedTuple):
    leader_id: BrokerId
    leader_epoch: int


class LeaderEndpoint(NamedTuple):
    node_id: BrokerId
    host: str
    port: int
    rack: str | None


def leader_hint(
    error: KafkaError, topic: str, partition: int, metadata: Metadata
) -> LeaderHint | None:
    """Returns the leader as the metadata knows it; None for errors that new metadata would not cure."""
    if not isinstance(error, NotLeaderOrFollower | FencedLeaderEpoch):
        return None
    found = metadata.image.partition(topic, partition)
    return LeaderHint(found.leader, found.leader_epoch) if found is not None else None


def leader_endpoints(
    leaders: Iterable[int], listener_name: str, metadata: Metadata
) -> list[LeaderEndpoint]:
    """Addresses of `leaders` on the listener that the client uses; leaders without one are left out."""
    brokers = metadata.image.brokers
    endpoints: list[LeaderEndpoint] = []
    for leader in dict.fromkeys(leaders):
        broker = brokers.get(BrokerId(leader))
        endpoint = broker.endpoint(listener_name) if broker is not None else None
        if broker is not None and endpoint is not None:
            endpoints.append(
                LeaderEndpoint(broker.broker_id, endpoint.host, endpoint.port, broker.rack)
            )
    return endpoints
