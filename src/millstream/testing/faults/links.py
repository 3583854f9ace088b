"""The network between the nodes of a cluster under test: an entrance before each listener, and links that can be cut.

A node is known by the client id of its first request, `node-ID`; whoever has another one is a client, and
never cut off. While a link is cut its bytes are held, not lost, as TCP does it: what was sent before or
meanwhile arrives when it is mended, late.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from struct import Struct
from types import TracebackType
from typing import Final, Self

_HOST: Final = "127.0.0.1"
_START_TIMEOUT_S: Final = 20.0
_CALLER: Final = re.compile(r"node-([0-9]+)")
_HEAD: Final = Struct(">ihhih")
"""Size, key and version of the API, correlation id, length of the client id: so every request of the protocol
begins."""
_READ_BYTES: Final = 64 * 1024

Link = tuple[int, int]
"""From a node, to a node."""


class NodeLinks:
    """A context manager. It runs in a thread of its own; its methods may be called from any other thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: Future[None] = Future()
        self._stop: asyncio.Event | None = None
        self._cut: frozenset[Link] = frozenset()
        self._changed: asyncio.Event | None = None
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="node-links", daemon=True)

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
        assert self._stop is not None, "the links were not started: use them in a with statement"
        self._running().call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def cut_links(self) -> frozenset[Link]:
        """The links over which nothing passes now."""
        return self._cut

    def open(self, port: int, node_id: int, node_port: int) -> None:
        """Opens an entrance at `port` to where node `node_id` itself listens. Raises OSError."""
        opening = self._open(port, node_id, node_port)
        asyncio.run_coroutine_threadsafe(opening, self._running()).result(_START_TIMEOUT_S)

    def cut(self, links: Iterable[Link]) -> None:
        """Cuts links, beside those that are cut. Returns when nothing passes any more."""
        self._change(self._cut | frozenset(links))

    def mend(self, links: Iterable[Link]) -> None:
        """Mends links; what is held goes on its way."""
        self._change(self._cut - frozenset(links))

    def heal(self) -> None:
        """Mends all links."""
        self._change(frozenset())

    def _change(self, cut: frozenset[Link]) -> None:
        done = threading.Event()

        def change() -> None:
            assert self._changed is not None, "the loop runs"
            self._cut = cut
            self._changed.set()
            self._changed = asyncio.Event()
            done.set()

        self._running().call_soon_threadsafe(change)
        done.wait(_START_TIMEOUT_S)

    def _running(self) -> asyncio.AbstractEventLoop:
        assert self._loop is not None, "the links were not started: use them in a with statement"
        return self._loop

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self._serve())
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
            raise

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop, self._changed = asyncio.Event(), asyncio.Event()
        self._ready.set_result(None)
        await self._stop.wait()
        for server in self._servers:
            server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await asyncio.sleep(0)  # closing takes effect in the loop's next round

    async def _open(self, port: int, node_id: int, node_port: int) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None, "a connection has a task"
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            await self._serve_connection(reader, writer, node_id, node_port)

        self._servers.append(await asyncio.start_server(accept, _HOST, port))

    async def _serve_connection(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        node_id: int,
        node_port: int,
    ) -> None:
        """Carries bytes between a caller and a node until one of them closes."""
        there: asyncio.StreamWriter | None = None
        try:
            head, caller = await _read_head(reader)
            await self._wait_while_cut((caller, node_id))
            answers, there = await asyncio.open_connection(_HOST, node_port)
            there.write(head)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, there, (caller, node_id)))
                group.create_task(self._pump(answers, writer, (node_id, caller)))
        except* (OSError, EOFError, _Closed):
            pass  # the node is not there any more, or one side has closed
        finally:
            writer.transport.abort()
            if there is not None:
                there.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: Link
    ) -> None:
        while data := await reader.read(_READ_BYTES):
            await self._wait_while_cut(link)
            writer.write(data)
            await writer.drain()
        await self._wait_while_cut(link)  # the end is seen no earlier than what was sent before it
        raise _Closed

    async def _wait_while_cut(self, link: Link) -> None:
        while link in self._cut:
            assert self._changed is not None, "the loop runs"
            await self._changed.wait()


class _Closed(Exception):
    """One side has closed."""


async def _read_head(reader: asyncio.StreamReader) -> tuple[bytes, int]:
    """Reads the beginning of the first request, and who sends it: -1 for a client."""
    head = await reader.readexactly(_HEAD.size)
    length = max(0, _HEAD.unpack(head)[-1])
    client_id = await reader.readexactly(length)
    found = _CALLER.fullmatch(client_id.decode(errors="replace"))
    return head + client_id, int(found[1]) if found is not None else -1
