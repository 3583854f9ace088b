"""StateRestoreListener: learns how far stores are restored."""

from __future__ import annotations

from typing import Protocol

from millstream.model import TopicPartition


class StateRestoreListener(Protocol):
    """Called for each store that is restored from its changelog. Observes only: what it raises ends the task."""

    def on_restore_start(
        self, changelog: TopicPartition, store: str, starting_offset: int, ending_offset: int
    ) -> None:
        """Called before a restoration: records from the one offset up to, not including, the other will be restored."""

    def on_batch_restored(
        self, changelog: TopicPartition, store: str, batch_end_offset: int, restored: int
    ) -> None:
        """So many records of one batch are in the store and committed; `batch_end_offset` is the last one's."""

    def on_restore_end(self, changelog: TopicPartition, store: str, total_restored: int) -> None:
        """The store is complete."""

    def on_restore_suspended(
        self, changelog: TopicPartition, store: str, total_restored: int
    ) -> None:
        """The task was closed before the store was complete."""
