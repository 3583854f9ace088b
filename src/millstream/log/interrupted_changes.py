"""What a crash left half done in a partition directory, by the names of the files (`segment_files` has the suffixes).

    *.deleted   a segment that had left the log: removed
    *.cleaned   written by a cleaning that had not finished: removed
    *.swap      finished by a cleaning, once the log file has the name: takes the place of what it was made of

A cleaned segment becomes the segment of its base offset file by file, the log file last, so that doing this again after
another crash has the same end. An index file is always renamed over its predecessor.
"""

from __future__ import annotations

from millstream.log.header_scan import scan_headers
from millstream.log.segment_files import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    offset_of,
    segment_path,
)
from millstream.runtime import FileSystem


def finish_interrupted_changes(file_system: FileSystem, directory: str) -> None:
    """Afterwards the directory holds whole segments only. Raises OSError."""
    for name in file_system.list(directory):
        if name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, ".tmp")):
            file_system.remove(f"{directory}/{name}")
    names = set(file_system.list(directory))
    swapped = [
        base_offset
        for name in names
        if (base_offset := offset_of(name, LOG_SUFFIX + SWAP_SUFFIX)) is not None
    ]
    for base_offset in sorted(swapped):
        _finish_swap(file_system, directory, base_offset)
    for name in file_system.list(directory):
        if name.endswith(SWAP_SUFFIX) or _is_orphan(name, names | _logs(swapped)):
            file_system.remove(f"{directory}/{name}")
    if swapped:
        file_system.sync_directory(directory)


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


def _logs(base_offsets: list[int]) -> set[str]:
    return {f"{base_offset:020d}{LOG_SUFFIX}" for base_offset in base_offsets}


def _is_orphan(name: str, names: set[str]) -> bool:
    """An index whose log file is gone."""
    for kind in SEGMENT_SUFFIXES:
        base_offset = offset_of(name, kind)
        if base_offset is not None and f"{base_offset:020d}{LOG_SUFFIX}" not in names:
            return True
    return False
