"""The metrics of a query, its sources, their topics and partitions. Pure.

In JSON each has the name that Storm or Flink has for it: `spout_lag` is `spoutLag`, and `source_idle_time_ms` is
`sourceIdleTime`, in milliseconds. What is not known is None, and left out in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from millstream.model import TopicPartition


@dataclass(frozen=True, slots=True)
class SourcePartitionMetrics:
    """Offsets are those of the next record, as everywhere in Kafka, but for `current_offset`."""

    earliest_time_offset: int | None
    """The start of the log."""
    latest_time_offset: int | None
    """The end of the log, when the last micro-batch was planned."""
    latest_emitted_offset: int
    """The end of the last micro-batch that was planned and has run."""
    latest_completed_offset: int
    """The end of the last micro-batch that is in the checkpoint."""
    spout_lag: int | None
    """From what is completed to the end of the log."""
    records_in_partition: int | None
    """From the start to the end of the log."""
    current_offset: int
    """The offset before the next one to read, as in Flink: -1 at the start of a log."""
    committed_offset: int | None
    """What this start of the query has committed in its group."""
    started_at: int | None
    """Where this start of the query has begun to read."""
    started_because: str | None


@dataclass(frozen=True, slots=True)
class SourceTopicMetrics:
    """Sums over the partitions of a topic; None where one of them is not known."""

    total_earliest_time_offset: int | None
    total_latest_time_offset: int | None
    total_latest_emitted_offset: int | None
    total_latest_completed_offset: int | None
    total_spout_lag: int | None
    total_records_in_partitions: int | None


@dataclass(frozen=True, slots=True)
class SourceMetrics:
    """`partitions` and `topics` are those that the query reads now."""

    group_id: str | None
    pending_records: int | None
    """Records that are in the log and in no micro-batch yet, over all partitions."""
    commits_succeeded: int | None
    commits_failed: int | None
    num_records_in: int
    """Rows that the source has given since the listener was added."""
    source_idle_time_ms: int
    """Since the source has last given records, or since it was first seen."""
    topics: Mapping[str, SourceTopicMetrics]
    partitions: Mapping[TopicPartition, SourcePartitionMetrics]


@dataclass(frozen=True, slots=True)
class QueryMetrics:
    """`batch_id` and `timestamp` (ISO 8601) are those of the micro-batch that told them;
    `sources` those that read topics.
    """

    query_id: str
    run_id: str
    name: str | None
    batch_id: int
    timestamp: str
    watermark_lag_ms: int | None
    """From the watermark of the query to the present, where it has one."""
    num_records_send: int | None
    """Rows that the sink has taken since the listener was added, where it counts them, as ours does."""
    sources: tuple[SourceMetrics, ...]

    def to_json(self) -> dict[str, Any]:  # JSON
        return known(self) | {"sources": [_source_json(each) for each in self.sources]}


def known(metrics: object) -> dict[str, int | str]:
    """The values of a dataclass by their names in JSON, without what is not known and what is nested."""
    values = {field.name: getattr(metrics, field.name) for field in fields(metrics)}  # type: ignore[arg-type] # one of the above
    return {
        camel_case(name): value for name, value in values.items() if isinstance(value, int | str)
    }


def camel_case(name: str) -> str:
    first, *others = name.removesuffix("_ms").split("_")
    return first + "".join(word.capitalize() for word in others)


def _source_json(source: SourceMetrics) -> dict[str, Any]:  # JSON
    topics = {
        topic: known(totals)
        | {
            "partitions": {
                str(tp.partition): known(metrics)
                for tp, metrics in source.partitions.items()
                if tp.topic == topic
            }
        }
        for topic, totals in source.topics.items()
    }
    return known(source) | {"topics": topics}
