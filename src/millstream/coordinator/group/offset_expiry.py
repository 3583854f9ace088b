"""Expiry: offsets nobody uses any more, and groups that hold nothing, are removed by tombstones.

Owns the question how old an offset may get. What a group still reads does not expire; neither does what an open transaction
may change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from millstream.coordinator.group.classic_group import CONSUMER_PROTOCOL_TYPE, ClassicGroup
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offset_store import OffsetStore, StoredOffset
from millstream.coordinator.group.records import (
    NO_EXPIRY_TIMESTAMP,
    group_tombstone,
    offset_commit_tombstone,
)
from millstream.coordinator.group.state import GroupState
from millstream.coordinator.group.subscription import subscribed_topics
from millstream.coordinator.group.turn import Turn

TOMBSTONES_PER_TURN_MAX: Final = 1_000

BaseTimestamp = Callable[[StoredOffset], int]


def expire_offsets(groups: Groups, offsets: OffsetStore, turn: Turn) -> bool:
    """False when there was more to do than one batch should hold: run it again."""
    records = turn.result.records
    for group in groups:
        expired, holds_more = _expired(group, offsets, turn)
        room = TOMBSTONES_PER_TURN_MAX - len(records)
        records += [offset_commit_tombstone(group.group_id, *place) for place in expired[:room]]
        holds_more = holds_more or len(expired) > room
        is_unused = group.state is GroupState.EMPTY and not group.pending_members
        if is_unused and not holds_more and not offsets.has_open_transactions(group.group_id):
            records.append(group_tombstone(group.group_id))
        if len(records) >= TOMBSTONES_PER_TURN_MAX:
            return False
    return True


def _expired(
    group: ClassicGroup, offsets: OffsetStore, turn: Turn
) -> tuple[list[tuple[str, int]], bool]:
    """The places to clear, and whether the group keeps others."""
    stored = offsets.of_group(group.group_id)
    base_timestamp = _base_timestamp(group)
    if base_timestamp is None:
        return [], bool(stored)
    in_use = subscribed_topics(group)
    expired = [
        (topic, partition)
        for topic, partitions in stored.items()
        if topic not in in_use
        for partition, offset in partitions.items()
        if _is_expired(offset, base_timestamp, turn)
        and not offsets.is_unstable(group.group_id, topic, partition)
    ]
    return expired, len(expired) < sum(map(len, stored.values()))


def _base_timestamp(group: ClassicGroup) -> BaseTimestamp | None:
    """From when on an offset of this group ages; None when none does.

    A group that had members keeps everything until it has been empty for the retention time (KIP-211). A group in use
    only lets go of topics it no longer reads, which can be told of the consumer protocol alone.
    """
    if group.protocol_type is None:
        return _commit_timestamp
    if group.state is GroupState.EMPTY:
        empty_since = group.state_timestamp_ms
        return _commit_timestamp if empty_since < 0 else lambda _: empty_since
    if group.state is GroupState.STABLE and group.protocol_type == CONSUMER_PROTOCOL_TYPE:
        return _commit_timestamp if subscribed_topics(group) else None
    return None


def _commit_timestamp(stored: StoredOffset) -> int:
    return stored.value.commit_timestamp


def _is_expired(stored: StoredOffset, base_timestamp: BaseTimestamp, turn: Turn) -> bool:
    if stored.value.expire_timestamp != NO_EXPIRY_TIMESTAMP:
        return turn.now.wall_ms >= stored.value.expire_timestamp
    return turn.now.wall_ms - base_timestamp(stored) >= turn.config.offsets_retention_ms
