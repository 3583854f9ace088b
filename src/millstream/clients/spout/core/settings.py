"""Settings of spouts beyond those of their consumers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

from millstream.clients.config import ConsumerSettings
from millstream.clients.config.settings import setting_names
from millstream.clients.config.share import ShareConsumerSettings
from millstream.clients.spout.core.retries import RetryPolicy
from millstream.errors import ConfigError
from millstream.net.client.config.declarations import Check, integer, one_of, optional_text, setting


def _count_or_none(at_least: int) -> Check:
    check = integer(at_least)
    return lambda key, value: None if value is None else check(key, value)


def _multiplier(key: str, value: object) -> float:
    try:
        number = float(value) if isinstance(value, (int, float, str)) else 0.0
    except ValueError:
        number = 0.0
    if isinstance(value, bool) or not 1.0 <= number < float("inf"):
        raise ConfigError(f"{key} must be a number of at least 1, got {value!r}")
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryConfig:
    """The settings of both kinds of spout."""

    poll_timeout_ms: int = setting(
        200, integer(1), "Longest time that one poll of the consumer waits for records."
    )
    retry_delay_initial_ms: int = setting(0, integer(0), "Wait before the first retry of a record.")
    retry_delay_multiplier: float = setting(
        1.0, _multiplier, "Each further retry of a record waits this many times as long."
    )
    retry_delay_max_ms: int = setting(
        60_000, integer(0), "The wait before a retry does not grow beyond this."
    )
    retries_max: int | None = setting(
        None,
        _count_or_none(0),
        "A record that failed after this many retries is given up. None: it is retried for ever.",
    )
    failures_max: int | None = setting(
        None,
        _count_or_none(1),
        "The spout ends with TooManyFailures after this many fails without one ack between them. None: it never does.",
    )
    dead_letters: str | None = setting(
        None, optional_text, "Topic for records that are given up. None: they are counted as lost."
    )

    def retry_policy(self) -> RetryPolicy:
        return RetryPolicy(
            self.retry_delay_initial_ms,
            self.retry_delay_multiplier,
            self.retry_delay_max_ms,
            self.retries_max,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoutConfig(RetryConfig):
    """The settings of Spout beyond those of its consumer."""

    processing_guarantee: str = setting(
        "at_least_once",
        one_of("at_least_once", "at_most_once", "none"),
        "at_least_once: what is acked without a gap is committed. at_most_once: records are committed before they are given out. none: what was given out is committed, acked or not.",
    )
    commit_interval_ms: int = setting(2_000, integer(0), "Time between two commits.")
    max_uncommitted_offsets: int = setting(
        10_000,
        integer(1),
        "Most records of a partition that are given out and not committed. Beyond that only retries are given out.",
    )
    max_offset_behind: int | None = setting(
        None,
        _count_or_none(0),
        "How many offsets a record may be behind. A committed offset that is further behind the end of its partition is ignored when the partition is assigned. A record is given up when it fails further behind the latest one, or is still out when one so far ahead of it is acked. None: no limit.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSpoutConfig(RetryConfig):
    """The settings of ShareSpout beyond those of its share consumer."""

    max_spout_pending: int = setting(
        500,
        integer(1),
        "Most records that are held at a time: given out or not, until they are acked, released or rejected.",
    )

    def __post_init__(self) -> None:
        if self.dead_letters is not None and self.retries_max is None:
            raise ConfigError(
                "dead_letters needs retries_max in a share group: brokers drop a record after share.delivery.count.limit"
                " deliveries and tell nobody, so retries_max must be below that limit (5 unless the group says otherwise)"
            )


class RetrySettings(TypedDict, total=False):
    poll_timeout_ms: int
    retry_delay_initial_ms: int
    retry_delay_multiplier: float
    retry_delay_max_ms: int
    retries_max: int | None
    failures_max: int | None
    dead_letters: str | None


class SpoutSettings(ConsumerSettings, RetrySettings, total=False):
    """Keyword arguments of Spout; see SpoutConfig and ConsumerConfig."""

    processing_guarantee: str
    commit_interval_ms: int
    max_uncommitted_offsets: int
    max_offset_behind: int | None


class ShareSpoutSettings(ShareConsumerSettings, RetrySettings, total=False):
    """Keyword arguments of ShareSpout; see ShareSpoutConfig and ShareConsumerConfig."""

    max_spout_pending: int


def divided(
    settings: dict[str, object], config: type[RetryConfig]
) -> tuple[dict[str, object], dict[str, object]]:
    """Returns the settings of the spout itself, and those of its consumer. Raises ConfigError without a group."""
    known = setting_names(config)
    own = {key: value for key, value in settings.items() if key.replace(".", "_") in known}
    of_consumer = {key: value for key, value in settings.items() if key not in own}
    if not (of_consumer.get("group_id") or of_consumer.get("group.id")):
        raise ConfigError("a spout needs a group_id: its progress is kept there")
    return own, of_consumer


def topic_names(topics: str | Iterable[str]) -> list[str]:
    names = [topics] if isinstance(topics, str) else list(topics)
    if not names or not all(names):
        raise ConfigError(
            f"topics must be a name, several names or a compiled pattern; got {topics!r}"
        )
    return names
