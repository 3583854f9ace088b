"""Where there is no epoll, as on macOS, a node serves all the same."""

from __future__ import annotations

import select

import pytest

from millstream.clients.blocking import Producer
from millstream.testing import Broker


def test_a_node_serves_and_ends_without_epoll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(select, "epoll")
    with Broker() as broker:
        for _ in range(2):  # the second connection comes after the first has hung up
            with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
                sent = producer.send("orders", b"tea").result()
        assert sent.offset == 1
