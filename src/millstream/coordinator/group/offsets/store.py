"""The committed offsets of one shard's groups, and those of open transactions.

Hard state: only the replay of records changes it. Offsets of a transaction count when its commit marker comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from millstream.model import Offset, ProducerId
from millstream.protocol.generated.group_records import OffsetCommitKey, OffsetCommitValue

_NOTHING: Mapping[str, Mapping[int, StoredOffset]] = MappingProxyType({})


class StoredOffset(NamedTuple):
    """A committed offset, and where in the log it stands."""

    value: OffsetCommitValue
    record_offset: Offset


class _GroupTopicPartition(NamedTuple):
    group_id: str
    topic: str
    partition: int


class OffsetStore:
    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[int, StoredOffset]]] = {}
        self._transactions: dict[ProducerId, dict[_GroupTopicPartition, StoredOffset]] = {}
        self._open: Counter[_GroupTopicPartition] = Counter()
        """The number of open transactions in which each has been committed."""
        self._count = 0

    # Questions

    def __len__(self) -> int:
        """Partitions that have an offset, of all groups."""
        return self._count

    def count_of_group(self, group_id: str) -> int:
        return sum(map(len, self.of_group(group_id).values()))

    def count_of_transaction(self, producer_id: ProducerId) -> int:
        """Returns the number of partitions that the open transaction of a producer has committed."""
        return len(self._transactions.get(producer_id, ()))

    def group_ids(self) -> Iterator[str]:
        return iter(self._groups)

    def of_group(self, group_id: str) -> Mapping[str, Mapping[int, StoredOffset]]:
        """Returns the offsets of a group, by topic and partition. A live view: copy before anything is replayed."""
        return self._groups.get(group_id, _NOTHING)

    def find(self, group_id: str, topic: str, partition: int) -> StoredOffset | None:
        return self._groups.get(group_id, _NOTHING).get(topic, {}).get(partition)

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may still change this offset."""
        return _GroupTopicPartition(group_id, topic, partition) in self._open

    def has_open_transactions(self, group_id: str) -> bool:
        return any(each.group_id == group_id for each in self._open)

    def open_in_group(self, group_id: str) -> Iterable[tuple[str, int]]:
        return [(p.topic, p.partition) for p in self._open if p.group_id == group_id]

    # Replay

    def put(self, key: OffsetCommitKey, stored: StoredOffset, producer_id: ProducerId) -> None:
        target = _GroupTopicPartition(key.group, key.topic, key.partition)
        if producer_id < 0:
            self._put(target, stored)
            return
        pending = self._transactions.setdefault(producer_id, {})
        self._open[target] += target not in pending
        pending[target] = stored

    def remove(self, key: OffsetCommitKey) -> None:
        """A tombstone also takes what open transactions would have put there: the partition or the group is gone."""
        target = _GroupTopicPartition(key.group, key.topic, key.partition)
        topics = self._groups.get(target.group_id, {})
        partitions = topics.get(target.topic, {})
        self._count -= partitions.pop(target.partition, None) is not None
        if not partitions:
            topics.pop(target.topic, None)
        if not topics:
            self._groups.pop(target.group_id, None)
        if self._open.pop(target, 0):
            for pending in self._transactions.values():
                pending.pop(target, None)

    def end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        for target, stored in self._transactions.pop(producer_id, {}).items():
            self._open[target] -= 1
            if not self._open[target]:
                del self._open[target]
            newest = self.find(*target)
            if committed and (newest is None or newest.record_offset < stored.record_offset):
                self._put(target, stored)

    def _put(self, target: _GroupTopicPartition, stored: StoredOffset) -> None:
        partitions = self._groups.setdefault(target.group_id, {}).setdefault(target.topic, {})
        self._count += target.partition not in partitions
        partitions[target.partition] = stored
