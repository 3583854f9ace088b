"""Counts group coordination by the records that are written: commits, expired offsets, rebalances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from millstream.coordinator.group.group import GroupKind
from millstream.coordinator.record import CoordinatorRecord
from millstream.protocol.generated.group_records import (
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    ShareGroupMetadataKey,
    StreamsGroupMetadataKey,
)

_NEW_EPOCH = {
    ConsumerGroupMetadataKey: GroupKind.CONSUMER,
    ShareGroupMetadataKey: GroupKind.SHARE,
    StreamsGroupMetadataKey: GroupKind.STREAMS,
}


class GroupMetrics:
    def __init__(self) -> None:
        self.offset_commits = 0
        """Offsets, not requests: one for each partition."""
        self.offsets_removed = 0
        """Expired or deleted."""
        self.rebalances: Counter[GroupKind] = Counter()

    def count_written(self, records: Iterable[CoordinatorRecord]) -> None:
        """Counts `records`, which are in the log.

        A new epoch or a stored generation of a classic group is a rebalance.
        """
        for record in records:
            key, value = record.key, record.value
            if isinstance(key, OffsetCommitKey):
                if value is None:
                    self.offsets_removed += 1
                else:
                    self.offset_commits += 1
            elif isinstance(value, GroupMetadataValue) and isinstance(key, GroupMetadataKey):
                self.rebalances[GroupKind.CLASSIC] += bool(value.members)
            elif value is not None and type(key) in _NEW_EPOCH:
                self.rebalances[_NEW_EPOCH[type(key)]] += 1
