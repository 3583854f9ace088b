"""Metrics into a topic: one record of JSON for each progress of a query, with the id of the query as its key."""

from __future__ import annotations

import json
import logging
from typing import Any

from millstream.clients.blocking import Producer
from millstream.errors import MillstreamError
from millstream.spark.query_metrics.values import QueryMetrics

_LOGGER = logging.getLogger(__name__)
_BLOCKED_MAX_MS = 5_000
"""How long Spark's thread for listeners waits where the cluster does not answer."""


class MetricsTopic:
    """An outlet of a QueryMetricsListener.

    `failed` counts the records that did not get there: they are logged, and left out.
    """

    def __init__(self, topic: str, **settings: Any) -> None:  # Any: settings of a Producer
        self._topic = topic
        self._producer = Producer(**{"max_block_ms": _BLOCKED_MAX_MS} | settings)
        self.failed = 0

    def __call__(self, metrics: QueryMetrics) -> None:
        value = json.dumps(metrics.to_json(), separators=(",", ":")).encode()
        try:
            self._producer.send(
                self._topic, value, key=metrics.query_id.encode(), on_delivery=self._on_delivery
            )
        except MillstreamError as error:
            self._on_delivery(None, error)

    def close(self) -> None:
        """Waits for what is under way."""
        self._producer.close()

    def _on_delivery(self, _metadata: object, error: Exception | None) -> None:
        if error is not None:
            self.failed += 1
            _LOGGER.warning("metrics did not get into topic %s: %s", self._topic, error)
