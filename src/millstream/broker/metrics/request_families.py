"""The metric families of requests and topics, under the names that dashboards for Kafka know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from millstream.broker.metrics.exposition import MetricFamily, MetricKind, Sample
from millstream.broker.metrics.request_metrics import ApiMetrics, RequestMetrics
from millstream.broker.metrics.time_distribution import TimeDistribution
from millstream.broker.metrics.topic_metrics import COUNTERS, BrokerTopicMetrics
from millstream.errors import error_for
from millstream.protocol.api import ApiKey

_REQUESTS: Final = "kafka_network_requestmetrics"
_TOPICS: Final = "kafka_server_brokertopicmetrics"
_QUANTILES: Final = (0.5, 0.75, 0.95, 0.99, 0.999)


def request_families(metrics: RequestMetrics) -> Iterator[MetricFamily]:
    """Yields the families of requests. APIs without any request so far are left out."""
    apis = [api for api in metrics if any(api.versions.values()) or api.errors]
    yield MetricFamily(
        f"{_REQUESTS}_requests_total",
        MetricKind.COUNTER,
        "Requests answered, by API and version.",
        [
            Sample(number, {"request": _name(api.key), "version": str(version)})
            for api in apis
            for version, number in api.versions.items()
            if number
        ],
    )
    yield MetricFamily(
        f"{_REQUESTS}_errors_total",
        MetricKind.COUNTER,
        "Answers with an error for the whole request, by API and error.",
        [
            Sample(number, {"request": _name(api.key), "error": error_for(code).name})
            for api in apis
            for code, number in api.errors.items()
        ],
    )
    yield _times(
        apis, "totaltimems", "Milliseconds from a whole request to its answer.", lambda a: a.total
    )
    yield _times(apis, "localtimems", "Milliseconds of work on a request.", lambda a: a.local)
    yield _times(
        apis,
        "remotetimems",
        "Milliseconds that requests waited: disk, replicas, more bytes.",
        lambda a: a.remote,
    )


def _times(
    apis: list[ApiMetrics], name: str, doc: str, read: Callable[[ApiMetrics], TimeDistribution]
) -> MetricFamily:
    family = MetricFamily(f"{_REQUESTS}_{name}", MetricKind.SUMMARY, doc)
    for api in apis:
        family.samples += summary_ms(read(api), {"request": _name(api.key)})
    return family


def summary_ms(times: TimeDistribution, labels: dict[str, str]) -> list[Sample]:
    return [
        *(
            Sample(times.quantile_us(quantile) / 1_000, {**labels, "quantile": str(quantile)})
            for quantile in _QUANTILES
        ),
        Sample(times.sum_us / 1_000, labels, "_sum"),
        Sample(times.count, labels, "_count"),
    ]


def topic_families(metrics: BrokerTopicMetrics) -> Iterator[MetricFamily]:
    """Yields the families of each topic, and without a label of all of them."""
    of_all, topics = metrics.of_all(), list(metrics)
    for name, doc in COUNTERS.items():
        yield MetricFamily(
            f"{_TOPICS}_{name}_total",
            MetricKind.COUNTER,
            doc,
            [
                Sample(getattr(of_all, name)),
                *(Sample(getattr(one, name), {"topic": topic}) for topic, one in topics),
            ],
        )


def _name(key: ApiKey) -> str:
    """As Kafka writes it: ConsumerGroupHeartbeat."""
    return "".join(word.capitalize() for word in key.name.split("_"))
