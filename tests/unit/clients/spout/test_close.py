"""The end of a spout as several tasks ask for it."""

from __future__ import annotations

import asyncio

import pytest

from millstream.clients.spout.spout import Spout


async def test_who_closes_second_waits_until_the_first_has_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spout = Spout("t", bootstrap_servers="127.0.0.1:1", group_id="g")
    may_commit = asyncio.Event()
    monkeypatch.setattr(spout, "_close_consumer", may_commit.wait)
    closes = [asyncio.create_task(spout.close()) for _ in range(2)]
    done, _ = await asyncio.wait(closes, timeout=0.01)  # it must not end by then
    assert not done
    may_commit.set()
    await asyncio.gather(*closes)
