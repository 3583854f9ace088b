"""Partitions that have not been written for long get a new snapshot, so that what lies before it can be pruned."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from millstream.coordinator.share.context import ShareContext
from millstream.coordinator.share.state import snapshot_record

TIMER: Final = "cold partitions"


def start_timer(context: ShareContext) -> None:
    context.start_timer(TIMER, context.config.cold_partition_snapshot_interval_ms)


def take(context: ShareContext) -> None:
    """The timer has fired."""
    now_ms = context.now.wall_ms
    written_before_ms = now_ms - context.config.cold_partition_snapshot_interval_ms
    if any(not state.is_cold for _, state in context.states.items()):
        context.result.records += [
            snapshot_record(
                key, replace(state, snapshot_epoch=state.snapshot_epoch + 1, written_ms=now_ms)
            )
            for key, state in context.states.items()
            if state.written_ms <= written_before_ms
        ]
    start_timer(context)
