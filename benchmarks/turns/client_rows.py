"""Rows of the clients: work of benchmarks/clients.py and client_latency.py, in processor time of the client's process alone.

The broker is a process of its own, of the same checkout.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Final

from benchmarks import client_latency, clients
from benchmarks.clients import Load
from benchmarks.turns.ratios import Slice
from benchmarks.turns.worker import Measure, Prepare, warm
from millstream.clients import NewTopic, blocking
from millstream.testing.broker import Broker

_VALUE: Final = b"x" * 100
_PRODUCE: Final = {
    "produce by record": (clients.ours_produce, 40_000),
    "produce, blocking": (clients.ours_blocking_produce, 40_000),
    "produce, Arrow": (clients.ours_arrow_produce, 300_000),
}
_CONSUME: Final = {
    "consume by record": (clients.ours_consume, 300_000),
    "consume, blocking": (clients.ours_blocking_consume, 300_000),
    "consume, Arrow": (clients.ours_arrow_consume, 1_000_000),
}
_FILLED: Final = max(records for _, records in _CONSUME.values())
_ACKNOWLEDGED: Final = 400


@contextmanager
def open_rows() -> Iterator[Mapping[str, Prepare]]:
    with Broker(in_process=False) as broker:
        topics = Topics(broker.bootstrap_servers)
        rows: dict[str, Prepare] = {
            name: partial(_produce, topics, work, records)
            for name, (work, records) in _PRODUCE.items()
        }
        for name, (work, records) in _CONSUME.items():
            rows[name] = partial(_consume, topics, work, records)
        rows["produce, acknowledged one by one"] = partial(_acknowledged, topics)
        yield rows


class Topics:
    """Topics of one partition. The one to be read is filled once."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._numbers = count()
        self._filled = ""

    def create(self) -> str:
        name = f"turns-{next(self._numbers)}"
        with blocking.Admin(bootstrap_servers=self.bootstrap) as admin:
            admin.create_topics([NewTopic(name, 1, 1)]).raise_errors()
        return name

    def filled(self) -> str:
        if not self._filled:
            self._filled = self.create()
            clients.ours_arrow_produce(Load(self.bootstrap, self._filled, _FILLED, _VALUE))
        return self._filled


def _produce(topics: Topics, work: Callable[[Load], None], records: int) -> Measure:
    load = Load(topics.bootstrap, topics.create(), records, _VALUE)
    return warm(lambda: Slice(records, clients.measure(work, load).cpu_seconds))


def _consume(topics: Topics, work: Callable[[Load], None], records: int) -> Measure:
    load = Load(topics.bootstrap, topics.filled(), records, _VALUE)
    return warm(lambda: Slice(records, clients.measure(work, load).cpu_seconds))


def _acknowledged(topics: Topics) -> Measure:
    topic = topics.create()

    def slice_() -> Slice:
        before = time.process_time()
        client_latency.ours_acknowledged(topics.bootstrap, topic, _ACKNOWLEDGED)
        return Slice(_ACKNOWLEDGED, time.process_time() - before)

    return warm(slice_)
