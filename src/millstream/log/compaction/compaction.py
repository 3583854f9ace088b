"""One cleaning of one log: reads its dirty part into a map of keys, then writes segments
without what the keys replaced.

Runs in small steps in any one thread at a time, and touches nothing but sealed segments, which do not change,
and files of its own, `*.cleaned`. What it made is swapped in by the log's owner
(`PartitionLog.replace_segments`), who may also refuse.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from millstream.log.compaction.batch_filter import BatchFilter, FilterRules, OffsetMap
from millstream.log.compaction.cleaned_transactions import AbortedTransactions, CleanedTransactions
from millstream.log.compaction.plan import CompactionPlan
from millstream.log.header_scan import scan_batches
from millstream.log.log_state import LogState
from millstream.log.retention import DeletedSegments
from millstream.log.segments.files import SWAP_SUFFIX
from millstream.log.segments.segment import Segment, SegmentLimits
from millstream.records.batch import BatchHeader, read_header, validate_batch
from millstream.records.record_rows import RecordRows

_STEP_BYTES: Final = 128 * 1024
"""What a step reads or writes, at most a batch more: it holds the interpreter for about a millisecond."""
_STEP_RECORDS: Final = 2_000
_RECORDS_OF_A_BATCH: Final = 25
"""What handling a batch costs besides its records, in records: coordinators write many small ones."""


@dataclass(frozen=True, slots=True)
class CleanedSegment:
    """A finished segment: `cleaned` lies on the disk under its `.cleaned` names, and takes the place of `replaced`."""

    replaced: tuple[Segment, ...]
    cleaned: Segment
    cut_count: int
    """That of the plan."""


class CompactionStep(NamedTuple):
    moved_bytes: int
    """Read and written since the last step."""
    finished: CleanedSegment | None = None


@final
class Compaction:
    def __init__(
        self,
        plan: CompactionPlan,
        *,
        map_bytes_max: int,
        now_ms: int,
        io_bytes: int = 262_144,
    ) -> None:
        """Call it as the log's owner: transaction indexes are read here, and the owner appends to the newest of them.

        `io_bytes`: how much is read at once, or as much as one batch needs; and written at once, up to a
        step. Raises OSError, CorruptIndex.
        """
        self._plan = plan
        self._aborted = AbortedTransactions(
            itertools.chain.from_iterable(index.entries() for index in plan.transaction_indexes)
        )
        self._io_bytes = io_bytes
        self._step_bytes = min(_STEP_BYTES, io_bytes)
        self._offsets = OffsetMap(map_bytes_max)
        self._now_ms = now_ms

    @property
    def end_offset(self) -> int:
        """The log is clean before this offset once all steps are done.

        It is less than planned where the map was full.
        """
        return self._offsets.end_offset

    def steps(self) -> Iterator[CompactionStep]:
        """Runs the cleaning, step by step.

        Raises OSError, and KafkaError for a batch that is damaged. Unfinished files stay until the log is opened again.
        """
        yield from self._map_keys()
        rules = FilterRules(
            self._plan.last_records, self._now_ms, self._plan.config.delete_retention_ms
        )
        transactions = CleanedTransactions(self._aborted)
        batches = BatchFilter(rules, self._offsets, transactions)
        for group in self._plan.group_until(self.end_offset):
            yield from self._rewrite(group, batches, transactions)

    # --- keys

    def _map_keys(self) -> Iterator[CompactionStep]:
        """Latest offsets of the dirty part, as far as they fit. Aborted records count for nothing."""
        plan = self._plan
        dirty = [
            segment for segment in plan.segments if self._end_of(segment) > plan.first_dirty_offset
        ]
        moved = records = 0
        for segment in dirty:
            start = segment.position_of(max(plan.first_dirty_offset, segment.base_offset))
            start = segment.size_bytes if start is None else start
            for _, header, batch in scan_batches(
                segment.file, start, segment.size_bytes, self._io_bytes
            ):
                if self._offsets.is_full:
                    return
                validate_batch(header, batch)
                if not header.is_control and self._aborted.transaction_of(header) is None:
                    self._map_batch(header, batch)
                self._offsets.end_offset = header.next_offset
                moved, records = (
                    moved + header.size_bytes,
                    records + _RECORDS_OF_A_BATCH + header.record_count,
                )
                if moved >= self._step_bytes or records >= _STEP_RECORDS:
                    yield CompactionStep(moved)
                    moved = records = 0
            self._offsets.end_offset = self._end_of(segment)
        yield CompactionStep(moved)

    def _map_batch(self, header: BatchHeader, batch: memoryview) -> None:
        rows = RecordRows(header, batch)
        put, first_dirty = self._offsets.put, self._plan.first_dirty_offset
        for key, offset in zip(rows.keys(), rows.offsets, strict=True):
            if key is not None and offset >= first_dirty:
                put(key, offset)

    def _end_of(self, segment: Segment) -> int:
        following = self._plan.segments.index(segment) + 1
        if following < len(self._plan.segments):
            return self._plan.segments[following].base_offset
        return self._plan.end_offset

    # --- segments

    def _rewrite(
        self, group: tuple[Segment, ...], batches: BatchFilter, transactions: CleanedTransactions
    ) -> Iterator[CompactionStep]:
        cleaned = group[0].new_cleaned(SegmentLimits.of(self._plan.config))
        try:
            for segment in group:
                for moved in self._rewrite_segment(segment, cleaned, batches):
                    yield CompactionStep(moved)
            retained, transactions.retained = transactions.retained, []
            if retained or any(segment.transaction_index.entries() for segment in group):
                cleaned.transaction_index.create(retained)
            _sync(cleaned)
            cleaned.set_modified_ms(group[-1].modified_ms)
        except BaseException:
            cleaned.close()
            raise
        yield CompactionStep(0, CleanedSegment(group, cleaned, self._plan.cut_count))

    def _rewrite_segment(
        self, segment: Segment, cleaned: Segment, batches: BatchFilter
    ) -> Iterator[int]:
        """Bytes moved, now and then."""
        moved = records = 0
        kept: list[memoryview | bytearray] = []
        for position, header, batch in scan_batches(
            segment.file, 0, segment.size_bytes, self._io_bytes
        ):
            validate_batch(header, batch)
            ends_segment = position + header.size_bytes == segment.size_bytes
            left = batches.filtered(header, batch, ends_segment=ends_segment)
            moved, records = (
                moved + header.size_bytes,
                records + _RECORDS_OF_A_BATCH + header.record_count,
            )
            if left is not None:
                kept.append(left)
            if ends_segment or moved >= self._step_bytes or records >= _STEP_RECORDS:
                if kept:
                    cleaned.append(kept, [read_header(each) for each in kept])
                yield moved + sum(len(each) for each in kept)
                moved = records = 0
                kept.clear()


def _sync(cleaned: Segment) -> None:
    """Everything is on the disk before the log may rely on it."""
    files = [cleaned.file, *cleaned.seal()]
    for file in files:
        file.sync()
    for file in files[1:]:
        file.close()


def swap_in(
    state: LogState, deleted: DeletedSegments, finished: CleanedSegment, due_ms: int
) -> None:
    """The cleaned segment becomes part of the log; a crash at any point is completed when the log is loaded.

    `due_ms`: when the files of the replaced segments may go. Raises OSError.
    """
    cleaned, replaced = finished.cleaned, finished.replaced
    # On the disk under this name before any of the old files leaves: from here on a start finishes the swap
    # (`interrupted_changes`), before it a start removes what was cleaned.
    cleaned.rename_to(SWAP_SUFFIX)
    cleaned.sync_directory()
    deleted.add(replaced, due_ms)
    cleaned.rename_to("")
    cleaned.sync_directory()
    state.segments.replace(replaced, cleaned)
    state.snapshots.remove(segment.base_offset for segment in replaced[1:])
