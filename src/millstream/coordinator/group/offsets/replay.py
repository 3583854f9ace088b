"""Replay of the records of committed offsets. An offset makes the group it belongs to, if need be."""

from __future__ import annotations

from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.store import OffsetStore, StoredOffset
from millstream.coordinator.record import CoordinatorRecord
from millstream.model import Offset
from millstream.protocol.generated.group_records import OffsetCommitKey, OffsetCommitValue


def replay(groups: Groups, offsets: OffsetStore, offset: Offset, record: CoordinatorRecord) -> None:
    match record.key, record.value:
        case OffsetCommitKey() as key, None:
            offsets.remove(key)
        case OffsetCommitKey() as key, OffsetCommitValue() as value:
            groups.get_or_create_classic(key.group, timestamp_ms=-1)
            offsets.put(key, StoredOffset(value, offset), record.producer_id)
        case _:
            raise AssertionError("a record of a group")
