"""Who is at the other end of a connection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientConnection:
    """The connection a request came over. The id is unique while the process lives."""

    connection_id: int
    client_host: str
    client_port: int
    listener_name: str
    principal: str = "User:ANONYMOUS"

    def __str__(self) -> str:
        return f"{self.client_host}:{self.client_port} on {self.listener_name}"
