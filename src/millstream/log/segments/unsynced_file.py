"""Small files that are made with a new log and not worth a sync: what they say can be had again.

A power loss soon afterwards may leave them empty, or full of zeros where the file system had only reserved the space.
"""

from __future__ import annotations

from millstream.runtime import FileSystem


def write_unsynced(file_system: FileSystem, path: str, data: bytes) -> None:
    file = file_system.open(path)
    try:
        file.truncate(0)
        file.append([data])
    finally:
        file.close()


def read_if_it_reached_the_disk(file_system: FileSystem, path: str) -> bytes | None:
    """Returns the contents of a file; None when it is missing, empty or nothing but zeros."""
    data = file_system.read(path) if file_system.exists(path) else b""
    return data if data.strip(b"\0") else None
