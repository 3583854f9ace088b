"""The log file of a segment, opened when it is first needed: most partitions of a large
broker are idle most of the time.

Satisfies `runtime.File`. Once it is open it stays open until `close` or `release`; after
`close` it is never opened again.

What was handed out of a file that is cut must not be read after the cut, when other records may stand there:
`cut_at` gives the open file to a successor that ends there at once, and whoever still holds this one gets
EBADF. The disk follows in `settle_cut`.
"""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Sequence
from typing import Final, final

from millstream.runtime import File, FileSystem
from millstream.runtime.interfaces import Buffer

_NOWHERE: Final = -1


@final
class LazyFile:
    __slots__ = ("_cut_at", "_file", "_file_system", "_is_closed", "_is_gone", "_path", "_size")

    def __init__(self, file_system: FileSystem, path: str) -> None:
        """The file need not exist yet: see `create`. Raises OSError."""
        self._file_system = file_system
        self._path = path
        self._file: File | None = None
        self._is_closed = False
        self._is_gone = False
        self._cut_at = _NOWHERE
        self._size = file_system.size(path) if file_system.exists(path) else 0

    def create(self, reserved_bytes: int = 0) -> None:
        """Makes an empty file where there is none, and takes so much space for it from the disk. Raises OSError.

        Nothing is reserved where less than a tenth of the disk would stay free: other logs need it now.
        """
        if self._file_system.exists(self._path):
            return
        file = self._file_system.open(self._path)
        try:
            if reserved_bytes and self._has_room(reserved_bytes):
                file.reserve(reserved_bytes)
        except OSError:
            self._file_system.remove(self._path)
            raise
        finally:
            file.close()

    def _has_room(self, reserved_bytes: int) -> bool:
        all_bytes, free_bytes = self._file_system.space(posixpath.dirname(self._path))
        return free_bytes - reserved_bytes >= all_bytes // 10

    @property
    def size(self) -> int:
        if self._cut_at != _NOWHERE:
            return self._cut_at
        return self._size if self._file is None else self._file.size

    def append(self, buffers: Sequence[Buffer]) -> int:
        assert self._cut_at == _NOWHERE, "nothing is appended before a cut is on the disk"
        return self._opened().append(buffers)

    def read_at(self, position: int, length: int) -> bytes:
        return self._opened().read_at(position, length)

    def read_into(self, position: int, target: memoryview) -> int:
        return self._opened().read_into(position, target)

    def reserve(self, size: int) -> None:
        self._opened().reserve(size)

    def truncate(self, size: int) -> None:
        self._opened().truncate(size)

    def sync(self) -> None:
        """Does nothing once the file is gone: a flush that was planned before counts for nothing then."""
        if self._is_gone:
            return
        try:
            self._opened().sync()
        except OSError:
            if not self._is_gone:  # it may go while another thread waits for the disk
                raise

    def fileno(self) -> int:
        return self._opened().fileno()

    def close(self) -> None:
        self.release()
        self._is_closed = True

    def discard(self) -> None:
        """Closes a file of which nothing counts any more, though flushes and readers may still hold it."""
        self._is_gone = True
        self.close()

    def cut_at(self, size: int) -> LazyFile:
        """Returns a successor with the open file, which ends at `size`; this one is gone. Raises OSError."""
        successor = LazyFile(self._file_system, self._path)
        successor._file = self._opened()
        successor._cut_at = size
        self._size = self.size
        self._file, self._is_gone, self._is_closed = None, True, True
        return successor

    def settle_cut(self) -> None:
        """Cuts what `cut_at` has made to look cut; it is on the disk when this returns. Blocks, in any thread.

        Raises OSError.

        Twice is as good as once: nothing is appended in between.
        """
        size = self._cut_at
        if size == _NOWHERE:
            return
        file = self._opened()
        file.truncate(size)
        file.sync()
        self._cut_at = _NOWHERE

    def release(self) -> None:
        """Closes the descriptor until it is needed; call it only while the file cannot be in use."""
        if self._file is not None:
            self._size = self.size
            self._file.close()
            self._file = None

    def update_path(self, path: str) -> None:
        self._path = path

    def _opened(self) -> File:
        file = self._file
        if file is None:
            if self._is_closed:
                raise OSError(errno.EBADF, "the file is closed", self._path)
            file = self._file = self._file_system.open(self._path, create=False)
        return file
