"""Finishes changes in a partition directory that a crash interrupted; the names of the files tell which.

    *.deleted   a segment that had left the log: removed
    *.cleaned   written by a cleaning that had not finished: removed
    *.swap      finished by a cleaning, once the log file has the name: takes the place of what it was made of

A cleaned segment becomes the segment of its base offset file by file, the log file last, so that doing this again after
another crash has the same end. An index file is always renamed over its predecessor.
"""

from __future__ import annotations

from typing import Final

from millstream.log.header_scan import scan_headers
from millstream.log.segments.files import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    offset_of,
    segment_path,
)
from millstream.runtime import FileSystem

_UNFINISHED: Final = (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX, ".tmp")
_INDEX_SUFFIXES: Final = tuple(kind for kind in SEGMENT_SUFFIXES if kind != LOG_SUFFIX)


def finish_interrupted_changes(file_system: FileSystem, directory: str) -> list[str]:
    """Finishes the changes, so that the directory holds whole segments only. Returns the names in it.

    Raises OSError.
    """
    names = file_system.list(directory)
    if not any(name.endswith(_UNFINISHED) for name in names) and not _orphans(names):
        return names
    for name in names:
        if name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, ".tmp")):
            file_system.remove(f"{directory}/{name}")
    swapped = [
        base_offset
        for name in names
        if (base_offset := offset_of(name, LOG_SUFFIX + SWAP_SUFFIX)) is not None
    ]
    for base_offset in sorted(swapped):
        _finish_swap(file_system, directory, base_offset)
    names = file_system.list(directory)
    for name in [*_orphans(names), *(name for name in names if name.endswith(SWAP_SUFFIX))]:
        file_system.remove(f"{directory}/{name}")
    if swapped:
        file_system.sync_directory(directory)
    return file_system.list(directory)


def _finish_swap(file_system: FileSystem, directory: str, base_offset: int) -> None:
    end_offset = _end_offset(file_system, directory, base_offset)
    for name in file_system.list(directory):
        for kind in SEGMENT_SUFFIXES:
            replaced = offset_of(name, kind)
            if replaced is not None and base_offset < replaced < end_offset:
                file_system.remove(f"{directory}/{name}")
    for kind in reversed(SEGMENT_SUFFIXES):
        target = segment_path(directory, base_offset, kind)
        if file_system.exists(target + SWAP_SUFFIX):
            file_system.rename(target + SWAP_SUFFIX, target)


def _end_offset(file_system: FileSystem, directory: str, base_offset: int) -> int:
    path = segment_path(directory, base_offset, LOG_SUFFIX) + SWAP_SUFFIX
    file = file_system.open_read_only(path)
    try:
        end_offset = base_offset
        for _, header in scan_headers(file, 0, file.size):
            end_offset = header.next_offset
        return end_offset
    finally:
        file.close()


def _orphans(names: list[str]) -> list[str]:
    """Indexes whose log file is gone."""
    logs = {
        base_offset for name in names if (base_offset := offset_of(name, LOG_SUFFIX)) is not None
    }
    return [
        name
        for name in names
        for kind in _INDEX_SUFFIXES
        if (base_offset := offset_of(name, kind)) is not None and base_offset not in logs
    ]
