"""The position that a reader asks for in a partition, and the result of the read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from millstream.log.file_range import FileRange
from millstream.log.leader_epochs import EpochEnd
from millstream.log.segments.transaction_index import AbortedTransaction
from millstream.model import BrokerId

NO_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class FetchPosition:
    """A reader's place in a partition. Epochs are -1 where the reader knows none."""

    offset: int
    bytes_max: int
    is_read_committed: bool = False
    current_leader_epoch: int = NO_EPOCH
    """The leader epoch the reader learnt from metadata: fences readers of an old leader."""
    last_fetched_epoch: int = NO_EPOCH
    """The epoch of the last record the reader has: finds logs that diverged (KIP-595)."""
    reads_to_end: bool = False
    """Whether the reader is a replica, which reads what is not committed yet."""
    may_follow: bool = False
    """Whether a follower may answer too, as far as it knows what is committed (KIP-392)."""


class FetchingReplica(NamedTuple):
    """The follower that fetches."""

    broker_id: BrokerId
    broker_epoch: int
    """-1 where it tells none (before version 15)."""
    log_start_offset: int
    """Of its own log."""


class FetchRead(NamedTuple):
    """The result of a read. `diverging` is set instead of records when the reader's last record is not in this log."""

    records: FileRange | bytes
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted_transactions: list[AbortedTransaction] | None = None
    """None for readers at read_uncommitted."""
    diverging: EpochEnd | None = None
