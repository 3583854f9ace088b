"""How clients learn of the cluster: who is asked, how often, and what those who wait are told. Against a scripted broker."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from typing import Any

import pytest

from millstream.clients import Admin, Consumer, Producer, RangeReader, ShareConsumer
from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import AdminConfig, ConsumerConfig, ProducerConfig
from millstream.clients.config.settings import parse_settings
from millstream.errors import (
    BrokerNotAvailable,
    InvalidTopic,
    RequestTimedOut,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from millstream.net.client.tasks import ClientClosed, TaskScope, WrongEventLoop
from millstream.net.network import system_environment
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersion, ApiVersionsResponse
from millstream.protocol.generated.metadata import MetadataRequest, MetadataResponse
from tests.integration.clients.ports import closed_port, deaf_port
from tests.integration.clients.refusals import refusal
from tests.integration.clients.scripted_broker import Script, scripted_broker
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S


@contextlib.asynccontextmanager
async def cluster_of(bootstrap: str, **settings: Any) -> AsyncIterator[Cluster]:
    config = parse_settings(AdminConfig, {"bootstrap_servers": bootstrap, **settings})
    scope = TaskScope("client")
    cluster = Cluster(config, scope, system_environment())
    try:
        yield cluster
    finally:
        await scope.close()
        await cluster.close()
        assert scope.task_count == 0


async def test_many_who_wait_for_a_topic_cost_one_request() -> None:
    async with scripted_broker() as broker, cluster_of(broker.address) as cluster:
        deadline_ms = cluster.now_ms() + LONG_ENOUGH_MS
        await asyncio.gather(*(cluster.topic("t", deadline_ms) for _ in range(20)))
        assert broker.keys() == [ApiKey.API_VERSIONS, ApiKey.METADATA]


@pytest.mark.parametrize(("code", "error"), [(17, InvalidTopic), (29, TopicAuthorizationFailed)])
async def test_what_is_wrong_with_a_topic_is_told_at_once_and_asked_anew(
    code: int, error: type[Exception]
) -> None:
    script = Script(topic_errors={"secret": code})
    async with (
        scripted_broker(script) as broker,
        Producer(bootstrap_servers=broker.address, max_block_ms=60_000) as producer,
    ):
        for _ in range(2):
            async with asyncio.timeout(LONG_ENOUGH_S):
                with pytest.raises(error, match="topic 'secret'"):
                    await producer.partitions_for("secret")
        script.topic_errors.clear()
        assert await producer.partitions_for("secret") == [0]


@pytest.mark.parametrize(("code", "error"), [(17, InvalidTopic), (29, TopicAuthorizationFailed)])
async def test_who_polls_is_told_once_for_each_answer_that_a_topic_is_not_to_be_had(
    code: int, error: type[Exception]
) -> None:
    script = Script(topic_errors={"secret": code})
    async with (
        scripted_broker(script) as broker,
        Consumer(bootstrap_servers=broker.address) as consumer,
    ):
        consumer.assign([("secret", 0)])
        consumer.seek(("secret", 0), 0)
        with pytest.raises(error, match="topic 'secret'"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        asked = broker.keys().count(ApiKey.METADATA)
        with pytest.raises(error, match="topic 'secret'"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        assert broker.keys().count(ApiKey.METADATA) > asked


async def test_a_topic_that_never_comes_is_waited_for_until_the_limit() -> None:
    async with (
        scripted_broker(Script(topic_errors={"later": 3})) as broker,
        Producer(bootstrap_servers=broker.address, max_block_ms=200) as producer,
    ):
        with pytest.raises(RequestTimedOut, match="topic 'later' is not in the cluster's metadata"):
            await producer.partitions_for("later")


async def test_one_good_address_among_bad_ones_is_enough() -> None:
    with deaf_port() as deaf:
        async with scripted_broker() as broker:
            bad = [closed_port(), deaf, "no-such-host.invalid:9092"]
            for _ in range(4):  # whichever comes first
                async with (
                    asyncio.timeout(LONG_ENOUGH_S),
                    cluster_of(",".join([*bad, broker.address])) as cluster,
                ):
                    topic = await cluster.topic("t", cluster.now_ms() + LONG_ENOUGH_MS)
                assert topic.name == "t"


async def test_unreachable_brokers_are_named_each_with_its_reason() -> None:
    refusing, unknown = closed_port(), "no-such-host.invalid:9092"
    with deaf_port() as deaf:
        settings: Any = {
            "bootstrap_servers": f"{refusing},{unknown},{deaf}",
            "socket_connection_setup_timeout_ms": 100,
            "max_block_ms": 1500,
        }
        async with Producer(**settings) as producer:
            refused = await refusal(
                lambda: producer.send("t", b"x"),
                f"cannot connect to {refusing}: refused; nothing listens there",
                f"cannot connect to {unknown}: its name cannot be resolved",
                f"no answer from {deaf} within",
            )
    assert isinstance(refused, BrokerNotAvailable)


async def test_a_broker_without_a_common_version_is_told_at_once() -> None:
    ancient = ApiVersionsResponse(api_keys=[ApiVersion(ApiKey.METADATA, 98, 99)])
    script = Script(answers={ApiKey.API_VERSIONS: lambda request: ancient})
    async with scripted_broker(script) as broker, cluster_of(broker.address) as cluster:
        with pytest.raises(UnsupportedVersion, match="the broker serves 98-99"):
            await cluster.topic("t", cluster.now_ms() + 60_000)


async def test_when_no_known_broker_answers_the_bootstrap_servers_are_asked_again() -> None:
    """KIP-899."""
    async with scripted_broker() as second, scripted_broker() as first:
        bootstrap = f"{first.address},{second.address}"
        first.script.answers[ApiKey.METADATA] = first.metadata  # type: ignore[assignment]
        second.script.answers[ApiKey.METADATA] = first.metadata  # type: ignore[assignment]
        async with cluster_of(bootstrap, reconnect_backoff_max_ms=50) as cluster:
            await cluster.topic("t", cluster.now_ms() + LONG_ENOUGH_MS)
            nodes = cluster.snapshot.nodes
            assert str(nodes[1].address) == first.address
            del second.script.answers[ApiKey.METADATA]
            first.script.answers[ApiKey.METADATA] = lambda request: None
            first.script.answers[ApiKey.API_VERSIONS] = lambda request: None
            await cluster.refresh_metadata(cluster.now_ms() + 10_000)
            assert str(cluster.snapshot.nodes[1].address) == second.address


async def test_a_broker_may_demand_that_the_client_starts_anew() -> None:
    """KIP-1102."""
    async with scripted_broker() as broker, cluster_of(broker.address) as cluster:
        await cluster.topic("t", cluster.now_ms() + LONG_ENOUGH_MS)
        answers = [MetadataResponse(error_code=129)]

        def once(request: Any) -> Any:
            return answers.pop() if answers else broker.metadata(request)

        broker.script.answers[ApiKey.METADATA] = once
        before = cluster.metadata.version
        await cluster.refresh_metadata(cluster.now_ms() + LONG_ENOUGH_MS)
        assert (cluster.metadata.version, answers) == (before + 1, [])
        assert broker.connection_count == 2
        assert cluster.snapshot.topics.keys() == {"t"}


async def test_idle_connections_are_closed_and_made_again_when_needed() -> None:
    async with (
        scripted_broker() as broker,
        cluster_of(broker.address, connections_max_idle_ms=50) as cluster,
    ):
        await cluster.topic("t", cluster.now_ms() + LONG_ENOUGH_MS)
        connection = cluster.open_connection(1)
        assert connection is not None
        await asyncio.wait_for(connection._closed, LONG_ENOUGH_S)
        assert cluster.open_connection(1) is None
        await cluster.refresh_metadata(cluster.now_ms() + LONG_ENOUGH_MS)
        assert broker.connection_count == 2


async def test_hundreds_of_requests_may_be_in_flight_on_one_connection() -> None:
    async with scripted_broker() as broker, cluster_of(broker.address) as cluster:
        connection = await cluster.any_connection()
        asked = [
            asyncio.ensure_future(
                connection.request(ApiKey.METADATA, MetadataRequest(topics=[]), MetadataResponse)
            )
            for _ in range(300)
        ]
        await asyncio.sleep(0)
        assert connection.in_flight_count == 300
        await asyncio.gather(*asked)
        assert (connection.in_flight_count, broker.connection_count) == (0, 1)


async def test_socket_buffers_are_as_large_as_the_settings_say() -> None:
    async with (
        scripted_broker() as broker,
        cluster_of(
            broker.address, **{"send.buffer.bytes": "30000", "receive.buffer.bytes": "40000"}
        ) as cluster,
    ):
        connection = await cluster.any_connection()
        assert connection._transport is not None
        sock = connection._transport.get_extra_info("socket")
        sizes = [
            sock.getsockopt(socket.SOL_SOCKET, option)
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF)
        ]
        assert sizes == [60_000, 80_000]  # Linux doubles what it is told


async def test_bootstrap_names_may_be_replaced_by_canonical_ones() -> None:
    """KIP-235."""
    async with (
        scripted_broker() as broker,
        cluster_of(
            broker.address.replace("127.0.0.1", "localhost"),
            client_dns_lookup="resolve_canonical_bootstrap_servers_only",
        ) as cluster,
    ):
        assert (await cluster.topic("t", cluster.now_ms() + LONG_ENOUGH_MS)).name == "t"


async def test_clients_that_were_given_no_name_are_numbered() -> None:
    async def names(config: Any) -> tuple[str, str]:
        scope = TaskScope("client")
        made = [Cluster(config, scope, system_environment()) for _ in range(2)]
        return made[0].config.client_id, made[1].config.client_id

    producers = await names(ProducerConfig())
    assert [name.rsplit("-", 1)[0] for name in producers] == ["producer", "producer"]
    assert int(producers[1].rsplit("-", 1)[1]) == int(producers[0].rsplit("-", 1)[1]) + 1
    consumers = await names(ConsumerConfig(group_id="g"))
    assert consumers[0].startswith("consumer-g-")
    assert await names(ConsumerConfig(group_id="g", group_instance_id="i")) == (
        "consumer-g-i",
        "consumer-g-i",
    )
    assert await names(ProducerConfig(client_id="mine")) == ("mine", "mine")


@pytest.mark.parametrize("make", [Producer, Consumer, Admin])
async def test_closed_clients_say_so_and_leave_nothing(make: Any) -> None:
    async with scripted_broker() as broker:
        async with make(bootstrap_servers=broker.address) as client:
            pass
        calls = {
            Producer: lambda: client.send("t", b"x"),
            Consumer: lambda: client.partitions_for("t"),
            Admin: lambda: client.list_topics(),
        }
        with pytest.raises(ClientClosed, match="is closed"):
            await calls[make]()
        async with Producer(bootstrap_servers=broker.address, transactional_id="x") as producer:
            pass
        with pytest.raises(ClientClosed, match="is closed"):
            await producer.send("t", b"x")
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not [task for task in others if "millstream" in repr(task.get_coro())]


async def test_construction_that_fails_leaves_nothing_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for make in (Producer, Consumer, Admin):
        with pytest.raises(Exception, match="PEM"):
            make(security_protocol="SSL", ssl_ca_location="/nowhere.pem")
    assert len(os.listdir("/proc/self/fd")) == before
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_client_is_refused_in_another_loop_while_its_own_runs() -> None:
    async with (
        scripted_broker() as broker,
        Producer(bootstrap_servers=broker.address) as producer,
    ):
        await producer.partitions_for("t")

        def elsewhere() -> None:
            asyncio.run(producer.partitions_for("t"))

        with pytest.raises(WrongEventLoop, match="this producer works in another event loop"):
            await asyncio.to_thread(elsewhere)
        assert await producer.partitions_for("t") == [0]


@pytest.mark.parametrize("kind", [Producer, Consumer, Admin, RangeReader, ShareConsumer])
async def test_a_close_in_another_loop_is_refused_and_closes_nothing(kind: type) -> None:
    group = {"group_id": "g"} if kind is ShareConsumer else {}
    async with (
        scripted_broker() as broker,
        kind(bootstrap_servers=broker.address, **group) as client,
    ):
        connection = await client._cluster.any_connection()
        client._scope.check()

        def elsewhere() -> None:
            asyncio.run(client.close())

        with pytest.raises(WrongEventLoop, match="works in another event loop"):
            await asyncio.to_thread(elsewhere)
        assert not connection.is_closed
        assert not client._scope.is_closed


async def test_a_forked_child_that_closes_a_client_takes_no_socket_from_its_parent() -> None:
    script = """
        import asyncio, os, sys
        from millstream.clients import Producer
        from millstream.net.client.tasks import ForkedClient

        async def main():
            async with Producer(bootstrap_servers=sys.argv[1]) as producer:
                await producer.partitions_for("t")
                if os.fork() == 0:
                    try:
                        await producer.close()
                    except ForkedClient:
                        os._exit(7)
                    os._exit(1)
                await producer.partitions_for("t")
                return os.waitstatus_to_exitcode(os.wait()[1])

        sys.exit(asyncio.run(main()))
    """
    async with scripted_broker() as broker:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", textwrap.dedent(script), broker.address
        )
        async with asyncio.timeout(LONG_ENOUGH_S):
            assert await child.wait() == 7


def test_a_forked_child_is_told_to_make_a_client_of_its_own() -> None:
    script = """
        import asyncio, os, sys
        from millstream.clients import Admin
        from millstream.net.client.tasks import ForkedClient

        admin = Admin(bootstrap_servers="127.0.0.1:1", default_api_timeout_ms=10)

        async def ask():
            try:
                await admin.list_topics()
            except ForkedClient as error:
                return "this admin was made before a fork" in str(error)

        if os.fork() == 0:
            os._exit(7 if asyncio.run(ask()) else 1)
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=False, timeout=LONG_ENOUGH_S
    )
    assert done.returncode == 7
