"""Dumps one index file of whatever kind, and says where it does not agree with the log file beside it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.cli.dump import index_files, text
from millstream.errors import MillstreamError
from millstream.log.segments.files import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_of,
    segment_path,
)
from millstream.log.segments.index_file import CorruptIndex
from millstream.runtime.system import SystemFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from millstream.cli.dump.output import Report
    from millstream.runtime import File

_KINDS = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


def report_index(report: Report, file: str) -> None:
    """Raises OSError."""
    report.begin(file)
    found = ((kind, offset_of(Path(file).name, kind)) for kind in _KINDS)
    kind, base_offset = next((each for each in found if each[1] is not None), (None, None))
    if kind is None or base_offset is None:
        report.damage("its name must be that of a segment, of 20 digits, to tell where its offsets begin")  # fmt: skip
        return
    try:
        _Index(report, file, base_offset).dump(kind)
    except CorruptIndex as error:
        report.damage(f"{error}".removeprefix(f"{file} "))
    except MillstreamError as error:
        report.damage(str(error))


class _Index:
    def __init__(self, report: Report, path: str, base_offset: int) -> None:
        self._report = report
        self._path = path
        self._base_offset = base_offset
        self._file_system = SystemFileSystem()

    def dump(self, kind: str) -> None:
        """Raises CorruptIndex, OSError."""
        base = self._base_offset
        if kind == INDEX_SUFFIX:
            offsets = index_files.read_offset_index(self._file_system, self._path)
            for entry in offsets:
                self._report.add_line(partial(text.offset_entry_row, entry, base), partial(text.offset_entry_line, entry, base))  # fmt: skip
            self._finish(len(offsets), lambda log: index_files.offset_index_damage(offsets, base, log))  # fmt: skip
        elif kind == TIME_INDEX_SUFFIX:
            times = index_files.read_time_index(self._file_system, self._path)
            for time in times:
                self._report.add_line(partial(text.time_entry_row, time, base), partial(text.time_entry_line, time, base))  # fmt: skip
            self._finish(len(times), lambda log: index_files.time_index_damage(times, base, log))
        else:
            for aborted in index_files.read_transaction_index(self._file_system, self._path):
                self._report.add_line(partial(text.aborted_row, aborted), partial(text.aborted_line, aborted))  # fmt: skip

    def _finish(self, count: int, damage: Callable[[File], Iterator[tuple[int, str]]]) -> None:
        if not count:
            self._report.say(f"{self._path} is empty.")
            return
        log_path = segment_path(str(Path(self._path).parent), self._base_offset, LOG_SUFFIX)
        if not self._file_system.exists(log_path):
            self._report.damage(f"cannot be compared with its log: there is no {log_path}")
            return
        log = self._file_system.open_read_only(log_path)
        try:
            for position, reason in damage(log):
                self._report.damage(f"{reason}. A node rebuilds an index that was removed while it is stopped", position)  # fmt: skip
        finally:
            log.close()
