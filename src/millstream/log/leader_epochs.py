"""The start offset of each leader epoch: `leader-epoch-checkpoint` of a partition (KIP-101, KIP-279)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, final

from millstream.log.directory.text_checkpoints import (
    LEADER_EPOCH_FILE,
    DamagedFile,
    decode_epochs,
    encode_epochs,
)
from millstream.log.segments.unsynced_file import read_if_it_reached_the_disk, write_unsynced
from millstream.runtime import FileSystem


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """The end of an epoch. `epoch` is the largest one at or below the epoch asked for; -1, -1 when there is none."""

    epoch: int
    end_offset: int


UNKNOWN_EPOCH = EpochEnd(-1, -1)


@final
class LeaderEpochs:
    """Epochs and start offsets both grow.

    What is begun or cut off at the end is on the disk before it is visible here, but for the first epoch. What leaves at the start
    stays in the file until the next change: loading the log cuts it again.
    """

    def __init__(self, file_system: FileSystem, directory: str) -> None:
        """A checkpoint that is missing or damaged gives no entries: the loader asks the batches, which say the same."""
        self._file_system = file_system
        self._path = f"{directory}/{LEADER_EPOCH_FILE}"
        self._entries: list[EpochStart] = []
        self._is_damaged = False
        try:
            data = read_if_it_reached_the_disk(file_system, self._path)
            if data is not None:
                self._entries = _decoded(self._path, data)
        except (DamagedFile, OSError):
            self._is_damaged = True

    def moved_to(self, directory: str) -> None:
        self._path = f"{directory}/{LEADER_EPOCH_FILE}"

    def create_file(self) -> None:
        """Creates the empty file of a new log, which costs ten times as much as to write the first epoch to it. Raises OSError."""
        self._file_system.open(self._path).close()

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return tuple(self._entries)

    @property
    def latest_epoch(self) -> int:
        """The latest leader epoch; -1 while nothing was ever written under an epoch."""
        return self._entries[-1].epoch if self._entries else -1

    def assign(self, epoch: int, start_offset: int) -> None:
        """Notes that `epoch` writes from `start_offset` on. Does nothing for an epoch at or below the latest."""
        if epoch > self.latest_epoch:
            kept = [entry for entry in self._entries if entry.start_offset < start_offset]
            self._replace([*kept, EpochStart(epoch, start_offset)])

    def end_offset(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Returns the end of `epoch`: the start of the next one, or the end of the log for the latest (OffsetForLeaderEpoch)."""
        if epoch < 0 or epoch > self.latest_epoch:
            return UNKNOWN_EPOCH
        if epoch == self.latest_epoch:
            return EpochEnd(epoch, log_end_offset)
        slot = bisect_right(self._entries, epoch, key=lambda entry: entry.epoch)
        if slot == 0:
            return EpochEnd(epoch, self._entries[0].start_offset)
        return EpochEnd(self._entries[slot - 1].epoch, self._entries[slot].start_offset)

    def epoch_for(self, offset: int) -> int:
        """Returns the epoch that wrote `offset`; -1 when it is before the first known one."""
        slot = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset)
        return self._entries[slot - 1].epoch if slot else -1

    def truncate_from_end(self, end_offset: int) -> None:
        """Forgets epochs that start at or after `end_offset`, the new end of the log."""
        self._replace([entry for entry in self._entries if entry.start_offset < end_offset])

    def truncate_from_start(self, start_offset: int) -> None:
        """Forgets epochs that ended before `start_offset`; the one in force there starts there now."""
        later = [entry for entry in self._entries if entry.start_offset > start_offset]
        in_force = self.epoch_for(start_offset)
        first = [EpochStart(in_force, start_offset)] if in_force >= 0 else []
        self._entries = [*first, *later]

    def clear(self) -> None:
        self._replace([])

    def _replace(self, entries: Iterable[EpochStart]) -> None:
        replaced = list(entries)
        if replaced == self._entries and not self._is_damaged:
            return
        if self._entries or self._is_damaged:
            self._file_system.write_atomically(self._path, encode_epochs(replaced))
        else:  # the first epoch of a log: its records say the same, and rebuild the file should it be lost
            write_unsynced(self._file_system, self._path, encode_epochs(replaced))
        self._entries, self._is_damaged = replaced, False


def _decoded(path: str, data: bytes) -> list[EpochStart]:
    """Raises DamagedFile."""
    entries = sorted(EpochStart(*row) for row in decode_epochs(path, data))
    for earlier, later in pairwise(entries):
        if later.epoch == earlier.epoch or later.start_offset < earlier.start_offset:
            raise DamagedFile(f"{path}: epoch {later.epoch} starts before epoch {earlier.epoch}")
    return entries
