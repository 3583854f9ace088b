"""Chooses the partition of a record: by its key, sticky without one (KIP-480, KIP-794), or by a function of the caller's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata, TopicMetadata
from millstream.errors import InvalidPartitions
from millstream.model import TopicPartition
from millstream.runtime import Random
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from millstream.clients.producer.core import murmur2
else:
    murmur2 = load_leaf("millstream.clients.producer.core.murmur2")

_KEYS_REMEMBERED = 10_000

PartitionChooser = Callable[[str, bytes | None, bytes | None, Sequence[int], ClusterMetadata], int]
"""(topic, key, value, partitions, cluster) to one of the partitions; key and value as they will be written."""


class Partitioner(Protocol):
    def partition(
        self, topic: TopicMetadata, key: bytes | None, value: bytes | None, record_bytes: int
    ) -> int: ...


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """The load that adaptive partitioning goes by: batches waiting by partition, and brokers that take none for too long."""

    queue_lengths: Callable[[str], Mapping[int, int]]
    avoided_nodes: Callable[[], Collection[int]]


@dataclass(slots=True)
class _Stickiness:
    partition: int
    bytes_left: int


class DefaultPartitioner:
    """Java's: murmur2 of the key; without a key, one partition for a batch's worth of bytes, then another.

    The switch counts bytes, not batches, so that partitions on slow brokers do not get more than their share. With a
    load to look at, partitions with much waiting are chosen less often (KIP-794).
    """

    def __init__(
        self,
        random: Random,
        sticky_bytes: int,
        *,
        ignore_keys: bool = False,
        load: PartitionLoad | None = None,
    ) -> None:
        self._random = random
        self._sticky_bytes = max(1, sticky_bytes)
        self._ignore_keys = ignore_keys
        self._load = load
        self._sticky: dict[str, _Stickiness] = {}
        self._by_key: dict[tuple[bytes, int], int] = {}

    def partition(
        self,
        topic: TopicMetadata,
        key: bytes | None,
        value: bytes | None,  # noqa: ARG002 - for partitioners that look at it
        record_bytes: int,
    ) -> int:
        if key is not None and not self._ignore_keys:
            return self.for_key(key, len(topic.partitions))
        return self.without_key(topic, record_bytes)

    def for_key(self, key: bytes, partition_count: int) -> int:
        """Returns the partition for a key, from a cache: keys repeat, and the hash costs more than a look-up."""
        remembered = self._by_key.get((key, partition_count))
        if remembered is not None:
            return remembered
        partition = murmur2.partition_for_key(key, partition_count)
        if len(self._by_key) >= _KEYS_REMEMBERED:
            self._by_key.clear()
        self._by_key[key, partition_count] = partition
        return partition

    def without_key(self, topic: TopicMetadata, record_bytes: int) -> int:
        sticky = self._sticky.get(topic.name)
        if sticky is None or sticky.bytes_left <= 0 or sticky.partition not in topic.partitions:
            sticky = _Stickiness(self._choose(topic), self._sticky_bytes)
            self._sticky[topic.name] = sticky
        sticky.bytes_left -= record_bytes
        return sticky.partition

    def _choose(self, topic: TopicMetadata) -> int:
        """Among partitions that have a leader, or all when none has."""
        candidates = _led(topic) or list(topic.partitions)
        if self._load is None or len(candidates) == 1:
            return candidates[self._random.randrange(len(candidates))]
        avoided = self._load.avoided_nodes()
        if avoided:
            reachable = [p for p in candidates if topic.partitions[p].leader not in avoided]
            candidates = reachable or candidates
        return self._choose_by_load(candidates, self._load.queue_lengths(topic.name))

    def _choose_by_load(self, candidates: list[int], waiting: Mapping[int, int]) -> int:
        """A partition with n batches fewer than the longest queue is n + 1 times as likely as that one."""
        lengths = [waiting.get(partition, 0) for partition in candidates]
        longest = max(lengths)
        ticket = self._random.randrange(sum(longest + 1 - length for length in lengths))
        for partition, length in zip(candidates, lengths, strict=True):
            ticket -= longest + 1 - length
            if ticket < 0:
                return partition
        raise AssertionError("the tickets of all partitions sum up to what was drawn from")


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
        return chosen


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


def _led(topic: TopicMetadata) -> list[int]:
    return [p.partition for p in topic.partitions.values() if p.leader >= 0]
