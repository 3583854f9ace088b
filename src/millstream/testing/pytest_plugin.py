"""Fixtures for pytest: a broker, a topic of the test's own, clients that are ready.

A suite asks for them in the `conftest.py` of its top directory:

    pytest_plugins = ["millstream.testing.pytest_plugin"]

No entry point does that for all projects: pytest rewrites the assertions of every module of a distribution that has
one, and this one has more than 800. So who does not use the fixtures does not pay for them, and who does pays for this
module. It imports nothing heavy: what a fixture needs is imported when a test asks for it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pytest_asyncio import fixture as async_fixture

    from millstream.clients import Admin, Consumer, Producer, blocking
    from millstream.testing.broker import Broker
    from millstream.testing.cluster import Cluster
else:
    try:
        from pytest_asyncio import fixture as async_fixture
    except ModuleNotFoundError:
        async_fixture = pytest.fixture  # which the plug-in of anyio knows how to run

_TOPIC_CHARACTERS_MAX: Final = 200
"""Of the test's name. Kafka's limit is 249, and internal topics put their own words around a name."""


@pytest.fixture(scope="session")
def millstream_broker() -> Iterator[Broker]:
    """A running node in this process, shared by the session. `millstream_topic` keeps tests apart on it.

    The other fixtures use this one: override it to give them another broker (docs/guide/testing.md).
    """
    from millstream.testing.broker import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture
def millstream_fresh_broker() -> Iterator[Broker]:
    """A running node that this test has for itself: no topic, no group, and free to be killed."""
    from millstream.testing.broker import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def millstream_secure_broker() -> Iterator[Broker]:
    """A running node with TLS, logins and access rules, shared by the session; `client_settings`
    log in as its administrator.
    """
    from millstream.testing.broker import Broker

    with Broker(secure=True) as broker:
        yield broker


@pytest.fixture
def millstream_cluster() -> Iterator[Cluster]:
    """Three running nodes in this process that this test has for itself, each a broker and a
    controller: free to be killed.
    """
    from millstream.testing.cluster import Cluster

    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def millstream_topic(millstream_broker: Broker, request: pytest.FixtureRequest) -> str:
    """The name of an empty topic that no other test has; it has the broker's default number of partitions, 1.

    Nor has another run or another process of this suite: the broker may be one that they share.
    """
    from millstream.clients import NewTopic
    from millstream.clients.blocking import Admin
    from millstream.runtime.system import SystemRandom

    words = re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.name).strip("-")
    name = f"{words[:_TOPIC_CHARACTERS_MAX]}-{SystemRandom().randbytes(4).hex()}"
    with Admin(bootstrap_servers=millstream_broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(name)]).raise_errors()
    return name


@async_fixture
async def millstream_producer(millstream_broker: Broker) -> AsyncIterator[Producer[bytes, bytes]]:
    """A started producer of bytes."""
    from millstream.clients import Producer

    async with Producer(bootstrap_servers=millstream_broker.bootstrap_servers) as producer:
        yield producer


@async_fixture
async def millstream_consumer(
    millstream_broker: Broker, millstream_topic: str
) -> AsyncIterator[Consumer[bytes, bytes]]:
    """A started consumer in a group of its own, subscribed to `millstream_topic` from its beginning."""
    from millstream.clients import Consumer

    async with Consumer(
        bootstrap_servers=millstream_broker.bootstrap_servers,
        group_id=f"{millstream_topic}-group",
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.subscribe([millstream_topic])
        yield consumer


@async_fixture
async def millstream_admin(millstream_broker: Broker) -> AsyncIterator[Admin]:
    """A started admin client."""
    from millstream.clients import Admin

    async with Admin(bootstrap_servers=millstream_broker.bootstrap_servers) as admin:
        yield admin


@pytest.fixture
def millstream_blocking_producer(
    millstream_broker: Broker,
) -> Iterator[blocking.Producer[bytes, bytes]]:
    """Makes a producer as `millstream_producer` does, for tests without asyncio."""
    from millstream.clients.blocking import Producer

    with Producer(bootstrap_servers=millstream_broker.bootstrap_servers) as producer:
        yield producer


@pytest.fixture
def millstream_blocking_consumer(
    millstream_broker: Broker, millstream_topic: str
) -> Iterator[blocking.Consumer[bytes, bytes]]:
    """Makes a consumer as `millstream_consumer` does, for tests without asyncio; its group is another one."""
    from millstream.clients.blocking import Consumer

    with Consumer(
        bootstrap_servers=millstream_broker.bootstrap_servers,
        group_id=f"{millstream_topic}-blocking-group",
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.subscribe([millstream_topic])
        yield consumer


@pytest.fixture
def millstream_blocking_admin(millstream_broker: Broker) -> Iterator[blocking.Admin]:
    """Makes an Admin as `millstream_admin` does, for tests without asyncio."""
    from millstream.clients.blocking import Admin

    with Admin(bootstrap_servers=millstream_broker.bootstrap_servers) as admin:
        yield admin
