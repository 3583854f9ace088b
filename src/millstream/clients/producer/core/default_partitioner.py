"""Chooses the partition of a record as Java does: by its key, sticky without one (KIP-480, KIP-794)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from millstream.clients.cluster.core.cluster_metadata import TopicMetadata
from millstream.runtime import Random
from millstream.runtime.native import load_leaf

murmur2: Final = load_leaf("millstream.clients.producer.core.murmur2")

_KEYS_REMEMBERED: Final = 10_000
"""Ours: then all are forgotten."""


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """The load that adaptive partitioning goes by: batches waiting by partition, and
    brokers that take none for too long.
    """

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
        partition: int = murmur2.partition_for_key(key, partition_count)
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


def _led(topic: TopicMetadata) -> list[int]:
    return [p.partition for p in topic.partitions.values() if p.leader >= 0]
