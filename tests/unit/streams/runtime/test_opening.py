"""The stores of a task are open for whoever asked for them, or for nobody."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from millstream.runtime.system import SystemClock
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.opening import open_task
from millstream.streams.runtime.spec import TaskEnvironment


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
