"""What clients log of a cluster that they cannot reach: nobody should wait before a silent client."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator

import pytest

from millstream.clients import Admin, Consumer, Producer
from millstream.errors import BrokerNotAvailable
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_MS, until


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
            bootstrap_servers=f"127.0.0.1:{port}", client_id="me", group_id="g"
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
            bootstrap_servers=f"127.0.0.1:{port}", client_id="me", max_block_ms=LONG_ENOUGH_MS
        )
        sending = asyncio.ensure_future(producer.send("flights", b"late"))
        await until(lambda: bool(told("WARNING")))
        assert not sending.done()
    with Broker(in_process=False, port=port):
        async with producer:
            await (await sending)
    assert told("INFO")[0].startswith(f"me: connected to 127.0.0.1:{port} after ")


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
