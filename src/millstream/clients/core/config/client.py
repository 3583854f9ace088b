"""Settings of every client: who we are, where the cluster is, how long we wait. Kafka's names in snake case, Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.clients.core.addresses import Address, parse_bootstrap_servers
from millstream.clients.core.config.security import SecurityConfig, SecuritySettings
from millstream.clients.core.settings import boolean, integer, one_of, setting, text_or_empty


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig(SecurityConfig):
    """Settings of every client: who we are, where the cluster is, how long we wait."""

    bootstrap_servers: tuple[Address, ...] = setting(
        (Address("localhost", 9092),),
        parse_bootstrap_servers,
        "Addresses of some brokers, as host:port,host:port. The client learns of the others from them.",
    )
    client_id: str = setting(
        "",
        text_or_empty,
        "Name of the client in the broker's logs and quotas. Empty: a name is made, such as producer-1.",
    )
    client_dns_lookup: str = setting(
        "use_all_dns_ips",
        one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        "use_all_dns_ips: try every IP address of a name. resolve_canonical_bootstrap_servers_only: replace each bootstrap name by the canonical names of its addresses first.",
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
    retry_backoff_ms: int = setting(
        100, integer(0), "Wait before a request is sent again. It doubles after each failure."
    )
    retry_backoff_max_ms: int = setting(
        1_000, integer(0), "The wait before a request is sent again does not grow beyond this."
    )
    metadata_max_age_ms: int = setting(
        300_000,
        integer(1),
        "Metadata is fetched again when it is older than this, even if nothing seems wrong.",
    )
    metadata_recovery_strategy: str = setting(
        "rebootstrap",
        one_of("none", "rebootstrap"),
        "What happens when no known broker answers. rebootstrap: start again from bootstrap_servers. none: keep trying the known brokers.",
    )
    metadata_recovery_rebootstrap_trigger_ms: int = setting(
        300_000,
        integer(0),
        "With metadata_recovery_strategy=rebootstrap: start again from bootstrap_servers at the latest when no known broker has answered for this time.",
    )
    receive_message_bytes_max: int = setting(
        256 * 1024 * 1024,
        integer(1024),
        "A response larger than this is refused. It protects the client's memory.",
    )
    enable_metrics_push: bool = setting(
        False, boolean, "Send metrics of this client to brokers that ask for them (KIP-714)."
    )

    @property
    def metrics_prefix(self) -> str:
        """What the names of pushed metrics begin with, after the domain."""
        return "client"

    @property
    def topic_idle_ms_max(self) -> int | None:
        """A topic that was not used for so long is no longer asked for; None: it always is."""
        return 300_000

    def default_client_id(self, number: int) -> str:
        """The name of a client that was given none; `number` counts the clients of its kind in this process from 1."""
        return f"client-{number}"


class ClientSettings(SecuritySettings, total=False):
    """Keyword arguments of every client; see ClientConfig."""

    bootstrap_servers: str | list[str] | tuple[Address, ...]
    client_id: str
    client_dns_lookup: str
    request_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    connections_max_idle_ms: int
    send_buffer_bytes: int
    receive_buffer_bytes: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    metadata_max_age_ms: int
    metadata_recovery_strategy: str
    metadata_recovery_rebootstrap_trigger_ms: int
    receive_message_bytes_max: int
    enable_metrics_push: bool
