"""The share of time in which the event loop is idle, under the names of Kafka's threads and pools."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

from millstream.broker.metrics.controller_families import controller_families
from millstream.broker.metrics.node_metrics import LoopIdleness, NodeMetrics
from millstream.broker.metrics.process_families import process_families, watch_loop_idleness
from millstream.broker.metrics.quorum_families import metadata_families, quorum_families
from millstream.runtime.thread_time import thread_busy_ns
from tests.sim.virtual_time import VirtualClock, run_in_virtual_time
from tests.support.node_views import NOW, given_node

SECOND_NS = 1_000_000_000
RATIOS = {
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    "kafka_network_socketserver_networkprocessoravgidle_percent",
    "kafka_controller_controllereventmanager_avgidleratio",
    "kafka_server_metadataloader_avgidleratio",
    "kafka_server_raft_metrics_poll_idle_ratio_avg",
}


@pytest.mark.parametrize(
    ("busy", "ratio"),
    [((), 1.0), ((0.0,), 1.0), ((0.25,), 0.75), ((0.5, 1.0), 0.25), ((1.004,), 0.0)],
)
def test_what_is_not_busy_is_idle(busy: tuple[float, ...], ratio: float) -> None:
    idleness = LoopIdleness()
    for each in busy:
        idleness.observe(SECOND_NS, int(each * SECOND_NS), 0)
    assert idleness.ratio(1_000) == pytest.approx(ratio)


def test_a_stretch_without_length_says_nothing() -> None:
    idleness = LoopIdleness()
    idleness.observe(0, 5, 0)
    assert idleness.ratio(0) == 1.0


def test_the_loop_is_looked_at_once_a_second() -> None:
    """Of each second it was busy for 300 ms."""

    async def story() -> float:
        clock = VirtualClock()
        metrics = NodeMetrics(
            lambda: clock.now().monotonic_ms * 1_000_000,
            lambda: clock.now().monotonic_ms * 300_000,
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(10):  # virtual time: ten looks
                await watch_loop_idleness(metrics, clock)
        return metrics.loop_idleness.ratio(clock.now().monotonic_ms)

    assert run_in_virtual_time(story()) == pytest.approx(0.7)


def test_all_of_kafkas_names_tell_the_same() -> None:
    metrics = NodeMetrics(lambda: 0)
    metrics.loop_idleness.observe(SECOND_NS, SECOND_NS // 4, NOW.monotonic_ms)
    node = given_node(metrics=metrics)
    found = {
        family.name: [sample.value for sample in family.samples]
        for families in (controller_families, quorum_families, metadata_families, process_families)
        for family in families(node)
        if family.name in RATIOS
    }
    assert found == {name: [0.75] for name in RATIOS}


def test_a_thread_that_computes_is_busy() -> None:
    begin_ns, until = thread_busy_ns(), time.thread_time() + 0.05
    while time.thread_time() < until:
        pass
    assert thread_busy_ns() - begin_ns > 40_000_000
