"""The real clock, randomness and disk. Only edges construct these; everything else is handed them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import shutil
import stat
import sys
import time
from collections.abc import Sequence

from millstream.runtime.interfaces import Buffer, File, Instant

_WRITEV_BUFFERS_MAX = 1024  # IOV_MAX on Linux
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE
_RIGHTS_OF_OTHERS = 0o077


class SystemClock:
    def now(self) -> Instant:
        return Instant(time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000)

    def wall_ms(self) -> int:
        """Returns the wall clock alone, for callers that ask for each record."""
        return time.time_ns() // 1_000_000


class SystemRandom:
    """Unpredictable; ids and jitter need nothing more."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()

    def random(self) -> float:
        return self._random.random()

    def randrange(self, stop: int) -> int:
        return self._random.randrange(stop)

    def randbytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


class SystemFile:
    def __init__(self, path: str, flags: int) -> None:
        self._descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    @property
    def size(self) -> int:
        return self._size

    def append(self, buffers: Sequence[Buffer]) -> int:
        position = self._size
        pending = [memoryview(b) for b in buffers if len(b)]
        while pending:
            written = os.pwritev(self._descriptor, pending[:_WRITEV_BUFFERS_MAX], position)
            position += written
            pending = _without_first_bytes(pending, written)
        count = position - self._size
        self._size = position
        return count

    def read_at(self, position: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, position)

    def read_into(self, position: int, target: memoryview) -> int:
        return os.preadv(self._descriptor, [target], position)

    def reserve(self, size: int) -> None:
        code = _fallocate(self._descriptor, size)
        if code not in (0, errno.EOPNOTSUPP, errno.ENOSYS):
            raise OSError(code, os.strerror(code))

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        self._size = size

    def sync(self) -> None:
        if sys.platform == "darwin":  # no fdatasync, and fsync leaves it in the disk's own memory
            fcntl.fcntl(self._descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _fallocate(descriptor: int, size: int) -> int:
    """The error number, 0 for none. `os.posix_fallocate` would make the file longer."""
    import ctypes  # only for topics that reserve space

    call = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)
    if call is None:
        return errno.ENOSYS
    refused = call(descriptor, _KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(size))
    return ctypes.get_errno() if refused else 0


def _without_first_bytes(buffers: list[memoryview], count: int) -> list[memoryview]:
    index = 0
    while index < len(buffers) and count >= len(buffers[index]):
        count -= len(buffers[index])
        index += 1
    rest = buffers[index:]
    if rest and count:
        rest[0] = rest[0][count:]
    return rest


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class SystemFileSystem:
    """The files of this machine.

    What is made is for this user alone: it is data of a node, and may hold secrets of its users.
    """

    def open(self, path: str, *, create: bool = True) -> File:
        return SystemFile(path, os.O_RDWR | (os.O_CREAT if create else 0))

    def open_read_only(self, path: str) -> File:
        return SystemFile(path, os.O_RDONLY)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def list(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def make_directory(self, path: str) -> None:
        os.makedirs(path, mode=0o700, exist_ok=True)

    def is_private(self, path: str) -> bool:
        return not os.stat(path).st_mode & _RIGHTS_OF_OTHERS

    def make_private(self, path: str) -> None:
        os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~_RIGHTS_OF_OTHERS)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(path or ".", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def remove(self, path: str) -> None:
        os.remove(path)

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(path)

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def write_atomically(self, path: str, data: bytes) -> None:
        temporary = path + ".tmp"
        with open(temporary, "wb", opener=_open_private) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self.rename(temporary, path)
        self.sync_directory(os.path.dirname(path))

    def absolute(self, path: str) -> str:
        return os.path.abspath(path)

    def space(self, path: str) -> tuple[int, int]:
        found = os.statvfs(path)
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

    def lock(self, path: str) -> File:
        file = SystemFile(path, os.O_RDWR | os.O_CREAT)
        try:
            # Two kinds, of which Linux sees each only against itself: the first keeps out others of this process, too, the second is
            # what Java takes, so that a node of Apache Kafka is kept out and keeps this one out. The second goes when this process closes
            # the file for the first time, though it was opened for a lock that was refused: two nodes of one process are for tests.
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            with contextlib.suppress(OSError):
                file.close()
            raise
        return file
