"""Probes of a process that runs an application: live before it is ready, ready while its tasks run, dead with its error."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from millstream.clients import Admin, NewTopic
from millstream.errors import ConfigError
from millstream.streams import HealthServer, KafkaStreams, StreamsBuilder, StreamsConfig, blocking
from millstream.streams.serdes import string
from millstream.testing.broker import Broker
from tests.integration.streams.application.conftest import SOON
from tests.integration.streams.application.instances import Instances
from tests.patience import LONG_ENOUGH_S, eventually, until

SERVICE = Path(__file__).resolve().parents[5] / "examples/streams/service.py"


def probe(url: str) -> tuple[int, Any]:  # Any: JSON
    """What a probe is answered: status and content."""
    try:
        with urlopen(url, timeout=LONG_ENOUGH_S) as response:
            return response.status, json.loads(response.read())
    except HTTPError as error:
        return error.code, json.loads(error.read())


def a_service(servers: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SERVICE)],
        env=os.environ
        | {
            "BOOTSTRAP_SERVERS": servers,
            "STATE_DIRECTORY": str(directory),
            "HEALTH_ADDRESS": "127.0.0.1:0",
        },
        stderr=subprocess.PIPE,
        text=True,
    )


def probes_of(service: subprocess.Popen[str]) -> str:
    assert service.stderr is not None
    for line in service.stderr:
        if found := re.search(r"probes at (http://\S+)", line):
            return found[1]
    raise AssertionError("the service has ended")


async def test_a_service_is_live_from_its_start_ready_once_it_runs_and_ends_well_with_sigterm(
    tmp_path: Path,
) -> None:
    with Broker(settings=SOON) as broker:
        async with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            topics = [NewTopic("words", 2), NewTopic("counts", 2)]
            (await admin.create_topics(topics)).raise_errors()
        with a_service(broker.bootstrap_servers, tmp_path) as service:
            url = await asyncio.to_thread(probes_of, service)
            assert (await asyncio.to_thread(probe, f"{url}/livez"))[0] == 200

            async def is_ready() -> bool:
                return (await asyncio.to_thread(probe, f"{url}/readyz"))[0] == 200

            await eventually(is_ready)
            status, health = await asyncio.to_thread(probe, f"{url}/healthz")
            assert (status, health["state"], health["tasks"]) == (200, "RUNNING", 4)
            service.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(service.wait, LONG_ENOUGH_S) == 0


async def test_a_service_whose_topics_are_missing_ends_with_one_sentence_and_status_1(
    tmp_path: Path,
) -> None:
    with Broker(settings=SOON) as broker, a_service(broker.bootstrap_servers, tmp_path) as service:
        _, told = await asyncio.to_thread(service.communicate, None, LONG_ENOUGH_S)
        assert service.returncode == 1
        assert told.splitlines()[-1] == (
            "the application has ended: TopologyError: Source topics words are missing: "
            "create the source topics before the application is started"
        )


async def test_an_application_that_an_error_has_ended_is_dead_and_the_answer_has_the_error(
    instances: Instances,
) -> None:
    builder = StreamsBuilder()
    stream = builder.stream(instances.source, key=string(), value=string())
    stream.map_values(lambda word: word[100]).to(instances.sink, value=string())
    application = instances.new(builder.build())
    async with HealthServer(application, port=0) as probes:
        assert await asyncio.to_thread(probe, f"{probes.url}/livez") == (
            200,
            {
                "state": "CREATED",
                "is_alive": True,
                "is_ready": False,
                "is_paused": False,
                "tasks": 0,
                "error": None,
            },
        )
        await application.start()
        await instances.put(["short"])
        await until(lambda: application.state.has_completed_shutdown)
        for path in ("livez", "readyz", "healthz"):
            status, health = await asyncio.to_thread(probe, f"{probes.url}/{path}")
            assert (status, health["state"], health["is_alive"]) == (503, "ERROR", False)
            assert "string index out of range" in health["error"]


def test_probes_of_a_blocking_application_need_no_event_loop() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    application = blocking.KafkaStreams(
        builder.build(), StreamsConfig("app"), {"bootstrap_servers": "127.0.0.1:1"}
    )
    with blocking.HealthServer(application, port=0) as probes:
        assert probe(f"{probes.url}/livez")[0] == 200
        assert probe(f"{probes.url}/readyz")[0] == 503
    application.close()


async def test_a_port_that_is_taken_is_refused_when_the_server_is_made() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    application = KafkaStreams(
        builder.build(), StreamsConfig("app"), {"bootstrap_servers": "127.0.0.1:1"}
    )
    async with HealthServer(application, port=0) as taken:
        port = int(taken.url.rpartition(":")[2])
        with pytest.raises(ConfigError) as refused:
            HealthServer(application, port=port)
    assert str(refused.value) == (
        f"the health server cannot listen at 127.0.0.1:{port} ([Errno 98] Address already in use): "
        "give a free port of an address of this machine, or 0 for any free one"
    )
