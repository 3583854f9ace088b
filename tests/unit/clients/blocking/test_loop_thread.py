"""The one loop of the blocking clients, and who starts it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from millstream.clients.blocking import Producer, loop_thread
from millstream.clients.blocking.loop_thread import LoopThread
from millstream.net.client.tasks import ClientClosed
from tests.patience import LONG_ENOUGH_S


def test_threads_that_make_the_first_clients_at_a_time_share_one_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_starting, may_start = threading.Event(), threading.Event()

    class SlowLoopThread:
        def __init__(self) -> None:
            is_starting.set()
            may_start.wait(0.1)  # in vain, where one thread has the lock

    monkeypatch.setattr(loop_thread, "LoopThread", SlowLoopThread)
    shared = loop_thread._Shared()
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(shared.get())) for _ in range(2)]
    threads[0].start()
    assert is_starting.wait(LONG_ENOUGH_S)
    threads[1].start()
    for thread in threads:
        thread.join(LONG_ENOUGH_S)
    assert len(set(map(id, found))) == 1
    assert len(found) == 2


def test_a_client_that_the_exit_of_the_interpreter_has_closed_may_be_closed_again() -> None:
    thread = LoopThread()
    thread._stop()

    async def goodbye() -> None: ...

    with pytest.raises(ClientClosed, match="the interpreter exits"):
        thread.run(goodbye())
    thread.close(goodbye())
    thread.close(goodbye())


def test_a_record_that_wakes_the_sender_of_a_closed_producer_fails_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    producer: Producer = Producer(bootstrap_servers="127.0.0.1:1")
    producer.close()
    producer._wake_sender("t")  # by a thread that put its record into a batch before the close
    loop_thread.shared().call(lambda: None)
    assert not caplog.records


def test_a_wait_that_is_interrupted_ends_when_the_call_has_ended() -> None:
    ended: list[bool] = []

    async def call() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(100):  # as a call that lets go of what it holds
                await asyncio.sleep(0)
            ended.append(True)

    with pytest.raises(TimeoutError):
        loop_thread.shared().run(call(), 0.001)
    assert ended == [True]


def test_a_wait_that_is_interrupted_before_the_call_begins_ends_at_once() -> None:
    loop = loop_thread.shared()
    may_go_on = threading.Event()
    loop.call_soon(lambda: may_go_on.wait(LONG_ENOUGH_S))
    threading.Timer(0.01, may_go_on.set).start()

    async def call() -> None:
        pytest.fail("it is cancelled before")

    with pytest.raises(TimeoutError):
        loop.run(call(), 0.0)
