"""Stands for the fetchers of a broker until the first of its replicas follows another broker.

A node by itself has no followers, so it neither makes fetchers nor loads their modules,
which are a fortieth of its start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, final

from millstream.metadata.image import NO_LEADER
from millstream.model import TopicPartition
from millstream.replication.partition import Partition

if TYPE_CHECKING:
    from millstream.broker.replication.replica_fetchers import ReplicaFetchers


@final
class FetchersOnDemand:
    def __init__(self, make: Callable[[int], ReplicaFetchers], *, count: int) -> None:
        """`make` is given how many fetchers each leader has; `count` is that number until `resize`."""
        self._make = make
        self._count = count
        self._made: ReplicaFetchers | None = None

    def follow(self, partition: Partition) -> None:
        """Has a partition fetched from its leader, if another broker leads it; else it is fetched no more."""
        is_led_elsewhere = partition.leader != NO_LEADER and not partition.is_leader
        if self._made is None and is_led_elsewhere:
            self._made = self._make(self._count)
        if self._made is not None:
            self._made.follow(partition)

    def leave(self, name: TopicPartition) -> None:
        """Has a partition fetched no more."""
        if self._made is not None:
            self._made.leave(name)

    def resize(self, count: int) -> None:
        """Spreads the partitions of each leader over another number of fetchers."""
        self._count = count
        if self._made is not None:
            self._made.resize(count)
