"""The context of one request, which handlers are given beside its body: sender, connection and time."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.coordinator.result import NO_TOKEN, Caller
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.api import Message
from millstream.protocol.generated.headers import RequestHeader
from millstream.runtime import Instant


@dataclass(slots=True)
class RequestContext:
    """The context of a request, passed to `handle` beside its body. Mutable only for fast construction: no code changes it."""

    header: RequestHeader
    connection: ClientConnection
    now: Instant
    """Both clocks when the request had been decoded."""
    is_long: bool = False
    """It has thousands of elements, which belong together: what is done with all of them at once is done in a thread."""
    cut_from: Message | None = None
    """The whole request, of which this is a part (`long_requests`)."""

    @property
    def version(self) -> int:
        return self.header.request_api_version

    @property
    def client_id(self) -> str:
        """The client id; empty when the client sent none."""
        return self.header.client_id or ""

    @property
    def client_host(self) -> str:
        return self.connection.client_host

    @property
    def listener_name(self) -> str:
        return self.connection.listener_name

    @property
    def connection_id(self) -> int:
        return self.connection.connection_id

    @property
    def caller(self) -> Caller:
        """The caller, as the shard of a coordinator records it."""
        return Caller(NO_TOKEN, self.version, self.client_id, f"/{self.client_host}", self.is_long)
