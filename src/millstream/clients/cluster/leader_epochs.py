"""The epochs of leaders as facts that outlive a client: kept beside an offset, and told to the client that reads on.

A broker that is cut off from the controllers takes itself for the leader still. A client that was there when another
one was elected knows better (KIP-320), a new one does not: the log of that broker may end before the offset.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.cluster.core.cluster_metadata import LeaderEpochs
from millstream.model import NO_LEADER_EPOCH, TopicPartition, Uuid


class ClientOfCluster(Protocol):
    """A consumer, producer, reader or admin."""

    @property
    def _cluster(self) -> Cluster: ...


def leader_epoch(client: ClientOfCluster, partition: TopicPartition) -> int:
    """Returns the epoch of the leader that the client asks now; -1 where it knows none."""
    known = client._cluster.snapshot.partition(partition)
    return int(NO_LEADER_EPOCH) if known is None else known.leader_epoch


def leader_epochs(
    client: ClientOfCluster, partitions: Iterable[TopicPartition]
) -> dict[tuple[Uuid, TopicPartition], int]:
    """Returns the same for several, each with the id of the topic that the client asks, as far as it knows both."""
    wanted = list(partitions)
    ids = client._cluster.snapshot.topic_ids(wanted)
    found = {(ids[tp], tp): leader_epoch(client, tp) for tp in wanted if tp in ids}
    return {key: epoch for key, epoch in found.items() if epoch != NO_LEADER_EPOCH}


def learn_leader_epochs(client: ClientOfCluster, epochs: LeaderEpochs) -> None:
    """Has the client ask no leader that is older than these. It looks for newer metadata until there is a leader."""
    client._cluster.learn_leader_epochs(epochs)
