"""The interfaces of the outside world: clocks, random numbers, files and disks. Paths are plain strings, joined with
`/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

Buffer = bytes | bytearray | memoryview


class File(Protocol):
    """
    An open file. Appends go to the end; positional reads do not move anything.

    A failed `append` leaves the size unknown: the owner truncates to the size it had before.
    After a failed `sync` the file must not be trusted again (its dirty pages may be gone).
    """

    @property
    def size(self) -> int: ...
    def append(self, buffers: Sequence[Buffer]) -> int:
        """Writes all of `buffers` at the end; returns the number of bytes written."""
        ...

    def read_at(self, position: int, length: int) -> bytes:
        """Reads at a position; gives fewer bytes than asked for only at the end of the file."""
        ...

    def read_into(self, position: int, target: memoryview) -> int: ...
    def reserve(self, size: int) -> None:
        """Takes the space of a file of `size` bytes from the disk, where the file system can; the file stays as it is.

        `truncate` gives back what is reserved beyond its end. Raises OSError when there is not so much.
        """
        ...

    def truncate(self, size: int) -> None: ...
    def sync(self) -> None: ...
    def fileno(self) -> int:
        """Returns the descriptor, for sendfile. Raises OSError where the file has no descriptor (simulated disks)."""
        ...

    def close(self) -> None: ...


class FileSystem(Protocol):
    def open(self, path: str, *, create: bool = True) -> File: ...
    def open_read_only(self, path: str) -> File: ...
    def exists(self, path: str) -> bool: ...
    def size(self, path: str) -> int: ...
    def list(self, path: str) -> list[str]:
        """Lists the names in a directory, sorted."""
        ...

    def make_directory(self, path: str) -> None:
        """Makes a directory and its parents; an existing directory is fine."""
        ...

    def is_private(self, path: str) -> bool:
        """Whether no other user of the machine has any right to a file or directory."""
        ...

    def make_private(self, path: str) -> None:
        """Takes the rights to a file or directory from other users.

        Raises PermissionError where it belongs to one of them.
        """
        ...

    def rename(self, source: str, target: str) -> None:
        """Renames a file atomically; replaces a target file. A power loss may undo it until `sync_directory`."""
        ...

    def sync_directory(self, path: str) -> None:
        """Makes files that were created, renamed and removed in `path` durable before it returns."""
        ...

    def modified_ms(self, path: str) -> int:
        """Returns the time at which the file was last written, in milliseconds since 1970."""
        ...

    def set_modified_ms(self, path: str, modified_ms: int) -> None: ...

    def remove(self, path: str) -> None: ...
    def remove_tree(self, path: str) -> None: ...
    def read(self, path: str) -> bytes: ...
    def write_atomically(self, path: str, data: bytes) -> None:
        """Writes `path`.tmp, syncs it, renames it over `path`, syncs the directory."""
        ...

    def absolute(self, path: str) -> str:
        """Returns the absolute path, as the operating system names it from its root."""
        ...

    def space(self, path: str) -> tuple[int, int]:
        """Returns the bytes of the disk that holds `path`: all there are, and those that can still be written."""
        ...

    def lock(self, path: str) -> File:
        """Creates the file and holds it exclusively until closed; raises BlockingIOError when
        another process has it.
        """
        ...


class Random(Protocol):
    def random(self) -> float:
        """Returns a float in [0, 1)."""
        ...

    def randrange(self, stop: int) -> int:
        """Returns an integer in [0, stop)."""
        ...

    def randbytes(self, count: int) -> bytes: ...


class Instant(NamedTuple):
    """One reading of both clocks: the wall clock stamps data, the monotonic clock measures waits."""

    wall_ms: int
    """Milliseconds since 1970-01-01 UTC; may jump."""
    monotonic_ms: int
    """Milliseconds since an arbitrary start; never goes back."""


class Clock(Protocol):
    def now(self) -> Instant: ...

    def wall_ms(self) -> int:
        """Returns the same as `now().wall_ms`, for callers that ask for each record."""
        ...
