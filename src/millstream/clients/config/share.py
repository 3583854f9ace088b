"""Settings of the share consumer (KIP-932)."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.clients.config.client import ClientConfig, ClientSettings
from millstream.errors import ConfigError
from millstream.net.client.config.declarations import (
    boolean,
    integer,
    one_of,
    setting,
    text,
    text_or_empty,
)

IMPLICIT = "implicit"
EXPLICIT = "explicit"
BATCH_OPTIMIZED = "batch_optimized"
RECORD_LIMIT = "record_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareConsumerConfig(ClientConfig):
    """Settings of a share consumer.

    These are the group's, and not the consumer's: share.auto.offset.reset, share.isolation.level,
    lock and delivery limits.
    """

    group_id: str = setting("", text, "Name of the share group. It is required.")
    share_acknowledgement_mode: str = setting(
        IMPLICIT,
        one_of(IMPLICIT, EXPLICIT),
        "implicit: the next poll() accepts the records of the last one. explicit: you acknowledge every record.",
    )
    share_acquire_mode: str = setting(
        BATCH_OPTIMIZED,
        one_of(BATCH_OPTIMIZED, RECORD_LIMIT),
        "batch_optimized: poll() returns whole batches, which may be more than max_poll_records. record_limit: never more than max_poll_records.",
    )
    fetch_min_bytes: int = setting(
        1,
        integer(0),
        "The broker waits until it has this many bytes to send, but not longer than fetch_max_wait_ms.",
    )
    fetch_max_wait_ms: int = setting(
        500, integer(0), "Longest time that the broker waits for fetch_min_bytes."
    )
    fetch_max_bytes: int = setting(
        52_428_800,
        integer(1),
        "Most bytes in one fetch response. The first batch is sent even if it is larger.",
    )
    max_poll_records: int = setting(
        500, integer(1), "Number of records that poll() tries to return. See share_acquire_mode."
    )
    max_poll_interval_ms: int = setting(
        300_000, integer(1), "A member that does not call poll() for this time leaves its group."
    )
    client_rack: str = setting(
        "",
        text_or_empty,
        "Name of the client's rack, sent to the group's coordinator.",
    )
    check_crcs: bool = setting(True, boolean, "Check the checksum of every batch.")
    allow_auto_create_topics: bool = setting(
        True,
        boolean,
        "Allow the broker to create a topic that this client asks for and that does not exist.",
    )
    default_api_timeout_ms: int = setting(
        60_000, integer(0), "Time limit of a call that has no timeout_ms of its own."
    )

    @property
    def topic_idle_ms_max(self) -> int | None:
        return None

    @property
    def metrics_prefix(self) -> str:
        return "consumer"

    def default_client_id(self, number: int) -> str:
        return f"consumer-{self.group_id}-{number}"

    def __post_init__(self) -> None:
        if not self.group_id:
            raise ConfigError("a share consumer needs group_id")


class ShareConsumerSettings(ClientSettings, total=False):
    """Keyword arguments of ShareConsumer; see ShareConsumerConfig."""

    group_id: str
    share_acknowledgement_mode: str
    share_acquire_mode: str
    fetch_min_bytes: int
    fetch_max_wait_ms: int
    fetch_max_bytes: int
    max_poll_records: int
    max_poll_interval_ms: int
    client_rack: str
    check_crcs: bool
    allow_auto_create_topics: bool
    default_api_timeout_ms: int
