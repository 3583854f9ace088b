"""An application that cannot go on says why, once, and ends; what it may survive, it survives."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millstream.broker.node import broker_part
from millstream.broker.requests.registry import BROKER_HANDLERS
from millstream.clients import Admin, NewTopic
from millstream.clients.core.illegal_state import IllegalState
from millstream.errors import BrokerNotAvailable, ConfigError, UnsupportedVersion
from millstream.protocol.api import ApiKey
from millstream.streams import StreamsBuilder, StreamsConfig, Topology
from millstream.streams.application.group.remarks import ShutdownRequested
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from millstream.streams.errors import StreamsError, TopologyError
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.runtime.errors import StoreLocked
from millstream.streams.serdes import string
from millstream.testing.broker import Broker
from tests.integration.streams.application.instances import Instances
from tests.patience import until

POISON = "poison"
HEARTBEAT = ApiKey.STREAMS_GROUP_HEARTBEAT


def copying(instances: Instances, is_angry: Callable[[], bool]) -> Topology:
    """Fails on `POISON` as long as it is angry."""

    def checked(value: str) -> str:
        if value == POISON and is_angry():
            raise ValueError("not this one")
        return value

    builder = StreamsBuilder()
    values = builder.stream(instances.source, key=string(), value=string())
    values.map_values(checked).to(instances.sink, value=string())
    return builder.build()


async def ended(app: KafkaStreams) -> BaseException:
    async with asyncio.timeout(60):
        with pytest.raises(Exception) as failed:
            await app.wait_ended()
    assert app.state is ApplicationState.ERROR
    assert (type(failed.value), str(failed.value)) == (type(app.error), str(app.error))
    return failed.value


async def test_a_function_that_fails_ends_the_application_and_nothing_is_committed(
    instances: Instances,
) -> None:
    app = instances.new(copying(instances, lambda: True))
    seen: list[ApplicationState] = []
    app.on_state_change(lambda new, _old: seen.append(new))
    await instances.put([POISON])
    await app.start()
    error = await ended(app)
    assert isinstance(error, StreamsError)
    assert "not this one" in str(error)
    assert instances.source in str(error)
    assert seen[-2:] == ["PENDING_ERROR", "ERROR"]
    assert await app.close()
    assert await instances.updates() == []


async def test_a_thread_may_be_replaced_and_the_record_is_tried_again(
    instances: Instances,
) -> None:
    asked: list[Exception] = []

    def replace_thread(error: Exception) -> OnUncaughtError:
        asked.append(error)
        return OnUncaughtError.REPLACE_THREAD

    app = instances.new(
        copying(instances, lambda: len(asked) < 2), on_uncaught_error=replace_thread
    )
    await instances.put([POISON])
    async with app:
        await until(lambda: len(asked) == 2)
        await instances.until_written(1)
        assert len(app.tasks) == 1
    assert app.state is ApplicationState.NOT_RUNNING


async def test_one_instance_may_end_all_of_them(instances: Instances) -> None:
    first = instances.new(
        copying(instances, lambda: True),
        on_uncaught_error=lambda _: OnUncaughtError.SHUTDOWN_APPLICATION,
    )
    second = instances.new(copying(instances, lambda: False))
    async with first, second:
        await until(lambda: all(any(app.tasks.values()) for app in (first, second)))
        await instances.put([POISON] * 40)  # some in each partition
        assert isinstance(await ended(first), StreamsError)
        assert isinstance(await ended(second), ShutdownRequested)


async def test_source_topics_that_do_not_exist_are_named(instances: Instances) -> None:
    builder = StreamsBuilder()
    builder.stream("not-there", key=string(), value=string()).to(instances.sink)
    app = instances.new(builder.build())
    await app.start()
    error = await ended(app)
    assert isinstance(error, TopologyError)
    assert "not-there" in str(error)


async def test_topics_that_are_joined_and_differ_in_partitions_are_named(
    instances: Instances,
) -> None:
    other = f"{instances.application}-other"
    await instances.create(other, partitions=3)
    builder = StreamsBuilder()
    table = builder.table(other, key=string(), value=string())
    values = builder.stream(instances.source, key=string(), value=string())
    values.join(table, lambda value, row: value + row).to(instances.sink, value=string())
    app = instances.new(builder.build())
    await app.start()
    error = await ended(app)
    assert isinstance(error, TopologyError)
    assert f"{other}=3" in str(error)
    assert f"{instances.source}=4" in str(error)
    assert "repartition one of the streams" in str(error)


async def test_an_instance_with_another_topology_is_refused(instances: Instances) -> None:
    async with instances.new() as first:
        await until(lambda: any(first.tasks.values()))
        second = instances.new(copying(instances, lambda: False))
        await second.start()
        error = await ended(second)
        assert isinstance(error, TopologyError)
        assert "Topology updates are not supported" in str(error), "Kafka's own words"
        assert "start one with group_protocol='classic'" in str(error)
        await until(lambda: first.state is ApplicationState.RUNNING)


@pytest.mark.parametrize("is_known", [False, True])
async def test_a_broker_without_the_streams_protocol_is_told_apart(
    instances: Instances, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    """A broker that does not know the API, and one where it is switched off."""
    settings = {"group.coordinator.rebalance.protocols": "classic"}
    if not is_known:
        served = {key: each for key, each in BROKER_HANDLERS.items() if key != HEARTBEAT}
        monkeypatch.setattr(broker_part, "BROKER_HANDLERS", served)
    with Broker(settings=settings) as old:
        clients = {"bootstrap_servers": old.bootstrap_servers}
        app = instances.new(clients=clients)
        await app.start()
        error = await ended(app)
        assert isinstance(error, UnsupportedVersion)
        assert "use group_protocol='classic'" in str(error)
        async with Admin(bootstrap_servers=old.bootstrap_servers) as admin:
            wanted = [NewTopic(name, 1) for name in (instances.source, instances.sink)]
            (await admin.create_topics(wanted)).raise_errors()
        async with instances.new(clients=clients, group_protocol="classic") as classic:
            await until(lambda: any(classic.tasks.values()))


async def test_one_state_directory_serves_one_instance(
    instances: Instances, tmp_path: Path
) -> None:
    first, second = (instances.new(state_dir=str(tmp_path / "shared")) for _ in range(2))
    await first.start()
    with pytest.raises(StoreLocked, match="state_dir of its own"):
        await second.start()
    with pytest.raises(IllegalState, match="in use"):
        await first.clean_up()
    await first.close()
    await first.clean_up()
    kept = tmp_path / "shared" / instances.application / "kafka-streams-process-metadata"
    assert json.loads(kept.read_text())["version"] == 1
    assert [each for each in kept.parent.iterdir() if each.is_dir()] == []


async def test_a_directory_that_cannot_be_written_is_named(
    instances: Instances, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        await instances.new(state_dir=str(tmp_path / "file")).start()


@pytest.mark.parametrize("more", [{}, {"use_processes": True}, {"group_protocol": "classic"}])
async def test_a_port_that_refuses_is_known_at_the_start(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    """With `run`, which raises what `start` raises. The directory is free again afterwards."""
    config = StreamsConfig(application_id="app", state_dir=str(tmp_path), **more)
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    for wait_ms in (0, 1):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            to = {
                "bootstrap_servers": f"127.0.0.1:{taken.getsockname()[1]}",
                "bootstrap_wait_ms": wait_ms,
            }
            app = KafkaStreams(builder.build(), config, to)
            with pytest.raises(BrokerNotAvailable, match="refused; nothing listens there"):
                await app.run()
        assert app.state is ApplicationState.NOT_RUNNING


async def test_a_cluster_that_starts_after_the_application_is_waited_for(
    instances: Instances,
) -> None:
    """As where both are started in any order. The instance gives up after `bootstrap_wait_ms`."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        clients = {"bootstrap_servers": f"127.0.0.1:{port}", "bootstrap_wait_ms": 60_000}
        app = instances.new(clients=clients)
        starting = asyncio.ensure_future(app.start())
        await asyncio.sleep(0)
    with Broker(in_process=False, port=port):
        async with asyncio.timeout(60):
            await starting
        await app.close()


def test_settings_that_the_application_decides_are_refused() -> None:
    config = StreamsConfig(application_id="app")
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    topology = builder.build()
    with pytest.raises(ConfigError, match=r"group\.id is decided by the application"):
        KafkaStreams(topology, config, {"bootstrap.servers": "x:1", "group.id": "mine"})
    with pytest.raises(ConfigError, match="bootstrap_server"):
        KafkaStreams(topology, config, {"bootstrap_server": "x:1"})
    twice = {"bootstrap.servers": "x:1", "bootstrap_servers": "y:1"}
    with pytest.raises(ConfigError, match=r"bootstrap\.servers and bootstrap_servers are the same"):
        KafkaStreams(topology, config, twice)
    with pytest.raises(TopologyError, match="reads nothing"):
        KafkaStreams(StreamsBuilder().build(), config, {"bootstrap.servers": "x:1"})
    with pytest.raises(ValueError, match="num_stream_threads must be at least 1"):
        replace(config, num_stream_threads=0)


async def test_an_application_that_was_never_started_can_be_closed(instances: Instances) -> None:
    app = instances.new()
    assert await app.close()
    assert app.state is ApplicationState.NOT_RUNNING
    with pytest.raises(ValueError, match="must not be negative"):
        await app.close(timeout_s=-1)
