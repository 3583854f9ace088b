"""A disk in memory that can fill up, fail and lose power. Satisfies `runtime.FileSystem`.

What was written and what is durable are kept apart: `crash` throws away what no sync covered, and may keep any prefix of
the unsynced tail of each file, as a torn write does. Directory operations (create, rename, remove) reach the disk in their order,
with the next sync of any directory at the latest; a crash may undo the newest of those that came since. Threads may share it.
"""

from __future__ import annotations

import errno
import functools
import posixpath
import threading
from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from millstream.runtime.interfaces import Buffer, File


def _never_fails(_path: str) -> bool:
    return False


def _keep_nothing(_path: str, _unsynced: int) -> int:
    return 0


def _ignore_change(_change: str, _path: str) -> None:
    pass


class PowerLost(Exception):
    """The machine stopped in the middle of what it did; nothing is to be handled, `crash` comes next."""


class SimDisk:
    """The contents of one file: `data` as programs see it, the first `durable_bytes` of it safe from a crash."""

    __slots__ = ("data", "durable_bytes", "handles", "is_locked", "modified_ms", "reserved_bytes")

    def __init__(self) -> None:
        self.data = bytearray()
        self.durable_bytes = 0
        self.reserved_bytes = 0
        """Space that was taken for it beyond its end."""
        self.handles = 0
        self.is_locked = False
        self.modified_ms = 0


class SimFile:
    def __init__(
        self, file_system: SimFileSystem, path: str, disk: SimDisk, *, holds_lock: bool = False
    ) -> None:
        self._file_system = file_system
        self._path = path
        self._disk = disk
        self._holds_lock = holds_lock
        self._is_open = True
        disk.handles += 1

    @property
    def size(self) -> int:
        return len(self._disk.data)

    def append(self, buffers: Sequence[Buffer]) -> int:
        self._check_open()
        self._file_system.count_operation("append", self._path)
        data = b"".join(bytes(buffer) for buffer in buffers)
        reserved = min(len(data), self._disk.reserved_bytes)
        self._disk.reserved_bytes -= reserved
        room = reserved + self._file_system.take_space(len(data) - reserved)
        self._disk.data += data[:room]
        self._disk.modified_ms = self._file_system.now_ms
        if room < len(data):
            raise OSError(errno.ENOSPC, "No space left on device", self._path)
        return len(data)

    def read_at(self, position: int, length: int) -> bytes:
        self._check_open()
        return bytes(self._disk.data[position : position + length])

    def read_into(self, position: int, target: memoryview) -> int:
        data = self.read_at(position, len(target))
        target[: len(data)] = data
        return len(data)

    def reserve(self, size: int) -> None:
        self._check_open()
        self._file_system.count_operation("reserve", self._path)
        wanted = max(0, size - len(self._disk.data) - self._disk.reserved_bytes)
        granted = self._file_system.take_space(wanted)
        if granted < wanted:
            self._file_system.give_space(granted)
            raise OSError(errno.ENOSPC, "No space left on device", self._path)
        self._disk.reserved_bytes += wanted

    def truncate(self, size: int) -> None:
        self._check_open()
        self._file_system.count_operation("truncate", self._path)
        assert size <= len(self._disk.data), "files are only cut, never stretched"
        self._file_system.give_space(len(self._disk.data) - size + self._disk.reserved_bytes)
        self._disk.reserved_bytes = 0
        del self._disk.data[size:]
        self._disk.durable_bytes = min(self._disk.durable_bytes, size)

    def sync(self) -> None:
        self._check_open()
        self._file_system.count_operation("sync", self._path)
        self._file_system.check_sync(self._path)
        self._disk.durable_bytes = len(self._disk.data)

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "a simulated file has no descriptor", self._path)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._disk.handles -= 1
            if self._holds_lock:
                self._disk.is_locked = False

    def _check_open(self) -> None:
        if not self._is_open:
            raise OSError(errno.EBADF, "the file is closed", self._path)


_P = ParamSpec("_P")
_R = TypeVar("_R")


def _one_at_a_time(
    operation: Callable[Concatenate[SimFileSystem, _P], _R],
) -> Callable[Concatenate[SimFileSystem, _P], _R]:
    """Wraps an operation on names of files and directories: threads of a pool remove files while the loop renames others."""

    @functools.wraps(operation)
    def locked(disk: SimFileSystem, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with disk.names_lock:
            return operation(disk, *args, **kwargs)

    return locked


class SimFileSystem:
    """`space_bytes`: how much can still be written, None for no end. `failing_syncs`: paths whose sync fails."""

    def __init__(self) -> None:
        self.space_bytes: int | None = None
        self.failing_syncs: Callable[[str], bool] = _never_fails
        self.sync_count = 0
        self.before_change: Callable[[str, str], None] = _ignore_change
        """Told the name of each operation that changes something, and its path, before it is done. May raise OSError, as a disk does."""
        self.now_ms = 0
        """What files are stamped with when they are written."""
        self.operations_left: int | None = None
        """How many changes of the disk still happen before the power fails; None for as many as are asked for."""
        self._undo: list[Callable[[], None]] = []
        """How to take back each directory operation since a directory was last synced."""
        self.names_lock = threading.RLock()
        self._files: dict[str, SimDisk] = {}
        self._directories: set[str] = {"", "/"}
        self.open_to_others: set[str] = set()
        """Directories to which other users of the machine have rights."""

    # --- faults

    @_one_at_a_time
    def crash(
        self,
        kept_bytes: Callable[[str, int], int] = _keep_nothing,
        zeroed_bytes: Callable[[str, int], int] = _keep_nothing,
        undone_operations: int = 0,
    ) -> None:
        """Power loss: of each file stay the durable bytes and `kept_bytes(path, unsynced)` of those after them.

        Behind them come `zeroed_bytes(path, lost)` zeros: a file system may make a file longer before it writes the data.
        The last `undone_operations` of a directory are taken back, unless a directory was synced since. Open handles are
        dead afterwards; locks are released.
        """
        for undo in self._undo[len(self._undo) - min(undone_operations, len(self._undo)) :][::-1]:
            undo()
        self._undo.clear()
        self.operations_left = None
        for path, disk in list(self._files.items()):
            survivor = SimDisk()
            unsynced = len(disk.data) - disk.durable_bytes
            kept = min(unsynced, kept_bytes(path, unsynced))
            survivor.data = disk.data[: disk.durable_bytes + kept]
            survivor.data += bytes(min(unsynced - kept, zeroed_bytes(path, unsynced - kept)))
            survivor.durable_bytes = len(survivor.data)
            survivor.modified_ms = disk.modified_ms
            survivor.reserved_bytes = disk.reserved_bytes
            self._files[path] = survivor

    @_one_at_a_time
    def write_back(self) -> None:
        """The system writes what it has kept in memory, as it does after a while: all that was written until now is on the disk."""
        self._undo.clear()
        for disk in self._files.values():
            disk.durable_bytes = len(disk.data)

    def is_synced(self, path: str) -> bool:
        """Whether the file is there, and a crash takes nothing of it."""
        disk = self._files.get(path)
        return disk is not None and disk.durable_bytes == len(disk.data)

    @_one_at_a_time
    def unsynced_beside(self, name: str) -> list[str]:
        """Returns the files of which a crash would take something, below the directories in which a file of that name is."""
        directories = [
            posixpath.dirname(each) for each in self._files if posixpath.basename(each) == name
        ]
        return sorted(
            path
            for path, disk in self._files.items()
            if disk.durable_bytes < len(disk.data)
            and any(path.startswith(f"{each}/") for each in directories)
        )

    @_one_at_a_time
    def of_next_process(self) -> SimFileSystem:
        """Returns the disk as the next process finds it: what was written is there, synced or not; handles and locks are gone.

        This one is nobody's any more: whatever is done to it reaches nobody. What was done to names and directories counts as synced.
        """
        found = SimFileSystem()
        found.space_bytes, found.now_ms = self.space_bytes, self.now_ms
        found._directories = set(self._directories)
        for path, disk in self._files.items():
            survivor = found._files[path] = SimDisk()
            survivor.data = bytearray(disk.data)
            survivor.durable_bytes = disk.durable_bytes
            survivor.reserved_bytes = disk.reserved_bytes
            survivor.modified_ms = disk.modified_ms
        return found

    def corrupt(self, path: str, position: int, data: bytes) -> None:
        """Overwrites bytes, as a damaged disk would."""
        self._files[path].data[position : position + len(data)] = data

    @_one_at_a_time
    def open_handles(self) -> list[str]:
        return sorted(path for path, disk in self._files.items() if disk.handles > 0)

    @_one_at_a_time
    def files(self) -> list[str]:
        return sorted(self._files)

    @_one_at_a_time
    def directories(self) -> list[str]:
        return sorted(self._directories)

    def take_space(self, count: int) -> int:
        if self.space_bytes is None:
            return count
        granted = min(count, self.space_bytes)
        self.space_bytes -= granted
        return granted

    def give_space(self, count: int) -> None:
        if self.space_bytes is not None:
            self.space_bytes += count

    def check_sync(self, path: str) -> None:
        self.sync_count += 1
        if self.failing_syncs(path):
            raise OSError(errno.EIO, "Input/output error", path)

    def count_operation(self, change: str, path: str) -> None:
        """Called before every change. Raises PowerLost, from then on every time until `crash`, and what `before_change` raises."""
        self.before_change(change, path)
        if self.operations_left is not None:
            if self.operations_left <= 0:
                raise PowerLost
            self.operations_left -= 1

    # --- runtime.FileSystem

    @_one_at_a_time
    def open(self, path: str, *, create: bool = True) -> File:
        if path not in self._files:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "No such file", path)
            self._check_parent(path)
            self.count_operation("open", path)
            self._files[path] = SimDisk()
            self._undo.append(lambda: self._forget(path))
        return SimFile(self, path, self._files[path])

    def open_read_only(self, path: str) -> File:
        return self.open(path, create=False)

    def exists(self, path: str) -> bool:
        return path in self._files or path in self._directories

    def size(self, path: str) -> int:
        return len(self._disk(path).data)

    @_one_at_a_time
    def list(self, path: str) -> list[str]:
        if path not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "No such directory", path)
        prefix = path.rstrip("/") + "/"
        inside = [entry for entry in [*self._files, *self._directories] if entry.startswith(prefix)]
        return sorted({entry[len(prefix) :].split("/")[0] for entry in inside if entry != prefix})

    def is_private(self, path: str) -> bool:
        return path not in self.open_to_others

    def make_private(self, path: str) -> None:
        self.open_to_others.discard(path)

    @_one_at_a_time
    def make_directory(self, path: str) -> None:
        self.before_change("make_directory", path)
        while path not in self._directories:
            self._directories.add(path)
            path = posixpath.dirname(path)

    @_one_at_a_time
    def rename(self, source: str, target: str) -> None:
        self.count_operation("rename", source)
        if source in self._directories:
            if target in self._directories and self.list(target):
                raise OSError(errno.ENOTEMPTY, "Directory not empty", target)
            self._move_tree(source, target)
            self._undo.append(lambda: self._move_tree(target, source))
            return
        replaced, moved = self._files.get(target), self._disk(source)
        self._files[target] = moved
        del self._files[source]

        def undo() -> None:
            self._forget(target)
            self._files[source] = moved
            if replaced is not None:
                self._files[target] = replaced

        self._undo.append(undo)

    def sync_directory(self, path: str) -> None:
        if path not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "No such directory", path)
        self.count_operation("sync_directory", path)
        self.check_sync(path)
        self._undo.clear()

    def modified_ms(self, path: str) -> int:
        return self._disk(path).modified_ms

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self._disk(path).modified_ms = modified_ms

    @_one_at_a_time
    def remove(self, path: str) -> None:
        self.count_operation("remove", path)
        removed = self._disk(path)
        self.give_space(len(removed.data) + removed.reserved_bytes)
        del self._files[path]
        self._undo.append(lambda: self._files.__setitem__(path, removed))

    @_one_at_a_time
    def remove_tree(self, path: str) -> None:
        if path not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "No such directory", path)
        prefix = path + "/"
        for name in [name for name in self._files if name.startswith(prefix)]:
            self.remove(name)
        self._directories = {d for d in self._directories if d != path and not d.startswith(prefix)}

    def read(self, path: str) -> bytes:
        return bytes(self._disk(path).data)

    @_one_at_a_time
    def write_atomically(self, path: str, data: bytes) -> None:
        self._check_parent(path)
        self.count_operation("write_atomically", path)
        if self.take_space(len(data)) < len(data):
            raise OSError(errno.ENOSPC, "No space left on device", path)
        self.check_sync(path)
        disk = SimDisk()
        disk.data += data
        disk.durable_bytes = len(data)
        self._files[path] = disk
        self._undo.clear()

    def absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"/{path}"

    @_one_at_a_time
    def space(self, path: str) -> tuple[int, int]:
        """A disk of a gigabyte, unless `space_bytes` says otherwise."""
        del path
        used = sum(len(disk.data) + disk.reserved_bytes for disk in self._files.values())
        free = (1 << 30) - used if self.space_bytes is None else self.space_bytes
        return used + free, free

    @_one_at_a_time
    def lock(self, path: str) -> File:
        self._check_parent(path)
        disk = self._files.setdefault(path, SimDisk())
        if disk.is_locked:
            raise BlockingIOError(errno.EWOULDBLOCK, "Resource temporarily unavailable", path)
        disk.is_locked = True
        return SimFile(self, path, disk, holds_lock=True)

    def _forget(self, path: str) -> None:
        """The file may be gone already, with its directory."""
        self._files.pop(path, None)

    def _disk(self, path: str) -> SimDisk:
        if path not in self._files:
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        return self._files[path]

    def _check_parent(self, path: str) -> None:
        if posixpath.dirname(path) not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "No such directory", path)

    def _move_tree(self, source: str, target: str) -> None:
        def moved(path: str) -> str:
            return (
                target + path[len(source) :]
                if path == source or path.startswith(source + "/")
                else path
            )

        self._files = {moved(path): disk for path, disk in self._files.items()}
        self._directories = {moved(path) for path in self._directories}
