"""Every setting of the clients, with Kafka's names in snake case and Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from millstream.clients.core.addresses import Address, parse_bootstrap_servers
from millstream.clients.core.settings import (
    boolean,
    integer,
    names,
    one_of,
    optional_text,
    setting,
    text,
)
from millstream.errors import ConfigError

ASSIGNOR_NAMES = ("range", "roundrobin", "cooperative-sticky")
CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")


def _acks(key: str, value: object) -> int:
    acks = {"all": -1, -1: -1, "-1": -1, 0: 0, "0": 0, 1: 1, "1": 1}
    if isinstance(value, (str, int)) and not isinstance(value, bool) and value in acks:
        return acks[value]
    raise ConfigError(f'{key} must be "all", 1 or 0, got {value!r}')


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """Settings of every client: who we are, where the cluster is, how long we wait."""

    bootstrap_servers: tuple[Address, ...] = setting(
        (Address("localhost", 9092),),
        parse_bootstrap_servers,
        "Brokers to ask for the cluster, as host:port,host:port.",
    )
    client_id: str = setting("millstream", text, "Name shown in the broker's logs and quotas.")
    request_timeout_ms: int = setting(
        30_000, integer(1), "How long one request may take before its connection is given up."
    )
    socket_connection_setup_timeout_ms: int = setting(
        10_000, integer(1), "How long connecting to one address may take."
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig(ClientConfig):
    acks: int = setting(-1, _acks, '"all" (every in-sync replica), 1 (leader) or 0 (no answer).')
    enable_idempotence: bool = setting(
        True, boolean, "No duplicates and no reordering by retries; needs acks=all."
    )
    compression_type: str = setting("none", one_of(*CODEC_NAMES), "Codec of the batches.")
    batch_size: int = setting(16_384, integer(0), "A partition's batch is sent at this many bytes.")
    linger_ms: int = setting(5, integer(0), "How long a batch waits for company.")
    buffer_memory: int = setting(
        33_554_432, integer(1024, 2**62), "Bytes of unsent records; send() waits beyond it."
    )
    max_block_ms: int = setting(
        60_000, integer(0), "How long send() may wait for metadata and memory together."
    )
    max_request_size: int = setting(1_048_576, integer(1), "Largest record and request.")
    delivery_timeout_ms: int = setting(
        120_000, integer(1), "A record is acknowledged or failed within this time of send()."
    )
    retries: int = setting(2**31 - 1, integer(0), "Attempts after the first.")
    max_in_flight_requests_per_connection: int = setting(
        5, integer(1), "Unanswered requests per broker; at most 5 with idempotence."
    )

    def __post_init__(self) -> None:
        if self.delivery_timeout_ms < self.linger_ms + self.request_timeout_ms:
            raise ConfigError(
                "delivery_timeout_ms must be at least linger_ms + request_timeout_ms"
                f" ({self.linger_ms + self.request_timeout_ms}), got {self.delivery_timeout_ms}"
            )
        if not self.enable_idempotence:
            return
        if self.acks != -1:
            raise ConfigError('enable_idempotence needs acks="all"; set enable_idempotence=False')
        if self.max_in_flight_requests_per_connection > 5:
            raise ConfigError(
                "enable_idempotence allows max_in_flight_requests_per_connection up to 5, got"
                f" {self.max_in_flight_requests_per_connection}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig(ClientConfig):
    group_id: str | None = setting(None, optional_text, "Group for subscribe() and commits.")
    group_instance_id: str | None = setting(
        None, optional_text, "Name of a static member: it keeps its partitions over a restart."
    )
    auto_offset_reset: str = setting(
        "latest",
        one_of("earliest", "latest", "none"),
        "Where to start without a committed offset or when the offset is gone.",
    )
    enable_auto_commit: bool = setting(
        True, boolean, "Commit what poll() has returned, from later calls of poll()."
    )
    auto_commit_interval_ms: int = setting(5_000, integer(0), "How often that happens.")
    isolation_level: str = setting(
        "read_uncommitted",
        one_of("read_uncommitted", "read_committed"),
        "Whether records of open and aborted transactions are hidden.",
    )
    fetch_min_bytes: int = setting(1, integer(0), "The broker waits for this many bytes.")
    fetch_max_wait_ms: int = setting(500, integer(0), "But not longer than this.")
    fetch_max_bytes: int = setting(52_428_800, integer(0), "Bytes of one fetch response.")
    max_partition_fetch_bytes: int = setting(
        1_048_576, integer(0), "Bytes of one partition in a fetch response."
    )
    max_poll_records: int = setting(500, integer(1), "Records poll() returns at most.")
    max_poll_interval_ms: int = setting(
        300_000, integer(1), "Without a poll() for this long the member leaves its group."
    )
    session_timeout_ms: int = setting(45_000, integer(1), "Silence after which a member is out.")
    heartbeat_interval_ms: int = setting(3_000, integer(1), "How often a member shows life.")
    partition_assignment_strategy: tuple[str, ...] = setting(
        ("range", "cooperative-sticky"), names(*ASSIGNOR_NAMES), "Assignors, the preferred first."
    )
    client_rack: str = setting(
        "", lambda _, value: str(value), "Rack, to fetch from near replicas."
    )
    check_crcs: bool = setting(True, boolean, "Verify the checksum of every batch.")
    allow_auto_create_topics: bool = setting(
        True, boolean, "Asking for a topic that does not exist may create it."
    )
    default_api_timeout_ms: int = setting(
        60_000, integer(0), "Time limit of calls that have none of their own."
    )

    def __post_init__(self) -> None:
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigError("heartbeat_interval_ms must be less than session_timeout_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConfig(ClientConfig):
    default_api_timeout_ms: int = setting(
        60_000, integer(0), "Time limit of calls that have none of their own, retries included."
    )


class ClientSettings(TypedDict, total=False):
    """Keyword arguments of every client; see ClientConfig."""

    bootstrap_servers: str | list[str] | tuple[Address, ...]
    client_id: str
    request_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    metadata_max_age_ms: int
    metadata_recovery_strategy: str
    metadata_recovery_rebootstrap_trigger_ms: int
    receive_message_bytes_max: int


class ProducerSettings(ClientSettings, total=False):
    """Keyword arguments of Producer; see ProducerConfig."""

    acks: str | int
    enable_idempotence: bool
    compression_type: str
    batch_size: int
    linger_ms: int
    buffer_memory: int
    max_block_ms: int
    max_request_size: int
    delivery_timeout_ms: int
    retries: int
    max_in_flight_requests_per_connection: int


class ConsumerSettings(ClientSettings, total=False):
    """Keyword arguments of Consumer; see ConsumerConfig."""

    group_id: str | None
    group_instance_id: str | None
    auto_offset_reset: str
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    isolation_level: str
    fetch_min_bytes: int
    fetch_max_wait_ms: int
    fetch_max_bytes: int
    max_partition_fetch_bytes: int
    max_poll_records: int
    max_poll_interval_ms: int
    session_timeout_ms: int
    heartbeat_interval_ms: int
    partition_assignment_strategy: str | list[str] | tuple[str, ...]
    client_rack: str
    check_crcs: bool
    allow_auto_create_topics: bool
    default_api_timeout_ms: int


class AdminSettings(ClientSettings, total=False):
    """Keyword arguments of Admin; see AdminConfig."""

    default_api_timeout_ms: int
