"""What clients log of a cluster that they cannot reach: nobody should wait before a silent client."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from millstream.clients import Admin, Consumer, NewTopic, Producer, RangeReader, ShareConsumer
from millstream.clients.admin import LATEST_TIMESTAMP
from millstream.errors import BrokerNotAvailable
from millstream.model import TopicPartition
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, eventually, until


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Callable[[str], list[str]]:
    """What connecting logged at a level: `told("WARNING")`."""
    caplog.set_level(logging.INFO, "millstream.clients")

    def at(level: str) -> list[str]:
        return [
            record.getMessage()
            for record in caplog.records
            if record.levelname == level and record.name == "millstream.clients.connections"
        ]

    return at


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """A port that refuses: it is taken, and nobody listens."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


async def test_a_consumer_that_waits_says_for_whom_and_why(
    told: Callable[[str], list[str]],
) -> None:
    """It would wait for ever: a warning, and not one for each attempt."""
    with refusing() as port:
        async with Consumer(
            bootstrap_servers=f"127.0.0.1:{port}",
            client_id="me",
            group_id="g",
            bootstrap_wait_ms=10 * LONG_ENOUGH_MS,
        ) as consumer:
            consumer.subscribe(["flights"])
            polling = asyncio.ensure_future(consumer.poll(timeout_ms=LONG_ENOUGH_MS))
            await until(lambda: bool(told("WARNING")))
            attempts = consumer._cluster._connections._failures
            await until(lambda: any(failed.count > 5 for failed in attempts.values()))
            polling.cancel()
    (warning,) = told("WARNING")
    assert warning.startswith(f"me: cannot connect to 127.0.0.1:{port}: refused; nothing listens")
    assert "2 attempts in " in warning


async def test_a_producer_says_what_send_waits_for_and_when_it_is_over(
    told: Callable[[str], list[str]],
) -> None:
    with refusing() as port:
        producer = Producer(
            bootstrap_servers=f"127.0.0.1:{port}",
            client_id="me",
            max_block_ms=LONG_ENOUGH_MS,
            bootstrap_wait_ms=LONG_ENOUGH_MS,
        )
        sending = asyncio.ensure_future(producer.send("flights", b"late"))
        await until(lambda: bool(told("WARNING")))
        assert not sending.done()
    with Broker(in_process=False, port=port):
        async with producer:
            await (await sending)
    assert told("INFO")[0].startswith(f"me: connected to 127.0.0.1:{port} after ")


async def test_every_client_says_at_once_that_nothing_listens_and_works_once_something_does() -> (
    None
):
    """Each may wait for an hour for its answer: only the refusal ends that. Afterwards no client has to be made anew."""
    hour_ms = 3_600_000
    with refusing() as port:
        to: dict[str, Any] = {"bootstrap_servers": f"127.0.0.1:{port}", "bootstrap_wait_ms": 0}
        limit = {"default_api_timeout_ms": hour_ms}
        admin, reader = Admin(**to, **limit), RangeReader(**to, **limit)
        producer = Producer(**to, max_block_ms=hour_ms)
        transactional = Producer(**to, max_block_ms=hour_ms, transactional_id="t")
        classic, coordinated, alone = (
            Consumer(**to, **limit, auto_offset_reset="earliest", **more)
            for more in ({"group_id": "c"}, {"group_id": "d", "group_protocol": "consumer"}, {})
        )
        shared = ShareConsumer(**to, **limit, group_id="s")
        for each in (classic, coordinated, shared):
            each.subscribe(["flights"])
        alone.assign([TopicPartition("flights", 0)])
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: producer.send("flights", b"one"),
            transactional.init_transactions,
            admin.list_topics,
            lambda: classic.poll(timeout_ms=hour_ms),
            lambda: coordinated.poll(timeout_ms=hour_ms),
            lambda: alone.poll(timeout_ms=hour_ms),
            lambda: classic.committed([TopicPartition("flights", 0)]),
            lambda: reader.offsets("flights", LATEST_TIMESTAMP),
        ]
        for call in (*calls, lambda: shared.poll(timeout_ms=hour_ms)):
            with pytest.raises(BrokerNotAvailable, match="refused; nothing listens there"):
                await asyncio.wait_for(call(), LONG_ENOUGH_S)
        created = await admin.create_topics([NewTopic("new", 1)])
        assert isinstance(created["new"], BrokerNotAvailable)
    with Broker(in_process=False, port=port):
        for call in calls:

            async def succeeds(call: Callable[[], Awaitable[object]] = call) -> bool:
                try:  # the last refusal may be told once more
                    await asyncio.wait_for(call(), LONG_ENOUGH_S)
                except BrokerNotAvailable:
                    return False
                return True

            await eventually(succeeds)
        for client in (admin, reader, producer, transactional, classic, coordinated, alone, shared):
            await client.close()


async def test_a_client_that_has_been_connected_waits_while_its_cluster_restarts() -> None:
    """`bootstrap_wait_ms` is 0, and counts no more."""
    with Broker(in_process=False) as broker:
        async with Producer(
            bootstrap_servers=broker.bootstrap_servers, bootstrap_wait_ms=0
        ) as producer:
            await (await producer.send("flights", b"before"))
            broker.kill()
            sending = asyncio.ensure_future(producer.send("departures", b"meanwhile"))
            failures = producer._cluster._connections._failures
            await until(lambda: any(failed.count > 3 for failed in failures.values()))
            assert not sending.done()
            broker.start()
            assert (await (await sending)).offset == 0


async def test_an_admin_that_shall_not_retry_fails_at_once() -> None:
    with refusing() as port:
        async with Admin(
            bootstrap_servers=f"127.0.0.1:{port}",
            default_api_timeout_ms=10 * LONG_ENOUGH_MS,
            retry_when_refused=False,
        ) as admin:
            for call in (admin.describe_cluster(), admin.list_topics(), admin.list_groups()):
                with pytest.raises(BrokerNotAvailable, match="nothing listens there"):
                    await call


async def test_an_admin_that_shall_not_retry_says_so_too_when_the_cluster_goes() -> None:
    """It knows brokers, and asks the bootstrap address once more before it gives up."""
    with Broker(in_process=False) as broker:
        async with Admin(
            bootstrap_servers=broker.bootstrap_servers,
            default_api_timeout_ms=10 * LONG_ENOUGH_MS,
            retry_when_refused=False,
        ) as admin:
            await admin.describe_cluster()
            broker.kill()
            with pytest.raises(BrokerNotAvailable):
                await admin.list_topics()
            broker.start()
            assert await admin.list_topics() == {}
