"""The life of an application as far as no cluster is needed."""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path

import pytest

from millstream.clients.core.illegal_state import IllegalState
from millstream.runtime.system import SystemRandom
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.state_directory import StateDirectory
from millstream.streams.application.states import ApplicationState
from millstream.streams.runtime.errors import StoreLocked
from tests.patience import LONG_ENOUGH_S


def application(directory: Path) -> KafkaStreams:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    config = StreamsConfig("app", state_dir=str(directory))
    return KafkaStreams(builder.build(), config, {"bootstrap.servers": "x:1"})


async def test_a_listener_that_raises_does_not_keep_an_application_from_its_end(
    tmp_path: Path,
) -> None:
    app = application(tmp_path)

    def listener(state: ApplicationState, _before: ApplicationState) -> None:
        raise ValueError(f"no {state} for me")

    app.on_state_change(listener)
    with pytest.raises(ValueError, match="no PENDING_SHUTDOWN for me"):
        await app.close()
    assert await app.close()
    await app.wait_ended()
    assert app.state is ApplicationState.NOT_RUNNING


async def test_a_start_that_is_cancelled_gives_the_state_directory_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = application(tmp_path)
    starting = asyncio.ensure_future(app.start())
    locked = StateDirectory.lock
    loop = asyncio.get_running_loop()

    def lock(directory: StateDirectory) -> str:
        process_id = locked(directory)
        loop.call_soon_threadsafe(starting.cancel)
        return process_id

    monkeypatch.setattr(StateDirectory, "lock", lock)
    with pytest.raises(asyncio.CancelledError):
        await starting
    await application(tmp_path).clean_up()


async def test_stores_are_not_deleted_under_an_application_that_is_being_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = application(tmp_path)
    (tmp_path / "app" / "0_0").mkdir(parents=True)
    locked, loop = StateDirectory.lock, asyncio.get_running_loop()
    is_locked, may_go_on = asyncio.Event(), threading.Event()

    def lock(directory: StateDirectory) -> str:
        process_id = locked(directory)
        loop.call_soon_threadsafe(is_locked.set)
        may_go_on.wait(LONG_ENOUGH_S)
        return process_id

    monkeypatch.setattr(StateDirectory, "lock", lock)
    starting = asyncio.ensure_future(app.start())
    await is_locked.wait()
    with pytest.raises(IllegalState, match="application app is being started"):
        await app.clean_up()
    starting.cancel()
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert (tmp_path / "app" / "0_0").exists()


async def test_a_start_that_finds_stores_being_deleted_leaves_them_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = application(tmp_path)
    (tmp_path / "app" / "0_0").mkdir(parents=True)
    loop = asyncio.get_running_loop()
    is_deleting, may_go_on = asyncio.Event(), threading.Event()

    def delete(_path: Path) -> None:
        loop.call_soon_threadsafe(is_deleting.set)
        may_go_on.wait(LONG_ENOUGH_S)

    monkeypatch.setattr(shutil, "rmtree", delete)
    deleting = asyncio.ensure_future(app.clean_up())
    await is_deleting.wait()
    with pytest.raises(StoreLocked):
        await app.start()
    with pytest.raises(StoreLocked):
        StateDirectory(str(tmp_path), "app", SystemRandom()).lock()
    may_go_on.set()
    await deleting
