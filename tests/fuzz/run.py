"""Throws requests at the dispatcher of a node in this process: `python -m tests.fuzz.run --count 1000000 --seed 1`.

With `--authorizer` the client has logged in, and the node asks its access rules, which the requests make and delete themselves.

A run fails when the node ends, an exception other than a protocol error leaves the dispatcher, a request fails unexpectedly (it is
logged as such), one takes longer than `SLOW_S`, or memory grows beyond `--growth-mb`. Prints each finding with its frame.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Final

import psutil

from millstream.broker.config.broker_config import broker_config
from millstream.broker.node import process as node_process
from millstream.broker.node.process import NodeProcess, ReadyReport
from millstream.broker.requests.dispatch import Dispatcher
from millstream.broker.requests.handler_services import HandlerServices
from millstream.broker.requests.registry import HANDLERS, Handler
from millstream.errors import ProtocolError
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_response
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom
from millstream.security.principal import USER_TYPE, KafkaPrincipal
from tests.fuzz.requests import TOPICS, Pools, RequestSource

SLOW_S: Final = 1.0
CLIENT: Final = KafkaPrincipal(USER_TYPE, "fuzz")
_PENDING_MAX: Final = 200
_CONNECTIONS: Final = 8
_TEACHERS: Final = frozenset(
    {
        ApiKey.JOIN_GROUP,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.SHARE_GROUP_HEARTBEAT,
        ApiKey.STREAMS_GROUP_HEARTBEAT,
    }
)
"""APIs whose answers have ids in them that make later requests meaningful."""
SETTINGS: Final = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "millstream.flush.on.ack": "never",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.max.size": "20",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


@dataclass
class Report:
    """`findings` are sentences; empty when all is well."""

    requests: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    grown_mb: float = 0.0

    def __str__(self) -> str:
        told = ", ".join(f"{count} {what}" for what, count in sorted(self.outcomes.items()))
        return (
            f"{self.requests} requests in {self.seconds:.1f} s ({self.requests / max(self.seconds, 0.001):.0f}/s): {told}; "
            f"memory grew by {self.grown_mb:.0f} MB; {len(self.findings)} findings"
        )


class _Caught:
    """The dispatcher of the node, for who is not a socket. It has one and is none: compiled classes are not inherited from."""

    made: list[_Caught] = []  # noqa: RUF012  # emptied by `fuzz`

    def __init__(self, services: HandlerServices, handlers: Mapping[ApiKey, Handler]) -> None:
        dispatcher = Dispatcher(services, handlers)
        self.handle = dispatcher.handle
        self.may_overlap = dispatcher.may_overlap
        self.metadata = services.metadata
        self.made.append(self)


class _Complaints(logging.Handler):
    """Errors that the broker logs: what fails unexpectedly is a finding, what it tells its operator is not."""

    def __init__(self, report: Report) -> None:
        super().__init__(logging.ERROR)
        self._report = report
        self.frame = b""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            text = logging.Formatter().format(record)
            self._report.findings.append(f"{text}\n    frame {self.frame.hex()}")


WITH_RULES: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
}


async def fuzz(count: int, seed: int, settings: Mapping[str, str] | None = None) -> Report:
    report = Report()
    directory = tempfile.mkdtemp(prefix="millstream-fuzz-")
    complaints = _Complaints(report)
    logging.getLogger("millstream").addHandler(complaints)
    original, node_process.Dispatcher = node_process.Dispatcher, _Caught  # type: ignore[misc, assignment]  # how we get hold of it
    config = broker_config({**SETTINGS, **(settings or {}), "log.dirs": directory})
    process = NodeProcess(config, SystemClock(), SystemRandom(), SystemFileSystem())
    ready: asyncio.Future[ReadyReport] = asyncio.get_running_loop().create_future()
    life = asyncio.ensure_future(process.run(ready.set_result))  # awaited below
    try:
        await asyncio.wait([life, ready], return_when=asyncio.FIRST_COMPLETED)
        await _Thrower(_Caught.made.pop(), report, complaints, seed).throw(count, life)
        if life.done():
            report.findings.append(f"the node ended: {life.exception()!r}")
        else:
            process.request_abort()
            await life
    finally:
        node_process.Dispatcher = original  # type: ignore[misc]  # see above
        logging.getLogger("millstream").removeHandler(complaints)
        shutil.rmtree(directory, ignore_errors=True)
    return report


class _Thrower:
    def __init__(
        self, dispatcher: _Caught, report: Report, complaints: _Complaints, seed: int
    ) -> None:
        self._dispatcher = dispatcher
        self._report = report
        self._complaints = complaints
        self._pools = Pools()
        self._source = RequestSource(seed, HANDLERS, self._pools)
        self._connections = [
            ClientConnection(number, "127.0.0.1", 1000 + number, "PLAINTEXT")
            for number in range(_CONNECTIONS)
        ]
        for connection in self._connections:
            connection.principal = CLIENT
        self._pending: deque[asyncio.Task[None]] = deque()

    async def throw(self, count: int, life: asyncio.Future[None]) -> None:
        started = time.monotonic()
        settled_bytes = 0
        for number in range(count):
            self._one(self._source.frame(), self._connections[number % _CONNECTIONS])
            if number % 20 == 0:
                await self._let_others_run()
            if number % 5000 == 0:
                self._learn_topics()
            if number == count // 5:
                settled_bytes = psutil.Process().memory_info().rss
            if life.done():
                break
            self._report.requests = number + 1
        await asyncio.sleep(0)  # a task that never began could not end what it waits for
        for task in self._pending:
            task.cancel()
        await asyncio.gather(*self._pending, return_exceptions=True)
        self._report.seconds = time.monotonic() - started
        self._report.grown_mb = (psutil.Process().memory_info().rss - settled_bytes) / 1e6

    def _one(self, frame: bytearray, connection: ClientConnection) -> None:
        self._complaints.frame = kept = bytes(frame)
        started = time.thread_time()
        try:
            answer = self._dispatcher.handle(memoryview(frame), connection)
        except ProtocolError:
            self._report.outcomes["closed"] += 1
        except Exception as error:  # noqa: BLE001 - a finding
            self._report.findings.append(f"{error!r} left the dispatcher\n    frame {kept.hex()}")
        else:
            if answer is None:
                self._report.outcomes["not answered"] += 1
            elif isinstance(answer, Awaitable):
                self._report.outcomes["waiting"] += 1
                self._pending.append(
                    asyncio.ensure_future(self._wait(answer, kept))
                )  # held in `_pending`
            else:
                self._learn(kept, answer)
        took = (
            time.thread_time() - started
        )  # of the processor: a machine that is busy makes nobody slow
        if took > SLOW_S:
            self._report.findings.append(f"took {took:.1f} s\n    frame {kept.hex()[:4000]}")

    async def _wait(self, answer: Awaitable[object], frame: bytes) -> None:
        try:
            self._learn(frame, await answer)
        except (ProtocolError, asyncio.CancelledError):
            pass
        except Exception as error:  # noqa: BLE001 - a finding
            self._report.findings.append(f"{error!r} left a handler\n    frame {frame.hex()}")

    def _learn(self, frame: bytes, answer: object) -> None:
        self._report.outcomes["answered"] += 1
        key, version = ApiKey(int.from_bytes(frame[:2], "big")), int.from_bytes(frame[2:4], "big")
        if answer is None or key not in _TEACHERS or self._source.random.random() > 0.3:
            return
        data = b"".join(bytes(piece) for piece in answer)  # type: ignore[attr-defined]  # pieces of a frame
        self._pools.learn(decode_response(key, version, memoryview(data)[4:])[1])

    def _learn_topics(self) -> None:
        image = self._dispatcher.metadata.image
        found = [image.topic(name) for name in TOPICS]
        self._pools.topic_ids[2:] = [topic.topic_id for topic in found if topic is not None]

    async def _let_others_run(self) -> None:
        """Whoever waits too long is sent away in the end, as by a connection that closes."""
        await asyncio.sleep(0)
        if len(self._pending) > _PENDING_MAX:
            await asyncio.wait([*self._pending][: _PENDING_MAX // 2], timeout=0.05)
        while self._pending and (len(self._pending) > _PENDING_MAX or self._pending[0].done()):
            self._pending.popleft().cancel()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--growth-mb", type=float, default=200.0)
    parser.add_argument("--authorizer", action="store_true")
    options = parser.parse_args(arguments)
    logging.getLogger("millstream").setLevel(logging.ERROR)
    report = asyncio.run(
        fuzz(options.count, options.seed, WITH_RULES if options.authorizer else None)
    )
    if report.grown_mb > options.growth_mb:
        report.findings.append(f"memory grew by {report.grown_mb:.0f} MB")
    for finding in report.findings[:20]:
        sys.stdout.write(f"{finding}\n\n")
    sys.stdout.write(f"{report}\n")
    return 1 if report.findings else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
