"""Chooses the partition of a record by a function of the caller's; `default_partitioner`
has the way where there is none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Protocol

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata, TopicMetadata
from millstream.errors import InvalidPartitions
from millstream.model import TopicPartition

PartitionChooser = Callable[[str, bytes | None, bytes | None, Sequence[int], ClusterMetadata], int]
"""(topic, key, value, partitions, cluster) to one of the partitions; key and value as they will be written."""


class Partitioner(Protocol):
    def partition(
        self, topic: TopicMetadata, key: bytes | None, value: bytes | None, record_bytes: int
    ) -> int: ...


class CustomPartitioner:
    """Asks a function of the caller's, and checks what it says."""

    def __init__(self, choose: PartitionChooser, snapshot: Callable[[], ClusterMetadata]) -> None:
        self._choose = choose
        self._snapshot = snapshot

    def partition(
        self,
        topic: TopicMetadata,
        key: bytes | None,
        value: bytes | None,
        record_bytes: int,  # noqa: ARG002 - for partitioners that stick for a number of bytes
    ) -> int:
        chosen = self._choose(topic.name, key, value, sorted(topic.partitions), self._snapshot())
        if chosen not in topic.partitions:
            raise InvalidPartitions(
                f"the partitioner chose {chosen!r} for {topic.name}, which has partitions 0 to"
                f" {len(topic.partitions) - 1}"
            )
        return operator.index(chosen)  # a number of NumPy's is a partition, too


class RoundRobinPartitioner:
    """Pass an instance as `partitioner`: each record of a topic, with a key or not, goes to the next partition.

    Partitions without a leader are left out while any has one. Keeps no order by key, and fills batches slowly.
    """

    def __init__(self) -> None:
        self._turns: dict[str, int] = {}

    def __call__(
        self,
        topic: str,
        key: bytes | None,  # noqa: ARG002 - the signature is PartitionChooser's
        value: bytes | None,  # noqa: ARG002 - the signature is PartitionChooser's
        partitions: Sequence[int],
        cluster: ClusterMetadata,
    ) -> int:
        led = [p for p in partitions if cluster.leader(TopicPartition(topic, p)) is not None]
        candidates = led or partitions
        turn = self._turns.get(topic, 0)
        self._turns[topic] = turn + 1
        return candidates[turn % len(candidates)]
