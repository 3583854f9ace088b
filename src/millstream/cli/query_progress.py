"""Rows out of a topic into which queries on Spark write their metrics (`millstream.spark.MetricsTopic`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from millstream.model import TopicPartition

if TYPE_CHECKING:
    from millstream.clients.blocking import Consumer

_POLL_MS: Final = 1_000
"""So late Ctrl-C is heeded, and queries tell their progress more seldom."""
Document = Mapping[str, Any]  # JSON of QueryMetrics


def last_documents(consumer: Consumer, topic: str, records_max: int) -> list[Document]:
    """Returns the last document of each query, of those among the last `records_max` records of each partition."""
    partitions = [TopicPartition(topic, number) for number in consumer.partitions_for(topic)]
    ends = consumer.end_offsets(partitions)
    starts = consumer.beginning_offsets(partitions)
    consumer.assign(partitions)
    for tp in partitions:
        consumer.seek(tp, max(starts[tp], ends[tp] - records_max))
    last: dict[bytes | None, Document] = {}
    while any(consumer.position(tp) < ends[tp] for tp in partitions):
        for record in consumer.poll(timeout_ms=_POLL_MS):
            document = _document(record.value)
            if document is not None:
                last[record.key] = document
    return list(last.values())


def partition_rows(documents: Iterable[Document]) -> Iterator[dict[str, object]]:
    """Yields a row for each partition that each query reads. What a query does not know is None."""
    for document in documents:
        for source in document["sources"]:
            for topic, totals in sorted(source["topics"].items()):
                for number, metrics in totals["partitions"].items():
                    yield {
                        "query": document.get("name") or document["queryId"],
                        "topic": topic,
                        "partition": int(number),
                        "completed": metrics["latestCompletedOffset"],
                        "end": metrics.get("latestTimeOffset"),
                        "lag": metrics.get("spoutLag"),
                        "committed": metrics.get("committedOffset"),
                        "failed_commits": source.get("commitsFailed"),
                        "time": document["timestamp"],
                    }


def _document(value: bytes | None) -> Document | None:
    """None for a record that is none of ours."""
    try:
        document = json.loads(value or b"")
    except ValueError:
        return None
    return document if isinstance(document, dict) and "sources" in document else None
