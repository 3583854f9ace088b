"""A listener that knows the metrics of each running query with a source of ours, and hands them on.

Owns the last progress of each query. Spark calls it in a thread of its own, after the micro-batch: it delays none, and
nothing that fails in it ends a query.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from millstream.runtime import Clock
from millstream.runtime.system import SystemClock
from millstream.spark.query_metrics.progress import RunCounts, query_metrics
from millstream.spark.query_metrics.prometheus import exposition
from millstream.spark.query_metrics.values import QueryMetrics

_LOGGER = logging.getLogger(__name__)
Outlet = Callable[[QueryMetrics], object]


@dataclass(frozen=True, slots=True)
class _Seen:
    """The last progress of a run, and what adds up over all of them."""

    progress: Mapping[str, Any]  # JSON of StreamingQueryProgress
    counts: RunCounts

    def metrics(self, now_ms: int) -> QueryMetrics:
        return query_metrics(self.progress, self.counts, now_ms)


class QueryMetricsListener(StreamingQueryListener):
    """`session.streams.addListener(QueryMetricsListener())`.

    Each of the `outlets` is called with the metrics of a query whenever they have changed: `print`, a
    MetricsTopic, any function.
    """

    def __init__(self, *outlets: Outlet, clock: Clock | None = None) -> None:
        self._outlets = outlets
        self._clock = SystemClock() if clock is None else clock
        self._seen: dict[str, _Seen] = {}
        self.outlets_failed = 0

    def metrics(self) -> list[QueryMetrics]:
        """The metrics of each running query that has had a micro-batch and reads topics."""
        now_ms = self._clock.now().wall_ms
        found = [seen.metrics(now_ms) for seen in list(self._seen.values())]
        return [each for each in found if each.sources]

    def prometheus(self) -> str:
        """The same as text for Prometheus."""
        return exposition(self.metrics())

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        progress = json.loads(event.progress.json)
        run_id = progress["runId"]
        before = self._seen.get(run_id)
        counts = RunCounts() if before is None else before.counts
        now_ms = self._clock.now().wall_ms
        seen = self._seen[run_id] = _Seen(progress, counts.after(progress, now_ms))
        metrics = seen.metrics(now_ms)
        if metrics.sources:
            self._hand_on(metrics)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        self._seen.pop(str(event.runId), None)

    def _hand_on(self, metrics: QueryMetrics) -> None:
        for outlet in self._outlets:
            try:
                outlet(metrics)
            except Exception:  # code of users; a metric must never end a query
                self.outlets_failed += 1
                _LOGGER.warning(
                    "metrics of query %s were not taken", metrics.query_id, exc_info=True
                )
