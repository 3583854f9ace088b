"""Brokers in processes of their own, as users run them, and names that no two tests share."""

from __future__ import annotations

import os
import socket
import uuid
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.testing.broker import Broker
from tests.oracle.cluster.nodes import Nodes
from tests.oracle.cluster.three import three_of_ours


@pytest.fixture(scope="session", autouse=True)
def refused_sockets_are_closed() -> Iterator[None]:
    """kafka-python 3.0 leaves them to the garbage collector, whose warning then fails a later test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka.net.inet import KafkaNetSocket

    connect = KafkaNetSocket.sock_connect

    async def closing(
        self: Any,  # kafka-python has no types, here and below
        net: Any,  # its event loop
        sock: socket.socket,
        *rest: Any,  # the address
        **options: Any,  # when to give up
    ) -> socket.socket:
        try:
            connected: socket.socket = await connect(self, net, sock, *rest, **options)
        except BaseException:
            sock.close()
            raise
        return connected

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KafkaNetSocket, "sock_connect", closing)
        yield


@pytest.fixture(scope="session")
def shared_broker() -> Iterator[Broker | Nodes]:
    """For tests that leave it running; with MILLSTREAM_NODES=3 it is three. Records of 1970 stay: after five minutes retention would take them."""
    settings = {"log.retention.ms": "-1"}
    if os.environ.get("MILLSTREAM_NODES") == "3":
        with three_of_ours(settings) as nodes:
            yield nodes
        return
    with Broker(in_process=False, settings=settings) as running:
        yield running


@pytest.fixture
def broker() -> Iterator[Broker]:
    """For tests that restart it."""
    with Broker(in_process=False) as running:
        yield running


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}"
