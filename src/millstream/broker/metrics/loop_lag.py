"""Looks at the event loop once a second: its lag, the time that every client has to wait on top of its own
request, and how idle it is.
"""

from __future__ import annotations

import asyncio
from typing import Final

from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.runtime import Clock

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
