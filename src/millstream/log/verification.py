"""Reads a log and compares every batch with its checksum, to find what the disk has changed since it was written.

A fetch sends stretches of files unread, and a log that was closed in order is opened unread: without this a wrong bit
is found by the first consumer or follower, at the end of what a replica still has. `VerificationPlan.of` says what to
read, as of one moment on the loop; `read_some` reads in a thread of a pool, as much at a time as its caller's pace
allows, through descriptors of its own; what it finds counts only once `PartitionLog.first_damage` has read that one
batch again: the log may have been cut meanwhile.

A wrong bit in a leader's log is found by its followers too, which check what they fetch before they write it;
the leader learns of it only by reading, so whoever serves a replica that asks again and again for one offset
plans a verification from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from millstream.errors import CorruptMessage, KafkaError
from millstream.log.header_scan import scan_batches
from millstream.log.log_state import LogState
from millstream.log.segments.files import LOG_SUFFIX, segment_path
from millstream.log.segments.segment import Segment
from millstream.records.batch import BatchHeader, validate_batch
from millstream.runtime import File, FileSystem

_WINDOW_BYTES: Final = 256 * 1024
_BATCHES_MIN: Final = 2
"""A batch whose offset is wrong is seen by the one behind it."""


class Damage(NamedTuple):
    """The first batch of a log that is not what was written. Everything before `offset` was read and is sound."""

    offset: int
    """The end of the last sound batch: what stands there, and everything after it, cannot be trusted."""
    base_offset: int
    """Of the segment."""
    position: int
    reason: str


class _Stretch(NamedTuple):
    """Batches of one segment, as they were when the plan was made."""

    base_offset: int
    path: str
    begin: int
    end: int
    next_offset: int
    """Where the batch at `begin` may begin at the earliest."""
    end_offset: int
    """Where the next segment begins, or the log ended."""


@dataclass(slots=True)
class VerificationPlan:
    """Owned by one caller at a time, whatever thread it runs in."""

    file_system: FileSystem
    stretches: list[_Stretch]
    epoch_max: int
    """The latest leader epoch: epochs lie outside of the checksums."""
    segments: frozenset[Segment]
    cut_count: int
    """Those of the log when the plan was made: positions mean the same as long as both are what they were."""
    read_bytes: int = field(default=0, init=False)
    damage: Damage | None = field(default=None, init=False)

    @classmethod
    def of(
        cls, state: LogState, file_system: FileSystem, first_offset: int, end_offset: int | None
    ) -> Self:
        """Plans to read the batches from `first_offset` up to `end_offset`, or a little further; to the end for None.

        Raises OSError.
        """
        stretches: list[_Stretch] = []
        for segment in state.segments.from_offset(first_offset):
            if end_offset is not None and segment.base_offset >= end_offset and stretches:
                break
            begin, next_offset = 0, segment.base_offset
            if first_offset > next_offset:
                begin, next_offset = segment.cut_at(first_offset)
            stretches.append(_stretch(state, segment, begin, next_offset))
        latest_epoch = state.leader_epochs.latest_epoch
        return cls(file_system, stretches, latest_epoch, frozenset(state.segments), state.cut_count)

    @property
    def is_done(self) -> bool:
        """Whether all was read, or damage was found."""
        return self.damage is not None or not self.stretches

    def read_some(self, bytes_max: int) -> None:
        """Blocks in reading up to about `bytes_max`. Raises OSError.

        A segment that has left the log meanwhile, or was replaced by a cleaning, is left out.
        """
        while bytes_max > 0 and not self.is_done:
            stretch = self.stretches.pop(0)
            try:
                file = self.file_system.open_read_only(stretch.path)
            except FileNotFoundError:
                continue
            try:
                rest = self._read(file, stretch, bytes_max)
            finally:
                file.close()
            bytes_max -= (stretch.end if rest is None else rest.begin) - stretch.begin
            if rest is not None:
                self.stretches.insert(0, rest)

    def damage_in(self, state: LogState) -> Damage | None:
        """Reads again what was found in another thread: None where the log was cut or cleaned meanwhile, since
        other batches may stand there then, or is sound there. Raises OSError.
        """
        found = self.damage
        if found is None or state.cut_count != self.cut_count:
            return None
        segments = self.segments.intersection(state.segments)
        segment = next((s for s in segments if s.base_offset == found.base_offset), None)
        if segment is None:
            return None
        stretch = _stretch(state, segment, found.position, found.offset)
        again = _walk(segment.file, stretch, state.leader_epochs.latest_epoch, bytes_max=1)
        return again if isinstance(again, Damage) else None

    def _read(self, file: File, stretch: _Stretch, bytes_max: int) -> _Stretch | None:
        """What is left of the stretch."""
        found = _walk(file, stretch, self.epoch_max, bytes_max)
        if isinstance(found, Damage):
            self.damage = found
            return None
        self.read_bytes += found.begin - stretch.begin
        return found if found.begin < found.end else None


def _stretch(state: LogState, segment: Segment, begin: int, next_offset: int) -> _Stretch:
    path = segment_path(segment.directory, segment.base_offset, LOG_SUFFIX)
    end_offset = state.segments.end_offset(segment, state.log_end_offset)
    return _Stretch(segment.base_offset, path, begin, segment.size_bytes, next_offset, end_offset)


def _walk(file: File, stretch: _Stretch, epoch_max: int, bytes_max: int) -> _Stretch | Damage:
    """Checks batches until `bytes_max` are read, and two at least. Returns what is left, or the first damage.

    Raises OSError.
    """
    walked = _Walk(stretch, epoch_max)
    try:
        for start, header, view in scan_batches(file, stretch.begin, stretch.end, _WINDOW_BYTES):
            if start - stretch.begin >= bytes_max and walked.count >= _BATCHES_MIN:
                break
            validate_batch(header, view)
            walked.follow(start, header)
    except KafkaError as error:
        return walked.damage(file, str(error))
    return stretch._replace(begin=walked.position, next_offset=walked.next_offset)


class _Walk:
    """How far a stretch was read. Offsets and epochs lie outside of the checksums, and are compared with each other."""

    def __init__(self, stretch: _Stretch, epoch_max: int) -> None:
        self.position = stretch.begin
        self.next_offset = stretch.next_offset
        self.count = 0
        self._stretch = stretch
        self._epoch = -1
        self._epoch_max = epoch_max
        self._before_gap: tuple[int, int] | None = None
        """Position and offset before the last batch, where that one left out offsets: of a
        compacted log, or its offset is wrong."""

    def follow(self, position: int, header: BatchHeader) -> None:
        """Raises CorruptMessage for a batch that cannot stand here."""
        if header.base_offset < self.next_offset or header.next_offset > self._stretch.end_offset:
            raise CorruptMessage(
                f"offsets {header.base_offset} to {header.last_offset} are not between {self.next_offset} and {self._stretch.end_offset}"
            )
        if not self._epoch <= header.partition_leader_epoch <= self._epoch_max:
            raise CorruptMessage(
                f"leader epoch {header.partition_leader_epoch} is not between {self._epoch} and {self._epoch_max}"
            )
        has_gap = header.base_offset > self.next_offset
        self._before_gap = (self.position, self.next_offset) if has_gap else None
        self.position, self.next_offset = position + header.size_bytes, header.next_offset
        self._epoch = header.partition_leader_epoch
        self.count += 1

    def damage(self, file: File, reason: str) -> Damage:
        """What to tell of the batch behind the last sound one; of that one itself, where
        its offset is what does not fit.
        """
        base_offset = int.from_bytes(file.read_at(self.position, 8), signed=True)
        position, offset = self.position, self.next_offset
        if self._before_gap is not None and base_offset < offset:
            position, offset = self._before_gap
        return Damage(offset, self._stretch.base_offset, position, reason)
