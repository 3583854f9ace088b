"""One segment of a log: the `.log` file, its two indexes, and where things are in it.

Owns the index rule, the search for positions and the choice of whole batches for a read. Does not know other segments,
producers, epochs or the high watermark, and never looks into records (`log.timestamp_lookup` does).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self, final

from millstream.errors import CorruptMessage, UnsupportedForMessageFormat
from millstream.log.header_scan import scan_headers, scan_whole
from millstream.log.segments.files import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_path,
)
from millstream.log.segments.index_file import (
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    CorruptIndex,
    SegmentMark,
)
from millstream.log.segments.lazy_file import LazyFile
from millstream.log.segments.offset_index import OffsetIndex, OffsetPosition
from millstream.log.segments.time_index import NO_ENTRY, TimeIndex, TimestampOffset
from millstream.log.segments.transaction_index import TransactionIndex
from millstream.metadata.topic_config import LogConfig
from millstream.records.batch import BatchHeader
from millstream.runtime import File, FileSystem
from millstream.runtime.interfaces import Buffer

_BOUNDARIES_MAX: Final = 64
_NO_POSITION: Final = OffsetPosition(0, 0)
_RELATIVE_OFFSET_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SegmentLimits:
    """The settings of a log that shape its segments; sizes in bytes."""

    segment_bytes: int
    index_bytes: int
    index_interval_bytes: int
    preallocate: bool = False

    @classmethod
    def of(cls, config: LogConfig) -> Self:
        return cls(
            config.segment_bytes,
            config.segment_index_bytes,
            config.index_interval_bytes,
            config.preallocate,
        )


class BatchStart(NamedTuple):
    position: int
    header: BatchHeader


@final
class Segment:
    def __init__(
        self,
        file_system: FileSystem,
        directory: str,
        base_offset: int,
        limits: SegmentLimits,
        *,
        suffix: str = "",
        exists: bool = True,
        mark: SegmentMark | None = None,
    ) -> None:
        """`suffix` comes after the names of the files, for a segment that is not part of the log yet.

        `mark`: what its indexes must hold, where that is known. Its log file is made if it is missing; unless `exists` is false: then `create_file` makes it, before anything is written.
        """
        self.base_offset = base_offset
        self.limits = limits
        self.directory = directory
        self.first_timestamp_ms: int | None = None
        """Largest timestamp of the first batch; the age of a segment counts from here. None: not looked up, or empty."""
        self.max_timestamp_ms = -1
        self.max_timestamp_offset = -1
        self._file_system = file_system
        self._suffix = suffix
        self._file = LazyFile(file_system, self._path(LOG_SUFFIX))
        self._may_have_reserve = limits.preallocate
        if exists:
            self.create_file()
        self._offset_index = OffsetIndex(file_system, self._path(INDEX_SUFFIX), limits.index_bytes)
        self._time_index = TimeIndex(file_system, self._path(TIME_INDEX_SUFFIX), limits.index_bytes)
        self.transaction_index = TransactionIndex(
            file_system,
            self._path(TRANSACTION_INDEX_SUFFIX),
            None if mark is None else mark.transaction_index,
        )
        self._bytes_since_entry = 0
        self._is_index_full = False
        self._indexes_ready = self._file.size == 0
        self._noted_time_bytes = None if mark is None else mark.time_index_bytes
        self._are_entries_checked = self._indexes_ready
        """Whether the entries of the offset index come from the batches, not from a file that may be damaged."""
        self._damage: str | None = None
        """Why the batches cannot be walked to the end; those before the damage can be read."""
        self._boundaries: dict[int, int] = {}
        if self._file.size == 0:
            self._offset_index.clear()
            self._time_index.clear()
            self.transaction_index.rebuild(())

    # --- what it is

    @property
    def size_bytes(self) -> int:
        return self._file.size

    @property
    def file(self) -> File:
        return self._file

    @property
    def mark(self) -> SegmentMark:
        return SegmentMark(
            self.base_offset,
            self.size_bytes,
            self._time_index.written_bytes,
            self.transaction_index.mark,
        )

    @property
    def offset_index(self) -> OffsetIndex:
        """The offset index; of a damaged log it holds the entries before the damage."""
        self._load_indexes()
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        self.prepare_indexes()
        return self._time_index

    @property
    def index_bytes(self) -> int:
        """Size of the larger index."""
        return max(
            self.offset_index.entry_count * OFFSET_ENTRY_BYTES,
            self.time_index.entry_count * TIME_ENTRY_BYTES,
        )

    @property
    def modified_ms(self) -> int:
        """The time at which the log file was last written, for the age of records without timestamps. Milliseconds since 1970."""
        return self._file_system.modified_ms(self._path(LOG_SUFFIX))

    @property
    def largest_timestamp_ms(self) -> int:
        """The largest timestamp of all batches; -1 when no batch has one."""
        self.prepare_indexes()
        return self.max_timestamp_ms

    def is_full_for(self, added_bytes: int, last_offset: int) -> bool:
        """Whether an append of `added_bytes` that ends with `last_offset` must go to a new segment."""
        return (
            self._file.size > self.limits.segment_bytes - added_bytes
            or self._is_index_full
            or last_offset - self.base_offset > _RELATIVE_OFFSET_MAX
        )

    # --- writing

    def create_file(self) -> None:
        """Creates the log file. Raises OSError."""
        self._may_have_reserve = self.limits.preallocate
        self._file.create(self.limits.segment_bytes if self.limits.preallocate else 0)

    def append(self, buffers: Sequence[Buffer], headers: Sequence[BatchHeader]) -> None:
        """Writes whole batches with their final offsets. Raises OSError; the owner then calls `cut_back`.

        The owner has called `prepare_indexes`.
        """
        position = self._file.size
        self._file.append(buffers)
        for header in headers:
            self.index_batch(position, header)
            position += header.size_bytes
        self._remember_boundary(headers[-1].next_offset, position)

    def index_batch(self, position: int, header: BatchHeader) -> None:
        """Adds entries to the indexes for a batch by Kafka's rule; `position` is the start of the batch in the file.

        Raises CorruptMessage for a batch whose offset cannot be in this segment: it lies outside the checksum.
        """
        if not 0 <= header.last_offset - self.base_offset <= _RELATIVE_OFFSET_MAX:
            raise CorruptMessage(f"offset {header.last_offset} is too far from {self.base_offset}")
        if self.first_timestamp_ms is None:
            self.first_timestamp_ms = header.max_timestamp
        if header.max_timestamp > self.max_timestamp_ms:
            self.max_timestamp_ms = header.max_timestamp
            self.max_timestamp_offset = header.base_offset + header.last_offset_delta
        if self._bytes_since_entry > self.limits.index_interval_bytes:
            self._offset_index.append(header.last_offset - self.base_offset, position)
            self._force_time_entry()
            self._is_index_full = self._offset_index.is_full or self._time_index.is_full
            self._bytes_since_entry = 0
        self._bytes_since_entry += header.size_bytes

    def cut_back(self, size: int) -> None:
        """Removes what a failed append may have left behind `size`."""
        self._file.truncate(size)

    def cut_at(self, offset: int) -> tuple[int, int]:
        """Returns where to cut so that nothing at or after `offset` stays: the position, and the offset where the log then ends.

        That is the first batch that holds `offset`, is after it, or is damaged as far as headers tell; the end of the file when there is none.
        """
        relative_offset = offset - self.base_offset
        _, end = self._checked(lambda: self._offset_index.lookup(relative_offset))
        next_offset = self.base_offset
        try:
            for position, header in scan_headers(self._file, end, self.size_bytes):
                if header.base_offset < next_offset:
                    break
                if header.last_offset >= offset:
                    return position, min(offset, header.base_offset)
                end, next_offset = position + header.size_bytes, header.next_offset
        except (CorruptMessage, UnsupportedForMessageFormat):
            pass  # what is cut off need not be readable
        return end, offset if end == self.size_bytes else min(offset, next_offset)

    def truncate_at(self, position: int, offset: int) -> None:
        """Removes every batch from `position`, which is the start of one, and their index entries; `offset`: they reach no further back.

        Whoever reads sees that at once; the file is cut by `settle_cut`, before which nothing may be appended.
        What was read as a range of the file before cannot be sent any more: other batches will stand there. Raises OSError, CorruptIndex.
        """
        self._load_indexes()
        self._file = self._file.cut_at(position)
        self._boundaries.clear()
        self._offset_index.truncate(offset - self.base_offset)
        self._time_index.truncate(offset - self.base_offset)
        if position == 0:
            self.first_timestamp_ms = None
        # Reads the batches behind the last entry that is left, and checks it as at a start.
        self._indexes_ready, self._noted_time_bytes, self._damage = False, None, None
        self._load_indexes()
        self.transaction_index.truncate(offset)

    def settle_cut(self) -> None:
        """The file is cut on the disk when this returns. Blocks, in any thread. Raises OSError."""
        self._file.settle_cut()

    def seal(self) -> list[File]:
        """Completes and writes the indexes (roll and close), and gives back what space was reserved for more records.

        Returns the files to sync, to be closed afterwards.
        """
        if self._may_have_reserve:
            self._file.truncate(self._file.size)
            self._may_have_reserve = False
        self._load_indexes()
        self._force_time_entry()
        return self.write_indexes()

    def write_indexes(self) -> list[File]:
        """Writes those of an empty segment, too: Kafka, which may start on this directory next, takes a missing one for damage."""
        self._load_indexes()
        written: list[File] = []
        try:
            for write in (
                self._offset_index.write,
                self._time_index.write,
                self.transaction_index.write,
            ):
                file = write()
                if file is not None:
                    written.append(file)
        except OSError:
            for file in written:
                file.close()
            raise
        return written

    def _force_time_entry(self) -> None:
        if self.max_timestamp_ms >= 0:
            self._time_index.append_if_later(
                self.max_timestamp_ms, self.max_timestamp_offset - self.base_offset
            )

    # --- indexes

    def prepare_indexes(self) -> None:
        """Loads the indexes and what follows from them, once; rebuilds them when they contradict the log.

        Raises CorruptMessage when the log itself is damaged.
        """
        self._load_indexes()
        if self._damage is not None:
            raise CorruptMessage(self._damage)

    def _load_indexes(self) -> None:
        if self._indexes_ready:
            return
        try:
            self._continue_from_indexes()
        except (CorruptIndex, CorruptMessage, OSError):
            self._rebuild_up_to_damage()  # an error of the disk with the log file comes again
        self._is_index_full = self._offset_index.is_full or self._time_index.is_full
        self._indexes_ready = True

    def _rebuild_up_to_damage(self) -> None:
        """Walks a damaged log once, not with every request."""
        try:
            self.rebuild_indexes()
        except CorruptMessage as error:
            self._damage = str(error)
        except OSError:
            self._indexes_ready = False
            raise

    def check_index_files(self) -> None:
        """Compares the index files of a segment that was closed in order with each other and with the log.

        Changes nothing. Raises CorruptIndex, CorruptMessage, OSError.
        """
        for kind in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):
            if not self._file_system.exists(self._path(kind)):
                raise CorruptIndex(f"{self._path(kind)} is missing")
        if self.size_bytes and not self._indexes_ready:
            self._continue_from_indexes()
        if self.transaction_index.read_whole(is_kept=False) is None:
            raise CorruptIndex(f"{self._path(TRANSACTION_INDEX_SUFFIX)} is damaged")

    def rebuild_indexes(self) -> None:
        """Rebuilds both indexes from the batches alone; raises CorruptMessage when the log itself is damaged."""
        self.start_rebuild()
        for position, header in self.headers():
            self.index_batch(position, header)

    def start_rebuild(self) -> None:
        """Empties the indexes; the caller then passes every batch to `index_batch`."""
        self._offset_index.clear()
        self._time_index.clear()
        self._boundaries.clear()
        self.max_timestamp_ms = self.max_timestamp_offset = -1
        self.first_timestamp_ms = None
        self._bytes_since_entry = 0
        self._is_index_full = False
        self._indexes_ready = self._are_entries_checked = True
        self._damage = None

    def _continue_from_indexes(self) -> None:
        indexed = self._offset_index.last_entry()
        if indexed.position >= self.size_bytes:
            raise CorruptIndex(
                f"{self._offset_index.path} points beyond the end of its log; it is rebuilt"
            )
        if indexed.position == 0 and self.size_bytes > self.limits.index_interval_bytes:
            raise CorruptIndex(f"{self._offset_index.path} is empty although its log is not")
        latest = self._time_index.last_entry()
        if self._noted_time_bytes not in (None, self._time_index.written_bytes):
            raise CorruptIndex(f"{self._time_index.path} has not the entries it had; it is rebuilt")
        # Zeros, in place of what a power loss took, are no entries, and perhaps nobody noted what there was.
        if latest != NO_ENTRY or (self._noted_time_bytes is None and indexed.position > 0):
            self._check_time_entry(latest)
        self.max_timestamp_ms = latest.timestamp_ms
        self.max_timestamp_offset = self.base_offset + latest.relative_offset
        self._bytes_since_entry = 0
        for _, header in self.headers(indexed.position):
            if self._bytes_since_entry == 0 and indexed.position > 0:
                _check_entry(self.base_offset + indexed.relative_offset, header)
            if header.max_timestamp > self.max_timestamp_ms:
                self.max_timestamp_ms = header.max_timestamp
                self.max_timestamp_offset = header.last_offset
            self._bytes_since_entry += header.size_bytes

    def _check_time_entry(self, entry: TimestampOffset) -> None:
        """Raises CorruptIndex when the batch that the entry names has not this timestamp."""
        offset = self.base_offset + entry.relative_offset
        _, position = self._offset_index.lookup(entry.relative_offset)
        named = next(
            (each.header for each in self.headers(position) if each.header.last_offset >= offset),
            None,
        )
        if named is None or named.max_timestamp != entry.timestamp_ms:
            raise CorruptIndex(f"{self._time_index.path} names another batch; it is rebuilt")

    def _checked(self, look_up: Callable[[], OffsetPosition]) -> OffsetPosition:
        """Looks an entry up. One that names another batch than that at its position shows that the file is damaged: it is rebuilt."""
        self._load_indexes()
        entry = look_up()
        if self._are_entries_checked or self._names_its_batch(entry):
            return entry
        self._rebuild_up_to_damage()
        return look_up()

    def _names_its_batch(self, entry: OffsetPosition) -> bool:
        if entry.position == 0:
            return True
        try:
            first = next(self.headers(entry.position), None)
        except CorruptMessage:
            return False
        return first is not None and (
            first.header.last_offset == self.base_offset + entry.relative_offset
        )

    # --- reading

    def headers(self, position: int = 0) -> Iterator[BatchStart]:
        """Yields the header of every batch from `position`, the start of one, to the end of the file.

        Raises CorruptMessage where they do not reach it, or cannot be of this segment.
        """
        for start, header in self._scan(position):
            if not 0 <= header.last_offset - self.base_offset <= _RELATIVE_OFFSET_MAX:
                raise CorruptMessage(
                    f"{self._path(LOG_SUFFIX)} is damaged: the batch at position {start} ends with offset {header.last_offset}"
                )
            yield BatchStart(start, header)

    def _scan(self, position: int) -> Iterator[tuple[int, BatchHeader]]:
        """Scans to the end. Bytes that look like an old format are mostly no header at all."""
        try:
            yield from scan_whole(self._file, position, self.size_bytes)
        except (CorruptMessage, UnsupportedForMessageFormat) as error:
            raise CorruptMessage(f"{self._path(LOG_SUFFIX)} is damaged: {error}") from error

    def find_batch(self, offset: int) -> BatchStart | None:
        """Returns the first batch whose last offset is at or after `offset`; None when there is none."""
        relative_offset = offset - self.base_offset
        _, position = self._checked(lambda: self._offset_index.lookup(relative_offset))
        return next(
            (start for start in self.headers(position) if start.header.last_offset >= offset), None
        )

    def position_of(self, offset: int) -> int | None:
        """Returns the position of the batch that holds `offset`, or of the first one after it; None beyond the last batch."""
        position = self._boundaries.get(offset)
        if position is None:
            found = self.find_batch(offset)
            if found is None:
                return None
            position = found.position
        return position if position < self.size_bytes else None

    def end_of_read(self, start: int, bytes_max: int, limit: int) -> int:
        """Returns the last end of a batch within `bytes_max` of `start` and within `limit`; `start` when none fits."""
        target = start + bytes_max
        if target >= limit:
            return limit
        end = max(start, self.batch_before(target))
        for position, header in scan_headers(self._file, end, limit):
            if position + header.size_bytes > target:
                break
            end = position + header.size_bytes
            self._remember_boundary(header.next_offset, end)
        return end

    def end_of_first_batch(self, start: int) -> int:
        for position, header in scan_headers(self._file, start, self.size_bytes):
            self._remember_boundary(header.next_offset, position + header.size_bytes)
            return position + header.size_bytes
        raise CorruptMessage(
            f"no batch at position {start} of the segment at offset {self.base_offset}"
        )

    def batch_before(self, position: int) -> int:
        """Returns where a batch begins that is at or not far before `position`."""
        return self._checked(lambda: self._offset_index.lookup_position(position)).position

    def last_offset_before(self, position: int) -> int | None:
        """Returns an offset that no batch that ends at or before `position` reaches; None when only the end of the segment is one."""
        entry = self._checked(
            lambda: self._offset_index.first_at_or_after(position) or _NO_POSITION
        )
        return None if entry == _NO_POSITION else self.base_offset + entry.relative_offset

    def time_floor(self, timestamp_ms: int) -> TimestampOffset:
        """Returns the last entry of the time index below `timestamp_ms`: no batch up to its offset is later."""
        floor = self.time_index.lookup(timestamp_ms - 1)
        if floor != NO_ENTRY and not self._are_entries_checked:
            try:
                self._check_time_entry(floor)
            except (CorruptIndex, CorruptMessage):
                self._rebuild_up_to_damage()
                floor = self.time_index.lookup(timestamp_ms - 1)
        return floor

    def scan_end(self) -> tuple[int, int]:
        """Returns the next offset and the position after the last whole batch. In a sound file the position is its size."""
        next_offset, end = self.base_offset, 0
        begin = self._checked(self._offset_index.last_entry).position
        for position, header in scan_headers(self._file, begin, self.size_bytes):
            next_offset, end = header.next_offset, position + header.size_bytes
        return next_offset, end

    def last_leader_epoch(self) -> int | None:
        """Returns the leader epoch of the last batch; None without batches, or where they tell no epoch."""
        epoch = -1
        for start in self.headers(self._checked(self._offset_index.last_entry).position):
            epoch = start.header.partition_leader_epoch
        return epoch if epoch >= 0 else None

    def load_first_timestamp(self) -> int | None:
        if self.first_timestamp_ms is None:
            first = next(self.headers(), None)
            self.first_timestamp_ms = first.header.max_timestamp if first else None
        return self.first_timestamp_ms

    def _remember_boundary(self, offset: int, position: int) -> None:
        """Readers mostly ask for offsets where an append or an earlier read ended."""
        boundaries = self._boundaries
        if len(boundaries) >= _BOUNDARIES_MAX:
            del boundaries[next(iter(boundaries))]
        boundaries[offset] = position

    # --- cleaned segments

    def new_cleaned(self, limits: SegmentLimits) -> Segment:
        """Returns an empty segment with this one's base offset, beside the log; what an earlier attempt left is removed."""
        for suffix in SEGMENT_SUFFIXES:
            path = segment_path(self.directory, self.base_offset, suffix) + CLEANED_SUFFIX
            if self._file_system.exists(path):
                self._file_system.remove(path)
        return Segment(
            self._file_system, self.directory, self.base_offset, limits, suffix=CLEANED_SUFFIX
        )

    def set_modified_ms(self, modified_ms: int) -> None:
        self._file_system.set_modified_ms(self._path(LOG_SUFFIX), modified_ms)

    def sync_directory(self) -> None:
        self._file_system.sync_directory(self.directory)

    def rename_to(self, suffix: str) -> None:
        """Gives the files another suffix, the log file last: with it the new name counts. Does not sync the directory."""
        for kind in reversed(SEGMENT_SUFFIXES):
            source = self._path(kind)
            if kind == LOG_SUFFIX or self._file_system.exists(source):
                self._file_system.rename(
                    source, segment_path(self.directory, self.base_offset, kind) + suffix
                )
        self._suffix = suffix
        self.update_directory(self.directory)

    def update_directory(self, directory: str) -> None:
        """Follows a renamed directory: the files have other names now; open ones stay open."""
        self.directory = directory
        self._file.update_path(self._path(LOG_SUFFIX))
        self._offset_index.update_path(self._path(INDEX_SUFFIX))
        self._time_index.update_path(self._path(TIME_INDEX_SUFFIX))
        self.transaction_index.update_path(self._path(TRANSACTION_INDEX_SUFFIX))

    # --- leaving

    def mark_deleted(self) -> None:
        """Renames the files to `*.deleted`; ranges of the log file that are being sent stay readable."""
        for kind in SEGMENT_SUFFIXES:
            path = self._path(kind)
            if self._file_system.exists(path):
                self._file_system.rename(path, path + DELETED_SUFFIX)
        self._suffix = DELETED_SUFFIX
        self._file.update_path(self._path(LOG_SUFFIX))

    def discard(self) -> None:
        """Closes the segment for good: readers and flushes that still hold its file find it gone."""
        self._file.discard()

    def remove(self) -> None:
        """Closes the segment and removes its files, under the names they have now."""
        self.close()
        for kind in SEGMENT_SUFFIXES:
            if self._file_system.exists(self._path(kind)):
                self._file_system.remove(self._path(kind))

    def _path(self, kind: str) -> str:
        return segment_path(self.directory, self.base_offset, kind) + self._suffix

    def release(self) -> None:
        """Closes the descriptor of the log file until it is needed; call it only while the file cannot be in use."""
        self._file.release()

    def close(self) -> None:
        self._file.close()


def _check_entry(last_offset: int, header: BatchHeader) -> None:
    if header.last_offset != last_offset:
        raise CorruptIndex(
            f"an index entry names offset {last_offset}, its batch ends with {header.last_offset}"
        )
