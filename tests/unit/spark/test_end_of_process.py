"""What the clients of a process of Spark still do when it ends."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable

import pytest

from millstream.spark.connections import connections
from millstream.spark.kafka_settings import KafkaSettings

SETTINGS = KafkaSettings((("bootstrap_servers", "nowhere:1"),))


def test_what_clients_still_do_ends_with_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or Python would say of each such task that it was destroyed while it was pending."""
    at_exit: list[Callable[[], object]] = []
    monkeypatch.setattr(atexit, "register", at_exit.append)
    monkeypatch.setattr("millstream.spark.connections._OPEN", {})
    link = connections(SETTINGS)

    async def begin() -> asyncio.Task[None]:
        return asyncio.create_task(asyncio.sleep(3_600))

    refreshing = link.run(begin())
    (end,) = at_exit
    end()
    assert refreshing.cancelled()
    after = connections(SETTINGS)
    assert after is not link
    after.close()
