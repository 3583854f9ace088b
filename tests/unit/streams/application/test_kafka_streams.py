"""The life of an application as far as no cluster is needed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.state_directory import StateDirectory
from millstream.streams.application.states import ApplicationState


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
