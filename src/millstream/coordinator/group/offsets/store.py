"""The committed offsets of one shard's groups, and those that open transactions have staged.

Hard state: only the replay of records changes it. Offsets of a transaction count when its commit marker
comes. Whoever removes offsets asks for those that are *held*, which are both kinds: a staged offset that
outlives what it belongs to would count later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from millstream.model import Offset, ProducerId
from millstream.protocol.generated.group_records import OffsetCommitKey, OffsetCommitValue

_NOTHING: Mapping[str, Mapping[int, StoredOffset]] = MappingProxyType({})
_NONE_STAGED: Counter[tuple[str, int]] = Counter()


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
        self._staged: dict[str, Counter[tuple[str, int]]] = {}
        """By group: the number of open transactions in which each topic and partition has been committed."""
        self._count = 0
        self._staged_count = 0

    # Questions

    def __len__(self) -> int:
        """Partitions that have an offset, of all groups."""
        return self._count

    @property
    def held_count(self) -> int:
        """The offsets that are committed or staged, of all groups."""
        return self._count + self._staged_count

    def held_count_of_group(self, group_id: str) -> int:
        committed = sum(map(len, self.of_group(group_id).values()))
        return committed + len(self._staged.get(group_id, _NONE_STAGED))

    def count_of_transaction(self, producer_id: ProducerId) -> int:
        """Returns the number of partitions that the open transaction of a producer has committed."""
        return len(self._transactions.get(producer_id, ()))

    def group_ids(self) -> Collection[str]:
        """Returns the groups that have committed or staged offsets."""
        return dict.fromkeys([*self._groups, *self._staged])

    def held_by_group(self, group_id: str) -> list[tuple[str, int]]:
        """Returns each topic and partition that has an offset, be it committed or staged."""
        committed = [
            (topic, partition)
            for topic, partitions in self.of_group(group_id).items()
            for partition in partitions
        ]
        return list(dict.fromkeys([*committed, *self.staged_in_group(group_id)]))

    def held(self, group_id: str, topic: str, partition: int) -> list[StoredOffset]:
        """Returns the offsets of one partition: the committed one first, then those of open transactions."""
        committed = self.find(group_id, topic, partition)
        found = [] if committed is None else [committed]
        if self.is_unstable(group_id, topic, partition):
            target = _GroupTopicPartition(group_id, topic, partition)
            found += [p[target] for p in self._transactions.values() if target in p]
        return found

    def of_group(self, group_id: str) -> Mapping[str, Mapping[int, StoredOffset]]:
        """Returns the offsets of a group, by topic and partition. A live view: copy before anything is replayed."""
        return self._groups.get(group_id, _NOTHING)

    def find(self, group_id: str, topic: str, partition: int) -> StoredOffset | None:
        return self._groups.get(group_id, _NOTHING).get(topic, {}).get(partition)

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may still change this offset."""
        return (topic, partition) in self._staged.get(group_id, _NONE_STAGED)

    def has_open_transactions(self, group_id: str) -> bool:
        return group_id in self._staged

    def staged_in_group(self, group_id: str) -> Collection[tuple[str, int]]:
        return self._staged.get(group_id, _NONE_STAGED).keys()

    # Replay

    def put(self, key: OffsetCommitKey, stored: StoredOffset, producer_id: ProducerId) -> None:
        target = _GroupTopicPartition(key.group, key.topic, key.partition)
        if producer_id < 0:
            self._put(target, stored)
            return
        pending = self._transactions.setdefault(producer_id, {})
        if target not in pending:
            self._staged.setdefault(target.group_id, Counter())[target[1:]] += 1
            self._staged_count += 1
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
        if self.is_unstable(*target):
            for pending in self._transactions.values():
                if pending.pop(target, None) is not None:
                    self._unstage(target)

    def end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        for target, stored in self._transactions.pop(producer_id, {}).items():
            self._unstage(target)
            newest = self.find(*target)
            if committed and (newest is None or newest.record_offset < stored.record_offset):
                self._put(target, stored)

    def _unstage(self, target: _GroupTopicPartition) -> None:
        """One open transaction less has committed it."""
        self._staged_count -= 1
        of_group = self._staged[target.group_id]
        of_group[target[1:]] -= 1
        if not of_group[target[1:]]:
            del of_group[target[1:]]
        if not of_group:
            del self._staged[target.group_id]

    def _put(self, target: _GroupTopicPartition, stored: StoredOffset) -> None:
        partitions = self._groups.setdefault(target.group_id, {}).setdefault(target.topic, {})
        self._count += target.partition not in partitions
        partitions[target.partition] = stored
