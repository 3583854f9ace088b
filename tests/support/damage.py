"""What may happen to one file of a data directory while no broker runs, on a simulated disk."""

from __future__ import annotations

import errno
import random
from typing import Final

from millstream.runtime.interfaces import File
from tests.support.simulated_disk import SimFileSystem

CUT, RANDOM, EMPTY, GONE, OTHER, UNREADABLE = DAMAGES = (
    "cut by 3 bytes",
    "random bytes",
    "empty",
    "gone",
    "of another partition",
    "unreadable",
)
_SEED: Final = 1


class DamagedDisk(SimFileSystem):
    """A disk of which one file may have lost its permissions; a new file in its place has them."""

    def __init__(self) -> None:
        super().__init__()
        self._unreadable: str | None = None

    def copy(self) -> DamagedDisk:
        """A disk with the same files, all of them durable and closed."""
        copied = DamagedDisk()
        for name in sorted(self.directories()):
            copied.make_directory(name)
        for path in self.files():
            copied.write_atomically(path, self.read(path))
        return copied

    def damage(self, path: str, how: str, other: bytes = b"") -> None:
        """`other`: what the file of another partition holds."""
        data = self.read(path)
        if how == GONE:
            self.remove(path)
        elif how == UNREADABLE:
            self._unreadable = path
        else:
            changed = {
                CUT: data[:-3],
                RANDOM: random.Random(_SEED).randbytes(len(data)),
                EMPTY: b"",
                OTHER: other,
            }
            self.write_atomically(path, changed[how])

    def open(self, path: str, *, create: bool = True) -> File:
        self._check(path)
        return super().open(path, create=create)

    def read(self, path: str) -> bytes:
        self._check(path)
        return super().read(path)

    def remove(self, path: str) -> None:
        super().remove(path)
        self._replaced(path)

    def write_atomically(self, path: str, data: bytes) -> None:
        super().write_atomically(path, data)
        self._replaced(path)

    def _check(self, path: str) -> None:
        if path == self._unreadable:
            raise PermissionError(errno.EACCES, "Permission denied", path)

    def _replaced(self, path: str) -> None:
        if path == self._unreadable:
            self._unreadable = None
