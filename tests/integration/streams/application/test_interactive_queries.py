"""Stores of running applications: each instance shows its own, and knows where those of the others are."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter
from http.client import HTTPConnection
from typing import Any

import pytest

from millstream.streams import blocking
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from millstream.streams.config import StreamsConfig
from millstream.streams.errors import (
    InvalidStoreError,
    InvalidStorePartition,
    StoreMigrated,
    StoreNotAvailable,
    StreamsNotStarted,
    UnknownStore,
)
from millstream.streams.host_info import HostInfo
from millstream.streams.queries import (
    QueryFailed,
    StoreQueryParameters,
    key_value_store,
    timestamped_key_value_store,
    window_store,
)
from millstream.streams.query_server import QueryServer
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import LONG_ENOUGH_S, eventually, until

WORDS = [f"w{number % 23}" for number in range(200)]
COUNTS = Counter(WORDS)
TOKEN = "the-token-of-these-instances"
ONE, TWO = HostInfo("one", 7001), HostInfo("two", 7002)


async def test_views_show_what_the_instance_has(instances: Instances) -> None:
    await instances.put(WORDS)
    app = instances.new()
    with pytest.raises(StreamsNotStarted, match="CREATED"):
        app.store("counts")
    async with app:
        await instances.until_counted(WORDS)
        await until(lambda: app.state is ApplicationState.RUNNING)
        counts = app.store("counts")
        assert dict(await counts.all()) == COUNTS
        assert await counts.get("w3") == COUNTS["w3"]
        assert await counts.get("nothing") is None
        assert await counts.approximate_num_entries() == len(COUNTS)
        assert {key for key, _ in await counts.range("w1", "w11")} == {"w1", "w10", "w11"}
        timed = app.store(StoreQueryParameters("counts", timestamped_key_value_store()))
        assert await timed.get("w3") == (
            COUNTS["w3"],
            max(n for n, word in enumerate(WORDS) if word == "w3"),
        )
        rows = [
            await app.store(StoreQueryParameters("counts", key_value_store(), number)).all()
            for number in range(PARTITIONS)
        ]
        assert {key: value for each in rows for key, value in each} == COUNTS
        with pytest.raises(InvalidStorePartition, match="partition 9 of store counts"):
            await app.store(StoreQueryParameters("counts", key_value_store(), 9)).all()
        with pytest.raises(InvalidStoreError, match="no window store"):
            await app.store(StoreQueryParameters("counts", window_store())).all()
        with pytest.raises(QueryFailed, match="store_exception"):
            await counts.get(7)
        with pytest.raises(UnknownStore, match=r"there is no store x; there are \['counts'\]"):
            app.store("x")
        assert app.metadata_for_all_streams_clients() == []
        assert (await app.query_metadata_for_key("counts", "w3")).partition == -1
    with pytest.raises(StreamsNotStarted):
        await counts.all()


@pytest.mark.parametrize("use_processes", [False, True])
async def test_each_instance_finds_the_one_that_has_a_key(
    instances: Instances, use_processes: bool
) -> None:
    await instances.put(WORDS)
    apps: dict[HostInfo | None, KafkaStreams] = {
        ONE: instances.new(application_server="one:7001", use_processes=use_processes),
        TWO: instances.new(application_server="two:7002"),
    }
    await asyncio.gather(*(app.start() for app in apps.values()))
    await instances.until_counted(WORDS)

    def settled() -> bool:
        """Both know the same two hosts, and that these have all inputs of the two sub-topologies."""
        first, second = (app.metadata_for_all_streams_clients() for app in apps.values())
        inputs = [len(each.topic_partitions) for each in first]
        is_running = all(app.state is ApplicationState.RUNNING for app in apps.values())
        return is_running and first == second and len(inputs) == 2 and sum(inputs) == 2 * PARTITIONS

    async def found_by(app: KafkaStreams) -> dict[str, object]:
        hosts = [(await app.query_metadata_for_key("counts", word)).active_host for word in COUNTS]
        if None in hosts:
            return {}
        return {
            word: await apps[host].store("counts").get(word)
            for word, host in zip(COUNTS, hosts, strict=True)
        }

    async def every_count_is_found() -> bool:
        try:
            return [await found_by(app) for app in apps.values()] == [COUNTS, COUNTS]
        except (StoreNotAvailable, StoreMigrated):  # a host is told of before it has its tasks
            return False

    await until(settled)
    await eventually(every_count_is_found)
    spread = [(await apps[ONE].query_metadata_for_key("counts", word)) for word in COUNTS]
    assert {each.active_host for each in spread} == {ONE, TWO}
    own = await apps[TWO].query_metadata_for_key("counts", "any", partitioner=lambda _, n: n - 1)
    assert own.partition == PARTITIONS - 1


async def test_either_query_server_answers_for_every_key(instances: Instances) -> None:
    await instances.put(WORDS)
    ports = [free_port(), free_port()]
    apps = [
        instances.new(application_server=f"127.0.0.1:{port}", num_standby_replicas=1)
        for port in ports
    ]
    async with QueryServer(apps[0], token=TOKEN), QueryServer(apps[1], token=TOKEN):
        status, answer = await asked(ports[0], "/stores/counts/keys/w3")
        assert (status, answer["error"]) == (503, "Service Unavailable"), "it is not started"
        await asyncio.gather(*(app.start() for app in apps))
        await instances.until_counted(WORDS)

        async def complete() -> bool:
            found = [await asked(port, "/stores/counts/rows") for port in ports]
            hosts = apps[0].streams_metadata_for_store("counts")
            return [status for status, _ in found] == [200, 200] and len(hosts) == 2

        await eventually(complete)
        for port in ports:
            for word, count in COUNTS.items():
                status, answer = await asked(port, f"/stores/counts/keys/{word}")
                assert (status, answer["value"]) == (200, count)
            _, answer = await asked(port, "/stores/counts/rows")
            assert {row["key"]: row["value"] for row in answer["rows"]} == COUNTS
            assert answer["partitions"] == list(range(PARTITIONS))
        assert (await asked(ports[0], "/stores/x/rows"))[0] == 404
        assert (await asked(ports[0], "/stores/counts/rows", token="another-token"))[0] == 401


async def asked(port: int, path: str, token: str = TOKEN) -> tuple[int, Any]:
    """The status and the JSON of an address."""

    def get() -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", port, timeout=LONG_ENOUGH_S)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    return await asyncio.to_thread(get)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


async def test_a_program_without_an_event_loop_sees_rows(instances: Instances) -> None:
    await instances.put(WORDS)
    config = StreamsConfig(
        application_id=instances.application,
        state_dir=str(instances.directory / "blocking"),
        commit_interval_ms=100,
    )
    app = blocking.KafkaStreams(
        instances.topology, config, {"bootstrap_servers": instances.servers}
    )

    def counted() -> dict[str, int]:
        with app:
            asyncio.run(until(lambda: app.state is ApplicationState.RUNNING))
            counts = app.store("counts")
            asyncio.run(until(lambda: dict(counts.all()) == COUNTS))
            assert counts.get("w3") == COUNTS["w3"]
            lags = app.all_local_store_partition_lags()["counts"]
            assert [each.offset_lag for each in lags.values()] == [0] * PARTITIONS
            return dict(counts.reverse_all())

    assert await asyncio.to_thread(counted) == COUNTS
