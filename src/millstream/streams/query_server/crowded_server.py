"""A server of uvicorn that counts clients from the moment they are accepted, also those that never shake hands.

uvicorn leaves accepting to asyncio, whose handshakes have a minute and no bound: a few hundred clients a
second that say nothing take all file descriptors. Here as many may shake hands as may be connected, for ten
seconds, and the oldest makes room for the next.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import TYPE_CHECKING, Final

import uvicorn

from millstream.net.client.tasks import uncancelled
from millstream.net.listening_socket import accepted

if TYPE_CHECKING:
    import socket

    from millstream.streams.query_server.crowded_http import GivesWay

_HANDSHAKE_S: Final = 10
"""A handshake is two round trips: who needs longer on a bad line can ask again."""
_LOGGER = logging.getLogger(__name__)


class CrowdedServer(uvicorn.Server):
    """Serves `listening`, with TLS where a context is given."""

    def __init__(
        self,
        config: uvicorn.Config,
        connection_type: type[GivesWay],
        listening: socket.socket,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(config)
        listening.setblocking(False)
        self._connection_type = connection_type
        self._listening = listening
        self._tls = tls
        self._opening: dict[asyncio.Task[None], None] = {}
        """Those that shake hands, the oldest first."""
        self._accepting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Has uvicorn listen nowhere, and accepts by itself."""
        await super().startup(sockets=sockets or [])
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait([self._accepting])
        self._listening.close()
        await super().shutdown(sockets=sockets)

    async def _accept(self) -> None:
        try:
            await uncancelled(self._accept_all(), "accepting")
        except Exception:
            _LOGGER.exception("no more connections are accepted")
            self.should_exit = True

    async def _accept_all(self) -> None:
        async with asyncio.TaskGroup() as tasks:  # a handshake that is cancelled ends alone
            async for connection in accepted(self._listening):
                task = tasks.create_task(self._open(connection))
                self._opening[task] = None
                task.add_done_callback(lambda done: self._opening.pop(done, None))
                if len(self._opening) > self._connection_type.connections_max:
                    next(iter(self._opening)).cancel()

    async def _open(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()

        def protocol() -> GivesWay:
            return self._connection_type(
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
                _loop=loop,
            )

        try:
            async with asyncio.timeout(_HANDSHAKE_S):
                await loop.connect_accepted_socket(protocol, connection, ssl=self._tls)
        except (OSError, TimeoutError) as why:  # ssl.SSLError is an OSError
            _LOGGER.debug("a connection was dropped in its handshake: %s", why)
            connection.close()
        except asyncio.CancelledError:
            connection.close()
            raise
