"""Names of hosts are asked for in a thread that nobody waits for longer than they want to."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

import pytest

from millstream.net.network import ResolvedAddress, SystemNetwork
from tests.support.patched_library import patch_library


def resolve_with(monkeypatch: pytest.MonkeyPatch, getaddrinfo: Callable[..., object]) -> None:
    patch_library(monkeypatch, SystemNetwork.__module__, socket, getaddrinfo=getaddrinfo)


def test_a_name_is_answered_with_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 9092))]
    resolve_with(monkeypatch, lambda *_, **__: found)
    resolved = asyncio.run(SystemNetwork().resolve("broker", 9092))
    assert resolved == [ResolvedAddress(socket.AF_INET, ("10.0.0.1", 9092))]


@pytest.mark.parametrize(
    "error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")]
)
def test_what_the_resolver_says_is_raised(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    resolve_with(monkeypatch, refuse)
    with pytest.raises(type(error)) as raised:
        asyncio.run(SystemNetwork().resolve("broker", 9092))
    assert raised.value is error


def test_an_answer_that_comes_when_nobody_waits_any_more_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop of the one that asked has ended without waiting for it."""
    asked, answers, done = threading.Event(), threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> list[object]:
        asked.set()
        answers.wait()
        done.set()
        return []

    resolve_with(monkeypatch, slow)

    async def give_up() -> None:
        asking = asyncio.create_task(SystemNetwork().resolve("broker", 9092))
        await asyncio.to_thread(asked.wait)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(give_up())
    assert not done.is_set()
    answers.set()
    (thread,) = [each for each in threading.enumerate() if each.name == "millstream resolver"]
    thread.join()
    assert done.is_set()
