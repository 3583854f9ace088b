"""The life of a node in this process: its states, and what happens when a step of it fails."""

from __future__ import annotations

import asyncio
import logging
import re
import select
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.metadata_log.broker_session import BrokerSession
from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.node.broker_part import BrokerPart
from millstream.broker.node.process import NodeProcess, ReadyReport
from millstream.broker.node.tasks import NodeTasks
from millstream.broker.node_state import BrokerState
from millstream.controller.brokers.registration import BROKER_REGISTRATION
from millstream.errors import ConfigError, KafkaStorageError, RequestTimedOut
from millstream.log.directory.log_directory import LogDirectory
from millstream.net.server.socket_server import SocketServer
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_response
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient, batch_of, request_frame

CLEAN = ".kafka_cleanshutdown"


def process(data: Path, **settings: str) -> NodeProcess:
    values = {
        "log.dirs": str(data),
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "millstream.flush.on.ack": "never",
        **{key.replace("_", "."): value for key, value in settings.items()},
    }
    return NodeProcess(broker_config(values), SystemClock(), SystemRandom(), SystemFileSystem())


async def live(node: NodeProcess, *, then: str = "stop") -> list[ReadyReport]:
    """Runs until it is ready and is stopped, or lets it drop."""
    reports: list[ReadyReport] = []

    def ready(report: ReadyReport) -> None:
        reports.append(report)
        getattr(node, f"request_{then}")()

    async with asyncio.timeout(LONG_ENOUGH_S):
        await node.run(ready)
    return reports


async def test_states_follow_each_other_and_the_stop_is_clean(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node = process(tmp_path)
    with caplog.at_level(logging.INFO, "millstream.broker.node_state"):
        (report,) = await live(node)
    assert [record.message.rpartition(" ")[2] for record in caplog.records] == [
        "STARTING", "RECOVERY", "RUNNING", "PENDING_CONTROLLED_SHUTDOWN", "SHUTTING_DOWN", "NOT_RUNNING",
    ]  # fmt: skip
    assert report.bootstrap.startswith("127.0.0.1:")
    assert report.listeners == f"PLAINTEXT://{report.bootstrap}"
    assert (tmp_path / CLEAN).exists()


async def test_a_node_reads_its_metadata_registers_opens_its_logs_leads_and_then_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K1.49, in Kafka's order: a broker is fenced until it could answer."""
    async with asyncio.timeout(LONG_ENOUGH_S), asyncio.TaskGroup() as tasks:
        first = process(tmp_path)
        ready: asyncio.Future[ReadyReport] = asyncio.get_running_loop().create_future()
        tasks.create_task(first.run(ready.set_result))
        report = await ready
        await asyncio.to_thread(create_topic, report.bootstrap)
        first.request_stop()
    order: list[str] = []

    def note(owner: type, name: str, what: Callable[..., str]) -> None:
        real = getattr(owner, name)

        def noted(*args: Any, **kwargs: Any) -> Any:
            order.append(what(*args, **kwargs))
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, noted)

    note(LogDirectory, "open_log", lambda _self, partition, *_: f"open {partition}")
    note(BrokerSession, "register", lambda *_: "register")
    note(BrokerSession, "keep_alive", lambda *_: "heartbeats")
    note(BrokerSession, "unfence", lambda *_: "unfenced")
    note(SocketServer, "serve", lambda *_: "answer")
    await live(process(tmp_path))
    assert order == ["open __cluster_metadata-0", "register", "heartbeats", "open t-0", "unfenced", "answer"]  # fmt: skip


def create_topic(bootstrap: str) -> None:
    with RawClient(bootstrap) as client:
        client.create_topic("t")
        assert client.produce("t", batch_of(b"v")).error_code == 0


async def test_a_port_is_open_early_and_answers_nobody_before_the_node_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes while the node still starts waits in the backlog, and is answered once it is registered and running."""
    bind, register = SocketServer.bind, BrokerSession.register
    ports: list[int] = []
    registering, may_register = asyncio.Event(), asyncio.Event()

    def noted_bind(server: SocketServer, *arguments: Any) -> int:
        ports.append(bind(server, *arguments))
        return ports[-1]

    async def held_register(session: BrokerSession, *arguments: Any) -> None:
        registering.set()
        await may_register.wait()
        await register(session, *arguments)

    monkeypatch.setattr(SocketServer, "bind", noted_bind)
    monkeypatch.setattr(BrokerSession, "register", held_register)
    node = process(tmp_path)
    when_ready: list[tuple[BrokerState, bool]] = []
    async with asyncio.timeout(LONG_ENOUGH_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(
            node.run(lambda _: when_ready.append((node.state, has_an_answer(early.socket))))
        )
        await registering.wait()
        with RawClient(f"127.0.0.1:{ports[0]}") as early:
            early.send(request_frame(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1")))
            for _ in range(100):  # turns of the loop: what serves needs five
                await asyncio.sleep(0)
            assert (node.state, has_an_answer(early.socket)) == (BrokerState.STARTING, False)
            may_register.set()
            frame = memoryview(await asyncio.to_thread(early.read_frame))
            assert decode_response(ApiKey.API_VERSIONS, 3, frame)[1].error_code == 0
        node.request_stop()
    assert when_ready == [(BrokerState.RUNNING, False)]


def has_an_answer(connection: socket.socket) -> bool:
    return bool(select.select([connection], [], [], 0)[0])


async def test_each_listener_tells_its_own_clients_its_own_address(tmp_path: Path) -> None:
    """The controller's listener is accepted and serves no clients; an advertised port 0 is the bound port."""
    node = process(
        tmp_path,
        listeners="INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        advertised_listeners="OUTSIDE://localhost:0",
        inter_broker_listener_name="INSIDE",
        listener_security_protocol_map="INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
    )
    told: asyncio.Future[ReadyReport] = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(LONG_ENOUGH_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(node.run(told.set_result))
        inside, outside = re.findall(
            r"(?:INSIDE|OUTSIDE)://127\.0\.0\.1:(\d+)", (await told).listeners
        )
        found = [await asyncio.to_thread(endpoint, port) for port in (inside, outside)]
        node.request_stop()
    assert found == [("127.0.0.1", int(inside)), ("localhost", int(outside))]


def endpoint(port: str) -> tuple[str, int]:
    """Where the broker says that it is, asked on `port`."""
    with RawClient(f"127.0.0.1:{port}") as client:
        (broker,) = client.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[])).brokers
        return broker.host, broker.port


async def test_a_node_has_one_life(tmp_path: Path) -> None:
    node = process(tmp_path)
    await live(node)
    with pytest.raises(AssertionError, match="make another"):
        await live(node)
    await live(process(tmp_path))


async def test_a_stop_before_the_start_ends_the_node_right_after_it(tmp_path: Path) -> None:
    node = process(tmp_path)
    node.request_stop()
    node.request_stop()
    assert len(await live(node)) == 1
    assert (tmp_path / CLEAN).exists()


async def test_a_failed_step_of_the_stop_keeps_no_other_from_being_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_session: BrokerSession, _timeout_s: float) -> bool:
        raise KafkaStorageError("on purpose")

    monkeypatch.setattr(BrokerSession, "leave", fails)
    node = process(tmp_path)
    with pytest.raises(KafkaStorageError, match="on purpose"):
        await live(node)
    assert node.state is BrokerState.NOT_RUNNING
    assert (tmp_path / CLEAN).exists()
    assert "shutdown: giving leadership away failed" in caplog.text


async def test_the_steps_of_a_stop_come_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody new, leadership away, who waits is released, what was asked is answered, connections end, logs are closed."""
    taken: list[str] = []

    def noted(owner: type, step: str) -> None:
        act = getattr(owner, step)

        def note(*arguments: Any) -> Any:
            taken.append(f"{owner.__name__}.{step}")
            return act(*arguments)

        monkeypatch.setattr(owner, step, note)

    for owner, step in (
        (SocketServer, "stop_accepting"), (BrokerSession, "leave"), (BrokerPart, "release_waiting"),
        (SocketServer, "drain"), (NodeTasks, "cancel_all"), (BrokerPart, "close"), (SocketServer, "close"),
    ):  # fmt: skip
        noted(owner, step)
    await live(process(tmp_path))
    first_times = list(dict.fromkeys(taken))  # some are taken again, to no effect
    assert first_times == [
        "SocketServer.stop_accepting", "BrokerSession.leave", "BrokerPart.release_waiting",
        "SocketServer.drain", "SocketServer.close", "NodeTasks.cancel_all", "BrokerPart.close",
    ]  # fmt: skip


async def test_controlled_shutdown_can_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def leave(_session: BrokerSession, _timeout_s: float) -> bool:
        asked.append("leave")
        return True

    monkeypatch.setattr(BrokerSession, "leave", leave)
    await live(process(tmp_path / "a", controlled_shutdown_enable="false"))
    assert asked == []
    await live(process(tmp_path / "b"))
    assert asked == ["leave"]


async def test_a_start_that_fails_cleans_up_and_tells_why(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        node = process(tmp_path / "a", listeners=f"PLAINTEXT://127.0.0.1:{port}")
        with pytest.raises(ConfigError, match="another process uses that port"):
            await live(node)
    assert node.state is BrokerState.NOT_RUNNING
    assert not (tmp_path / "a").exists()


async def test_a_start_that_fails_late_gives_port_and_directory_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise KafkaStorageError("on purpose")

    with socket.create_server(("127.0.0.1", 0)) as free:
        listener = f"PLAINTEXT://127.0.0.1:{free.getsockname()[1]}"
    with monkeypatch.context() as patched:
        patched.setattr(BrokerSession, "register", fails)
        with pytest.raises(KafkaStorageError, match="on purpose"):
            await live(process(tmp_path, listeners=listener))
    assert not (tmp_path / CLEAN).exists()
    for _ in range(2):  # the second life finds the port of the first one free as well
        assert [each.listeners for each in await live(process(tmp_path, listeners=listener))] == [
            listener
        ]


async def test_a_start_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(BrokerSession, "register", never)
    node = process(tmp_path, server_max_startup_time_ms="50")
    with pytest.raises(ConfigError, match="not ready after 50 ms"):
        await live(node)


async def test_a_registration_that_takes_too_long_ends_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ControllerRunner.ask

    async def never_registers(runner: ControllerRunner, api: Any, *request: object) -> object:
        if api is BROKER_REGISTRATION:
            await asyncio.Event().wait()
        return await ask(runner, api, *request)

    monkeypatch.setattr(ControllerRunner, "ask", never_registers)
    node = process(tmp_path, initial_broker_registration_timeout_ms="50")
    with pytest.raises(RequestTimedOut, match="did not register this broker within 50 ms"):
        await live(node)
    assert node.state is BrokerState.NOT_RUNNING


async def test_an_abort_leaves_no_mark_of_a_clean_stop(tmp_path: Path) -> None:
    node = process(tmp_path)
    await live(node, then="abort")
    assert not (tmp_path / CLEAN).exists()
    assert node.state is BrokerState.NOT_RUNNING
