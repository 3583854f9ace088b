"""Clients of an application whose making and closing is noted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millstream.clients import Admin, Consumer, Producer, RangeReader
from millstream.streams.application.clients import DefaultClientSupplier

_Client = TypeVar("_Client")


class WatchedClients(DefaultClientSupplier):
    """`made` and `closed` have client ids, in order. Those of the application that other calls of it make and close are left out."""

    def __init__(self, servers: str) -> None:
        super().__init__({"bootstrap_servers": servers})
        self.made: list[str] = []
        self.closed: list[str] = []

    def admin(self, client_id: str) -> Admin:
        return self._watched(client_id, super().admin(client_id))

    def consumer(self, client_id: str, *, read_committed: bool) -> Consumer[bytes, bytes]:
        return self._watched(client_id, super().consumer(client_id, read_committed=read_committed))

    def reader(self, client_id: str, *, read_committed: bool) -> RangeReader:
        return self._watched(client_id, super().reader(client_id, read_committed=read_committed))

    def global_reader(self, client_id: str, *, read_committed: bool) -> RangeReader:
        made = super().global_reader(client_id, read_committed=read_committed)
        return self._watched(client_id, made)

    def producer(self, client_id: str, transactional_id: str | None) -> Producer:
        return self._watched(client_id, super().producer(client_id, transactional_id))

    def _watched(self, client_id: str, client: _Client) -> _Client:
        self.made.append(client_id)
        close: Callable[..., Any] = client.close  # type: ignore[attr-defined]  # all clients have it

        async def noted(**settings: Any) -> None:  # Any: as `close` of the client
            await close(**settings)
            self.closed.append(client_id)

        client.close = noted  # type: ignore[attr-defined]  # for this client alone
        return client
