"""Functions that an application calls may end it: they ask, and do not wait for themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.clients.core.illegal_state import IllegalState
from millstream.streams import StreamsBuilder, StreamsConfig, Topology, blocking
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.serdes import string
from tests.integration.streams.application.instances import Instances

END_S = 60


def calling(instances: Instances, function: Callable[[], object]) -> Topology:
    """Calls the function with each record, and then copies it."""

    def called(value: str) -> str:
        function()
        return value

    builder = StreamsBuilder()
    values = builder.stream(instances.source, key=string(), value=string())
    values.map_values(called).to(instances.sink, value=string())
    return builder.build()


async def closed(app: KafkaStreams) -> None:
    async with asyncio.timeout(END_S):
        await app.wait_ended()
    assert app.state is ApplicationState.NOT_RUNNING
    assert await app.close()


@pytest.mark.parametrize("use_processes", [False, True])
async def test_a_processor_asks_for_the_end_and_its_record_is_committed(
    instances: Instances, *, use_processes: bool
) -> None:
    apps: list[KafkaStreams] = []
    topology = calling(instances, lambda: apps[0].request_close())
    app = instances.new(topology, use_processes=use_processes)
    apps.append(app)
    with pytest.raises(IllegalState, match="not started"):
        app.request_close()
    await instances.put(["last"])
    await app.start()
    await closed(app)
    assert len(await instances.updates()) == 1
    app.request_close()


@pytest.mark.parametrize("use_processes", [False, True])
async def test_listeners_and_handlers_ask_for_the_end(
    instances: Instances, *, use_processes: bool
) -> None:
    def fails() -> None:
        raise ValueError("not this one")

    def ends(_error: Exception) -> OnUncaughtError:
        handled.request_close()
        return OnUncaughtError.REPLACE_THREAD

    app = instances.new(use_processes=use_processes)
    seen: list[ApplicationState] = []

    def listener(new: ApplicationState, _old: ApplicationState) -> None:
        seen.append(new)
        app.request_close()

    app.on_state_change(listener)
    await app.start()
    await closed(app)
    assert seen == ["REBALANCING", "PENDING_SHUTDOWN", "NOT_RUNNING"]

    handled = instances.new(
        calling(instances, fails), on_uncaught_error=ends, use_processes=use_processes
    )
    await instances.put(["poison"])
    await handled.start()
    await closed(handled)


async def test_a_processor_closes_its_application(instances: Instances, tmp_path: Path) -> None:
    apps: list[blocking.KafkaStreams] = []
    answers: list[bool] = []
    app = blocking.KafkaStreams(
        calling(instances, lambda: answers.append(apps[0].close())),
        StreamsConfig(instances.application, state_dir=str(tmp_path)),
        {"bootstrap.servers": instances.servers},
    )
    apps.append(app)
    app.on_state_change(lambda _new, _old: answers.append(app.close()) if answers else None)
    await instances.put(["last"])
    async with asyncio.timeout(END_S):
        await asyncio.to_thread(app.start)
        await asyncio.to_thread(app.wait_ended)
    assert answers == [False] * len(answers)
    assert len(answers) >= 2
    assert app.state is ApplicationState.NOT_RUNNING
    assert app.close()
    assert len(await instances.updates()) == 1
