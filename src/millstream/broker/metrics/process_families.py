"""The metric families of the process: version, processor time, memory, garbage, the event loop and waiting requests;
and the tasks that look at the event loop once a second: its lag, the time that every client has to wait on top of
its own request, and how idle it is.
"""

from __future__ import annotations

import asyncio
import gc
import platform
import resource
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from millstream import __version__
from millstream.broker.metrics.exposition import MetricFamily, MetricKind, Sample, gauge
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.metrics.node_view import BrokerView, NodeView
from millstream.broker.metrics.request_families import summary_ms
from millstream.broker.metrics.time_distribution import TimeDistribution
from millstream.net.server.client_connection import LoginCounts
from millstream.runtime import Clock

_FSYNC_LIMITS_US: Final = tuple(base * 10**power for power in (2, 3, 4, 5, 6) for base in (1, 2, 5))
"""From a tenth of a millisecond to five seconds."""
_KIBIBYTE: Final = 1024
_LOGINS: Final[tuple[tuple[str, str, Callable[[LoginCounts], int]], ...]] = (
    ("successful_authentication_total", "Logins.", lambda each: each.successful),
    ("failed_authentication_total", "Logins that were refused.", lambda each: each.failed),
    (
        "successful_reauthentication_total",
        "Logins of connections that had logged in before.",
        lambda each: each.successful_again,
    ),
    (
        "failed_reauthentication_total",
        "Logins of connections that had logged in before, which were refused.",
        lambda each: each.failed_again,
    ),
    (
        "expired_connections_killed_count",
        "Connections closed since their session had ended.",
        lambda each: each.ended,
    ),
)


def process_families(node: NodeView) -> Iterator[MetricFamily]:
    yield MetricFamily(
        "millstream_build_info",
        MetricKind.GAUGE,
        "1, with the versions of Millstream and Python.",
        [Sample(1, {"version": __version__, "python": platform.python_version()})],
    )
    usage = resource.getrusage(resource.RUSAGE_SELF)
    yield MetricFamily(
        "process_cpu_seconds_total",
        MetricKind.COUNTER,
        "Processor time used, in user and system mode.",
        [Sample(usage.ru_utime + usage.ru_stime)],
    )
    yield gauge(
        "millstream_process_max_resident_memory_bytes",
        "Most memory the process has had at a time.",
        usage.ru_maxrss * _KIBIBYTE,
    )
    yield from _garbage()
    yield gauge(
        "kafka_server_socket_server_metrics_connection_count",
        "Open connections.",
        node.metrics.connection_count(),
    )
    yield from _logins(node.metrics.login_counts())
    yield _histogram(
        "millstream_log_fsync_seconds", "Time of an fsync of a log.", node.metrics.flushes
    )
    yield MetricFamily(
        "kafka_log_logflushstats_logflushrateandtimems",
        MetricKind.SUMMARY,
        "Milliseconds of an fsync of a log.",
        summary_ms(node.metrics.flushes, {}),
    )
    yield _histogram(
        "millstream_event_loop_lag_seconds",
        "How late the event loop came to what was due.",
        node.metrics.loop_lag,
    )
    yield from _idleness(node)


def _idleness(node: NodeView) -> Iterator[MetricFamily]:
    """The names of Kafka's pools of threads; one loop does the work of both, so they tell the same."""
    ratio = node.metrics.loop_idleness.ratio(node.clock.now().monotonic_ms)
    for name, doc in (
        ("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", "handles requests"),
        ("kafka_network_socketserver_networkprocessoravgidle_percent", "reads and writes sockets"),
    ):
        yield gauge(
            name, f"Share of time, 0 to 1, in which the event loop, which {doc}, is idle.", ratio
        )


def _logins(counts: Mapping[str, LoginCounts]) -> Iterator[MetricFamily]:
    """Of the listeners where clients log in."""
    for name, doc, count in _LOGINS:
        samples = [
            Sample(count(of_listener), {"listener": listener})
            for listener, of_listener in sorted(counts.items())
        ]
        yield MetricFamily(
            f"kafka_server_socket_server_metrics_{name}", MetricKind.COUNTER, doc, samples
        )


def _garbage() -> Iterator[MetricFamily]:
    generations = list(enumerate(gc.get_stats()))
    for name, doc in (
        ("collections", "Runs of Python's garbage collector."),
        ("objects_collected", "Objects that the garbage collector has freed."),
    ):
        yield MetricFamily(
            f"python_gc_{name}_total",
            MetricKind.COUNTER,
            doc,
            [
                Sample(stats[name.removeprefix("objects_")], {"generation": str(generation)})
                for generation, stats in generations
            ],
        )


def waiting_families(broker: BrokerView) -> Iterator[MetricFamily]:
    """Yields the families of the requests that wait in a broker, and of its fetch sessions."""
    yield gauge(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "Requests that wait for partitions: fetches for bytes, produces for replicas.",
        len(broker.purgatory),
    )
    yield gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        "Fetch sessions that are remembered.",
        len(broker.fetch_sessions),
    )


def _histogram(name: str, doc: str, times: TimeDistribution) -> MetricFamily:
    counts = times.counts_up_to(_FSYNC_LIMITS_US)
    return MetricFamily(
        name,
        MetricKind.HISTOGRAM,
        doc,
        [
            *(
                Sample(count, {"le": repr(limit_us / 1e6)}, "_bucket")
                for limit_us, count in zip(_FSYNC_LIMITS_US, counts, strict=True)
            ),
            Sample(times.count, {"le": "+Inf"}, "_bucket"),
            Sample(times.sum_us / 1e6, {}, "_sum"),
            Sample(times.count, {}, "_count"),
        ],
    )


_INTERVAL_S: Final = 1
_INTERVAL_NS: Final = _INTERVAL_S * 1_000_000_000


async def watch_loop_lag(metrics: NodeMetrics) -> None:
    """Wakes up once a second and notes how late that was. Runs until it is cancelled."""
    while True:
        begin_ns = metrics.now_ns()
        await asyncio.sleep(_INTERVAL_S)
        late_ns = metrics.now_ns() - begin_ns - _INTERVAL_NS
        metrics.loop_lag.observe(max(late_ns, 0) // 1_000)


async def watch_loop_idleness(metrics: NodeMetrics, clock: Clock) -> None:
    """Looks at the thread once a second, until it is cancelled. It must run on the loop that is measured."""
    while True:
        begin_ns, busy_before_ns = metrics.now_ns(), metrics.busy_ns()
        await asyncio.sleep(_INTERVAL_S)
        passed_ns, busy_ns = metrics.now_ns() - begin_ns, metrics.busy_ns() - busy_before_ns
        metrics.loop_idleness.observe(passed_ns, busy_ns, clock.now().monotonic_ms)
