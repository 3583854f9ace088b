"""Opens the stores of a task: one process at a time may have them, and the one before may still be closing them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, Protocol, TypeVar

from millstream.net.client.tasks import uninterrupted
from millstream.streams.runtime.errors import StoreLocked
from millstream.streams.runtime.spec import TaskEnvironment
from millstream.streams.runtime.stored_state import KeptStores, StoreMarker


class OpenedStores(Protocol):
    def close(self) -> None: ...


_Task = TypeVar("_Task", bound=OpenedStores)
OPEN_TIMEOUT_MS: Final = 30_000
"""Three times what a host that ends may take to close its stores (CLOSE_TIMEOUT_S of host_process.py)."""
OPEN_RETRY_S: Final = 0.05
"""RocksDB tells nobody that its lock is free, and an attempt costs less than a millisecond."""
_LOGGER = logging.getLogger(__name__)
_DAMAGES: Final = ("Corruption: ", "IO error: No such file or directory", "Invalid argument: ")


async def open_task(make: Callable[[], _Task], environment: TaskEnvironment, place: str) -> _Task:
    """Makes a kernel task with its stores. Waits while another process has them; RocksDB has no lock to wait on.

    `place` says in words whose stores they are and where. Raises StoreLocked.
    """
    clock = environment.clock
    deadline_ms = clock.now().monotonic_ms + OPEN_TIMEOUT_MS
    while True:
        try:
            return await _made(make, environment)
        except Exception as error:
            if not _is_lock_error(error):
                raise
            if clock.now().monotonic_ms >= deadline_ms:
                raise StoreLocked(
                    f"the stores of {place} are open in another process: stop the other run of this application, or give "
                    "each its own state directory"
                ) from error
        await asyncio.sleep(OPEN_RETRY_S)


async def opened_or_made_anew(
    opened: Callable[[], Awaitable[_Task]], delete: Callable[[], Awaitable[None]], what: str
) -> _Task:
    """Opens stores; those that are damaged are deleted, and empty ones opened."""
    try:
        return await opened()
    except Exception as error:
        if not is_damage(error):
            raise
        _LOGGER.warning("%s are deleted and restored: %s", what, error)
    await delete()
    return await opened()


async def _made(make: Callable[[], _Task], environment: TaskEnvironment) -> _Task:
    """Makes a task in the kernel, which cannot be interrupted.

    What it makes for a caller that was cancelled is closed, or its lock would stay.
    """
    making = environment.kernel_call(make)
    try:
        return await uninterrupted(making)
    except asyncio.CancelledError:
        if making.exception() is None:
            await environment.close_in_kernel(making.result().close)
        raise


async def mark(
    task: KeptStores,
    environment: TaskEnvironment,
    marker: StoreMarker,
    logged: Mapping[str, int] | None = None,
) -> None:
    """Writes what the task's stores hold in memory, with the marker; `logged`: how far their
    changelogs go with that.
    """
    commit = partial(task.commit, marker=marker.encode(), changelog_offsets=logged or {})
    await environment.in_kernel(commit)


def is_damage(error: Exception) -> bool:
    """Whether the files of a database are not as RocksDB has left them, so that it cannot be opened."""
    text = str(error)
    return text.startswith(_DAMAGES) and not _is_lock_error(error)


def _is_lock_error(error: Exception) -> bool:
    """Whether another process has a database, which RocksDB tells in words only.

    A full disk, where the file LOCK cannot be made, has other words.
    """
    return any(
        words in str(error) for words in ("While lock file: ", "lock hold by current process")
    )
