"""Expiry: offsets that are not used any more, and groups that hold nothing, are removed by tombstones.

Owns the question how old an offset may get. What a group still reads does not expire; neither does what an
open transaction may change.
"""

from __future__ import annotations

from typing import Final

from millstream.coordinator.group.context import GroupContext, GroupTimer, GroupTimerKind
from millstream.coordinator.group.group import BaseTimestamp, Group
from millstream.coordinator.group.offsets.records import (
    NO_EXPIRY_TIMESTAMP,
    offset_commit_tombstone,
)
from millstream.coordinator.group.offsets.store import StoredOffset

TOMBSTONES_MAX: Final = 1_000
"""Ours: in one append, so that others get their turn."""
_PAUSE_MS: Final = 100
"""Ours: between two batches of tombstones."""


def start_timer(context: GroupContext) -> None:
    delay_ms = context.config.offsets_retention_check_interval_ms
    context.start_timer(GroupTimer(GroupTimerKind.OFFSET_EXPIRY), delay_ms)


def expire_offsets(context: GroupContext, timer: GroupTimer) -> None:
    """The timer has fired: expires what is due, in batches, and looks again later."""
    if _expire_batch(context):
        start_timer(context)
    else:
        context.start_timer(timer, _PAUSE_MS)


def _expire_batch(context: GroupContext) -> bool:
    """False when there was more to do than one batch should hold: run it again."""
    records = context.result.records
    for group in context.groups:
        expired, holds_more = _expired(context, group)
        room = TOMBSTONES_MAX - len(records)
        records += [
            offset_commit_tombstone(group.group_id, *partition) for partition in expired[:room]
        ]
        holds_more = holds_more or len(expired) > room
        is_needed = holds_more or context.offsets.has_open_transactions(group.group_id)
        if group.is_unused and not is_needed:
            records += group.tombstones()
        if len(records) >= TOMBSTONES_MAX:
            return False
    return True


def _expired(context: GroupContext, group: Group) -> tuple[list[tuple[str, int]], bool]:
    """Returns the partitions whose offsets have expired, and whether the group keeps others."""
    stored = context.offsets.of_group(group.group_id)
    base_timestamp = group.offset_base_timestamp()
    if base_timestamp is None:
        return [], bool(stored)
    in_use = group.subscribed_topics()
    expired = [
        (topic, partition)
        for topic, partitions in stored.items()
        if topic not in in_use
        for partition, offset in partitions.items()
        if _is_expired(context, offset, base_timestamp)
        and not context.offsets.is_unstable(group.group_id, topic, partition)
    ]
    return expired, len(expired) < sum(map(len, stored.values()))


def _is_expired(context: GroupContext, stored: StoredOffset, base_timestamp: BaseTimestamp) -> bool:
    if stored.value.expire_timestamp != NO_EXPIRY_TIMESTAMP:
        return context.now.wall_ms >= stored.value.expire_timestamp
    return context.now.wall_ms - base_timestamp(stored) >= context.config.offsets_retention_ms
