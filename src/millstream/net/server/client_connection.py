"""The client at the other end of a connection: what every request of it has in common.

One object a connection, made when the connection is accepted. A login replaces its principal, when it has
succeeded and before the next request is read: nothing asks for the principal in between, and a second login
may not change who it is (KIP-368).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.metadata.broker_registration import SecurityProtocol
from millstream.security.principal import ANONYMOUS, KafkaPrincipal


@dataclass(slots=True, eq=False)
class ClientConnection:
    """The connection a request came over. The id is unique while the process lives.

    An authorizer is given it as who asks.
    """

    connection_id: int
    client_host: str
    client_port: int
    listener_name: str
    principal: KafkaPrincipal = ANONYMOUS
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    is_forwarded: bool = False
    """Another broker has passed on its request. The other fields are those of that client, but for
    listener, protocol and port."""
    software_name: str = "unknown"
    """As the client's ApiVersions request tells it (KIP-511)."""
    software_version: str = "unknown"
    pause: Callable[[int], None] | None = None
    """Starts no further request of this connection for so many milliseconds (KIP-219). None where
    requests come in envelopes."""

    def __str__(self) -> str:
        return f"{self.client_host}:{self.client_port} on {self.listener_name}"


@dataclass(slots=True)
class LoginCounts:
    """Counts what became of the logins at a listener."""

    successful: int = 0
    failed: int = 0
    successful_again: int = 0
    failed_again: int = 0
    ended: int = 0
    """Connections closed since their session had ended and they did not log in again."""


def audited_login(
    connection: ClientConnection, *, is_allowed: bool, **more: str | bool
) -> dict[str, dict[str, str | int | bool]]:
    """Returns what a line of the log about a login has for programs, beside its text (`extra` of `logging`)."""
    fields: dict[str, str | int | bool] = {
        "login": "accepted" if is_allowed else "refused",
        "allowed": is_allowed,
        "host": connection.client_host,
        "listener": connection.listener_name,
        "connection": connection.connection_id,
    }
    return {"audit": {**fields, **more}}
