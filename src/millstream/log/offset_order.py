"""The offsets of one partition and the order that holds between them, whatever was done to it. Pure.

    first segment <= log start <= last stable <= high watermark <= log end

The recovery point, the cleaner's checkpoint, the newest snapshot of producers and the start of the newest
leader epoch tell of what the log has, so they lie at or before its end. They may lie before its start:
records leave there without a flush or a cleaning.

No order holds for committed offsets, which lie in other logs: what they name may have been deleted, or lost in a crash.
Their reader then asks for the earliest or latest offset. No part of a log lies on remote storage.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from millstream.log.log_state import LogState


class OrderedOffsets(NamedTuple):
    """Up to `log_end` each is at most the next."""

    first_segment: int
    log_start: int
    last_stable: int
    """Readers at read_committed see what lies before it."""
    high_watermark: int
    """Other readers see what lies before it."""
    log_end: int
    recovery_point: int
    cleaner_checkpoint: int | None
    newest_snapshot: int | None
    newest_epoch_start: int | None


def offsets_of(state: LogState, last_stable: int, high_watermark: int) -> OrderedOffsets:
    epochs = state.leader_epochs.entries
    return OrderedOffsets(
        first_segment=state.segments.first.base_offset,
        log_start=state.log_start_offset,
        last_stable=last_stable,
        high_watermark=high_watermark,
        log_end=state.log_end_offset,
        recovery_point=state.recovery_point,
        cleaner_checkpoint=state.cleaner_checkpoint,
        newest_snapshot=state.snapshots.newest_offset,
        newest_epoch_start=epochs[-1].start_offset if epochs else None,
    )


def check_order(partition: object, offsets: OrderedOffsets) -> None:
    """Asserts the order. `partition` is whose offsets they are."""
    rising = (
        ("first segment", offsets.first_segment),
        ("log start", offsets.log_start),
        ("last stable offset", offsets.last_stable),
        ("high watermark", offsets.high_watermark),
        ("log end", offsets.log_end),
    )
    for (lower, low), (upper, high) in pairwise(rising):
        assert low <= high, f"the {lower} of {partition}, {low}, lies beyond its {upper}, {high}"
    within = (
        ("recovery point", offsets.recovery_point),
        ("cleaner checkpoint", offsets.cleaner_checkpoint),
        ("newest snapshot of producers", offsets.newest_snapshot),
        ("start of the newest leader epoch", offsets.newest_epoch_start),
    )
    for name, offset in within:
        assert offset is None or offset <= offsets.log_end, (
            f"the {name} of {partition}, {offset}, lies beyond its log end, {offsets.log_end}"
        )
