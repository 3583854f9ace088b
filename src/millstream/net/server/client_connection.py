"""The client at the other end of a connection."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.security.authorizer import ANONYMOUS


@dataclass(slots=True, eq=False)
class ClientConnection:
    """The connection a request came over. The id is unique while the process lives."""

    connection_id: int
    client_host: str
    client_port: int
    listener_name: str
    principal: str = ANONYMOUS
    software_name: str = "unknown"
    """As the client's ApiVersions request tells it (KIP-511)."""
    software_version: str = "unknown"

    def __str__(self) -> str:
        return f"{self.client_host}:{self.client_port} on {self.listener_name}"
