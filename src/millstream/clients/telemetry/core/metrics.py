"""The metrics that a client pushes (KIP-714), out of what it has counted anyway. Names are the Java client's.

Averages and maxima are over the time since the last push. A latency that nothing was measured of is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from millstream.net.client.core.addresses import Address
from millstream.net.client.core.traffic import Timing, Traffic
from millstream.protocol.api import ApiKey

_DOMAIN: Final = "org.apache.kafka"
_LATENCIES: Final[Mapping[str, tuple[tuple[str, ApiKey], ...]]] = {
    "producer": (("producer.request.latency", ApiKey.PRODUCE),),
    "consumer": (
        ("consumer.coordinator.commit.latency", ApiKey.OFFSET_COMMIT),
        ("consumer.fetch.manager.fetch.latency", ApiKey.FETCH),
        ("consumer.share.fetch.manager.fetch.latency", ApiKey.SHARE_FETCH),
    ),
}
"""By the client's prefix: the metric, and the requests it is about."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A gauge, or with `is_sum` what has added up since the client was made."""

    name: str
    value: float
    attributes: Mapping[str, str] = field(default_factory=dict)
    is_sum: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """The counts of a span of time. `new_connections`: those of the span alone."""

    traffic: Traffic
    new_connections: int
    span_ms: int
    node_ids: Mapping[Address, int]


def metrics_of(prefix: str, measured: Measured) -> Iterator[Metric]:
    """Yields the metrics of a client; `prefix` is producer, consumer or admin.client."""
    traffic = measured.traffic
    rate = measured.new_connections * 1000 / max(1, measured.span_ms)
    yield Metric(f"{_DOMAIN}.{prefix}.connection.creation.rate", rate)
    yield Metric(
        f"{_DOMAIN}.{prefix}.connection.creation.total", traffic.connections_made, is_sum=True
    )
    for node, timing in _by_node(measured).items():
        yield from _latency(f"{prefix}.node.request.latency", timing, {"node_id": node})
    for name, key in _LATENCIES.get(prefix, ()):
        yield from _latency(name, _of_key(traffic, key))
    if prefix == "producer":
        yield from _latency("producer.record.queue.time", traffic.record_queue)


def _latency(
    name: str, timing: Timing, attributes: Mapping[str, str] | None = None
) -> Iterator[Metric]:
    if timing.count:
        yield Metric(f"{_DOMAIN}.{name}.avg", timing.average_ms, attributes or {})
        yield Metric(f"{_DOMAIN}.{name}.max", timing.max_ms, attributes or {})


def _by_node(measured: Measured) -> dict[str, Timing]:
    """Addresses that only bootstrapping knows belong to no node."""
    nodes: dict[str, Timing] = {}
    for (address, _), timing in measured.traffic.answers.items():
        node_id = measured.node_ids.get(address)
        if node_id is not None:
            nodes.setdefault(f"node-{node_id}", Timing()).merge(timing)
    return nodes


def _of_key(traffic: Traffic, key: ApiKey) -> Timing:
    together = Timing()
    for (_, asked), timing in traffic.answers.items():
        if asked is key:
            together.merge(timing)
    return together
