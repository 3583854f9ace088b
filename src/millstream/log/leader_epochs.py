"""The start offset of each leader epoch: `leader-epoch-checkpoint` of a partition (KIP-101, KIP-279).

Nothing here waits for the disk. What changes is written and synced by the next flush of the log, before the recovery
point moves: a thousand partitions that get a new leader at once cost no sync at all. After a crash the file knows every
epoch that began below the recovery point, and the batches from there on, which recovery reads anyway, tell the others
(`follow`). Kafka syncs the file in `assign` and writes it in the background after truncations (LeaderEpochFileCache
4.3; KAFKA-16541 is what an unsynced write that replaces a synced file did).

Epochs before the log start stay in the file until the start itself is on the disk: after a crash
the log may begin earlier again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class EpochsWrite:
    """The contents of the file as of one moment.

    `write` blocks and touches nothing but the file, so it may run in any thread.
    """

    path: str
    entries: tuple[EpochStart, ...]
    is_first: bool
    """The file says nothing yet: should this write be lost or torn, the records say the same, and the loader asks
    them."""

    def write(self, file_system: FileSystem) -> None:
        """Raises OSError."""
        data = encode_epochs(self.entries)
        if self.is_first:
            write_unsynced(file_system, self.path, data)
        else:
            file_system.write_atomically(self.path, data)


@final
class LeaderEpochs:
    """Epochs and start offsets both grow."""

    def __init__(self, file_system: FileSystem, directory: str) -> None:
        """A checkpoint that is missing or damaged gives no entries: the loader asks the batches, which say the same."""
        self._file_system = file_system
        self._path = f"{directory}/{LEADER_EPOCH_FILE}"
        self._entries: list[EpochStart] = []
        self._earlier: list[EpochStart] = []
        """Epochs that ended before the log start, and the earlier start of the one in force there,
        as long as the file keeps them."""
        self._noted_start = 0
        """The log cannot begin below it after a crash. Threads that write checkpoints set it."""
        self.is_damaged = False
        """Whether there is a file that cannot be read."""
        self.is_contradicted = False
        """Whether what the file says of older batches cannot be true: a batch that was read has a lower epoch."""
        self._written: tuple[EpochStart, ...] | None = ()
        """What the file says; None when it is damaged."""
        try:
            data = read_if_it_reached_the_disk(file_system, self._path)
            if data is not None:
                self._entries = _decoded(self._path, data)
                self._written = tuple(self._entries)
        except (DamagedFile, OSError):
            self.is_damaged, self._written = True, None

    def update_directory(self, directory: str) -> None:
        self._path = f"{directory}/{LEADER_EPOCH_FILE}"

    def create_file(self) -> None:
        """Creates the empty file of a new log, which costs ten times as much as to write the first epoch to it.

        Raises OSError.
        """
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
            self.truncate_from_end(start_offset)
            self._entries.append(EpochStart(epoch, start_offset))

    def follow(self, epoch: int, start_offset: int, previous_end: int) -> None:
        """Follows a batch of `epoch` that recovery has read at `start_offset`, behind one that ended at `previous_end`.

        The file may be older than a cut, and name epochs that began where others were written since: batches know
        better. An epoch whose first batches were compacted away keeps the start that the file has.
        """
        if epoch >= 0 and self.epoch_for(start_offset) != epoch:
            self.truncate_from_end(previous_end)
            self.assign(epoch, start_offset)
            self.is_contradicted |= self.epoch_for(start_offset) != epoch

    def end_offset(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Returns the end of `epoch`: the start of the next one, or the end of the log for the
        latest (OffsetForLeaderEpoch).
        """
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
        while self._entries and self._entries[-1].start_offset >= end_offset:
            self._entries.pop()
        while self._earlier and self._earlier[-1].start_offset >= end_offset:
            self._earlier.pop()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forgets epochs that ended before `start_offset`; the one in force there starts there now."""
        first, *later = _from_start(self._entries, start_offset) or [EpochStart(-1, 0)]
        if first.epoch < 0:
            return
        kept = len(self._entries) - len(later)
        known = {each.epoch for each in self._earlier}
        passed = [each for each in self._entries[:kept] if each.start_offset < start_offset]
        # An epoch that the start moves within more than once keeps the first of its starts.
        self._earlier += [each for each in passed if each.epoch not in known]
        self._earlier = _in_force_from(self._earlier, self._noted_start)
        self._entries = [first, *later]

    def note_durable_start(self, start_offset: int) -> None:
        """Tells that the log begins at `start_offset` or later after a crash, too: the file may
        forget what was before.
        """
        self._noted_start = start_offset

    def clear(self) -> None:
        self._entries = []
        self._earlier = []

    # --- the file

    def plan_write(self) -> EpochsWrite | None:
        """Returns what brings the file up to date; None when it is."""
        contents = self._contents()
        if contents == self._written:
            return None
        return EpochsWrite(self._path, contents, is_first=self._written == ())

    def note_written(self, write: EpochsWrite) -> None:
        """Notes that `write.write` has returned."""
        self._written, self.is_damaged = write.entries, False

    def _contents(self) -> tuple[EpochStart, ...]:
        if not self._earlier:
            return tuple(self._entries)
        # The epoch in force at the log start stands there with its earlier start.
        began = {each.epoch for each in self._earlier}
        whole = [*self._earlier, *(each for each in self._entries if each.epoch not in began)]
        return tuple(_from_start(whole, self._noted_start))


def _from_start(entries: Sequence[EpochStart], start_offset: int) -> list[EpochStart]:
    """Returns the epochs of a log that begins at `start_offset`."""
    slot = bisect_right(entries, start_offset, key=lambda entry: entry.start_offset)
    if slot == 0:
        return list(entries)
    return [EpochStart(entries[slot - 1].epoch, start_offset), *entries[slot:]]


def _in_force_from(entries: Sequence[EpochStart], start_offset: int) -> list[EpochStart]:
    """Returns the epoch that is in force at `start_offset`, and those after it."""
    slot = bisect_right(entries, start_offset, key=lambda entry: entry.start_offset)
    return list(entries[max(0, slot - 1) :])


def _decoded(path: str, data: bytes) -> list[EpochStart]:
    """Raises DamagedFile."""
    entries = sorted(EpochStart(*row) for row in decode_epochs(path, data))
    for earlier, later in pairwise(entries):
        if later.epoch == earlier.epoch or later.start_offset < earlier.start_offset:
            raise DamagedFile(f"{path}: epoch {later.epoch} starts before epoch {earlier.epoch}")
    return entries
