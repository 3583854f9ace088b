"""Partitions whose records cannot be written for now, and when to say so in the log: after a second, then rarely.

A batch that is refused for a reason that may pass is sent again until its time is over, for two minutes. Whoever waits
for it is told what the broker answers: a full disk, too few replicas, a partition without a leader. Reads no clock,
writes no log: gives sentences.
"""

from __future__ import annotations

from typing import Final

from millstream.model import TopicPartition
from millstream.quoting import counted

FIRST_MS: Final = 1_000
"""A leader that moves is found again in less."""
AGAIN_MS: Final = 10_000
"""The same refusal is told so often at most."""


class Refusals:
    def __init__(self) -> None:
        self._since: dict[TopicPartition, int] = {}
        self._said: dict[object, int] = {}
        """By kind of reason, when it was told last: a full disk refuses many partitions."""

    def note_waiting(
        self, partition: TopicPartition, kind: object, reason: str, now_ms: int
    ) -> str | None:
        """Records of the partition wait, for a reason of this kind.

        Returns the warning to log, if it is time for one.
        """
        waited_ms = now_ms - self._since.setdefault(partition, now_ms)
        said_ms = self._said.get(kind)
        if waited_ms < FIRST_MS or (said_ms is not None and now_ms - said_ms < AGAIN_MS):
            return None
        self._said[kind] = now_ms
        others = len(self._since) - 1
        beside = f", and of {counted(others, 'other partition')}," if others else ""
        return f"records of {partition}{beside} wait for {waited_ms / 1000:.1f} s: {reason}; trying again"

    def forget(self, partition: TopicPartition) -> None:
        """Records that waited have failed, which their errors say: what is refused later waits anew."""
        self._since.pop(partition, None)
        if not self._since:
            self._said.clear()

    def settled(self, partition: TopicPartition, now_ms: int) -> str | None:
        """Nothing of the partition is refused any more.

        Returns the line to log, if there had been a warning and it was the last.
        """
        since_ms = self._since.pop(partition, None)
        if since_ms is None or self._since or not self._said:
            return None
        self._said.clear()
        return f"records of {partition} are written after {(now_ms - since_ms) / 1000:.1f} s"
