"""The stores of a task are open for whoever asked for them, or for nobody."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from millstream.runtime.system import SystemClock
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.errors import StoreLocked
from millstream.streams.runtime.failures import is_disk_failure
from millstream.streams.runtime.spec import TaskEnvironment
from millstream.streams.runtime.tasks.opening import open_task


class Opened:
    """Stands for a task of the kernel."""

    def __init__(self) -> None:
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


async def test_what_the_kernel_opens_for_a_cancelled_start_is_closed() -> None:
    begun, may_go_on, made = asyncio.Event(), threading.Event(), list[Opened]()
    loop = asyncio.get_running_loop()

    def make() -> Opened:
        loop.call_soon_threadsafe(begun.set)
        may_go_on.wait()
        made.append(Opened())
        return made[0]

    no_clients = cast("TaskClients", None)  # opening asks no broker
    with ThreadPoolExecutor(1) as kernel:
        environment = TaskEnvironment(no_clients, SystemClock(), kernel)
        opening = asyncio.ensure_future(open_task(make, environment, "task 0_0"))
        await begun.wait()
        opening.cancel()
        may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await opening
    assert [each.is_closed for each in made] == [True]


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (OSError(28, "No space left on device"), True),
        (Exception("IO error: No space left on device: While appending to file: /s/9.sst"), True),
        (Exception("No space left on device (os error 28)"), True),
        (ConnectionRefusedError(111, "Connection refused"), False),
        (TimeoutError(), False),
        (ValueError("a function of the application"), False),
    ],
)
def test_failures_of_the_disk_are_told_by_their_words(error: Exception, is_one: bool) -> None:
    assert is_disk_failure(error) is is_one


async def test_a_disk_on_which_no_lock_can_be_made_is_no_lock_of_another_process() -> None:
    """A lock is waited for, and then told as such: a full disk is told at once."""
    full = "IO error: No space left on device: While open a file for lock: /s/LOCK: No space left"

    def make() -> Opened:
        raise Exception(full)  # noqa: TRY002  # what the binding of RocksDB raises

    no_clients = cast("TaskClients", None)  # as above
    with ThreadPoolExecutor(1) as kernel:
        environment = TaskEnvironment(no_clients, SystemClock(), kernel)
        with pytest.raises(Exception, match="No space left") as failed:
            await open_task(make, environment, "task 0_0")
    assert not isinstance(failed.value, StoreLocked)
