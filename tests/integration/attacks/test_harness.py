"""The harness itself: a node that is let alone passes, and each thing that must hold is seen when it does not."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.base_events import BaseEventLoop
from asyncio.events import Handle
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.patience import LONG_ENOUGH_MS
from tests.support.attacks import AttackedNode
from tests.support.bystander import TOPIC
from tests.support.watched_node import LoopWatch


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedNode]:
    with AttackedNode(tmp_path_factory.mktemp("node")) as node:
        yield node


def test_ordinary_requests_are_no_attack(node: AttackedNode) -> None:
    with node.attack(), node.client() as client:
        for _ in range(100):
            client.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
    assert node.held_ms > 0
    assert node.latencies["acknowledged"] > 0


def test_a_loop_that_is_held_is_seen(node: AttackedNode) -> None:
    with pytest.raises(AssertionError, match="the loop was held for"), node.attack(held_ms_max=0):
        pass


def test_an_acknowledged_record_that_is_gone_is_seen(tmp_path: Path) -> None:
    first = DeleteRecordsTopic(TOPIC, [DeleteRecordsPartition(0, 1)])
    request = DeleteRecordsRequest([first], timeout_ms=LONG_ENOUGH_MS)
    with (
        AttackedNode(tmp_path) as node,
        pytest.raises(AssertionError, match="error_code=1,"),
        node.attack(),
        node.client() as client,
    ):
        client.ask(ApiKey.DELETE_RECORDS, 2, request)


def test_many_short_callbacks_of_one_round_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0  # the clock of the thread would count collections of garbage, which any callback may meet
    watch = LoopWatch(lambda: now_s)

    def work(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    async def work_once(woken: asyncio.Event) -> None:
        await woken.wait()
        work(0.001)

    async def wake_many_at_once() -> None:
        woken = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(1_000):
                tasks.create_task(work_once(woken))
            work(0.1)  # one callback longer than each of the short ones
            await asyncio.sleep(0)
            woken.set()

    with monkeypatch.context() as patched:  # what `begin` replaces comes back
        patched.setattr(Handle, "_run", Handle._run)
        patched.setattr(BaseEventLoop, "_run_once", BaseEventLoop._run_once)  # type: ignore[attr-defined]  # typeshed leaves it out
        watch.begin()
        asyncio.run(wake_many_at_once())
    longest = watch.take()
    assert longest["held_ms"] == pytest.approx(1_000)
    assert longest["callbacks"].startswith("1,000 callbacks: 1,000 times Task "), longest
    assert ".work_once (1000.0 ms)" in longest["callbacks"], longest


def test_a_bystander_that_is_not_answered_is_seen(
    node: AttackedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_it() -> None:
        with node.attack():
            os.kill(node.pid, signal.SIGSTOP)
            monkeypatch.setattr("tests.support.attacks.LONG_ENOUGH_S", 0.5)

    with pytest.raises(AssertionError, match="the bystander is not answered any more"):
        stop_it()
    os.kill(node.pid, signal.SIGCONT)
    monkeypatch.undo()
