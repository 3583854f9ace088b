"""A share session with one broker (KIP-932): which partitions it hands us records of, and
the epoch of the next request.

Epoch 0 opens a session, -1 closes it and gives back what is acquired. A broker that was asked at another epoch than it
expects refuses; so does one whose session ended with its connection. Acknowledgements need a session that is open.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from millstream.clients.share.core.values import TopicIdPartition

NEW_SESSION_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1


class SessionChange(NamedTuple):
    """The partitions that a fetch adds to its session, and forgets."""

    added: list[TopicIdPartition]
    forgotten: list[TopicIdPartition]


class ShareSessionHandler:
    def __init__(self) -> None:
        self.epoch = NEW_SESSION_EPOCH
        self.partitions: set[TopicIdPartition] = set()

    @property
    def is_new(self) -> bool:
        """The broker does not know it yet, or any more: it takes no acknowledgements."""
        return self.epoch == NEW_SESSION_EPOCH

    def look_at(self, partitions: Iterable[TopicIdPartition]) -> SessionChange:
        """The next fetch is about `partitions` and no others."""
        wanted = set(partitions)
        known = set() if self.is_new else self.partitions
        self.partitions = wanted
        return SessionChange(sorted(wanted - known), sorted(known - wanted))

    def handle_answer(self) -> None:
        self.epoch = 1 if self.epoch == _EPOCH_MAX else self.epoch + 1

    def handle_lost(self) -> None:
        """Begins another session: the broker refused this one or its epoch, or may not have seen the last request."""
        self.epoch = NEW_SESSION_EPOCH
