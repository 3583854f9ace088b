"""Settings of one application that the kernel reads. Kafka's names, in snake case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from millstream.streams.serdes.serde import Serde
from millstream.streams.timestamps import TimestampExtractor, fail_on_invalid


class OnError(StrEnum):
    """What to do with a record that cannot be read, or whose processing fails."""

    FAIL = "fail"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class StreamsConfig:
    """What a task needs to know of its application.

    `partition_count` tells how many partitions a topic has; it is asked only where a sink has its own
    partitioner. `batch_records_max` bounds a run through the operators; 1 is record at a time.
    `cache_max_bytes` (statestore.cache.max.bytes) bounds what tables hold back between commits; 0, the
    default here, sends every update on. `dead_letter_topic` (errors.dead.letter.queue.topic.name) is where
    records go that CONTINUE leaves out.
    `window_emit_interval_ms` and `join_emit_interval_ms` bound how often, by the wall clock, closed windows and
    unmatched records go out; 0, the default here and in Kafka Streams' test driver, lets them out as soon as stream
    time does (Kafka Streams' threads: 1,000; its internal settings `__emit.interval.ms…`).
    """

    application_id: str
    default_key: Serde[Any] | None = None  # Any: default serdes of any type
    default_value: Serde[Any] | None = None  # Any: default serdes of any type
    default_timestamps: TimestampExtractor = fail_on_invalid
    on_deserialization_error: OnError = OnError.FAIL
    on_processing_error: OnError = OnError.FAIL
    batch_records_max: int = 10_000
    partition_count: Callable[[str], int] | None = None
    dead_letter_topic: str | None = None
    cache_max_bytes: int = 0
    window_emit_interval_ms: int = 0
    join_emit_interval_ms: int = 0
