"""A service that fails, and topologies that ask it again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from millstream.streams import (
    KStream,
    Retry,
    StreamsBuilder,
    Topology,
)
from millstream.streams.serdes import string

CHANGELOG = "app-retries-changelog"
Build = Callable[[KStream[str, str], Retry[str, str]], KStream[str, str]]


def ms(count: int) -> timedelta:
    return timedelta(milliseconds=count)


class Service:
    """Fails for a key as often as `failures` says, then answers in capitals. `calls` has the values it was asked for."""

    def __init__(self, **failures: int) -> None:
        self.failures = Counter(failures)
        self.calls: list[str] = []

    def __call__(self, key: str, value: str) -> str:
        self.calls.append(value)
        if self.failures[key] > 0:
            self.failures[key] -= 1
            raise ConnectionError(f"no answer for {key}")
        return value.upper()


def retry(**options: Any) -> Retry[str, str]:
    return Retry("retries", **{"delay_initial": ms(10), "delay_max": ms(1_000)} | options)


def plain(service: Callable[[str, str], str]) -> Build:
    return lambda stream, options: stream.map_values(service, with_key=True, retry=options)


def awaited(service: Callable[[str, str], str], **limits: Any) -> Build:
    async def ask(key: str, value: str) -> str:
        await asyncio.sleep(0)
        return service(key, value)

    return lambda stream, options: stream.map_values_async(
        ask, with_key=True, retry=options, **limits
    )


def topology(build: Build, options: Retry[str, str] | None = None) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=string(), value=string())
    build(stream, options or retry()).to("out", value=string())
    return builder.build()
