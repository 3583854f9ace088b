"""Finds out what the producers of a log were where it is cut, from the files of the log, in any thread.

    what is cut off is read ─▶ the producers of it go back by what is remembered of them (`ProducerStates.plan_rewind`)
    that is not enough, or too much to read ─▶ the newest snapshot before the cut, and every batch behind it

Everything is read through descriptors of its own, so whoever reads the log meanwhile is not
disturbed. Nobody appends to a log that is about to be cut: its follower waits, and what was found
counts for nothing if another has begun to lead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

from millstream.errors import KafkaError
from millstream.log.header_scan import read_batch, scan_headers
from millstream.log.log_state import LogState
from millstream.log.producers.producer_state import ProducerStates, Rewind
from millstream.log.producers.replay import read_transaction_end
from millstream.log.producers.snapshot import (
    CorruptSnapshot,
    ProducerSnapshotEntry,
    decode_producer_snapshot,
)
from millstream.log.segments.files import LOG_SUFFIX, SNAPSHOT_SUFFIX, segment_path
from millstream.records.batch import BatchHeader
from millstream.runtime import File, FileSystem

_REWIND_BYTES_MAX: Final = 16 * 1024 * 1024
"""What is cut off is read for producers up to here, and where it is less than what stays: the headers of as many bytes
of the smallest batches take 0.3 s to read, as Kafka always takes for the whole segment."""


class _Stretch(NamedTuple):
    """Whole batches in one file."""

    path: str
    begin: int
    end: int


@final
class ProducersAtCut:
    """`read` blocks and touches nothing but files; it may be called again, and finds more then."""

    def __init__(self, state: LogState, file_system: FileSystem, offset: int) -> None:
        """Looks at what there is to read. Reads of the offset index as much as a fetch does.

        Raises OSError, CorruptMessage.
        """
        self._file_system = file_system
        segments = state.segments.from_offset(offset - 1)
        active, gone = segments[0], segments[1:]
        position, self._end_offset = active.cut_at(offset)
        self._directory = active.directory
        self._base_offset = active.base_offset
        self._snapshots = tuple(
            each for each in state.snapshots.offsets() if each <= active.base_offset
        )
        kept = [each for each in state.segments if each.base_offset < active.base_offset]
        self._kept = [*(self._stretch(each.base_offset, 0, each.size_bytes) for each in kept), self._stretch(active.base_offset, 0, position)]  # fmt: skip
        self._base_offsets = [*(each.base_offset for each in kept), active.base_offset]
        self._removed = [
            self._stretch(active.base_offset, position, active.size_bytes),
            *(self._stretch(each.base_offset, 0, each.size_bytes) for each in gone),
        ]
        removed_bytes = sum(each.end - each.begin for each in self._removed)
        self._is_rewound = removed_bytes <= min(_REWIND_BYTES_MAX, position)
        self._batches: list[BatchHeader] | None = None
        self._states: ProducerStates | None = None
        self._has_failed = False

    def read(self) -> None:
        """Blocks in reading."""
        try:
            if self._is_rewound and self._batches is None:
                self._batches = list(self._of_producers(self._removed))
            else:
                self._states = self._restored()
        except (KafkaError, OSError):
            # What is cut off cannot be read, or a cleaning has taken a file away.
            self._has_failed, self._is_rewound = not self._is_rewound, False

    def plan(self, states: ProducerStates) -> Rewind | ProducerStates | None:
        """Returns how `states` get to be what they were at the cut.

        None: it is not known before `read` was called once more.
        """
        if self._states is None and self._is_rewound and self._batches is not None:
            planned = states.plan_rewind(self._end_offset, self._batches)
            if planned is not None:
                return planned
            self._is_rewound = False
        return self._states

    @property
    def is_unknown(self) -> bool:
        """Whether no call of `read` will tell: the log itself must be asked once it is cut."""
        return self._has_failed

    def _stretch(self, base_offset: int, begin: int, end: int) -> _Stretch:
        return _Stretch(segment_path(self._directory, base_offset, LOG_SUFFIX), begin, end)

    def _of_producers(self, stretches: Sequence[_Stretch]) -> Iterator[BatchHeader]:
        for stretch in stretches:
            file = self._file_system.open_read_only(stretch.path)
            try:
                for _, header in scan_headers(file, stretch.begin, stretch.end):
                    if header.producer_id >= 0:
                        yield header
            finally:
                file.close()

    def _restored(self) -> ProducerStates:
        """Raises OSError, KafkaError."""
        states = ProducerStates()
        start_offset, entries = self._newest_snapshot()
        states.restore(entries)
        for slot, stretch in enumerate(self._kept):
            is_last = slot + 1 == len(self._kept)
            if is_last or self._base_offsets[slot + 1] > start_offset:
                file = self._file_system.open_read_only(stretch.path)
                try:
                    _replay(states, file, stretch, start_offset)
                finally:
                    file.close()
        return states

    def _newest_snapshot(self) -> tuple[int, list[ProducerSnapshotEntry]]:
        """One that is damaged is passed over: the next start removes it."""
        for offset in reversed(self._snapshots):
            path = segment_path(self._directory, offset, SNAPSHOT_SUFFIX)
            try:
                return offset, decode_producer_snapshot(self._file_system.read(path))
            except (CorruptSnapshot, OSError):
                continue
        return self._base_offsets[0], []


def _replay(states: ProducerStates, file: File, stretch: _Stretch, start_offset: int) -> None:
    for position, header in scan_headers(file, stretch.begin, stretch.end):
        if header.producer_id < 0 or header.last_offset < start_offset:
            continue
        end = None
        if header.is_control:
            end = read_transaction_end(header, read_batch(file, position, header))
        states.apply(header, end)
