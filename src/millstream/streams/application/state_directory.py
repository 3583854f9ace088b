"""The directory of an application's state on one machine: locked by one process, and with an id that outlives it.

Kafka Streams' StateDirectory. The id of the process (KIP-708) makes tasks return to where their stores are.
"""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final, TextIO
from uuid import UUID

from millstream.errors import ConfigError
from millstream.runtime import Random
from millstream.streams.runtime.errors import StoreLocked
from millstream.streams.state.storage.directories import make_state_directory

_METADATA: Final = "kafka-streams-process-metadata"
_LOCK: Final = ".lock"
_DATABASE_LOCK: Final = "LOCK"
"""RocksDB holds a lock of its process on this file of an open database."""
_TASK: Final = re.compile(r".+_\d+")
_ASIDE: Final = ".obsolete"


class StateDirectory:
    """`path` holds a directory for each task. Opened by `lock`, which `unlock` ends."""

    def __init__(self, parent: str | None, application_id: str, random: Random) -> None:
        base = Path(tempfile.gettempdir(), "millstream-streams") if parent is None else Path(parent)
        self.path: Final = base / application_id
        self._random = random
        self._lock: TextIO | None = None

    def require_apart(self, other: str) -> None:
        """Raises ConfigError for a directory of snapshots in which they would lie where the stores do."""
        if Path(other).resolve() == self.path.parent.resolve():
            raise ConfigError(
                f"checkpoint_directory and state_dir are the same, {other}: snapshots need a directory of their own"
            )

    def lock(self) -> str:
        """Takes the directory, and returns the id of its process.

        Raises StoreLocked where another process has it, and ConfigError where it cannot be written.
        """
        try:
            make_state_directory(self.path)
            lock = (self.path / _LOCK).open("w")
        except OSError as error:
            raise ConfigError(
                f"the state directory {self.path} cannot be written: {error}"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            raise StoreLocked(
                f"another process runs this application with the state directory {self.path}: give each instance on a machine a "
                "state_dir of its own"
            ) from error
        self._lock = lock
        try:
            return self._process_id()
        except OSError as error:
            self.unlock()
            raise ConfigError(
                f"the state directory {self.path} cannot be written: {error}"
            ) from error

    def unlock(self) -> None:
        """Gives the directory back. Idempotent."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def clean_up(self) -> None:
        """Deletes the stores of all tasks. Raises StoreLocked where an instance has them, be it this one."""
        self.lock()
        try:
            for child in self.path.iterdir():
                if child.is_dir():
                    shutil.rmtree(child)
        finally:
            self.unlock()

    def tasks(self) -> list[str]:
        """Returns the names of the directories of tasks; none where the directory itself has been deleted."""
        if not self.path.exists():
            return []
        return sorted(
            each.name
            for each in self.path.iterdir()
            if each.is_dir() and _TASK.fullmatch(each.name)
        )

    def set_aside(self, task: str) -> bool:
        """Takes a directory from its place at once: a task that comes now begins with an empty one.

        Returns True: it was done.
        """
        aside = self.path / f"{task}{_ASIDE}"
        if aside.exists():
            shutil.rmtree(aside)
        (self.path / task).rename(aside)
        return True

    def set_aside_if_closed(self, task: str) -> bool:
        """Does the same unless another process has the database in it open, or there is none.

        Returns whether it was done.

        Not for databases that are open in this process: RocksDB's lock is the process's, and would be given up.
        """
        try:
            lock = (self.path / task / _DATABASE_LOCK).open("r+")
        except FileNotFoundError:
            return False
        with lock:
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                return False
            return self.set_aside(task)

    def delete_what_is_set_aside(self) -> None:
        """Deletes what `set_aside` has left, here or before a crash."""
        for each in self.path.glob(f"*{_ASIDE}"):
            shutil.rmtree(each)

    def _process_id(self) -> str:
        metadata = self.path / _METADATA
        try:
            return str(UUID(json.loads(metadata.read_text())["processId"]))
        except (OSError, ValueError, KeyError, TypeError):
            # There is none yet, or a crash has left a part of it.
            process_id = str(UUID(bytes=self._random.randbytes(16), version=4))
            metadata.write_text(json.dumps({"version": 1, "processId": process_id}))
            return process_id
