"""The records of committed offsets, as Kafka 4.3 writes them, and their replay. It says what to write, not when."""

from __future__ import annotations

from typing import Final

from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.store import OffsetStore, StoredOffset
from millstream.coordinator.record import CoordinatorRecord
from millstream.model import Offset
from millstream.protocol.generated.group_records import OffsetCommitKey, OffsetCommitValue

OFFSET_COMMIT_VALUE_VERSION: Final = 4
OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY: Final = 1
"""The only version that can carry an expiry time (OffsetCommit v2-4 with a retention time)."""
NO_EXPIRY_TIMESTAMP: Final = -1


def offset_commit_record(
    group_id: str, topic: str, partition: int, value: OffsetCommitValue
) -> CoordinatorRecord:
    expires = value.expire_timestamp != NO_EXPIRY_TIMESTAMP
    version = OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY if expires else OFFSET_COMMIT_VALUE_VERSION
    return CoordinatorRecord(offset_commit_key(group_id, topic, partition), value, version)


def offset_commit_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(offset_commit_key(group_id, topic, partition), None)


def offset_commit_key(group_id: str, topic: str, partition: int) -> OffsetCommitKey:
    return OffsetCommitKey(group=group_id, topic=topic, partition=partition)


def replay(groups: Groups, offsets: OffsetStore, offset: Offset, record: CoordinatorRecord) -> None:
    """An offset makes the group it belongs to, if need be."""
    match record.key, record.value:
        case OffsetCommitKey() as key, None:
            offsets.remove(key)
        case OffsetCommitKey() as key, OffsetCommitValue() as value:
            groups.get_or_create_classic(key.group, timestamp_ms=-1)
            offsets.put(key, StoredOffset(value, offset), record.producer_id)
        case _:
            raise AssertionError("a record of a group")
