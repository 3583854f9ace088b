"""The global stores of an application in one process: each holds all partitions of its topic, for
every task of the process.

Kafka Streams' global thread, without the thread: the stores are brought up to the end of their topics when the process
first runs a task of the application, and before every further run. Nothing is written anywhere, so there is no
transaction: how far a store has come is kept with its rows, as the marker of their last write.
"""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import TextIO

from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.metrics import MetricName
from millstream.streams.runtime.global_task import GlobalTask
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.state.storage.directories import make_state_directory
from millstream.streams.state.store import StateStore


class GlobalStores:
    """The global stores of one process, made by `open`. Several tasks may use it at a time."""

    def __init__(self, directory: Path, lock: TextIO) -> None:
        self._directory = directory
        self._lock = lock
        self._tasks: list[GlobalTask] = []
        self._turn = asyncio.Lock()
        self._begun = 0
        """The number of the last round of catching up that was begun."""
        self._done = 0
        """The number of the last one that has come to its end."""

    @classmethod
    async def open(cls, spec: TaskSpec, environment: TaskEnvironment) -> GlobalStores:
        """Opens the global stores of the application that `spec` is of, in a directory that no
        other process uses, and fills them.

        Raises what `catch_up` raises, and what the cluster answers.
        """
        directory, lock = _own_directory(Path(spec.state_directory) / "global")
        opened = cls(directory, lock)
        try:
            for each in spec.of_global_stores(str(directory)):
                opened._tasks.append(await GlobalTask.open(each, environment))
            await opened.catch_up()
        except BaseException:
            await opened.close()
            raise
        return opened

    @property
    def stores(self) -> Mapping[str, StateStore]:
        """The stores by name, as `StreamTask` takes them."""
        return {name: store for task in self._tasks for name, store in task.stores.items()}

    def metrics(self) -> dict[MetricName, float]:
        """Returns the metrics of the tasks that fill the stores, as of their last records.

        All have one id, so what they have in common is added up.
        """
        found: dict[MetricName, float] = {}
        for task in self._tasks:
            for name, value in task.metrics.items():
                found[name] = found.get(name, 0.0) + value
        return found

    def task_of(self, store: str) -> StreamTask | None:
        """Returns the task that fills a store, to be asked; None where there is no such store.

        Its rows are whole between its calls.
        """
        return next((each.task for each in self._tasks if store in each.stores), None)

    async def catch_up(self) -> None:
        """Processes everything that stands in the topics when it is called.

        Callers that wait for each other share one look.

        Raises DataLoss, and what functions of the application raise; the stores are then as they were.
        """
        asked = self._begun
        async with self._turn:
            # Another caller may have begun a round since, and may have failed in it or been cancelled: only one that has
            # come to its end has seen what stood there.
            if self._done > asked:
                return
            self._begun = number = self._begun + 1
            for task in self._tasks:
                await task.catch_up()
            self._done = number

    async def close(self) -> None:
        """Closes the stores and gives their directory free. Idempotent."""
        tasks, self._tasks = self._tasks, []
        async with AsyncExitStack() as last_first:
            last_first.callback(self._lock.close)
            for task in tasks:
                last_first.push_async_callback(task.close)


def _own_directory(parent: Path) -> tuple[Path, TextIO]:
    """Returns the first numbered directory that no living process has, with the lock that says so.

    RocksDB serves one process.
    """
    for number in count():
        directory = parent / str(number)
        make_state_directory(directory)
        lock = (directory / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return directory, lock
    raise AssertionError("numbers do not end")
