"""Takes snapshots of the stores of a running task now and then, and fetches one for a task that starts without them.

A snapshot begins with a checkpoint beside the stores: RocksDB writes out what it has in memory and links its files,
between two runs of the kernel, so that it is the state of one commit. The files are copied by a thread of its own while
the task goes on. Nothing rests on a snapshot: one that fails is logged, and the next one is due after the interval.
"""

from __future__ import annotations

import asyncio
import glob
import logging
import secrets
import shutil
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.runtime.snapshots.description import NoSnapshot
from millstream.streams.runtime.snapshots.files import SnapshotDirectory, StoreSnapshot
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.stored_state import StoredState, stored_state
from millstream.streams.state.storage.factory import RocksTaskStores

_CHECKPOINT: Final = ".checkpoint-"
_FETCHED: Final = ".fetched-"
_GONE: Final = ".gone-"
_LOGGER = logging.getLogger(__name__)


class TaskSnapshots:
    """The snapshots of one running task.

    `covered`: changelog records that a start from the last one need not restore.
    """

    def __init__(
        self,
        spec: TaskSpec,
        partition: int,
        environment: TaskEnvironment,
        task: StreamTask,
        stores: RocksTaskStores,
        *,
        covered: int = 0,
    ) -> None:
        self._id = spec.task_id(partition)
        self._plan = spec.snapshots
        self._environment = environment
        self._task = task
        self._stores = stores
        self._stores_path = spec.stores_path(partition)
        path = spec.snapshots_path(partition)
        self._directory = None if path is None else SnapshotDirectory(path)
        self._covered = covered
        self._due_ms = 0
        self._copying: Future[None] | None = None

    async def maybe_snapshot(self) -> None:
        """Makes a checkpoint if a snapshot is due, and has it copied while the task goes on."""
        directory, plan = self._directory, self._plan
        if directory is None or plan is None or self._stores.database is None:
            return
        now_ms = self._environment.clock.now().monotonic_ms
        is_copying = self._copying is not None and not self._copying.done()
        if is_copying or now_ms < self._due_ms or self._new_records() < plan.records_min:
            return
        self._due_ms = now_ms + plan.interval_ms
        checkpoint = _beside(self._stores_path, _CHECKPOINT)
        try:
            state = await self._environment.in_kernel(partial(self._checkpoint, checkpoint))
        except Exception as error:  # noqa: BLE001  # nothing rests on a snapshot
            _LOGGER.warning("no snapshot of the stores of task %s: %s", self._id, error)
        else:
            copy = partial(self._copy, directory, checkpoint, state)
            self._copying = self._environment.copier.submit(copy)

    async def wait_until_copied(self) -> None:
        """Waits for the snapshot that is being copied."""
        if self._copying is not None:
            await asyncio.wrap_future(self._copying)

    def _new_records(self) -> int:
        return stored_state(self._task).records - self._covered

    def _checkpoint(self, path: Path) -> StoredState:
        database = self._stores.database
        assert database is not None, "a task that is closed takes no more snapshots"
        try:
            database.checkpoint(str(path))
        except Exception:
            shutil.rmtree(path, ignore_errors=True)
            raise
        return stored_state(self._task)

    def _copy(self, directory: SnapshotDirectory, checkpoint: Path, state: StoredState) -> None:
        """Copies the stores, in the thread of the copier.

        It goes on where the task is closed meanwhile: what it copies is the state of a commit.
        """
        try:
            directory.write(checkpoint, state)
        except Exception as error:  # noqa: BLE001  # nothing rests on a snapshot
            _LOGGER.warning("no snapshot of the stores of task %s: %s", self._id, error)
        else:
            self._covered = state.records
            _LOGGER.info("a snapshot of the stores of task %s is written", self._id)
        finally:
            shutil.rmtree(checkpoint, ignore_errors=True)


def fetch_newest(
    spec: TaskSpec,
    partition: int,
    why_unusable: Callable[[StoredState], str | None],
    is_worth_it: Callable[[StoredState], bool],
) -> Path | None:
    """Fetches the newest snapshot of a task's stores that can be used, to a directory beside them.

    None where there is none, or where it is not worth it.
    """
    path = spec.snapshots_path(partition)
    if path is None:
        return None
    directory = SnapshotDirectory(path)
    for snapshot in _found(directory):
        target = _beside(spec.stores_path(partition), _FETCHED)
        state = snapshot.description.state
        why = why_unusable(state)
        if why is None:
            if not is_worth_it(state):
                return None  # older ones are worth less
            try:
                directory.fetch(snapshot, target)
            except (NoSnapshot, OSError) as error:
                shutil.rmtree(target, ignore_errors=True)
                why = str(error)
            else:
                _LOGGER.info("task %s begins with %s", spec.task_id(partition), snapshot.path)
                return target
        _LOGGER.warning("snapshot %s is left aside: %s", snapshot.path, why)
    return None


def remove_leftovers(stores_path: Path) -> None:
    """Removes what a process that has died has left beside the stores of a task.

    In this process the copier may have yet to come to a checkpoint of the task as it was before, or be at it. So the
    name goes first: it copies all files or finds an error, and no part of them passes for a snapshot.
    """
    for kind in (_CHECKPOINT, _FETCHED):
        for each in _all_beside(stores_path, kind):
            with suppress(FileNotFoundError):  # the copier has done with it
                each.rename(_beside(stores_path, _GONE))
    for each in _all_beside(stores_path, _GONE):
        shutil.rmtree(each, ignore_errors=True)


def _found(directory: SnapshotDirectory) -> list[StoreSnapshot]:
    try:
        return directory.newest_first()
    except OSError as error:
        _LOGGER.warning("there are no snapshots to begin with: %s", error)
        return []


def _all_beside(stores_path: Path, kind: str) -> list[Path]:
    return list(stores_path.parent.glob(f"{glob.escape(stores_path.name)}{kind}*"))


def _beside(stores_path: Path, kind: str) -> Path:
    return stores_path.with_name(f"{stores_path.name}{kind}{secrets.token_hex(8)}")
