"""Settings of a connection to a broker: how long it waits, how much it holds, and with whom.

Kafka's names in snake case, Kafka's defaults.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.net.client.config.declarations import integer, setting, text_or_empty
from millstream.net.client.config.security import SecurityConfig, SecuritySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionConfig(SecurityConfig):
    """Settings of who makes connections: its name, its time limits, the sizes of its buffers."""

    client_id: str = setting(
        "",
        text_or_empty,
        "Name of the client in the broker's logs and quotas. Empty: a name is made, such as producer-1.",
    )
    request_timeout_ms: int = setting(
        30_000,
        integer(1),
        "Time limit of one request. The client closes the connection when it is over.",
    )
    socket_connection_setup_timeout_ms: int = setting(
        10_000,
        integer(1),
        "Time limit of connecting to one address. It doubles after each failure.",
    )
    socket_connection_setup_timeout_max_ms: int = setting(
        30_000, integer(1), "The time limit of connecting does not grow beyond this."
    )
    connections_max_idle_ms: int = setting(
        540_000, integer(-1), "A connection that was not used for this time is closed. -1: never."
    )
    send_buffer_bytes: int = setting(
        -1, integer(-1), "Size of the socket's send buffer. -1: the operating system chooses."
    )
    receive_buffer_bytes: int = setting(
        -1, integer(-1), "Size of the socket's receive buffer. -1: the operating system chooses."
    )
    reconnect_backoff_ms: int = setting(
        50,
        integer(0),
        "Wait before the second attempt to connect to an address. It doubles after each failure.",
    )
    reconnect_backoff_max_ms: int = setting(
        1_000, integer(0), "The wait between attempts to connect does not grow beyond this."
    )
    receive_message_bytes_max: int = setting(
        256 * 1024 * 1024,
        integer(1024),
        "A response larger than this is refused. It protects the client's memory.",
    )


class ConnectionSettings(SecuritySettings, total=False):
    """Keyword arguments of who makes connections; see ConnectionConfig."""

    client_id: str
    request_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    connections_max_idle_ms: int
    send_buffer_bytes: int
    receive_buffer_bytes: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    receive_message_bytes_max: int
