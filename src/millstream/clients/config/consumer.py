"""Settings of the consumer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from millstream.clients.config.client import ClientConfig, ClientSettings
from millstream.clients.consumer.core.offset_reset import parse_offset_reset
from millstream.clients.group.assignors.assignment import Assignor
from millstream.clients.group.assignors.registry import ASSIGNORS
from millstream.errors import ConfigError
from millstream.net.client.config.declarations import (
    boolean,
    integer,
    names,
    one_of,
    optional_text,
    setting,
    text_list,
    text_or_empty,
)

_NOT_OF_THE_PROTOCOL = {
    "classic": ("group_remote_assignor",),
    "consumer": (
        "session_timeout_ms",
        "heartbeat_interval_ms",
        "partition_assignment_strategy",
    ),
}


def _offset_reset(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{key} must be a string, got {value!r}")
    try:
        parse_offset_reset(value)
    except ValueError as error:
        raise ConfigError(f"{key}={value!r}: {error}") from error
    return value


def _assignors(key: str, value: object) -> tuple[str | Assignor, ...]:
    """Names, one text with commas between them, or objects; the preferred first."""
    given = value if isinstance(value, (list, tuple)) else (value,)
    items: list[str | Assignor] = []
    check_known = names(*ASSIGNORS)
    for item in given:
        if isinstance(item, Assignor):
            items.append(item)
        else:
            check_known(key, item)
            items += text_list(key, item)
    on_the_wire = [item if isinstance(item, str) else item.name for item in items]
    if not items or len(set(on_the_wire)) < len(items):
        raise ConfigError(f"{key} must be a list of different assignors, got {value!r}")
    return tuple(items)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig(ClientConfig):
    group_id: str | None = setting(
        None, optional_text, "Name of the consumer group. subscribe() and commits need one."
    )
    group_instance_id: str | None = setting(
        None,
        optional_text,
        "Name of this member if it is static: it gets the same partitions again after a restart.",
    )
    group_protocol: str = setting(
        "classic",
        one_of("classic", "consumer"),
        "Who assigns partitions to members. classic: one of the members. consumer: the coordinator (KIP-848).",
    )
    group_remote_assignor: str | None = setting(
        None,
        optional_text,
        "With group_protocol=consumer: the name of the coordinator's assignor. None: the coordinator chooses.",
    )
    auto_offset_reset: str = setting(
        "latest",
        _offset_reset,
        "Where to start when there is no committed offset, or its records were deleted: earliest, latest, none (an error), or"
        " by_duration:PT1H (records of the last hour; any ISO 8601 duration).",
    )
    enable_auto_commit: bool = setting(
        True,
        boolean,
        "Commit automatically: a later poll() commits the records that earlier calls returned.",
    )
    auto_commit_interval_ms: int = setting(
        5_000, integer(0), "With enable_auto_commit: time between two commits."
    )
    isolation_level: str = setting(
        "read_uncommitted",
        one_of("read_uncommitted", "read_committed"),
        "read_committed hides records of open and aborted transactions.",
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
        integer(0),
        "Most bytes in one fetch response. The first batch is sent even if it is larger.",
    )
    max_partition_fetch_bytes: int = setting(
        1_048_576, integer(0), "Most bytes of one partition in a fetch response."
    )
    max_poll_records: int = setting(500, integer(1), "Most records that one poll() returns.")
    max_poll_interval_ms: int = setting(
        300_000, integer(1), "A member that does not call poll() for this time leaves its group."
    )
    session_timeout_ms: int = setting(
        45_000,
        integer(1),
        "A member that sends no heartbeat for this time is removed from its group.",
    )
    heartbeat_interval_ms: int = setting(3_000, integer(1), "Time between two heartbeats.")
    partition_assignment_strategy: tuple[str | Assignor, ...] = setting(
        ("range", "cooperative-sticky"),
        _assignors,
        "Names of assignors, the preferred one first, or your own Assignor objects.",
    )
    deserialization_error: str = setting(
        "raise",
        one_of("raise", "skip"),
        "What happens to a record that cannot be deserialized. raise: poll() raises an error. skip: the record is logged and skipped.",
    )
    exclude_internal_topics: bool = setting(
        True, boolean, "Patterns of subscribe() do not match Kafka's internal topics."
    )
    client_rack: str = setting(
        "",
        text_or_empty,
        "Name of the client's rack. The consumer then reads from replicas in the same rack.",
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
        parts = ["consumer", self.group_id, self.group_instance_id or str(number)]
        return "-".join(part for part in parts if part)

    def __post_init__(self) -> None:
        self._check_group_protocol()
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigError("heartbeat_interval_ms must be less than session_timeout_ms")

    def _check_group_protocol(self) -> None:
        """Refuses settings that the other protocol decides by itself, so that none seems to have an effect."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in _NOT_OF_THE_PROTOCOL[self.group_protocol]:
            if getattr(self, name) != defaults[name]:
                raise ConfigError(
                    f"{name} does not apply with group_protocol={self.group_protocol!r}; leave it out"
                )


class ConsumerSettings(ClientSettings, total=False):
    """Keyword arguments of Consumer; see ConsumerConfig."""

    group_id: str | None
    group_instance_id: str | None
    group_protocol: str
    group_remote_assignor: str | None
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
    partition_assignment_strategy: str | Assignor | Sequence[str | Assignor]
    deserialization_error: str
    exclude_internal_topics: bool
    client_rack: str
    check_crcs: bool
    allow_auto_create_topics: bool
    default_api_timeout_ms: int
