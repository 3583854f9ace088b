"""The listener of a controller: what it serves and to whom, the requests that brokers pass on, and a node that is a controller alone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.node.process import NodeProcess, ReadyReport
from millstream.clients.admin import Admin, FeatureUpdate, UpgradeType
from millstream.net.network import SystemNetwork
from millstream.protocol.api import CONTROLLER_APIS, ApiKey
from millstream.protocol.frames import decode_response
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.describe_cluster import DescribeClusterRequest
from millstream.protocol.generated.envelope import EnvelopeRequest
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.protocol.generated.other_records import DefaultPrincipalData
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient, request_frame

BOTH = {"listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"}
ALONE = {"process.roles": "controller", "listeners": "CONTROLLER://127.0.0.1:0"}
LOCALHOST = bytes([127, 0, 0, 1])


@asynccontextmanager
async def node(data: Path, settings: dict[str, str]) -> AsyncIterator[dict[str, str]]:
    """Runs a node; gives the address of each of its listeners by name."""
    config = broker_config({"log.dirs": str(data), "millstream.flush.on.ack": "never", **settings})
    process = NodeProcess(config, SystemClock(), SystemRandom(), SystemFileSystem())
    ready: asyncio.Future[ReadyReport] = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(LONG_ENOUGH_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(process.run(ready.set_result))
        yield dict(re.findall(r"(\w+)://([\d.]+:\d+)", (await ready).listeners))
        process.request_stop()


async def asked(address: str, ask: Callable[[RawClient], Any]) -> Any:
    def connected() -> Any:
        with RawClient(address) as client:
            return ask(client)

    return await asyncio.to_thread(connected)


def principal(name: str) -> bytes:
    out = bytearray(b"\0\0")
    DefaultPrincipalData(type="User", name=name).encode(out, 0)
    return bytes(out)


def creation(topic: str, version: int = 7, correlation_id: int = 7) -> bytes:
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name=topic, num_partitions=2, replication_factor=1)]
    )
    return request_frame(ApiKey.CREATE_TOPICS, version, request, correlation_id)[4:]


def envelope(
    inside: bytes, who: bytes | None = principal("alice"), address: bytes = LOCALHOST
) -> EnvelopeRequest:
    return EnvelopeRequest(request_data=inside, request_principal=who, client_host_address=address)


async def test_it_announces_the_apis_of_a_controller(tmp_path: Path) -> None:
    async with node(tmp_path, BOTH) as at:
        request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
        versions = await asked(at["CONTROLLER"], lambda c: c.ask(ApiKey.API_VERSIONS, 4, request))
        told = {ApiKey(each.api_key).name for each in versions.api_keys}
        assert told == {key.name for key in CONTROLLER_APIS}


async def test_the_last_descriptors_are_for_it_and_not_for_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SystemNetwork, "descriptor_max", lambda _self: -1)
    async with node(tmp_path, BOTH) as at:
        request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
        assert await asked(at["CONTROLLER"], lambda c: c.ask(ApiKey.API_VERSIONS, 4, request))
        assert await asked(at["PLAINTEXT"], lambda c: c.is_closed_by_broker())


async def test_brokers_apis_are_not_served_there_nor_controllers_apis_to_clients(
    tmp_path: Path,
) -> None:
    async with node(tmp_path, BOTH) as at:

        def is_cut_off(client: RawClient, key: ApiKey, request: Any) -> bool:
            client.send(request_frame(key, 0, request))
            return client.is_closed_by_broker()

        metadata, passed_on = MetadataRequest(topics=[]), envelope(creation("t"))
        assert await asked(at["CONTROLLER"], lambda c: is_cut_off(c, ApiKey.METADATA, metadata))
        assert await asked(at["PLAINTEXT"], lambda c: is_cut_off(c, ApiKey.ENVELOPE, passed_on))
        async with Admin(bootstrap_servers=at["PLAINTEXT"]) as admin:
            assert await admin.list_topics() == {}


async def test_a_request_that_a_broker_passes_on_is_answered_as_if_the_client_had_asked(
    tmp_path: Path,
) -> None:
    async with node(tmp_path, BOTH) as at:
        passed_on = envelope(creation("t", version=5, correlation_id=99))
        answer = await asked(at["CONTROLLER"], lambda c: c.ask(ApiKey.ENVELOPE, 0, passed_on))
        assert answer.error_code == 0
        number, inside = decode_response(ApiKey.CREATE_TOPICS, 5, memoryview(answer.response_data))
        assert (number, inside.topics[0].name, inside.topics[0].error_code) == (99, "t", 0)
        assert inside.topics[0].num_partitions == 2
        async with Admin(bootstrap_servers=at["PLAINTEXT"]) as admin:
            assert list(await admin.list_topics()) == ["t"]


@pytest.mark.parametrize(
    ("passed_on", "error"),
    [
        (envelope(creation("t"), who=None), 97),
        (envelope(creation("t"), who=b"\0\1x"), 97),
        (envelope(creation("t"), who=b"\0"), 97),
        (envelope(creation("t"), address=b"\1\2\3"), 42),
        (envelope(b""), 42),
        (envelope(b"\xff" * 20), 42),
        (envelope(creation("t")[:30]), 42),
        (envelope(request_frame(ApiKey.METADATA, 9, MetadataRequest(topics=[]))[4:]), 42),
        (envelope(b"\0\x13\0\x63" + creation("t")[4:]), 35),
    ],
    ids=[
        "no principal", "a principal of another version", "half a principal", "an address of three bytes", "nothing", "no API",
        "half a request", "an API that is not passed on", "a version that is not served",
    ],
)  # fmt: skip
async def test_an_envelope_that_cannot_be_opened_says_why(
    tmp_path: Path, passed_on: EnvelopeRequest, error: int
) -> None:
    async with node(tmp_path, BOTH) as at:
        answer = await asked(at["CONTROLLER"], lambda c: c.ask(ApiKey.ENVELOPE, 0, passed_on))
        assert (answer.error_code, answer.response_data) == (error, None)


async def test_controllers_are_described_on_their_listener_and_brokers_are_not(
    tmp_path: Path,
) -> None:
    async with node(tmp_path, BOTH) as at:

        async def described(endpoint_type: int) -> Any:
            request = DescribeClusterRequest(endpoint_type=endpoint_type)
            return await asked(
                at["CONTROLLER"], lambda c: c.ask(ApiKey.DESCRIBE_CLUSTER, 1, request)
            )

        answer = await described(2)
        (controller,) = answer.brokers
        assert f"{controller.host}:{controller.port}" == at["CONTROLLER"]
        assert (answer.controller_id, controller.broker_id, answer.endpoint_type) == (1, 1, 2)
        assert [(await described(kind)).error_code for kind in (1, 3)] == [114, 115]


async def test_a_controller_alone_answers_administrators_and_keeps_what_they_have_changed(
    tmp_path: Path,
) -> None:
    async with node(tmp_path, ALONE) as at:
        assert list(at) == ["CONTROLLER"]
        async with Admin(bootstrap_controllers=at["CONTROLLER"]) as admin:
            off = FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)
            (await admin.update_features({"group.version": off})).raise_errors()
            assert "group.version" not in (await admin.describe_features()).finalized
    async with node(tmp_path, ALONE) as at:
        async with Admin(bootstrap_controllers=at["CONTROLLER"]) as admin:
            finalized = (await admin.describe_features()).finalized
        assert "group.version" not in finalized
        assert "share.version" in finalized
        topics = CreateTopicsRequest(topics=[CreatableTopic("t", 1, 1)])
        answer = await asked(at["CONTROLLER"], lambda c: c.ask(ApiKey.CREATE_TOPICS, 7, topics))
        assert answer.topics[0].error_code == 38, "no broker has registered"


async def test_a_directory_whose_controller_listened_to_nobody_tells_where_it_listens_now(
    tmp_path: Path,
) -> None:
    """Its log names a voter without endpoints: the leader, which is alone, writes itself down anew, as Kafka's does."""

    async def voters(address: str) -> list[tuple[str, str]]:
        async with Admin(bootstrap_servers=address) as admin:
            quorum = await admin.describe_metadata_quorum()
        return [
            (each.name, str(each.address))
            for endpoints in quorum.nodes.values()
            for each in endpoints
        ]

    async with node(tmp_path, {"listeners": "PLAINTEXT://127.0.0.1:0"}) as at:
        assert await voters(at["PLAINTEXT"]) == []
    for _ in range(2):  # each start has a port of its own
        async with node(tmp_path, BOTH) as at:
            assert await voters(at["PLAINTEXT"]) == [("CONTROLLER", at["CONTROLLER"])]
