"""A controller alone and a broker alone, seen from outside: their pages over HTTP and their log, while the controller comes and goes."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.integration.broker.test_brokers_apart import Cluster, Node
from tests.integration.broker.test_http import parse
from tests.patience import LONG_ENOUGH_S
from tests.support.kafka_node import free_port


class Pages:
    """The pages of a node that runs in this process."""

    def __init__(self) -> None:
        self.port = free_port()

    @property
    def setting(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def get(self, path: str) -> tuple[int, str]:
        return await asyncio.to_thread(self._get, path)

    def _get(self, path: str) -> tuple[int, str]:
        try:
            with urlopen(f"{self.setting}{path}", timeout=LONG_ENOUGH_S) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as answer:
            return answer.code, answer.read().decode()

    async def metrics(self) -> dict[str, float]:
        """Every sample; with its labels, where it has any."""
        text = (await self.get("/metrics"))[1]
        return {
            name + "".join(f" {key}={value}" for key, value in labels.items()): number
            for name, labels, number in parse(text)
        }

    async def until_ready(self, *, ready: bool) -> list[str]:
        """Returns the reasons why not."""
        while True:
            status, body = await self.get("/readyz")
            if (status == 200) is ready:
                return json.loads(body).get("reasons", [])
            await asyncio.sleep(0.05)


async def test_a_controller_alone_and_a_broker_alone_tell_how_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "millstream.broker")
    of_controller, of_broker = Pages(), Pages()
    made = Cluster(tmp_path, millstream_http_listener=of_controller.setting)
    async with asyncio.timeout(LONG_ENOUGH_S * 2):
        await made.controller.start()
        broker = made.broker(1)
        broker._settings["millstream.http.listener"] = of_broker.setting
        await broker.start()
        await of_controller.until_ready(ready=True)
        await of_broker.until_ready(ready=True)
        check_controller(await of_controller.metrics())
        check_broker(await of_broker.metrics())
        await made.controller.kill()
        status, body = await of_broker.get("/readyz")
        assert (status, json.loads(body)["status"]) == (200, "ready")  # it goes on serving
        assert (await of_broker.get("/livez"))[0] == 200
        await again(made.controller, of_controller, caplog)
        await made.stop()
    lines = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("broker 1 is registered with epoch ") for line in lines)
    assert any(" is unfenced: it has read" in line for line in lines)
    assert any("its controlled shutdown is complete" in line for line in lines)


async def again(controller: Node, pages: Pages, caplog: pytest.LogCaptureFixture) -> None:
    """The controller starts anew; both say once who leads now."""
    await controller.start()
    await pages.until_ready(ready=True)
    while caplog.text.count("metadata quorum: node 100 leads epoch 2") < 2:  # noqa: ASYNC110 - the broker finds it
        await asyncio.sleep(0.05)


def check_controller(told: dict[str, float]) -> None:
    raft, cluster = "kafka_server_raft_metrics", "kafka_controller_kafkacontroller"
    assert told[f"{raft}_current_state current_state=leader"] == 1
    assert told[f"{raft}_current_leader"] == told[f"{raft}_current_vote"] == 100
    assert told[f"{raft}_number_of_voters"] == told[f"{raft}_number_of_observers"] == 1
    assert told[f"{raft}_append_records_rate"] > 0
    assert told[f"{cluster}_activecontrollercount"] == told[f"{cluster}_activebrokercount"] == 1
    assert told[f"{cluster}_brokerregistrationstate broker=1"] == 30
    assert told[f"{cluster}_timesincelastheartbeatreceivedms broker=1"] < 1_000 * LONG_ENOUGH_S
    assert told[f"{cluster}_newactivecontrollerscount"] == 1
    assert told["kafka_controller_controllereventmanager_eventqueuetimems_count"] > 0
    assert "kafka_server_kafkaserver_brokerstate" not in told


def check_broker(told: dict[str, float]) -> None:
    raft, metadata = "kafka_server_raft_metrics", "kafka_server_broker_metadata_metrics"
    assert told[f"{raft}_current_state current_state=observer"] == 1
    assert told[f"{raft}_current_leader"] == 100
    assert told[f"{raft}_current_vote"] == -1
    assert told[f"{raft}_fetch_records_rate"] > 0
    assert told[f"{metadata}_last_applied_record_offset"] >= 0
    assert told["millstream_metadata_lag_records"] == 0
    assert told["kafka_controller_kafkacontroller_activecontrollercount"] == 0
    assert told["kafka_server_kafkaserver_brokerstate"] == 3
