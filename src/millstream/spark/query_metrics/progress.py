"""From Spark's progress of a query to its metrics. Pure.

Progress is posted after a micro-batch is in the commit log. It has the ends of what was read, and under `latestOffset`
the report of each source of ours: see `millstream.spark.source.report`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import add
from typing import Any, Final

from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.spark import offsets as plan
from millstream.spark.offsets import Offsets
from millstream.spark.query_metrics.values import (
    QueryMetrics,
    SourceMetrics,
    SourcePartitionMetrics,
    SourceTopicMetrics,
)
from millstream.spark.source.report import SourceReport, report_from_json

_COMMITTED: Final = "commitOffsets"
"""The time that the commit log has taken: there where a micro-batch was written to it."""
_NOT_COUNTED: Final = -1
"""Spark's number of rows of a sink that does not count them."""


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Adds up over the micro-batches of a run: the rows of each source, the time when it has last given some,
    and the rows of the sink.
    """

    records_in: tuple[int, ...] = ()
    last_input_ms: tuple[int, ...] = ()
    records_sent: int | None = None

    def after(self, progress: Mapping[str, Any], now_ms: int) -> RunCounts:  # JSON
        rows = [source["numInputRows"] for source in progress["sources"]]
        before = self.records_in or (0,) * len(rows)
        since_ms = self.last_input_ms or (now_ms,) * len(rows)
        sent = progress.get("sink", {}).get("numOutputRows", _NOT_COUNTED)
        return RunCounts(
            records_in=tuple(map(add, before, rows)),
            last_input_ms=tuple(now_ms if n else at for n, at in zip(rows, since_ms, strict=True)),
            records_sent=self.records_sent
            if sent == _NOT_COUNTED
            else (self.records_sent or 0) + sent,
        )


def query_metrics(
    progress: Mapping[str, Any],  # JSON of StreamingQueryProgress
    counts: RunCounts,
    now_ms: int,
) -> QueryMetrics:
    """`counts` are those after this progress."""
    of_sources = zip(progress["sources"], counts.records_in, counts.last_input_ms, strict=True)
    return QueryMetrics(
        query_id=progress["id"],
        run_id=progress["runId"],
        name=progress.get("name"),
        batch_id=progress["batchId"],
        timestamp=progress["timestamp"],
        watermark_lag_ms=_watermark_lag_ms(progress, now_ms),
        num_records_send=counts.records_sent,
        sources=tuple(
            source_metrics(
                source, report, completed_offsets(progress, source), records_in, now_ms - since_ms
            )
            for source, records_in, since_ms in of_sources
            if (report := source_report(source)) is not None
        ),
    )


def source_report(source: Mapping[str, Any]) -> SourceReport | None:  # JSON of SourceProgress
    """None for a source of another format, and where the planner could not look at the logs."""
    document = source.get("latestOffset")
    if not isinstance(document, Mapping) or "v" not in document:
        return None
    try:
        return report_from_json(document)
    except (ConfigError, KeyError, TypeError):
        return None


def completed_offsets(progress: Mapping[str, Any], source: Mapping[str, Any]) -> Offsets:  # JSON
    """The end of the last micro-batch of a source of ours that is in the checkpoint."""
    return plan.from_json(completed_document(progress, source))


def completed_document(
    progress: Mapping[str, Any],  # JSON
    source: Mapping[str, Any],  # JSON
) -> Mapping[str, Any]:  # JSON
    """The same as it stands in the checkpoint."""
    key = "endOffset" if _COMMITTED in progress.get("durationMs", {}) else "startOffset"
    document: Mapping[str, Any] = source[key] or _NOTHING  # JSON
    return document


_NOTHING: Final = {"v": plan.VERSION, "offsets": {}}
"""The start of the first micro-batch stands nowhere in progress."""


def source_metrics(
    source: Mapping[str, Any],  # JSON of SourceProgress
    report: SourceReport,
    completed: Offsets,
    records_in: int,
    idle_ms: int,
) -> SourceMetrics:
    emitted = plan.from_json(source["endOffset"])
    partitions = {tp: _partition(tp, report, emitted[tp], completed.get(tp)) for tp in emitted}
    pending = [_distance(emitted[tp], report.latest.get(tp)) for tp in emitted]
    commits = report.commits
    return SourceMetrics(
        group_id=None if commits is None else commits.group_id,
        pending_records=_sum(pending),
        commits_succeeded=None if commits is None else commits.succeeded,
        commits_failed=None if commits is None else commits.failed,
        num_records_in=records_in,
        source_idle_time_ms=idle_ms,
        topics={
            topic: _totals(topic, partitions) for topic in sorted({tp.topic for tp in emitted})
        },
        partitions=partitions,
    )


def _partition(
    partition: TopicPartition, report: SourceReport, emitted: int, completed: int | None
) -> SourcePartitionMetrics:
    earliest, latest = report.earliest.get(partition), report.latest.get(partition)
    started = report.started.get(partition)
    is_done_up_to = emitted if completed is None else completed
    return SourcePartitionMetrics(
        earliest_time_offset=earliest,
        latest_time_offset=latest,
        latest_emitted_offset=emitted,
        latest_completed_offset=is_done_up_to,
        spout_lag=_distance(is_done_up_to, latest),
        records_in_partition=None if earliest is None else _distance(earliest, latest),
        current_offset=emitted - 1,
        committed_offset=None if report.commits is None else report.commits.offsets.get(partition),
        started_at=None if started is None else started.offset,
        started_because=None if started is None else started.reason,
    )


def _totals(
    topic: str, partitions: Mapping[TopicPartition, SourcePartitionMetrics]
) -> SourceTopicMetrics:
    found = [metrics for tp, metrics in partitions.items() if tp.topic == topic]
    return SourceTopicMetrics(
        total_earliest_time_offset=_sum(each.earliest_time_offset for each in found),
        total_latest_time_offset=_sum(each.latest_time_offset for each in found),
        total_latest_emitted_offset=_sum(each.latest_emitted_offset for each in found),
        total_latest_completed_offset=_sum(each.latest_completed_offset for each in found),
        total_spout_lag=_sum(each.spout_lag for each in found),
        total_records_in_partitions=_sum(each.records_in_partition for each in found),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    """None where one is not known: a sum over some would look like less lag than there is."""
    found = list(values)
    numbers = [value for value in found if value is not None]
    return sum(numbers) if len(numbers) == len(found) else None


def _distance(start: int, end: int | None) -> int | None:
    return None if end is None else max(0, end - start)


def _watermark_lag_ms(progress: Mapping[str, Any], now_ms: int) -> int | None:  # JSON
    """Spark's watermark is 1970 until a micro-batch had records, and may be of a year that Python's
    calendar has not.
    """
    text = progress.get("eventTime", {}).get("watermark")
    if text is None:
        return None
    try:
        watermark_ms = int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        return None
    return now_ms - watermark_ms if watermark_ms > 0 else None
