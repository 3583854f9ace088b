"""The state of a loaded log. `log_loader` makes it, `PartitionLog` owns it, `truncation` cuts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from millstream.log.cut_notes import CutNotes
from millstream.log.leader_epochs import LeaderEpochs
from millstream.log.producers.producer_state import ProducerStates
from millstream.log.producers.snapshots import ProducerSnapshots
from millstream.log.segments.segments import Segments


class Repairs(NamedTuple):
    """Damage that a log had when it was loaded, and has no more."""

    removed_bytes: int = 0
    """What recovery cut off: bytes that were no valid batch."""
    lost_records: int = 0
    """The number of offsets at the end that were on the disk when the log was used last, and are gone."""
    rebuilt_indexes: tuple[int, ...] = ()
    """Base offsets of the segments whose transaction index was made anew, because it was not as it had been left."""


NOTHING_REPAIRED: Final = Repairs()


@dataclass(slots=True)
class LogState:
    segments: Segments
    producers: ProducerStates
    leader_epochs: LeaderEpochs
    snapshots: ProducerSnapshots
    cut_notes: CutNotes
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    """Every record below it is on the disk."""
    cleaner_checkpoint: int | None = None
    """Where the last cleaning ended."""
    may_lack_names: bool = False
    """Directories with names of its files were perhaps never synced: nothing was ever written, or its last owner
    died."""
    repairs: Repairs = NOTHING_REPAIRED
    cut_count: int = 0
    """How often the log was cut. Whoever worked off the loop compares it: offsets and
    positions may mean other records now."""
    lost_to: int = 0
    """Records below it were here, and are not until the log ends there again: damage was cut away."""

    def update_directory(self, directory: str) -> None:
        """Follows a renamed directory; open files stay open."""
        for segment in self.segments:
            segment.update_directory(directory)
        self.leader_epochs.update_directory(directory)
        self.cut_notes.update_directory(directory)
        self.snapshots.update_directory(directory)
