"""The metric families of quotas, under Kafka's names: what clients take, what they have left, and
how long they are held back.

There is a sample for each user and client id that is counted, of those that took something last; an empty label is a
part that does not count. Where there are no quotas nothing is measured, as in Kafka.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from millstream.broker.metrics.exposition import MetricFamily, MetricKind, Sample, gauge
from millstream.broker.metrics.node_view import NodeView
from millstream.broker.quotas.connection_quotas import ConnectionQuotas
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.broker.quotas.throttled_clients import Held, QuotaKind
from millstream.quota.client_quotas import Counted

_TOLD_MAX: Final = 1_000
"""Of each family. Clients make up their ids, and a rate takes 2 µs of the loop; dashboards take no more either."""
_SERVERS: Final = "kafka_server_socket_server_metrics"
_RATES: Final = (
    (QuotaKind.PRODUCE, "produce", "byte_rate", "Bytes a second of Produce requests of who has a quota of them."),
    (QuotaKind.FETCH, "fetch", "byte_rate", "Bytes a second of Fetch answers of who has a quota of them."),
    (QuotaKind.REQUEST, "request", "request_time", "Percent of the loop's time that is spent on requests of who has a quota of it."),
)  # fmt: skip


def quota_families(node: NodeView) -> Iterator[MetricFamily]:
    now_ms = node.clock.now().monotonic_ms
    yield from _client_families(node.quotas, now_ms)
    yield from _connection_families(node.metrics.connection_quotas, now_ms)
    yield _held_back(node)


def _client_families(quotas: NodeQuotas, now_ms: int) -> Iterator[MetricFamily]:
    for kind, group, name, doc in _RATES:
        rates = list(islice(quotas.rates(kind), _TOLD_MAX))
        samples = [Sample(rate.per_second(now_ms), _labels(counted)) for counted, rate in rates]
        yield MetricFamily(f"kafka_server_{group}_{name}", MetricKind.GAUGE, doc, samples)
        yield _throttle_time(group, kind, [counted for counted, _ in rates], quotas, now_ms)
    yield gauge(
        "kafka_server_request_exempt_request_time",
        "Percent of the loop's time that is spent on requests of other nodes.",
        quotas.exempt_percent(now_ms),
    )
    mutations = list(islice(quotas.mutations(), _TOLD_MAX))
    yield MetricFamily(
        "kafka_server_controllermutation_mutation_rate",
        MetricKind.GAUGE,
        "Partitions created and deleted a second, by who has a quota of them.",
        [Sample(each.rate.per_second(now_ms), _labels(counted)) for counted, each in mutations],
    )
    yield MetricFamily(
        "kafka_server_controllermutation_tokens",
        MetricKind.GAUGE,
        "Partitions that may be created and deleted at once; below zero: the next request is refused.",
        [Sample(each.bucket.tokens(now_ms), _labels(counted)) for counted, each in mutations],
    )
    kind, who = QuotaKind.CONTROLLER_MUTATION, [counted for counted, _ in mutations]
    yield _throttle_time("controllermutation", kind, who, quotas, now_ms)


def _throttle_time(
    group: str, kind: QuotaKind, counted: Sequence[Counted], quotas: NodeQuotas, now_ms: int
) -> MetricFamily:
    return MetricFamily(
        f"kafka_server_{group}_throttle_time",
        MetricKind.GAUGE,
        f"Milliseconds that clients above their quota {kind} waited, on the average of the last minute.",
        [
            Sample(quotas.throttled.average_ms(Held(kind, each), now_ms), _labels(each))
            for each in counted
        ],
    )


def _connection_families(
    servers: Sequence[ConnectionQuotas], now_ms: int
) -> Iterator[MetricFamily]:
    yield gauge(
        f"{_SERVERS}_broker_connection_accept_rate",
        "Connections accepted a second, but for those of the listener of brokers.",
        sum(server.accepted_per_second(now_ms) for server in servers),
    )
    listeners = [each for server in servers for each in server.listeners()]
    addresses: defaultdict[str, float] = defaultdict(float)
    for server in servers:  # an address may come to brokers and controllers of one node
        for address, rate in islice(server.addresses(), _TOLD_MAX):
            addresses[address] += rate.per_second(now_ms)
    yield MetricFamily(
        f"{_SERVERS}_connection_accept_rate",
        MetricKind.GAUGE,
        "Connections accepted a second, by listener, and by address where it has a quota.",
        [
            *(
                Sample(rate.per_second(now_ms), {"listener": name})
                for name, rate, _, _ in listeners
            ),
            *(
                Sample(each, {"ip": address})
                for address, each in islice(addresses.items(), _TOLD_MAX)
            ),
        ],
    )
    yield MetricFamily(
        f"{_SERVERS}_connection_accept_throttle_time",
        MetricKind.GAUGE,
        "Milliseconds that connections waited to be accepted, on the average of the last minute.",
        [Sample(waits.average(now_ms), {"listener": name}) for name, _, waits, _ in listeners],
    )
    yield MetricFamily(
        f"{_SERVERS}_ip_connection_accept_throttle_time",
        MetricKind.GAUGE,
        "Milliseconds after which connections were closed that came too fast from their address.",
        [Sample(waits.average(now_ms), {"listener": name}) for name, _, _, waits in listeners],
    )


def _held_back(node: NodeView) -> MetricFamily:
    counts = Counter(node.quotas.throttled.counts)
    for server in node.metrics.connection_quotas:
        counts.update(server.throttled.counts)
    return MetricFamily(
        "millstream_quota_throttled_total",
        MetricKind.COUNTER,
        "Requests and connections that a quota held back. The log says whose.",
        [Sample(count, {"quota": kind.value}) for kind, count in counts.items()],
    )


def _labels(counted: Counted) -> dict[str, str]:
    return {"user": counted.user, "client_id": counted.client_id}
