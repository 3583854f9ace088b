"""Which partition a record goes to: by its key, or sticky for records without one (KIP-794)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.clients.core.cluster_metadata import TopicMetadata
from millstream.runtime import Random
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from millstream.clients.core import murmur2
else:
    murmur2 = load_leaf("millstream.clients.core.murmur2")

_KEYS_REMEMBERED = 10_000


@dataclass(slots=True)
class _Stickiness:
    partition: int
    bytes_left: int


class Partitioner:
    """Java's default: murmur2 of the key; without a key, one partition for a batch's worth of bytes, then another.

    The switch counts bytes, not batches, so that partitions on slow brokers do not get more than their share.
    """

    def __init__(self, random: Random, sticky_bytes: int) -> None:
        self._random = random
        self._sticky_bytes = max(1, sticky_bytes)
        self._sticky: dict[str, _Stickiness] = {}
        self._by_key: dict[tuple[bytes, int], int] = {}

    def for_key(self, key: bytes, partition_count: int) -> int:
        """Keys repeat, and the hash costs more than a look-up."""
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
        led = [p.partition for p in topic.partitions.values() if p.leader >= 0]
        candidates = led or list(topic.partitions)
        return candidates[self._random.randrange(len(candidates))]
