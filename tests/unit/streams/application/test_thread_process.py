"""The process of a stream thread heeds its application from its first message on, whatever it waits for."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from millstream.runtime.system import SystemClock
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.application.application_environment import (
    ApplicationEnvironment,
    membership_policy,
)
from millstream.streams.application.clients import DefaultClientSupplier
from millstream.streams.application.global_stream_thread import GlobalStreamThread
from millstream.streams.application.processes import process_stream_thread, thread_process
from millstream.streams.application.processes.link import Link
from millstream.streams.application.processes.messages import (
    AskOtherTasks,
    StartThread,
    StopThread,
    ThreadChanged,
    ThreadEnded,
)
from millstream.streams.application.processes.pickling import pickled
from millstream.streams.application.processes.process_stream_thread import ProcessStreamThread
from millstream.streams.application.processes.thread_process import ThreadProcess
from millstream.streams.application.states import ThreadState
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.serdes import string


class Application:
    """Stands for the link to the application: what it says, and what it is told."""

    def __init__(self, *says: object) -> None:
        self.says = asyncio.Queue[object]()
        for message in says:
            self.says.put_nowait(message)
        self.told: list[object] = []

    async def receive(self) -> object:
        return await self.says.get()

    def send(self, message: object) -> None:
        self.told.append(message)

    async def close(self) -> None:
        """Nothing is held."""


def with_a_global_table() -> ApplicationEnvironment:
    builder = StreamsBuilder()
    builder.global_table("all", key=string(), value=string())
    builder.stream("in", key=string(), value=string()).to("out")
    config = StreamsConfig(application_id="app")
    return ApplicationEnvironment(
        topology=builder.build(),
        config=config,
        supplier=DefaultClientSupplier({"bootstrap_servers": "nobody:1"}),
        clock=SystemClock(),
        policy=membership_policy(config, None, None, "process"),
        state_directory="/nowhere",
        client_id="mine",
    )


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Global stores are never filled; this says when somebody waits for it."""
    begun = asyncio.Event()

    async def start(*_: object) -> GlobalStreamThread:
        begun.set()
        return await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(GlobalStreamThread, "start", start)
    monkeypatch.setattr(thread_process, "_forward_logs", lambda *_: None)
    return begun


async def test_a_thread_that_waits_for_its_global_stores_ends_when_it_is_told_to(
    opening: asyncio.Event,
) -> None:
    start = StartThread("mine-StreamThread-1", pickled(with_a_global_table()), False, 30)
    application = Application(start)
    serving = asyncio.ensure_future(ThreadProcess(cast("Link", application)).serve())
    await opening.wait()
    application.says.put_nowait(StopThread())
    await serving
    states = [each.state for each in application.told if isinstance(each, ThreadChanged)]
    assert states == [ThreadState.PENDING_SHUTDOWN]
    assert application.told[-1] == ThreadEnded()


async def test_a_question_about_other_processes_does_not_wait_for_one_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who asks has given up by then, and asks again every second."""
    monkeypatch.setattr(process_stream_thread, "ASK_TIMEOUT_S", 0)
    link = Application()

    async def nobody_answers() -> list[bytes]:
        return await asyncio.get_running_loop().create_future()

    async def ask(_: Exception) -> OnUncaughtError:
        raise AssertionError("nothing fails")

    thread = ProcessStreamThread("1", b"", lambda _: None, ask, lambda: None)
    thread._link = cast("Link", link)
    thread.ask_others = nobody_answers
    await thread._answer_about_others(AskOtherTasks(7))
    assert link.told == []
