"""The log file of a segment, opened when it is first needed: most partitions of a large broker are idle most of the time.

Satisfies `runtime.File`. Once it is open it stays open until `close` or `release`; after `close` it is never opened again.
"""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Sequence
from typing import final

from millstream.runtime import File, FileSystem
from millstream.runtime.files import Buffer


@final
class LazyFile:
    __slots__ = ("_file", "_file_system", "_is_closed", "_path", "_size")

    def __init__(self, file_system: FileSystem, path: str) -> None:
        """The file need not exist yet: see `create`. Raises OSError."""
        self._file_system = file_system
        self._path = path
        self._file: File | None = None
        self._is_closed = False
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
        return self._size if self._file is None else self._file.size

    def append(self, buffers: Sequence[Buffer]) -> int:
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
        self._opened().sync()

    def fileno(self) -> int:
        return self._opened().fileno()

    def close(self) -> None:
        self.release()
        self._is_closed = True

    def release(self) -> None:
        """Closes the descriptor until it is needed; call it only while the file cannot be in use."""
        if self._file is not None:
            self._size = self._file.size
            self._file.close()
            self._file = None

    def moved_to(self, path: str) -> None:
        self._path = path

    def _opened(self) -> File:
        file = self._file
        if file is None:
            if self._is_closed:
                raise OSError(errno.EBADF, "the file is closed", self._path)
            file = self._file = self._file_system.open(self._path, create=False)
        return file
