"""Rows of the broker: prepared frames over blocking connections, in processor time of the broker's process alone.

A slice is a number of requests, not a time, so that both sides do the same work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

from benchmarks.broker import FLUSH_ON_ACK, Workload, produce_frame
from benchmarks.turns.cpu_clock import process_cpu_s
from benchmarks.turns.ratios import Slice
from benchmarks.turns.worker import Measure, Prepare, warm
from benchmarks.wire import Connection, create_topic, frame_of
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.testing.broker import Broker

_ONE: Final = Workload("one record", 1, 100)
_HUNDRED: Final = Workload("11 KB", 100, 100)
_MEGABYTE: Final = Workload("1 MB", 1000, 1000)
_FILLED: Final = 50
"""Batches of 1 MB that are fetched again and again."""
_CONNECTIONS: Final = 10
_RESPONSE_BYTES_MAX: Final = 2 << 20


@contextmanager
def open_rows() -> Iterator[Mapping[str, Prepare]]:
    with ExitStack() as running:
        never = Brokers(running, "never")
        flushed = Brokers(running, "auto")
        yield {
            "produce 1 x 100 B, one in flight": partial(_produce, never, _ONE, 1, 1_000),
            "produce 1 x 100 B, five in flight": partial(_produce, never, _ONE, 5, 1_500),
            "produce 1 x 100 B, ten connections": partial(_produce_on_many, never, 1_500),
            "produce 1 x 100 B, flushed": partial(_produce, flushed, _ONE, 5, 600),
            "produce 11 KB": partial(_produce, never, _HUNDRED, 5, 1_200),
            "produce 1 MB": partial(_produce, never, _MEGABYTE, 5, 50),
            "produce one, fetch it": partial(_produce_and_fetch, never, 500),
            "fetch 1 MB": partial(_fetch, never, 300),
            "start": _start,
        }


class Brokers:
    """One broker, started when it is first asked for: not every run has rows for it."""

    def __init__(self, running: ExitStack, flush: str) -> None:
        self._running = running
        self._settings = {FLUSH_ON_ACK: flush}
        self._broker: Broker | None = None

    def connect(self) -> Connection:
        if self._broker is None:
            broker = Broker(in_process=False, settings=self._settings)
            self._broker = self._running.enter_context(broker)
        connection = Connection(self._broker.bootstrap_servers, _RESPONSE_BYTES_MAX)
        self._running.callback(connection.close)
        return connection

    def slice_of(self, work: Callable[[], int]) -> Slice:
        """Of work that says how many units it was."""
        assert self._broker is not None, "who works is connected"
        assert self._broker.pid is not None, "the broker has a process of its own"
        before = process_cpu_s(self._broker.pid)
        units = work()
        return Slice(units, process_cpu_s(self._broker.pid) - before)


def exchange(connection: Connection, frames: Iterator[bytes], in_flight: int, count: int) -> int:
    """Sends so many frames and waits for all answers."""
    sent: deque[None] = deque()
    for _ in range(count):
        if len(sent) == in_flight:
            connection.receive()
            sent.pop()
        connection.send(next(frames))
        sent.append(None)
    for _ in sent:
        connection.receive()
    return count


def _forever(*frames: bytes) -> Iterator[bytes]:
    while True:
        yield from frames


def _produce(brokers: Brokers, workload: Workload, in_flight: int, requests: int) -> Measure:
    connection = brokers.connect()
    frames = _forever(produce_frame(create_topic(connection), workload))
    work = partial(exchange, connection, frames, in_flight, requests)
    return warm(partial(brokers.slice_of, work))


def _produce_on_many(brokers: Brokers, requests: int) -> Measure:
    """Each of ten connections has one request in flight."""
    connections = [brokers.connect() for _ in range(_CONNECTIONS)]
    frame = produce_frame(create_topic(connections[0]), _ONE)

    def work() -> int:
        for _ in range(requests // _CONNECTIONS):
            for each in connections:
                each.send(frame)
            for each in connections:
                each.receive()
        return requests

    return warm(partial(brokers.slice_of, work))


def _produce_and_fetch(brokers: Brokers, pairs: int) -> Measure:
    """What a consumer at the end of the log asks for; one connection, so the record is there when it is asked for."""
    connection = brokers.connect()
    topic = create_topic(connection)
    produced = produce_frame(topic, _ONE)

    def both() -> Iterator[bytes]:
        offset = 0
        while True:
            yield produced
            yield _fetch_frame(topic, offset)
            offset += 1

    frames = both()
    return warm(partial(brokers.slice_of, lambda: exchange(connection, frames, 1, 2 * pairs) // 2))


def _fetch(brokers: Brokers, requests: int) -> Measure:
    connection = brokers.connect()
    topic = create_topic(connection)
    exchange(connection, _forever(produce_frame(topic, _MEGABYTE)), 1, _FILLED)
    offsets = range(0, _FILLED * _MEGABYTE.records, _MEGABYTE.records)
    frames = _forever(*(_fetch_frame(topic, offset) for offset in offsets))
    return warm(partial(brokers.slice_of, partial(exchange, connection, frames, 1, requests)))


def _fetch_frame(topic: str, offset: int) -> bytes:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=500, min_bytes=1, max_bytes=1 << 20,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )  # fmt: skip
    return frame_of(ApiKey.FETCH, 11, request)


def _start() -> Measure:
    def slice_() -> Slice:
        with Broker(in_process=False) as broker:
            assert broker.pid is not None, "the broker has a process of its own"
            return Slice(1, process_cpu_s(broker.pid))

    return warm(slice_)
