"""`FaultProxy`: stands between clients and brokers, and lets go wrong what its rules say.

    with Broker() as broker, FaultProxy(broker.bootstrap_servers, [Rule(CloseAfter(), [ApiKey.PRODUCE], times=3)]) as proxy:
        producer = Producer(bootstrap_servers=proxy.bootstrap_servers)

It reads Kafka's frames and puts its own addresses where brokers tell theirs, so all that a client does goes through it:
one listener for each broker. For any client of Kafka, without TLS. It runs in a thread of its own, so tests may be
asyncio or not. What goes wrong is decided in `plan`; the life of one connection is `connection`'s.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Final, Self

from millstream.protocol.api import ApiKey
from millstream.testing.faults.connection import Address, FaultConnection
from millstream.testing.faults.plan import FaultPlan, Rule, SeenRequest

_START_TIMEOUT_S: Final = 20.0
_HOST: Final = "127.0.0.1"


class _Stop(Exception):
    """The proxy is done."""


class FaultProxy:
    """A context manager. `plan` and `requests` tell what happened. Its methods may be called from any thread."""

    def __init__(
        self,
        bootstrap_servers: str,
        rules: Sequence[Rule] = (),
        *,
        seed: int = 0,
        counts_refusals: bool = False,
    ) -> None:
        """`counts_refusals`: count the errors in all answers, which takes time for each."""
        self._upstream = [_address(server) for server in bootstrap_servers.split(",")]
        self.seed = seed
        self.plan = FaultPlan(tuple(rules), seed)
        self.requests: list[SeenRequest] = []
        """All that clients asked, in the order it came in."""
        self.counts_refusals = counts_refusals
        self.refusals: Counter[tuple[ApiKey, int]] = Counter()
        """With `counts_refusals`: how often brokers answered with an error, by what was asked and its code; in an
        answer with several, each."""
        self.node_ids: dict[Address, int] = {}
        self.topic_names: dict[object, str] = {}
        self._ready: Future[str] = Future()
        self._ended: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._group: asyncio.TaskGroup | None = None
        self._ports: dict[Address, int] = {}
        self._servers: list[asyncio.Server] = []
        self._connections: set[FaultConnection] = set()
        self._opening = asyncio.Lock()
        self._thread = threading.Thread(target=self._run, name="fault-proxy", daemon=True)

    def __repr__(self) -> str:
        upstream = ",".join(f"{host}:{port}" for host, port in self._upstream)
        return f"<{type(self).__name__} before {upstream}, seed {self.seed}>"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.result(_START_TIMEOUT_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raises what ended the proxy before its time."""
        if not self._ended.done():
            assert self._stop is not None, "the proxy was not started: use it in a with statement"
            self._call(self._stop.set)
        self._thread.join()
        self._ended.result()

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT of the proxy, for clients. In a `with` block only."""
        return self._ready.result(0)

    @property
    def connection_count(self) -> int:
        """Connections of clients that are open now."""
        return len(self._connections)

    def set_rules(self, rules: Sequence[Rule]) -> None:
        """Replaces the rules from the next request on; counts start at 0."""
        self.plan = FaultPlan(tuple(rules), self.seed)

    def heal(self) -> None:
        """Ends all faults; what hangs in a dead connection is let go by closing that connection."""
        self.set_rules(())
        self._call(self._close_dead)

    def close_connections(self) -> None:
        """Closes all connections at once; clients may connect again."""
        self._call(self._close_all)

    async def address_for(self, upstream: Address) -> Address:
        """Returns the address where clients reach `upstream` through the proxy.

        For the connections, on the proxy's own loop.
        """
        async with self._opening:
            if upstream not in self._ports:
                server = await asyncio.start_server(
                    lambda reader, writer: self._accept(upstream, reader, writer), _HOST, 0
                )
                self._servers.append(server)
                self._ports[upstream] = server.sockets[0].getsockname()[1]
        return _HOST, self._ports[upstream]

    def _accept(
        self, upstream: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        assert self._group is not None, "listeners are opened inside the group"
        assert self._stop is not None, "listeners are opened after the start"
        if self._stop.is_set():
            writer.transport.abort()
            return
        connection = FaultConnection(self, upstream, reader, writer)
        self._connections.add(connection)
        task = self._group.create_task(connection.run())
        task.add_done_callback(lambda _: self._connections.discard(connection))

    def _call(self, action: Callable[[], object]) -> None:
        """On the proxy's own loop."""
        assert self._loop is not None, "the proxy was not started: use it in a with statement"
        self._loop.call_soon_threadsafe(action)

    def _close_all(self) -> None:
        for connection in self._connections:
            connection.abort()

    def _close_dead(self) -> None:
        for connection in self._connections:
            if connection.is_dead:
                connection.abort()

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for it
            self._ended.set_exception(error)
            if not self._ready.done():
                self._ready.set_exception(error)
        else:
            self._ended.set_result(None)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as self._group:
                addresses = [await self.address_for(upstream) for upstream in self._upstream]
                self._ready.set_result(",".join(f"{host}:{port}" for host, port in addresses))
                await _wait_for_stop(self._stop)
        except* _Stop:
            pass
        finally:
            for server in self._servers:
                server.close()
            self._close_all()
            await asyncio.sleep(0)  # closing takes effect in the loop's next round


async def _wait_for_stop(stop: asyncio.Event) -> None:
    """Raises _Stop, which ends the connections too."""
    await stop.wait()
    raise _Stop


def _address(server: str) -> Address:
    host, _, port = server.strip().rpartition(":")
    return host, int(port)
