"""Metrics of queries as Prometheus text. Pure.

Names are those of the metrics after a prefix, in snake case: `millstream_spark_spout_lag`. What is not known has no sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Final

from millstream.broker.metrics.exposition import MetricFamily, MetricKind, Sample, render
from millstream.spark.query_metrics.values import (
    QueryMetrics,
    SourceMetrics,
    SourcePartitionMetrics,
    SourceTopicMetrics,
    camel_case,
)

PREFIX: Final = "millstream_spark_"
_COUNTERS: Final = {"commits_succeeded", "commits_failed"}
_TEXTS: Final = {"group_id", "started_because"}
_NESTED: Final = {"topics", "partitions"}
_HELP: Final[Mapping[type, str]] = {
    SourceMetrics: "of a source of a query",
    SourceTopicMetrics: "sum over the partitions of a topic",
    SourcePartitionMetrics: "of a partition",
}


def exposition(queries: Iterable[QueryMetrics]) -> str:
    families = {
        (kind, field.name): MetricFamily(*_head(kind, field.name))
        for kind in _HELP
        for field in fields(kind)
        if field.name not in _TEXTS | _NESTED
    }
    watermark = MetricFamily(
        f"{PREFIX}watermark_lag_ms", MetricKind.GAUGE, "watermarkLag of a query"
    )
    for query in queries:
        labels = {"query": query.name or query.query_id, "query_id": query.query_id}
        if query.watermark_lag_ms is not None:
            watermark.samples.append(Sample(query.watermark_lag_ms, labels))
        for number, source in enumerate(query.sources):
            for metrics, where in _measured(source):
                for field in fields(metrics):  # type: ignore[arg-type] # a dataclass
                    value = getattr(metrics, field.name)
                    family = families.get((type(metrics), field.name))
                    if family is not None and value is not None:
                        all_labels = labels | {"source": str(number)} | where
                        family.samples.append(Sample(value, all_labels))
    filled = [each for each in (*families.values(), watermark) if each.samples]
    return b"".join(piece for family in filled for piece in render(family, 10_000)).decode()


def _measured(source: SourceMetrics) -> Iterator[tuple[object, dict[str, str]]]:
    yield source, {}
    for topic, totals in source.topics.items():
        yield totals, {"topic": topic}
    for tp, partition in source.partitions.items():
        yield partition, {"topic": tp.topic, "partition": str(tp.partition)}


def _head(kind: type, name: str) -> tuple[str, MetricKind, str]:
    suffix, of_kind = (
        ("_total", MetricKind.COUNTER) if name in _COUNTERS else ("", MetricKind.GAUGE)
    )
    return f"{PREFIX}{name}{suffix}", of_kind, f"{camel_case(name)} {_HELP[kind]}"
