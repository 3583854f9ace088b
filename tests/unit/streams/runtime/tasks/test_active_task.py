"""What an active task leaves open: nothing, whoever is cancelled meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import cast

import pytest

from millstream.clients import Producer
from millstream.runtime.system import SystemClock
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.active_task import ActiveTask, StartedTask
from millstream.streams.runtime.tasks.processor_state_manager import ProcessorStateManager
from millstream.streams.topology.alignment import NOTHING_ALIGNED


class Kernel:
    """Stands for the kernel's part of a task, its stores, and the clients."""

    origin_time = -1
    global_stores = None
    topic_ids: Mapping[str, str] = MappingProxyType({})
    marked_ids = topic_ids
    restored = 0
    aligned = NOTHING_ALIGNED

    def __init__(self) -> None:
        self.closed = self.released = 0
        self.current = self

    def measure_with(self, _now_ms: object) -> None:
        """Measures nothing."""

    def snapshots(self) -> None:
        """Takes none."""

    def close(self) -> None:
        self.closed += 1

    async def release(self, _producer: object) -> None:
        self.released += 1


def active_task(kernel: Kernel, executor: ThreadPoolExecutor) -> ActiveTask:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    spec = TaskSpec(
        topology=builder.build(),
        sub_topology=0,
        config=StreamsConfig(application_id="app"),
        state_directory="",
    )
    environment = TaskEnvironment(cast("TaskClients", kernel), SystemClock(), executor)
    started = StartedTask(
        cast("StreamTask", kernel),
        cast("ProcessorStateManager", kernel),
        CommittedPosition(),
        is_committed=True,
        begins_late=False,
    )
    return ActiveTask(spec, 0, environment, cast("Producer", kernel), started)


async def test_a_task_whose_closing_is_cancelled_is_closed_and_closing_it_again_waits_for_that() -> (
    None
):
    """Its stores would stay locked: the next start of the task in this process would wait for them in vain."""
    kernel, is_free = Kernel(), threading.Event()
    with ThreadPoolExecutor(1) as executor:
        task = active_task(kernel, executor)
        executor.submit(is_free.wait)
        closing = asyncio.ensure_future(task.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        again = asyncio.ensure_future(task.close())
        await asyncio.sleep(0)
        is_over, is_closed = again.done(), kernel.closed
        is_free.set()
        await again
    assert (is_over, is_closed, kernel.closed) == (False, 0, 1)
