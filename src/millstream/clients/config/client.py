"""Settings of every client: where the cluster is, how long it waits before it asks again.

Kafka's names in snake case, Kafka's defaults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.net.client.config.connection import ConnectionConfig, ConnectionSettings
from millstream.net.client.config.declarations import boolean, integer, one_of, setting
from millstream.net.client.core.addresses import Address, parse_bootstrap_servers

WAIT_FOR_EVER_MS: Final = 2**31 - 1
"""For clients inside of what was connected before: to them a cluster that refuses is one that restarts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig(ConnectionConfig):
    """Settings of every client beyond those of its connections: where the cluster is, when it asks again."""

    bootstrap_servers: tuple[Address, ...] = setting(
        (Address("localhost", 9092),),
        parse_bootstrap_servers,
        "Addresses of some brokers, as host:port,host:port. The client learns of the others from them.",
    )
    bootstrap_wait_ms: int = setting(
        1_000,
        integer(0),
        "How long a client that has never been connected waits for a cluster that has yet to start: for this time it tries again when every bootstrap address refuses the connection or has a name that is not known, then calls raise BrokerNotAvailable. 0: the first try decides. Once connected, a client waits for a cluster that goes away as Kafka's clients do.",
    )
    client_dns_lookup: str = setting(
        "use_all_dns_ips",
        one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        "use_all_dns_ips: try every IP address of a name. resolve_canonical_bootstrap_servers_only: replace each bootstrap name by the canonical names of its addresses first.",
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
    enable_metrics_push: bool = setting(
        False, boolean, "Send metrics of this client to brokers that ask for them (KIP-714)."
    )

    @property
    def metrics_prefix(self) -> str:
        """The prefix of the names of pushed metrics, after the domain."""
        return "client"

    @property
    def topic_idle_ms_max(self) -> int | None:
        """A topic that was not used for so long is no longer asked for; None: it always is."""
        return 300_000

    def default_client_id(self, number: int) -> str:
        """Returns the name of a client that was given none; `number` counts the clients of
        its kind in this process from 1.
        """
        return f"client-{number}"


class ClientSettings(ConnectionSettings, total=False):
    """Keyword arguments of every client; see ClientConfig."""

    bootstrap_servers: str | list[str] | tuple[Address, ...]
    bootstrap_wait_ms: int
    client_dns_lookup: str
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    metadata_max_age_ms: int
    metadata_recovery_strategy: str
    metadata_recovery_rebootstrap_trigger_ms: int
    enable_metrics_push: bool
