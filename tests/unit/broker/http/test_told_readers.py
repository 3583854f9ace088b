"""Whoever starts a node is told who may read its pages, and what stands there."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.broker.http.pages import start_http


class Tasks:
    """Starts nothing."""

    def start(self, coroutine: Coroutine[None, None, None], _name: str) -> None:
        coroutine.close()


async def serve(_respond: object) -> None:
    """Serves nobody."""


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
    server: Any = SimpleNamespace(
        url="http://0.0.0.0:9404",
        serve=serve,
        is_reachable_from_outside=is_reachable,
        asks_for_certificates=asks_for_certificates,
    )
    node: Any = SimpleNamespace(metrics=None, clock=None)
    with caplog.at_level(logging.INFO):
        start_http(server, node, Tasks())
    told = [each for each in caplog.messages if "may read" in each]
    assert len(told) == (0 if who is None else 1)
    for each in told:
        assert each.startswith(f"{who} names of topics, groups, users and client ids")
