"""Whoever starts a node is told who may read its pages, and what stands there."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import cast

import pytest

from millstream.broker.http.pages import start_http
from millstream.broker.metrics.node_view import NodeView
from millstream.net.server.http_server import HttpServer


class Tasks:
    """Starts nothing."""

    def start(self, coroutine: Coroutine[None, None, None], _name: str) -> None:
        coroutine.close()


@dataclass(frozen=True)
class Server:
    """Serves nobody."""

    is_reachable_from_outside: bool
    asks_for_certificates: bool
    url: str = "http://0.0.0.0:9404"

    async def serve(self, _respond: object) -> None:
        """Returns at once."""


class Node:
    """Has nothing to show."""

    metrics = None
    clock = None


@pytest.mark.parametrize(
    ("is_reachable", "asks_for_certificates", "who"),
    [
        (True, False, "whoever reaches that port may read there"),
        (True, True, "whoever has a certificate of its authorities may read there"),
        (False, False, None),
    ],
)
async def test_who_may_read_is_told(
    caplog: pytest.LogCaptureFixture,
    *,
    is_reachable: bool,
    asks_for_certificates: bool,
    who: str | None,
) -> None:
    server = Server(is_reachable, asks_for_certificates)
    with caplog.at_level(logging.INFO):
        start_http(cast("HttpServer", server), cast("NodeView", Node()), Tasks())
    told = [each for each in caplog.messages if "may read" in each]
    assert len(told) == (0 if who is None else 1)
    for each in told:
        assert each.startswith(f"{who} names of topics, groups, users and client ids")
