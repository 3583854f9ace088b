"""What a task host keeps of applications, and which of its tasks it closes for what others want."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, cast

import pytest

from millstream.runtime.system import SystemClock
from millstream.spark.kafka_settings import for_both
from millstream.spark.pipeline.host import HostClients, TaskHost
from millstream.spark.pipeline.hosted_application import HostedApplication, digest_of
from millstream.spark.pipeline.messages import (
    KeepStandbys,
    RunTask,
    RunTasks,
    Standby,
    TaskFailed,
)
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.report import TaskReport
from millstream.streams.runtime.spec import TaskEnvironment
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.serdes import string
from tests.patience import LONG_ENOUGH_S


def pickled(application_id: str, suffix: str = "") -> bytes:
    builder = StreamsBuilder()
    values = builder.stream("in", key=string(), value=string())
    values.map_values(lambda value: value + suffix).to("out")
    kafka = for_both({"bootstrap.servers": "b:1"})
    config = StreamsConfig(application_id)
    return HostedApplication(builder.build(), config, kafka, "/state").pickled()


def test_the_same_application_has_the_same_digest_and_another_one_has_not() -> None:
    assert digest_of(pickled("app", "!")) == digest_of(pickled("app", "!"))
    assert digest_of(pickled("app", "!")) != digest_of(pickled("app", "?"))


async def test_an_application_is_known_until_its_tasks_are_closed() -> None:
    host = TaskHost(SystemClock())
    for application_id in ("one", "two"):
        data = pickled(application_id)
        await host.take(digest_of(data), data)
    await host.close_tasks("one")
    assert not host.knows(digest_of(pickled("one")))
    assert host.knows(digest_of(pickled("two")))
    await host.close()


FIRST, SECOND = (RunTask(0, number, ("in",), {}) for number in (0, 1))


class Opened:
    """Stands for an active task or a standby."""

    def __init__(self) -> None:
        self.sources = ("in",)
        self.closed = 0
        self.is_asked, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def run(self, _ends: Mapping[str, int], **_: object) -> TaskReport:
        return TaskReport("0_1", {})

    async def catch_up(self, _records_max: int) -> int:
        self.is_asked.set()
        await self.may_go_on.wait()
        return 0

    async def close(self) -> None:
        self.closed += 1


class Hosted:
    """A task host with one application, whose tasks are stand-ins."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host = TaskHost(SystemClock())
        self.data = pickled("app")
        self.digest = digest_of(self.data)
        self.active, self.standby = Opened(), Opened()

        async def start(_: TaskStart) -> ActiveTask:
            return cast("ActiveTask", self.active)

        async def standby(*_: object) -> StandbyTask:
            return cast("StandbyTask", self.standby)

        monkeypatch.setattr(TaskStart, "start", start)
        monkeypatch.setattr(TaskHost, "create_standby_task", standby)

    async def take(self) -> Self:
        await self.host.take(self.digest, self.data)
        return self

    def keep(self, *partitions: int) -> None:
        wanted = tuple(Standby(0, number, ("in",)) for number in partitions)
        self.host.keep_standbys(KeepStandbys("app", self.digest, wanted))

    async def run(self, *runs: RunTask) -> tuple[object, ...]:
        return await self.host.run(RunTasks("app", self.digest, runs))


async def test_a_task_that_comes_while_other_standbys_are_kept_is_not_closed_for_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hosted = await Hosted(monkeypatch).take()
    hosted.keep(0, 1)
    keeping = asyncio.ensure_future(hosted.host.catch_up_standbys())
    await hosted.standby.is_asked.wait()
    await hosted.run(SECOND)
    hosted.standby.may_go_on.set()
    await keeping
    assert hosted.active.closed == 0
    await hosted.host.close()


async def test_a_run_whose_application_was_closed_meanwhile_may_be_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever repeats it brings the application again."""
    hosted = await Hosted(monkeypatch).take()
    running = asyncio.ensure_future(hosted.run(FIRST))
    await hosted.host.close_tasks("app")
    assert await running == (
        TaskFailed("0_0", "its application was closed in the task host", is_retriable=True),
    )
    await hosted.host.close()


async def test_a_global_processor_that_fails_when_it_is_closed_does_not_end_the_host(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The host looks for what is idle in a chore of its own, and tasks of others run in it."""

    class Disorderly:
        async def close(self) -> None:
            raise KeyError("a processor's")

    async def opened(*_: object) -> GlobalStores:
        return cast("GlobalStores", Disorderly())

    monkeypatch.setattr(GlobalStores, "open", opened)
    builder = StreamsBuilder()
    builder.global_table("all", key=string(), value=string())
    topology, kafka = builder.build(), for_both({"bootstrap.servers": "b:1"})
    application = HostedApplication(topology, StreamsConfig("app"), kafka, "/state")
    clients = HostClients()
    environment = TaskEnvironment(
        clients.of(kafka), SystemClock(), cast("ThreadPoolExecutor", None)
    )
    await clients.global_stores("digest", kafka, application.spec(0, ()), environment)
    await clients.close_global_stores(lambda _: False)
    assert "global stores were not closed in order" in caplog.text
    await clients.close()


async def test_an_application_whose_modules_load_long_does_not_make_its_host_look_stuck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker that connects meanwhile is answered, or it would end the host."""
    begun, is_answered = asyncio.Event(), threading.Event()
    loop, loads, data = asyncio.get_running_loop(), pickle.loads, pickled("app")

    def load_slowly(given: bytes) -> Any:  # Any: whatever was pickled
        loop.call_soon_threadsafe(begun.set)
        assert is_answered.wait(LONG_ENOUGH_S)
        return loads(given)

    monkeypatch.setattr(pickle, "loads", load_slowly)
    host = TaskHost(SystemClock())
    taking = asyncio.ensure_future(host.take("digest", data))
    await begun.wait()
    is_answered.set()
    await taking
    assert host.knows("digest")
    await host.close()
