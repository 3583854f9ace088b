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
        "Brokers to ask for the cluster, as host:port,host:port.",
    )
    client_id: str = setting(
        "",
        text_or_empty,
        "Name shown in the broker's logs and quotas; empty: made from the client's kind.",
    )
    client_dns_lookup: str = setting(
        "use_all_dns_ips",
        one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        "Try every address of a name; or first replace bootstrap names by the canonical names of all their addresses.",
    )
    request_timeout_ms: int = setting(
        30_000, integer(1), "How long one request may take before its connection is given up."
    )
    socket_connection_setup_timeout_ms: int = setting(
        10_000, integer(1), "How long connecting to one address may take at first."
    )
    socket_connection_setup_timeout_max_ms: int = setting(
        30_000, integer(1), "Limit of that time, which doubles with each failure in a row."
    )
    connections_max_idle_ms: int = setting(
        540_000, integer(-1), "A connection without traffic for so long is closed; -1: never."
    )
    send_buffer_bytes: int = setting(
        -1, integer(-1), "Send buffer of the socket; -1: what the operating system chooses."
    )
    receive_buffer_bytes: int = setting(
        -1, integer(-1), "Receive buffer of the socket; -1: what the operating system chooses."
    )
    reconnect_backoff_ms: int = setting(50, integer(0), "First wait before connecting again.")
    reconnect_backoff_max_ms: int = setting(1_000, integer(0), "Longest wait before connecting.")
    retry_backoff_ms: int = setting(100, integer(0), "First wait before a retry.")
    retry_backoff_max_ms: int = setting(1_000, integer(0), "Longest wait before a retry.")
    metadata_max_age_ms: int = setting(
        300_000, integer(1), "Metadata older than this is fetched again without a reason."
    )
    metadata_recovery_strategy: str = setting(
        "rebootstrap",
        one_of("none", "rebootstrap"),
        "What to do when no known broker answers: go back to bootstrap_servers, or not.",
    )
    metadata_recovery_rebootstrap_trigger_ms: int = setting(
        300_000, integer(0), "How long no known broker may answer before that happens."
    )
    receive_message_bytes_max: int = setting(
        256 * 1024 * 1024, integer(1024), "Largest response accepted; guards memory."
    )
    enable_metrics_push: bool = setting(
        False, boolean, "Push metrics of this client to the brokers that ask for them (KIP-714)."
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
