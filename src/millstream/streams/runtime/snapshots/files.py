"""The snapshots of one task in a directory that several machines may see.

A snapshot is a directory of its own with all its files, called after the time of its commit and a random part. It is
made under a name that begins with a dot, and gets its own name once everything in it is on the disk: who dies before
leaves nothing that counts. Files that the snapshot before has too are linked, where the file system can do that. Two
that write at once, one of them fenced and not knowing it, write two snapshots, and each is whole.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from millstream.streams.runtime.snapshots.description import (
    DESCRIPTION,
    Description,
    NoSnapshot,
    StoredFile,
)
from millstream.streams.runtime.steps import SnapshotStep
from millstream.streams.runtime.stored_state import StoredState
from millstream.streams.state.storage.directories import make_state_directory

KEPT: Final = 2
"""So many snapshots of a task are kept: who reads one has time to do so while the next one is written."""
_CHUNK_BYTES: Final = 1 << 20
"""Larger ones are not copied faster, and beside a task memory is dear."""
_LOGGER = logging.getLogger(__name__)

SnapshotObserver = Callable[[SnapshotStep], None]


def observe_nothing(_step: SnapshotStep) -> None:
    """Observes nothing."""


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    """A snapshot whose description could be read. Its files have not been looked at."""

    path: Path
    description: Description


@dataclass(frozen=True, slots=True)
class _FileIdentity:
    """A file of a database never changes once it is linked into a checkpoint, so this says that it is the same one."""

    inode: int
    size: int
    modified_ns: int


class SnapshotDirectory:
    """The directory of one task's snapshots. Not for use by two threads at a time.

    Raises OSError as the file system does.
    """

    def __init__(self, path: Path, observe: SnapshotObserver = observe_nothing) -> None:
        self._path = path
        self._observe = observe
        self._digests: dict[_FileIdentity, str] = {}

    def newest_first(self) -> list[StoreSnapshot]:
        """Returns what can be used, and logs what cannot."""
        found = []
        for name in sorted(self._names(), reverse=True):
            try:
                description = Description.decode((self._path / name / DESCRIPTION).read_bytes())
            except (NoSnapshot, OSError) as error:
                _LOGGER.warning("snapshot %s is left aside: %s", self._path / name, error)
            else:
                found.append(StoreSnapshot(self._path / name, description))
        return found

    def write(self, database: Path, state: StoredState) -> None:
        """Adds a snapshot of the files of a database that is not open, and removes those
        that are older than the last two.
        """
        make_state_directory(self._path)
        # Another writer's unfinished snapshot goes, too: of two that write one is fenced. What that one makes of the
        # rest has no files or not all of them, which whoever fetches it finds out.
        self._remove_leftovers()
        new = self._path / f".{secrets.token_hex(8)}"
        make_state_directory(new, exist_ok=False)
        try:
            description = Description(state, self._filled(new, database))
            self._observe(SnapshotStep.COPIED)
            _write_through(new / DESCRIPTION, description.encode())
            _sync(new)
            self._observe(SnapshotStep.DESCRIBED)
            new.rename(self._path / f"{description.written_ms:015d}-{secrets.token_hex(8)}")
        except OSError:
            shutil.rmtree(new, ignore_errors=True)
            raise
        _sync(self._path)
        self._observe(SnapshotStep.NAMED)
        for name in sorted(self._names(), reverse=True)[KEPT:]:
            self._remove(self._path / name)
        self._observe(SnapshotStep.PRUNED)

    def fetch(self, snapshot: StoreSnapshot, target: Path) -> None:
        """Copies the files of a snapshot into a new directory.

        Raises NoSnapshot where one of them is not what was written.
        """
        make_state_directory(target, exist_ok=False)
        for name, known in snapshot.description.files.items():
            copied = _copied(snapshot.path / name, target / name)
            if copied != known:
                self._set_aside(snapshot.path)
                raise NoSnapshot(f"its file {name} is not the one that was written")

    def _names(self) -> list[str]:
        try:
            return [each.name for each in self._path.iterdir() if not each.name.startswith(".")]
        except FileNotFoundError:
            return []

    def _filled(self, new: Path, database: Path) -> dict[str, StoredFile]:
        before = next(iter(self.newest_first()), None)
        files, digests = {}, {}
        for source in sorted(database.iterdir()):
            known = None if before is None else before.description.files.get(source.name)
            identity = _identity(source)
            if before is not None and known is not None and known.size == identity.size:
                digest = digests[identity] = self._digests.get(identity) or _digest(source)
                if digest == known.digest and _linked(before.path / source.name, new / source.name):
                    files[source.name] = known
                    continue
            files[source.name] = copied = _copied(source, new / source.name)
            digests[identity] = copied.digest
            self._observe(SnapshotStep.FILE_COPIED)
        self._digests = digests
        return files

    def _remove_leftovers(self) -> None:
        for each in self._path.iterdir():
            if each.name.startswith("."):
                shutil.rmtree(each, ignore_errors=True)

    def _set_aside(self, snapshot: Path) -> None:
        """Sets a damaged snapshot aside: no later one may take files over from it.

        The next one that is written removes it.
        """
        with suppress(OSError):  # we may not be allowed to
            snapshot.rename(self._path / f".{secrets.token_hex(8)}")

    def _remove(self, snapshot: Path) -> None:
        """Takes the name away first: who reads meanwhile finds all files or the directory gone."""
        gone = self._path / f".{secrets.token_hex(8)}"
        with suppress(FileNotFoundError):  # another one has removed it
            snapshot.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def _identity(path: Path) -> _FileIdentity:
    status = path.stat()
    return _FileIdentity(status.st_ino, status.st_size, status.st_mtime_ns)


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _linked(old: Path, new: Path) -> bool:
    """Whether the file could be linked: not every file system can, and what another one has removed is gone."""
    try:
        new.hardlink_to(old)
    except OSError:
        return False
    return True


def _copied(source: Path, target: Path) -> StoredFile:
    """Copies a file and syncs the copy; what was read is what the answer says."""
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as read, target.open("xb") as written:
        while chunk := read.read(_CHUNK_BYTES):
            digest.update(chunk)
            written.write(chunk)
            size += len(chunk)
        written.flush()
        os.fsync(written.fileno())
    return StoredFile(size, digest.hexdigest())


def _write_through(path: Path, data: bytes) -> None:
    with path.open("xb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
