"""Reads the files of one partition, and compares each with the log: checksums, the order of offsets and epochs,
indexes, snapshots of producers.

One pass over the batches follows producers and epochs; indexes and snapshots are held against what it saw. After a stop
that was not in order what lies beyond the recovery point and the high watermark may be torn or missing: the next start
reads it, so it is told and is no failure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from millstream.cli.dump.index_files import (
    offset_index_damage,
    read_offset_index,
    read_time_index,
    read_transaction_index,
    time_index_damage,
)
from millstream.cli.verify.expectations import Expected
from millstream.cli.verify.findings import Finding, Remedy, unreadable
from millstream.errors import KafkaError, MillstreamError
from millstream.log.cut_notes import CutNotes
from millstream.log.directory.text_checkpoints import LEADER_EPOCH_FILE, decode_epochs
from millstream.log.header_scan import read_batch, scan_batches
from millstream.log.producers.producer_state import ProducerStates
from millstream.log.producers.replay import aborted_entry, read_transaction_end
from millstream.log.producers.snapshot import decode_producer_snapshot
from millstream.log.segments.files import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_of,
    segment_path,
)
from millstream.log.segments.index_file import SegmentMark
from millstream.log.segments.transaction_index import AbortedTransaction, mark_of
from millstream.records.batch import BATCH_HEADER_BYTES, BatchHeader, read_header, validate_batch
from millstream.records.control import ControlType, read_control_type
from millstream.records.record import iterate_records
from millstream.runtime import File, FileSystem

_WINDOW_BYTES = 1024 * 1024
"""A batch is at most so large by default (max.message.bytes), so most windows hold one whole."""
_LACKING = frozenset({Remedy.REPLACE, Remedy.UNREADABLE})
"""What is wrong with a log of which not all could be followed."""
_LIKE_A_HEADER = re.compile(rb"(?=\0\0.{6}\0.{7}\x02)", re.DOTALL)
"""An offset below 2**48, less than 16 MiB, format 2: so looks every batch of a metadata log, of
which the largest has 8 MiB."""


@dataclass(slots=True)
class PartitionReport:
    """Counts what was read of a partition, and says what is wrong with it."""

    segments: int = 0
    batches: int = 0
    size_bytes: int = 0
    end_offset: int = 0
    findings: list[Finding] = field(default_factory=list)


class _Entry(NamedTuple):
    """What a snapshot says of one producer: its last batch ends with `last_offset`."""

    producer_id: int
    last_offset: int


class _Damage(NamedTuple):
    """Bytes of a log file that are no sound batch, from `position` on."""

    position: int
    reason: str


def verify_partition(
    file_system: FileSystem, directory: str, expected: Expected
) -> PartitionReport:
    """Reads all of a partition; what cannot be read is a finding, too."""
    try:
        verification = _Verification(file_system, directory, expected)
    except OSError as error:
        return PartitionReport(findings=[unreadable(directory, error)])
    return verification.run()


class _Verification:
    def __init__(self, file_system: FileSystem, directory: str, expected: Expected) -> None:
        self._file_system = file_system
        self._directory = directory
        self._names = file_system.list(directory)
        self._expected = _limited(expected, CutNotes(file_system, directory, self._names).lowest)
        self._report = PartitionReport()
        self._producers = ProducerStates()
        self._next_offset = -1
        self._epoch = -1
        self._torn_at: int | None = None
        """Where the next start cuts the log: what lies behind it goes, however sound."""
        self._has_gaps = False
        """Compaction has taken records: what is not there may have been there."""
        self._epochs: list[tuple[int, int]] | None = None
        self._epochs_disagree = False
        self._writers: dict[int, int] = {}
        """Producer by the last offset of its batch, for the offsets that snapshots name."""

    def run(self) -> PartitionReport:
        report = self._report
        bases = self._offsets_of(LOG_SUFFIX)
        snapshots = self._read_snapshots()
        self._writers = {entry.last_offset: -1 for _, entries in snapshots for entry in entries}
        self._epochs = self._read_epochs()
        for number, base in enumerate(bases):
            following = bases[number + 1] if number + 1 < len(bases) else None
            self._verify_segment(base, following)
        report.segments = len(bases)
        report.end_offset = max(self._next_offset, bases[-1] if bases else 0)
        if self._torn_at is not None:
            report.end_offset = self._torn_at
        if not any(each.remedy in {*_LACKING, Remedy.START} for each in report.findings):
            self._compare_snapshots(snapshots, bases[0] if bases else 0)
        self._verify_metadata_snapshots()
        self._compare_checkpoints(bases)
        if self._expected.is_future:
            report.findings = [each._replace(remedy=Remedy.COPY) for each in report.findings]
        return report

    # --- the log

    def _verify_segment(self, base: int, following: int | None) -> None:
        path = segment_path(self._directory, base, LOG_SUFFIX)
        is_open = self._may_be_torn(following)
        if self._next_offset >= 0 and base < self._next_offset:
            self._add(path, f"begins before offset {self._next_offset}, where the segment before it ends", Remedy.REPLACE)  # fmt: skip
        self._has_gaps |= 0 <= self._next_offset < base
        with self._reading(path), closing(self._file_system.open_read_only(path)) as file:
            before = len(self._report.findings)
            aborted, aborts, torn = self._walk(path, file, base, following)
            if torn is not None:
                self._add_damage(path, file, torn, following, is_open=is_open)
            is_sound = len(self._report.findings) == before
            self._report.size_bytes += file.size
            if is_sound:
                self._verify_indexes(base, file, is_open=is_open)
                self._verify_transaction_index(base, aborted, aborts, is_open=is_open)

    def _walk(
        self, path: str, file: File, base: int, following: int | None
    ) -> tuple[list[AbortedTransaction], set[tuple[int, int]], _Damage | None]:
        """Returns the transactions that were aborted in the segment, producer and offset of every abort marker, and
        where the batches end before the file does.
        """
        aborted: list[AbortedTransaction] = []
        aborts: set[tuple[int, int]] = set()
        position = 0
        self._next_offset = max(self._next_offset, base)
        try:
            for start, header, view in scan_batches(file, 0, file.size, _WINDOW_BYTES):
                position = start
                validate_batch(header, view)
                self._follow(path, start, header, base, following)
                end = read_transaction_end(header, view)
                entry = aborted_entry(self._producers.apply(header, end))
                if entry is not None:
                    aborted.append(entry)
                if end is not None and not end.is_commit:
                    aborts.add((header.producer_id, header.last_offset))
                position = start + header.size_bytes
                self._report.batches += 1
        except KafkaError as error:
            return aborted, aborts, _Damage(position, str(error))
        return aborted, aborts, None

    def _add_damage(
        self, path: str, file: File, damage: _Damage, following: int | None, *, is_open: bool
    ) -> None:
        is_torn = is_open and self._may_end_here(file, damage.position, following)
        if is_open and self._torn_at is None:
            self._torn_at = self._next_offset
        self._add(path, damage.reason, Remedy.START if is_torn else Remedy.REPLACE, damage.position, is_expected=is_torn)  # fmt: skip

    def _may_end_here(self, file: File, position: int, following: int | None) -> bool:
        """Whether a stop that was not in order explains the damage.

        What was on the disk, or what consumers may have read, does not go by it.

        Of the metadata log nobody noted either: a write that was under way is the last thing in it.
        """
        if self._expected.is_metadata_log:
            return following is None and not sound_batch_follows(file, position + 1, self._next_offset)  # fmt: skip
        return self._next_offset >= max(self._expected.recovery_point, self._expected.high_watermark)  # fmt: skip

    def _follow(
        self, path: str, start: int, header: BatchHeader, base: int, following: int | None
    ) -> None:
        expected_offset = max(self._next_offset, base)
        if header.base_offset < expected_offset or (following is not None and header.next_offset > following):  # fmt: skip
            self._add(path, f"offsets {header.base_offset} to {header.last_offset} do not belong between {expected_offset} and {following}", Remedy.REPLACE, start)  # fmt: skip
        if header.partition_leader_epoch < self._epoch:
            self._add(path, f"leader epoch {header.partition_leader_epoch} comes after {self._epoch}", Remedy.REPLACE, start)  # fmt: skip
        self._has_gaps |= header.base_offset > expected_offset
        self._next_offset, self._epoch = header.next_offset, header.partition_leader_epoch
        if header.last_offset in self._writers:
            self._writers[header.last_offset] = header.producer_id
        self._compare_epoch(header)

    # --- indexes

    def _verify_indexes(self, base: int, log: File, *, is_open: bool) -> None:
        """An empty log has nothing to point to, and Kafka leaves one entry of zeros there."""
        if is_open or not log.size:
            return
        for suffix, damage in (
            (INDEX_SUFFIX, self._offset_index_damage),
            (TIME_INDEX_SUFFIX, self._time_index_damage),
        ):
            path = segment_path(self._directory, base, suffix)
            if not self._file_system.exists(path):
                # Readers do without: a node makes it in memory, and Kafka at its start. Nothing is lost by it.
                self._add(path, "is missing, and made anew from the log when that is read", Remedy.START, is_expected=True)  # fmt: skip
                continue
            with self._reading(path):
                try:
                    first = next(damage(path, base, log), None)
                except MillstreamError as error:
                    self._add(path, str(error).removeprefix(f"{path} "), Remedy.REMOVE)
                    continue
                if first is not None:
                    self._add(path, first[1], Remedy.REMOVE, first[0])

    def _offset_index_damage(self, path: str, base: int, log: File) -> Iterator[tuple[int, str]]:
        return offset_index_damage(read_offset_index(self._file_system, path), base, log)

    def _time_index_damage(self, path: str, base: int, log: File) -> Iterator[tuple[int, str]]:
        return time_index_damage(read_time_index(self._file_system, path), base, log)

    def _verify_transaction_index(
        self,
        base: int,
        aborted: Sequence[AbortedTransaction],
        aborts: set[tuple[int, int]],
        *,
        is_open: bool,
    ) -> None:
        """Readers at read_committed would see aborted records that no entry names, and miss committed ones
        that a wrong entry names.
        """
        if is_open:
            return
        path = segment_path(self._directory, base, TRANSACTION_INDEX_SUFFIX)
        try:
            entries = read_transaction_index(self._file_system, path)
        except MillstreamError:
            self._add(path, "is no list of aborted transactions", Remedy.READ_AGAIN)
            return
        except OSError as error:
            self._report.findings.append(unreadable(path, error))
            return
        named = {(entry.producer_id, entry.last_offset) for entry in entries}
        for producer_id, offset in sorted(named - aborts):
            self._add(path, f"names a transaction of producer {producer_id} that was aborted at offset {offset}, and the log does not", Remedy.READ_AGAIN)  # fmt: skip
        if not self._has_gaps:
            for each in aborted:
                if (each.producer_id, each.last_offset) not in named:
                    self._add(path, f"does not name the transaction of producer {each.producer_id} that was aborted at offset {each.last_offset}", Remedy.READ_AGAIN)  # fmt: skip

    # --- epochs

    def _read_epochs(self) -> list[tuple[int, int]] | None:
        path = f"{self._directory}/{LEADER_EPOCH_FILE}"
        if not self._file_system.exists(path):
            return None
        try:
            entries = decode_epochs(path, self._file_system.read(path))
        except MillstreamError as error:
            self._add(path, str(error).removeprefix(f"{path} "), Remedy.REMOVE)
            return None
        except OSError as error:
            self._report.findings.append(unreadable(path, error))
            return None
        if any(not (a[0] < b[0] and a[1] <= b[1]) for a, b in pairwise(entries)):  # fmt: skip
            self._add(path, "its epochs do not ascend", Remedy.REMOVE)
            return None
        return entries

    def _compare_epoch(self, header: BatchHeader) -> None:
        """Each batch has the epoch in which its offset lies.

        Entries before the log start may have gone; only the first disagreement is told.
        """
        entries = self._epochs
        if not entries or self._epochs_disagree or self._is_unsynced(header.base_offset):
            return
        covering = bisect_right(entries, header.base_offset, key=_start_of_epoch) - 1
        if covering >= 0 and entries[covering][0] != header.partition_leader_epoch:
            self._epochs_disagree = True
            self._add(f"{self._directory}/{LEADER_EPOCH_FILE}", f"says epoch {entries[covering][0]} at offset {header.base_offset}, the batch there has {header.partition_leader_epoch}", Remedy.REMOVE)  # fmt: skip

    # --- producers

    def _read_snapshots(self) -> list[tuple[int, list[_Entry]]]:
        found: list[tuple[int, list[_Entry]]] = []
        for offset in self._offsets_of(SNAPSHOT_SUFFIX):
            path = segment_path(self._directory, offset, SNAPSHOT_SUFFIX)
            try:
                entries = decode_producer_snapshot(self._file_system.read(path))
            except MillstreamError as error:
                self._add(path, str(error), Remedy.REMOVE)
                continue
            except OSError as error:
                self._report.findings.append(unreadable(path, error))
                continue
            found.append((offset, [_Entry(each.producer_id, each.last_offset) for each in entries if each.last_offset >= 0]))  # fmt: skip
        return found

    def _compare_snapshots(
        self, snapshots: Sequence[tuple[int, list[_Entry]]], first_base: int
    ) -> None:
        """A snapshot of another log would let a producer write twice what it wrote once.

        One that lies beyond the end is left out by a start.
        """
        for offset, entries in snapshots:
            path = segment_path(self._directory, offset, SNAPSHOT_SUFFIX)
            if offset > self._report.end_offset:
                self._add(path, f"lies beyond the log, which ends at {self._report.end_offset}", Remedy.REMOVE, is_expected=not self._expected.was_clean)  # fmt: skip
                continue
            for entry in entries:
                writer = self._writers[entry.last_offset]
                is_gone = entry.last_offset < first_base or (writer < 0 and self._has_gaps)
                if entry.last_offset >= offset or not (is_gone or writer == entry.producer_id):
                    self._add(path, f"says that producer {entry.producer_id} wrote offset {entry.last_offset} last, and the log does not", Remedy.REMOVE)  # fmt: skip
                    break

    def _verify_metadata_snapshots(self) -> None:
        """Snapshots of the metadata log hold what the log itself has dropped."""
        for name in sorted(self._names):
            if not name.endswith(".checkpoint"):
                continue
            path = f"{self._directory}/{name}"
            with self._reading(path), closing(self._file_system.open_read_only(path)) as file:
                self._verify_metadata_snapshot(path, file)

    def _verify_metadata_snapshot(self, path: str, file: File) -> None:
        position, is_whole = 0, False
        try:
            for start, header, view in scan_batches(file, 0, file.size, _WINDOW_BYTES):
                position = start
                validate_batch(header, view)
                is_whole = header.is_control and any(
                    read_control_type(record.key) is ControlType.SNAPSHOT_FOOTER
                    for record in iterate_records(header, view)
                )
                position = start + header.size_bytes
        except MillstreamError as error:
            self._add(path, str(error), Remedy.RESTORE, position)
            return
        if not is_whole:
            self._add(path, "does not end with the footer of a snapshot: it is not whole", Remedy.RESTORE, position)  # fmt: skip

    # --- checkpoints

    def _compare_checkpoints(self, bases: Sequence[int]) -> None:
        """A log that is shorter than what was on the disk has lost records, however sound the rest of it is."""
        expected, end_offset = self._expected, self._report.end_offset
        has_damage = any(each.remedy in _LACKING for each in self._report.findings)
        if end_offset < expected.recovery_point and not has_damage:
            self._add(self._directory, f"ends at offset {end_offset}, {expected.recovery_point} were on the disk", Remedy.REPLACE)  # fmt: skip
        elif end_offset < expected.high_watermark and not has_damage:
            self._add(self._directory, f"ends at offset {end_offset}, consumers may have read up to {expected.high_watermark}", Remedy.REPLACE)  # fmt: skip
        if expected.log_start_offset > end_offset and not has_damage:
            self._add(self._directory, f"ends at offset {end_offset}, and begins at {expected.log_start_offset}", Remedy.REPLACE)  # fmt: skip
        for mark in () if expected.mark is None else expected.mark.segments:
            path = segment_path(self._directory, mark.base_offset, LOG_SUFFIX)
            if mark.base_offset not in bases:
                self._add(path, "is missing", Remedy.REPLACE)
                continue
            with self._reading(path):
                if (size := self._file_system.size(path)) != mark.log_bytes:
                    self._add(path, f"has {size} bytes of {mark.log_bytes}", Remedy.REPLACE)
            self._compare_transaction_index(mark)

    def _compare_transaction_index(self, mark: SegmentMark) -> None:
        """One entry may stand for another: then the log agrees with both of them."""
        path = segment_path(self._directory, mark.base_offset, TRANSACTION_INDEX_SUFFIX)
        if any(each.path == path for each in self._report.findings):
            return
        with self._reading(path):
            data = self._file_system.read(path) if self._file_system.exists(path) else b""
            if mark_of(data) != mark.transaction_index:
                self._add(path, f"is not what it was when the node stopped: {len(data)} bytes of {mark.transaction_index.size_bytes}", Remedy.READ_AGAIN)  # fmt: skip

    # --- what all of them use

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        """Goes on with other files where this one cannot be read."""
        try:
            yield
        except OSError as error:
            self._report.findings.append(unreadable(path, error))

    def _may_be_torn(self, following: int | None) -> bool:
        """Whether the segment reaches beyond what is known to have been on the disk."""
        return not self._expected.was_clean and (
            following is None or following > self._expected.recovery_point
        )

    def _is_unsynced(self, offset: int) -> bool:
        return not self._expected.was_clean and offset >= self._expected.recovery_point

    def _offsets_of(self, suffix: str) -> list[int]:
        found = (offset_of(name, suffix) for name in self._names)
        return sorted(offset for offset in found if offset is not None)

    def _add(
        self,
        path: str,
        reason: str,
        remedy: Remedy,
        position: int | None = None,
        *,
        is_expected: bool = False,
    ) -> None:
        self._report.findings.append(Finding(path, reason, remedy, position, is_expected))


def _limited(expected: Expected, cut_at: int | None) -> Expected:
    """After a crash nothing that checkpoints say beyond a cut of the log counts; a stop in order
    has written them after it.
    """
    if cut_at is None or expected.was_clean:
        return expected
    return replace(
        expected,
        recovery_point=min(expected.recovery_point, cut_at),
        high_watermark=min(expected.high_watermark, cut_at),
        log_start_offset=min(expected.log_start_offset, cut_at),
    )


def sound_batch_follows(file: File, position: int, next_offset: int) -> bool:
    """Whether a whole batch of `next_offset` or later begins anywhere from `position` on: then what lies
    before it is no torn end.
    """
    while position + BATCH_HEADER_BYTES <= file.size:
        window = file.read_at(position, _WINDOW_BYTES)
        for found in _LIKE_A_HEADER.finditer(window):
            if _is_sound(file, position + found.start(), next_offset):
                return True
        # Windows overlap, so that a header that lies across their border is in one of them.
        position += max(1, len(window) - BATCH_HEADER_BYTES)
    return False


def _is_sound(file: File, position: int, next_offset: int) -> bool:
    try:
        header = read_header(file.read_at(position, BATCH_HEADER_BYTES))
        if header.base_offset < next_offset or position + header.size_bytes > file.size:
            return False
        validate_batch(header, read_batch(file, position, header))
    except KafkaError:
        return False
    return True


def _start_of_epoch(entry: tuple[int, int]) -> int:
    return entry[1]
