"""Metrics of queries as Prometheus text. Pure.

Names are those of the metrics after a prefix, in snake case: `millstream_spark_spout_lag`.
What is not known has no sample.
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
_COUNTERS: Final = {"commits_succeeded", "commits_failed", "num_records_in", "num_records_send"}
_NO_METRICS: Final = {
    "batch_id", "group_id", "name", "partitions", "query_id", "run_id", "sources", "started_because", "timestamp", "topics",
}  # fmt: skip
_HELP: Final[Mapping[type, str]] = {
    QueryMetrics: "of a query",
    SourceMetrics: "of a source of a query",
    SourceTopicMetrics: "sum over the partitions of a topic",
    SourcePartitionMetrics: "of a partition",
}


def exposition(queries: Iterable[QueryMetrics]) -> str:
    families = {
        (kind, field.name): MetricFamily(*_head(kind, field.name))
        for kind in _HELP
        for field in fields(kind)
        if field.name not in _NO_METRICS
    }
    for query in queries:
        for metrics, labels in _measured(query):
            for field in fields(metrics):  # type: ignore[arg-type] # a dataclass
                value = getattr(metrics, field.name)
                family = families.get((type(metrics), field.name))
                if family is not None and value is not None:
                    family.samples.append(Sample(value, labels))
    filled = [each for each in families.values() if each.samples]
    return b"".join(piece for family in filled for piece in render(family, 10_000)).decode()


def _measured(query: QueryMetrics) -> Iterator[tuple[object, dict[str, str]]]:
    labels = {"query": query.name or query.query_id, "query_id": query.query_id}
    yield query, labels
    for number, source in enumerate(query.sources):
        of_source = labels | {"source": str(number)}
        yield source, of_source
        for topic, totals in source.topics.items():
            yield totals, of_source | {"topic": topic}
        for tp, partition in source.partitions.items():
            yield partition, of_source | {"topic": tp.topic, "partition": str(tp.partition)}


def _head(kind: type, name: str) -> tuple[str, MetricKind, str]:
    suffix, of_kind = (
        ("_total", MetricKind.COUNTER) if name in _COUNTERS else ("", MetricKind.GAUGE)
    )
    return f"{PREFIX}{name}{suffix}", of_kind, f"{camel_case(name)} {_HELP[kind]}"
