"""The clients of one Python process of Spark, kept between tasks.

Spark runs each step of a task in pooled worker processes and reuses them: a connection opened for one micro-batch serves
the next. Clients move only while `run` is waiting, so there is no thread and nothing to stop when Spark retires a worker.
Not for use from several threads.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from millstream.clients import Producer, RangeReader

_Result = TypeVar("_Result")


@dataclass(slots=True)
class Connections:
    """One event loop with the clients that live on it."""

    bootstrap_servers: str
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)
    _reader: RangeReader | None = None
    _producer: Producer | None = None

    def run(self, work: Coroutine[object, object, _Result]) -> _Result:
        return self.runner.run(work)

    def reader(self) -> RangeReader:
        if self._reader is None:
            self._reader = self.run(
                _made(lambda: RangeReader(bootstrap_servers=self.bootstrap_servers))
            )
        return self._reader

    def producer(self) -> Producer:
        """Idempotent, acks=all. One that has failed for good must be `discard`ed."""
        if self._producer is None:
            self._producer = self.run(
                _made(lambda: Producer(bootstrap_servers=self.bootstrap_servers, linger_ms=0))
            )
        return self._producer

    def discard_producer(self) -> None:
        """Forget a producer whose outcome is unknown; the next task gets a new one with an id of its own."""
        producer, self._producer = self._producer, None
        if producer is not None:
            self.run(producer.close(timeout_ms=0))

    def iterate(self, items: AsyncIterator[_Result]) -> Iterator[_Result]:
        """An async iterator in plain code. The loop stands still while the caller works on an item."""
        while True:
            try:
                yield self.run(_next(items))
            except StopAsyncIteration:
                return


async def _next(items: AsyncIterator[_Result]) -> _Result:
    return await anext(items)


async def _made(make: Callable[[], _Result]) -> _Result:
    """Clients are made inside the loop they belong to."""
    return make()


_OPEN: dict[tuple[int, str], Connections] = {}


def connections(bootstrap_servers: str) -> Connections:
    """The connections of this process to one cluster. The process id is part of the key: a forked worker gets its own."""
    key = (os.getpid(), bootstrap_servers)
    if key not in _OPEN:
        _OPEN[key] = Connections(bootstrap_servers)
    return _OPEN[key]
